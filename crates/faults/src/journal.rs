//! What the clients were told: every acknowledgement, every failure, and the time windows of the faults. It
//! decides nothing about the installation's data; [`crate::check`] does.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::ensure;
use rand::seq::IteratorRandom as _;
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::faults::Fault;
use crate::unfinished::Left;

/// A request may fail until so long after the recovery, because its connection broke during the fault.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The lease of a request whose process died ends so long after the fault began (`--idempotency-lease-ms`).
const LEASE: Duration = Duration::from_secs(5);

/// How a request failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    /// The connection broke, or there was no answer in time.
    Broken,
    /// 503.
    Unavailable,
    /// 503, because more requests wait than may. A busy machine does so without any fault.
    Busy,
    /// 409, because an earlier request with the same `Idempotency-Key` may still be running.
    Leased,
    /// Any other answer than the expected one.
    Wrong(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken => f.write_str("broken connections"),
            Failure::Unavailable => f.write_str("503"),
            Failure::Busy => f.write_str("503 of a busy server"),
            Failure::Leased => f.write_str("409 until the lease of a dead request ended"),
            Failure::Wrong(what) => f.write_str(what),
        }
    }
}

/// A Group that was acknowledged, with what was acknowledged of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The number of its last acknowledged change; 0 before the first.
    pub(crate) version: u32,
    /// The person who was verified in it.
    pub(crate) verified: Option<Verified>,
}

impl Group {
    /// A Group as it is created.
    pub(crate) fn new() -> Group {
        Group::default()
    }

    /// Its description.
    pub(crate) fn description(&self) -> String {
        format!("v{}", self.version)
    }

    /// The version that a description states.
    pub(crate) fn version_of(description: &str) -> Option<u32> {
        description.strip_prefix('v')?.parse().ok()
    }
}

/// A hosted session whose result was acknowledged as final.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// The applicant's `externalUserId`.
    pub(crate) user: String,
    /// The session as it was read: `success`, `failed` or `expired`.
    pub(crate) poll: Value,
}

/// Everything that clients were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledged {
    /// The Groups by ID.
    pub(crate) groups: BTreeMap<String, Group>,
    /// The ended hosted sessions by ID.
    pub(crate) ended: BTreeMap<String, Ended>,
    /// The hosted sessions that nobody finishes, by ID, with the time when they began.
    pub(crate) left: BTreeMap<String, Left>,
}

impl Acknowledged {
    /// Forgets what was acknowledged between two states: a failover at that time may have lost it.
    pub(crate) fn forget_between(&mut self, earlier: &Acknowledged, later: &Acknowledged) {
        for (id, then) in &later.groups {
            let Some(group) = self.groups.get_mut(id) else {
                continue;
            };
            let before = earlier.groups.get(id);
            // Anything that was acknowledged still later proves that the Group is there.
            if group == then && before.is_none() {
                self.groups.remove(id);
                continue;
            }
            let before = before.cloned().unwrap_or_default();
            if group.version == then.version {
                group.version = before.version;
            }
            if group.verified == then.verified {
                group.verified = before.verified;
            }
        }
        let is_uncertain = |id: &String| later.ended.contains_key(id) && !earlier.ended.contains_key(id);
        self.ended.retain(|id, _| !is_uncertain(id));
        let is_uncertain = |id: &String| later.left.contains_key(id) && !earlier.left.contains_key(id);
        self.left.retain(|id, _| !is_uncertain(id));
    }
}

/// An acknowledged verification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Verified {
    /// The person's `externalUserId`.
    pub(crate) user: String,
    /// The acknowledged `facemap_id`.
    pub(crate) facemap: String,
}

/// A failed request: when it ran, what it was, and how it failed.
struct Failed {
    from: Instant,
    to: Instant,
    request: &'static str,
    failure: Failure,
    /// The answer, if there was one.
    answer: String,
}

/// A fault, from its beginning until the installation was ready again.
struct Window {
    fault: Fault,
    from: Instant,
    to: Instant,
    effect: Effect,
}

#[derive(Default)]
struct Entries {
    acknowledged: Acknowledged,
    failed: Vec<Failed>,
    windows: Vec<Window>,
    requests: BTreeMap<&'static str, u64>,
    lost: BTreeMap<&'static str, u64>,
    file: Option<File>,
}

impl Entries {
    /// Writes a line to the file, with the time.
    fn write(&mut self, mut line: Value) {
        line["at"] = json!(jiff::Timestamp::now().to_string());
        if let Some(file) = &mut self.file {
            let _ = writeln!(file, "{line}");
        }
    }
}

/// The record of a run.
pub(crate) struct Journal(Mutex<Entries>);

impl Journal {
    /// A journal that also writes each acknowledgement to a file.
    pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Journal> {
        let file = match file {
            Some(path) => File::create(path)?,
            None => tempfile::tempfile()?,
        };
        let entries = Entries {
            file: Some(file),
            ..Entries::default()
        };
        Ok(Journal(Mutex::new(entries)))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an answered request. `changed` is the acknowledgement of a write: the Group and its new state.
    pub(crate) fn answered(&self, request: &'static str, changed: Option<(&str, Group)>) {
        let mut entries = self.entries();
        *entries.requests.entry(request).or_default() += 1;
        let Some((id, group)) = changed else { return };
        entries.write(json!({
            "request": request, "group": id, "description": group.description(),
            "verified": group.verified.as_ref().map(|verified| &verified.user),
        }));
        entries.acknowledged.groups.insert(id.to_owned(), group);
    }

    /// Records a hosted session that nobody will finish.
    pub(crate) fn left(&self, session: &str, left: Left) {
        let mut entries = self.entries();
        entries.write(json!({"left": session}));
        entries.acknowledged.left.insert(session.to_owned(), left);
    }

    /// Records the final result of a hosted session.
    pub(crate) fn ended(&self, session: &str, ended: Ended) {
        let mut entries = self.entries();
        entries.write(json!({"session": session, "status": ended.poll["status"]}));
        entries.acknowledged.left.remove(session);
        entries.acknowledged.ended.insert(session.to_owned(), ended);
    }

    /// Records a failed request.
    pub(crate) fn failed(&self, request: &'static str, from: Instant, failure: Failure) {
        self.failed_with(request, from, failure, "");
    }

    /// Records a failed request with its answer.
    pub(crate) fn failed_with(&self, request: &'static str, from: Instant, failure: Failure, answer: &str) {
        let to = Instant::now();
        self.entries().failed.push(Failed {
            from,
            to,
            request,
            failure,
            answer: answer.to_owned(),
        });
    }

    /// Records an answer that shows that a failover has lost something acknowledged.
    pub(crate) fn lost(&self, request: &'static str) {
        *self.entries().lost.entry(request).or_default() += 1;
    }

    /// Records a fault and the evidence of its effect.
    pub(crate) fn window(&self, fault: Fault, from: Instant, to: Instant, effect: Effect) {
        let window = Window {
            fault,
            from,
            to,
            effect,
        };
        self.entries().windows.push(window);
    }

    /// A hosted session that has ended, any of them.
    pub(crate) fn any_ended(&self) -> Option<(String, Ended)> {
        let entries = self.entries();
        let any = entries.acknowledged.ended.iter().choose(&mut rand::rng())?;
        Some((any.0.clone(), any.1.clone()))
    }

    /// A hosted session that was left at least so long ago.
    pub(crate) fn left_for(&self, time: Duration) -> Option<String> {
        let entries = self.entries();
        let mut left = entries.acknowledged.left.iter();
        left.find(|(_, left)| left.latest.elapsed() > time)
            .map(|(session, _)| session.clone())
    }

    /// Waits until a hosted session has failed, so that there is somebody to erase.
    pub(crate) async fn await_failed(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(120);
        let is_failed = |ended: &Ended| ended.poll["status"] == json!("failed");
        while !self.entries().acknowledged.ended.values().any(is_failed) {
            ensure!(Instant::now() < deadline, "no hosted session has failed");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    /// Everything that was acknowledged so far.
    pub(crate) fn acknowledged(&self) -> Acknowledged {
        self.entries().acknowledged.clone()
    }

    /// Every failure that no fault explains, and every kind of fault that never had an effect.
    pub(crate) fn violations(&self) -> Vec<String> {
        let entries = self.entries();
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for failed in &entries.failed {
            let grace = match failed.failure {
                Failure::Leased => GRACE + LEASE,
                _ => GRACE,
            };
            let window = entries
                .windows
                .iter()
                .find(|window| failed.from <= window.to + grace && failed.to >= window.from);
            let place = match (window, &failed.failure) {
                (window, Failure::Wrong(_)) => {
                    window.map_or("outside faults".to_owned(), |w| w.fault.to_string())
                }
                (_, Failure::Busy) => continue,
                (None, _) => {
                    let earlier = entries.windows.iter().filter(|window| window.to < failed.from);
                    let place = match earlier.max_by_key(|window| window.to) {
                        Some(Window { fault, to, .. }) => {
                            let seconds = (failed.from - *to).as_secs();
                            format!("outside faults, begun {seconds} s after {fault}")
                        }
                        None => "outside faults".to_owned(),
                    };
                    match failed.answer.is_empty() {
                        true => place,
                        false => format!("{place}: {}", failed.answer),
                    }
                }
                (Some(_), _) => continue,
            };
            *found
                .entry(format!("{}: {} ({place})", failed.request, failed.failure))
                .or_default() += 1;
        }
        let found = found.into_iter().map(|(what, count)| format!("{count} × {what}"));
        found.chain(without_effect(&entries.windows)).collect()
    }

    /// Counts of requests, faults with their durations, and failures inside them.
    pub(crate) fn summary(&self) -> String {
        let entries = self.entries();
        let mut text = String::from("\nanswered:");
        for (request, count) in &entries.requests {
            text.push_str(&format!(" {request} {count};"));
        }
        let mut faults: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
        let mut missing: BTreeMap<String, usize> = BTreeMap::new();
        for window in &entries.windows {
            let fault = window.fault.to_string();
            *missing.entry(fault.clone()).or_default() += usize::from(window.effect.is_missing());
            faults.entry(fault).or_default().push(window.to - window.from);
        }
        text.push_str("\nfaults, with the median and longest time until ready again:");
        for (fault, mut times) in faults {
            times.sort();
            text.push_str(&format!(
                "\n  {:2} × {fault}: {:.1} s, {:.1} s",
                times.len(),
                times[times.len() / 2].as_secs_f64(),
                times[times.len() - 1].as_secs_f64()
            ));
            if let Some(missing @ 1..) = missing.get(&fault) {
                text.push_str(&format!("; {missing} without effect"));
            }
        }
        let mut failures: BTreeMap<&Failure, u64> = BTreeMap::new();
        for failed in &entries.failed {
            *failures.entry(&failed.failure).or_default() += 1;
        }
        text.push_str("\nfailed requests, all repeated until answered:");
        for (failure, count) in failures {
            text.push_str(&format!(" {count} {failure};"));
        }
        if !entries.lost.is_empty() {
            text.push_str("\nanswers that showed a loss by failover:");
            for (request, count) in &entries.lost {
                text.push_str(&format!(" {request} {count};"));
            }
        }
        text
    }
}

/// The kinds of faults that had no effect at any time. One that missed its moment once is only reported.
fn without_effect(windows: &[Window]) -> Vec<String> {
    let mut kinds: BTreeMap<String, Vec<Effect>> = BTreeMap::new();
    for window in windows {
        kinds
            .entry(window.fault.to_string())
            .or_default()
            .push(window.effect);
    }
    kinds.retain(|_, effects| effects.iter().all(|effect| effect.is_missing()));
    kinds
        .into_iter()
        .map(|(fault, effects)| format!("{fault}: none of {} occurrences had an effect", effects.len()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Effect = Effect::once(true, "process killed");

    #[test]
    fn only_what_was_acknowledged_during_a_failover_may_be_lost() {
        let state = |groups: &[(&str, u32)]| Acknowledged {
            groups: groups
                .iter()
                .map(|(id, version)| {
                    let group = Group {
                        version: *version,
                        verified: None,
                    };
                    ((*id).to_owned(), group)
                })
                .collect(),
            ..Acknowledged::default()
        };
        let mut all = state(&[("old", 3), ("changed", 2), ("new", 1), ("later", 3), ("last", 1)]);
        let earlier = state(&[("old", 3), ("changed", 1), ("later", 1)]);
        let mut later = state(&[("old", 3), ("changed", 2), ("new", 1), ("later", 2)]);
        let person = Verified {
            user: "user".into(),
            facemap: "face".into(),
        };
        all.groups.insert(
            "verified later".into(),
            Group {
                version: 3,
                verified: Some(person.clone()),
            },
        );
        later.groups.insert(
            "verified later".into(),
            Group {
                version: 3,
                verified: None,
            },
        );
        all.forget_between(&earlier, &later);
        let verified = all.groups.remove("verified later");
        assert_eq!(
            verified,
            Some(Group {
                version: 0,
                verified: Some(person)
            })
        );
        let expected = state(&[("old", 3), ("changed", 1), ("later", 3), ("last", 1)]);
        assert_eq!(all.groups, expected.groups);
    }

    #[test]
    fn only_a_fault_excuses_a_failure_and_nothing_excuses_a_wrong_answer() {
        let journal = Journal::open(None).unwrap();
        let now = Instant::now();
        journal.window(Fault::KilledNode, now, now + Duration::from_secs(1), KILLED);
        journal.failed("read", now, Failure::Broken);
        journal.failed("read", now, Failure::Unavailable);
        journal.failed("read", now, Failure::Leased);
        journal.failed("read", now - Duration::from_secs(60), Failure::Busy);
        assert_eq!(journal.violations(), Vec::<String>::new());
        journal.failed("read", now, Failure::Wrong("500".into()));
        assert_eq!(journal.violations(), ["1 × read: 500 (killed-node)"]);

        let journal = Journal::open(None).unwrap();
        journal.window(
            Fault::KilledNode,
            now + Duration::from_secs(60),
            now + Duration::from_secs(61),
            KILLED,
        );
        journal.failed("verify", now, Failure::Unavailable);
        journal.failed("verify", now, Failure::Unavailable);
        assert_eq!(journal.violations(), ["2 × verify: 503 (outside faults)"]);
    }

    #[test]
    fn a_kind_of_fault_must_have_an_effect_at_least_once() {
        let journal = Journal::open(None).unwrap();
        let now = Instant::now();
        let cut = |count| Effect::counted(count, "commits cut");
        journal.window(Fault::CutCommits, now, now, cut(0));
        journal.window(Fault::CutCommits, now, now, cut(0));
        journal.window(Fault::KilledNode, now, now, KILLED);
        let wrong = "cut-commits: none of 2 occurrences had an effect";
        assert_eq!(journal.violations(), [wrong]);
        journal.window(Fault::CutCommits, now, now, cut(3));
        assert_eq!(journal.violations(), Vec::<String>::new());
        assert!(
            journal.summary().contains("; 2 without effect"),
            "{}",
            journal.summary()
        );
    }
}
