//! `bonafide doctor`: looks at everything the server needs and says what to do about what is wrong. It changes nothing but to
//! create the data folder's files as a first start would.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use chain::ondemand::{Budget, OnDemand, Transport};
use clap::Args;

use super::{block_on, data, say};
use crate::app::chain_nodes::Place;
use crate::app::chain_transport::HttpTransport;
use crate::app::engines::open_models;
use crate::config::ServeConfig;

/// `bonafide doctor`: takes the settings of `serve`.
#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    config: ServeConfig,
}

/// What a check found.
enum Finding {
    Good(String),
    /// It works, but somebody should look.
    Look(String),
    /// It does not work; what to do.
    Bad(String),
}
use Finding::{Bad, Good, Look};

/// Runs every check; fails when one found something that does not work.
pub(super) fn run(doctor: &Doctor) -> anyhow::Result<()> {
    let config = &doctor.config;
    let mut bad = 0;
    let mut report = |name: &str, finding: Finding| -> anyhow::Result<()> {
        let (mark, text) = match finding {
            Good(text) => ("ok  ", text),
            Look(text) => ("look", text),
            Bad(text) => {
                bad += 1;
                ("BAD ", text)
            }
        };
        say(&format!("{mark}  {name:10} {text}"))
    };
    report("machine", machine())?;
    report("clock", clock())?;
    report("models", models(config))?;
    for (name, finding) in block_on(async { Ok(storage(config).await) })? {
        report(name, finding)?;
    }
    report("lists", lists(config))?;
    for finding in chains(config) {
        report("chains", finding)?;
    }
    for finding in upstreams(config) {
        report("upstream", finding)?;
    }
    report("public URL", public_url(config))?;
    anyhow::ensure!(bad == 0, "{bad} thing(s) must be mended first");
    Ok(())
}

fn machine() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        text.lines().find_map(|line| {
            line.strip_prefix("MemAvailable:")?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        })
    });
    match memory.map(|kib| kib / 1024) {
        Some(mib) if mib < 1_500 => Look(format!(
            "{cores} cores, {mib} MiB of free memory: 2 GiB and more are advised"
        )),
        Some(mib) => Good(format!("{cores} cores, {mib} MiB of free memory")),
        None => Good(format!("{cores} cores")),
    }
}

fn clock() -> Finding {
    // A certificate or token cannot be judged by a clock that stands before this program was written.
    const WRITTEN: Duration = Duration::from_secs(1_793_491_200);
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(now) if now >= WRITTEN => Good("plausible".into()),
        _ => Bad("the clock stands before this program was written: set the time (NTP)".into()),
    }
}

fn models(config: &ServeConfig) -> Finding {
    let started = Instant::now();
    match open_models(config.models.as_deref(), 1) {
        Ok(_) => Good(format!(
            "found, checked and loaded in {:.1} s",
            started.elapsed().as_secs_f32()
        )),
        Err(error) => Bad(format!("{error:#}")),
    }
}

async fn storage(config: &ServeConfig) -> Vec<(&'static str, Finding)> {
    let key = config.data.master_key_file();
    let data = match data::open(&config.data).await {
        Ok(data) => data,
        Err(error) => return vec![("database", Bad(format!("{error:#}")))],
    };
    let kind = if data.db.is_postgres() {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    let database = match data.db.check_schema().await {
        Ok(()) => Good(format!("{kind}, schema up to date")),
        Err(error) => Bad(error.to_string()),
    };
    let objects = match data.objects.ping().await {
        Ok(()) => Good(config.data.objects_url()),
        Err(error) => Bad(format!("{}: {error}", config.data.objects_url())),
    };
    let keys = if readable_by_others(&key) {
        Bad(format!("{} can be read by others: chmod 600", key.display()))
    } else {
        Good(format!("{} (keep a copy apart from the data)", key.display()))
    };
    vec![("database", database), ("objects", objects), ("keys", keys)]
}

fn readable_by_others(file: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

fn lists(config: &ServeConfig) -> Finding {
    let import = "`bonafide lists import FILE…`";
    match config.data.list_store().and_then(|store| store.status()) {
        Err(error) => Bad(error.to_string()),
        Ok(lists) => {
            let oldest = lists
                .iter()
                .map(|list| list.age_seconds / 86_400)
                .max()
                .unwrap_or_default();
            match lists.iter().find(|list| !list.active) {
                _ if lists.is_empty() => Bad(format!(
                    "no list is imported, so every verification is refused: {import}"
                )),
                Some(old) => Bad(format!(
                    "{} is too old or unreadable, so every verification is refused: {import}",
                    old.list
                )),
                None if oldest > 2 => Look(format!(
                    "{} active, the oldest imported {oldest} days ago",
                    lists.len()
                )),
                None => Good(format!("{} active", lists.len())),
            }
        }
    }
}

/// The indexes and nodes of chains: whether they answer, and what they cannot tell.
fn chains(config: &ServeConfig) -> Vec<Finding> {
    let checked = || -> anyhow::Result<Vec<Finding>> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(runtime.handle().clone())?);
        let mut findings = Vec::new();
        for place in config.chains.indexes()? {
            let index = OnDemand::new(place.provider()?, Arc::clone(&transport), Budget::default());
            findings.push(index_finding(&place, &index));
        }
        for place in config.chains.followed()? {
            let (node, origin) = (place.node(Arc::clone(&transport))?, place.origin());
            findings.push(match node.height() {
                Ok(height) => Good(format!("{}: followed at {origin}, now {height}", place.currency)),
                Err(error) => Bad(format!("{}: the node at {origin}: {error}", place.currency)),
            });
        }
        Ok(findings)
    };
    checked().unwrap_or_else(|error| vec![Bad(format!("{error:#}"))])
}

fn index_finding(place: &Place, index: &OnDemand) -> Finding {
    let (currency, origin, kind) = (place.currency, place.origin(), index.name());
    match index.check() {
        Ok((tip, true)) => Good(format!("{currency}: {kind} at {origin}, up to {}", tip.height)),
        Ok((_, false)) => Look(format!(
            "{currency}: the node at {origin} tells of transactions but cannot list an address's history (no trace_filter): \
             addresses that nobody labelled are answered 404"
        )),
        Err(error) if kind == "esplora" => Bad(format!(
            "{currency}: {origin}: {error}; it must be an Esplora server (bitcoind cannot list an address's history, but \
             --chain-follow takes its blocks)"
        )),
        Err(error) => Bad(format!("{currency}: {kind} at {origin}: {error}")),
    }
}

/// The vendors: whether their file is right, and whether somebody listens there. They are asked nothing.
fn upstreams(config: &ServeConfig) -> Vec<Finding> {
    let upstreams = match config.chains.upstreams() {
        Ok(upstreams) => upstreams,
        Err(error) => return vec![Bad(format!("{error:#}"))],
    };
    let finding = |vendor: &chain::upstream::Vendor| {
        let (name, origin) = (vendor.name(), vendor.origin());
        match listens(origin) {
            Ok(()) => Good(format!("{name} listens at {origin}; it is asked nothing here")),
            Err(why) => Look(format!("{name} at {origin} cannot be reached: {why}")),
        }
    };
    upstreams.vendors().iter().map(finding).collect()
}

/// Whether somebody listens at an origin.
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

fn public_url(config: &ServeConfig) -> Finding {
    match config.public_url.as_deref() {
        Some(url) if url.starts_with("https://") => Good(url.to_owned()),
        Some(url) if url.starts_with("http://localhost") || url.starts_with("http://127.0.0.1") => {
            Good(url.to_owned())
        }
        Some(url) => Bad(format!("{url}: phones give no page their camera without HTTPS")),
        None if config.listen.ip().is_loopback() => {
            Look("not set: links work on this machine only; set BONAFIDE_PUBLIC_URL".into())
        }
        None => Bad(
            "not set while listening to other machines: set BONAFIDE_PUBLIC_URL to the HTTPS address".into(),
        ),
    }
}
