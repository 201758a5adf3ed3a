//! `bonafide doctor`: looks at everything the server needs and says what to do about what is wrong. It changes nothing but to
//! create the data folder's files as a first start would.

use std::time::{Duration, Instant, SystemTime};

use clap::Args;

use super::{block_on, data, say};
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
