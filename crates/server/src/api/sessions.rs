//! `/v2/sdk/session/…` (contract §4.3–§4.5): hosted links are not built yet, and say so.

use std::time::Duration;

use crate::error::Problem;

/// Every hosted-session endpoint, until it is built.
pub async fn not_built() -> Problem {
    Problem::unavailable("Hosted verification links are not available in this version")
        .retry_after(Duration::from_secs(86_400))
}
