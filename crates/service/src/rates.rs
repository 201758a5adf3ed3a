//! Rate limits by key, account and IP address (`docs/decisions/0009-rate-limits-and-capacity.md`).

use std::num::NonZeroU32;
use std::time::Duration;

use sha2::{Digest, Sha256};
use store::limits::{self, Bucket, Quota, RateLimitResult};
use store::merchants::Merchant;
use uuid::Uuid;

use crate::App;
use crate::caller::{Caller, check_account_may_call};
use crate::config::RateClass;
use crate::merchants;
use crate::problem::{Family, Kind, Problem};

/// Checks that a member may screen by hand in the portal. An account's members who decide share one limit.
/// Members who only read share another of the same size, so that they never block a decision.
pub async fn check_screening_rate(app: &App, caller: &Caller, decides: bool) -> Result<(), Problem> {
    check_account_may_call(caller.merchant.status, caller.scope.sandbox, Family::Monitoring)?;
    let class = RateClass::Monitoring;
    let limit = limit_of(app, class, &caller.merchant)?;
    let who = if decides { "portal" } else { "portal, looking" };
    match take(app, class, limit, caller.scope.merchant_id, who).await? {
        Some(verdict) if !verdict.allowed => Err(too_many(&verdict)),
        _ => Ok(()),
    }
}

/// Hashes a bucket's name, because IP addresses are personal data.
pub fn hashed(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// The requests per minute and key of a class: the account's limit, or else the server's. It is read with the
/// account at every request, so a change takes effect on every node at once.
pub fn limit_of(app: &App, class: RateClass, merchant: &Merchant) -> Result<Option<u32>, Problem> {
    let own = merchants::settings(merchant)?.rate(class);
    Ok(own.or_else(|| app.config.rate(class)))
}

/// Takes one request from a bucket of a class; `None`: there is no limit.
pub async fn take(
    app: &App,
    class: RateClass,
    limit: Option<u32>,
    merchant_id: Uuid,
    who: &str,
) -> Result<Option<RateLimitResult>, Problem> {
    let Some(limit) = limit.and_then(NonZeroU32::new) else {
        return Ok(None);
    };
    let name = format!("{} {who}", class.as_str());
    let quota = Quota {
        limit,
        per: Duration::from_secs(60),
    };
    // A power cut must not reset the count of failed guesses at a secret; it may reset other rates.
    let db = match class {
        RateClass::FailedAuth | RateClass::SignIn => app.db.clone(),
        _ => app.db.traffic(),
    };
    store::transaction!(db, |tx| -> Result<Option<RateLimitResult>, Problem> {
        Ok(Some(
            limits::take(
                tx,
                Bucket {
                    merchant_id,
                    name: &name,
                },
                quota,
            )
            .await?,
        ))
    })
}

/// 429 with the time to wait.
pub fn too_many(verdict: &RateLimitResult) -> Problem {
    Problem::new(Kind::RateLimited, "Too many requests; please slow down")
        .retry_after(Duration::from_secs(verdict.retry_after_s))
}
