//! A vendor's HTTP service as a source of scores, described by configuration: URL template, authentication, JSON pointers,
//! scale, time-out, retries, breaker, and the order of fallbacks.
//!
//! No vendor is named here. Credentials are never printed; what a vendor answers is checked before it is believed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::currency::Currency;
use crate::ondemand::{HttpRequest, HttpResponse, Transport, TransportError};
use crate::screen::Subject;
use crate::source::SourceError;

/// A secret: its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Credential(String);

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// How a vendor knows its customer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind", deny_unknown_fields)]
pub enum Authentication {
    /// It does not.
    #[default]
    None,
    /// HTTP Basic.
    Basic {
        /// The name.
        username: Credential,
        /// The password.
        password: Credential,
    },
    /// `Authorization: Bearer …`.
    Bearer {
        /// The token.
        token: Credential,
    },
    /// A header of the vendor's own.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: Credential,
    },
    /// A parameter of the URL.
    Query {
        /// Its name.
        name: String,
        /// Its value.
        value: Credential,
    },
}

/// Which values of a vendor's score are 0 and 100 here; `from` may be the larger.
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

/// When a failing vendor is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breaker {
    /// After so many failures in a row.
    pub failures: u32,
    /// For so long.
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
    /// Its name in answers.
    pub name: String,
    /// The chains it is asked about; empty: all.
    #[serde(default)]
    pub chains: Vec<Currency>,
    /// Where to ask: `https://…/{type}/{currency}/{query}`.
    pub url: String,
    /// A JSON body with the same placeholders within its texts; makes it a POST.
    pub body: Option<Value>,
    /// How it knows its customer.
    #[serde(default)]
    pub authentication: Authentication,
    /// Other headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What `{type}` becomes: its words for `address` and `transaction`.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// What `{currency}` becomes, where it is not our code.
    #[serde(default)]
    pub currencies: BTreeMap<Currency, String>,
    /// The JSON pointer of the score.
    pub score: String,
    /// The score's scale.
    #[serde(default)]
    pub scale: Scale,
    /// Scores that are words, such as `"High": 80`; on our scale.
    #[serde(default)]
    pub words: BTreeMap<String, f64>,
    /// JSON pointers of the detailed report's other members, by the contract's names.
    #[serde(default)]
    pub members: BTreeMap<String, String>,
    /// How long one request may take.
    #[serde(default = "five_seconds")]
    pub timeout_ms: u64,
    /// How often a failed request is repeated.
    #[serde(default = "once")]
    pub retries: u32,
    /// When it is left alone.
    #[serde(default)]
    pub breaker: Breaker,
}

fn five_seconds() -> u64 {
    5_000
}

fn once() -> u32 {
    1
}

/// The detailed report's members that a vendor may fill (contract §4.9).
const MEMBERS: [&str; 31] = [
    "newAddress",
    "entities",
    "flags",
    "cluster",
    "firstSeenReceiving",
    "firstSeenSending",
    "lastSeenReceiving",
    "lastSeenSending",
    "receivedAmount",
    "sentAmount",
    "balance",
    "numberOfTransactions",
    "receivedTransactions",
    "sentTransactions",
    "isOwner",
    "ownerAddress",
    "organizationLabelName",
    "organizationLabelId",
    "exposures",
    "low",
    "median",
    "average",
    "high",
    "timestamp",
    "amount",
    "amountFiat",
    "fees",
    "feesFiat",
    "inputs",
    "outputs",
    "tokenMetadata",
];

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadConfig {
    /// Not the JSON of a description.
    #[error("{0}")]
    Json(String),
    /// A member's value.
    #[error("{0} - {1}")]
    Member(&'static str, String),
}

/// What a vendor said.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which vendor.
    pub vendor: String,
    /// The score, 0-100.
    pub score: f64,
    /// Other members of the detailed report.
    pub members: Map<String, Value>,
}

#[derive(Default)]
struct Failures {
    in_a_row: u32,
    open_until: Option<Instant>,
}

/// One vendor.
pub struct Upstream {
    config: Config,
    failures: Mutex<Failures>,
}

impl Upstream {
    /// A vendor by its description.
    ///
    /// # Errors
    /// What is wrong with the description, naming the member.
    pub fn new(config: Config) -> Result<Upstream, BadConfig> {
        let wrong = |member: &'static str, why: &str| Err(BadConfig::Member(member, why.to_owned()));
        if !(config.url.starts_with("https://") || config.url.starts_with("http://")) {
            return wrong("url", "must begin with https:// or http://");
        }
        let asks = config.url.contains("{query}")
            || config
                .body
                .as_ref()
                .is_some_and(|body| body.to_string().contains("{query}"));
        if !asks {
            return wrong("url", "must hold {query}, here or in the body");
        }
        if !config.score.starts_with('/') {
            return wrong("score", "must be a JSON pointer such as /data/score");
        }
        if !(config.scale.from.is_finite() && config.scale.to.is_finite())
            || config.scale.from == config.scale.to
        {
            return wrong("scale", "must be two different numbers");
        }
        if config.words.values().any(|score| !(0.0..=100.0).contains(score)) {
            return wrong("words", "must be scores from 0 to 100");
        }
        for (name, pointer) in &config.members {
            if !MEMBERS.contains(&name.as_str()) {
                return Err(BadConfig::Member(
                    "members",
                    format!("{name} is no member of a report"),
                ));
            }
            if !pointer.starts_with('/') {
                return Err(BadConfig::Member(
                    "members",
                    format!("{name} must be a JSON pointer"),
                ));
            }
        }
        if !(1..=60_000).contains(&config.timeout_ms) {
            return wrong("timeoutMs", "must be 1 to 60000");
        }
        if config.retries > 5 {
            return wrong("retries", "must be 0 to 5");
        }
        if config.breaker.failures == 0 {
            return wrong("breaker", "failures must be at least 1");
        }
        Ok(Upstream {
            config,
            failures: Mutex::default(),
        })
    }

    /// Reads a list of descriptions, in the order in which they are asked.
    ///
    /// # Errors
    /// What is wrong with the first wrong one.
    pub fn list(json: &str) -> Result<Vec<Upstream>, BadConfig> {
        let configs: Vec<Config> =
            serde_json::from_str(json).map_err(|error| BadConfig::Json(error.to_string()))?;
        configs.into_iter().map(Upstream::new).collect()
    }

    /// Whether it is asked about a chain.
    pub fn serves(&self, currency: Currency) -> bool {
        self.config.chains.is_empty() || self.config.chains.contains(&currency)
    }

    /// Asks.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] when the vendor says 404; otherwise what went wrong, or that it is left alone.
    pub fn ask(
        &self,
        transport: &dyn Transport,
        currency: Currency,
        subject: Subject<'_>,
    ) -> Result<Answer, SourceError> {
        let now = Instant::now();
        {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            if failures.open_until.is_some_and(|until| now < until) {
                return Err(SourceError::Unreachable(
                    "it failed repeatedly and is left alone".to_owned(),
                ));
            }
            // One request at a time tries whether it is back.
            if failures.open_until.is_some() {
                failures.open_until = Some(now + Duration::from_millis(self.config.breaker.cool_down_ms));
            }
        }
        let answer = self.tried(transport, currency, subject);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Ok(_) | Err(SourceError::NotFound) => *failures = Failures::default(),
            Err(_) => {
                failures.in_a_row += 1;
                if failures.in_a_row >= self.config.breaker.failures {
                    failures.open_until =
                        Some(Instant::now() + Duration::from_millis(self.config.breaker.cool_down_ms));
                }
            }
        }
        answer
    }

    fn tried(
        &self,
        transport: &dyn Transport,
        currency: Currency,
        subject: Subject<'_>,
    ) -> Result<Answer, SourceError> {
        let request = self.request(currency, subject);
        let mut attempt = 0;
        loop {
            let (error, transient) = match transport.send(&request) {
                Ok(HttpResponse { status: 200, body }) => return self.read(&body),
                Ok(HttpResponse { status: 404, .. }) => return Err(SourceError::NotFound),
                Ok(HttpResponse {
                    status: status @ (429 | 500..),
                    ..
                }) => (
                    SourceError::Unreachable(format!("{} answered {status}", self.config.name)),
                    true,
                ),
                Ok(HttpResponse { status, .. }) => (self.nonsense(&format!("it answered {status}")), false),
                Err(TransportError::Unreachable(why)) => (
                    SourceError::Unreachable(format!("{}: {why}", self.config.name)),
                    true,
                ),
                Err(TransportError::TimedOut) => (SourceError::TimedOut, true),
                Err(TransportError::TooLarge) => (self.nonsense("the answer is too large"), false),
            };
            if !transient || attempt == self.config.retries {
                return Err(error);
            }
            attempt += 1;
        }
    }

    fn nonsense(&self, why: &str) -> SourceError {
        SourceError::Nonsense(format!("{}: {why}", self.config.name))
    }

    fn request(&self, currency: Currency, subject: Subject<'_>) -> HttpRequest {
        let (kind, query) = match subject {
            Subject::Address(address) => ("address", address),
            Subject::Transaction(id) => ("transaction", id),
        };
        let kind = self.config.types.get(kind).map_or(kind, String::as_str);
        let currency = self
            .config
            .currencies
            .get(&currency)
            .map_or(currency.code(), String::as_str);
        let fill = |text: &str, encode: fn(&str) -> String| {
            // The query goes last: what it holds is not a template.
            text.replace("{type}", &encode(kind))
                .replace("{currency}", &encode(currency))
                .replace("{query}", &encode(query))
        };
        let mut url = fill(&self.config.url, url_encoded);
        let mut headers: Vec<(String, String)> = self
            .config
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        match &self.config.authentication {
            Authentication::None => {}
            Authentication::Basic { username, password } => {
                headers.push((
                    "authorization".to_owned(),
                    format!("Basic {}", base64(&format!("{}:{}", username.0, password.0))),
                ));
            }
            Authentication::Bearer { token } => {
                headers.push(("authorization".to_owned(), format!("Bearer {}", token.0)));
            }
            Authentication::Header { name, value } => headers.push((name.clone(), value.0.clone())),
            Authentication::Query { name, value } => {
                let join = if url.contains('?') { '&' } else { '?' };
                url = format!("{url}{join}{}={}", url_encoded(name), url_encoded(&value.0));
            }
        }
        let body = self
            .config
            .body
            .as_ref()
            .map(|body| filled(body, &|text| fill(text, str::to_owned)).to_string());
        HttpRequest {
            url,
            headers,
            body,
            timeout: Duration::from_millis(self.config.timeout_ms),
        }
    }

    fn read(&self, body: &[u8]) -> Result<Answer, SourceError> {
        let body: Value = serde_json::from_slice(body).map_err(|_| self.nonsense("no JSON"))?;
        let score = body
            .pointer(&self.config.score)
            .ok_or_else(|| self.nonsense("no score"))?;
        let number = match score {
            Value::Number(number) => number.as_f64(),
            Value::String(word) => match self.config.words.get(word) {
                Some(score) => return Ok(self.answer(*score, &body)),
                None => word.parse().ok(),
            },
            _ => None,
        };
        let number = number.ok_or_else(|| self.nonsense("a score that is no number"))?;
        let Scale { from, to } = self.config.scale;
        let score = (number - from) / (to - from) * 100.0;
        if !(0.0..=100.0).contains(&score) {
            return Err(self.nonsense("a score outside its scale"));
        }
        Ok(self.answer(score, &body))
    }

    fn answer(&self, score: f64, body: &Value) -> Answer {
        let members = self
            .config
            .members
            .iter()
            .filter_map(|(name, pointer)| Some((name.clone(), body.pointer(pointer)?.clone())))
            .filter(|(_, value)| !value.is_null())
            .collect();
        Answer {
            vendor: self.config.name.clone(),
            score,
            members,
        }
    }
}

/// Asks vendors in order until one answers.
///
/// # Errors
/// The first failure; [`SourceError::NotFound`] only when every vendor that could be asked says so;
/// [`SourceError::Unsupported`] when none serves the chain.
pub fn ask_in_order(
    upstreams: &[Upstream],
    transport: &dyn Transport,
    currency: Currency,
    subject: Subject<'_>,
) -> Result<Answer, SourceError> {
    let mut failed = None;
    let mut missing = false;
    for upstream in upstreams.iter().filter(|upstream| upstream.serves(currency)) {
        match upstream.ask(transport, currency, subject) {
            Ok(answer) => return Ok(answer),
            Err(SourceError::NotFound) => missing = true,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) => Err(error),
        None if missing => Err(SourceError::NotFound),
        None => Err(SourceError::Unsupported("no upstream serves this chain")),
    }
}

/// Fills the placeholders of every text within a JSON value.
fn filled(value: &Value, fill: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => fill(text).into(),
        Value::Array(values) => values.iter().map(|value| filled(value, fill)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, fill)))
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

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (place, byte)| {
            bits | u32::from(*byte) << (16 - 8 * place)
        });
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            encoded.push(if place <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use serde_json::json;

    use super::*;

    /// Answers in turn, and remembers what it was asked.
    struct Scripted {
        answers: Mutex<VecDeque<Result<HttpResponse, TransportError>>>,
        asked: Mutex<Vec<HttpRequest>>,
    }

    impl Scripted {
        fn new(answers: Vec<Result<HttpResponse, TransportError>>) -> Scripted {
            Scripted {
                answers: Mutex::new(answers.into()),
                asked: Mutex::default(),
            }
        }

        fn asked(&self) -> Vec<HttpRequest> {
            self.asked.lock().unwrap().clone()
        }
    }

    impl Transport for Scripted {
        fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
            self.asked.lock().unwrap().push(request.clone());
            self.answers
                .lock()
                .unwrap()
                .pop_front()
                .unwrap_or(Err(TransportError::Unreachable("end".to_owned())))
        }
    }

    fn answered(status: u16, body: &str) -> Result<HttpResponse, TransportError> {
        Ok(HttpResponse {
            status,
            body: body.as_bytes().to_vec(),
        })
    }

    fn upstream(change: Value) -> Upstream {
        let mut config = json!({
            "name": "vendor",
            "url": "https://vendor.example/{type}/{currency}/{query}",
            "score": "/data/risk",
            "scale": {"from": 0, "to": 10},
            "retries": 1,
            "breaker": {"failures": 2, "coolDownMs": 20},
        });
        for (name, value) in change.as_object().unwrap() {
            config[name.as_str()] = value.clone();
        }
        Upstream::new(serde_json::from_value(config).unwrap()).unwrap()
    }

    const ADDRESS: Subject<'_> = Subject::Address("a:b/../c?d");

    #[test]
    fn requests_are_made_as_described() {
        let good = || Scripted::new(vec![answered(200, r#"{"data": {"risk": 5}}"#)]);
        let transport = good();
        let vendor = upstream(json!({
            "types": {"address": "wallet"}, "currencies": {"btc": "bitcoin"},
            "authentication": {"kind": "basic", "username": "u", "password": "pw"},
        }));
        assert_eq!(
            vendor.ask(&transport, Currency::Btc, ADDRESS).unwrap().score,
            50.0
        );
        let asked = &transport.asked()[0];
        assert_eq!(
            asked.url,
            "https://vendor.example/wallet/bitcoin/a%3Ab%2F..%2Fc%3Fd"
        );
        assert_eq!(
            asked.headers,
            [("authorization".to_owned(), "Basic dTpwdw==".to_owned())]
        );
        assert!(!format!("{:?}", vendor.config).contains("pw"));

        let transport = good();
        let vendor = upstream(json!({
            "url": "https://vendor.example/v1?x=1",
            "body": {"items": [{"hash": "{query}", "kind": "{type}"}], "n": 1},
            "authentication": {"kind": "query", "name": "key", "value": "a&b"},
        }));
        vendor
            .ask(&transport, Currency::Eth, Subject::Transaction("0x\"1"))
            .unwrap();
        let asked = &transport.asked()[0];
        assert_eq!(asked.url, "https://vendor.example/v1?x=1&key=a%26b");
        let body: Value = serde_json::from_str(asked.body.as_ref().unwrap()).unwrap();
        assert_eq!(
            body,
            json!({"items": [{"hash": "0x\"1", "kind": "transaction"}], "n": 1})
        );

        for (authentication, header) in [
            (
                json!({"kind": "bearer", "token": "t"}),
                ("authorization", "Bearer t"),
            ),
            (
                json!({"kind": "header", "name": "x-key", "value": "k"}),
                ("x-key", "k"),
            ),
        ] {
            let transport = good();
            upstream(json!({"authentication": authentication}))
                .ask(&transport, Currency::Btc, ADDRESS)
                .unwrap();
            assert_eq!(
                transport.asked()[0].headers,
                [(header.0.to_owned(), header.1.to_owned())]
            );
        }
    }

    #[test]
    fn answers_are_checked_and_scaled() {
        let vendor = upstream(json!({
            "scale": {"from": 1, "to": 0}, "words": {"Severe": 95},
            "members": {"balance": "/data/sum", "entities": "/data/who"},
        }));
        for (body, score) in [
            (r#"{"data": {"risk": 0.25}}"#, Some(75.0)),
            (r#"{"data": {"risk": "0.25"}}"#, Some(75.0)),
            (r#"{"data": {"risk": "Severe"}}"#, Some(95.0)),
            (r#"{"data": {"risk": 1.5}}"#, None),
            (r#"{"data": {"risk": "NaN"}}"#, None),
            (r#"{"data": {"risk": "unheard of"}}"#, None),
            (r#"{"data": {"risk": null}}"#, None),
            (r#"{"data": {}}"#, None),
            ("[1]", None),
            ("<html>", None),
            ("", None),
        ] {
            let said = vendor.read(body.as_bytes());
            assert_eq!(said.as_ref().ok().map(|answer| answer.score), score, "{body}");
            assert!(said.is_ok() || matches!(said, Err(SourceError::Nonsense(_))));
        }
        let said = vendor
            .read(br#"{"data": {"risk": 1, "sum": "5", "who": null}}"#)
            .unwrap();
        assert_eq!(Value::Object(said.members), json!({"balance": "5"}));
    }

    #[test]
    fn failures_are_told_apart_and_the_transient_ones_repeated() {
        for (answer, times, expected) in [
            (answered(500, ""), 2, "cannot be reached: vendor answered 500"),
            (answered(429, ""), 2, "cannot be reached: vendor answered 429"),
            (answered(401, ""), 1, "nonsense: vendor: it answered 401"),
            (answered(404, ""), 1, "no such thing"),
            (answered(200, "<"), 1, "nonsense: vendor: no JSON"),
            (Err(TransportError::TimedOut), 2, "too long"),
            (Err(TransportError::TooLarge), 1, "too large"),
            (
                Err(TransportError::Unreachable("refused".to_owned())),
                2,
                "vendor: refused",
            ),
        ] {
            let transport = Scripted::new(vec![answer.clone(), answer]);
            let error = upstream(json!({}))
                .ask(&transport, Currency::Btc, ADDRESS)
                .unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(transport.asked().len(), times, "{expected}");
        }
        let transport = Scripted::new(vec![
            answered(503, ""),
            answered(200, r#"{"data": {"risk": 10}}"#),
        ]);
        assert_eq!(
            upstream(json!({}))
                .ask(&transport, Currency::Btc, ADDRESS)
                .unwrap()
                .score,
            100.0
        );
    }

    #[test]
    fn a_failing_vendor_is_left_alone_for_a_while() {
        let vendor = upstream(json!({"retries": 0, "breaker": {"failures": 2, "coolDownMs": 60}}));
        let good = answered(200, r#"{"data": {"risk": 1}}"#);
        let transport = Scripted::new(vec![answered(500, ""), answered(500, ""), good]);
        for _ in 0..5 {
            assert!(vendor.ask(&transport, Currency::Btc, ADDRESS).is_err());
        }
        assert_eq!(transport.asked().len(), 2);
        std::thread::sleep(Duration::from_millis(80));
        assert_eq!(
            vendor.ask(&transport, Currency::Btc, ADDRESS).unwrap().score,
            10.0
        );
    }

    #[test]
    fn vendors_are_asked_in_order() {
        let all = || {
            vec![
                upstream(json!({"name": "first", "retries": 0})),
                upstream(json!({"name": "other chains", "chains": ["eth"]})),
                upstream(json!({"name": "second", "retries": 0})),
            ]
        };
        let good = || answered(200, r#"{"data": {"risk": 1}}"#);
        let ask = |answers| ask_in_order(&all(), &Scripted::new(answers), Currency::Btc, ADDRESS);
        assert_eq!(ask(vec![good()]).unwrap().vendor, "first");
        assert_eq!(ask(vec![answered(500, ""), good()]).unwrap().vendor, "second");
        assert_eq!(ask(vec![answered(404, ""), good()]).unwrap().vendor, "second");
        assert_eq!(
            ask(vec![answered(404, ""), answered(404, "")]).unwrap_err(),
            SourceError::NotFound
        );
        let both = ask(vec![Err(TransportError::TimedOut), answered(404, "")]);
        assert_eq!(both.unwrap_err(), SourceError::TimedOut);
        let none = ask_in_order(&[], &Scripted::new(Vec::new()), Currency::Btc, ADDRESS);
        assert!(matches!(none, Err(SourceError::Unsupported(_))));
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        let base = json!([{"name": "v", "url": "https://v/{query}", "score": "/s"}]);
        assert!(Upstream::list(&base.to_string()).is_ok());
        for (name, value, expected) in [
            ("url", json!("ftp://v/{query}"), "url - must begin"),
            ("url", json!("https://v/"), "url - must hold {query}"),
            ("score", json!("s"), "score - must be a JSON pointer"),
            ("scale", json!({"from": 1, "to": 1}), "scale - "),
            ("members", json!({"risk": "/r"}), "members - risk is no member"),
            ("timeoutMs", json!(0), "timeoutMs - "),
            ("retries", json!(50), "retries - "),
            ("unknown", json!(1), "unknown field"),
        ] {
            let mut config = base.clone();
            config[0][name] = value;
            let error = Upstream::list(&config.to_string()).err().unwrap();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
