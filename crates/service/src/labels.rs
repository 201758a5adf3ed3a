//! Loads the labels that count for a caller's account.

pub use node::labels::{AccountLabels, LabelSets, LabelsUnavailable};

use crate::App;
use crate::caller::Caller;
use crate::merchants;

/// The labels that count for the caller's account.
///
/// # Errors
/// When lists or labels cannot be used. No address may then be called clean.
pub fn of_caller(app: &App, caller: &Caller) -> Result<AccountLabels, LabelsUnavailable> {
    let settings = merchants::settings(&caller.merchant)
        .map_err(|_| LabelsUnavailable::Labels("the account's settings cannot be read".into()))?;
    AccountLabels::for_account(&app.labels, &app.lists, caller.scope, &settings)
}
