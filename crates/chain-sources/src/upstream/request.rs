//! Builds a vendor's request from its description and the subject of the query.

use chain::currency::Currency;
use chain::screen::Subject;
use serde_json::{Map, Value};

use super::config::{Authentication, Config};
use crate::base64::base64;

/// The parts of a request.
pub(super) struct RequestParts {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

/// A vendor's secrets in the form in which requests contain them.
#[derive(Default)]
pub(super) struct Credentials {
    header: Option<(String, String)>,
    parameter: Option<String>,
}

impl Credentials {
    /// Reads the secrets that a description names.
    pub(super) fn open(authentication: &Authentication) -> Result<Credentials, String> {
        let header = |name: &str, value: String| {
            Ok(Credentials {
                header: Some((name.to_owned(), value)),
                parameter: None,
            })
        };
        match authentication {
            Authentication::None => Ok(Credentials::default()),
            Authentication::Basic { username, password } => {
                let pair = format!("{}:{}", username.read()?, password.read()?);
                header("authorization", format!("Basic {}", base64(pair.as_bytes())))
            }
            Authentication::Bearer { token } => header("authorization", format!("Bearer {}", token.read()?)),
            Authentication::Header { name, value } => header(name, value.read()?),
            Authentication::Query { name, value } => Ok(Credentials {
                header: None,
                parameter: Some(format!("{}={}", url_encoded(name), url_encoded(&value.read()?))),
            }),
        }
    }
}

impl Credentials {
    /// Builds the vendor's request about a subject.
    pub(super) fn filled(&self, config: &Config, currency: Currency, subject: Subject<'_>) -> RequestParts {
        let (kind, query) = match subject {
            Subject::Address(address) => ("address", address),
            Subject::Transaction(id) => ("transaction", id),
        };
        let kind = config.types.get(kind).map_or(kind, String::as_str);
        let code = currency.code();
        let currency = config.currencies.get(&currency).map_or(code, String::as_str);
        let fill = |text: &str, encode: fn(&str) -> String| {
            // The query is replaced last, because its text is not a template.
            text.replace("{type}", &encode(kind))
                .replace("{currency}", &encode(currency))
                .replace("{query}", &encode(query))
        };
        let mut url = fill(&config.url, url_encoded);
        if let Some(parameter) = &self.parameter {
            let join = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{join}{parameter}");
        }
        let configured = config.headers.iter();
        let headers = configured
            .map(|(name, value)| (name.clone(), value.clone()))
            .chain(self.header.clone())
            .collect();
        let plain = |text: &str| fill(text, str::to_owned);
        let body = config
            .body
            .as_ref()
            .map(|body| with_texts(body, &plain).to_string());
        RequestParts { url, headers, body }
    }
}

/// Applies a change to every text within a JSON value.
fn with_texts(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(values) => values.iter().map(|value| with_texts(value, change)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), with_texts(value, change)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn url_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => {
                encoded.push('%');
                encoded.push_str(&hex::encode_upper([other]));
            }
        }
    }
    encoded
}
