//! Figures of an account's attempts, from the counts of `store::insight`, with names, ready to be shown or
//! exported.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sanctions::store::ListStatus;
use store::insight::{self, Range, TIME_STEP_MS, Tally};
use store::session_events::{self, DropOff, FunnelFilter, FunnelStep};
use store::{Scope, flows};
use uuid::Uuid;
use verification::codes::Code;
use verification::hosted::PAGE_STEPS;

use super::Shared;
use crate::problem::Problem;

/// A row of a table: a name and the outcomes of its attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// A country, a Flow or a set of documents; empty if unknown.
    pub name: String,
    /// The attempts by outcome.
    pub tally: Tally,
}

/// A failure code and how many attempts it applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The code.
    pub code: u16,
    /// Its meaning in the contract.
    pub meaning: &'static str,
    /// The number of attempts.
    pub count: i64,
}

/// Percentiles of a day's response times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Median (ms, to [`TIME_STEP_MS`]).
    pub p50: Option<i64>,
    /// 95th percentile.
    pub p95: Option<i64>,
}

/// All figures of a time range.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The attempts of every day of the range (UTC, days since 1970).
    pub days: Vec<(i64, Tally, Times)>,
    /// All attempts of the range.
    pub total: Tally,
    /// The response times of the range.
    pub times: Times,
    /// By Flow, the most frequently used first.
    pub flows: Vec<Row>,
    /// By the document's country.
    pub countries: Vec<Row>,
    /// By the documents submitted.
    pub documents: Vec<Row>,
    /// By failure code, the most frequent first.
    pub reasons: Vec<Reason>,
    /// How hosted sessions progress through their steps, in the steps' order.
    pub funnel: Vec<FunnelStep>,
    /// Why hosted sessions dropped off, the most frequent reason first.
    pub drop_offs: Vec<DropOff>,
}

/// The sum of tallies.
pub fn sum(tallies: impl Iterator<Item = Tally>) -> Tally {
    tallies.fold(Tally::default(), |a, b| Tally {
        approved: a.approved + b.approved,
        declined: a.declined + b.declined,
        failed: a.failed + b.failed,
        pending: a.pending + b.pending,
    })
}

/// A share in percent; a dash if there is none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Reads all figures of a range. `sessions` filters and splits the events of hosted sessions by device, country
/// and language.
pub async fn figures(
    app: &Shared,
    scope: Scope,
    range: Range,
    sessions: FunnelFilter<'_>,
) -> Result<Figures, Problem> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let mut conn = app.db.read().await?;
    let by_day: HashMap<i64, Tally> = insight::by_day(&mut conn, scope, range)
        .await?
        .into_iter()
        .collect();
    let steps = insight::times(&mut conn, scope, range).await?;
    let names: HashMap<Uuid, String> = flows::list(&mut conn, scope)
        .await?
        .into_iter()
        .map(|flow| (flow.id, flow.name))
        .collect();
    let by_flow = insight::by_flow(&mut conn, scope, range).await?;
    let by_country = insight::by_country(&mut conn, scope, range).await?;
    let by_documents = insight::by_documents(&mut conn, scope, range).await?;
    let by_codes = insight::by_codes(&mut conn, scope, range).await?;
    let filter = FunnelFilter {
        flow_id: range.flow_id,
        since: range.from,
        until: Some(range.until),
        ..sessions
    };
    let mut funnel = session_events::funnel(&mut conn, scope, filter).await?;
    let mut drop_offs = session_events::drop_offs(&mut conn, scope, filter).await?;
    drop(conn);
    let place = |step: &str| PAGE_STEPS.iter().position(|name| *name == step);
    funnel.sort_by_key(|step| (step.part.clone(), place(&step.step)));
    drop_offs.sort_by_key(|row| (-row.sessions, place(&row.step), row.reason.clone()));
    let of_day = |day: i64| {
        steps
            .iter()
            .filter(move |step| step.0 == day)
            .map(|(_, step, count)| (*step, *count))
    };
    let days = (range.from.div_euclid(DAY_MS)..(range.until + DAY_MS - 1).div_euclid(DAY_MS))
        .map(|day| {
            (
                day,
                by_day.get(&day).copied().unwrap_or_default(),
                times(of_day(day)),
            )
        })
        .collect();
    Ok(Figures {
        days,
        total: sum(by_day.values().copied()),
        times: times(steps.iter().map(|(_, step, count)| (*step, *count))),
        flows: rows(by_flow, |id| {
            names.get(&id).cloned().unwrap_or_else(|| id.to_string())
        }),
        countries: rows(by_country, |code| {
            code.map(|code| country(&code)).unwrap_or_default()
        }),
        documents: rows(by_documents, |json| words(&json).join(" + ")),
        reasons: reasons(by_codes),
        funnel,
        drop_offs,
    })
}

fn rows<K>(tallies: Vec<(K, Tally)>, name: impl Fn(K) -> String) -> Vec<Row> {
    let mut rows: Vec<Row> = tallies
        .into_iter()
        .map(|(key, tally)| Row {
            name: name(key),
            tally,
        })
        .collect();
    rows.sort_by(|a, b| (b.tally.total(), &a.name).cmp(&(a.tally.total(), &b.name)));
    rows
}

/// A country's name, or its code if it has none.
pub fn country(code: &str) -> String {
    match reference::country(code) {
        Some(country) => country.name.to_owned(),
        None if code == reference::UTOPIA.alpha3 => reference::UTOPIA.name.to_owned(),
        None => code.to_owned(),
    }
}

fn words(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

fn reasons(by_codes: Vec<(String, Tally)>) -> Vec<Reason> {
    let mut counts: BTreeMap<u16, i64> = BTreeMap::new();
    for (json, tally) in by_codes {
        let codes: Vec<u16> = serde_json::from_str(&json).unwrap_or_default();
        for code in codes {
            *counts.entry(code).or_default() += tally.total();
        }
    }
    let mut reasons: Vec<Reason> = counts
        .into_iter()
        .map(|(code, count)| Reason {
            code,
            meaning: Code::from_number(code).map_or("", |code| code.info().meaning),
            count,
        })
        .collect();
    reasons.sort_by_key(|reason| (-reason.count, reason.code));
    reasons
}

/// Percentiles of counted time steps.
fn times(steps: impl Iterator<Item = (i64, i64)>) -> Times {
    let mut counted: BTreeMap<i64, i64> = BTreeMap::new();
    for (step, count) in steps {
        *counted.entry(step).or_default() += count;
    }
    let all: i64 = counted.values().sum();
    let at = |share: i64| {
        // The nearest rank (ISO 2602 leaves the choice): the shortest time that this share of responses did
        // not exceed.
        let rank = (all * share + 99) / 100;
        let mut seen = 0;
        let found = counted.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        found.map(|(step, _)| (step + 1) * TIME_STEP_MS)
    };
    Times {
        p50: at(50),
        p95: at(95),
    }
}

/// The sanctions lists with their ages. The invented demo list appears only in the sandbox.
pub async fn lists(app: &Shared, sandbox: bool) -> Result<Vec<ListStatus>, Problem> {
    let app = Arc::clone(app);
    let status = tokio::task::spawn_blocking(move || app.lists.store().status());
    let lists = status
        .await
        .map_err(Problem::internal)?
        .map_err(Problem::internal)?;
    let demo = sanctions::demo_list().name;
    Ok(lists
        .into_iter()
        .filter(|list| sandbox || list.list != demo)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        assert_eq!(times(std::iter::empty()), Times::default());
        let one = times([(4, 1)].into_iter());
        assert_eq!((one.p50, one.p95), (Some(125), Some(125)));
        let twenty = times((0..20).map(|step| (step, 1)));
        assert_eq!((twenty.p50, twenty.p95), (Some(250), Some(475)));
    }

    #[test]
    fn reasons_have_the_contracts_words() {
        let tally = |failed| Tally {
            failed,
            ..Tally::default()
        };
        let found = reasons(vec![
            ("[2101,2702]".into(), tally(2)),
            ("[2702]".into(), tally(3)),
            ("[]".into(), tally(9)),
            ("nonsense".into(), tally(9)),
        ]);
        let short: Vec<_> = found.iter().map(|reason| (reason.code, reason.count)).collect();
        assert_eq!(short, [(2702, 5), (2101, 2)]);
        assert_eq!(found[0].meaning, "Applicant flagged by sanctions screening");
    }

    #[test]
    fn countries_have_names() {
        assert_eq!(
            [country("DEU"), country("UTO"), country("XXA")],
            ["Germany", "Utopia", "XXA"]
        );
    }
}
