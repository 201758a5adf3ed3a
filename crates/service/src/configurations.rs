//! Whether the stored configuration of every account and Flow can be read and can work: checks of `bonafide doctor`. They
//! repair nothing.

use store::{Db, Scope};

use super::checks::Check;
use super::config::ServeConfig;
use super::{flows, merchants};
use crate::key_restrictions::KeyRestrictions;

/// The most faults that a check names.
const MOST: usize = 20;

/// Checks that every account's settings and every Flow can be read. It names each unreadable member, because
/// every request that depends on it is refused.
pub async fn check(db: &Db) -> Check {
    const NAME: &str = "settings";
    let (read, faults) = match unreadable(db).await {
        Ok(found) => found,
        Err(error) => return Check::bad(NAME, error.to_string()),
    };
    if faults.is_empty() {
        return Check::ok(NAME, format!("{read} accounts and their Flows can be read"));
    }
    Check::bad(
        NAME,
        format!(
            "requests are refused until these are set again (`bonafide merchant set`, `bonafide flow update`): {}",
            first_of(faults).join("; ")
        ),
    )
}

/// Checks that events can be sent to the webhook URLs of all Flows; `None` if no Flow has one. An operator may have set
/// another URL on purpose, so it is only pointed out.
pub async fn webhook_addresses(db: &Db, config: &ServeConfig) -> Option<Check> {
    const NAME: &str = "webhooks";
    match undeliverable(db, config).await {
        Err(error) => Some(Check::bad(NAME, error.to_string())),
        Ok((0, _)) => None,
        Ok((urls, faults)) if faults.is_empty() => Some(Check::ok(
            NAME,
            format!("{urls} webhook URLs can receive events, as far as their text shows"),
        )),
        Ok((_, faults)) => Some(Check::attention(NAME, first_of(faults).join("; "))),
    }
}

/// The number of webhook URLs, and those to which no event is ever sent.
async fn undeliverable(db: &Db, config: &ServeConfig) -> Result<(usize, Vec<String>), store::Error> {
    let mut conn = db.read().await?;
    let (mut urls, mut faults) = (0, Vec::new());
    for merchant in store::merchants::list(&mut conn).await? {
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: merchant.id,
                sandbox,
            };
            for flow in store::flows::list(&mut conn, scope).await? {
                let Some(url) = &flow.webhook_url else { continue };
                urls += 1;
                if let Some(fault) = config.webhook_fault(url, sandbox) {
                    faults.push(format!("merchant {}, Flow {}: {fault}", merchant.id, flow.id));
                }
            }
        }
    }
    Ok((urls, faults))
}

/// The first faults, and how many more there are.
fn first_of(mut faults: Vec<String>) -> Vec<String> {
    let more = faults.len().saturating_sub(MOST);
    faults.truncate(MOST);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    faults
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
