//! Shared by the console's pages: parsing of IDs in addresses, and limits of lists and counts.

use service::problem::Problem;
use uuid::Uuid;

/// The most jobs that a page lists.
pub(super) const JOBS: i64 = 200;
/// The number at which a page stops counting.
pub(super) const MOST: i64 = 10_000;

/// Parses an ID in an address. Anything else gives 404.
pub(super) fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| Problem::not_found("There is no such page"))
}
