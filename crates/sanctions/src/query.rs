//! A screening query: the flat form of a subject, as the command line and the server receive it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::countries;
use crate::entity::{Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, push_unique};

/// Maximum length of a field in bytes.
const MAX_LEN: usize = 1000;
/// Maximum number of aliases, and of identifiers.
const MAX_VALUES: usize = 50;

/// A subject to screen. Every field is optional, but the query needs a name, an identifier or a wallet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Query {
    /// A FollowTheMoney schema. The default is `Person` with given or family name or date of birth, else
    /// `Thing`.
    pub schema: Option<String>,
    /// The full name.
    pub name: Option<String>,
    /// Given names.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Other full names.
    pub aliases: Vec<String>,
    /// Date of birth: `YYYY-MM-DD`, `YYYY-MM` or `YYYY`. Impossible months and days are ignored.
    pub dob: Option<String>,
    /// Country of residence or registration: ISO 3166 code or name.
    pub country: Option<String>,
    /// Nationality: ISO 3166 code or name.
    pub nationality: Option<String>,
    /// `male`, `female` or `other`.
    pub gender: Option<String>,
    /// Numbers that authorities assigned.
    pub identifiers: Vec<QueryIdentifier>,
    /// A blockchain address.
    pub wallet: Option<String>,
}

/// A number that an authority assigned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueryIdentifier {
    /// The kind of number, such as `passport`, `lei`, `imo`, `tax`. Any other text matches by value alone.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number.
    pub value: String,
}

/// Why a query is refused. The text names the field, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The query has nothing to search for.
    #[error("nothing to screen: give a name, an identifier or a wallet")]
    Empty,
    /// The schema is unknown.
    #[error("schema - unknown")]
    Schema,
    /// The date of birth cannot be read.
    #[error("dob - expected YYYY-MM-DD, YYYY-MM or YYYY")]
    BirthDate,
    /// A field is too long or has too many values.
    #[error("{0} - too long")]
    TooLong(&'static str),
}

impl Query {
    /// The query as an entity. Countries and genders that cannot be read are ignored.
    pub(crate) fn to_entity(&self) -> Result<Entity, QueryError> {
        let text = |value: &Option<String>, field: &'static str| match value.as_deref().map(str::trim) {
            Some(text) if text.len() > MAX_LEN => Err(QueryError::TooLong(field)),
            text => Ok(text.unwrap_or("").to_owned()),
        };
        let (name, first, last) = (
            text(&self.name, "name")?,
            text(&self.first_name, "firstName")?,
            text(&self.last_name, "lastName")?,
        );
        let dob = text(&self.dob, "dob")?;
        let schema = match self.schema.as_deref() {
            Some(schema) => Schema::from_ftm(schema).ok_or(QueryError::Schema)?,
            None if !first.is_empty() || !last.is_empty() || !dob.is_empty() => Schema::Person,
            None => Schema::Thing,
        };
        let mut entity = Entity {
            schema,
            ..Entity::default()
        };
        push_unique(&mut entity.names, &name);
        push_unique(&mut entity.given_names, &first);
        push_unique(&mut entity.family_names, &last);
        if !first.is_empty() || !last.is_empty() {
            push_unique(&mut entity.names, format!("{first} {last}").trim());
        }
        if self.aliases.len() > MAX_VALUES || self.aliases.iter().any(|a| a.len() > MAX_LEN) {
            return Err(QueryError::TooLong("aliases"));
        }
        self.aliases
            .iter()
            .for_each(|a| push_unique(&mut entity.aliases, a));
        if !dob.is_empty() {
            entity
                .birth_dates
                .push(PartialDate::parse_lenient(&dob).ok_or(QueryError::BirthDate)?);
        }
        entity
            .countries
            .extend(countries::code(&text(&self.country, "country")?));
        entity
            .nationalities
            .extend(countries::code(&text(&self.nationality, "nationality")?));
        entity.gender = Gender::parse(&text(&self.gender, "gender")?);
        if self.identifiers.len() > MAX_VALUES || self.identifiers.iter().any(|i| i.value.len() > MAX_LEN) {
            return Err(QueryError::TooLong("identifiers"));
        }
        for identifier in &self.identifiers {
            let kind = IdentifierKind::parse(&identifier.kind);
            entity.identifiers.push(Identifier {
                kind,
                value: identifier.value.trim().to_owned(),
            });
        }
        push_unique(&mut entity.wallets, &text(&self.wallet, "wallet")?);
        let searched = [&entity.names, &entity.aliases, &entity.wallets];
        if searched.iter().all(|v| v.is_empty()) && entity.identifiers.iter().all(|i| i.value.is_empty()) {
            return Err(QueryError::Empty);
        }
        Ok(entity)
    }

    /// The values that the search uses, by the query's field names.
    pub(crate) fn flattened(&self, entity: &Entity) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        let mut put = |key: &str, value: String| {
            if !value.is_empty() {
                out.insert(key.to_owned(), value);
            }
        };
        put("schema", entity.schema.as_str().to_owned());
        put("name", entity.names.first().cloned().unwrap_or_default());
        put("firstName", entity.given_names.join(" "));
        put("lastName", entity.family_names.join(" "));
        put("aliases", entity.aliases.join("; "));
        put(
            "dob",
            entity.birth_dates.iter().map(ToString::to_string).collect(),
        );
        put("country", entity.countries.concat());
        put("nationality", entity.nationalities.concat());
        let gender = serde_json::to_value(entity.gender).ok();
        put(
            "gender",
            gender
                .and_then(|g| g.as_str().map(str::to_owned))
                .unwrap_or_default(),
        );
        put(
            "identifiers",
            entity
                .identifiers
                .iter()
                .map(|i| i.value.as_str())
                .collect::<Vec<_>>()
                .join("; "),
        );
        put("wallet", entity.wallets.concat());
        out
    }
}
