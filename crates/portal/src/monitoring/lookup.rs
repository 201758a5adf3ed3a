//! Finds the screening for the ID in an address. It never returns one of another account or mode.

use service::Shared;
use service::monitoring;
use service::problem::Problem;
use store::monitoring::Screening;
use uuid::Uuid;

use crate::session::Member;

/// The screening with this ID in the chosen account and mode.
pub(super) async fn find(app: &Shared, member: &Member, id: &str) -> Result<Screening, Problem> {
    let missing = || Problem::not_found("There is no such screening in this account");
    let id = Uuid::parse_str(id).map_err(|_| missing())?;
    monitoring::find(app, member.scope()?, id)
        .await?
        .ok_or_else(missing)
}
