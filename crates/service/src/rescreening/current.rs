//! Whether a search still is about what counts. It searches nothing.

use store::{Scope, Tx};

use super::person_lists::PersonLists;
use crate::flow_choices::FlowChoices;
use crate::lists::MerchantLists;
use crate::merchants::{self, MerchantSettings};
use crate::problem::Problem;

/// Whether an account still has these settings, and the installation these lists.
pub(crate) async fn is_current(
    tx: &mut Tx,
    scope: Scope,
    settings: &MerchantSettings,
    lists: &MerchantLists,
) -> Result<bool, Problem> {
    let account = store::merchants::get(tx, scope.merchant_id).await?;
    let Some(account) = account else { return Ok(false) };
    let set = store::list_sets::current(tx).await?;
    let used = lists.set.as_ref().map(|set| &set.lists);
    Ok(merchants::settings(&account)? == *settings && set.as_ref().map(|set| &set.lists) == used)
}

/// [`is_current`], and whether the account's Flows still have chosen the same lists.
pub(super) async fn is_current_for_people(
    tx: &mut Tx,
    scope: Scope,
    settings: &MerchantSettings,
    people: &PersonLists,
) -> Result<bool, Problem> {
    let choices = FlowChoices::of_account(tx, scope).await?;
    Ok(choices.lists == people.choices.lists && is_current(tx, scope, settings, &people.lists.all).await?)
}
