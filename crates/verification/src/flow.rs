//! A Flow as verification uses it: parsed from its stored parts and resolved per country (contract §2.2,
//! `docs/decisions/0004-flow-semantics.md`).
//!
//! Parsing accepts everything that [`crate::flow_body`] lets through. Unknown members stay in the stored row
//! and are ignored here.

use std::collections::BTreeMap;

use reference::{Country, DocumentType, UTOPIA, country};
use serde_json::{Map, Value};

use crate::document_requirements::requirement;
use crate::refusal::{Refusal, RefusalKind};
use crate::settings::{ReviewPolicy, Settings};

/// Members of `defaultFields` that request personal data, in the order of the submission's fields.
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

/// Every supported member of `defaultFields`; all are booleans.
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

/// The Flow's parts as stored, mostly JSON texts.
#[derive(Debug, Clone, Copy)]
pub struct FlowParts<'a> {
    /// JSON object of booleans.
    pub default_fields: &'a str,
    /// JSON array of document types.
    pub default_document_types: &'a str,
    /// JSON array of overrides.
    pub country_overrides: &'a str,
    /// JSON array of `{countryAlpha2, countryName}`.
    pub geo_blocked_countries: &'a str,
    /// Lowest accepted age.
    pub min_age: Option<i64>,
    /// Highest accepted age.
    pub max_age: Option<i64>,
    /// JSON object, see [`Settings`].
    pub settings: &'a str,
}

/// A stored member that cannot be read, because a newer version wrote it or the row is damaged. The error
/// names the member, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored {part} of a Flow cannot be read")]
pub struct StoredFlowError {
    part: String,
}

impl StoredFlowError {
    /// The member, such as `settings.reviewPolicy`.
    pub fn member(&self) -> &str {
        &self.part
    }
}

fn damaged(part: impl Into<String>) -> StoredFlowError {
    StoredFlowError { part: part.into() }
}

/// A Flow's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The configuration for countries without an override.
    pub defaults: Configuration,
    /// Overrides, one per country.
    pub overrides: Vec<CountryOverride>,
    /// Countries from which a hosted page is not served (alpha-2).
    pub geo_blocked: Vec<String>,
    /// Lowest accepted age, inclusive.
    pub min_age: Option<i64>,
    /// Highest accepted age, inclusive.
    pub max_age: Option<i64>,
    /// The private settings, which the API never shows.
    pub settings: Settings,
}

/// What a Flow requests of an applicant, with defaults and override resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// The boolean members of `defaultFields`.
    pub fields: BTreeMap<String, bool>,
    /// Accepted document types. If empty, no document is requested.
    pub document_types: Vec<DocumentType>,
}

/// A country's element of `countryOverrides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountryOverride {
    /// The country.
    pub country: &'static Country,
    /// Applicants and documents of the country are refused.
    pub restricted: bool,
    /// Members that replace the defaults' members of the same name.
    pub fields: BTreeMap<String, bool>,
    /// Types that replace the default types.
    pub document_types: Option<Vec<DocumentType>>,
}

/// How the selfie is taken. Only the hosted page distinguishes the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Biometric {
    /// An uploaded picture.
    Selfie,
    /// A picture taken with the camera.
    LiveSelfie,
    /// A liveness check with the camera.
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

    /// Whether the selfie must come from the camera.
    pub fn uses_camera(self) -> bool {
        match self {
            Biometric::Selfie => false,
            Biometric::LiveSelfie | Biometric::Liveness => true,
        }
    }
}

impl Configuration {
    /// Whether a member of `defaultFields` is true.
    pub fn requests(&self, field: &str) -> bool {
        self.fields.get(field).copied().unwrap_or_default()
    }

    /// The strongest biometric that is requested; a plain selfie if none is.
    pub fn biometric(&self) -> Biometric {
        if self.requests("liveness") {
            Biometric::Liveness
        } else if self.requests("liveSelfie") {
            Biometric::LiveSelfie
        } else {
            Biometric::Selfie
        }
    }

    /// Whether the Flow requests any selfie explicitly. Documents need one in any case.
    pub fn requests_selfie(&self) -> bool {
        ["selfie", "liveSelfie", "liveness"]
            .iter()
            .any(|field| self.requests(field))
    }

    /// `fileCapture` or `fileUpload`.
    pub fn document_upload_type(&self) -> &'static str {
        if self.requests("documentCapture") {
            "fileCapture"
        } else {
            "fileUpload"
        }
    }

    /// Whether a document's back must be sent (contract §4.6 rule 2). The Flow's setting counts first, then
    /// the document table, else the back is required. Where one-sided variants exist, the table does not
    /// require it.
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

    fn with_override(&self, change: &CountryOverride) -> Self {
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
    /// [`StoredFlowError`] if a part is not JSON that [`crate::flow_body`] accepts.
    pub fn parse(parts: &FlowParts<'_>) -> Result<Self, StoredFlowError> {
        let array =
            |text: &str, part: &str| serde_json::from_str::<Vec<Value>>(text).map_err(|_| damaged(part));
        let object = |text: &str, part: &str| {
            serde_json::from_str::<Map<String, Value>>(text).map_err(|_| damaged(part))
        };
        let age = |age: Option<i64>, part: &str| match age {
            Some(age) if !(1..=120).contains(&age) => Err(damaged(part)),
            age => Ok(age),
        };
        let overrides = array(parts.country_overrides, "countryOverrides")?;
        let blocked = array(parts.geo_blocked_countries, "geoBlockedCountries")?;
        Ok(Self {
            defaults: Configuration {
                fields: fields(&object(parts.default_fields, "defaultFields")?, "defaultFields")?,
                document_types: document_types(
                    &array(parts.default_document_types, "defaultDocumentTypes")?,
                    "defaultDocumentTypes",
                )?,
            },
            overrides: overrides
                .iter()
                .enumerate()
                .map(|(index, element)| country_override(element, &format!("countryOverrides[{index}]")))
                .collect::<Result<_, _>>()?,
            geo_blocked: blocked
                .iter()
                .enumerate()
                .map(|(index, element)| {
                    let code = element.get("countryAlpha2").and_then(Value::as_str);
                    let known = code.filter(|code| code.len() == 2 && country(code).is_some());
                    known
                        .map(str::to_uppercase)
                        .ok_or_else(|| damaged(format!("geoBlockedCountries[{index}]")))
                })
                .collect::<Result<_, _>>()?,
            min_age: age(parts.min_age, "minAge")?,
            max_age: age(parts.max_age, "maxAge")?,
            settings: Settings::parse(&object(parts.settings, "settings")?)
                .map_err(|faults| damaged(faults.join(", ")))?,
        })
    }

    /// The configuration for a country: the defaults with the country's override applied.
    pub fn configuration(&self, alpha3: Option<&str>) -> Configuration {
        match alpha3.and_then(|code| self.override_for(code)) {
            Some(change) => self.defaults.with_override(change),
            None => self.defaults.clone(),
        }
    }

    /// The country's override, if there is one.
    pub fn override_for(&self, alpha3: &str) -> Option<&CountryOverride> {
        self.overrides.iter().find(|o| o.country.alpha3 == alpha3)
    }

    /// Whether the Flow refuses the country's applicants and documents.
    pub fn restricts(&self, alpha3: &str) -> bool {
        self.override_for(alpha3).is_some_and(|o| o.restricted)
    }

    /// Whether applicants photograph a document before they confirm their details.
    pub fn is_document_first(&self) -> bool {
        !self.settings.details_first && !self.defaults.document_types.is_empty()
    }

    /// Whether applicants of some country send a document and a selfie.
    pub fn may_ask_document(&self) -> bool {
        let asks = |change: &CountryOverride| {
            !change.restricted && !self.defaults.with_override(change).document_types.is_empty()
        };
        !self.defaults.document_types.is_empty() || self.overrides.iter().any(asks)
    }

    /// Which attempts are sent to review.
    pub fn review_policy(&self) -> ReviewPolicy {
        self.settings.review_policy
    }

    /// Checks the rules that span several members (contract §4.2 rule 3,
    /// `docs/decisions/0004-flow-semantics.md`), for the defaults and every unrestricted override. Call it on
    /// the Flow that a change results in.
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
        let overridden = open.map(|o| ("countryOverrides", o.country.name, self.defaults.with_override(o)));
        let all: Vec<_> = std::iter::once(("defaultFields", "", self.defaults.clone()))
            .chain(overridden)
            .collect();
        for (field, country, configuration) in &all {
            if configuration.requests_selfie() && configuration.document_types.is_empty() {
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
        let has_upload =
            |c: &Configuration| c.requests("documentFileUpload") || c.requests("documentCapture");
        if all
            .iter()
            .any(|(_, _, c)| !c.document_types.is_empty() && !has_upload(c))
        {
            let message = "An upload method is required when a document type is selected";
            return Err(Refusal::new(RefusalKind::Invalid, message, Vec::new()));
        }
        Ok(())
    }
}

/// Reads the supported members; others stay in the stored row and are ignored here.
fn fields(members: &Map<String, Value>, part: &str) -> Result<BTreeMap<String, bool>, StoredFlowError> {
    let known = members
        .iter()
        .filter(|(key, _)| KNOWN_FIELDS.contains(&key.as_str()));
    known
        .map(|(key, value)| match value {
            Value::Bool(value) => Ok((key.clone(), *value)),
            _ => Err(damaged(format!("{part}.{key}"))),
        })
        .collect()
}

fn document_types(items: &[Value], part: &str) -> Result<Vec<DocumentType>, StoredFlowError> {
    let mut types = Vec::new();
    for item in items {
        let read = item.as_str().and_then(|text| text.parse().ok());
        let document_type = read.ok_or_else(|| damaged(part))?;
        if !types.contains(&document_type) {
            types.push(document_type);
        }
    }
    Ok(types)
}

fn country_override(element: &Value, part: &str) -> Result<CountryOverride, StoredFlowError> {
    let member = |name: &str| format!("{part}.{name}");
    Ok(CountryOverride {
        country: override_country(element).ok_or_else(|| damaged(part))?,
        restricted: match element.get("restricted") {
            None => false,
            Some(Value::Bool(restricted)) => *restricted,
            Some(_) => return Err(damaged(member("restricted"))),
        },
        fields: match element.get("defaultFields") {
            None => BTreeMap::new(),
            Some(Value::Object(members)) => fields(members, &member("defaultFields"))?,
            Some(_) => return Err(damaged(member("defaultFields"))),
        },
        document_types: match element.get("defaultDocumentTypes") {
            None => None,
            Some(Value::Array(types)) => Some(document_types(types, &member("defaultDocumentTypes"))?),
            Some(_) => return Err(damaged(member("defaultDocumentTypes"))),
        },
    })
}

/// The country that an element of `countryOverrides` names by either code. Utopia is included, because a
/// sandbox may have stored it.
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
mod tests;
