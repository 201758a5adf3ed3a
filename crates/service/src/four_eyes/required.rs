//! Determines where two people are required: by the account, one of its Flows, or an attempt.

use store::attempts::Attempt;
use store::flows::FlowContent;
use store::{Conn, Scope};
use uuid::Uuid;
use verification::four_eyes::FourEyesScope;

use crate::attempt_detail::Detail;
use crate::flow_content;
use crate::problem::Problem;
use crate::settings::settings;

/// Whether the account requires two people, and whether any of its Flows does.
pub async fn of_account(conn: &mut Conn, merchant_id: Uuid) -> Result<FourEyesScope, Problem> {
    let merchant = store::merchants::get(conn, merchant_id)
        .await?
        .ok_or_else(|| Problem::not_found("No such merchant"))?;
    let account = settings(&merchant)?.four_eyes;
    of_flows(conn, merchant_id, account).await
}

/// Whether the account's settings or any of its Flows require two people. A Flow that cannot be read counts
/// as requiring them.
pub async fn of_flows(conn: &mut Conn, merchant_id: Uuid, account: bool) -> Result<FourEyesScope, Problem> {
    let flows = flows_of(conn, merchant_id).await?;
    Ok(FourEyesScope {
        account,
        any_flow: flows.into_iter().any(|flow| requires_two(&flow.into())),
        ..FourEyesScope::default()
    })
}

/// Whether a Flow requires two people. A Flow that cannot be read does.
pub fn requires_two(flow: &FlowContent) -> bool {
    flow_content::parse(flow).map_or(true, |flow| flow.settings.four_eyes)
}

async fn flows_of(conn: &mut Conn, merchant_id: Uuid) -> Result<Vec<store::flows::Flow>, Problem> {
    let mut all = Vec::new();
    for sandbox in [false, true] {
        all.extend(store::flows::list(conn, Scope { merchant_id, sandbox }).await?);
    }
    Ok(all)
}

/// Whether two people are required for an attempt: the account requires it, or the attempt's Flow does now,
/// or either did when the attempt was made. So a change of the Flow never lowers what a pending attempt
/// needs.
pub async fn of_attempt(conn: &mut Conn, scope: Scope, attempt: &Attempt) -> Result<FourEyesScope, Problem> {
    let detail = Detail::of(attempt)?;
    let mut state = of_account(conn, scope.merchant_id).await?;
    state.flow = detail.four_eyes;
    state.flow |= match store::flows::get(conn, scope, attempt.flow_id).await? {
        Some(flow) => requires_two(&flow.into()),
        None => store::flows::had_four_eyes(conn, scope, attempt.flow_id).await?,
    };
    Ok(state)
}
