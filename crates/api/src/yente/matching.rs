//! `/v2/yente/match/{dataset}`: queries by example.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State};
use axum::http::HeaderName;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{DetailBody, YenteErrors};
use http_server::path::PathText;
use sanctions::score::PairScore;
use serde::Serialize;
use serde_json::{Map, Value, json};
use service::Shared;
use service::problem::Problem;
use service::yente::search::{self, MatchHit, MatchOptions, Matches};
use utoipa::{IntoResponses, ToSchema};

use super::algorithms::{self, FeatureDocBody};
use super::bodies::{ListedEntityBody, SchemaName, TotalBody};
use super::parameters::Parameters;
use super::queries::{self, MatchQuery};

/// The most results of a query.
const MAX_RESULTS: usize = 500;
/// The results of a query without `limit`.
const DEFAULT_RESULTS: usize = 5;
/// The most results of all queries together, which bounds the response.
const MAX_RESPONSE: usize = 5_000;
/// The number of queries that were answered.
const BATCH_SIZE: HeaderName = HeaderName::from_static("x-batch-size");

/// A subject to match.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; `queries` reads the body")]
pub struct ExampleBody {
    /// Your id of the subject, which the response repeats.
    #[schema(nullable)]
    id: Option<String>,
    /// The FollowTheMoney schema.
    #[schema(
        pattern = "^(Person|Organization|Company|PublicBody|LegalEntity|Vessel|Airplane|CryptoWallet|Security|Thing)$",
        example = "Person"
    )]
    schema: String,
    /// Values by FollowTheMoney property, each a text or a list. Properties that the search does not use are ignored.
    #[schema(value_type = Object, example = json!({"name": ["Zoltar Quenthabar"], "birthDate": ["1962-11-23"]}))]
    properties: Value,
}

/// The queries of a match.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; `queries` reads the body")]
pub struct MatchRequest {
    /// One to 100 queries, each under a name of your choice.
    #[schema(schema_with = queries_schema)]
    queries: BTreeMap<String, ExampleBody>,
    /// Accepted, without effect.
    #[schema(value_type = Option<BTreeMap<String, f64>>)]
    weights: Option<Value>,
    /// Accepted, without effect. Names that no algorithm of yente takes are refused.
    #[schema(value_type = Option<Object>)]
    config: Option<Value>,
}

fn queries_schema() -> utoipa::openapi::schema::Object {
    utoipa::openapi::ObjectBuilder::new()
        .description(Some("One to 100 queries, each under a name of your choice."))
        .additional_properties(Some(<ExampleBody as utoipa::PartialSchema>::schema()))
        .min_properties(Some(1))
        .max_properties(Some(queries::MAX_QUERIES))
        .build()
}

/// A part of a score.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct FeatureResultBody {
    /// How the compared values correspond, for names.
    pub detail: Option<String>,
    /// What the feature contributes; for a main feature, the score that it reaches alone.
    pub score: f64,
    /// The query's value.
    pub query: Option<String>,
    /// The listed value.
    pub candidate: Option<String>,
    /// Always null: `score` is weighted already.
    pub weight: Option<f64>,
}

/// A hit.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScoredEntityBody {
    /// The listed entity.
    #[serde(flatten)]
    pub entity: ListedEntityBody,
    /// The score, 0–1.
    #[schema(minimum = 0, maximum = 1)]
    pub score: f64,
    /// The parts of the score.
    pub features: BTreeMap<String, f64>,
    /// The same parts with the compared values.
    pub explanations: BTreeMap<String, FeatureResultBody>,
    /// Whether the score reaches the threshold. Topics do not count here.
    #[serde(rename = "match")]
    pub is_match: bool,
}

/// The answer to a query.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatchesBody {
    /// Always 200.
    pub status: u16,
    /// The hits, best first.
    pub results: Vec<ScoredEntityBody>,
    /// The number of hits that reach the threshold, also beyond the limit.
    pub total: TotalBody,
    /// The query with the values that were searched: `id`, `schema` and `properties`.
    #[schema(value_type = Object)]
    pub query: Value,
}

/// The answers to all queries.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatchBody {
    /// The answers by the names of the queries.
    #[schema(value_type = BTreeMap<String, MatchesBody>)]
    pub responses: Map<String, Value>,
    /// The features of a score.
    pub matcher: BTreeMap<&'static str, FeatureDocBody>,
    /// The most results of a query.
    pub limit: usize,
}

/// The error responses of a match that depend on its body.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive only")]
pub enum MatchErrors {
    /// The body did not arrive within 30 seconds
    #[response(status = 408)]
    Timeout(DetailBody),
    /// The body is larger than 1 MB
    #[response(status = 413)]
    TooLarge(DetailBody),
}

fn explanations(score: &PairScore) -> BTreeMap<String, FeatureResultBody> {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let explained = score.explanation.iter().map(|part| {
        let words = part.tokens.iter().map(|token| {
            let (query, candidate) = (&token.query, &token.candidate);
            format!("{query} ~ {candidate} ({:.2})", token.similarity)
        });
        let result = FeatureResultBody {
            detail: some(&words.collect::<Vec<_>>().join(", ")),
            score: part.score,
            query: some(&part.query),
            candidate: some(&part.candidate),
            weight: None,
        };
        (part.feature.clone(), result)
    });
    explained.collect()
}

fn scored(hit: MatchHit) -> ScoredEntityBody {
    ScoredEntityBody {
        entity: hit.entity.into(),
        explanations: explanations(&hit.score),
        score: hit.score.score,
        features: hit.score.features,
        is_match: hit.is_match,
    }
}

fn answered(query: &MatchQuery, matches: Matches) -> MatchesBody {
    let properties = &query.example.properties;
    MatchesBody {
        status: 200,
        results: matches.hits.into_iter().map(scored).collect(),
        total: TotalBody::of(matches.total),
        query: json!({"id": query.id, "schema": query.schema, "properties": properties}),
    }
}

/// Match subjects against a dataset.
///
/// Each query is searched with all its names, dates, countries, numbers and wallets. A result is a `match` if its score
/// reaches the threshold. An entity's `topics` state whether it is sanctioned.
#[utoipa::path(post, path = "/v2/yente/match/{dataset}", operation_id = "matchEntities", tag = "List search",
    security(("basic" = [])),
    params(
        ("dataset" = String, Path, description = "`default` for all lists of the account, or a list's name", example = "default"),
        ("limit" = Option<i64>, Query, description = "Maximum results per query; by default 5", maximum = 500),
        ("threshold" = Option<f64>, Query, description = "The score from which a result is a match; by default the account's, 0.70"),
        ("cutoff" = Option<f64>, Query, description = "The score from which a result is returned; by default the threshold, at least 0.2"),
        ("algorithm" = Option<String>, Query, description = "A name that `/v2/yente/algorithms` lists, or `best`. All mean the same algorithm",
            pattern = "^(bonafide|best|logic-v1|logic-v2|name-based|name-qualified|regression-v1|regression-v2)$"),
        ("include_dataset" = Option<Vec<String>>, Query, description = "Only entities of one of these datasets"),
        ("exclude_dataset" = Option<Vec<String>>, Query, description = "Exclude these datasets"),
        ("exclude_schema" = inline(Option<Vec<SchemaName>>), Query, description = "Exclude these schemata"),
        ("topics" = Option<Vec<String>>, Query, description = "Only entities with one of these topics"),
        ("changed_since" = Option<String>, Query, description = "Only entities of lists that were imported after this time",
            pattern = r"^\d{4}-\d{2}-\d{2}(T\d{2}(:\d{2}(:\d{2})?)?)?$"),
        ("exclude_entity_ids" = Option<Vec<String>>, Query, description = "Exclude the entities with these ids; at most 50"),
        ("fuzzy" = Option<String>, Query, description = "Ignored: every search allows other spellings")),
    request_body = MatchRequest,
    responses((status = 200, description = "An answer for each query",
        headers(("x-batch-size" = u32, description = "The number of answers")), body = MatchBody), YenteErrors, MatchErrors))]
pub async fn match_entities(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(dataset): PathText,
    RawQuery(raw): RawQuery,
    body: JsonObject,
) -> Result<([(HeaderName, String); 1], Json<MatchBody>), Rejection> {
    let mut parameters = Parameters::read(raw.as_deref())?;
    let options = MatchOptions {
        threshold: parameters.number("threshold"),
        cutoff: parameters.number("cutoff"),
        limit: parameters.integer("limit", DEFAULT_RESULTS, MAX_RESULTS),
    };
    let filters = parameters.filters();
    let algorithm = algorithms::check(parameters.last("algorithm"));
    parameters.finish()?;
    let queries = queries::read(&body.object)?;
    algorithm?;
    if queries.len() * options.limit > MAX_RESPONSE {
        let text =
            format!("Too many results: queries × limit may be at most {MAX_RESPONSE}; lower one of them");
        return Err(Problem::invalid(text).into());
    }
    let examples = queries.iter().map(|query| query.example.clone()).collect();
    let answers = search::match_examples(&app, &caller, &dataset, filters, options, examples).await?;
    let mut responses = Map::new();
    for (query, matches) in queries.iter().zip(answers) {
        let answer = serde_json::to_value(answered(query, matches)).map_err(Problem::internal)?;
        responses.insert(query.name.clone(), answer);
    }
    let size = responses.len().to_string();
    let body = MatchBody {
        responses,
        matcher: algorithms::features(),
        limit: options.limit,
    };
    Ok(([(BATCH_SIZE, size)], Json(body)))
}
