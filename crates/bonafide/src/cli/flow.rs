//! `bonafide flow …`: creates and updates Flows from a JSON file. The file has the members of contract §2.2
//! as real JSON, and under `settings` those that the API does not have.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use service::config::DataConfig;
use service::flows::{SaveOutcome, from_file};
use service::webhook_address::{Destination, WebhookHosts};
use store::Scope;
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::{note, print_line, print_proposed};
use super::runtime::block_on;

/// `bonafide flow`.
#[derive(Args)]
pub(crate) struct FlowCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    webhook_hosts: WebhookHosts,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Create a Flow.
    Create(FlowFile),
    /// Change a Flow. Members that the file omits do not change.
    Update {
        /// The Flow; by default the one with the file's `flowId`, else the one with its `name`.
        #[arg(long)]
        flow: Option<Uuid>,
        #[command(flatten)]
        file: FlowFile,
    },
}

#[derive(Args)]
struct FlowFile {
    /// The account.
    #[arg(long)]
    merchant: Uuid,
    /// The file with the Flow as JSON.
    #[arg(long)]
    file: PathBuf,
    /// Use the sandbox instead of live mode.
    #[arg(long)]
    sandbox: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

impl FlowFile {
    fn scope(&self) -> Scope {
        Scope {
            merchant_id: self.merchant,
            sandbox: self.sandbox,
        }
    }

    fn read(&self) -> anyhow::Result<Map<String, Value>> {
        let text =
            std::fs::read(&self.file).with_context(|| format!("{} cannot be read", self.file.display()))?;
        match http_server::json::parse(&text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(Unusable(format!("{}: must be a JSON object", self.file.display())).into()),
            Err(reason) => Err(Unusable(format!("{}: {reason}", self.file.display())).into()),
        }
    }
}

pub(super) fn run(command: FlowCommand) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open_existing(&command.data).await?.db;
        let (file, made) = match &command.action {
            Action::Create(file) => (file, from_file::create(&db, file.scope(), &file.read()?).await),
            Action::Update { flow, file } => (
                file,
                from_file::update_from_file(&db, file.scope(), *flow, &file.read()?).await,
            ),
        };
        let flow = match made.map_err(Unusable)? {
            SaveOutcome::Done(flow) => flow,
            SaveOutcome::Proposed => return print_proposed(file.json),
        };
        let flow_id = flow.id;
        print_line(&if file.json {
            json!({"flowId": flow_id}).to_string()
        } else {
            format!("flow {flow_id}")
        })?;
        let is_allowed = |host: &str| command.webhook_hosts.allow(host);
        if let Some(url) = &flow.webhook_url
            && let Err(fault) = Destination::check(url, file.sandbox, is_allowed)
        {
            note!("webhookUrl: with the settings of this command, no event is ever sent to {url}: {fault}");
        }
        Ok(())
    })
}
