//! `/v2/yente/catalog`: the lists that count for the merchant, as yente's datasets.

use axum::extract::State;
use axum::response::Json;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::openapi::YenteErrors;
use sanctions::store::ListStatus;
use serde::Serialize;
use service::Shared;
use service::yente::search;
use utoipa::ToSchema;

/// The collection of all lists.
const DEFAULT: &str = "default";

/// A dataset.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct DatasetBody {
    /// The name, as in the paths of match and search.
    #[schema(example = "us_ofac_sdn")]
    pub name: String,
    /// The name to display.
    pub title: String,
    /// What it contains.
    pub summary: String,
    /// Its version.
    pub version: String,
    /// The version that is searched, which is the same.
    pub index_version: String,
    /// Always true: the version is the one that is searched.
    pub index_current: bool,
    /// Always true: the dataset can be searched.
    pub load: bool,
    /// The number of its entities.
    pub entity_count: usize,
    /// The publisher's date, or the time of import if the list has none.
    pub updated_at: Option<String>,
    /// The time of the last import.
    pub last_export: Option<String>,
    /// The datasets of a collection.
    pub children: Vec<String>,
}

/// The datasets of the account.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct CatalogBody {
    /// All datasets, after the collection `default`.
    pub datasets: Vec<DatasetBody>,
    /// The names of all datasets, because a list that is not current is never searched.
    pub current: Vec<String>,
    /// Always empty.
    pub outdated: Vec<String>,
    /// Always false.
    pub index_stale: bool,
}

fn catalog_of(lists: Vec<ListStatus>) -> CatalogBody {
    let dataset = |list: ListStatus| DatasetBody {
        title: list.list.clone(),
        summary: "An imported list".to_owned(),
        index_version: list.version.clone(),
        version: list.version,
        index_current: true,
        load: true,
        entity_count: list.entities,
        updated_at: Some(list.published_at.unwrap_or_else(|| list.imported_at.clone())),
        last_export: Some(list.imported_at),
        children: Vec::new(),
        name: list.list,
    };
    let lists: Vec<DatasetBody> = lists.into_iter().map(dataset).collect();
    let newest = lists.iter().max_by(|a, b| a.last_export.cmp(&b.last_export));
    let version = newest.map(|list| list.version.clone()).unwrap_or_default();
    let all = DatasetBody {
        name: DEFAULT.to_owned(),
        title: "All lists".to_owned(),
        summary: "All lists that count for this account".to_owned(),
        index_version: version.clone(),
        version,
        index_current: true,
        load: true,
        entity_count: lists.iter().map(|list| list.entity_count).sum(),
        updated_at: lists.iter().filter_map(|list| list.updated_at.clone()).max(),
        last_export: lists.iter().filter_map(|list| list.last_export.clone()).max(),
        children: lists.iter().map(|list| list.name.clone()).collect(),
    };
    let is_named = lists.iter().any(|list| list.name == DEFAULT);
    let datasets: Vec<DatasetBody> = Some(all).filter(|_| !is_named).into_iter().chain(lists).collect();
    CatalogBody {
        current: datasets.iter().map(|dataset| dataset.name.clone()).collect(),
        datasets,
        outdated: Vec::new(),
        index_stale: false,
    }
}

/// List the datasets that can be searched.
#[utoipa::path(get, path = "/v2/yente/catalog", operation_id = "getListCatalog", tag = "List search",
    security(("basic" = [])),
    responses((status = 200, description = "The datasets", body = CatalogBody), YenteErrors))]
pub async fn catalog(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<CatalogBody>, Rejection> {
    Ok(Json(catalog_of(search::datasets(&app, &caller).await?)))
}
