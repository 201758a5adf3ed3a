//! Which entries the name of a dataset means. It reads no list.

/// Names of OpenSanctions' collections. Here each means all lists that count for the merchant, unless a list has this
/// name.
pub const COLLECTIONS: [&str; 9] = [
    "default",
    "all",
    "opensanctions",
    "sanctions",
    "securities",
    "peps",
    "crime",
    "debarment",
    "regulatory",
];

/// The entries that a dataset's name means, among those of the lists that count for the merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetScope {
    /// All of them.
    All,
    /// Those of one list.
    List(String),
    /// Those that a list of many sources has from this source.
    Source(String),
}

impl DatasetScope {
    /// The scope of a name; `None`: the merchant has no such dataset. `is_source` is called only for names that are
    /// neither a list nor a collection.
    pub fn of(name: &str, lists: &[String], is_source: impl FnOnce(&str) -> bool) -> Option<Self> {
        if lists.iter().any(|list| list == name) {
            return Some(DatasetScope::List(name.to_owned()));
        }
        if COLLECTIONS.contains(&name) {
            return Some(DatasetScope::All);
        }
        is_source(name).then(|| DatasetScope::Source(name.to_owned()))
    }

    /// Whether an entry with these datasets belongs to the scope. The last dataset is the entry's list.
    pub fn contains(&self, datasets: &[String]) -> bool {
        match self {
            DatasetScope::All => true,
            DatasetScope::List(name) => datasets.last() == Some(name),
            DatasetScope::Source(name) => datasets.contains(name),
        }
    }
}

/// The datasets to show of an entry: its sources. The name of its list is shown only if the list states no source,
/// because yente does not show collections.
pub fn shown(datasets: &[String]) -> &[String] {
    match datasets {
        [sources @ .., _] if !sources.is_empty() => sources,
        _ => datasets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_lists_collections_or_sources() {
        let lists = ["us_ofac_sdn".to_owned(), "peps".to_owned()];
        for (name, expected) in [
            ("us_ofac_sdn", Some(DatasetScope::List("us_ofac_sdn".into()))),
            ("peps", Some(DatasetScope::List("peps".into()))),
            ("default", Some(DatasetScope::All)),
            ("sanctions", Some(DatasetScope::All)),
            ("eu_fsf", Some(DatasetScope::Source("eu_fsf".into()))),
            ("un_sc_sanctions", None),
            ("", None),
        ] {
            assert_eq!(
                DatasetScope::of(name, &lists, |name| name == "eu_fsf"),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn an_entry_belongs_to_its_list_and_its_sources() {
        let of = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let entry = of(&["eu_fsf", "gb_hmt", "peps"]);
        for (scope, expected) in [
            (DatasetScope::All, true),
            (DatasetScope::List("peps".into()), true),
            (DatasetScope::List("eu_fsf".into()), false),
            (DatasetScope::Source("eu_fsf".into()), true),
            (DatasetScope::Source("us_ofac_sdn".into()), false),
        ] {
            assert_eq!(scope.contains(&entry), expected, "{scope:?}");
        }
        assert_eq!(shown(&entry), of(&["eu_fsf", "gb_hmt"]));
        assert_eq!(shown(&of(&["us_ofac_sdn"])), of(&["us_ofac_sdn"]));
    }
}
