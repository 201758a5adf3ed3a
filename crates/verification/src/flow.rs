//! A Flow as verification uses it: parsed from what is stored, resolved per country (interface §2.2, decisions §2).
//!
//! It is stricter about nothing than [`crate::flow_body`], which guards what gets stored: unknown members are kept there
//! and ignored here.

use std::collections::BTreeMap;

use reference::{Country, DocumentType, UTOPIA, country};
use serde_json::{Map, Value};

use crate::document_requirements::requirement;
use crate::refusal::{Reason, Refusal};
use crate::settings::{ReviewPolicy, Settings};

/// Members of `defaultFields` that ask the applicant for data, in the order of the submission's fields.
pub const PERSONAL_FIELDS: [&str; 11] = [
    "middleName",
    "dob",
    "phone",
    "email",
    "street",
    "street2",
    "city",
    "state",
    "postcode",
    "country",
    "nationality",
];

/// Every member of `defaultFields` that means something; all are booleans.
pub const KNOWN_FIELDS: [&str; 20] = [
    "middleName",
    "dob",
    "phone",
    "email",
    "street",
    "street2",
    "city",
    "state",
    "postcode",
    "country",
    "nationality",
    "ssn",
    "selfie",
    "liveSelfie",
    "liveness",
    "documentFileUpload",
    "documentCapture",
    "ocrMatch",
    "driversBack",
    "idCardBack",
];

/// The Flow's parts as they are stored: JSON texts.
#[derive(Debug, Clone, Copy)]
pub struct FlowParts<'a> {
    /// JSON object.
    pub default_fields: &'a str,
    /// JSON array of document types.
    pub default_document_types: &'a str,
    /// JSON array of overrides.
    pub country_overrides: &'a str,
    /// JSON array of `{countryAlpha2, countryName}`.
    pub geo_blocked_countries: &'a str,
    /// Youngest age accepted.
    pub min_age: Option<i64>,
    /// Oldest age accepted.
    pub max_age: Option<i64>,
    /// JSON object, see [`Settings`].
    pub settings: &'a str,
}

/// A stored part that cannot be read: the data are damaged, no request's fault.
#[derive(Debug, thiserror::Error)]
#[error("the stored {part} of a Flow cannot be read")]
pub struct StoredFlowError {
    part: &'static str,
}

/// A Flow's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// What is asked for where no override says otherwise.
    pub defaults: Configuration,
    /// Per-country customisations, one per country.
    pub overrides: Vec<CountryOverride>,
    /// Countries from which a hosted page is not served (alpha-2).
    pub geo_blocked: Vec<String>,
    /// Youngest age accepted, inclusive.
    pub min_age: Option<i64>,
    /// Oldest age accepted, inclusive.
    pub max_age: Option<i64>,
    /// What only the portal knows.
    pub settings: Settings,
}

/// What a Flow asks of an applicant, defaults and override resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// The boolean members of `defaultFields`.
    pub fields: BTreeMap<String, bool>,
    /// Accepted document types; empty: documents are not asked for.
    pub document_types: Vec<DocumentType>,
}

/// A country's element of `countryOverrides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountryOverride {
    /// The country.
    pub country: &'static Country,
    /// Applicants and documents of the country are refused.
    pub restricted: bool,
    /// Replace the defaults' members of the same name.
    pub fields: BTreeMap<String, bool>,
    /// Replace the default types.
    pub document_types: Option<Vec<DocumentType>>,
}

/// How the selfie is taken; only the hosted page differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Biometric {
    /// An uploaded picture.
    Selfie,
    /// A picture by the camera.
    LiveSelfie,
    /// A liveness check by the camera.
    Liveness,
}

impl Biometric {
    /// `selfie`, `live selfie` or `liveness`.
    pub fn as_str(self) -> &'static str {
        match self {
            Biometric::Selfie => "selfie",
            Biometric::LiveSelfie => "live selfie",
            Biometric::Liveness => "liveness",
        }
    }
}

impl Configuration {
    /// Whether a member of `defaultFields` is true.
    pub fn asks(&self, field: &str) -> bool {
        self.fields.get(field).copied().unwrap_or_default()
    }

    /// The strongest biometric that is asked for; a selfie when none is.
    pub fn biometric(&self) -> Biometric {
        if self.asks("liveness") {
            Biometric::Liveness
        } else if self.asks("liveSelfie") {
            Biometric::LiveSelfie
        } else {
            Biometric::Selfie
        }
    }

    /// Whether any selfie is asked for by name (documents need one in any case).
    pub fn asks_selfie(&self) -> bool {
        ["selfie", "liveSelfie", "liveness"]
            .iter()
            .any(|field| self.asks(field))
    }

    /// `fileCapture` or `fileUpload`.
    pub fn document_upload_type(&self) -> &'static str {
        if self.asks("documentCapture") {
            "fileCapture"
        } else {
            "fileUpload"
        }
    }

    /// Whether a document's back must be sent: the Flow's word, else the table's, else yes (interface §4.6 rule 2).
    /// Where one-sided variants exist, the table does not insist.
    pub fn needs_back(&self, document_type: DocumentType, alpha3: &str) -> bool {
        let configured = match document_type {
            DocumentType::Passport => return false,
            DocumentType::ResidencyCard => return true,
            DocumentType::Drivers => self.fields.get("driversBack"),
            DocumentType::IdCard => self.fields.get("idCardBack"),
        };
        configured.copied().unwrap_or_else(|| {
            let known = requirement(alpha3, document_type);
            known.needs_back && !known.has_one_sided_variant
        })
    }

    fn with(&self, change: &CountryOverride) -> Self {
        let mut configuration = self.clone();
        configuration.fields.extend(change.fields.clone());
        if let Some(types) = &change.document_types {
            configuration.document_types.clone_from(types);
        }
        configuration
    }
}

impl Flow {
    /// Reads a Flow's stored parts.
    ///
    /// # Errors
    /// When a part is not the JSON that [`crate::flow_body`] lets through.
    pub fn parse(parts: &FlowParts<'_>) -> Result<Self, StoredFlowError> {
        let damaged = |part| move || StoredFlowError { part };
        let settings = json_object(parts.settings).and_then(|members| Settings::parse(&members).ok());
        Ok(Self {
            defaults: Configuration {
                fields: json_object(parts.default_fields)
                    .map(|m| fields(&m))
                    .ok_or_else(damaged("defaultFields"))?,
                document_types: json_array(parts.default_document_types)
                    .and_then(|items| document_types(&items))
                    .ok_or_else(damaged("defaultDocumentTypes"))?,
            },
            overrides: json_array(parts.country_overrides)
                .and_then(|items| items.iter().map(country_override).collect())
                .ok_or_else(damaged("countryOverrides"))?,
            geo_blocked: json_array(parts.geo_blocked_countries)
                .and_then(|items| {
                    items
                        .iter()
                        .map(|i| Some(i["countryAlpha2"].as_str()?.to_uppercase()))
                        .collect()
                })
                .ok_or_else(damaged("geoBlockedCountries"))?,
            min_age: parts.min_age,
            max_age: parts.max_age,
            settings: settings.ok_or_else(damaged("settings"))?,
        })
    }

    /// The configuration for a country: the defaults, or its override over them.
    pub fn configuration(&self, alpha3: Option<&str>) -> Configuration {
        match alpha3.and_then(|code| self.override_for(code)) {
            Some(change) => self.defaults.with(change),
            None => self.defaults.clone(),
        }
    }

    /// A country's override.
    pub fn override_for(&self, alpha3: &str) -> Option<&CountryOverride> {
        self.overrides.iter().find(|o| o.country.alpha3 == alpha3)
    }

    /// Whether the Flow refuses a country altogether.
    pub fn restricts(&self, alpha3: &str) -> bool {
        self.override_for(alpha3).is_some_and(|o| o.restricted)
    }

    /// Which attempts a person looks at.
    pub fn review_policy(&self) -> ReviewPolicy {
        self.settings.review_policy
    }

    /// The rules that span several members, to be checked on what a change results in (interface §4.2 rule 3,
    /// decisions §2), for the defaults and every override that is not restricted.
    ///
    /// # Errors
    /// 400 with the contract's message, or with every fault.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut errors = Vec::new();
        if let (Some(min), Some(max)) = (self.min_age, self.max_age)
            && min > max
        {
            errors.push("minAge - must not be greater than maxAge".to_owned());
        }
        let open = self.overrides.iter().filter(|o| !o.restricted);
        let overridden = open.map(|o| ("countryOverrides", o.country.name, self.defaults.with(o)));
        let all: Vec<_> = std::iter::once(("defaultFields", "", self.defaults.clone()))
            .chain(overridden)
            .collect();
        for (field, country, configuration) in &all {
            if configuration.asks_selfie() && configuration.document_types.is_empty() {
                let place = if country.is_empty() {
                    String::new()
                } else {
                    format!("{country}: ")
                };
                errors.push(format!(
                    "{field} - {place}a selfie cannot be asked for when no document type is accepted"
                ));
            }
        }
        Refusal::unless_empty(Refusal::VALIDATION_FAILED, errors)?;
        let has_upload = |c: &Configuration| c.asks("documentFileUpload") || c.asks("documentCapture");
        if all
            .iter()
            .any(|(_, _, c)| !c.document_types.is_empty() && !has_upload(c))
        {
            let message = "An upload method is required when a document type is selected";
            return Err(Refusal::new(Reason::Invalid, message, Vec::new()));
        }
        Ok(())
    }
}

fn json_object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

fn json_array(text: &str) -> Option<Vec<Value>> {
    serde_json::from_str(text).ok()
}

fn fields(members: &Map<String, Value>) -> BTreeMap<String, bool> {
    let known = members
        .iter()
        .filter(|(key, _)| KNOWN_FIELDS.contains(&key.as_str()));
    known
        .filter_map(|(key, value)| Some((key.clone(), value.as_bool()?)))
        .collect()
}

fn document_types(items: &[Value]) -> Option<Vec<DocumentType>> {
    let mut types = Vec::new();
    for item in items {
        let document_type = item.as_str()?.parse().ok()?;
        if !types.contains(&document_type) {
            types.push(document_type);
        }
    }
    Some(types)
}

fn country_override(element: &Value) -> Option<CountryOverride> {
    Some(CountryOverride {
        country: override_country(element)?,
        restricted: element["restricted"].as_bool().unwrap_or_default(),
        fields: element["defaultFields"]
            .as_object()
            .map(fields)
            .unwrap_or_default(),
        document_types: match element.get("defaultDocumentTypes") {
            Some(types) => Some(document_types(types.as_array()?)?),
            None => None,
        },
    })
}

/// The country that an element of `countryOverrides` names by either code; Utopia may have been stored by a sandbox.
pub(crate) fn override_country(element: &Value) -> Option<&'static Country> {
    let find = |code: &str| {
        let utopian = [UTOPIA.alpha2, UTOPIA.alpha3]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(code));
        if utopian { Some(&UTOPIA) } else { country(code) }
    };
    ["countryAlpha3", "countryAlpha2"]
        .iter()
        .find_map(|key| find(element.get(key)?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const PARTS: FlowParts<'static> = FlowParts {
        default_fields: r#"{"dob":true,"documentCapture":true,"zzz":{"a":1}}"#,
        default_document_types: r#"["PASSPORT","DRIVERS","PASSPORT"]"#,
        country_overrides: r#"[
            {"countryAlpha2":"DE","countryAlpha3":"DEU","countryName":"Germany",
             "defaultFields":{"dob":false,"ssn":true,"idCardBack":false},"defaultDocumentTypes":["ID_CARD"]},
            {"countryAlpha3":"FRA","restricted":true}]"#,
        geo_blocked_countries: r#"[{"countryAlpha2":"kp","countryName":"North Korea"}]"#,
        min_age: Some(18),
        max_age: None,
        settings: r#"{"reviewPolicy":"never"}"#,
    };

    #[test]
    fn parses_and_resolves_overrides() {
        let flow = Flow::parse(&PARTS).expect("a Flow");
        assert_eq!(
            flow.defaults.document_types,
            [DocumentType::Passport, DocumentType::Drivers]
        );
        assert_eq!(flow.geo_blocked, ["KP"]);
        assert_eq!(flow.review_policy(), ReviewPolicy::Never);
        let german = flow.configuration(Some("DEU"));
        assert!(!german.asks("dob") && german.asks("ssn") && german.asks("documentCapture"));
        assert_eq!(german.document_types, [DocumentType::IdCard]);
        assert_eq!(flow.configuration(Some("ITA")), flow.defaults);
        assert_eq!(flow.configuration(None), flow.defaults);
        assert!(flow.restricts("FRA") && !flow.restricts("DEU"));
    }

    #[test]
    fn damaged_parts_are_named() {
        let error = |parts: &FlowParts<'_>| Flow::parse(parts).map_err(|e| e.part);
        for text in ["", "[]", "{"] {
            assert_eq!(
                error(&FlowParts {
                    default_fields: text,
                    ..PARTS
                }),
                Err("defaultFields")
            );
        }
        assert_eq!(
            error(&FlowParts {
                default_document_types: r#"["VISA"]"#,
                ..PARTS
            }),
            Err("defaultDocumentTypes")
        );
        assert_eq!(
            error(&FlowParts {
                country_overrides: "[{}]",
                ..PARTS
            }),
            Err("countryOverrides")
        );
        assert_eq!(
            error(&FlowParts {
                geo_blocked_countries: "[{}]",
                ..PARTS
            }),
            Err("geoBlockedCountries")
        );
        assert_eq!(
            error(&FlowParts {
                settings: r#"{"reviewPolicy":1}"#,
                ..PARTS
            }),
            Err("settings")
        );
    }

    #[test]
    fn backs_by_flow_then_table_then_yes() {
        let with = |fields: &str| {
            Flow::parse(&FlowParts {
                default_fields: fields,
                ..PARTS
            })
            .expect("a Flow")
            .defaults
        };
        let silent = with("{}");
        assert!(silent.needs_back(DocumentType::Drivers, "USA"));
        assert!(
            !silent.needs_back(DocumentType::IdCard, "JPN"),
            "known to need none"
        );
        assert!(
            !silent.needs_back(DocumentType::IdCard, "ROU"),
            "one-sided variant"
        );
        assert!(silent.needs_back(DocumentType::IdCard, "ATA"), "unknown pair");
        let configured = with(r#"{"driversBack":false,"idCardBack":true}"#);
        assert!(!configured.needs_back(DocumentType::Drivers, "USA"));
        assert!(configured.needs_back(DocumentType::IdCard, "JPN"));
        for configuration in [silent, configured] {
            assert!(!configuration.needs_back(DocumentType::Passport, "USA"));
            assert!(configuration.needs_back(DocumentType::ResidencyCard, "DEU"));
        }
    }

    #[test]
    fn biometric_and_upload_types() {
        let of = |fields: &str| {
            let c = Flow::parse(&FlowParts {
                default_fields: fields,
                ..PARTS
            })
            .expect("a Flow")
            .defaults;
            (c.biometric().as_str(), c.document_upload_type())
        };
        assert_eq!(of("{}"), ("selfie", "fileUpload"));
        assert_eq!(
            of(r#"{"selfie":true,"documentFileUpload":true}"#),
            ("selfie", "fileUpload")
        );
        assert_eq!(
            of(r#"{"selfie":true,"liveSelfie":true,"documentCapture":true}"#),
            ("live selfie", "fileCapture")
        );
        assert_eq!(
            of(r#"{"liveSelfie":true,"liveness":true,"documentFileUpload":true,"documentCapture":true}"#),
            ("liveness", "fileCapture")
        );
    }

    #[test]
    fn checks_what_spans_members() {
        let check = |parts: &FlowParts<'_>| Flow::parse(parts).expect("a Flow").check();
        assert_eq!(check(&PARTS), Ok(()));
        let upload = "An upload method is required when a document type is selected";
        let message = |parts: &FlowParts<'_>| check(parts).expect_err("refused").message;
        let bare = FlowParts {
            default_fields: "{}",
            country_overrides: "[]",
            ..PARTS
        };
        assert_eq!(message(&bare), upload);
        assert_eq!(
            check(&FlowParts {
                default_document_types: "[]",
                ..bare
            }),
            Ok(())
        );
        let override_only = r#"[{"countryAlpha3":"DEU","defaultDocumentTypes":["PASSPORT"]}]"#;
        let no_default = FlowParts {
            default_document_types: "[]",
            ..bare
        };
        assert_eq!(
            message(&FlowParts {
                country_overrides: override_only,
                ..no_default
            }),
            upload
        );
        let off = r#"[{"countryAlpha3":"DEU","defaultFields":{"documentCapture":false}}]"#;
        assert_eq!(
            message(&FlowParts {
                country_overrides: off,
                ..PARTS
            }),
            upload
        );
        let errors = |parts: &FlowParts<'_>| check(parts).expect_err("refused").errors;
        assert_eq!(
            errors(&FlowParts {
                min_age: Some(30),
                max_age: Some(20),
                ..PARTS
            }),
            ["minAge - must not be greater than maxAge"]
        );
        assert_eq!(
            errors(&FlowParts {
                default_fields: r#"{"liveness":true}"#,
                ..no_default
            }),
            ["defaultFields - a selfie cannot be asked for when no document type is accepted"]
        );
    }
}
