//! `/v2/yente/search/{dataset}`: a search by text, with facets.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, State};
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::YenteErrors;
use http_server::path::PathText;
use serde::Serialize;
use service::Shared;
use service::problem::Problem;
use service::yente::facets::{Facet, FacetCounts};
use service::yente::search::{self, SortKey, TextSearch};
use utoipa::ToSchema;

use super::bodies::{ListedEntityBody, SchemaName, TotalBody};
use super::parameters::Parameters;

/// The most results of a page.
const MAX_PAGE: usize = 500;
/// The greatest offset, as in yente.
const MAX_OFFSET: usize = 9_499;
/// The results of a page without `limit`.
const DEFAULT_PAGE: usize = 10;
/// The longest text, in characters.
const MAX_TEXT: usize = 250;

/// The name of a facet.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(
    dead_code,
    missing_docs,
    reason = "read by the derive only; `Facet` has the names"
)]
pub enum FacetName {
    Countries,
    Topics,
    Datasets,
    Schema,
    Identifiers,
    Genders,
}

/// A value of a facet.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct FacetValueBody {
    /// The value.
    #[schema(example = "ru")]
    pub name: String,
    /// The text to display.
    #[schema(example = "Russia")]
    pub label: String,
    /// The number of results that have it.
    pub count: usize,
}

/// A facet.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct FacetBody {
    /// The text to display.
    #[schema(example = "Countries")]
    pub label: &'static str,
    /// The values, most frequent first.
    pub values: Vec<FacetValueBody>,
}

/// The results of a search.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchBody {
    /// The most results of this page.
    pub limit: usize,
    /// The position of the first result.
    pub offset: usize,
    /// The number of all results.
    pub total: TotalBody,
    /// The results of this page, best first.
    pub results: Vec<ListedEntityBody>,
    /// The requested facets by name, counted over all results.
    pub facets: BTreeMap<&'static str, FacetBody>,
}

/// Topics with their names in FollowTheMoney, the most frequent ones.
const TOPICS: [(&str, &str); 16] = [
    ("sanction", "Sanctioned"),
    ("sanction.linked", "Sanction-linked"),
    ("sanction.control", "Sanction ownership or control"),
    ("sanction.counter", "Counter-sanctioned"),
    ("role.pep", "PEP"),
    ("role.rca", "Close Associate"),
    ("role.oligarch", "Oligarch"),
    ("crime", "Crime"),
    ("crime.terror", "Terrorism"),
    ("crime.fin", "Financial crime"),
    ("wanted", "Wanted"),
    ("debarment", "Debarred"),
    ("export.control", "Export controlled"),
    ("export.risk", "Trade risk"),
    ("poi", "Person of interest"),
    ("reg.action", "Regulator action"),
];

fn facet(counts: FacetCounts) -> (&'static str, FacetBody) {
    let label = match counts.facet {
        Facet::Countries => "Countries",
        Facet::Topics => "Topics",
        Facet::Datasets => "Data sources",
        Facet::Schema => "Entity types",
        Facet::Identifiers => "Identifiers",
        Facet::Genders => "Genders",
    };
    let value_label = |name: &str| -> String {
        let known = match counts.facet {
            Facet::Countries => reference::country(name).map(|country| country.name),
            Facet::Topics => TOPICS
                .iter()
                .find(|(topic, _)| *topic == name)
                .map(|(_, label)| *label),
            Facet::Schema => plural(name),
            Facet::Datasets | Facet::Identifiers | Facet::Genders => None,
        };
        known.unwrap_or(name).to_owned()
    };
    let values = counts.values.iter().map(|(name, count)| FacetValueBody {
        name: name.clone(),
        label: value_label(name),
        count: *count,
    });
    let body = FacetBody {
        label,
        values: values.collect(),
    };
    (counts.facet.as_str(), body)
}

fn plural(schema: &str) -> Option<&'static str> {
    Some(match schema {
        "Person" => "People",
        "Company" => "Companies",
        "Organization" => "Organizations",
        "PublicBody" => "Public bodies",
        "LegalEntity" => "Legal entities",
        "Vessel" => "Vessels",
        "Airplane" => "Airplanes",
        "CryptoWallet" => "Cryptocurrency wallets",
        "Security" => "Securities",
        "Thing" => "Things",
        _ => return None,
    })
}

fn read(parameters: &mut Parameters) -> TextSearch {
    let text = parameters.last("q").unwrap_or_default().to_owned();
    for name in ["fuzzy", "simple"] {
        parameters.boolean(name);
    }
    let names = Facet::ALL.map(Facet::as_str);
    let requested = parameters.words("facets", &names);
    let facets: Vec<Facet> = Facet::ALL
        .into_iter()
        .filter(|facet| requested.contains(&facet.as_str()))
        .collect();
    TextSearch {
        text,
        limit: parameters.integer("limit", DEFAULT_PAGE, MAX_PAGE),
        offset: parameters.integer("offset", 0, MAX_OFFSET),
        facets: match facets.is_empty() {
            true => vec![Facet::Countries, Facet::Topics, Facet::Datasets],
            false => facets,
        },
        sort: sort_keys(&parameters.list("sort")),
    }
}

/// The fields that results are sorted by. The first mention of a field counts.
fn sort_keys(sent: &[String]) -> Vec<(SortKey, bool)> {
    let mut keys: Vec<(SortKey, bool)> = Vec::new();
    for (field, falls) in sent.iter().filter_map(|sort| sort_key(sort)) {
        if !keys.iter().any(|(known, _)| *known == field) {
            keys.push((field, falls));
        }
    }
    keys
}

/// A field and whether the order falls. Fields that lists do not state change no order.
fn sort_key(sort: &str) -> Option<(SortKey, bool)> {
    let (field, order) = sort.rsplit_once(':').unwrap_or((sort, "asc"));
    let key = match field {
        "caption" | "name" => SortKey::Caption,
        "id" | "entity_id" => SortKey::Id,
        "schema" => SortKey::Schema,
        _ => return None,
    };
    Some((key, order == "desc"))
}

/// Search a dataset by text.
///
/// The text is a name, a number or a wallet. Without a text, the search returns all entities that the filters permit.
#[utoipa::path(get, path = "/v2/yente/search/{dataset}", operation_id = "searchLists", tag = "List search",
    security(("basic" = [])),
    params(
        ("dataset" = String, Path, description = "`default` for all lists of the account, or a list's name", example = "default"),
        ("q" = Option<String>, Query, description = "The text: plain, without operators", max_length = 250, example = "Zoltar Quenthabar"),
        ("schema" = Option<String>, Query, description = "Only this schema and those related to it",
            pattern = "^(Person|Organization|Company|PublicBody|LegalEntity|Vessel|Airplane|CryptoWallet|Security|Thing)$"),
        ("include_dataset" = Option<Vec<String>>, Query, description = "Only entities of one of these datasets"),
        ("exclude_dataset" = Option<Vec<String>>, Query, description = "Exclude these datasets"),
        ("exclude_schema" = inline(Option<Vec<SchemaName>>), Query, description = "Exclude these schemata"),
        ("changed_since" = Option<String>, Query, description = "Only entities of lists that were imported after this time",
            pattern = r"^\d{4}-\d{2}-\d{2}(T\d{2}(:\d{2}(:\d{2})?)?)?$"),
        ("countries" = Option<Vec<String>>, Query, description = "Only these countries (ISO 3166 alpha-2)"),
        ("topics" = Option<Vec<String>>, Query, description = "Only these topics, such as `sanction`"),
        ("datasets" = Option<Vec<String>>, Query, description = "Only these datasets, for facets"),
        ("facets" = inline(Option<Vec<FacetName>>), Query, description = "The facets to count; by default `countries`, `topics` and `datasets`"),
        ("limit" = Option<i64>, Query, description = "Maximum results per page; by default 10", maximum = 500),
        ("offset" = Option<i64>, Query, description = "Position of the first result; by default 0", maximum = 9499),
        ("sort" = Option<Vec<String>>, Query, description = "`caption`, `id` or `schema`, also with `:desc`; other fields change no order"),
        ("target" = Option<bool>, Query, description = "`true`: only entities with a risk topic; `false`: only entities without one"),
        ("fuzzy" = Option<bool>, Query, description = "Accepted, without effect: every search allows other spellings"),
        ("simple" = Option<bool>, Query, description = "Accepted, without effect: every text is plain"),
        ("filter_op" = Option<String>, Query, description = "Whether one value of a filter suffices (`OR`, the default) or all are needed", pattern = "^(AND|OR)$")),
    responses((status = 200, description = "The results", body = SearchBody), YenteErrors))]
pub async fn search(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    PathText(dataset): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Json<SearchBody>, Rejection> {
    let mut parameters = Parameters::read(raw.as_deref())?;
    let request = read(&mut parameters);
    let filters = parameters.search_filters()?;
    parameters.finish()?;
    if request.text.chars().count() > MAX_TEXT {
        let fault = format!("query.q - is longer than {MAX_TEXT} characters; shorten it");
        return Err(Problem::validation(vec![fault]).into());
    }
    let (limit, offset) = (request.limit, request.offset);
    let found = search::search_text(&app, &caller, &dataset, filters, request).await?;
    Ok(Json(SearchBody {
        limit,
        offset,
        total: TotalBody::of(found.total),
        results: found.entities.into_iter().map(ListedEntityBody::from).collect(),
        facets: found.facets.into_iter().map(facet).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_read() {
        let raw = "q=x&limit=20&facets=topics&facets=schema&sort=caption:desc&sort=first_seen";
        let mut parameters = Parameters::read(Some(raw)).unwrap();
        let expected = TextSearch {
            text: "x".into(),
            offset: 0,
            limit: 20,
            facets: vec![Facet::Topics, Facet::Schema],
            sort: vec![(SortKey::Caption, true)],
        };
        assert_eq!(read(&mut parameters), expected);
        assert!(parameters.finish().is_ok());
    }

    #[test]
    fn facets_are_labelled() {
        for (of, value, label, value_label) in [
            (Facet::Countries, "de", "Countries", "Germany"),
            (Facet::Countries, "su", "Countries", "su"),
            (Facet::Topics, "role.pep", "Topics", "PEP"),
            (Facet::Schema, "Person", "Entity types", "People"),
            (Facet::Datasets, "eu_fsf", "Data sources", "eu_fsf"),
        ] {
            let counts = FacetCounts {
                facet: of,
                values: vec![(value.to_owned(), 2)],
            };
            let (name, body) = facet(counts);
            assert_eq!((name, body.label), (of.as_str(), label));
            assert_eq!(
                (body.values[0].label.as_str(), body.values[0].count),
                (value_label, 2)
            );
        }
    }
}
