//! `/v2/public/transaction-monitoring` (contract §4.9): the chain risk engine is not built yet, and says so.

use std::time::Duration;

use crate::error::Problem;

/// The endpoint, until its engine is built.
pub async fn not_built() -> Problem {
    Problem::unavailable("The chain risk engine is not available in this version")
        .retry_after(Duration::from_secs(86_400))
}
