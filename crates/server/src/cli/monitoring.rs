//! `bonafide monitoring`: the screenings that were made (until the portal shows them).

use chain::currency::Currency;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use store::Scope;
use store::monitoring::{self, Screening};
use uuid::Uuid;

use super::{Unusable, block_on, data, say};
use crate::api::time::iso;
use crate::app::monitoring::{Wanted, page};
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
    #[arg(long)]
    query: Option<String>,
    /// On this chain.
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
    let currency = list.currency()?;
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
                let wanted = Wanted {
                    text: list.query.as_deref(),
                    currency,
                    label: list.label.as_deref(),
                    before: list.before,
                };
                page(conn, scope, &wanted, list.limit).await?.screenings
            }
        };
        found
            .iter()
            .try_for_each(|screening| say(&shown(screening).to_string()))
    })
}

impl List {
    fn currency(&self) -> anyhow::Result<Option<Currency>> {
        let code = self.currency.as_deref();
        code.map(|code| {
            let unknown = |_| Unusable("--currency is no chain's code, such as btc".to_owned());
            Ok(code.parse().map_err(unknown)?)
        })
        .transpose()
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
