//! The response shapes that several endpoints of yente's API share.

use std::collections::BTreeMap;

use serde::Serialize;
use service::yente::records::EntityRecord;
use utoipa::ToSchema;

/// A listed entity in FollowTheMoney's form.
#[derive(Debug, Serialize, ToSchema)]
#[schema(title = "Entity")]
pub struct ListedEntityBody {
    /// The id in its list.
    #[schema(example = "ofac-36")]
    pub id: String,
    /// The name to display.
    pub caption: String,
    /// The FollowTheMoney schema.
    #[schema(example = "Person")]
    pub schema: &'static str,
    /// Values by FollowTheMoney property. `topics` states why the entity is listed.
    pub properties: BTreeMap<String, Vec<String>>,
    /// The sources of the entity.
    #[schema(example = json!(["us_ofac_sdn"]))]
    pub datasets: Vec<String>,
    /// Always empty, because entities with different ids are not merged.
    pub referents: Vec<String>,
    /// Whether at least one topic of the entity counts as a business risk.
    pub target: bool,
    /// Always null, because lists do not state it.
    pub first_seen: Option<String>,
    /// Always null, because lists do not state it.
    pub last_seen: Option<String>,
    /// Always null, because lists do not state it.
    pub last_change: Option<String>,
}

impl From<EntityRecord> for ListedEntityBody {
    fn from(record: EntityRecord) -> Self {
        ListedEntityBody {
            id: record.id,
            caption: record.caption,
            schema: record.schema.as_str(),
            properties: record.properties,
            datasets: record.datasets,
            referents: Vec::new(),
            target: record.is_target,
            first_seen: None,
            last_seen: None,
            last_change: None,
        }
    }
}

/// The name of a FollowTheMoney schema.
#[derive(ToSchema)]
#[schema(pattern = "^[A-Z][A-Za-z]*$", example = "Company")]
#[allow(dead_code, reason = "read by the derive only; `parameters` reads the query")]
pub struct SchemaName(String);

/// A number of results.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct TotalBody {
    /// The number.
    pub value: usize,
    /// Always `eq`: the number is exact.
    #[schema(example = "eq")]
    pub relation: &'static str,
}

impl TotalBody {
    /// An exact number.
    pub fn of(value: usize) -> TotalBody {
        TotalBody {
            value,
            relation: "eq",
        }
    }
}
