//! Checks everything that the server needs. `bonafide doctor` and the operator console both report these
//! checks. Each result states the fix for a fault; no check repairs anything.

use std::path::Path;
use std::time::{Duration, SystemTime};

use sanctions::freshness::unchanged_alert;
use sanctions::{ListStatus, StoreError};
use serde::{Deserialize, Serialize};
use store::list_updates::ListUpdate;
use store::{Db, Objects, Schema};

use crate::config::{DataConfig, ServeConfig};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but it needs attention.
    Look,
    /// It does not work.
    Bad,
}

impl State {
    /// `ok`, `look` or `bad`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Look => "look",
            State::Bad => "bad",
        }
    }
}

/// A check with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The subject of the check.
    pub name: String,
    /// The result.
    pub state: State,
    /// What the check found and, if something is wrong, the fix.
    pub text: String,
}

impl Check {
    /// A check that passed.
    pub fn ok(name: &str, text: impl Into<String>) -> Self {
        Self::of(name, State::Ok, text)
    }

    /// A check whose subject works but needs attention.
    pub fn attention(name: &str, text: impl Into<String>) -> Self {
        Self::of(name, State::Look, text)
    }

    /// A check that failed.
    pub fn bad(name: &str, text: impl Into<String>) -> Self {
        Self::of(name, State::Bad, text)
    }

    fn of(name: &str, state: State, text: impl Into<String>) -> Self {
        Check {
            name: name.to_owned(),
            state,
            text: text.into(),
        }
    }
}

/// Cores and free memory.
pub fn machine() -> Check {
    const NAME: &str = "machine";
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
        Some(mib) if mib < 1_500 => Check::attention(
            NAME,
            format!("{cores} cores, {mib} MiB of free memory: 2 GiB and more are advised"),
        ),
        Some(mib) => Check::ok(NAME, format!("{cores} cores, {mib} MiB of free memory")),
        None => Check::ok(NAME, format!("{cores} cores")),
    }
}

/// Checks that the system's clock is plausible.
pub fn clock() -> Check {
    // Certificates and tokens cannot be checked with a clock that is earlier than this program's release.
    const WRITTEN: Duration = Duration::from_secs(1_793_491_200);
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(now) if now >= WRITTEN => Check::ok("clock", "plausible"),
        _ => Check::bad(
            "clock",
            "the clock is earlier than this program's release. Set the time (NTP)",
        ),
    }
}

/// Below this many free bytes a disk counts as full. A small write may still succeed, but the next upload may
/// not.
const FULL_BELOW: u64 = 512 << 20;
/// Below this many free bytes the operator should free space.
const LOW_BELOW: u64 = 5 << 30;
/// What to do about a full disk.
const MAKE_ROOM: &str = "free space on it, or enlarge it";

/// The bytes that this program may still write to the folder's disk.
fn free_bytes(folder: &Path) -> rustix::io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Formats a size as `12.3 GiB`, or in MiB below one GiB.
fn size(bytes: u64) -> String {
    match bytes {
        ..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64),
    }
}

/// Checks the free space on the data folder's disk, and that other users cannot open the folder.
pub fn disk(folder: &Path) -> Check {
    const NAME: &str = "disk";
    let free = match free_bytes(folder) {
        Ok(free) => free,
        Err(error) => return Check::bad(NAME, format!("{}: {error}", folder.display())),
    };
    let text = format!("{} free in {}", size(free), folder.display());
    match free {
        ..FULL_BELOW => Check::bad(NAME, format!("{text}: free up space now")),
        FULL_BELOW..LOW_BELOW => Check::attention(NAME, format!("{text}: free more space soon")),
        _ if store::files::is_open_to_others(folder).unwrap_or(true) => Check::attention(
            NAME,
            format!("{text}; other users can open this folder: chmod 700"),
        ),
        _ => Check::ok(NAME, text),
    }
}

/// Checks that the database has this version's schema, accepts writes and has free space.
pub async fn database(db: &Db) -> Check {
    const NAME: &str = "database";
    let kind = database_kind(db);
    let works = async {
        let schema = db.check_schema().await?;
        db.check_writes().await?;
        Ok(schema)
    };
    let schema = match works.await {
        Ok(Schema::Newer) => "the schema of a newer version: replace this program, too",
        Ok(_) => "schema up to date",
        Err(error @ store::Error::DatabaseFull(_)) => {
            return Check::bad(NAME, format!("{kind}: {error}: {MAKE_ROOM}"));
        }
        Err(error) => return Check::bad(NAME, error.to_string()),
    };
    let folder = db.path().and_then(Path::parent);
    match folder.and_then(|folder| free_bytes(folder).ok()) {
        Some(free @ ..FULL_BELOW) => Check::bad(
            NAME,
            format!(
                "{kind}: its disk is almost full ({} free): {MAKE_ROOM}",
                size(free)
            ),
        ),
        _ => Check::ok(NAME, format!("{kind}, {schema}")),
    }
}

/// `PostgreSQL` or `SQLite`.
pub fn database_kind(db: &Db) -> &'static str {
    if db.is_postgres() { "PostgreSQL" } else { "SQLite" }
}

/// Checks that objects can be written and read within 5 s.
pub async fn objects(objects: &Objects, url: &str) -> Check {
    const WITHIN: Duration = Duration::from_secs(5);
    let Ok(answer) = tokio::time::timeout(WITHIN, objects.ping()).await else {
        return Check::bad(
            "objects",
            format!("{url}: no answer within {} s", WITHIN.as_secs()),
        );
    };
    match answer {
        Ok(()) => Check::ok("objects", url),
        Err(error @ store::Error::ObjectsFull(_)) => {
            Check::bad("objects", format!("{url}: {error}: {MAKE_ROOM}"))
        }
        Err(error) => Check::bad("objects", format!("{url}: {error}")),
    }
}

/// Checks that the model in use made every proven face. A search compares only faces of the same model.
pub async fn faces(db: &Db, model: &str) -> Check {
    const NAME: &str = "faces";
    let count = async { store::faces::count_outdated(&mut db.read().await?, model).await };
    match count.await {
        Ok(0) => Check::ok(NAME, "all made by the model in use"),
        Ok(faces) => {
            let meanwhile = if faces::has_own_part(model) {
                "Faces of the current built-in networks are compared by those; other faces are not recognised"
            } else {
                "Until they are embedded again, their people are not recognised"
            };
            Check::attention(
                NAME,
                format!(
                    "{faces} were made by another model. {meanwhile}. The servers embed again those whose selfie is \
                     still stored; `bonafide faces reindex` does so at once"
                ),
            )
        }
        Err(error) => Check::bad(NAME, error.to_string()),
    }
}

/// Checks that other users cannot read the master key.
pub fn keys(config: &DataConfig) -> Check {
    use std::os::unix::fs::PermissionsExt;
    if config.master_key_command().is_some() {
        return Check::ok("keys", "printed by --master-key-command");
    }
    let file = config.master_key_file();
    let readable_by_others =
        std::fs::metadata(&file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    if readable_by_others {
        Check::bad(
            "keys",
            format!("{} can be read by others: chmod 600", file.display()),
        )
    } else {
        Check::ok(
            "keys",
            format!("{} (store a copy separately from the data)", file.display()),
        )
    }
}

/// Checks that the sanctions lists are usable. `alert_after` is the number of imports in a row without a change
/// that needs attention; 0 switches this off.
pub fn lists(found: Result<Vec<ListStatus>, StoreError>, alert_after: u32) -> Check {
    const NAME: &str = "lists";
    let import = "`bonafide lists import FILE…`";
    let lists = match found {
        Err(error) => return Check::bad(NAME, error.to_string()),
        Ok(lists) => lists,
    };
    let oldest = lists
        .iter()
        .map(|list| list.import_age_seconds / 86_400)
        .max()
        .unwrap_or_default();
    let unchanged = lists
        .iter()
        .find_map(|list| unchanged_alert(&list.list, list.unchanged_imports, alert_after));
    match (lists.iter().find(|list| !list.active), unchanged) {
        _ if lists.is_empty() => Check::bad(
            NAME,
            format!("no list is imported, so every verification is refused: {import}"),
        ),
        (Some(old), _) => Check::bad(
            NAME,
            format!(
                "every verification is refused: {}",
                old.problem.as_deref().unwrap_or("a list is unusable")
            ),
        ),
        (None, Some(alert)) => Check::attention(NAME, alert),
        (None, None) if oldest > 2 => Check::attention(
            NAME,
            format!("{} active, the oldest imported {oldest} days ago", lists.len()),
        ),
        (None, None) => Check::ok(NAME, format!("{} active", lists.len())),
    }
}

/// Checks that the last update of each list from its publisher succeeded; `None` if no list was ever updated.
pub fn list_updates(found: &[ListUpdate]) -> Option<Check> {
    const NAME: &str = "updates";
    let failed = found.iter().filter_map(|update| {
        let since = update
            .succeeded_at
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let since = since.map_or_else(|| "never".to_owned(), |at| format!("last on {at:.0}"));
        Some(format!("{} (updated {since})", update.error.as_ref()?))
    });
    let failed: Vec<String> = failed.collect();
    let attempted = found
        .iter()
        .filter(|update| update.attempted_at.is_some())
        .count();
    match (failed.is_empty(), attempted) {
        (_, 0) => None,
        (true, _) => Some(Check::ok(
            NAME,
            format!("{attempted} lists updated from their publishers"),
        )),
        (false, _) => Some(Check::attention(NAME, failed.join("; "))),
    }
}

/// Checks that phones can use the hosted page.
pub fn public_url(config: &ServeConfig) -> Check {
    const NAME: &str = "public URL";
    match config.public_url.as_deref() {
        Some(url) if url.starts_with("https://") => Check::ok(NAME, url),
        Some(url) if url.starts_with("http://localhost") || url.starts_with("http://127.0.0.1") => {
            Check::ok(NAME, url)
        }
        Some(url) => Check::bad(
            NAME,
            format!("{url}: phones give no page their camera without HTTPS"),
        ),
        None if config.listen.ip().is_loopback() => Check::attention(
            NAME,
            "not set: links work on this machine only; set BONAFIDE_PUBLIC_URL",
        ),
        None => Check::bad(
            NAME,
            "not set while listening to other machines: set BONAFIDE_PUBLIC_URL to the HTTPS address",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(active: bool, days: u64) -> ListStatus {
        ListStatus {
            list: "un".into(),
            version: "1".into(),
            entities: 1,
            imported_at: String::new(),
            published_at: None,
            age_seconds: days * 86_400,
            import_age_seconds: days * 86_400,
            active,
            problem: (!active).then(|| "list un is old".into()),
            unchanged_imports: 0,
            unchanged_since: None,
            digest: String::new(),
        }
    }

    fn unchanged(imports: u32) -> ListStatus {
        ListStatus {
            unchanged_imports: imports,
            ..list(true, 0)
        }
    }

    #[test]
    fn lists_are_relied_on_only_while_fresh() {
        for (found, state) in [
            (vec![], State::Bad),
            (vec![list(true, 0)], State::Ok),
            (vec![list(true, 0), list(true, 5)], State::Look),
            (vec![list(true, 0), list(false, 50)], State::Bad),
            (vec![unchanged(29)], State::Ok),
            (vec![unchanged(30), list(true, 0)], State::Look),
            (vec![unchanged(30), list(false, 50)], State::Bad),
        ] {
            assert_eq!(lists(Ok(found), 30).state, state);
        }
        assert_eq!(lists(Ok(vec![unchanged(30)]), 0).state, State::Ok);
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_room() {
        assert_eq!(disk(Path::new("/no/such/folder")).state, State::Bad);
        assert_ne!(disk(Path::new("/")).text, "");
    }

    #[test]
    fn what_is_less_than_a_gibibyte_is_counted_in_mebibytes() {
        for (bytes, text) in [
            (0, "0 MiB"),
            (40 << 20, "40 MiB"),
            ((1 << 30) - 1, "1023 MiB"),
            (1 << 30, "1.0 GiB"),
            (12_345 << 20, "12.1 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
