//! `bonafide doctor`: checks everything the server needs and reports how to fix each problem.
//!
//! It creates no folder, key, database or schema. It writes and deletes one row if the schema exists, and one
//! small object if the object store exists. Checks that running servers make too are in `service::checks` and
//! `service::chain_watch`. Only this module queries nodes and vendors.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::currency::Currency;
use chain::source::SourceError;
use chain_sources::follow::FollowProgress;
use chain_sources::graph::{Graph, GraphError};
use chain_sources::nodes::ChainEndpoint;
use chain_sources::ondemand::{Budget, OnDemand, Transport, TransportError};
use chain_sources::sources::graph_folder;
use chain_sources::transport::HttpTransport;
use clap::Args;
use engine_process::Wall;
use faces::FaceEngine;
use inference::Models;
use inference::own::{ModelKind, OwnModel, Selection};
use jiff::Timestamp;
use sanctions::store::{ListStore, LoadExactlyError};
use service::chain_watch;
use service::checks::{self, Check, State};
use service::config::{DataConfig, ServeConfig};
use service::configurations;
use service::list_set;
use service::lists::expected_versions;
use store::list_sets::{self, ListSet};
use store::list_updates;
use store::{Db, Error, Objects, Schema, Scope, attempts, durability, installation, merchants};

use super::data;
use super::engines::{open_models, required_models};
use super::output::print_line;
use super::runtime::block_on;

/// `bonafide doctor`: takes the settings of `serve`.
#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    config: ServeConfig,
}

/// Runs every check.
///
/// # Errors
/// Fails if a check found something that does not work.
pub(super) fn run(doctor: &Doctor) -> anyhow::Result<()> {
    let config = &doctor.config;
    let mut bad = 0;
    let mut report = |check: Check| -> anyhow::Result<()> {
        let mark = match check.state {
            State::Ok => "ok  ",
            State::Look => "look",
            State::Bad => {
                bad += 1;
                "BAD "
            }
        };
        print_line(&format!("{mark}  {:10} {}", check.name, check.text))
    };
    report(checks::machine())?;
    report(checks::clock())?;
    report(walls(config))?;
    let (models, face_model) = models(config);
    report(models)?;
    for check in block_on(async { Ok(storage(config, face_model.as_deref()).await) })? {
        report(check)?;
    }
    for check in graphs(config).into_iter().chain(chains(config)) {
        report(check)?;
    }
    for check in upstreams(config) {
        report(check)?;
    }
    report(checks::public_url(config))?;
    let problems = if bad == 1 { "problem" } else { "problems" };
    anyhow::ensure!(bad == 0, "{bad} {problems} must be fixed first");
    Ok(())
}

/// Checks the walls around the processes that read uploaded files.
fn walls(config: &ServeConfig) -> Check {
    let name = "sandbox";
    let tried = std::env::current_exe().and_then(|program| engine_process::check_walls(&program));
    let walls = match tried {
        Ok(walls) => walls,
        Err(error) => return Check::bad(name, format!("no engine worker can be started: {error}")),
    };
    let missing: Vec<String> = walls.missing().map(ToString::to_string).collect();
    if missing.is_empty() {
        let up: Vec<&str> = walls.up().map(Wall::as_str).collect();
        return Check::ok(
            name,
            format!("every wall around the engine workers is up: {}", up.join(", ")),
        );
    }
    let text = format!("missing walls around the engine workers: {}", missing.join("; "));
    match walls.missing_required().next() {
        Some(_) if !config.weak_sandbox => Check::bad(
            name,
            format!("{text}; the server starts only with --weak-sandbox"),
        ),
        _ => Check::attention(name, text),
    }
}

/// Checks the models. Returns the version of the face model too.
fn models(config: &ServeConfig) -> (Check, Option<String>) {
    let started = Instant::now();
    match open_models(config.models.as_deref()) {
        Ok(models) => {
            let models = Arc::new(models);
            let engine = FaceEngine::new(Arc::clone(&models));
            let version = Some(engine.embedding_version().to_owned());
            if let Err(error) = own_models(config, &models, &engine) {
                return (Check::bad("models", format!("{error:#}")), version);
            }
            let mut text = format!(
                "found, checked and loaded in {:.1} s",
                started.elapsed().as_secs_f32()
            );
            let versions = models.versions();
            for kind in ModelKind::ALL {
                if let Some(version) = versions.get(kind.as_str()) {
                    text.push_str(&format!("; custom model ({kind}): {version}"));
                }
            }
            (Check::ok("models", text), version)
        }
        Err(error) => (Check::bad("models", format!("{error:#}")), None),
    }
}

/// Checks that the custom models in use may decide, and that they are the ones that the settings require.
fn own_models(config: &ServeConfig, models: &Models, engine: &FaceEngine) -> anyhow::Result<()> {
    let name = |model: Option<&OwnModel>| model.map(|model| model.declaration().name.clone());
    let selection = Selection {
        pad: name(models.pad()),
        embedder: name(models.embedder()),
    };
    selection.require(&required_models(config))?;
    Ok(engine.check_own_models()?)
}

/// Checks the database, key, objects, disk, faces and lists.
async fn storage(config: &ServeConfig, face_model: Option<&str>) -> Vec<Check> {
    let data = &config.data;
    let mut found = Vec::new();
    let (mut set, mut has_attempts, mut updates) = (Ok(None), false, None);
    if let Some(db) = database(config, face_model, &mut found).await {
        set = async { list_sets::current(&mut db.read().await?).await }.await;
        let states = async { list_updates::list(&mut db.read().await?).await };
        updates = checks::list_updates(&states.await.unwrap_or_default());
        // Without an answer, a missing folder is only pointed out.
        has_attempts = any_attempt(&db).await.unwrap_or(false);
    }
    found.push(objects(data, has_attempts).await);
    if data.data.is_dir() {
        found.push(checks::disk(&data.data));
    }
    found.push(lists(data, set));
    found.extend(updates);
    found
}

/// Checks the database and its key. Returns the database if it can be used with the key.
async fn database(config: &ServeConfig, face_model: Option<&str>, found: &mut Vec<Check>) -> Option<Db> {
    let data = &config.data;
    let (database, key) = ("database", "keys");
    let file = data::describe_key_source(data);
    let inspection = match data::inspect(data).await {
        Ok(inspection) => inspection,
        Err(error) => {
            found.push(Check::bad(database, format!("{error:#}")));
            return None;
        }
    };
    let (exists, schema) = (inspection.exists, inspection.schema);
    match (&inspection.db, schema) {
        (None, _) => found.push(Check::attention(
            database,
            format!(
                "there is no database at {}: the first start makes it. If there should be one, mount its volume or correct --data or --database",
                data.database_url()
            ),
        )),
        (Some(_), Schema::Missing) => found.push(Check::attention(
            database,
            "the database is empty: the first start makes its schema. If it should not be, correct --database",
        )),
        (Some(db), Schema::Older) if !db.is_postgres() => found.push(Check::attention(
            database,
            "SQLite, an earlier version's schema: the next start brings it up to date; back the database up before",
        )),
        (Some(db), _) => {
            found.push(checks::database(db).await);
            found.extend(power_cuts(db).await);
        }
    }
    let db = match data::existing_keyring(data, inspection).await {
        Ok((_, Some(db))) => db,
        Ok((_, None)) => {
            found.push(Check::attention(
                key,
                format!("the master key {file} exists, but no database that it belongs to"),
            ));
            return None;
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::NoKeyring { .. })) => {
            found.push(Check::attention(
                key,
                format!("there is no {file}: the first start makes it"),
            ));
            return None;
        }
        Err(error) => {
            found.push(Check::bad(key, format!("{error:#}")));
            return None;
        }
    };
    found.push(match count_unopened_keys(&db, exists).await {
        Ok(0) => checks::keys(data),
        Ok(accounts) => Check::bad(
            key,
            format!(
                "the master key {file} belongs to this database, but was not used to encrypt the keys of all accounts (accounts affected: {accounts}). \
                 Find the other key file, or create these accounts again"
            ),
        ),
        Err(error) => Check::bad(key, error.to_string()),
    });
    if schema != Schema::Current {
        return None;
    }
    found.extend(configurations::check(&db, config).await);
    if let Some(model) = face_model {
        found.push(checks::faces(&db, model).await);
    }
    Some(db)
}

/// Settings of PostgreSQL that can lose acknowledged writes in a power cut; `None` if there are none.
async fn power_cuts(db: &Db) -> Option<Check> {
    let missing = match durability::missing_settings(db).await {
        Ok(missing) => missing,
        Err(error) => return Some(Check::bad("database", error.to_string())),
    };
    (!missing.is_empty()).then(|| {
        let settings: Vec<String> = missing.iter().map(|name| format!("{name} = off")).collect();
        Check::attention(
            "database",
            format!(
                "PostgreSQL runs with {}: a power cut can lose acknowledged writes or damage the database. \
                 Turn each on in postgresql.conf, or for this role or database, and reload",
                settings.join(", ")
            ),
        )
    })
}

/// The number of accounts whose keys the keyring cannot open.
async fn count_unopened_keys(db: &Db, exists: bool) -> Result<u64, Error> {
    if !exists {
        return Ok(0);
    }
    Ok(installation::unopened_accounts(&mut db.read().await?).await?.0)
}

/// Whether any account has attempts, whose files are in the object store.
async fn any_attempt(db: &Db) -> Result<bool, Error> {
    let mut conn = db.read().await?;
    for merchant_id in merchants::ids(&mut conn).await? {
        for sandbox in [false, true] {
            let scope = Scope { merchant_id, sandbox };
            if attempts::newest_at(&mut conn, scope).await?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Checks the object store. It does not create a missing folder.
async fn objects(data: &DataConfig, has_attempts: bool) -> Check {
    let url = data.objects_url();
    if let Some(folder) = url.strip_prefix("file:")
        && !Path::new(folder).is_dir()
    {
        return match has_attempts {
            true => Check::bad(
                "objects",
                format!(
                    "the folder {folder} does not exist, but the database has attempts whose files belong there. Mount its volume, \
                     correct --objects, or restore the folder from a backup"
                ),
            ),
            false => Check::attention(
                "objects",
                format!(
                    "the folder {folder} does not exist yet. The first start creates it. If it should exist already, mount its \
                     volume or correct --objects"
                ),
            ),
        };
    }
    match Objects::open(&url, &[]) {
        Ok(objects) => checks::objects(&objects, &url).await,
        Err(error) => Check::bad("objects", format!("{url}: {error}")),
    }
}

/// Checks that the lists in this node's folder are those that the installation uses.
fn lists(data: &DataConfig, set: Result<Option<ListSet>, Error>) -> Check {
    let folder = match data.data.join("lists").is_dir() {
        true => data.list_store().and_then(|store| store.status()),
        false => Ok(Vec::new()),
    };
    let set = match set {
        Ok(set) => set,
        Err(error) => return Check::bad("lists", error.to_string()),
    };
    match (set, folder) {
        (Some(set), Ok(mut folder)) if !set.lists.is_empty() => {
            if let Some(lacks) = list_set::missing_list(&set, &folder) {
                return Check::bad("lists", lacks);
            }
            // Other lists in the folder are not in use.
            folder.retain(|list| set.lists.contains_key(&list.list));
            let found = checks::lists(Ok(folder), data.list_unchanged_imports);
            // Servers read whole lists when they index them, so damage in their entries counts too.
            let loads = |store: ListStore| {
                let wanted = expected_versions(&set);
                store.load_exactly(&wanted)?;
                store.verify(wanted.keys()).map_err(LoadExactlyError::Unusable)
            };
            match data.list_store().map(loads) {
                Ok(Err(error)) if found.state != State::Bad => {
                    Check::bad("lists", format!("the server refuses every verification: {error}"))
                }
                _ => found,
            }
        }
        (Some(_), Ok(_)) => checks::lists(Ok(Vec::new()), data.list_unchanged_imports),
        (_, folder) => checks::lists(folder, data.list_unchanged_imports),
    }
}

/// Checks whether the chain graphs are up to date. For a graph that a server has open, it reads the
/// follower's last record.
fn graphs(config: &ServeConfig) -> Vec<Check> {
    let data = &config.data.data;
    let followed = config.chains.followed().unwrap_or_default();
    let now = Timestamp::now().as_millisecond();
    let kept = |currency: &Currency| graph_folder(data, *currency).is_dir();
    let finding = |currency: Currency| {
        let known = match Graph::open(&graph_folder(data, currency), currency) {
            Ok(graph) => Ok(graph.newest()),
            Err(GraphError::Locked) => FollowProgress::read(data, currency)
                .map(|following| following.tip)
                .ok_or(GraphError::Locked),
            Err(error) => Err(error),
        };
        match known {
            Ok(tip) => {
                let is_followed = followed.iter().any(|place| place.currency == currency);
                let following = is_followed
                    .then(|| FollowProgress::read(data, currency))
                    .flatten();
                // The node is queried below, so the follower's last error does not matter here.
                let following = following.map(|following| FollowProgress {
                    last_error: None,
                    ..following
                });
                let asked_anew = config.chains.poll_interval();
                chain_watch::check_graph(currency, tip.as_ref(), following.as_ref(), asked_anew, now).check
            }
            Err(GraphError::Locked) => Check::attention(
                chain_watch::CHECK,
                format!(
                    "{currency}: a running server has the graph open. Its Health page shows how current the graph is"
                ),
            ),
            Err(error) => Check::bad(
                chain_watch::CHECK,
                format!(
                    "{currency}: {} cannot be opened, and `serve` will not start with it: {error}",
                    graph_folder(data, currency).display()
                ),
            ),
        }
    };
    Currency::ALL.into_iter().filter(kept).map(finding).collect()
}

/// Checks whether the indexes and nodes of chains respond, and reports which queries they do not support.
fn chains(config: &ServeConfig) -> Vec<Check> {
    let checked = || -> anyhow::Result<Vec<Check>> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let http = Arc::new(HttpTransport::new(runtime.handle().clone())?);
        let transport: Arc<dyn Transport> = Arc::<HttpTransport>::clone(&http);
        let mut findings = Vec::new();
        for place in config.chains.indexes()? {
            let index = OnDemand::new(place.provider()?, Arc::clone(&transport), Budget::default());
            findings.push(match certificate(&place, &http) {
                Ok(seen) => index_finding(&place, &index, &seen),
                Err(why) => Check::bad(
                    chain_watch::CHECK,
                    format!(
                        "{}: {} at {}: {why}",
                        place.currency,
                        index.name(),
                        place.origin()
                    ),
                ),
            });
        }
        for place in config.chains.followed()? {
            let (node, origin) = (place.node(Arc::clone(&transport))?, place.origin());
            findings.push(match node.height() {
                Ok(height) => Check::ok(
                    chain_watch::CHECK,
                    format!("{}: followed at {origin}, now {height}", place.currency),
                ),
                Err(error) => Check::bad(
                    chain_watch::CHECK,
                    format!(
                        "{}: the node at {origin} (--chain-follow): {error}. Start it, or correct its address or --chain-credentials",
                        place.currency
                    ),
                ),
            });
        }
        Ok(findings)
    };
    checked().unwrap_or_else(|error| vec![Check::bad(chain_watch::CHECK, format!("{error:#}"))])
}

/// Describes the TLS certificate of a node or index; empty without TLS.
fn certificate(place: &ChainEndpoint, transport: &HttpTransport) -> Result<String, String> {
    let Some(address) = place.tls() else {
        return Ok(String::new());
    };
    match transport.certificate(&address, Duration::from_secs(10)) {
        Ok(seen) => Ok(format!(
            "; its certificate is {} (SHA-256 {})",
            if address.is_pinned() {
                "the pinned one"
            } else {
                "trusted by this system"
            },
            seen.unwrap_or_default()
        )),
        Err(TransportError::TimedOut) => {
            Err("it did not begin TLS in 10 s: a server without TLS is tcp://HOST:PORT".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn index_finding(place: &ChainEndpoint, index: &OnDemand, certificate: &str) -> Check {
    let (currency, origin, kind) = (place.currency, place.origin(), index.name());
    let now = Timestamp::now().as_millisecond();
    match index.check() {
        Ok((tip, true)) => {
            let mut check = chain_watch::check_index(currency, kind, &origin, &Ok(tip), now).check;
            check.text.push_str(certificate);
            check
        }
        Ok((_, false)) => Check::attention(
            chain_watch::CHECK,
            format!(
                "{currency}: the node at {origin} reports transactions but cannot list an address's history (it has neither \
                 trace_filter over the whole chain nor ots_searchTransactionsBefore). Queries for addresses \
                 without a label get 404. Use a node with such an index, such as Erigon, or import this node's blocks with --chain-follow"
            ),
        ),
        Err(error @ (SourceError::TimedOut | SourceError::Budget)) if kind == "evm" => Check::bad(
            chain_watch::CHECK,
            format!(
                "{currency}: the node at {origin}: {error}. A node that traces every block to find an address is too slow \
                 for histories. Use a node with an index, such as Erigon, or import this node's blocks with --chain-follow"
            ),
        ),
        Err(error) if kind == "esplora" => Check::bad(
            chain_watch::CHECK,
            format!(
                "{currency}: {origin} (--chain-index): {error}. Start it, or correct its address; it must be an Esplora server (bitcoind cannot list an address's history, but \
             --chain-follow takes its blocks)"
            ),
        ),
        Err(error) => chain_watch::check_index(currency, kind, &origin, &Err(error), now).check,
    }
}

/// Checks the vendors' configuration and whether their origins accept connections. It sends no request.
fn upstreams(config: &ServeConfig) -> Vec<Check> {
    let upstreams = match config.chains.upstreams() {
        Ok(upstreams) => upstreams,
        Err(error) => return vec![Check::bad("upstream", format!("{error:#}"))],
    };
    let finding = |vendor: &chain_sources::upstream::Vendor| {
        let (name, origin) = (vendor.name(), vendor.origin());
        match listens(origin) {
            Ok(()) => Check::ok(
                "upstream",
                format!("{name} listens at {origin}; no request was sent"),
            ),
            Err(why) => Check::attention("upstream", format!("{name} at {origin} cannot be reached: {why}")),
        }
    };
    upstreams.vendors().iter().map(finding).collect()
}

/// Checks that an origin accepts TCP connections.
fn listens(origin: &str) -> Result<(), String> {
    let url = reqwest::Url::parse(origin).map_err(|_| "this is no address".to_owned())?;
    let addresses = url
        .socket_addrs(|| None)
        .map_err(|error| format!("its name is not known: {error}"))?;
    let mut last = "its name has no address".to_owned();
    for address in addresses {
        match std::net::TcpStream::connect_timeout(&address, Duration::from_secs(3)) {
            Ok(_) => return Ok(()),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}
