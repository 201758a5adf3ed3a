//! Tables of how runs ended, with their intervals, and of the figures that thresholds are compared with.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use verification::challenge::{End, MoveFigures, Report as RunReport};

use super::session::Played;
use crate::cli::eval::det::{self, Curve};
use crate::cli::eval::figures::{Report, interval, rounded, share, upper_limit};

/// A film's runs, in order. Only the last can have passed.
pub(super) struct Shown {
    /// The attack's name; `None` for a living person.
    pub(super) kind: Option<&'static str>,
    pub(super) runs: Vec<Played>,
}

impl Shown {
    fn end(&self) -> Option<End> {
        self.runs.last().map(|run| run.end)
    }

    fn has_passed(&self) -> bool {
        self.end() == Some(End::Passed)
    }

    fn is_in_review(&self) -> bool {
        matches!(self.end(), Some(End::Review(_)))
    }
}

/// The word for an end that is neither passed nor review.
fn reason(end: End) -> Option<String> {
    match end {
        End::Passed => None,
        End::Review(doubt) => Some(format!("review {}", doubt.as_str())),
        End::Failed(failure) => Some(format!("failed {}", failure.as_str())),
        End::Void(cause) => Some(format!("void {}", cause.as_str())),
    }
}

/// Adds how often each reason occurred.
fn add_reasons(figures: &mut Map<String, Value>, ends: impl Iterator<Item = End>) {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for reason in ends.filter_map(reason) {
        *counts.entry(reason).or_default() += 1;
    }
    figures.extend(counts.into_iter().map(|(reason, count)| (reason, json!(count))));
}

/// Living people: how many passed within the tries, and how long the last run took.
pub(super) fn honest_table(shown: &[Shown], tries: u64) -> Value {
    let all = shown.len() as u64;
    let count = |is: &dyn Fn(&Shown) -> bool| shown.iter().filter(|shown| is(shown)).count() as u64;
    let passed = count(&Shown::has_passed);
    let at_first = count(&|shown| shown.has_passed() && shown.runs.len() == 1);
    let reviewed = count(&Shown::is_in_review);
    let seconds: Vec<f64> = shown
        .iter()
        .filter(|shown| shown.has_passed())
        .filter_map(|shown| shown.runs.last())
        .map(|run| run.report.took_ms as f64 / 1_000.0)
        .collect();
    let mut figures = Map::new();
    figures.insert("people".into(), json!(all));
    figures.insert("tries".into(), json!(tries));
    figures.insert("passed".into(), json!(passed));
    figures.insert("passedShare".into(), json!(rounded(share(passed, all))));
    figures.insert(
        "passedShare95".into(),
        json!(interval(passed, all).map(|ends| ends.map(|end| rounded(Some(end))))),
    );
    figures.insert("passedAtFirstTry".into(), json!(rounded(share(at_first, all))));
    figures.insert("review".into(), json!(reviewed));
    figures.insert("refused".into(), json!(all - passed - reviewed));
    let unhappy = shown.iter().flat_map(|shown| &shown.runs).map(|run| run.end);
    add_reasons(&mut figures, unhappy);
    figures.insert("secondsMedian".into(), json!(rounded(quantile(&seconds, 0.5))));
    figures.insert("secondsP90".into(), json!(rounded(quantile(&seconds, 0.9))));
    Value::Object(figures)
}

/// Attacks: all of them, and by kind.
pub(super) fn attack_tables(shown: &[Shown]) -> Report {
    let mut kinds: BTreeMap<&str, Vec<&Shown>> = BTreeMap::new();
    for attack in shown {
        kinds
            .entry(attack.kind.unwrap_or_default())
            .or_default()
            .push(attack);
    }
    let mut report = Report::new();
    if !shown.is_empty() {
        report.insert("attacks".into(), attack_table(&shown.iter().collect::<Vec<_>>()));
    }
    report.extend(
        kinds
            .into_iter()
            .map(|(kind, shown)| (format!("attack {kind}"), attack_table(&shown))),
    );
    report
}

fn attack_table(shown: &[&Shown]) -> Value {
    let all = shown.len() as u64;
    let passed = shown.iter().filter(|shown| shown.has_passed()).count() as u64;
    let reviewed = shown.iter().filter(|shown| shown.is_in_review()).count() as u64;
    let mut figures = Map::new();
    figures.insert("attacks".into(), json!(all));
    figures.insert("passed".into(), json!(passed));
    figures.insert("passedAtMost".into(), json!(rounded(upper_limit(passed, all))));
    figures.insert("review".into(), json!(reviewed));
    figures.insert("failed".into(), json!(all - passed - reviewed));
    add_reasons(&mut figures, shown.iter().filter_map(|shown| shown.end()));
    Value::Object(figures)
}

/// A run of this length can have every signal, in ms.
const LONG_MS: i64 = 10_000;

/// Runs with each signal of injection, out of those that are long enough for all signals.
pub(super) fn signal_table<'a>(shown: impl Iterator<Item = &'a Shown>) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut runs = 0;
    for run in shown.flat_map(|shown| &shown.runs) {
        if run.unchanged.is_none() || run.report.took_ms < LONG_MS {
            continue;
        }
        runs += 1;
        for signal in &run.report.signals {
            *counts.entry(signal.as_str()).or_default() += 1;
        }
    }
    let mut figures = Map::new();
    figures.insert("runs".into(), json!(runs));
    figures.extend(counts.into_iter().map(|(signal, count)| {
        let of_signal = json!({
            "runs": count,
            "share": rounded(share(count, runs)),
        });
        (signal.to_owned(), of_signal)
    }));
    figures.insert("noneAtMost".into(), json!(rounded(upper_limit(0, runs))));
    Value::Object(figures)
}

/// What decoding and measuring cost.
pub(super) fn effort_table<'a>(shown: impl Iterator<Item = &'a Shown>) -> Value {
    let (mut frames, mut runs) = (0, 0);
    let (mut processor, mut clock) = (Duration::ZERO, Duration::ZERO);
    for run in shown.flat_map(|shown| &shown.runs) {
        frames += u64::from(run.report.frames);
        runs += 1;
        processor += run.processor;
        clock += run.clock;
    }
    let per = |time: Duration, count: u64| (count > 0).then(|| time.as_secs_f64() * 1_000.0 / count as f64);
    json!({
        "runs": runs,
        "frames": frames,
        "processorMsPerFrame": rounded(per(processor, frames)),
        "clockMsPerFrame": rounded(per(clock, frames)),
        "processorMsPerRun": rounded(per(processor, runs)),
        "clockMsPerRun": rounded(per(clock, runs)),
    })
}

/// Draws the DET curves of the two proofs: the depth of the deepest turn, and the correlation of the screen's light.
/// A run that ended before a proof was measured is not in its curve.
pub(super) fn draw_det(file: &Path, honest: &[Shown], attacks: &[Shown]) -> anyhow::Result<()> {
    let distances = |shown: &[Shown], figure: fn(&RunReport) -> Option<f32>| -> Vec<f32> {
        let runs = shown.iter().flat_map(|shown| &shown.runs);
        runs.filter_map(|run| Some(-figure(&run.report)?)).collect()
    };
    let depth = |report: &RunReport| {
        let turns = report.moves.iter().filter(|figures| figures.movement.is_turn());
        turns.filter_map(|figures| figures.relief).max_by(f32::total_cmp)
    };
    let light = |report: &RunReport| report.flashes.map(|flashes| flashes.correlation);
    let depths = (distances(honest, depth), distances(attacks, depth));
    let lights = (distances(honest, light), distances(attacks, light));
    let curves =
        [("depth", &depths), ("light of the screen", &lights)].map(|(name, (genuine, impostor))| Curve {
            name,
            genuine,
            impostor,
        });
    det::write(file, det::PRESENTATIONS, &curves)
}

/// The distributions of measurements, of living people and of each kind of attack.
pub(super) fn detail_tables(honest: &[Shown], attacks: &[Shown]) -> Report {
    let mut groups: BTreeMap<String, Vec<&Played>> = BTreeMap::new();
    let all = honest.iter().map(|shown| ("honest".to_owned(), shown));
    let all = all.chain(
        attacks
            .iter()
            .map(|shown| (format!("attack {}", shown.kind.unwrap_or_default()), shown)),
    );
    for (name, shown) in all {
        groups.entry(name).or_default().extend(&shown.runs);
    }
    groups
        .into_iter()
        .map(|(name, runs)| (format!("details {name}"), details(&runs)))
        .collect()
}

/// A figure of a move.
type Figure = fn(&MoveFigures) -> Option<f64>;

fn details(runs: &[&Played]) -> Value {
    let moves = || runs.iter().flat_map(|run| &run.report.moves);
    let flashes = || runs.iter().filter_map(|run| run.report.flashes);
    let mut figures = Map::new();
    let of_moves: [(&str, bool, Figure); 7] = [
        ("reliefOfTurns", true, |figures| figures.relief.map(f64::from)),
        ("reliefOfNods", false, |figures| figures.relief.map(f64::from)),
        ("peakOfTurns", true, |figures| Some(f64::from(figures.peak))),
        ("peakOfNods", false, |figures| Some(f64::from(figures.peak))),
        ("reactionMsOfTurns", true, |figures| {
            Some(figures.reaction_ms as f64)
        }),
        ("fastestOfTurns", true, |figures| Some(f64::from(figures.fastest))),
        ("distanceOfTurns", true, |figures| figures.distance.map(f64::from)),
    ];
    for (name, is_turn, figure) in of_moves {
        let values = moves()
            .filter(|figures| figures.movement.is_turn() == is_turn)
            .filter_map(figure);
        figures.insert(name.into(), distribution(values.collect()));
    }
    let of_flashes = [
        (
            "flashCorrelation",
            flashes().map(|flash| f64::from(flash.correlation)).collect(),
        ),
        (
            "flashAmplitude",
            flashes().map(|flash| f64::from(flash.amplitude)).collect(),
        ),
        (
            "flashDeviation",
            flashes().map(|flash| f64::from(flash.deviation)).collect(),
        ),
        (
            "flashBackground",
            flashes().map(|flash| f64::from(flash.background)).collect(),
        ),
    ];
    for (name, values) in of_flashes {
        figures.insert(name.into(), distribution(values));
    }
    let unchanged = runs.iter().filter_map(|run| run.unchanged);
    figures.insert("unchanged".into(), distribution(unchanged.collect()));
    Value::Object(figures)
}

/// The least, the 5 % and 95 % points, the median and the greatest of values.
fn distribution(values: Vec<f64>) -> Value {
    if values.is_empty() {
        return json!("none");
    }
    let at = |share: f64| {
        quantile(&values, share)
            .and_then(|value| rounded(Some(value)))
            .unwrap_or_default()
    };
    json!(format!(
        "{} × min {} · 5 % {} · median {} · 95 % {} · max {}",
        values.len(),
        at(0.0),
        at(0.05),
        at(0.5),
        at(0.95),
        at(1.0)
    ))
}

/// The value below which this share of the values is; `None` without values.
fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use verification::challenge::{Doubt, Failure, Kind};

    use super::*;

    fn run(end: End, seconds: i64) -> Played {
        Played {
            end,
            report: RunReport {
                last_failure: None,
                earlier_failures: Vec::new(),
                kind: Kind::Turns,
                end: Some(end),
                moves: Vec::new(),
                flashes: None,
                frames: 100,
                took_ms: seconds * 1_000,
                repeats: 0,
                signals: Vec::new(),
                camera: None,
            },
            unchanged: None,
            processor: Duration::from_millis(500),
            clock: Duration::from_millis(700),
        }
    }

    fn shown(kind: Option<&'static str>, runs: Vec<Played>) -> Shown {
        Shown { kind, runs }
    }

    #[test]
    fn people_are_counted_by_their_last_run() {
        let people = [
            shown(None, vec![run(End::Passed, 10)]),
            shown(
                None,
                vec![run(End::Failed(Failure::TooSlow), 20), run(End::Passed, 12)],
            ),
            shown(None, vec![run(End::Review(Doubt::NoScreenLight), 11)]),
            shown(
                None,
                vec![
                    run(End::Failed(Failure::TooSlow), 20),
                    run(End::Failed(Failure::Flat), 9),
                ],
            ),
        ];
        let table = honest_table(&people, 2);
        assert_eq!(
            (table["passed"].clone(), table["review"].clone()),
            (json!(2), json!(1))
        );
        assert_eq!(table["refused"], json!(1));
        assert_eq!(table["failed too_slow"], json!(2));
        assert_eq!(table["passedAtFirstTry"], json!(0.25));
        assert_eq!(table["secondsP90"], json!(12.0));
        let effort = effort_table(people.iter());
        assert_eq!(effort["processorMsPerFrame"], json!(5.0));
        assert_eq!(effort["clockMsPerRun"], json!(700.0));
    }

    #[test]
    fn attacks_are_counted_by_kind() {
        let attacks = [
            shown(Some("still-photo"), vec![run(End::Failed(Failure::TooSlow), 20)]),
            shown(
                Some("still-photo"),
                vec![run(End::Review(Doubt::NoScreenLight), 20)],
            ),
            shown(Some("bent-photo"), vec![run(End::Passed, 20)]),
        ];
        let tables = attack_tables(&attacks);
        assert_eq!(tables["attacks"]["passed"], json!(1));
        assert_eq!(tables["attack still-photo"]["failed too_slow"], json!(1));
        assert_eq!(tables["attack still-photo"]["review"], json!(1));
        assert_eq!(tables["attack bent-photo"]["passedAtMost"], json!(1.0));
        assert!(attack_tables(&[]).is_empty());
    }

    #[test]
    fn quantiles_are_values() {
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(distribution(Vec::new()), json!("none"));
    }
}
