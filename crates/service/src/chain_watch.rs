//! Checks that the sources of chains' histories answer, and how old their newest blocks are. The log,
//! `doctor`, the operator's Health page and `/metrics` all report these checks. It queries only newest blocks
//! and repairs nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chain::currency::Currency;
use chain::freshness::{age, is_stale};
use chain::source::{SourceError, Tip};
use chain_sources::follow::FollowProgress;
use chain_sources::sources::{ChainConfig, ChainSources, NewestBlock};
use jiff::Timestamp;

use super::Shared;
use super::background::Job;
use super::checks::{Check, State};

/// The name of these checks.
pub const CHECK: &str = "chains";
/// A follower records its progress every few seconds, or each time it queries its node. It counts as silent
/// after this time, or after twice the time between two queries if that is longer.
const SILENT: Duration = Duration::from_mins(15);

/// The state of a chain's source.
#[derive(Clone, Debug)]
pub struct SourceState {
    /// The chain.
    pub currency: Currency,
    /// The source: `graph`, or the kind of index.
    pub source: String,
    /// The age of its newest block, if it is known.
    pub age: Option<Duration>,
    /// The result of the check, with the fix.
    pub check: Check,
}

/// Checks whether a graph is fresh. `following` is the follower's last record, and `None` if the graph is not
/// followed. `asked_anew` is the time between two queries of the node. `now` is in milliseconds since 1970.
pub fn check_graph(
    currency: Currency,
    tip: Option<&Tip>,
    following: Option<&FollowProgress>,
    asked_anew: Duration,
    now: i64,
) -> SourceState {
    let reached = match tip {
        Some(tip) => format!(
            "{currency}: its graph ends at block {}{}",
            tip.height,
            age_text(tip, now)
        ),
        None => format!("{currency}: its graph is empty"),
    };
    let stale = tip.is_none_or(|tip| is_stale(currency, tip.time, now));
    let silence = following.and_then(|following| {
        let written: Timestamp = following.at.parse().ok()?;
        let silent = SILENT.max(asked_anew.saturating_mul(2));
        Some(age(written.as_millisecond(), now)).filter(|silence| *silence > silent)
    });
    let check = match following {
        Some(FollowProgress {
            last_error: Some(error),
            node,
            ..
        }) => Check::bad(
            CHECK,
            format!(
                "{reached}, and the node at {node} (--chain-follow) does not answer: {error}. Start it, or correct its address or \
                 --chain-credentials"
            ),
        ),
        Some(following) if silence.is_some() => Check::bad(
            CHECK,
            format!(
                "{reached}, and no server has followed the node at {} (--chain-follow) for {}. Check that the server runs, and restart it",
                following.node,
                silence.map_or_else(String::new, format_span)
            ),
        ),
        Some(following) if following.lag.is_none() => Check::ok(
            CHECK,
            format!("{reached}: waiting for the node at {}", following.node),
        ),
        Some(following) if stale => Check::attention(
            CHECK,
            match following.lag {
                Some(lag) if lag > 0 => format!(
                    "{reached}: {lag} more are being taken over from {}",
                    following.node
                ),
                _ => format!(
                    "{reached}: screenings do not see what happened since. The node at {} (--chain-follow) has no newer block. \
                     Check that it is synchronised",
                    following.node
                ),
            },
        ),
        None if stale => Check::attention(
            CHECK,
            format!(
                "{reached}: screenings do not see what happened since. Follow a node (--chain-follow {currency}=URL), or take newer \
                 blocks with `bonafide chain ingest {currency}`"
            ),
        ),
        _ => Check::ok(CHECK, reached),
    };
    source_state(currency, "graph", tip, check, now)
}

/// Checks whether an index answers and is fresh.
pub fn check_index(
    currency: Currency,
    kind: &str,
    origin: &str,
    found: &Result<Tip, SourceError>,
    now: i64,
) -> SourceState {
    let check = match found {
        Err(error) => Check::bad(
            CHECK,
            format!(
                "{currency}: {kind} at {origin} (--chain-index): {error}. Start it, or correct its address or --chain-credentials. \
                 Until then, only labels are used, and queries without a label get 503"
            ),
        ),
        Ok(tip) => {
            let reached = format!(
                "{currency}: {kind} at {origin}, up to {}{}",
                tip.height,
                age_text(tip, now)
            );
            if is_stale(currency, tip.time, now) {
                Check::attention(
                    CHECK,
                    format!(
                        "{reached}: screenings do not see what happened since. Check that it is synchronised"
                    ),
                )
            } else {
                Check::ok(CHECK, reached)
            }
        }
    };
    source_state(currency, kind, found.as_ref().ok(), check, now)
}

fn source_state(currency: Currency, source: &str, tip: Option<&Tip>, check: Check, now: i64) -> SourceState {
    SourceState {
        currency,
        source: source.to_owned(),
        age: tip.and_then(|tip| tip.time).map(|time| age(time, now)),
        check,
    }
}

fn age_text(tip: &Tip, now: i64) -> String {
    match tip.time {
        Some(time) => format!(", made {} ago", format_span(age(time, now))),
        None => String::new(),
    }
}

/// Formats a time span in its two largest units.
fn format_span(span: Duration) -> String {
    let minutes = span.as_secs() / 60;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Checks every source of this process. Blocks while indexes are queried.
fn check_sources(sources: &ChainSources, config: &ChainConfig, data: &std::path::Path) -> Vec<SourceState> {
    let followed = config.followed().unwrap_or_default();
    let check = |(currency, newest)| {
        let now = Timestamp::now().as_millisecond();
        match newest {
            NewestBlock::Graph(tip) => {
                let is_followed = followed.iter().any(|place| place.currency == currency);
                let following = is_followed
                    .then(|| FollowProgress::read(data, currency))
                    .flatten();
                check_graph(
                    currency,
                    tip.as_ref(),
                    following.as_ref(),
                    config.poll_interval(),
                    now,
                )
            }
            NewestBlock::Index { name, origin, answer } => {
                check_index(currency, &name, &origin, &answer, now)
            }
        }
    };
    let mut all: Vec<SourceState> = sources.newest_blocks().into_iter().map(check).collect();
    all.sort_by_key(|one| Currency::ALL.into_iter().position(|chain| chain == one.currency));
    all
}

/// Checks all sources for as long as the server runs, more often if nodes are queried more often than usual.
/// It logs when a fault begins and when it ends.
pub async fn run(app: Shared) {
    let pause = Job::Chains.interval().min(3 * app.config.chains.poll_interval());
    let mut before: HashMap<(Currency, String), State> = HashMap::new();
    loop {
        let looking = Arc::clone(&app);
        let look = move || check_sources(&looking.chains, &looking.config.chains, &looking.config.data.data);
        match tokio::task::spawn_blocking(look).await {
            Ok(all) => {
                for one in &all {
                    report_state(one, &mut before);
                }
                let bad = all.iter().find(|one| one.check.state == State::Bad);
                let outcome = bad.map_or(Ok(all.len() as u64), |one| Err(one.check.text.clone()));
                app.background.record_run(Job::Chains, &outcome);
                app.background
                    .record_chain_checks(all.into_iter().map(|one| one.check).collect());
            }
            Err(error) => {
                tracing::error!(%error, "looking after the chains' sources failed; it is tried again");
                app.background.record_run(
                    Job::Chains,
                    &Err("looking after the chains' sources failed".to_owned()),
                );
            }
        }
        tokio::time::sleep(pause).await;
    }
}

fn report_state(one: &SourceState, before: &mut HashMap<(Currency, String), State>) {
    let labels = [
        ("chain", one.currency.to_string()),
        ("source", one.source.clone()),
    ];
    let is_ok = one.check.state == State::Ok;
    metrics::gauge!("bonafide_chain_source_ok", &labels).set(if is_ok { 1.0 } else { 0.0 });
    if let Some(age) = one.age {
        metrics::gauge!("bonafide_chain_tip_age_seconds", &labels).set(age.as_secs_f64());
    }
    let known = before.insert((one.currency, one.source.clone()), one.check.state);
    match known {
        Some(state) if state == one.check.state => {}
        None if is_ok => {}
        _ if is_ok => tracing::info!("{}", one.check.text),
        _ => tracing::warn!("{}", one.check.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_900_000_000_000;
    const HOUR: i64 = 3_600_000;
    const ANEW: Duration = Duration::from_secs(10);

    fn tip(hours: i64) -> Tip {
        Tip {
            height: 812,
            hash: "00".into(),
            time: Some(NOW - hours * HOUR),
        }
    }

    fn following(error: Option<&str>, lag: u64, silent: i64) -> FollowProgress {
        FollowProgress {
            currency: Currency::Btc,
            node: "http://node:8332".into(),
            tip: None,
            node_height: None,
            lag: Some(lag),
            appended: 0,
            rolled_back: 0,
            last_error: error.map(str::to_owned),
            at: Timestamp::from_millisecond(NOW - silent * HOUR)
                .unwrap()
                .to_string(),
        }
    }

    #[test]
    fn a_graph_is_fresh_while_its_newest_block_is() {
        let unreachable = Some("it cannot be reached");
        let begun = FollowProgress {
            lag: None,
            ..following(None, 0, 0)
        };
        for (tip, following, state, says) in [
            (
                Some(tip(1)),
                None,
                State::Ok,
                "ends at block 812, made 1 h 0 min ago",
            ),
            (Some(tip(1)), Some(following(None, 0, 0)), State::Ok, "block 812"),
            (
                Some(tip(50)),
                None,
                State::Look,
                "made 2 d 2 h ago: screenings do not see what happened since. Follow a node (--chain-follow btc=URL)",
            ),
            (
                Some(tip(50)),
                Some(following(None, 0, 0)),
                State::Look,
                "synchronised",
            ),
            (
                Some(tip(50)),
                Some(following(None, 9, 0)),
                State::Look,
                "9 more are being taken over",
            ),
            (
                Some(tip(1)),
                Some(following(unreachable, 0, 0)),
                State::Bad,
                "(--chain-follow) does not answer: it cannot be reached. Start it",
            ),
            (
                Some(tip(1)),
                Some(following(None, 0, 3)),
                State::Bad,
                "for 3 h 0 min. Check that the server runs",
            ),
            (None, None, State::Look, "its graph is empty"),
            (None, Some(following(None, 813, 0)), State::Look, "813 more"),
            (
                Some(tip(50)),
                Some(begun),
                State::Ok,
                "made 2 d 2 h ago: waiting for the node at http://node:8332",
            ),
        ] {
            let found = check_graph(Currency::Btc, tip.as_ref(), following.as_ref(), ANEW, NOW);
            assert_eq!(found.check.state, state, "{}", found.check.text);
            assert!(found.check.text.contains(says), "{}", found.check.text);
        }
        // If the node is queried every two hours, three hours of silence are no fault.
        let seldom = Duration::from_hours(2);
        let found = check_graph(
            Currency::Btc,
            Some(&tip(1)),
            Some(&following(None, 0, 3)),
            seldom,
            NOW,
        );
        assert_eq!(found.check.state, State::Ok, "{}", found.check.text);
    }

    #[test]
    fn an_index_answers_and_is_fresh() {
        let untimed = Tip { time: None, ..tip(0) };
        for (found, state, says) in [
            (
                Ok(tip(0)),
                State::Ok,
                "esplora at http://index:3000, up to 812, made 0 min ago",
            ),
            (Ok(untimed), State::Ok, "up to 812"),
            (
                Ok(tip(4)),
                State::Look,
                "up to 812, made 4 h 0 min ago: screenings do not see",
            ),
            (
                Err(SourceError::TimedOut),
                State::Bad,
                "(--chain-index): the chain's source took too long. Start it",
            ),
        ] {
            let found = check_index(Currency::Btc, "esplora", "http://index:3000", &found, NOW);
            assert_eq!(found.check.state, state, "{}", found.check.text);
            assert!(found.check.text.contains(says), "{}", found.check.text);
        }
    }
}
