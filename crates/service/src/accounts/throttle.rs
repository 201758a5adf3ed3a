//! How often a password or code may be tried: per address and account together, per account, per address. Every try counts before it is
//! judged, so that many at once are no more than one after the other.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use store::limits::{self, Bucket, Quota};
use uuid::Uuid;

use crate::App;
use crate::config::RateClass;
use crate::problem::{Kind, Problem};
use crate::rates::{hashed, visitor};

const PER: Duration = Duration::from_secs(15 * 60);
/// A whole office shares an address, and a victim's account is tried from many: they may have so many times as many.
const OF_ACCOUNT: u32 = 5;
const OF_ADDRESS: u32 = 10;

/// Counts a try at the secret of whom `whom` names; 429 when there were too many.
pub(super) async fn count(app: &App, whom: &str, address: IpAddr) -> Result<(), Problem> {
    let Some(tries) = app.config.rate(RateClass::SignIn) else {
        return Ok(());
    };
    let address = visitor(address);
    let buckets = [
        (hashed(&format!("{whom}@{address}")), tries),
        (hashed(whom), tries.saturating_mul(OF_ACCOUNT)),
        (hashed(&address.to_string()), tries.saturating_mul(OF_ADDRESS)),
    ];
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        for (who, tries) in &buckets {
            let name = format!("{} {who}", RateClass::SignIn.as_str());
            let bucket = Bucket {
                merchant_id: Uuid::nil(),
                name: &name,
            };
            let quota = Quota {
                limit: NonZeroU32::new(*tries).unwrap_or(NonZeroU32::MIN),
                per: PER,
            };
            let verdict = limits::take(tx, bucket, quota).await?;
            if !verdict.allowed {
                let text = "There were too many attempts. Wait a moment, then try again.";
                return Err(Problem::new(Kind::RateLimited, text)
                    .retry_after(Duration::from_secs(verdict.retry_after_s)));
            }
        }
        Ok(())
    })
}
