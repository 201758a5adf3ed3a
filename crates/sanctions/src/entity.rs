//! The data of one listed subject, in a shape like FollowTheMoney's (<https://followthemoney.tech>), and the
//! partial dates of lists.
//!
//! This module compares nothing; see [`crate::score`].

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// The kinds of subjects that are screened. FollowTheMoney has more; `Asset` and `Vehicle` become
/// [`Schema::Thing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Schema {
    /// A natural person.
    Person,
    /// A company under some company law.
    Company,
    /// Any other organisation.
    Organization,
    /// A public authority.
    PublicBody,
    /// A person or an organisation; which is unknown.
    LegalEntity,
    /// A ship.
    Vessel,
    /// An aircraft.
    Airplane,
    /// An address on a blockchain.
    CryptoWallet,
    /// A traded security.
    Security,
    /// Any kind, or unknown.
    #[default]
    Thing,
}

impl Schema {
    /// The FollowTheMoney name.
    pub fn as_str(self) -> &'static str {
        match self {
            Schema::Person => "Person",
            Schema::Company => "Company",
            Schema::Organization => "Organization",
            Schema::PublicBody => "PublicBody",
            Schema::LegalEntity => "LegalEntity",
            Schema::Vessel => "Vessel",
            Schema::Airplane => "Airplane",
            Schema::CryptoWallet => "CryptoWallet",
            Schema::Security => "Security",
            Schema::Thing => "Thing",
        }
    }

    /// Reads a FollowTheMoney name; `None` for schemata that are not subjects (addresses, relations,
    /// documents).
    pub fn from_ftm(name: &str) -> Option<Schema> {
        Some(match name {
            "Person" => Schema::Person,
            "Company" => Schema::Company,
            "Organization" => Schema::Organization,
            "PublicBody" => Schema::PublicBody,
            "LegalEntity" => Schema::LegalEntity,
            "Vessel" => Schema::Vessel,
            "Airplane" => Schema::Airplane,
            "CryptoWallet" => Schema::CryptoWallet,
            "Security" => Schema::Security,
            "Thing" | "Asset" | "Vehicle" => Schema::Thing,
            _ => return None,
        })
    }

    /// Whether names follow the conventions of people's names rather than of organisations'.
    pub(crate) fn is_person(self) -> bool {
        self == Schema::Person
    }

    /// Whether a query of this schema may mean a candidate of the other one.
    pub fn is_compatible_with(self, other: Schema) -> bool {
        use Schema::{Company, LegalEntity, Organization, Person, PublicBody, Thing};
        let organisation = |s| matches!(s, Company | Organization | PublicBody);
        self == other
            || self == Thing
            || other == Thing
            || (organisation(self) && organisation(other))
            || (self == LegalEntity && (organisation(other) || other == Person))
            || (other == LegalEntity && (organisation(self) || self == Person))
    }
}

/// The kind of an identifier, as far as it affects the weight of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentifierKind {
    /// ISO 17442 legal entity identifier.
    Lei,
    /// ISO 6166 security number.
    Isin,
    /// ISO 9362 bank code.
    Bic,
    /// Ship number of the International Maritime Organization.
    Imo,
    /// Russian tax number.
    Inn,
    /// Russian registration number.
    Ogrn,
    /// Passport number.
    Passport,
    /// National identity number.
    NationalId,
    /// Tax number.
    Tax,
    /// Registration number.
    Registration,
    /// Anything else.
    Other,
}

impl IdentifierKind {
    /// Reads our names, FollowTheMoney property names, and common terms of lists and callers.
    pub fn parse(text: &str) -> IdentifierKind {
        let key: String = text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        match key.as_str() {
            "lei" | "leicode" => IdentifierKind::Lei,
            "isin" | "isincode" => IdentifierKind::Isin,
            "bic" | "swift" | "swiftbic" | "bikcode" => IdentifierKind::Bic,
            "imo" | "imonumber" => IdentifierKind::Imo,
            "inn" | "inncode" => IdentifierKind::Inn,
            "ogrn" | "ogrncode" => IdentifierKind::Ogrn,
            k if k.contains("passport") => IdentifierKind::Passport,
            k if k.contains("tax") || k.contains("vat") || k.contains("fiscal") => IdentifierKind::Tax,
            k if k.contains("national") || k.contains("idnumber") || k.contains("idcard") => {
                IdentifierKind::NationalId
            }
            k if k.contains("registration") || k.contains("registry") || k.contains("company") => {
                IdentifierKind::Registration
            }
            _ => IdentifierKind::Other,
        }
    }

    /// FollowTheMoney's property name; `identifier` for [`IdentifierKind::Other`].
    pub(crate) fn property(self) -> &'static str {
        match self {
            IdentifierKind::Lei => "leiCode",
            IdentifierKind::Isin => "isin",
            IdentifierKind::Bic => "swiftBic",
            IdentifierKind::Imo => "imoNumber",
            IdentifierKind::Inn => "innCode",
            IdentifierKind::Ogrn => "ogrnCode",
            IdentifierKind::Passport => "passportNumber",
            IdentifierKind::NationalId => "idNumber",
            IdentifierKind::Tax => "taxNumber",
            IdentifierKind::Registration => "registrationNumber",
            IdentifierKind::Other => "identifier",
        }
    }
}

/// A number that an authority assigned to the subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identifier {
    /// The kind of number.
    pub kind: IdentifierKind,
    /// As printed in the list.
    pub value: String,
}

/// A date with the list's precision: a span of years, or one year with an optional month and day.
///
/// Text forms: `1965`, `1965-03`, `1965-03-21`, `1960/1962`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartialDate {
    /// First possible year.
    pub first_year: u16,
    /// Last possible year; equal to `first_year` if the year is known.
    pub last_year: u16,
    /// 1–12, or 0 if unknown.
    pub month: u8,
    /// 1–31, or 0 if unknown.
    pub day: u8,
}

impl PartialDate {
    /// A full or partial date; `None` when a part is out of range.
    pub fn new(year: u16, month: u8, day: u8) -> Option<PartialDate> {
        let fits = (1000..=2999).contains(&year) && month <= 12 && day <= 31 && (day == 0 || month != 0);
        fits.then_some(PartialDate {
            first_year: year,
            last_year: year,
            month,
            day,
        })
    }

    /// A span of years, both inclusive, in either order.
    pub fn span(a: u16, b: u16) -> Option<PartialDate> {
        let fits = |y: &u16| (1000..=2999).contains(y);
        (fits(&a) && fits(&b)).then_some(PartialDate {
            first_year: a.min(b),
            last_year: a.max(b),
            month: 0,
            day: 0,
        })
    }

    /// "About" a year: the span from two years before to two years after.
    pub fn about(year: u16) -> Option<PartialDate> {
        PartialDate::span(year.checked_sub(2)?, year + 2)
    }

    /// Reads the usable part of a date that people typed: `1969-7-16` in full, the month of `1974-01-32`.
    /// `None` without a year. It is lenient, because a typing error in a date must not hide a hit.
    pub fn parse_lenient(text: &str) -> Option<PartialDate> {
        if let Ok(date) = text.parse() {
            return Some(date);
        }
        let mut parts = text.trim().split(['-', '/', '.', 'T', ' ']).map(str::trim);
        let year = parts.next().filter(|y| y.len() == 4)?.parse().ok()?;
        let mut small = || {
            parts
                .next()
                .filter(|p| p.len() <= 2)
                .and_then(|p| p.parse::<u8>().ok())
                .unwrap_or(0)
        };
        let (month, day) = (small(), small());
        let exact = PartialDate::new(year, month, day);
        exact
            .or_else(|| PartialDate::new(year, month, 0))
            .or_else(|| PartialDate::new(year, 0, 0))
    }

    /// Whether year, month and day are known.
    pub fn is_full(&self) -> bool {
        self.day != 0 && self.first_year == self.last_year
    }
}

impl fmt::Display for PartialDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            d if d.first_year != d.last_year => write!(f, "{:04}/{:04}", d.first_year, d.last_year),
            d if d.month == 0 => write!(f, "{:04}", d.first_year),
            d if d.day == 0 => write!(f, "{:04}-{:02}", d.first_year, d.month),
            d => write!(f, "{:04}-{:02}-{:02}", d.first_year, d.month, d.day),
        }
    }
}

/// The text is not in a form that [`PartialDate`] reads.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a date: expected YYYY, YYYY-MM, YYYY-MM-DD or YYYY/YYYY")]
pub struct DateError;

impl FromStr for PartialDate {
    type Err = DateError;

    /// Reads the text forms; a time after `T` or a space, as in `1965-03-21T00:00:00`, is ignored.
    fn from_str(text: &str) -> Result<PartialDate, DateError> {
        fn number(part: Option<&str>, len: usize) -> Result<u16, DateError> {
            let part = part.unwrap_or("");
            let digits = part.len() == len && part.bytes().all(|b| b.is_ascii_digit());
            if digits {
                part.parse().map_err(|_| DateError)
            } else {
                Err(DateError)
            }
        }
        let text = text.trim().split(['T', ' ']).next().unwrap_or("");
        if let Some((a, b)) = text.split_once('/') {
            return PartialDate::span(number(Some(a), 4)?, number(Some(b), 4)?).ok_or(DateError);
        }
        let mut parts = text.split('-');
        let year = number(parts.next(), 4)?;
        let rest: Vec<&str> = parts.collect();
        let small = |part| number(Some(part), 2).map(|n| n as u8);
        let (month, day) = match rest.as_slice() {
            [] => (0, 0),
            [m] => (small(*m)?, 0),
            [m, d] => (small(*m)?, small(*d)?),
            _ => return Err(DateError),
        };
        PartialDate::new(year, month, day).ok_or(DateError)
    }
}

impl Serialize for PartialDate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PartialDate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PartialDate, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A subject of a list or of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Entity {
    /// Id that is stable within its list, such as `ofac-36` or an OpenSanctions id.
    pub id: String,
    /// The kind of subject.
    pub schema: Schema,
    /// The name to display.
    pub caption: String,
    /// Full names. For people, `FAMILY, Given` is understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Other full names, which count as much as `names`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Names that the list itself marks as weak. They match only exactly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weak_aliases: Vec<String>,
    /// Given, middle and father's names, if the list separates them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_names: Vec<String>,
    /// Family names, if the list separates them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub family_names: Vec<String>,
    /// All dates of birth in the list, as alternatives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub birth_dates: Vec<PartialDate>,
    /// Countries of residence, registration or flag: lower-case ISO 3166 alpha-2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub countries: Vec<String>,
    /// Nationalities: lower-case ISO 3166 alpha-2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nationalities: Vec<String>,
    /// Sex or gender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    /// Numbers that authorities assigned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<Identifier>,
    /// Blockchain addresses, as printed in the list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wallets: Vec<String>,
    /// Why the subject is listed, in OpenSanctions' vocabulary: `sanction`, `crime.terror`, `role.pep`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    /// The lists that contain the subject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datasets: Vec<String>,
    /// The authority's programmes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Other statements of the list in its own words: grounds, offices, place of birth. They are not
    /// compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// Values by FollowTheMoney property name, such as `birthDate` or `alias`.
pub type Properties = BTreeMap<String, Vec<String>>;

/// Sex or gender as lists state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gender {
    /// Male.
    Male,
    /// Female.
    Female,
    /// Stated, but neither male nor female.
    Other,
}

impl Gender {
    /// Reads `male`, `M`, `Female`, `F`, `X`, `other`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Gender> {
        match text.trim().to_ascii_lowercase().as_str() {
            "male" | "m" => Some(Gender::Male),
            "female" | "f" => Some(Gender::Female),
            "other" | "x" => Some(Gender::Other),
            _ => None,
        }
    }
}

/// Above this number of values, [`add_unique`] skips its linear search. A record of megabytes would take
/// minutes.
const MAX_SEARCHED_VALUES: usize = 100;

/// Adds a value unless it is blank or already present.
pub(crate) fn push_unique(values: &mut Vec<String>, value: &str) {
    let value = value.trim();
    if !value.is_empty() {
        add_unique(values, value.to_owned());
    }
}

/// Adds a value unless it is already present. Beyond [`MAX_SEARCHED_VALUES`] values, [`Entity::settle`]
/// removes the duplicates.
pub(crate) fn add_unique<T: PartialEq>(values: &mut Vec<T>, value: T) {
    if values.len() >= MAX_SEARCHED_VALUES || !values.contains(&value) {
        values.push(value);
    }
}

/// Removes duplicates where [`add_unique`] skipped its search. The first of equal values remains.
fn remove_duplicates<T: Clone + Eq + Hash>(values: &mut Vec<T>) {
    if values.len() > MAX_SEARCHED_VALUES {
        let mut seen = FxHashSet::default();
        values.retain(|value| seen.insert(value.clone()));
    }
}

impl Entity {
    /// Completes an entity after reading. It removes duplicates from long lists and sets a missing caption to
    /// the first name, else the first wallet, else the id.
    pub(crate) fn settle(&mut self) {
        for values in [
            &mut self.names,
            &mut self.aliases,
            &mut self.weak_aliases,
            &mut self.given_names,
            &mut self.family_names,
            &mut self.countries,
            &mut self.nationalities,
            &mut self.wallets,
            &mut self.topics,
            &mut self.datasets,
            &mut self.programs,
            &mut self.remarks,
        ] {
            remove_duplicates(values);
        }
        remove_duplicates(&mut self.identifiers);
        if self.caption.is_empty() {
            let first = self
                .names
                .first()
                .or(self.aliases.first())
                .or(self.weak_aliases.first());
            self.caption = first.or(self.wallets.first()).unwrap_or(&self.id).clone();
        }
    }

    /// The list's data by FollowTheMoney property name. Properties without a value are absent.
    pub fn properties(&self) -> Properties {
        let dates = self.birth_dates.iter().map(ToString::to_string).collect();
        let gender = serde_json::to_value(self.gender).ok();
        let gender = gender
            .as_ref()
            .and_then(|gender| gender.as_str())
            .map(str::to_owned);
        let mut properties: Properties = [
            ("name", self.names.clone()),
            ("alias", self.aliases.clone()),
            ("weakAlias", self.weak_aliases.clone()),
            ("birthDate", dates),
            ("nationality", self.nationalities.clone()),
            ("country", self.countries.clone()),
            ("gender", gender.into_iter().collect()),
            ("publicKey", self.wallets.clone()),
            ("notes", self.remarks.clone()),
        ]
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| (name.to_owned(), values))
        .collect();
        for identifier in &self.identifiers {
            let values = properties
                .entry(identifier.kind.property().to_owned())
                .or_default();
            push_unique(values, &identifier.value);
        }
        properties
    }
}

/// Whether an entity with these topics is sanctioned. An entity without topics is, because lists of sanctions state
/// none. Politically exposed persons, suspects and the debarred are not.
pub fn is_sanctioned(topics: &[String]) -> bool {
    let is_sanction = |topic: &String| topic == "sanction" || topic.starts_with("sanction.");
    topics.is_empty() || topics.iter().any(is_sanction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_and_print() {
        for text in ["1965", "1965-03", "1965-03-21", "1960/1962"] {
            assert_eq!(text.parse::<PartialDate>().unwrap().to_string(), text);
        }
        assert_eq!(
            "1965-03-21T00:00:00Z".parse::<PartialDate>().unwrap().to_string(),
            "1965-03-21"
        );
        for bad in [
            "",
            "65",
            "1965-13",
            "1965-01-32",
            "1965-1-1",
            "abcd",
            "1965-01-01-01",
            "+965",
            "1965/",
        ] {
            assert_eq!(bad.parse::<PartialDate>(), Err(DateError), "{bad}");
        }
    }

    #[test]
    fn slips_in_dates() {
        for (text, date) in [
            ("1969-7-16", "1969-07-16"),
            ("1974-01-32", "1974-01"),
            ("1968-13-30", "1968"),
        ] {
            assert_eq!(PartialDate::parse_lenient(text).unwrap().to_string(), date);
        }
        assert_eq!(PartialDate::parse_lenient("yesterday"), None);
    }

    /// OpenSanctions' topics (<https://www.opensanctions.org/docs/topics/>) that make a subject sanctioned.
    const SANCTIONS: &str = "sanction sanction.linked sanction.control sanction.counter";

    /// All its other topics.
    const OTHERS: &str = "asset.frozen corp.disqual corp.offshore corp.public corp.shell crime crime.boss crime.cyber \
        crime.env crime.fin crime.fraud crime.terror crime.theft crime.traffick crime.traffick.drug \
        crime.traffick.human crime.war debarment export.control export.control.linked export.risk fin fin.adivsor \
        fin.bank fin.fund forced.labor gov gov.admin gov.executive gov.financial gov.head gov.igo gov.judicial \
        gov.legislative gov.muni gov.national gov.religion gov.security gov.soe gov.state invest.ban invest.risk \
        mare.detained mare.shadow mare.sts mil poi pol.party pol.union reg.action reg.warn rel role.acct role.act \
        role.diplo role.journo role.judge role.lawyer role.lobby role.oligarch role.pep role.pol role.rca role.spy \
        wanted sanctioned Sanction";

    #[test]
    fn only_sanctions_flag_a_subject() {
        for topic in SANCTIONS.split_whitespace() {
            assert!(is_sanctioned(&[topic.into()]), "{topic}");
            assert!(is_sanctioned(&["role.pep".into(), topic.into()]), "{topic}");
        }
        for topic in OTHERS.split_whitespace().chain([""]) {
            assert!(!is_sanctioned(&[topic.into()]), "{topic}");
            assert!(!is_sanctioned(&["role.pep".into(), topic.into()]), "{topic}");
            assert!(is_sanctioned(&[topic.into(), "sanction".into()]), "{topic}");
        }
        assert!(is_sanctioned(&[]), "a list without topics is one of sanctions");
    }

    #[test]
    fn people_are_not_ships() {
        assert!(Schema::LegalEntity.is_compatible_with(Schema::Person));
        assert!(Schema::Company.is_compatible_with(Schema::Organization));
        assert!(!Schema::Person.is_compatible_with(Schema::Vessel));
        assert!(!Schema::Person.is_compatible_with(Schema::Company));
    }

    #[test]
    fn identifier_kinds() {
        for (text, kind) in [
            ("passportNumber", IdentifierKind::Passport),
            ("Passport", IdentifierKind::Passport),
            ("swiftBic", IdentifierKind::Bic),
            ("IMO", IdentifierKind::Imo),
            ("Tax ID No.", IdentifierKind::Tax),
            ("whatever", IdentifierKind::Other),
        ] {
            assert_eq!(IdentifierKind::parse(text), kind, "{text}");
        }
    }
}
