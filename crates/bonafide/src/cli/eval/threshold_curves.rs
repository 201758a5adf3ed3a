//! Precision, recall and F1 of labelled pairs at each threshold: as figures, and as an SVG with a panel for all pairs,
//! each kind of subject and each pair of scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use unicode_script::{Script, UnicodeScript as _};

use super::figures::{Tally, rounded};

/// A pair with its score and its true result.
pub(super) struct ScoredPair {
    pub(super) score: f64,
    pub(super) truth: bool,
    /// The kind of subject.
    pub(super) kind: String,
    /// The scripts of its names, such as `Latin` or `Cyrillic, Latin`.
    pub(super) scripts: String,
}

/// A group with fewer pairs has no panel and no figures: its curve would be a matter of luck.
const LEAST_PAIRS: usize = 20;
/// The thresholds of the curves, in hundredths.
const THRESHOLDS: std::ops::RangeInclusive<u32> = 40..=100;
/// The distance of the thresholds whose figures are printed, in hundredths.
const PRINTED_STEP: usize = 5;
/// The lowest threshold whose figures are printed, in hundredths.
const LOWEST_PRINTED: u32 = 50;

/// The scripts of names: sorted, without marks and characters of all scripts.
pub(super) fn scripts(names: &[&str]) -> String {
    let characters = names.iter().flat_map(|name| name.chars());
    let scripts: BTreeSet<&str> = characters
        .map(|character| character.script())
        .filter(|script| !matches!(script, Script::Common | Script::Inherited | Script::Unknown))
        .map(|script| script.full_name())
        .collect();
    scripts.into_iter().collect::<Vec<_>>().join(", ")
}

/// The tally at a threshold.
pub(super) fn tally<'a>(pairs: impl IntoIterator<Item = &'a ScoredPair>, threshold: f64) -> Tally {
    let mut tally = Tally::default();
    for pair in pairs {
        tally.add(pair.truth, pair.score >= threshold);
    }
    tally
}

/// Figures at thresholds from 0.5 on. `precision` is the share of hits that are true.
pub(super) fn by_threshold(pairs: &[ScoredPair]) -> Value {
    let printed = THRESHOLDS.filter(|threshold| *threshold >= LOWEST_PRINTED);
    let figures = printed.step_by(PRINTED_STEP).map(|threshold| {
        let threshold = f64::from(threshold) / 100.0;
        let tally = tally(pairs, threshold);
        let figures = json!({
            "hits": tally.true_positive + tally.false_positive,
            "precision": rounded(tally.precision()),
            "recall": rounded(tally.recall()),
            "f1": rounded(tally.f1()),
        });
        (format!("{threshold:.2}"), figures)
    });
    figures.collect()
}

/// The groups that are large enough, with their pairs: kinds, then scripts.
pub(super) fn groups(pairs: &[ScoredPair]) -> Vec<(String, Vec<&ScoredPair>)> {
    let mut groups: BTreeMap<(u8, &str), Vec<&ScoredPair>> = BTreeMap::new();
    for pair in pairs {
        groups.entry((0, &pair.kind)).or_default().push(pair);
        groups.entry((1, &pair.scripts)).or_default().push(pair);
    }
    let large = groups.into_iter().filter(|(_, pairs)| pairs.len() >= LEAST_PAIRS);
    large
        .map(|((_, name), pairs)| (name.to_owned(), pairs))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

const PANEL: (f64, f64) = (300.0, 220.0);
const COLUMNS: usize = 3;
/// Space for the labels within a panel.
const LEFT: f64 = 40.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 24.0;
const RIGHT: f64 = 12.0;
/// The height of the legend above the panels.
const LEGEND: f64 = 30.0;
/// The figures that are drawn, with the colours and dashes of their curves.
const CURVES: [(&str, &str, &str); 3] = [
    ("precision", "#1b6ec2", ""),
    ("recall", "#c2571b", "6 3"),
    ("F1", "#2a8a4a", "2 3"),
];

/// Writes the drawing of all pairs and of each group to a file.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn write(file: &Path, pairs: &[ScoredPair]) -> anyhow::Result<()> {
    std::fs::write(file, svg(pairs)).with_context(|| format!("{} cannot be written", file.display()))
}

fn svg(pairs: &[ScoredPair]) -> String {
    let mut panels = vec![("All".to_owned(), pairs.iter().collect::<Vec<_>>())];
    panels.extend(groups(pairs));
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (PANEL.0 * COLUMNS as f64, LEGEND + PANEL.1 * rows as f64);
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">
<title>Precision, recall and F1 by threshold</title>
<rect width="{width}" height="{height}" fill="#fff"/>
"##
    );
    for (number, (name, colour, dash)) in CURVES.iter().enumerate() {
        let x = LEFT + 110.0 * number as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            r#"<path d="M{x} 16h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/><text x="{:.1}" y="20">{name}</text>"#,
            x + 34.0
        );
    }
    for (number, (name, pairs)) in panels.iter().enumerate() {
        let x = PANEL.0 * (number % COLUMNS) as f64;
        let y = LEGEND + PANEL.1 * (number / COLUMNS) as f64;
        let _ = writeln!(
            out,
            r#"<g transform="translate({x} {y})">{}</g>"#,
            panel(name, pairs)
        );
    }
    out + "</svg>\n"
}

fn panel(name: &str, pairs: &[&ScoredPair]) -> String {
    let matches = pairs.iter().filter(|pair| pair.truth).count();
    let mut out = format!(
        r#"<text x="{LEFT}" y="18" font-weight="bold">{}</text><text x="{:.1}" y="18" text-anchor="end">{} pairs, {matches} true</text>"#,
        name.replace('&', "&amp;").replace('<', "&lt;"),
        PANEL.0 - RIGHT,
        pairs.len(),
    );
    for tenth in 0..=5 {
        let share = f64::from(tenth) / 5.0;
        let _ = write!(
            out,
            r##"<path d="M{LEFT} {y:.1}H{:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{share:.1}</text>"##,
            PANEL.0 - RIGHT,
            LEFT - 5.0,
            down(share) + 4.0,
            y = down(share),
        );
    }
    for threshold in THRESHOLDS.step_by(20) {
        let threshold = f64::from(threshold) / 100.0;
        let _ = write!(
            out,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{threshold:.1}</text>"#,
            across(threshold),
            PANEL.1 - 8.0
        );
    }
    let figures: [fn(&Tally) -> Option<f64>; 3] = [Tally::precision, Tally::recall, Tally::f1];
    for (figure, (_, colour, dash)) in figures.iter().zip(CURVES) {
        let mut path = String::new();
        for threshold in THRESHOLDS {
            let threshold = f64::from(threshold) / 100.0;
            let Some(value) = figure(&tally(pairs.iter().copied(), threshold)) else {
                continue;
            };
            let command = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", across(threshold), down(value));
        }
        let _ = write!(
            out,
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>"#
        );
    }
    out
}

fn across(threshold: f64) -> f64 {
    let (first, last) = (f64::from(*THRESHOLDS.start()), f64::from(*THRESHOLDS.end()));
    LEFT + (PANEL.0 - RIGHT - LEFT) * (threshold * 100.0 - first) / (last - first)
}

fn down(share: f64) -> f64 {
    TOP + (PANEL.1 - TOP - BOTTOM) * (1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<ScoredPair> {
        let pair = |number: usize| ScoredPair {
            score: number as f64 / 100.0,
            truth: number >= 60,
            kind: if number.is_multiple_of(2) {
                "Person"
            } else {
                "Vessel"
            }
            .to_owned(),
            scripts: if number < 90 { "Latin" } else { "Cyrillic, Latin" }.to_owned(),
        };
        (50..100).map(pair).collect()
    }

    #[test]
    fn names_have_the_scripts_of_their_letters() {
        for (names, expected) in [
            (&["Ann O’Neil-2"][..], "Latin"),
            (&["Путин", "Putin"], "Cyrillic, Latin"),
            (&["金正恩", "김정은"], "Han, Hangul"),
            (&["1234"], ""),
        ] {
            assert_eq!(scripts(names), expected);
        }
    }

    #[test]
    fn figures_change_with_the_threshold() {
        let figures = by_threshold(&pairs());
        assert_eq!(
            figures["0.50"],
            json!({"hits": 50, "precision": 0.8, "recall": 1.0, "f1": 0.8889})
        );
        assert_eq!(
            figures["0.60"],
            json!({"hits": 40, "precision": 1.0, "recall": 1.0, "f1": 1.0})
        );
        assert_eq!(figures["0.80"]["recall"], json!(0.5));
        assert_eq!(
            figures["1.00"],
            json!({"hits": 0, "precision": null, "recall": 0.0, "f1": 0.0})
        );
    }

    #[test]
    fn only_large_groups_have_a_panel() {
        let pairs = pairs();
        let names: Vec<String> = groups(&pairs).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Person", "Vessel", "Latin"]);
        let drawing = svg(&pairs);
        assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
        assert_eq!(drawing.matches("<g ").count(), 4);
        assert!(drawing.contains("50 pairs, 40 true") && !drawing.contains("Cyrillic"));
    }
}
