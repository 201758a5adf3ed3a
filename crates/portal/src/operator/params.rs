//! What the console's pages share: how they read an id in an address, and how many rows they list or count.

use service::problem::Problem;
use uuid::Uuid;

/// The most jobs that a page lists.
pub(super) const JOBS: i64 = 200;
/// The highest number to which a page counts.
pub(super) const MOST: i64 = 10_000;

/// Reads an id in an address; anything else is a page that does not exist.
pub(super) fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| Problem::not_found("There is no such page"))
}
