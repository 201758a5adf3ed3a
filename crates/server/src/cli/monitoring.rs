//! `bonafide monitoring`: the screenings that were made (until the portal shows them).

use chain::address::Address;
use chain::currency::Currency;
use chain::hash::TransactionHash;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::Scope;
use store::monitoring::{self, Filter, Screening};
use uuid::Uuid;

use super::{Unusable, block_on, data, say};
use crate::api::time::iso;
use crate::config::DataConfig;

/// `bonafide monitoring`.
#[derive(Args)]
pub(crate) struct MonitoringCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// The newest screenings of an account, one JSON object a line, newest first.
    List(List),
}

#[derive(Args)]
struct List {
    /// The account.
    #[arg(long)]
    merchant: Uuid,
    /// Of the sandbox instead of live ones.
    #[arg(long)]
    sandbox: bool,
    /// The one with this queryId.
    #[arg(long)]
    id: Option<Uuid>,
    /// Of this address or transaction, in any of its forms.
    #[arg(long, requires = "currency")]
    query: Option<String>,
    /// The chain of `--query`.
    #[arg(long)]
    currency: Option<String>,
    /// With this label.
    #[arg(long)]
    label: Option<String>,
    /// Older than the one with this queryId.
    #[arg(long)]
    before: Option<Uuid>,
    /// At most so many.
    #[arg(long, default_value_t = 100)]
    limit: u16,
}

/// Runs it.
pub(super) fn run(command: MonitoringCommand) -> anyhow::Result<()> {
    let Action::List(list) = command.action;
    let canonical = list.canonical()?;
    block_on(async move {
        let db = data::open(&command.data).await?.db;
        let scope = Scope {
            merchant_id: list.merchant,
            sandbox: list.sandbox,
        };
        let conn = &mut db.read().await?;
        let found = match list.id {
            Some(id) => monitoring::get(conn, scope, id).await?.into_iter().collect(),
            None => {
                let filter = Filter {
                    query: canonical
                        .as_ref()
                        .map(|(currency, canonical)| (currency.code(), canonical.as_str())),
                    label: list.label.as_deref(),
                    before: list.before,
                };
                monitoring::list(conn, scope, filter, i64::from(list.limit)).await?
            }
        };
        found
            .iter()
            .try_for_each(|screening| say(&shown(screening).to_string()))
    })
}

impl List {
    fn canonical(&self) -> anyhow::Result<Option<(Currency, String)>> {
        let (Some(query), Some(currency)) = (&self.query, &self.currency) else {
            return Ok(None);
        };
        let currency: Currency = currency
            .parse()
            .map_err(|_| Unusable("--currency is no chain's code, such as btc".to_owned()))?;
        let canonical = match Address::parse(currency, query) {
            Ok(address) => address.canonical,
            Err(error) => match TransactionHash::parse(currency, query) {
                Ok(hash) => hash.canonical,
                Err(_) => return Err(Unusable(format!("--query {error}")).into()),
            },
        };
        Ok(Some((currency, canonical)))
    }
}

fn shown(screening: &Screening) -> Value {
    json!({
        "queryId": screening.id,
        "type": screening.kind,
        "query": screening.query,
        "currency": screening.currency,
        "label": screening.label,
        "status": screening.status,
        "score": screening.score,
        "createdAt": iso(screening.created_at),
        "response": serde_json::from_str::<Value>(&screening.response).ok(),
    })
}
