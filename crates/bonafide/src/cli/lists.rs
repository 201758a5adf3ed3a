//! `bonafide lists …`: imports and removes sanctions lists, and shows which are active and how old they are. Updates
//! from publishers are in `list_update`, the return to an earlier version in `list_rollback`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use list_sources::sources::ListSourceConfig;
use sanctions::Guards;
use service::config::DataConfig;
use service::installation_acts::{self, InstallationAct};
use service::list_import::{ImportOptions, ListFiles, import_list};
use service::list_set::{self, CheckedSet};
use service::lists::PastWallets;
use service::operations::COMMAND_LINE;
use service::problem::Problem;
use store::Db;

use super::data::{self, Data};
use super::list_report::print_report;
use super::output::{note, print_line};
use super::runtime::block_on;
use super::{list_diff, list_rollback, list_status, list_update};

/// `bonafide lists`.
#[derive(Args)]
pub(crate) struct ListsCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Import list files (OFAC, UN, EU, UK, Switzerland, Canada, Australia, CSL, OpenSanctions; detected from the
    /// content) and activate them.
    Import {
        /// The files. OFAC's sdn, alt, add and comments CSV files of one folder are one list.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The publisher's SHA-256 of the (single) file.
        #[arg(long)]
        sha256: Option<String>,
        /// Accept a list that lost up to this share of its entities, in percent. Where two people are
        /// required, two operators must confirm a loss of more than 20 percent.
        #[arg(long)]
        max_shrink: Option<u8>,
        /// Print one JSON object for each list: what was read and rejected, and how each kind of value was used.
        #[arg(long)]
        json: bool,
    },
    /// Download lists from their publishers and import those that changed.
    Update {
        /// The lists; by default all lists in use whose publisher is known.
        lists: Vec<String>,
        /// Use each list's newest file in this folder, found by its publisher's file name. No connection is made.
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
        /// The same option as for `import`: accept a larger loss of entities, in percent.
        #[arg(long)]
        max_shrink: Option<u8>,
        /// Print one JSON object for each list.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        sources: ListSourceConfig,
    },
    /// Return a list to an earlier version. Where two people are required, two operators must
    /// confirm it.
    Rollback {
        /// The list's name, as `status` shows it.
        list: String,
        /// The version, one of the last five replaced ones; by default the one that was replaced last.
        version: Option<String>,
    },
    /// Remove a list permanently.
    Remove {
        /// Its name, as `status` shows it.
        list: String,
    },
    /// Show what changed between two versions of a list. The last five replaced versions are kept.
    Diff {
        /// The list's name, as `status` shows it.
        list: String,
        /// The older version; by default the one that was replaced last.
        old: Option<String>,
        /// The newer version; by default the one in use.
        new: Option<String>,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Show the active lists with their version and age.
    Status {
        /// Print one JSON array instead of a table.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(command: ListsCommand) -> anyhow::Result<()> {
    let data = command.data;
    match command.action {
        Action::Import {
            files,
            sha256,
            max_shrink,
            json,
        } => {
            let guards = Guards {
                expected_sha256: sha256,
                ..Guards::default()
            };
            block_on(import_all(&data, &files, guards, max_shrink, json))
        }
        Action::Diff { list, old, new, json } => {
            let versions = (old.as_deref(), new.as_deref());
            list_diff::run(&data.list_store()?, &list, versions, json)
        }
        Action::Remove { list } => block_on(remove(&data, &list)),
        Action::Update {
            lists,
            from,
            max_shrink,
            json,
            sources,
        } => {
            let request = list_update::Request {
                lists,
                from,
                max_shrink,
                json,
            };
            block_on(list_update::run(&data, &sources, request))
        }
        Action::Rollback { list, version } => block_on(list_rollback::run(&data, &list, version.as_deref())),
        Action::Status { json } => block_on(list_status::run(&data, json)),
    }
}

/// Imports each list into this node's folder, then publishes it for the installation.
async fn import_all(
    config: &DataConfig,
    files: &[PathBuf],
    guards: Guards,
    max_shrink: Option<u8>,
    json: bool,
) -> anyhow::Result<()> {
    let Data { db, objects } = data::open(config).await?;
    let store = config.list_store()?;
    let lock = Arc::new(store.lock()?);
    let mut refused = 0;
    for group in by_list(files) {
        let options = ImportOptions {
            max_shrink,
            actor: COMMAND_LINE,
            always_recorded: true,
            checked: &CheckedSet::read(&db).await?,
            lock: &lock,
        };
        let files = ListFiles::Paths(group.into_iter().map(Path::to_owned).collect());
        match import_list((&db, &objects), &store, files, &guards, options).await {
            Ok(report) => print_report(&report, config.list_unchanged_imports, json)?,
            Err(error) => {
                refused += 1;
                note!("bonafide: {error}");
            }
        }
    }
    PastWallets::remember(config, jiff::Timestamp::now().as_millisecond())?;
    anyhow::ensure!(
        refused == 0,
        "lists not activated: {refused}; the active versions did not change"
    );
    Ok(())
}

/// Removes a list from the installation's set, then from this node's folder. In this order, a crash leaves
/// only a file that is not in use. Where two people are required, the command line proposes the removal and
/// never confirms it.
async fn remove(config: &DataConfig, list: &str) -> anyhow::Result<()> {
    let db = data::open(config).await?.db;
    if propose_removal(&db, list).await? {
        return print_line(
            "Proposed. Two operators must confirm it in the console, under \"Lists and models\".",
        );
    }
    let store = config.list_store()?;
    let _lock = store.lock()?;
    let here = store.status()?.iter().any(|status| status.list == list);
    let was_used = list_set::remove(&db, list, COMMAND_LINE, here).await?;
    let was_here = store.remove(list)?;
    anyhow::ensure!(
        was_used || was_here,
        "no list {list}: `bonafide lists status` shows them"
    );
    PastWallets::remember(config, jiff::Timestamp::now().as_millisecond())?;
    print_line(&format!("{list} removed"))
}

/// Proposes the removal of a list if an account or a Flow requires two people. Returns whether one does.
async fn propose_removal(db: &Db, list: &str) -> anyhow::Result<bool> {
    let failed = |problem: Problem| anyhow::anyhow!("{problem}");
    let needs_two = installation_acts::needs_two(&mut db.read().await?)
        .await
        .map_err(failed)?;
    if needs_two {
        let act = InstallationAct::RemoveList(list.to_owned());
        installation_acts::propose(db, &act).await.map_err(failed)?;
    }
    Ok(needs_two)
}

/// Groups the files by list. CSV files of one folder form one list (OFAC's legacy format has four files);
/// every other file is a list.
fn by_list(files: &[PathBuf]) -> Vec<Vec<&Path>> {
    let mut groups: BTreeMap<(Option<&Path>, Option<&Path>), Vec<&Path>> = BTreeMap::new();
    for file in files {
        let is_csv = file
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let key = if is_csv {
            (file.parent(), None)
        } else {
            (file.parent(), Some(file.as_path()))
        };
        groups.entry(key).or_default().push(file);
    }
    groups.into_values().collect()
}
