//! Whether the stored configuration of every account and Flow can be read and can work: checks of `bonafide doctor`. They
//! repair nothing.

use store::{Db, Scope};

use super::checks::Check;
use super::config::ServeConfig;
use super::{flows, merchants};
use crate::key_restrictions::KeyRestrictions;

/// The most faults that a check names.
const MOST: usize = 20;

/// Checks that every account's settings and every Flow can be read, because every request that depends on an
/// unreadable member is refused, and that events can be sent to the Flows' webhook URLs. Each fault is named.
pub async fn check(db: &Db, config: &ServeConfig) -> Vec<Check> {
    const NAME: &str = "settings";
    let found = match find(db, config).await {
        Ok(found) => found,
        Err(error) => return vec![Check::bad(NAME, error.to_string())],
    };
    let settings = match found.unreadable.is_empty() {
        true => Check::ok(
            NAME,
            format!("{} accounts and their Flows can be read", found.accounts),
        ),
        false => Check::bad(
            NAME,
            format!(
                "requests are refused until these are set again (`bonafide merchant set`, `bonafide flow update`): {}",
                first_of(found.unreadable)
            ),
        ),
    };
    let mut checks = vec![settings];
    checks.extend(webhooks(found.webhooks, found.undeliverable));
    checks
}

/// An operator may have set such a URL on purpose, so it is only pointed out; `None` if no Flow has a URL.
fn webhooks(urls: usize, undeliverable: Vec<String>) -> Option<Check> {
    const NAME: &str = "webhooks";
    if urls == 0 {
        return None;
    }
    if undeliverable.is_empty() {
        let text = format!("{urls} webhook URLs have no known fault; their hosts were not resolved");
        return Some(Check::ok(NAME, text));
    }
    let text = format!(
        "no event is ever sent to the webhook URLs of: {}",
        first_of(undeliverable)
    );
    Some(Check::attention(NAME, text))
}

/// The configuration of all accounts.
#[derive(Default)]
struct Configurations {
    accounts: usize,
    /// The faults of settings, keys and Flows that cannot be read.
    unreadable: Vec<String>,
    /// How many Flows have a webhook URL.
    webhooks: usize,
    /// Those to which no event is ever sent, and why.
    undeliverable: Vec<String>,
}

async fn find(db: &Db, config: &ServeConfig) -> Result<Configurations, store::Error> {
    let mut conn = db.read().await?;
    let merchants = store::merchants::list(&mut conn).await?;
    let mut found = Configurations {
        accounts: merchants.len(),
        ..Configurations::default()
    };
    for merchant in &merchants {
        let id = merchant.id;
        let faults = merchants::faults(merchant);
        found
            .unreadable
            .extend(faults.iter().map(|fault| format!("merchant {id}: {fault}")));
        for key in store::credentials::list(&mut conn, id).await? {
            if key.revoked_at.is_none() && KeyRestrictions::from_json(&key.restrictions).is_err() {
                let text = "the restrictions cannot be read (`bonafide merchant keys restrict`)";
                found
                    .unreadable
                    .push(format!("merchant {id}, key {}: {text}", key.key));
            }
        }
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: id,
                sandbox,
            };
            for flow in store::flows::list(&mut conn, scope).await? {
                let name = format!("merchant {id}, Flow {}", flow.id);
                if let Some(url) = &flow.webhook_url {
                    found.webhooks += 1;
                    let fault = config.webhook_fault(url, sandbox);
                    found
                        .undeliverable
                        .extend(fault.map(|fault| format!("{name}: {fault}")));
                }
                if let Err(fault) = flows::read(&flow.into()) {
                    found.unreadable.push(format!("{name}: {fault}"));
                }
            }
        }
    }
    Ok(found)
}

/// The first faults, and how many more there are.
fn first_of(mut faults: Vec<String>) -> String {
    let more = faults.len().saturating_sub(MOST);
    faults.truncate(MOST);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    faults.join("; ")
}
