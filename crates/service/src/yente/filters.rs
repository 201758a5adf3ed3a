//! Which entries a request to yente's API wants. It searches nothing.

use sanctions::{ListEntry, Schema};

use super::datasets::{DatasetScope, shown};
use super::records::{is_target, properties, topics};

/// The filters of a request. An empty one wants every entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Only entries of one of these datasets.
    pub include_dataset: Vec<String>,
    /// Not these datasets. An entry that is also in others remains.
    pub exclude_dataset: Vec<String>,
    /// Not these schemata, by name.
    pub exclude_schema: Vec<String>,
    /// Only this schema, those that it generalises, and those that generalise it.
    pub schema: Option<Schema>,
    /// Not the entries with these ids.
    pub exclude_ids: Vec<String>,
    /// Only entries with such topics.
    pub topics: Vec<String>,
    /// Only entries of such countries, as lower-case ISO 3166 alpha-2.
    pub countries: Vec<String>,
    /// Only entries of such datasets.
    pub datasets: Vec<String>,
    /// Only entries with such values of a property, by name.
    pub properties: Vec<(String, Vec<String>)>,
    /// Only entries that are, or are not, a risk.
    pub target: Option<bool>,
    /// Whether an entry needs all values of a filter, and not only one of them.
    pub needs_all: bool,
    /// Only entries of lists that were imported after this time: `YYYY-MM-DD`, also with a time.
    pub changed_since: Option<String>,
}

impl Filters {
    /// Whether the request wants an entry. `changed` are the lists that [`Filters::changed_since`] permits; `None`: all.
    pub fn keep(&self, entry: ListEntry<'_>, scope: &DatasetScope, changed: Option<&[String]>) -> bool {
        let sources = shown(entry.datasets());
        let list = entry.datasets().last();
        scope.contains(entry.datasets())
            && changed.is_none_or(|changed| list.is_some_and(|list| changed.contains(list)))
            && self.keeps_dataset(sources, list)
            && self
                .schema
                .is_none_or(|schema| is_related(schema, entry.schema()))
            && !self
                .exclude_schema
                .iter()
                .any(|name| name == entry.schema().as_str())
            && !self.exclude_ids.iter().any(|id| id == entry.id())
            && self.has(&self.topics, topics(entry))
            && self.has(&self.countries, entry.countries())
            && (self.has(&self.datasets, sources) || self.has(&self.datasets, entry.datasets()))
            && self
                .target
                .is_none_or(|target| target == is_target(topics(entry)))
            && self.has_properties(entry)
    }

    /// Whether an entry is in a dataset that is included and not excluded.
    fn keeps_dataset(&self, sources: &[String], list: Option<&String>) -> bool {
        let is_excluded = |name: &String| self.exclude_dataset.contains(name);
        let is_included = |name: &String| self.include_dataset.contains(name);
        let whole_list = self.include_dataset.is_empty() || list.is_some_and(is_included);
        !list.is_some_and(is_excluded)
            && sources
                .iter()
                .any(|source| !is_excluded(source) && (whole_list || is_included(source)))
    }

    fn has(&self, wanted: &[String], values: &[String]) -> bool {
        match self.needs_all {
            true => wanted.iter().all(|wanted| values.contains(wanted)),
            false => wanted.is_empty() || wanted.iter().any(|wanted| values.contains(wanted)),
        }
    }

    fn has_properties(&self, entry: ListEntry<'_>) -> bool {
        if self.properties.is_empty() {
            return true;
        }
        let stated = properties(entry);
        self.properties.iter().all(|(name, wanted)| {
            let values = stated.get(name).map(Vec::as_slice).unwrap_or_default();
            self.has(wanted, values)
        })
    }
}

/// The schema that directly generalises a schema.
fn parent(schema: Schema) -> Option<Schema> {
    match schema {
        Schema::Thing => None,
        Schema::Person | Schema::Organization => Some(Schema::LegalEntity),
        Schema::Company | Schema::PublicBody => Some(Schema::Organization),
        Schema::LegalEntity | Schema::Vessel | Schema::Airplane | Schema::CryptoWallet | Schema::Security => {
            Some(Schema::Thing)
        }
    }
}

/// Whether one schema is, or generalises, the other. An entry of an unknown kind (`Thing`) is related to all.
fn is_related(one: Schema, other: Schema) -> bool {
    let is_kind_of =
        |schema, kind| std::iter::successors(Some(schema), |schema| parent(*schema)).any(|s| s == kind);
    is_kind_of(one, other) || is_kind_of(other, one)
}

#[cfg(test)]
mod tests {
    use sanctions::{Entity, List, Screener};

    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    fn keeps(filters: &Filters, scope: &DatasetScope, changed: Option<&[String]>) -> bool {
        let entity = Entity {
            id: "Q1".into(),
            schema: Schema::Company,
            names: texts(&["Quorzle Ltd"]),
            countries: texts(&["ru"]),
            topics: texts(&["sanction", "gov.soe"]),
            datasets: texts(&["eu_fsf", "gb_hmt"]),
            programs: texts(&["EU-UKR"]),
            ..Entity::default()
        };
        let list = List {
            name: "collection".into(),
            version: "1".into(),
            entities: vec![entity],
        };
        let screener = Screener::new([list]);
        let lists = texts(&["collection"]);
        let entry = screener.entries(&lists).next().expect("an entry");
        filters.keep(entry, scope, changed)
    }

    #[test]
    fn filters_select_entries() {
        let none = Filters::default;
        let of = |values: &[&str]| texts(values);
        for (filters, expected) in [
            (none(), true),
            (
                Filters {
                    include_dataset: of(&["eu_fsf"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    include_dataset: of(&["collection"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    include_dataset: of(&["us_ofac_sdn"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    exclude_dataset: of(&["eu_fsf"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    exclude_dataset: of(&["eu_fsf", "gb_hmt"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    exclude_dataset: of(&["collection"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    include_dataset: of(&["eu_fsf"]),
                    exclude_dataset: of(&["eu_fsf"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    schema: Some(Schema::Organization),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    schema: Some(Schema::Thing),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    schema: Some(Schema::PublicBody),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    schema: Some(Schema::Vessel),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    exclude_schema: of(&["Company"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    exclude_schema: of(&["Address"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    exclude_ids: of(&["Q1"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    exclude_ids: of(&["Q2"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    topics: of(&["sanction", "role.pep"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    topics: of(&["sanction", "role.pep"]),
                    needs_all: true,
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    topics: of(&["sanction", "gov.soe"]),
                    needs_all: true,
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    countries: of(&["ke"]),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    datasets: of(&["gb_hmt"]),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    datasets: of(&["gb_hmt", "us_ofac_sdn"]),
                    needs_all: true,
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    target: Some(true),
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    target: Some(false),
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    properties: vec![("programId".into(), of(&["EU-UKR"]))],
                    ..none()
                },
                true,
            ),
            (
                Filters {
                    properties: vec![("programId".into(), of(&["X"]))],
                    ..none()
                },
                false,
            ),
            (
                Filters {
                    properties: vec![("birthDate".into(), of(&["1985"]))],
                    ..none()
                },
                false,
            ),
        ] {
            assert_eq!(keeps(&filters, &DatasetScope::All, None), expected, "{filters:?}");
        }
    }

    #[test]
    fn scope_and_changed_lists_select_entries() {
        let filters = Filters::default();
        for (scope, expected) in [
            (DatasetScope::List("collection".into()), true),
            (DatasetScope::List("eu_fsf".into()), false),
            (DatasetScope::Source("eu_fsf".into()), true),
        ] {
            assert_eq!(keeps(&filters, &scope, None), expected, "{scope:?}");
        }
        let changed = texts(&["collection"]);
        assert!(keeps(&filters, &DatasetScope::All, Some(&changed)));
        assert!(!keeps(&filters, &DatasetScope::All, Some(&[])));
    }
}
