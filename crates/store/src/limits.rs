//! Token buckets for request rates and failed authentications. One upsert takes a token on either database,
//! so all nodes share one count.
//!
//! A bucket is one number, the time when it will be full again (the "theoretical arrival time" of the generic
//! cell rate algorithm, ITU-T I.371). A token costs `per / limit` of time, and the debt may reach `per`.

use std::num::NonZeroU32;
use std::time::Duration;

use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Tx};

/// The size of a bucket and the time in which it fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Tokens in a full bucket.
    pub limit: NonZeroU32,
    /// The time in which an empty bucket fills.
    pub per: Duration,
}

/// A bucket: the account (nil for buckets without one, for example of a client's address) and a name.
#[derive(Clone, Copy, Debug)]
pub struct Bucket<'a> {
    /// The account, or nil.
    pub merchant_id: Uuid,
    /// What is counted, for instance `verify bf_live_…`. It must contain no personal data: hash an address.
    pub name: &'a str,
}

/// The state of a bucket after a request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitResult {
    /// Whether there was a token.
    pub allowed: bool,
    /// Tokens in a full bucket (`RateLimit-Limit`).
    pub limit: u32,
    /// Tokens left (`RateLimit-Remaining`).
    pub remaining: u32,
    /// Seconds until the bucket is full (`RateLimit-Reset`).
    pub reset_s: u64,
    /// Seconds until the next token; 0 if there is one (`Retry-After`).
    pub retry_after_s: u64,
}

impl Quota {
    fn per_us(self) -> i64 {
        i64::try_from(self.per.as_micros())
            .unwrap_or(i64::MAX / 4)
            .min(i64::MAX / 4)
    }

    fn cost_us(self) -> i64 {
        (self.per_us() / i64::from(self.limit.get())).max(1)
    }

    fn rate_limit_result(self, allowed: bool, full_at: i64, now: i64) -> RateLimitResult {
        let debt = (full_at - now).max(0);
        let spare = (self.per_us() - debt).max(0);
        let seconds = |us: i64| u64::try_from(us).unwrap_or(0).div_ceil(1_000_000);
        RateLimitResult {
            allowed,
            limit: self.limit.get(),
            remaining: u32::try_from(spare / self.cost_us())
                .unwrap_or(u32::MAX)
                .min(self.limit.get()),
            reset_s: seconds(debt),
            retry_after_s: seconds(self.cost_us() - spare),
        }
    }
}

/// Takes one token if there is one.
pub async fn take(tx: &mut Tx, bucket: Bucket<'_>, quota: Quota) -> Result<RateLimitResult, Error> {
    let now = tx.now() * 1000;
    let taken = fetch!(
        optional,
        tx,
        merchant(bucket.merchant_id),
        (i64,),
        "insert into rate_limits as b (merchant_id, bucket, full_at) values ($1, $2, $3 + $4)
         on conflict (merchant_id, bucket) do update
             set full_at = case when b.full_at > $3 then b.full_at else $3 end + $4
             where case when b.full_at > $3 then b.full_at else $3 end + $4 <= $3 + $5
         returning full_at",
        bucket.name,
        now,
        quota.cost_us(),
        quota.per_us()
    )?;
    match taken {
        Some((full_at,)) => Ok(quota.rate_limit_result(true, full_at, now)),
        None => Ok(RateLimitResult {
            allowed: false,
            ..peek(tx, bucket, quota).await?
        }),
    }
}

/// Whether there is a token, without taking it: to refuse before work of which only failures are counted.
pub async fn peek(conn: &mut Conn, bucket: Bucket<'_>, quota: Quota) -> Result<RateLimitResult, Error> {
    let now = conn.now() * 1000;
    const SQL: &str = "select full_at from rate_limits where merchant_id = $1 and bucket = $2";
    let full_at = fetch!(
        optional,
        conn,
        merchant(bucket.merchant_id),
        (i64,),
        SQL,
        bucket.name
    )?
    .map_or(now, |row| row.0);
    let allowed = full_at.max(now) + quota.cost_us() <= now + quota.per_us();
    Ok(quota.rate_limit_result(allowed, full_at, now))
}

/// Deletes full buckets, which have the same effect as missing ones; returns how many.
pub async fn sweep(tx: &mut Tx) -> Result<u64, Error> {
    let now = tx.now() * 1000;
    execute!(
        tx,
        across_accounts("retention deletes every account's full buckets"),
        "delete from rate_limits where full_at <= $1",
        now
    )
}
