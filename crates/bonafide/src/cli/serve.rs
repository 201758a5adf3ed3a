//! `bonafide serve`: starts the server and stops it without losing a request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use chain::currency::Currency;
use chain_sources::follow::FollowerThreads;
use chain_sources::sources::ChainSources;
use engine_process::{EngineWorkers, Settings, Wall};
use http_server::hosts::HostConnections;
use http_server::listener::{self, Limits};
use portal_accounts::joining;
use service::api_log::{self, ApiLog};
use service::app::READINESS_FOR;
use service::background::Background;
use service::challenge_capacity::ChallengeCapacity;
use service::config::ServeConfig;
use service::cpu::CpuPool;
use service::face_replicas::FaceReplicas;
use service::geo::Geo;
use service::labels::LabelSets;
use service::list_set;
use service::list_update::ListUpdater;
use service::lists::Lists;
use service::mail::Mailer;
use service::metric_table;
use service::presence::Presence;
use service::recent::Recent;
use service::{App, Shared};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::TaskTracker;

use super::engines::required_models;
use super::output::note;
use super::runtime::block_on;
use super::{data, demo};
use crate::{logging, router};

/// Screenings mostly wait for an index or the disk, so each worker has several.
const SCREENINGS_PER_WORKER: usize = 4;
/// Argon2 takes a full core and 19 MiB, so few run at once and the others wait.
const PASSWORDS_AT_ONCE: usize = 4;
/// Open files other than connections: database, lists, spilled uploads.
const FILES_BESIDES: u64 = 512;

/// Runs the server until it gets a signal to stop.
pub(super) fn run(config: ServeConfig) -> anyhow::Result<()> {
    logging::start(config.log_json);
    // Installs one TLS implementation for the object store and webhooks.
    let _ = rustls::crypto::ring::default_provider().install_default();
    block_on(serve(config))
}

async fn serve(config: ServeConfig) -> anyhow::Result<()> {
    ListUpdater::check(&config.list_sources)?;
    // The key is checked before anything else starts.
    let data = data::open(&config.data).await?;
    // The engines record metrics as soon as they start.
    let metrics = metric_table::install().context("metrics cannot be recorded")?;
    let engines = start_engines(&config)?;
    let listener = TcpListener::bind(config.listen).await.with_context(|| {
        format!(
            "cannot listen on {}: if another program uses it, choose another with --listen (BONAFIDE_LISTEN)",
            config.listen
        )
    })?;
    let address = listener.local_addr()?;
    let public_url = match &config.public_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => format!(
            "http://{}",
            if address.ip().is_unspecified() {
                SocketAddr::from(([127, 0, 0, 1], address.port()))
            } else {
                address
            }
        ),
    };
    let lists = Arc::new(Lists::of_node(&config.data)?);
    lists.store().delete_leftovers()?;
    list_set::adopt(&data.db, lists.store()).await?;
    if config.demo {
        demo::seed_list(&data.db, lists.store()).await?;
    }
    // The readiness check reports any problem with the lists.
    let _ = lists.confirm(&data.db).await;
    let (api_log, calls) = ApiLog::new();
    let writing = tokio::spawn(api_log::write_all(data.db.clone(), calls));
    let runtime = tokio::runtime::Handle::current();
    let mut chains = ChainSources::open(&config.data.data, &config.chains, runtime, &Currency::ALL)?;
    let followers = chains.followers(&config.data.data, &config.chains)?;
    let app: Shared = Arc::new(App {
        api_log,
        websdk_url: config
            .websdk_url()?
            .unwrap_or_else(|| format!("{public_url}/verify")),
        public_url,
        geo: Geo::open(config.geo_database.as_deref())?,
        db: data.db,
        objects: data.objects,
        lists,
        labels: LabelSets::open(&config.data)?,
        chains: Arc::new(chains),
        cpu: CpuPool::new(config.workers()),
        films: CpuPool::new(config.workers()),
        challenges: ChallengeCapacity::default(),
        screenings: CpuPool::new(SCREENINGS_PER_WORKER * config.workers()),
        passwords: CpuPool::new(config.workers().min(PASSWORDS_AT_ONCE)),
        mailer: Mailer::open(&config)?,
        faces: FaceReplicas::default(),
        engines,
        recordings: TaskTracker::new(),
        background: Background::default(),
        presence: Presence::begin(),
        readiness: Recent::new(READINESS_FOR),
        metrics,
        config,
    });
    // Before serving starts, because it voids earlier links: one that somebody creates at a server that answers must last.
    show_operator_link(&app).await?;
    tokio::spawn(service::list_watch::watch(Arc::clone(&app)));
    tokio::spawn(service::list_copies::run(Arc::clone(&app)));
    tokio::spawn(service::list_schedule::run(Arc::clone(&app)));
    tokio::spawn(service::rescreening::run(Arc::clone(&app)));
    tokio::spawn(service::wallet_rescreening::run(Arc::clone(&app)));
    tokio::spawn(service::housekeeping::run(Arc::clone(&app)));
    tokio::spawn(service::webhooks::run(Arc::clone(&app)));
    tokio::spawn(service::applicant_letters::run(Arc::clone(&app)));
    let following = FollowerThreads::start(followers, Duration::from_secs(app.config.chains.poll_seconds))?;
    tokio::spawn(service::chain_watch::run(Arc::clone(&app)));
    tokio::spawn(service::nodes::run(Arc::clone(&app)));
    // The handler is installed before serving starts. Otherwise an early SIGTERM would end the process
    // without a clean shutdown.
    let terminate = signal(SignalKind::terminate())?;
    let serving = tokio::spawn(accept(listener, terminate, Arc::clone(&app)));
    tracing::info!(%address, "listening");
    if app.config.demo {
        if !app.config.engines_on_demand {
            // The summary promises a working pipeline, so it waits for the models.
            let engines = app.engines.clone();
            let _ = tokio::task::spawn_blocking(move || engines.wait()).await?;
        }
        demo::seed(&app).await?;
    }
    serving.await?;
    app.api_log.stop();
    writing.await?;
    tokio::task::spawn_blocking(move || following.stop()).await?;
    if let Err(error) = service::nodes::remove_report(&app).await {
        tracing::warn!(%error, "this process could not take its report away");
    }
    app.db.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Starts the engine workers. The models load in the background, so that the server accepts requests at once.
/// A worker's walls are checked first, because a server must not start without the required ones.
fn start_engines(config: &ServeConfig) -> anyhow::Result<EngineWorkers> {
    let program = std::env::current_exe()?;
    if let Err(reason) = engine_process::prepare_control_group() {
        tracing::info!(
            reason,
            "engine workers have no control groups; only the process limits (setrlimit) apply"
        );
    }
    let walls = engine_process::check_walls(&program).context("the engine workers cannot start")?;
    let up: Vec<&str> = walls.up().map(Wall::as_str).collect();
    tracing::info!(walls = up.join(", "), "walls around the engine workers");
    for missing in walls.missing() {
        tracing::warn!(wall = %missing, "a wall around the engine workers is missing");
    }
    if let (Some(missing), false) = (walls.missing_required().next(), config.weak_sandbox) {
        bail!(
            "the engine workers, which read strangers' files, cannot be confined: a wall is missing ({missing}). See docs/operators/install.md, or accept the risk with --weak-sandbox"
        );
    }
    Ok(EngineWorkers::start(Settings {
        program,
        models: config.models.clone(),
        required: required_models(config),
        decoding: Duration::from_secs(config.decode_seconds),
        most: config.workers(),
        weak_sandbox: config.weak_sandbox,
        on_demand: config.engines_on_demand,
    }))
}

/// If the installation has no operator, prints a link for the first one to stderr. The link never goes to the
/// log.
async fn show_operator_link(app: &App) -> anyhow::Result<()> {
    if !store::staff::operators(&mut app.db.read().await?)
        .await?
        .is_empty()
    {
        return Ok(());
    }
    let link = joining::operator_link(&app.db, None)
        .await
        .map_err(|problem| anyhow::anyhow!("the operator's link: {problem}"))?;
    note!(
        "\n  !!  This installation has no operator yet. The first person to open this link becomes one:\n  !!\n  !!  {}{}\n  !!\n  !!  It works once, for seven days; `bonafide portal operator-link` creates another.\n",
        app.public_url,
        link.path
    );
    Ok(())
}

/// The limits of connections.
fn connection_limits(config: &ServeConfig) -> Limits {
    let header = Duration::from_secs(config.header_seconds);
    Limits {
        connections: config.connections as usize,
        header,
        idle: Duration::from_secs(config.idle_seconds),
        write: 2 * header,
    }
}

/// The connections per host.
fn hosts(config: &ServeConfig) -> HostConnections {
    let share = config
        .connections_per_host
        .unwrap_or((config.connections / 4).max(16));
    HostConnections::new(share as usize, config.trusted_proxies.clone())
}

/// Serves until a signal to stop, then gives running requests time to finish.
async fn accept(listener: TcpListener, mut terminate: Signal, app: Shared) {
    let grace = Duration::from_secs(app.config.shutdown_seconds);
    let limits = connection_limits(&app.config);
    let files = listener::raise_open_files();
    if files < limits.connections as u64 + FILES_BESIDES {
        tracing::warn!(
            files,
            "the system lets this process open too few files for its connections: raise LimitNOFILE"
        );
    }
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        tracing::info!("stopping: running requests are being finished");
    };
    let hosts = Arc::new(hosts(&app.config));
    let router = router::router(Arc::clone(&app));
    let served = listener::serve(listener, router, limits, hosts, stop, grace).await;
    // Recordings that a disconnected client started are completed too.
    app.recordings.close();
    if tokio::time::timeout(grace, app.recordings.wait()).await.is_err() || !served {
        tracing::warn!("some requests did not finish in time");
    }
}
