//! `bonafide eval sanctions`: evaluates labelled pairs of names or entities, and people who are, or are not,
//! on the imported lists.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use sanctions::{DEFAULT_THRESHOLD, Profile, Query, ScreenOptions, Screener, answer_pair_line};
use serde_json::{Map, Value, json};
use service::config::DataConfig;

use super::figures::{Report, rounded, share, upper_limit};
use super::threshold_curves::{self, ScoredPair, by_threshold, groups, scripts, tally};
use crate::cli::engines::{profile, threshold};
use crate::cli::errors::Unusable;

/// `bonafide eval sanctions`.
#[derive(Args)]
pub(super) struct Sanctions {
    /// Labelled pairs: CSV with the columns `schema`, `name1`, `name2`, `is_match`, or NDJSON lines
    /// `{"query": entity, "candidate": entity, "match": true/false}` in FollowTheMoney's shape.
    #[arg(long)]
    pairs: Vec<PathBuf>,
    /// Scores that OFAC's search showed, to compare with the reconstruction: CSV with the columns `query_name`,
    /// `result_name` and `ofac_score` (0–100; less: not shown).
    #[arg(long)]
    ofac_scores: Vec<PathBuf>,
    /// Draw precision, recall and F1 of all pairs by threshold, also by kind and script, into this SVG file.
    #[arg(long, requires = "pairs")]
    curves: Option<PathBuf>,
    /// People on the imported lists: CSV with any of `full_name`, `first_name`, `middle_name`, `last_name`,
    /// `date_of_birth`, `nationality`.
    #[arg(long)]
    positives: Vec<PathBuf>,
    /// People who are not on the lists, in the same format.
    #[arg(long)]
    negatives: Vec<PathBuf>,
    /// Screen the people by name only.
    #[arg(long)]
    names_only: bool,
    /// Lowest score of a match, 0–1.
    #[arg(long, default_value_t = DEFAULT_THRESHOLD, value_parser = threshold)]
    threshold: f64,
    /// Which entries are hits of people: standard, strict or ofac.
    #[arg(long, value_parser = profile, default_value = "standard")]
    profile: Profile,
    #[command(flatten)]
    data: DataConfig,
}

impl Sanctions {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        let people = self
            .positives
            .iter()
            .map(|file| (file, true))
            .chain(self.negatives.iter().map(|file| (file, false)));
        let people: Vec<_> = people.collect();
        if self.pairs.is_empty() && self.ofac_scores.is_empty() && people.is_empty() {
            return Err(
                Unusable("name --pairs, --ofac-scores, --positives or --negatives FILE".into()).into(),
            );
        }
        let mut report = Report::new();
        for file in &self.ofac_scores {
            report.insert(format!("OFAC scores {}", file.display()), ofac_agreement(file)?);
        }
        let mut all = Vec::new();
        for file in &self.pairs {
            let pairs = score(&pair_lines(file)?)?;
            let section = format!("pairs {}", file.display());
            report.insert(section.clone(), tally(&pairs, self.threshold).json());
            report.insert(format!("{section} by threshold"), by_threshold(&pairs));
            for (group, pairs) in groups(&pairs) {
                let figures = tally(pairs, self.threshold).json();
                report.insert(format!("{section} {group}"), figures);
            }
            all.extend(pairs);
        }
        if let Some(file) = &self.curves {
            threshold_curves::write(file, &all)?;
        }
        if !people.is_empty() {
            let screener = self.data.list_store()?.load()?;
            for (file, listed) in people {
                let queries = queries(file, self.names_only)?;
                let figures = self.screen(&screener, &queries, listed)?;
                let kind = if listed { "positives" } else { "negatives" };
                report.insert(format!("{kind} {}", file.display()), figures);
            }
        }
        Ok(report)
    }

    fn screen(&self, screener: &Screener, queries: &[Query], listed: bool) -> anyhow::Result<Value> {
        let options = ScreenOptions {
            threshold: self.threshold,
            profile: self.profile,
            ..ScreenOptions::default()
        };
        let (mut found, mut times) = (0, Vec::new());
        for query in queries {
            let begun = Instant::now();
            let result = screener.screen(query, &options)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            found += u64::from(!result.results.is_empty());
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            rounded(
                times
                    .get(((times.len().max(1) - 1) as f64 * share) as usize)
                    .copied(),
            )
        };
        let all = queries.len() as u64;
        let mut figures = json!({"people": all, "matched": found, "p50Ms": at(0.5), "p99Ms": at(0.99)});
        let (name, limit) = if listed {
            ("recall", None)
        } else {
            ("falseHitRate", upper_limit(found, all))
        };
        figures[name] = json!(rounded(share(found, all)));
        if let Some(limit) = limit {
            figures["falseHitRateAtMost"] = json!(rounded(Some(limit)));
        }
        Ok(figures)
    }
}

/// How far the reconstruction of OFAC's scores is from those that its search showed.
fn ofac_agreement(file: &Path) -> anyhow::Result<Value> {
    let mut apart = Vec::new();
    for row in csv_rows(file)? {
        let cell = |name: &str| {
            let cell = row.get(name).and_then(Value::as_str);
            cell.with_context(|| format!("{} has no column {name}", file.display()))
        };
        let shown = cell("ofac_score")?;
        let shown: i32 = shown
            .trim()
            .parse()
            .with_context(|| format!("{}: `{shown}` is no score", file.display()))?;
        if shown >= 0 {
            let ours = sanctions::ofac_score(cell("query_name")?, cell("result_name")?);
            apart.push((i32::from(ours) - shown).abs());
        }
    }
    let within = |most: i32| apart.iter().filter(|apart| **apart <= most).count();
    let mean = f64::from(apart.iter().sum::<i32>()) / apart.len().max(1) as f64;
    Ok(
        json!({"shown": apart.len(), "same": within(0), "within1": within(1), "within3": within(3),
        "within5": within(5), "meanApart": rounded(Some(mean))}),
    )
}

/// A CSV file's rows, by the column names in its first line.
fn csv_rows(file: &Path) -> anyhow::Result<Vec<Map<String, Value>>> {
    let mut reader = csv::Reader::from_path(file).with_context(|| format!("{}", file.display()))?;
    let rows = reader.deserialize::<std::collections::BTreeMap<String, String>>();
    rows.map(|row| {
        Ok(row?
            .into_iter()
            .map(|(name, cell)| (name, Value::String(cell)))
            .collect())
    })
    .collect::<Result<_, csv::Error>>()
    .with_context(|| format!("{}", file.display()))
}

/// Pairs as lines for `screen --pairs`, each with its true result.
fn pair_lines(file: &Path) -> anyhow::Result<Vec<(String, bool)>> {
    if file.extension().is_some_and(|extension| extension == "csv") {
        return csv_rows(file)?.iter().map(named_pair).collect();
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let unusable = || {
                Unusable(format!(
                    "{}:{}: is not {{query, candidate, match}}",
                    file.display(),
                    number + 1
                ))
            };
            let mut pair: Map<String, Value> = serde_json::from_str(line).map_err(|_| unusable())?;
            let truth = pair
                .remove("match")
                .and_then(|truth| truth.as_bool())
                .ok_or_else(unusable)?;
            Ok((Value::Object(pair).to_string(), truth))
        })
        .collect()
}

/// Converts a CSV row with two names.
fn named_pair(row: &Map<String, Value>) -> anyhow::Result<(String, bool)> {
    let cell = |name: &str| {
        let cell = row.get(name).and_then(Value::as_str);
        cell.ok_or_else(|| Unusable(format!("the first line has no column `{name}`")))
    };
    let truth = match cell("is_match")?.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => true,
        "false" | "0" | "no" => false,
        other => return Err(Unusable(format!("is_match is neither true nor false: {other}")).into()),
    };
    let schema = cell("schema")?;
    let entity = |name: &str| json!({"schema": schema, "properties": {"name": [name]}});
    let pair = json!({"query": entity(cell("name1")?), "candidate": entity(cell("name2")?)});
    Ok((pair.to_string(), truth))
}

fn score(pairs: &[(String, bool)]) -> anyhow::Result<Vec<ScoredPair>> {
    let scored = |(line, truth): &(String, bool)| {
        let answer: Value = serde_json::from_str(&answer_pair_line(line))?;
        if let Some(error) = answer["error"]["message"].as_str() {
            return Err(Unusable(format!("{error}: {line}")).into());
        }
        let score = answer["score"].as_f64();
        let pair: Value = serde_json::from_str(line)?;
        let sides = [&pair["query"], &pair["candidate"]];
        let names = sides.map(|side| side["properties"]["name"].as_array());
        let names: Vec<&str> = names
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        Ok(ScoredPair {
            score: score.ok_or_else(|| Unusable(format!("has no score: {line}")))?,
            truth: *truth,
            kind: pair["query"]["schema"].as_str().unwrap_or_default().to_owned(),
            scripts: scripts(&names),
        })
    };
    pairs.iter().map(scored).collect()
}

/// People as screening queries.
fn queries(file: &Path, names_only: bool) -> anyhow::Result<Vec<Query>> {
    let rows = csv_rows(file)?;
    Ok(rows
        .iter()
        .map(|row| {
            let cell = |name: &str| {
                let cell = row.get(name).and_then(Value::as_str).map(str::trim);
                cell.filter(|cell| !cell.is_empty()).map(str::to_owned)
            };
            let given: Vec<String> = [cell("first_name"), cell("middle_name")]
                .into_iter()
                .flatten()
                .collect();
            let mut query = Query {
                schema: Some("Person".into()),
                name: cell("full_name"),
                first_name: (!given.is_empty()).then(|| given.join(" ")),
                last_name: cell("last_name"),
                ..Query::default()
            };
            if !names_only {
                query.dob = cell("date_of_birth");
                query.nationality = cell("nationality");
                query.gender = cell("gender");
            }
            query
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_as_csv_or_ndjson() {
        let folder = tempfile::tempdir().unwrap();
        let csv = folder.path().join("pairs.csv");
        std::fs::write(
            &csv,
            "case,schema,name1,name2,is_match\n1,Person,Tamsin Velloway,\"Velloway, Tamsin\",true\n\
             2,Person,Tamsin Velloway,Ferdinand Okonkwo,false\n3,Company,Quillfeather Ltd,Quillfeather Limited,true\n",
        )
        .unwrap();
        let ndjson = folder.path().join("pairs.ndjson");
        let entity = |name: &str| json!({"schema": "Person", "properties": {"name": [name]}});
        let line = json!({"query": entity("Tamsin Velloway"), "candidate": entity("Tamsin Velloway"), "match": false});
        std::fs::write(&ndjson, format!("{line}\n\n")).unwrap();

        let figures = tally(&score(&pair_lines(&csv).unwrap()).unwrap(), 0.7).json();
        assert_eq!(
            (&figures["pairs"], &figures["f1"]),
            (&json!(3), &json!(1.0)),
            "{figures}"
        );
        let figures = tally(&score(&pair_lines(&ndjson).unwrap()).unwrap(), 0.7).json();
        assert_eq!(
            (&figures["falsePositive"], &figures["precision"]),
            (&json!(1), &json!(0.0)),
            "{figures}"
        );
    }

    #[test]
    fn unusable_files_say_why() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content, text) in [
            ("a.csv", "schema,name1\nPerson,x\n", "is_match"),
            (
                "b.csv",
                "schema,name1,name2,is_match\nPerson,x,y,perhaps\n",
                "perhaps",
            ),
            ("c.ndjson", "{\"query\": {}}\n", "c.ndjson:1"),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, content).unwrap();
            let error = format!("{:#}", pair_lines(&file).unwrap_err());
            assert!(error.contains(text), "{error}");
        }
        assert!(pair_lines(&folder.path().join("missing.csv")).is_err());
    }

    #[test]
    fn people_become_queries() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("people.csv");
        std::fs::write(
            &file,
            "full_name,first_name,middle_name,last_name,gender,date_of_birth,nationality\n\
             Tamsin Iris Velloway,Tamsin,Iris,Velloway,female,1991-03-14,France\nMadonna,,,,,,\n",
        )
        .unwrap();
        let all = queries(&file, false).unwrap();
        assert_eq!(all[0].first_name.as_deref(), Some("Tamsin Iris"));
        assert_eq!(all[0].dob.as_deref(), Some("1991-03-14"));
        assert_eq!(
            (all[1].name.as_deref(), &all[1].first_name),
            (Some("Madonna"), &None)
        );
        assert_eq!(queries(&file, true).unwrap()[0].dob, None);
    }
}
