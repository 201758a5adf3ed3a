//! A vendor's description: the members of its file, and the errors in it.
//!
//! A description contains no secrets: it names the variable or file of each one. Errors never repeat a value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chain::currency::Currency;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::members;
use super::pointer::Pointer;

/// The file with all vendors' descriptions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// Whether vendors are queried before the server's own sources, or only where those have no answer.
    #[serde(default)]
    pub order: Order,
    /// The vendors, in the order in which they are queried.
    pub upstreams: Vec<Config>,
}

/// Which sources are queried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// The server's own sources; vendors where those have no answer.
    #[default]
    OwnFirst,
    /// Vendors; the server's own sources where those have no answer.
    UpstreamsFirst,
}

/// The place of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secret {
    /// In an environment variable.
    Env(String),
    /// In a file, whose last line break does not count.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        let place = Value::deserialize(deserializer)?;
        let only = |name: &str| match place.as_object() {
            Some(members) if members.len() == 1 => members.get(name).and_then(Value::as_str),
            _ => None,
        };
        match (only("env"), only("file")) {
            (Some(variable), _) => Ok(Secret::Env(variable.to_owned())),
            (_, Some(file)) => Ok(Secret::File(file.into())),
            // Serde's own error would repeat the text, which may be the secret.
            _ => Err(D::Error::custom(
                r#"a secret is {"env": VARIABLE} or {"file": PATH}, never written here"#,
            )),
        }
    }
}

impl Secret {
    /// Reads the secret.
    ///
    /// # Errors
    /// When it cannot be read, is empty or cannot be in a header; the error names the variable or file.
    pub fn read(&self) -> Result<String, String> {
        let (text, place) = match self {
            Secret::Env(name) => (std::env::var(name).ok(), format!("the variable {name}")),
            Secret::File(file) => (
                std::fs::read_to_string(file).ok(),
                format!("the file {}", file.display()),
            ),
        };
        let text = text.ok_or_else(|| format!("{place} cannot be read"))?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(format!("{place} is empty"));
        }
        if !is_header_text(text) {
            return Err(format!("{place} holds a character that no header can carry"));
        }
        Ok(text.to_owned())
    }
}

/// How the server authenticates to a vendor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum Authentication {
    /// No authentication.
    #[default]
    None,
    /// HTTP Basic.
    Basic {
        /// The user name.
        username: Secret,
        /// The password.
        password: Secret,
    },
    /// `Authorization: Bearer …`.
    Bearer {
        /// The token.
        token: Secret,
    },
    /// A header that the vendor defines.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
    /// A parameter of the URL.
    Query {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
}

/// The values of a vendor's score that mean 0 and 100 on our scale; `from` may be the larger.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// No risk.
    pub from: f64,
    /// The highest risk.
    pub to: f64,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale { from: 0.0, to: 100.0 }
    }
}

/// When a failing vendor is not queried for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Breaker {
    /// The number of consecutive failures that opens the breaker.
    pub failures: u32,
    /// How long the breaker stays open, in milliseconds.
    pub cool_down_ms: u64,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker {
            failures: 5,
            cool_down_ms: 30_000,
        }
    }
}

/// A vendor's description.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The vendor's name in responses.
    pub name: String,
    /// The chains that the vendor covers; empty means all.
    #[serde(default)]
    pub chains: Vec<Currency>,
    /// The URL template: `https://…/{type}/{currency}/{query}`.
    pub url: String,
    /// A JSON body whose texts may contain the same placeholders. With a body the request is a POST.
    pub body: Option<Value>,
    /// How the server authenticates.
    #[serde(default)]
    pub authentication: Authentication,
    /// Further headers, which must not be secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The values of `{type}`: the vendor's words for `address` and `transaction`.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// The values of `{currency}` that differ from our code.
    #[serde(default)]
    pub currencies: BTreeMap<Currency, String>,
    /// The JSON pointer of the score.
    pub score: String,
    /// The score's scale.
    #[serde(default)]
    pub scale: Scale,
    /// Scores of a vendor that answers with words, such as `"High": 80`, on our scale.
    #[serde(default)]
    pub words: BTreeMap<String, f64>,
    /// The pointers to the detailed report's other members, by the contract's names.
    #[serde(default)]
    pub members: BTreeMap<String, Pointer>,
    /// The timeout of one request in milliseconds.
    #[serde(default = "five_seconds")]
    pub timeout_ms: u64,
    /// How often a failed request is repeated.
    #[serde(default = "once")]
    pub retries: u32,
    /// When the vendor is not queried for a while.
    #[serde(default)]
    pub breaker: Breaker,
}

fn five_seconds() -> u64 {
    5_000
}

fn once() -> u32 {
    1
}

/// What is wrong with a description. The texts repeat no value, which may be a misplaced secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The text is not the JSON of a description.
    #[error("line {line}: {what}")]
    Json {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong in that line.
        what: String,
    },
    /// A member of the vendor's description has a wrong value.
    #[error("{vendor}: {member} - {what}")]
    Member {
        /// The vendor's name.
        vendor: String,
        /// The member's name.
        member: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Two vendors have the same name.
    #[error("{0}: name - another upstream has it")]
    DuplicateName(String),
}

impl From<serde_json::Error> for ConfigError {
    fn from(error: serde_json::Error) -> ConfigError {
        let text = error.to_string();
        let harmless = ["missing field", "unknown field", "duplicate field", "a secret is"];
        let what = if harmless.iter().any(|start| text.starts_with(start)) {
            text.split(" at line ").next().unwrap_or_default().to_owned()
        } else if error.is_data() {
            "a value of the wrong type".to_owned()
        } else {
            "not JSON".to_owned()
        };
        ConfigError::Json {
            line: error.line(),
            what,
        }
    }
}

/// Whether a text can be the value of an HTTP header.
pub(super) fn is_header_text(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

impl Config {
    fn wrong<T>(&self, member: &'static str, what: impl Into<String>) -> Result<T, ConfigError> {
        Err(ConfigError::Member {
            vendor: self.name.clone(),
            member,
            what: what.into(),
        })
    }

    /// Checks everything except the secrets.
    ///
    /// # Errors
    /// The first error, with the name of the member.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.name.is_empty() || self.name.chars().count() > 100 {
            return self.wrong("name", "must have 1 to 100 characters");
        }
        self.check_request()?;
        let is_pointer = |pointer: &str| pointer.starts_with('/');
        if !is_pointer(&self.score) {
            return self.wrong("score", "must be a JSON pointer such as /data/score");
        }
        let Scale { from, to } = self.scale;
        if !(from.is_finite() && to.is_finite()) || from == to {
            return self.wrong("scale", "must be two different numbers");
        }
        if self.words.values().any(|score| !(0.0..=100.0).contains(score)) {
            return self.wrong("words", "must be scores from 0 to 100");
        }
        for (name, pointer) in &self.members {
            let Some(kind) = members::kind(name) else {
                return self.wrong("members", format!("{name} is no member of a report"));
            };
            if !is_pointer(pointer.at()) {
                return self.wrong("members", format!("{name} must be a JSON pointer"));
            }
            if let Pointer::Items { parts, .. } = pointer {
                for (part, at) in parts {
                    if !kind.parts().contains(&part.as_str()) {
                        return self.wrong("members", format!("{name} has no part {part}"));
                    }
                    if !is_pointer(at) {
                        return self.wrong("members", format!("{part} of {name} must be a JSON pointer"));
                    }
                }
            }
        }
        if !(1..=60_000).contains(&self.timeout_ms) {
            return self.wrong("timeoutMs", "must be 1 to 60000");
        }
        if self.retries > 5 {
            return self.wrong("retries", "must be 0 to 5");
        }
        if self.breaker.failures == 0 {
            return self.wrong("breaker", "failures must be at least 1");
        }
        if self.breaker.cool_down_ms > 3_600_000 {
            return self.wrong("breaker", "coolDownMs must be at most 3600000");
        }
        Ok(())
    }

    fn check_request(&self) -> Result<(), ConfigError> {
        let after = self
            .url
            .strip_prefix("https://")
            .or_else(|| self.url.strip_prefix("http://"));
        let Some(after) = after else {
            return self.wrong("url", "must begin with https:// or http://");
        };
        let host = after.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() || host.contains(['{', '@']) || !self.url.bytes().all(|b| b.is_ascii_graphic()) {
            return self.wrong(
                "url",
                "must name a host, without placeholder, credentials or spaces",
            );
        }
        let in_body = |body: &Value| body.to_string().contains("{query}");
        if !self.url.contains("{query}") && !self.body.as_ref().is_some_and(in_body) {
            return self.wrong("url", "must hold {query}, here or in the body");
        }
        if self
            .types
            .keys()
            .any(|kind| kind != "address" && kind != "transaction")
        {
            return self.wrong("types", "has words for address and transaction only");
        }
        for (name, value) in &self.headers {
            if !is_token(name) || !is_header_text(value) {
                return self.wrong("headers", "must be names and values of HTTP headers");
            }
        }
        match &self.authentication {
            Authentication::Header { name, .. } if !is_token(name) => {
                self.wrong("authentication", "name must be a header's name")
            }
            Authentication::Query { name, .. } if name.is_empty() => {
                self.wrong("authentication", "name must be a parameter's name")
            }
            _ => Ok(()),
        }
    }
}
