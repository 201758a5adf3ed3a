//! Whether the stored configuration of every account and Flow can be read: a check of `bonafide doctor`. It
//! repairs nothing.

use store::{Db, Scope};

use super::checks::Check;
use super::{flows, merchants};
use crate::key_restrictions::KeyRestrictions;

/// Checks that every account's settings and every Flow can be read. It names each unreadable member, because
/// every request that depends on it is refused.
pub async fn check(db: &Db) -> Check {
    const NAME: &str = "settings";
    /// The most faults that the text names.
    const MOST: usize = 20;
    let (read, mut faults) = match unreadable(db).await {
        Ok(found) => found,
        Err(error) => return Check::bad(NAME, error.to_string()),
    };
    if faults.is_empty() {
        return Check::ok(NAME, format!("{read} accounts and their Flows can be read"));
    }
    let more = faults.len().saturating_sub(MOST);
    faults.truncate(MOST);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    Check::bad(
        NAME,
        format!(
            "requests are refused until these are set again (`bonafide merchant set`, `bonafide flow update`): {}",
            faults.join("; ")
        ),
    )
}

/// The number of accounts, and the faults of their settings, keys and Flows.
async fn unreadable(db: &Db) -> Result<(usize, Vec<String>), store::Error> {
    let mut conn = db.read().await?;
    let merchants = store::merchants::list(&mut conn).await?;
    let mut faults = Vec::new();
    for merchant in &merchants {
        let of_settings = merchants::faults(merchant);
        faults.extend(
            of_settings
                .iter()
                .map(|fault| format!("merchant {}: {fault}", merchant.id)),
        );
        for key in store::credentials::list(&mut conn, merchant.id).await? {
            if key.revoked_at.is_none() && KeyRestrictions::from_json(&key.restrictions).is_err() {
                let text = "the restrictions cannot be read (`bonafide merchant keys restrict`)";
                faults.push(format!("merchant {}, key {}: {text}", merchant.id, key.key));
            }
        }
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: merchant.id,
                sandbox,
            };
            for flow in store::flows::list(&mut conn, scope).await? {
                let id = flow.id;
                if let Err(fault) = flows::read(&flow.into()) {
                    faults.push(format!("merchant {}, Flow {id}: {fault}", merchant.id));
                }
            }
        }
    }
    Ok((merchants.len(), faults))
}
