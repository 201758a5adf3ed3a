//! Limits attempts at a password or code: per account and IP address together, per account, and per IP
//! address. Each attempt counts before it is checked, so that parallel attempts have the same limit as
//! sequential ones.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use service::App;
use service::config::RateClass;
use service::problem::{Kind, Problem};
use service::rates::hashed;
use service::visitor::visitor;
use store::limits::{self, Bucket, Quota};
use uuid::Uuid;

const PER: Duration = Duration::from_secs(15 * 60);
/// Factor for all attempts at one account, because an account may be attacked from many addresses.
const OF_ACCOUNT: u32 = 5;
/// Factor for all attempts from one IP address, because an office may share one.
const OF_ADDRESS: u32 = 10;

/// Counts an attempt at the secret of the account named `whom`; 429 if there were too many.
pub(crate) async fn count(app: &App, whom: &str, address: IpAddr) -> Result<(), Problem> {
    count_account(app, whom, address).await?;
    count_address(app, address).await
}

/// Counts the account's part of an attempt; 429 if there were too many.
pub(crate) async fn count_account(app: &App, whom: &str, address: IpAddr) -> Result<(), Problem> {
    let address = visitor(address);
    take(
        app,
        &[(format!("{whom}@{address}"), 1), (whom.to_owned(), OF_ACCOUNT)],
    )
    .await
}

/// Counts the IP address's part of an attempt; 429 if there were too many.
pub(crate) async fn count_address(app: &App, address: IpAddr) -> Result<(), Problem> {
    take(app, &[(visitor(address).to_string(), OF_ADDRESS)]).await
}

/// Takes one attempt from each bucket, by its name and the factor of its limit.
async fn take(app: &App, buckets: &[(String, u32)]) -> Result<(), Problem> {
    let Some(tries) = app.config.rate(RateClass::SignIn) else {
        return Ok(());
    };
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        for (who, factor) in buckets {
            let (who, tries) = (hashed(who), tries.saturating_mul(*factor));
            let name = format!("{} {who}", RateClass::SignIn.as_str());
            let bucket = Bucket {
                merchant_id: Uuid::nil(),
                name: &name,
            };
            let quota = Quota {
                limit: NonZeroU32::new(tries).unwrap_or(NonZeroU32::MIN),
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
