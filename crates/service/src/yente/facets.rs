//! Counts of the values of entries, for the facets of yente's search. It labels nothing.

use std::borrow::Cow;
use std::collections::HashMap;

use sanctions::ListEntry;

use super::datasets::shown;
use super::records::{properties, topics};

/// A facet that a search can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// Countries and nationalities.
    Countries,
    /// Topics.
    Topics,
    /// Sources.
    Datasets,
    /// Schemata.
    Schema,
    /// Numbers that authorities assigned.
    Identifiers,
    /// Genders.
    Genders,
}

impl Facet {
    /// Every facet.
    pub const ALL: [Facet; 6] = [
        Facet::Countries,
        Facet::Topics,
        Facet::Datasets,
        Facet::Schema,
        Facet::Identifiers,
        Facet::Genders,
    ];

    /// Its name in requests and responses.
    pub fn as_str(self) -> &'static str {
        match self {
            Facet::Countries => "countries",
            Facet::Topics => "topics",
            Facet::Datasets => "datasets",
            Facet::Schema => "schema",
            Facet::Identifiers => "identifiers",
            Facet::Genders => "genders",
        }
    }
}

/// The most values of a facet, as in yente.
const MAX_VALUES: usize = 1000;

/// The properties of identifiers.
const IDENTIFIERS: [&str; 12] = [
    "idNumber",
    "passportNumber",
    "taxNumber",
    "registrationNumber",
    "innCode",
    "ogrnCode",
    "leiCode",
    "imoNumber",
    "swiftBic",
    "isin",
    "isinCode",
    "publicKey",
];

/// How many entries have each value.
type Counts<'a> = HashMap<Cow<'a, str>, usize>;

/// The counts of a facet's values, most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetCounts {
    /// The facet.
    pub facet: Facet,
    /// Values with the number of entries that have them.
    pub values: Vec<(String, usize)>,
}

/// Counts the results that have each value. A result is one entry, or the entries of several lists with one id. The
/// facets have the order in which they are requested.
pub fn count<'a, 'g>(results: impl Iterator<Item = &'g [ListEntry<'a>]>, facets: &[Facet]) -> Vec<FacetCounts>
where
    'a: 'g,
{
    let mut counted: Vec<(Facet, Counts<'a>)> = facets.iter().map(|facet| (*facet, Counts::new())).collect();
    let mut values: Vec<Cow<'a, str>> = Vec::new();
    for entries in results {
        for (facet, counts) in &mut counted {
            for entry in entries {
                add_values(*entry, *facet, &mut values);
            }
            if entries.len() > 1 {
                values.sort_unstable();
                values.dedup();
            }
            for value in values.drain(..) {
                *counts.entry(value).or_default() += 1;
            }
        }
    }
    counted
        .into_iter()
        .map(|(facet, counts)| sorted(facet, counts))
        .collect()
}

fn add_values<'a>(entry: ListEntry<'a>, facet: Facet, values: &mut Vec<Cow<'a, str>>) {
    let stated: &'a [String] = match facet {
        Facet::Countries => entry.countries(),
        Facet::Topics => topics(entry),
        Facet::Datasets => shown(entry.datasets()),
        Facet::Schema => {
            values.push(entry.schema().as_str().into());
            return;
        }
        Facet::Identifiers | Facet::Genders => {
            let names: &[&str] = if facet == Facet::Genders {
                &["gender"]
            } else {
                &IDENTIFIERS
            };
            let mut properties = properties(entry);
            let of_names = names.iter().filter_map(|name| properties.remove(*name));
            values.extend(of_names.flatten().map(Cow::Owned));
            return;
        }
    };
    values.extend(stated.iter().map(|value| Cow::Borrowed(value.as_str())));
}

fn sorted(facet: Facet, counts: Counts<'_>) -> FacetCounts {
    let mut values: Vec<(String, usize)> = counts
        .into_iter()
        .map(|(value, count)| (value.into_owned(), count))
        .collect();
    values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    values.truncate(MAX_VALUES);
    FacetCounts { facet, values }
}

#[cfg(test)]
mod tests {
    use sanctions::{Entity, Gender, List, Schema, Screener};

    use super::*;

    #[test]
    fn values_are_counted_most_frequent_first() {
        let texts =
            |values: &[&str]| -> Vec<String> { values.iter().map(|value| (*value).to_owned()).collect() };
        let entity = |id: &str, countries: &[&str], topics: &[&str]| Entity {
            id: id.into(),
            schema: Schema::Person,
            names: texts(&["Zebulon Quartermain"]),
            countries: texts(countries),
            topics: texts(topics),
            gender: Some(Gender::Male),
            ..Entity::default()
        };
        let list = List {
            name: "invented".into(),
            version: "1".into(),
            entities: vec![
                entity("1", &["de"], &["role.pep"]),
                entity("2", &["ru", "de"], &[]),
                entity("3", &["ru", "de"], &["sanction"]),
            ],
        };
        let screener = Screener::new([list]);
        let lists = texts(&["invented"]);
        let entries: Vec<ListEntry<'_>> = screener.entries(&lists).collect();
        let counted = count(entries.chunks(1), &Facet::ALL);
        let flat: Vec<(&str, Vec<(&str, usize)>)> = counted
            .iter()
            .map(|counts| {
                let values = counts
                    .values
                    .iter()
                    .map(|(value, count)| (value.as_str(), *count));
                (counts.facet.as_str(), values.collect())
            })
            .collect();
        assert_eq!(
            flat,
            [
                ("countries", vec![("de", 3), ("ru", 2)]),
                ("topics", vec![("sanction", 2), ("role.pep", 1)]),
                ("datasets", vec![("invented", 3)]),
                ("schema", vec![("Person", 3)]),
                ("identifiers", vec![]),
                ("genders", vec![("male", 3)]),
            ]
        );
        let together = count(entries.chunks(3), &[Facet::Countries]);
        let once = [("de".to_owned(), 1), ("ru".to_owned(), 1)];
        assert_eq!(together[0].values, once, "entries with one id are one result");
    }
}
