//! The settings of list downloads, and the source of each list: a built-in address, or the operator's.

use std::collections::BTreeMap;

use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use crate::address::Address;
use crate::error::{FetchError, SettingError};
use crate::publishers::{OPEN_SANCTIONS, OPEN_SANCTIONS_COLLECTIONS, OPEN_SANCTIONS_FILE, PUBLISHERS};

/// Where sanctions lists are downloaded from.
#[derive(Args, Clone, Debug, Default)]
pub struct ListSourceConfig {
    /// The address from which a sanctions list is downloaded, as `LIST=URL`, instead of its publisher's known address.
    /// The variable takes several, separated by spaces.
    #[arg(
        long = "list-address",
        env = "BONAFIDE_LIST_ADDRESS",
        value_name = "LIST=URL",
        value_delimiter = ' ',
        hide_env_values = true
    )]
    pub list_address: Vec<SecretString>,
    /// The proxy through which sanctions lists are downloaded, such as `http://proxy.example.org:3128`; by default the
    /// one of the variable HTTPS_PROXY.
    #[arg(long, env = "BONAFIDE_LISTS_PROXY", hide_env_values = true)]
    pub lists_proxy: Option<SecretString>,
}

/// The sources of all lists.
#[derive(Clone, Debug)]
pub struct ListSources {
    addresses: BTreeMap<String, Address>,
}

/// Where one list comes from.
#[derive(Clone, Debug)]
pub struct ListSource {
    /// The list.
    pub list: String,
    /// Names that its file has in a folder, in lower case; `*` stands for any text.
    pub(crate) files: Vec<String>,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A single file.
    File(Address),
    /// A folder of OpenSanctions, whose `index.json` describes its files.
    OpenSanctions(Address),
    /// An address with a token that the operator must give.
    NeedsToken(&'static str),
}

impl ListSource {
    /// The name that a downloaded file gets, for its import.
    pub(crate) fn file_name(&self) -> String {
        self.files.first().cloned().unwrap_or_else(|| self.list.clone())
    }

    /// A digest of the file's address, to notice that it changed; `None` for a list without an address.
    pub fn address_digest(&self) -> Option<[u8; 32]> {
        match &self.origin {
            Origin::File(address) | Origin::OpenSanctions(address) => {
                Some(Sha256::digest(address.url().as_str()).into())
            }
            Origin::NeedsToken(_) => None,
        }
    }
}

impl ListSources {
    /// Reads the settings.
    ///
    /// # Errors
    /// When an address cannot be used. The text does not repeat it.
    pub fn new(config: &ListSourceConfig) -> Result<ListSources, SettingError> {
        let mut addresses = BTreeMap::new();
        for setting in &config.list_address {
            let setting = setting.expose_secret().trim();
            if setting.is_empty() {
                continue;
            }
            let (list, address) = setting.split_once('=').ok_or(SettingError::NoList)?;
            let list = list.trim().to_owned();
            if list.is_empty() || list.contains("://") {
                return Err(SettingError::NoList);
            }
            let address = Address::parse(address).map_err(|error| SettingError::Address {
                list: list.clone(),
                error,
            })?;
            addresses.insert(list, address);
        }
        Ok(ListSources { addresses })
    }

    /// The source of a list. `is_open_sanctions`: the list in use was imported from one of OpenSanctions' files, so its
    /// next version comes from there too.
    ///
    /// # Errors
    /// [`FetchError::NoSource`].
    pub fn source(&self, list: &str, is_open_sanctions: bool) -> Result<ListSource, FetchError> {
        let publisher = PUBLISHERS.iter().find(|publisher| publisher.list == list);
        let is_collection = OPEN_SANCTIONS_COLLECTIONS.contains(&list);
        let is_open_sanctions = is_collection || is_open_sanctions;
        let files = match publisher {
            Some(publisher) if !is_open_sanctions => {
                publisher.files.iter().map(|name| (*name).to_owned()).collect()
            }
            _ => open_sanctions_files(list),
        };
        let source = |origin| ListSource {
            list: list.to_owned(),
            files: files.clone(),
            origin,
        };
        if let Some(address) = self.addresses.get(list) {
            let mut source = source(Origin::File(address.clone()));
            let served = address.file_name().to_lowercase();
            // The import takes the name of a list in OpenSanctions' formats from the file's name.
            let named = match publisher {
                Some(_) if !served.ends_with(".json") && !served.contains("simple.csv") => served,
                _ if served.is_empty() => format!("{list}.{OPEN_SANCTIONS_FILE}"),
                _ => format!("{list}.{served}"),
            };
            source.files.insert(0, named);
            return Ok(source);
        }
        if is_open_sanctions && is_data_set(list) {
            let folder = Address::parse(&format!("{OPEN_SANCTIONS}{list}/"));
            return folder
                .map(|folder| source(Origin::OpenSanctions(folder)))
                .map_err(|_| FetchError::NoSource {
                    list: list.to_owned(),
                });
        }
        let no_source = || FetchError::NoSource {
            list: list.to_owned(),
        };
        let publisher = publisher.ok_or_else(no_source)?;
        match publisher.address {
            Some(address) => {
                let address = Address::parse(address).map_err(|_| no_source())?;
                Ok(source(Origin::File(address)))
            }
            None => Ok(source(Origin::NeedsToken(publisher.address_form))),
        }
    }
}

/// Whether a list's name can be the name of an OpenSanctions data set. `opensanctions` is the name of files without one.
fn is_data_set(list: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    list != "opensanctions" && !list.is_empty() && list.chars().all(is_safe)
}

fn open_sanctions_files(list: &str) -> Vec<String> {
    let list = list.to_lowercase();
    let forms = [
        format!("{list}.{OPEN_SANCTIONS_FILE}"),
        format!("{list}.*.{OPEN_SANCTIONS_FILE}"),
        format!("{list}.targets.nested.json"),
        format!("{list}.*.targets.nested.json"),
        format!("{list}.ftm.json"),
    ];
    forms.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(addresses: &[&str]) -> Result<ListSources, SettingError> {
        ListSources::new(&ListSourceConfig {
            list_address: addresses.iter().map(|text| SecretString::from(*text)).collect(),
            lists_proxy: None,
        })
    }

    #[test]
    fn each_list_has_one_source() {
        let own = sources(&[
            "own=http://127.0.0.1:9/files/own.xml",
            "",
            "eu_fsf=https://example.org/content?token=x",
        ]);
        let own = own.unwrap();
        for (list, is_open_sanctions, host, file) in [
            (
                "us_ofac_sdn",
                false,
                "sanctionslistservice.ofac.treas.gov",
                "sdn_advanced.xml",
            ),
            (
                "us_ofac_sdn",
                true,
                "data.opensanctions.org",
                "us_ofac_sdn.entities.ftm.json",
            ),
            (
                "sanctions",
                false,
                "data.opensanctions.org",
                "sanctions.entities.ftm.json",
            ),
            (
                "za_fic_sanctions",
                true,
                "data.opensanctions.org",
                "za_fic_sanctions.entities.ftm.json",
            ),
            ("own", false, "127.0.0.1", "own.own.xml"),
            ("eu_fsf", false, "example.org", "content"),
        ] {
            let source = own.source(list, is_open_sanctions).unwrap();
            let (Origin::File(address) | Origin::OpenSanctions(address)) = &source.origin else {
                panic!("{source:?}");
            };
            assert_eq!(address.url().host_str(), Some(host));
            assert_eq!(source.file_name(), file);
            assert!(!format!("{source:?}").contains("token"), "{source:?}");
        }
        assert!(matches!(
            sources(&[]).unwrap().source("eu_fsf", false).unwrap().origin,
            Origin::NeedsToken(_)
        ));
        for list in ["own", "opensanctions", "../x", "demo"] {
            let is_open_sanctions = list != "own" && list != "demo";
            let found = sources(&[]).unwrap().source(list, is_open_sanctions);
            assert!(matches!(found, Err(FetchError::NoSource { .. })), "{list}");
        }
    }

    #[test]
    fn a_changed_address_has_another_digest() {
        let digest = |text: &str| {
            sources(&[text])
                .unwrap()
                .source("a", false)
                .unwrap()
                .address_digest()
        };
        assert_eq!(
            digest("a=https://example.org/x?token=1"),
            digest("a=https://example.org/x?token=1")
        );
        assert_ne!(
            digest("a=https://example.org/x?token=1"),
            digest("a=https://example.org/x?token=2")
        );
    }

    #[test]
    fn bad_settings_are_refused_without_repeating_them() {
        for text in [
            "https://example.org/?a=secret",
            "=https://secret.example",
            "secret",
            "a=secret",
            "a=ftp://secret/x",
        ] {
            let error = sources(&[text]).unwrap_err().to_string();
            assert!(
                error.contains("--list-address") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
