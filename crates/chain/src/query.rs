//! Parses a screening request (contract §4.9), for the API and the command line alike.
//!
//! An error never contains a refused text, because it may be a private key.

use serde_json::{Map, Value};

use crate::address::{Address, AddressError};
use crate::currency::Currency;
use crate::hash::TransactionHash;
use crate::screen::Subject;
use crate::{hint, secret};

/// The label of a request without one.
pub const DEFAULT_LABEL: &str = "API Query";
/// The longest query and label, in characters.
const MAX_LENGTH: usize = 255;

/// The detail of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Report {
    /// The score only.
    #[default]
    Simple,
    /// The score and its explanation.
    Detailed,
}

/// The subject of a screening, whose form is valid on its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryTarget {
    /// An address (KYA).
    Address(Address),
    /// A transaction (KYT).
    Transaction(TransactionHash),
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The query's text as it was sent.
    pub text: String,
    /// The chain.
    pub currency: Currency,
    /// The parsed address or transaction.
    pub screened: QueryTarget,
    /// The detail of the answer.
    pub report: Report,
    /// The caller's label.
    pub label: String,
}

/// Why a request is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Every fault, as `<field> - <reason>`.
    #[error("Validation failed: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The chain is not supported, or not enabled for this account.
    #[error("{}", unsupported(.value.as_deref(), .accepted))]
    UnsupportedCurrency {
        /// The value of the request, if it has the form of a code.
        value: Option<String>,
        /// The supported codes.
        accepted: Vec<Currency>,
    },
}

fn unsupported(value: Option<&str>, accepted: &[Currency]) -> String {
    let codes: Vec<&str> = accepted.iter().map(|currency| currency.code()).collect();
    let value = value.map_or(String::new(), |value| format!(" '{value}'"));
    format!(
        "Unsupported currency{value}. Supported currencies: {}",
        codes.join(", ")
    )
}

impl Query {
    /// Parses a request; unknown members are ignored.
    ///
    /// # Errors
    /// All errors in the members' forms at once; then an unsupported currency; then why the query cannot
    /// exist.
    pub fn parse(body: &Map<String, Value>, accepted: &[Currency]) -> Result<Query, QueryError> {
        let mut faults = Vec::new();
        let kind = text(body, "type", true, &mut faults);
        if kind.is_some_and(|kind| kind != "address" && kind != "transaction") {
            faults.push("type - must be address or transaction".to_owned());
        }
        let query = text(body, "query", true, &mut faults);
        if let Some(query) = query {
            if !(1..=MAX_LENGTH).contains(&query.chars().count()) {
                faults.push(format!("query - must have 1 to {MAX_LENGTH} characters"));
            }
            let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'_' | b'-');
            if !query.bytes().all(allowed) {
                faults.push("query - query contains invalid characters".to_owned());
                let why = secret::recognise(query)
                    .map(secret::refusal)
                    .or_else(|| hint::explain(query).map(str::to_owned));
                faults.extend(why.map(|why| format!("query - {why}")));
            }
        }
        let currency = text(body, "currency", true, &mut faults);
        if currency.is_some_and(str::is_empty) {
            faults.push("currency - is required".to_owned());
        }
        let report = match text(body, "report", false, &mut faults) {
            None | Some("simple") => Report::Simple,
            Some("detailed") => Report::Detailed,
            Some(_) => {
                faults.push("report - must be simple or detailed".to_owned());
                Report::Simple
            }
        };
        let label = text(body, "label", false, &mut faults).unwrap_or(DEFAULT_LABEL);
        if label.chars().count() > MAX_LENGTH {
            faults.push(format!("label - must have at most {MAX_LENGTH} characters"));
        } else if label.contains('\0') {
            faults.push("label - must not contain null characters".to_owned());
        } else if let Some(kind) = secret::find_in_free_text(label) {
            faults.push(format!("label - {}", secret::refusal(kind)));
        }
        let (Some(kind), Some(query), Some(code), true) = (kind, query, currency, faults.is_empty()) else {
            return Err(QueryError::Invalid(faults));
        };
        let currency = code.parse().ok().filter(|currency| accepted.contains(currency));
        let Some(currency) = currency else {
            return Err(QueryError::UnsupportedCurrency {
                value: secret::code(code).map(str::to_owned),
                accepted: accepted.to_owned(),
            });
        };
        let screened = if kind == "address" {
            Address::parse(currency, query).map(QueryTarget::Address)
        } else {
            TransactionHash::parse(currency, query).map(QueryTarget::Transaction)
        };
        Ok(Query {
            text: query.to_owned(),
            currency,
            screened: screened.map_err(impossible)?,
            report,
            label: label.to_owned(),
        })
    }

    /// The subject of the screening, in canonical form.
    pub fn subject(&self) -> Subject<'_> {
        match &self.screened {
            QueryTarget::Address(address) => Subject::Address(&address.canonical),
            QueryTarget::Transaction(hash) => Subject::Transaction(&hash.canonical),
        }
    }

    /// The bytes of the address or the hash.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.screened {
            QueryTarget::Address(address) => address.payload.clone(),
            QueryTarget::Transaction(hash) => hash.bytes(),
        }
    }

    /// `address` or `transaction`.
    pub fn kind(&self) -> &'static str {
        match self.screened {
            QueryTarget::Address(_) => "address",
            QueryTarget::Transaction(_) => "transaction",
        }
    }
}

fn impossible(error: AddressError) -> QueryError {
    QueryError::Invalid(vec![format!("query - {error}")])
}

/// A member of type text. Null counts as absent.
fn text<'a>(
    body: &'a Map<String, Value>,
    field: &str,
    required: bool,
    faults: &mut Vec<String>,
) -> Option<&'a str> {
    match body.get(field) {
        Some(Value::String(text)) => return Some(text),
        Some(Value::Null) | None if required => faults.push(format!("{field} - is required")),
        Some(Value::Null) | None => {}
        Some(_) => faults.push(format!("{field} - must be a string")),
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: Value) -> Result<Query, String> {
        Query::parse(body.as_object().unwrap(), &Currency::ALL).map_err(|error| error.to_string())
    }

    const BTC: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

    #[test]
    fn defaults_and_case() {
        let query =
            parse(json!({"type": "address", "query": BTC, "currency": "BTC", "label": null, "more": 1}))
                .unwrap();
        assert_eq!(
            (query.kind(), query.currency, query.report, query.label.as_str()),
            ("address", Currency::Btc, Report::Simple, "API Query")
        );
        let hash = "E26AB8F3372D2FC02DEC1FD5674ADAB762D684BFFDBBDF5D674E9D7CF4A47054";
        let query = parse(
            json!({"type": "transaction", "query": hash, "currency": "btc", "report": "detailed", "label": ""}),
        )
        .unwrap();
        assert_eq!(
            (query.kind(), query.report, query.label.as_str()),
            ("transaction", Report::Detailed, "")
        );
        assert_eq!(query.subject(), Subject::Transaction(&hash.to_lowercase()));
    }

    #[test]
    fn every_fault_is_named() {
        let long = "x".repeat(256);
        for (body, expected) in [
            (
                json!({}),
                "Validation failed: type - is required; query - is required; currency - is required",
            ),
            (
                json!({"type": 7, "query": "a b", "currency": "btc", "report": "full", "label": long}),
                "Validation failed: type - must be a string; query - query contains invalid characters; \
                 report - must be simple or detailed; label - must have at most 255 characters",
            ),
            (
                json!({"type": "wallet", "query": "", "currency": ""}),
                "Validation failed: type - must be address or transaction; query - must have 1 to 255 characters; \
                 currency - is required",
            ),
            (
                json!({"type": "address", "query": long, "currency": "btc"}),
                "Validation failed: query - must have 1 to 255 characters",
            ),
            (
                json!({"type": "address", "query": BTC, "currency": "doge2"}),
                "Unsupported currency 'doge2'. Supported currencies: btc, eth, ltc, bch, bsv, xrp, xlm, doge, dash, \
                 zec, etc, bsc, ada, stx, xdc, sys, sol, trx",
            ),
            (
                json!({"type": "address", "query": BTC, "currency": "eth"}),
                "Validation failed: query - is an address of Bitcoin, Bitcoin Cash or Bitcoin SV, not of Ethereum",
            ),
            (
                json!({"type": "address", "query": format!("https://mempool.space/address/{BTC}"), "currency": "btc"}),
                "Validation failed: query - query contains invalid characters; query - is a link to a page: \
                 send only the address or the transaction hash in it",
            ),
            (
                json!({"type": "address", "query": format!("bitcoin:{BTC}"), "currency": "btc"}),
                "Validation failed: query - is a payment link: send only the address in it, without the name and colon \
                 before it and without what follows from `?`, `@` or `/` on",
            ),
            (
                json!({"type": "transaction", "query": BTC, "currency": "btc"}),
                "Validation failed: query - is an address, not a transaction hash: send it with type `address`",
            ),
        ] {
            assert_eq!(parse(body).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_private_key_is_not_repeated() {
        let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
        for kind in ["address", "transaction"] {
            let error = parse(json!({"type": kind, "query": key, "currency": "btc"})).unwrap_err();
            assert!(error.contains("secret") && !error.contains(key), "{error}");
        }
        for (label, query) in [
            (format!("Ann's {key}"), BTC),
            (key.to_owned(), BTC),
            ("me".into(), &format!("{key} ")),
            ("me".into(), &format!("{}\n{}", &key[..20], &key[20..])),
        ] {
            let body = json!({"type": "address", "query": query, "currency": "btc", "label": label});
            let error = parse(body).unwrap_err();
            assert!(error.contains("secret") && !error.contains(&key[20..]), "{error}");
        }
        let error = parse(json!({"type": "address", "query": BTC, "currency": key})).unwrap_err();
        assert!(
            error.starts_with("Unsupported currency. ") && !error.contains(&key[..8]),
            "{error}"
        );
    }
}
