//! Runs vectors of the scoring engine and compares: `bonafide eval scores FILE`, `bonafide score --fixture
//! FILE`.
//!
//! Each case's outcome has the members of the vectors' own `expect`, so that any tool can compare them.

use num_traits::{ToPrimitive, Zero};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::category::Category;
use crate::fixture::{Fixture, FixtureError};
use crate::parts;
use crate::pool::{self, Method, Share};
use crate::profile::{Fraction, Profile};
use crate::score::{Finding, OwnLabel, Score, UnknownShares, score};
use crate::trace::Direction;

/// The outcome of one vector.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// The engine's result in the vectors' format, or why the vector cannot be run.
    pub found: Result<Value, FixtureError>,
    /// The expected result, if the vector states one.
    pub expected: Option<Value>,
}

impl Outcome {
    /// The members that differ from the expected ones; empty when all agree.
    pub fn differences(&self) -> Vec<String> {
        let Some(Value::Object(expected)) = &self.expected else {
            return Vec::new();
        };
        match &self.found {
            Err(error) => vec![error.to_string()],
            Ok(found) => expected
                .iter()
                .filter(|(name, value)| !found.get(name.as_str()).is_some_and(|found| agrees(found, value)))
                .map(|(name, value)| {
                    format!(
                        "{name}: expected {value}, found {}",
                        found.get(name.as_str()).unwrap_or(&Value::Null)
                    )
                })
                .collect(),
        }
    }
}

/// Whether two values agree: lists in any order, texts exactly, and decimals to the four places that vectors
/// have.
fn agrees(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && expected
                    .iter()
                    .all(|expected| found.iter().any(|found| agrees(found, expected)))
        }
        (Value::Object(found), Value::Object(expected)) => expected.iter().all(|(name, expected)| {
            found
                .get(name.as_str())
                .is_some_and(|found| agrees(found, expected))
        }),
        (Value::Number(found), Value::Number(expected)) => match (found.as_f64(), expected.as_f64()) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 5e-5 + 1e-9,
            _ => false,
        },
        (found, expected) => found == expected,
    }
}

/// Runs every vector of a file: `cases`, `score_only` and `pool_example`, or a single case.
///
/// # Errors
/// When the file is not a JSON object or its profile is not valid. A case's own error is in its outcome.
pub fn run(file: &Value, profile: &Profile) -> Result<Vec<Outcome>, FixtureError> {
    let Value::Object(file) = file else {
        return Err(FixtureError::Member(
            "file".to_owned(),
            "must be a JSON object".to_owned(),
        ));
    };
    let profile = own_profile(file, profile)?;
    let mut outcomes = Vec::new();
    if let Some(example) = file.get("pool_example") {
        outcomes.push(pool_example(example));
    }
    let list = |name: &str| {
        file.get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    outcomes.extend(
        list("cases")
            .iter()
            .map(|case| outcome(case, traced(case, &profile))),
    );
    outcomes.extend(
        list("score_only")
            .iter()
            .map(|case| outcome(case, scored(case, &profile))),
    );
    if file.contains_key("txs") {
        let case = Value::Object(file.clone());
        outcomes.push(outcome(&case, traced(&case, &profile)));
    } else if ["incoming", "outgoing", "own"]
        .iter()
        .any(|name| file.contains_key(*name))
    {
        let case = Value::Object(file.clone());
        outcomes.push(outcome(&case, scored(&case, &profile)));
    }
    Ok(outcomes)
}

fn outcome(case: &Value, found: Result<Value, FixtureError>) -> Outcome {
    let name = case
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("unnamed")
        .to_owned();
    Outcome {
        name,
        found,
        expected: case.get("expect").cloned(),
    }
}

/// The profile with the file's own `category_table` and `hop_decay`, if it has them.
fn own_profile(file: &Map<String, Value>, profile: &Profile) -> Result<Profile, FixtureError> {
    #[derive(Deserialize)]
    struct Row {
        severity: u8,
        full_share: Fraction,
        outgoing_factor: Fraction,
    }
    let mut profile = profile.clone();
    let wrong =
        |name: &str, error: serde_json::Error| FixtureError::Member(name.to_owned(), error.to_string());
    if let Some(decay) = file.get("hop_decay") {
        profile.hop_decay = Fraction::deserialize(decay).map_err(|error| wrong("hop_decay", error))?;
    }
    if let Some(table) = file.get("category_table") {
        let rows = std::collections::BTreeMap::<Category, Row>::deserialize(table)
            .map_err(|error| wrong("category_table", error))?;
        for (category, row) in rows {
            let weight = crate::profile::Weight {
                severity: row.severity,
                full_share: row.full_share,
                outgoing: row.outgoing_factor,
            };
            profile.categories.insert(category, weight);
        }
    }
    profile
        .check()
        .map_err(|error| FixtureError::Member("category_table".to_owned(), error.to_string()))?;
    Ok(profile)
}

fn traced(case: &Value, profile: &Profile) -> Result<Value, FixtureError> {
    let fixture = Fixture::from_json(case)?;
    let trace = fixture.trace(case)?;
    let findings: Vec<Finding> = trace
        .exposures
        .iter()
        .map(|exposure| Finding {
            direction: trace.direction,
            category: exposure.category,
            hop: exposure.hop,
            share: trace.share(exposure),
        })
        .collect();
    let unknown = UnknownShares {
        incoming: trace.unresolved() + &trace.unattributed,
        outgoing: Share::zero(),
    };
    let score = score(profile, &findings, own(case)?, &unknown);
    let exposures: Vec<Value> = trace
        .exposures
        .iter()
        .map(|exposure| {
            json!({
                "category": exposure.category,
                "entity": exposure.entity,
                "hop": exposure.hop,
                "share": parts::share(&exposure.part, &trace.whole).to_string(),
                "share_decimal": parts::to_f64(&exposure.part, &trace.whole),
                "path": exposure.path,
            })
        })
        .collect();
    let mut found = scores(&score);
    found.insert("exposures".to_owned(), exposures.into());
    found.insert(
        "unresolved".to_owned(),
        parts::lowest(&trace.unresolved()).to_string().into(),
    );
    found.insert(
        "unattributed".to_owned(),
        parts::lowest(&trace.unattributed).to_string().into(),
    );
    found.insert("expansions".to_owned(), trace.expansions.into());
    Ok(Value::Object(found))
}

fn scored(case: &Value, profile: &Profile) -> Result<Value, FixtureError> {
    let mut findings = Vec::new();
    for (name, direction) in [
        ("incoming", Direction::Incoming),
        ("outgoing", Direction::Outgoing),
    ] {
        let Some(shares) = case.get(name) else { continue };
        let wrong = |why: String| FixtureError::Member(name.to_owned(), why);
        let shares = std::collections::BTreeMap::<String, Fraction>::deserialize(shares)
            .map_err(|error| wrong(error.to_string()))?;
        for (key, share) in shares {
            let (category, hop) = key.split_once('@').unwrap_or((&key, "1"));
            findings.push(Finding {
                direction,
                category: category
                    .parse()
                    .map_err(|_| wrong(format!("{category} is no category")))?,
                hop: hop.parse().map_err(|_| wrong(format!("{hop} is no hop")))?,
                share: share.0,
            });
        }
    }
    let unresolved = |name: &str| -> Result<Share, FixtureError> {
        case.get(name)
            .map_or(Ok(Share::zero()), |share| {
                Fraction::deserialize(share).map(|fraction| fraction.0)
            })
            .map_err(|error| FixtureError::Member(name.to_owned(), error.to_string()))
    };
    let unknown = UnknownShares {
        incoming: unresolved("unresolved")?,
        outgoing: unresolved("outgoing_unresolved")?,
    };
    let own = own(case)?;
    let score = score(profile, &findings, own, &unknown);
    let mut found = scores(&score);
    if own.is_some_and(|own| own.authority) {
        found.insert("reason".to_owned(), "own_sanctions".into());
    }
    Ok(Value::Object(found))
}

/// Reads `"own": [category, confidence]`; a label of sanctions counts as an authority's.
fn own(case: &Value) -> Result<Option<OwnLabel>, FixtureError> {
    let Some(own) = case.get("own") else {
        return Ok(None);
    };
    let (category, confidence) = <(Category, u8)>::deserialize(own)
        .map_err(|error| FixtureError::Member("own".to_owned(), error.to_string()))?;
    Ok(Some(OwnLabel {
        category,
        confidence,
        authority: category == Category::Sanctions,
    }))
}

fn scores(score: &Score) -> Map<String, Value> {
    let whole = |share: &Share| {
        (share + Share::new(1.into(), 2.into()))
            .floor()
            .to_integer()
            .to_u64()
    };
    let contributions: Vec<Value> = score
        .contributions
        .iter()
        .map(|contribution| {
            json!({
                "direction": contribution.origin,
                "category": contribution.category,
                "points": contribution.points,
            })
        })
        .collect();
    let mut found = Map::new();
    found.insert(
        "score_exact".to_owned(),
        parts::lowest(&score.exact).to_string().into(),
    );
    found.insert("score_decimal".to_owned(), score.value().into());
    found.insert("score".to_owned(), whole(&score.exact).into());
    found.insert("score_upper_bound".to_owned(), whole(&score.upper_bound).into());
    found.insert(
        "score_upper_bound_exact".to_owned(),
        parts::lowest(&score.upper_bound).to_string().into(),
    );
    found.insert("contributions".to_owned(), contributions.into());
    found
}

/// Three tainted and seven clean coins, spent as the example's rows state.
fn pool_example(example: &Value) -> Outcome {
    let mut found = Map::new();
    let mut expected = Map::new();
    let lots = [
        (crate::amount::Amount::from(3), true),
        (crate::amount::Amount::from(7), false),
    ];
    for method in ["haircut", "fifo", "lifo", "poison"] {
        let Some(rows) = example.get(method).and_then(Value::as_array) else {
            continue;
        };
        let spends: Vec<crate::amount::Amount> = rows
            .iter()
            .filter_map(|row| {
                row.get(0)
                    .and_then(Value::as_u64)
                    .map(crate::amount::Amount::from)
            })
            .collect();
        let parts = pool::tainted(&lots, &spends, method.parse().unwrap_or(Method::Haircut));
        let row: Vec<Value> = spends
            .iter()
            .zip(parts)
            .map(|(spend, part)| json!([units(spend), part.to_f64()]))
            .collect();
        found.insert(method.to_owned(), row.into());
        expected.insert(method.to_owned(), rows.clone().into());
    }
    Outcome {
        name: "pool_example".to_owned(),
        found: Ok(Value::Object(found)),
        expected: Some(Value::Object(expected)),
    }
}

fn units(amount: &crate::amount::Amount) -> u64 {
    amount.to_u64().unwrap_or(u64::MAX)
}
