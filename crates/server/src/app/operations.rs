//! What operators change: plans of accounts, and who else is an operator. It sees nothing of any applicant.

use store::merchants;
use store::{audit, invitations, portal_sessions, staff};
use uuid::Uuid;

use super::App;
use super::merchants::with_settings;
use crate::error::Problem;

/// Sets how many Flows and Groups an account's plan allows; an empty text: any number.
pub async fn set_limits(
    app: &App,
    merchant_id: Uuid,
    max_flows: &str,
    max_groups: &str,
    actor: &str,
) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let merchant = merchants::get_for_update(tx, merchant_id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such account"))?;
        let changes = [format!("maxFlows={max_flows}"), format!("maxGroups={max_groups}")];
        let changed = with_settings(&merchant, &changes).map_err(Problem::invalid)?;
        merchants::set_settings(tx, merchant_id, &changed).await?;
        let detail = serde_json::json!({"maxFlows": max_flows, "maxGroups": max_groups}).to_string();
        let entry = audit::Entry {
            actor,
            action: "merchant.limits_set",
            subject: &merchant_id.to_string(),
            detail: &detail,
        };
        let scope = store::Scope {
            merchant_id,
            sandbox: false,
        };
        Ok(audit::write(tx, scope, &entry).await?)
    })
}

/// Makes somebody an operator no more: their sessions end, and so do links to become one. 404 when they are none.
pub async fn dismiss_operator(app: &App, staff_id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let member = staff::get(tx, staff_id).await?.filter(|member| member.operator);
        member.ok_or_else(|| Problem::not_found("There is no such operator"))?;
        // The person's accounts are the merchants' business; links made by whoever leaves are void.
        staff::set_operator(tx, staff_id, false).await?;
        invitations::void_operators(tx).await?;
        portal_sessions::end_all(tx, staff_id, None).await?;
        Ok(())
    })
}
