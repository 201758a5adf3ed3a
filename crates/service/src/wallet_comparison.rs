//! With what an account's wallet screenings were compared, and what a new screening means for it. It compares none; see
//! [`wallet_rescreening`](super::wallet_rescreening).

use serde::{Deserialize, Serialize};
use store::rescreenings::ListDigests;
use store::{Scope, Tx, wallet_rescreenings};

use crate::problem::Problem;

/// With what an account's screenings are compared.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// The screenings of how many days count.
    pub(crate) days: u32,
    pub(crate) lists: ListDigests,
    /// The version of the listed wallets that count.
    pub(crate) wallets: String,
}

impl Comparison {
    /// Reads a stored comparison; `None` if this version cannot.
    pub(crate) fn read(text: &str) -> Option<Comparison> {
        serde_json::from_str(text).ok()
    }

    /// Whether both find the same. Most changes of a list concern no wallet.
    pub(crate) fn finds_the_same(&self, other: &Comparison) -> bool {
        (self.days, &self.wallets) == (other.days, &other.wallets)
    }
}

/// Makes the account's screenings be compared again if a screening used other wallets than the run in progress, or than
/// the last run if none is in progress: such a run may pass the screening before it is stored. Call it last in the
/// transaction that stores the screening, with the version of the wallets that the screening used; `None`: no list.
pub(crate) async fn notice_screening(
    tx: &mut Tx,
    scope: Scope,
    wallets: Option<&str>,
) -> Result<(), Problem> {
    let Some(wallets) = wallets else { return Ok(()) };
    let state = wallet_rescreenings::lock_for_screening(tx, scope).await?;
    // If nothing was compared yet, the next run compares every screening.
    let Some(text) = state.target.or(state.done) else {
        return Ok(());
    };
    if Comparison::read(&text).is_none_or(|comparison| comparison.wallets != wallets) {
        wallet_rescreenings::request_repetition(tx, scope).await?;
    }
    Ok(())
}
