//! Decides whether a list is recent enough for screening. The publisher's date counts; the date of the import
//! counts where the publisher gives none, and as a limit on how long nobody has imported the list.
//!
//! Ages never come from the system's clock alone: [`Clock`] remembers the latest time that it has shown, so
//! that a clock that is set back makes no list look recent.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{Timestamp, civil::Date, tz::TimeZone};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// How far a clock may go back, in milliseconds. A machine whose hardware clock shows local time starts with
/// a few hours too many.
const TOLERANCE: i64 = DAY;

/// After which time a list must not be used. Zero switches a check off; `published` zero switches both off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxAge {
    /// Since the publisher's date, or since the import of a list without one. The default is 400 days, because
    /// some publishers leave a list unchanged for months.
    pub published: Duration,
    /// Since the import. OFAC publishes several times a week, so the default of 30 days without an import means
    /// that nobody maintains the lists.
    pub imported: Duration,
}

impl MaxAge {
    /// No list is too old.
    pub const OFF: MaxAge = MaxAge {
        published: Duration::ZERO,
        imported: Duration::ZERO,
    };
}

impl Default for MaxAge {
    fn default() -> MaxAge {
        MaxAge {
            published: Duration::from_secs(400 * 86_400),
            imported: Duration::from_secs(30 * 86_400),
        }
    }
}

/// Whether so many imports in a row without a change need attention: the publisher may have moved its file, and
/// the old address still serves the last one. An `alert_after` of 0 switches this off.
pub fn is_unchanged_too_long(imports: u32, alert_after: u32) -> bool {
    alert_after > 0 && imports >= alert_after
}

/// What to tell an operator about a list whose imports change nothing; `None` if it needs no attention.
pub fn unchanged_alert(list: &str, imports: u32, alert_after: u32) -> Option<String> {
    is_unchanged_too_long(imports, alert_after).then(|| {
        format!(
            "the last {imports} imports of {list} changed nothing: check that they download the publisher's current file"
        )
    })
}

/// The dates of a list, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListDates {
    /// The list's name.
    pub list: String,
    /// The publisher's date, if it gives one.
    pub published_at: Option<i64>,
    /// The time of the import.
    pub imported_at: i64,
}

/// Why a list is not recent enough.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// The publisher's date is too old.
    #[error(
        "list {list} dates from {date}, {days} days ago, but at most {most} are allowed: import the publisher's current list, or allow older lists with --list-max-age-hours"
    )]
    Published {
        /// The list.
        list: String,
        /// The publisher's date, as `2026-02-27`.
        date: String,
        /// Days since then.
        days: u64,
        /// The allowed age, as `400 days`.
        most: String,
    },
    /// The list was not imported for too long.
    #[error("list {list} was imported {days} days ago, but at most {most} are allowed: import it again")]
    Imported {
        /// The list.
        list: String,
        /// Days since the import.
        days: u64,
        /// The allowed age, as `30 days`.
        most: String,
    },
    /// The import is in the future, so the clock was wrong then or is wrong now.
    #[error(
        "list {list} was imported at {imported}, in the future of this machine's clock: correct the clock, or import the list again"
    )]
    FromFuture {
        /// The list.
        list: String,
        /// The time of the import, as ISO 8601.
        imported: String,
    },
    /// The clock was set back.
    #[error(transparent)]
    Clock(#[from] ClockBehind),
}

/// The clock shows an earlier time than it did before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this machine's clock shows {now}, but it showed {latest} before: correct it. If the later time was the wrong one, delete {file} and import the lists again"
)]
pub struct ClockBehind {
    /// What the clock shows, as ISO 8601.
    pub now: String,
    /// The latest time that it has shown, as ISO 8601.
    pub latest: String,
    /// The file that has this time.
    pub file: String,
}

/// The publisher's date in a version: the beginning of the day of `2026-02-27`, or the moment of
/// `2026-02-27T10:00:00`, both in UTC. Other versions have none.
pub fn published_at(version: &str) -> Option<i64> {
    let date: Date = version.get(..10)?.parse().ok()?;
    let rest = &version[10..];
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    if rest.is_empty() {
        return Some(midnight.as_millisecond());
    }
    if !rest.starts_with(['T', ' ']) {
        return None;
    }
    let moment = version.parse::<Timestamp>().ok();
    let moment = moment.or_else(|| {
        let local: jiff::civil::DateTime = version.parse().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    });
    Some(moment.unwrap_or(midnight).as_millisecond())
}

impl ListDates {
    /// The dates of a list with this version.
    pub fn new(list: &str, version: &str, imported_at: i64) -> ListDates {
        ListDates {
            list: list.to_owned(),
            published_at: published_at(version),
            imported_at,
        }
    }

    /// Milliseconds since the list was published, or imported if the publisher gives no date. A publisher's
    /// date after the import cannot be true, so the import counts then.
    pub fn age(&self, now: i64) -> i64 {
        let since = self.published_at.unwrap_or(i64::MAX).min(self.imported_at);
        now.saturating_sub(since).max(0)
    }

    /// Checks that the list may be used.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, now: i64, max_age: MaxAge) -> Result<(), Stale> {
        if max_age.published.is_zero() {
            return Ok(());
        }
        let list = self.list.clone();
        if self.imported_at > now.saturating_add(TOLERANCE) {
            let imported = show(self.imported_at);
            return Err(Stale::FromFuture { list, imported });
        }
        let age = self.age(now);
        let since_import = now.saturating_sub(self.imported_at).max(0);
        let days = |ms: i64| u64::try_from(ms / DAY).unwrap_or(0);
        let exceeds = |age: i64, limit: Duration| u128::try_from(age).unwrap_or(0) > limit.as_millis();
        if exceeds(age, max_age.published) {
            let most = span(max_age.published);
            return Err(match self.published_at {
                Some(published) if published <= self.imported_at => Stale::Published {
                    list,
                    date: show(published).chars().take(10).collect(),
                    days: days(age),
                    most,
                },
                _ => Stale::Imported {
                    list,
                    days: days(age),
                    most,
                },
            });
        }
        if !max_age.imported.is_zero() && exceeds(since_import, max_age.imported) {
            return Err(Stale::Imported {
                list,
                days: days(since_import),
                most: span(max_age.imported),
            });
        }
        Ok(())
    }
}

/// A limit in whole days, or in hours if it has none.
fn span(limit: Duration) -> String {
    match limit.as_secs() / 3_600 {
        hours if hours.is_multiple_of(24) => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}

/// A time as ISO 8601 in UTC, to the second.
fn show(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| format!("{time:.0}"))
}

/// A clock that notices when it is set back, also while the program was not running. It writes the latest
/// time to a file, at most once an hour.
#[derive(Debug)]
pub struct Clock {
    file: PathBuf,
    system: fn() -> i64,
    latest: AtomicI64,
    written: AtomicI64,
}

impl Clock {
    /// A clock that remembers the latest time in `file`.
    pub fn new(file: PathBuf) -> Clock {
        Clock::with(file, || Timestamp::now().as_millisecond())
    }

    /// The same with another system clock (ms since 1970), for tests.
    pub fn with(file: PathBuf, system: fn() -> i64) -> Clock {
        let known = read(&file).unwrap_or(0);
        Clock {
            file,
            system,
            latest: AtomicI64::new(known),
            written: AtomicI64::new(known),
        }
    }

    /// The time for ages (ms since 1970): never earlier than any earlier answer.
    ///
    /// # Errors
    /// When the clock went back by more than a day.
    pub fn now(&self) -> Result<i64, ClockBehind> {
        let now = (self.system)();
        let mut latest = self.latest.fetch_max(now, Ordering::Relaxed).max(now);
        if latest > now.saturating_add(TOLERANCE) {
            // Another process may have seen a later time. An operator who deleted the file trusts the clock.
            let was_written = self.written.load(Ordering::Relaxed) > 0;
            match read(&self.file) {
                None if was_written => {
                    latest = now;
                    self.latest.store(now, Ordering::Relaxed);
                    self.written.store(0, Ordering::Relaxed);
                }
                _ => {
                    return Err(ClockBehind {
                        now: show(now),
                        latest: show(latest),
                        file: self.file.display().to_string(),
                    });
                }
            }
        }
        if latest >= self.written.load(Ordering::Relaxed).saturating_add(HOUR) {
            self.write(latest);
        }
        Ok(latest)
    }

    /// Writes the latest time. Failure is ignored, because a folder may be read-only; the clock then remembers
    /// it only in memory.
    fn write(&self, latest: i64) {
        let latest = latest.max(read(&self.file).unwrap_or(0));
        let beside = self.file.with_extension(format!("{}.new", std::process::id()));
        let written = fs::File::create(&beside)
            .and_then(|mut file| {
                writeln!(file, "{}", show(latest))?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&beside, &self.file));
        match written {
            Ok(()) => self.written.store(latest, Ordering::Relaxed),
            Err(_) => {
                let _ = fs::remove_file(&beside);
            }
        }
    }
}

fn read(file: &std::path::Path) -> Option<i64> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().parse::<Timestamp>().ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_392_000_000; // 2026-11-23

    fn dates(published_days: Option<i64>, imported_days: i64) -> ListDates {
        ListDates {
            list: "un".into(),
            published_at: published_days.map(|days| NOW - days * DAY),
            imported_at: NOW - imported_days * DAY,
        }
    }

    #[test]
    fn versions_have_dates() {
        for (version, date) in [
            ("2026-11-23", Some("2026-11-23T00:00:00Z")),
            ("2026-11-23T10:00:05", Some("2026-11-23T10:00:05Z")),
            ("2026-11-23T10:00:05Z", Some("2026-11-23T10:00:05Z")),
            ("2026-11-23T10:00:05+02:00", Some("2026-11-23T08:00:05Z")),
            ("2026-11-23 10:00:05", Some("2026-11-23T10:00:05Z")),
            ("2026-11-23Tnonsense", Some("2026-11-23T00:00:00Z")),
            ("2026-13-23", None),
            ("2026-11-231", None),
            ("1", None),
            ("", None),
            ("sha256-0123456789ab", None),
            ("2026-11-2\u{e9}", None),
        ] {
            assert_eq!(published_at(version).map(show).as_deref(), date, "{version}");
        }
    }

    #[test]
    fn the_publishers_date_decides() {
        let published = |days| format!("published {days}");
        for (list, expected) in [
            // A list of 2020, imported now.
            (dates(Some(2_300), 0), published(2_300)),
            (dates(Some(401), 0), published(401)),
            (dates(Some(400), 0), "usable".into()),
            (dates(Some(200), 31), "imported 31".into()),
            (dates(None, 30), "usable".into()),
            (dates(None, 31), "imported 31".into()),
            // A date after the import is a mistake or a lie.
            (dates(Some(-900), 0), "usable".into()),
            (dates(Some(-900), 31), "imported 31".into()),
            // Imported while the clock was ahead.
            (dates(None, -2), "future".into()),
            (dates(None, -1), "usable".into()),
        ] {
            let found = match list.check(NOW, MaxAge::default()) {
                Ok(()) => "usable".to_owned(),
                Err(Stale::Published { days, .. }) => published(days),
                Err(Stale::Imported { days, .. }) => format!("imported {days}"),
                Err(Stale::FromFuture { .. }) => "future".into(),
                Err(Stale::Clock(_)) => "clock".into(),
            };
            assert_eq!(found, expected, "{list:?}");
            assert_eq!(list.check(NOW, MaxAge::OFF), Ok(()));
        }
        let strict = MaxAge {
            published: Duration::from_secs(86_400),
            ..MaxAge::default()
        };
        assert!(dates(Some(2), 0).check(NOW, strict).is_err());
        assert!(dates(None, 2).check(NOW, strict).is_err());
        assert_eq!(dates(Some(1), 1).check(NOW, strict), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_is_noticed_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("latest-time");
        let now = || Clock::with(file.clone(), || NOW);
        let back = |by: fn() -> i64| Clock::with(file.clone(), by);
        assert_eq!(now().now(), Ok(NOW));
        // Less than a day: the later time counts.
        assert_eq!(back(|| NOW - DAY).now(), Ok(NOW));
        let behind = back(|| NOW - DAY - 1_000).now().unwrap_err();
        assert_eq!(behind.latest, "2026-11-23T00:00:00Z");
        assert!(behind.to_string().contains("latest-time"), "{behind}");
        assert_eq!(back(|| NOW + 10 * DAY).now(), Ok(NOW + 10 * DAY));
        let running = now();
        assert!(running.now().is_err(), "another process has seen a later time");
        // The operator knows that the later time was wrong.
        fs::remove_file(&file).unwrap();
        assert_eq!(running.now(), Ok(NOW));
        assert_eq!(read(&file), Some(NOW));
        // Without a file that can be written, the running program remembers.
        let nowhere = folder.path().join("missing").join("latest-time");
        let memory = Clock::with(nowhere, || NOW);
        assert_eq!(memory.now(), Ok(NOW));
        memory.latest.store(NOW + 2 * DAY, Ordering::Relaxed);
        assert!(memory.now().is_err());
        // A damaged file counts as missing.
        fs::write(&file, "nonsense").unwrap();
        assert_eq!(now().now(), Ok(NOW));
    }
}
