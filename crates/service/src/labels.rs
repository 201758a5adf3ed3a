//! The labels that count for a caller's account.

pub use node::labels::{AccountLabels, LabelSets, NoLabels};

use crate::App;
use crate::caller::Caller;
use crate::merchants;

/// What the caller's account knows of addresses.
///
/// # Errors
/// When lists or labels cannot be relied on: nothing may be called clean then.
pub fn of_caller(app: &App, caller: &Caller) -> Result<AccountLabels, NoLabels> {
    let settings = merchants::settings(&caller.merchant)
        .map_err(|_| NoLabels::Labels("the account's settings cannot be read".into()))?;
    AccountLabels::with(&app.labels, &app.lists, caller.scope, &settings)
}
