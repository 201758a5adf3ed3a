//! Whether a search still is about what counts. It searches nothing.

use store::{Scope, Tx};

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
