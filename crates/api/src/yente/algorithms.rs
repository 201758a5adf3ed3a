//! `/v2/yente/algorithms`: the one scoring algorithm, and the names of yente's under which it also answers.

use std::collections::BTreeMap;

use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::YenteErrors;
use serde::Serialize;
use service::problem::Problem;
use utoipa::ToSchema;

/// The algorithm's own name.
pub const OWN: &str = "bonafide";

/// Names of yente's algorithms that clients send. All are answered by the one algorithm.
const ALIASES: [&str; 6] = [
    "logic-v2",
    "logic-v1",
    "name-based",
    "name-qualified",
    "regression-v1",
    "regression-v2",
];

/// The features of a score and what they mean. A main feature has the score that it reaches alone.
const FEATURES: [(&str, f64, &str); 18] = [
    ("name_match", 1.0, "The similarity of the most similar names."),
    (
        "weak_alias_match",
        0.8,
        "An alias that the list marks as weak is the same.",
    ),
    ("wallet_match", 0.98, "A blockchain address is the same."),
    ("isin_match", 0.98, "An ISIN is the same."),
    ("lei_match", 0.95, "A legal entity identifier is the same."),
    ("inn_match", 0.95, "A Russian tax number is the same."),
    ("ogrn_match", 0.95, "A Russian registration number is the same."),
    ("imo_match", 0.95, "A ship's IMO number is the same."),
    ("bic_match", 0.95, "A bank's BIC is the same."),
    ("identifier_match", 0.85, "Another number is the same."),
    ("birth_date_match", 0.1, "The dates of birth are the same."),
    (
        "birth_day_swapped",
        -0.12,
        "The dates of birth are the same with day and month swapped.",
    ),
    ("birth_year_match", 0.0, "The years of birth are the same."),
    (
        "birth_day_disjoint",
        -0.25,
        "The dates of birth differ in month or day.",
    ),
    ("birth_year_disjoint", -0.35, "The years of birth differ."),
    ("country_mismatch", -0.2, "No country is the same."),
    ("gender_mismatch", -0.2, "The genders differ."),
    (
        "common_name",
        -0.05,
        "Very many people have the name, and neither date of birth nor country agrees.",
    ),
];

/// A feature of a score.
#[derive(Debug, Serialize, ToSchema)]
pub struct FeatureDocBody {
    /// What it means.
    pub description: &'static str,
    /// For a main feature, the score that it reaches alone at most; for others, what they add at most.
    pub coefficient: f64,
    /// The documentation page.
    pub url: &'static str,
}

/// What an algorithm does.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlgorithmDocsBody {
    /// The name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// Always empty: no parameter changes a score.
    pub config: BTreeMap<String, String>,
    /// The features by name.
    pub features: BTreeMap<&'static str, FeatureDocBody>,
}

/// A name under which the algorithm answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlgorithmBody {
    /// The name.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// As in `docs`.
    pub features: BTreeMap<&'static str, FeatureDocBody>,
    /// The documentation.
    pub docs: AlgorithmDocsBody,
}

/// The algorithms.
#[derive(Debug, Serialize, ToSchema)]
pub struct AlgorithmsBody {
    /// All names.
    pub algorithms: Vec<AlgorithmBody>,
    /// The algorithm of a request that names none.
    pub default: &'static str,
    /// The algorithm of a request for `best`.
    pub best: &'static str,
}

/// The features by name.
pub fn features() -> BTreeMap<&'static str, FeatureDocBody> {
    let doc = |(name, coefficient, description)| {
        let url = "/docs/";
        (
            name,
            FeatureDocBody {
                description,
                coefficient,
                url,
            },
        )
    };
    FEATURES.into_iter().map(doc).collect()
}

/// Checks that a request's algorithm is known.
///
/// # Errors
/// 400 if it is not.
pub fn check(name: Option<&str>) -> Result<(), Problem> {
    let name = name.unwrap_or(OWN).trim().to_ascii_lowercase();
    if name == OWN || name == "best" || ALIASES.contains(&name.as_str()) {
        return Ok(());
    }
    let text = format!("Invalid algorithm: use {OWN}, best or {}", ALIASES.join(", "));
    Err(Problem::invalid(text))
}

fn algorithm(name: &'static str) -> AlgorithmBody {
    let description = match name {
        OWN => "Compares names as words across scripts and spellings, then dates of birth, countries, genders, numbers and wallets.".to_owned(),
        alias => format!("Another name for `{OWN}`, for clients of yente. It does not compute yente's `{alias}`; scores differ."),
    };
    AlgorithmBody {
        name,
        description: description.clone(),
        features: features(),
        docs: AlgorithmDocsBody {
            name,
            description,
            config: BTreeMap::new(),
            features: features(),
        },
    }
}

/// List the scoring algorithms.
#[utoipa::path(get, path = "/v2/yente/algorithms", operation_id = "listAlgorithms", tag = "List search",
    security(("basic" = [])),
    responses((status = 200, description = "One algorithm under several names", body = AlgorithmsBody), YenteErrors))]
pub async fn algorithms(_: Authenticated) -> Result<Json<AlgorithmsBody>, Rejection> {
    let names = [OWN].into_iter().chain(ALIASES);
    Ok(Json(AlgorithmsBody {
        algorithms: names.map(algorithm).collect(),
        default: OWN,
        best: OWN,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_yentes_algorithms_are_answered() {
        for (name, is_known) in [
            (None, true),
            (Some("best"), true),
            (Some(" Logic-V2 "), true),
            (Some("bonafide"), true),
            (Some("neural-net"), false),
            (Some(""), false),
        ] {
            assert_eq!(check(name).is_ok(), is_known, "{name:?}");
        }
        assert!(
            algorithm("logic-v1")
                .description
                .contains("does not compute yente's")
        );
    }
}
