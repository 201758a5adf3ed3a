//! `bonafide monitoring`: lists screenings, replays their decisions, and manages an account's risk profile.

use std::path::PathBuf;

use anyhow::Context;
use chain::currency::Currency;
use chain::labels::Labels;
use chain_sources::sources::{ChainConfig, ChainSources};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use service::config::DataConfig;
use service::labels::{AccountLabels, LabelSets};
use service::lists::Lists;
use service::monitoring::{self, Decision, ScreeningFilter, SetProfileError, page};
use service::time::iso;
use store::Scope;
use store::merchants;
use store::monitoring::{self as screenings, Screening};
use uuid::Uuid;

use super::data;
use super::errors::{Unusable, explain_graph_in_use};
use super::output::print_line;
use super::runtime::block_on;

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
    /// List an account's screenings, newest first, one JSON object per line.
    List(List),
    /// Manage an account's risk profile.
    Profile {
        #[command(subcommand)]
        action: ProfileAction,
    },
    /// Repeat an earlier decision with the labels, block and profile of that day, and report the differences.
    Replay(ReplayArgs),
}

#[derive(Subcommand)]
enum ProfileAction {
    /// Print the profile as JSON, in the format that `set` accepts.
    Show {
        /// The account.
        #[arg(long)]
        merchant: Uuid,
        /// Print this version instead of the newest; 0 is the built-in one.
        #[arg(long)]
        version: Option<u32>,
    },
    /// Store a file as the newest version. Members missing from `thresholds` and `following` have built-in
    /// values; a missing category has no weight.
    Set {
        /// The file.
        file: PathBuf,
        /// The account.
        #[arg(long)]
        merchant: Uuid,
    },
}

#[derive(Args)]
struct ReplayArgs {
    /// The screening's queryId.
    id: Uuid,
    /// The account.
    #[arg(long)]
    merchant: Uuid,
    /// Use the sandbox instead of live mode.
    #[arg(long)]
    sandbox: bool,
    #[command(flatten)]
    chains: ChainConfig,
}

#[derive(Args)]
struct List {
    /// The account.
    #[arg(long)]
    merchant: Uuid,
    /// Show sandbox screenings instead of live ones.
    #[arg(long)]
    sandbox: bool,
    /// Show only the screening with this queryId.
    #[arg(long)]
    id: Option<Uuid>,
    /// Show screenings of this address or transaction, in any notation.
    #[arg(long)]
    query: Option<String>,
    /// Show screenings on this chain.
    #[arg(long)]
    currency: Option<String>,
    /// Show screenings with this label.
    #[arg(long)]
    label: Option<String>,
    /// Show screenings older than the one with this queryId.
    #[arg(long)]
    before: Option<Uuid>,
    /// The maximum number of screenings.
    #[arg(long, default_value_t = 100)]
    limit: u16,
}

pub(super) fn run(command: MonitoringCommand) -> anyhow::Result<()> {
    let data = command.data;
    match command.action {
        Action::List(list) => show(&data, list),
        Action::Profile { action } => block_on(profile(&data, action)),
        Action::Replay(again) => replay(&data, &again),
    }
}

async fn profile(data: &DataConfig, action: ProfileAction) -> anyhow::Result<()> {
    let db = data::open_existing(data).await?.db;
    match action {
        ProfileAction::Show { merchant, version } => {
            let found = monitoring::profile(&mut db.read().await?, merchant, version).await;
            let found = found.map_err(|_| anyhow::anyhow!("the profile cannot be read"))?;
            let found = found.with_context(|| format!("no such version of account {merchant}'s profile"))?;
            print_line(&serde_json::to_string_pretty(&found)?)
        }
        ProfileAction::Set { file, merchant } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            anyhow::ensure!(
                merchants::get(&mut db.read().await?, merchant).await?.is_some(),
                "no account {merchant}"
            );
            match monitoring::set_profile(&db, merchant, &text).await {
                Ok(version) => print_line(&json!({ "version": version }).to_string()),
                Err(SetProfileError::Store(error)) => Err(error.into()),
                Err(wrong) => Err(Unusable(format!("{}: {wrong}", file.display())).into()),
            }
        }
    }
}

fn replay(data: &DataConfig, again: &ReplayArgs) -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let scope = Scope {
        merchant_id: again.merchant,
        sandbox: again.sandbox,
    };
    let (decision, merchant) = runtime.block_on(async {
        let db = data::open_existing(data).await?.db;
        let conn = &mut db.read().await?;
        let merchant = merchants::get(conn, again.merchant)
            .await?
            .with_context(|| format!("no account {}", again.merchant))?;
        let none = || format!("no screening {} of this account and mode", again.id);
        let screening = screenings::get(conn, scope, again.id).await?.with_context(none)?;
        let decision = Decision::read(conn, scope, screening).await??;
        anyhow::Ok((decision, merchant))
    })?;
    let needed: Vec<Currency> = decision
        .is_traced()
        .then(|| decision.currency().parse())
        .transpose()
        .context("the chain cannot be read any more")?
        .into_iter()
        .collect();
    let chains = ChainSources::open(&data.data, &again.chains, runtime.handle().clone(), &needed);
    let there = format!(
        "let the server that holds it do it: \"Repeat this decision\" in the portal, /portal/monitoring/{}",
        again.id
    );
    let chains = chains.map_err(|error| explain_graph_in_use(error, &there))?;
    let (sets, lists) = (LabelSets::open(data)?, Lists::open(data)?);
    let settings = service::merchants::settings(&merchant).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let labels = AccountLabels::for_past_day(&sets, &lists, scope, &settings);
    let labels = labels.as_ref().map(|labels| labels as &dyn Labels);
    let replay = decision.replay(labels.map_err(ToString::to_string), &chains);
    print_line(&serde_json::to_string(&replay)?)
}

fn show(data: &DataConfig, list: List) -> anyhow::Result<()> {
    let currency = list.currency()?;
    block_on(async move {
        let db = data::open_existing(data).await?.db;
        let scope = Scope {
            merchant_id: list.merchant,
            sandbox: list.sandbox,
        };
        let conn = &mut db.read().await?;
        let found = match list.id {
            Some(id) => screenings::get(conn, scope, id).await?.into_iter().collect(),
            None => {
                let wanted = ScreeningFilter {
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
            .try_for_each(|screening| print_line(&screening_json(screening).to_string()))
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

fn screening_json(screening: &Screening) -> Value {
    json!({
        "queryId": screening.id,
        "type": screening.kind,
        "query": screening.query,
        "currency": screening.currency,
        "label": screening.label,
        "status": screening.status,
        "score": screening.score,
        "failed": screening.failure,
        "createdAt": iso(screening.created_at),
        "response": serde_json::from_str::<Value>(&screening.response).ok(),
    })
}
