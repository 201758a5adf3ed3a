//! `bonafide faces reindex`: rebuilds the face index after a change of the face model.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use engine_process::{EngineWorkers, Settings};
use inference::own::Selection;
use serde_json::json;
use service::config::DataConfig;
use service::reindex::Reindexer;
use store::{Scope, merchants};

use super::data;
use super::engines::ModelsArg;
use super::output::print_line;
use super::runtime::block_on;

/// The longest time for decoding one selfie.
const DECODE: Duration = Duration::from_secs(20);

/// `bonafide faces`.
#[derive(Args)]
pub(crate) struct FacesCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Re-index proven faces of an earlier model from the stored selfies. Servers may run meanwhile.
    Reindex(Reindex),
}

#[derive(Args)]
struct Reindex {
    #[command(flatten)]
    models: ModelsArg,
    /// Work even if the processes that read selfies cannot be confined.
    #[arg(long, env = "BONAFIDE_WEAK_SANDBOX")]
    weak_sandbox: bool,
    #[command(flatten)]
    data: DataConfig,
}

pub(super) fn run(command: &FacesCommand) -> anyhow::Result<()> {
    let Action::Reindex(command) = &command.action;
    let engines = EngineWorkers::start(Settings {
        program: std::env::current_exe()?,
        models: command.models.folder(),
        required: Selection::default(),
        decoding: DECODE,
        most: 1,
        weak_sandbox: command.weak_sandbox,
        on_demand: false,
    });
    let ready = engines.wait().map_err(|reason| anyhow!(reason))?;
    block_on(async {
        let data = data::open_existing(&command.data).await?;
        let accounts = merchants::list(&mut data.db.read().await?).await?;
        let reindexer = Reindexer {
            db: data.db,
            objects: data.objects,
            engines,
            face_model: ready.face_model,
        };
        for account in accounts {
            for sandbox in [false, true] {
                let scope = Scope {
                    merchant_id: account.id,
                    sandbox,
                };
                let done = reindexer
                    .reindex(scope, "command line", None, &mut BTreeSet::new())
                    .await
                    .map_err(|problem| anyhow!("account {}: {problem}", account.id))?;
                let line = json!({"merchantId": account.id, "sandbox": sandbox, "renewed": done.renewed, "left": done.left});
                print_line(&line.to_string())?;
            }
        }
        Ok(())
    })
}
