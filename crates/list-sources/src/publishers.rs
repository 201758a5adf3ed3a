//! The publishers' own addresses of their lists, and the names that their files have when a browser saves them.
//!
//! The addresses are those of the publishers' download pages, as OpenSanctions' crawlers use them too
//! (<https://github.com/opensanctions/opensanctions>, `datasets/`). This module connects to nothing.

/// A publisher's list.
pub(crate) struct Publisher {
    /// The list's name, as its import gives it.
    pub(crate) list: &'static str,
    /// The address of the file; `None` if it contains a token that each subscriber gets.
    pub(crate) address: Option<&'static str>,
    /// The form of an address with a token, for messages.
    pub(crate) address_form: &'static str,
    /// The names of its files in lower case; `*` stands for any text. The first one names a downloaded file.
    pub(crate) files: &'static [&'static str],
}

macro_rules! publisher {
    ($list:literal, $address:literal, [$($file:literal),+]) => {
        Publisher {
            list: $list,
            address: Some($address),
            address_form: $address,
            files: &[$($file),+],
        }
    };
}

/// Publishers of single lists. OpenSanctions' collections have another form, in [`OPEN_SANCTIONS`].
pub(crate) const PUBLISHERS: &[Publisher] = &[
    publisher!(
        "us_ofac_sdn",
        "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/SDN_ADVANCED.XML",
        ["sdn_advanced.xml", "sdn_advanced*.xml"]
    ),
    publisher!(
        "us_ofac_cons",
        "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/CONS_ADVANCED.XML",
        ["cons_advanced.xml", "cons_advanced*.xml"]
    ),
    publisher!(
        "un_sc_sanctions",
        "https://scsanctions.un.org/resources/xml/en/consolidated.xml",
        [
            "consolidated.xml",
            "consolidated (*).xml",
            "consolidatedlegacybyprn*.xml"
        ]
    ),
    Publisher {
        list: "eu_fsf",
        address: None,
        address_form: "https://webgate.ec.europa.eu/fsd/fsf/public/files/xmlFullSanctionsList_1_1/content?token=TOKEN",
        files: &[
            "xmlfullsanctionslist_1_1.xml",
            "xmlfullsanctionslist_1_1*",
            "*full-1_1*.xml",
        ],
    },
    publisher!(
        "gb_fcdo_sanctions",
        "https://sanctionslist.fcdo.gov.uk/docs/UK-Sanctions-List.xml",
        ["uk-sanctions-list.xml", "uk-sanctions-list*.xml"]
    ),
    publisher!(
        "ch_seco_sanctions",
        "https://www.sesam.search.admin.ch/sesam-search-web/pages/downloadXmlGesamtliste.xhtml?lang=en&action=downloadXmlGesamtlisteAction",
        [
            "consolidated-list.xml",
            "consolidated-list*.xml",
            "downloadxmlgesamtliste*"
        ]
    ),
    publisher!(
        "ca_dfatd_sema_sanctions",
        "https://www.international.gc.ca/world-monde/assets/office_docs/international_relations-relations_internationales/sanctions/sema-lmes.xml",
        ["sema-lmes.xml", "sema-lmes*.xml"]
    ),
    publisher!(
        "au_dfat_sanctions",
        "https://www.dfat.gov.au/sites/default/files/Australian_Sanctions_Consolidated_List.xlsx",
        [
            "australian_sanctions_consolidated_list.xlsx",
            "australian_sanctions_consolidated_list*.xlsx"
        ]
    ),
    publisher!(
        "us_trade_csl",
        "https://data.trade.gov/downloadable_consolidated_screening_list/v1/consolidated.csv",
        ["consolidated.csv", "consolidated (*).csv"]
    ),
];

/// OpenSanctions' collections that have a name of their own. Its other data sets share a name with a publisher's list
/// or were imported before.
pub(crate) const OPEN_SANCTIONS_COLLECTIONS: &[&str] = &["default", "peps", "sanctions"];

/// The folder of OpenSanctions' data sets, each of which is a folder below it.
pub(crate) const OPEN_SANCTIONS: &str = "https://data.opensanctions.org/datasets/latest/";
/// The file of an OpenSanctions data set to which its deltas apply.
pub(crate) const OPEN_SANCTIONS_FILE: &str = "entities.ftm.json";

/// The names of the lists whose addresses are built in, in order.
pub fn known_lists() -> Vec<&'static str> {
    let mut names: Vec<&str> = PUBLISHERS.iter().map(|publisher| publisher.list).collect();
    names.extend(OPEN_SANCTIONS_COLLECTIONS);
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::address::Address;
    use crate::folder::matches;

    #[test]
    fn built_in_addresses_are_https_and_lists_are_named_once() {
        let names: BTreeSet<&str> = known_lists().into_iter().collect();
        assert_eq!(names.len(), known_lists().len());
        for publisher in PUBLISHERS {
            let address = Address::parse(publisher.address_form).unwrap();
            assert_eq!(address.url().scheme(), "https", "{address}");
            for file in publisher.files {
                assert_eq!(*file, file.to_lowercase());
            }
        }
    }

    #[test]
    fn no_file_name_belongs_to_two_lists() {
        for name in [
            "SDN_ADVANCED.XML",
            "sdn_advanced (1).xml",
            "CONS_ADVANCED.XML",
            "consolidated.xml",
            "consolidated (2).xml",
            "consolidatedLegacyByPRN.xml",
            "20260227-FULL-1_1(xsd).xml",
            "UK-Sanctions-List.xml",
            "consolidated-list_2026-02-27.xml",
            "sema-lmes.xml",
            "Australian_Sanctions_Consolidated_List.xlsx",
            "consolidated.csv",
        ] {
            let owners: Vec<&str> = PUBLISHERS
                .iter()
                .filter(|publisher| publisher.files.iter().any(|pattern| matches(pattern, name)))
                .map(|publisher| publisher.list)
                .collect();
            assert_eq!(owners.len(), 1, "{name}: {owners:?}");
        }
    }
}
