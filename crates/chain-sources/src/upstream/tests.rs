//! Requests follow the description, responses are checked, and each kind of failure has its own error.

use std::collections::VecDeque;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A transport with scripted responses that records its requests.
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

fn described(change: &Value) -> Value {
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
    config
}

fn vendor(change: &Value) -> Vendor {
    Vendor::new(serde_json::from_value(described(change)).unwrap()).unwrap()
}

fn ask(
    vendor: &Vendor,
    transport: &Scripted,
    currency: Currency,
    subject: Subject<'_>,
) -> Result<Answer, SourceError> {
    vendor.ask(transport, currency, subject, Instant::now() + PATIENCE)
}

const ADDRESS: Subject<'_> = Subject::Address("a:b/../c?d");

#[test]
fn requests_are_made_as_described() {
    let folder = tempfile::tempdir().unwrap();
    let secret = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{text}\n")).unwrap();
        json!({"file": file})
    };
    let good = || Scripted::new(vec![answered(200, r#"{"data": {"risk": 5}}"#)]);
    let transport = good();
    let basic = vendor(&json!({
        "types": {"address": "wallet"}, "currencies": {"btc": "bitcoin"},
        "authentication": {"kind": "basic", "username": secret("u", "u"), "password": secret("p", "pw")},
    }));
    let answer = ask(&basic, &transport, Currency::Btc, ADDRESS).unwrap();
    assert_eq!(answer.score, 50.0);
    let asked = &transport.asked()[0];
    assert_eq!(
        asked.url,
        "https://vendor.example/wallet/bitcoin/a%3Ab%2F..%2Fc%3Fd"
    );
    assert_eq!(
        asked.headers,
        [("authorization".to_owned(), "Basic dTpwdw==".to_owned())]
    );
    assert_eq!(basic.origin(), "https://vendor.example");

    let transport = good();
    let posted = vendor(&json!({
        "url": "https://vendor.example/v1?x=1",
        "body": {"items": [{"hash": "{query}", "kind": "{type}"}], "n": 1},
        "authentication": {"kind": "query", "name": "key", "value": secret("k", "a&b")},
    }));
    ask(&posted, &transport, Currency::Eth, Subject::Transaction("0x\"1")).unwrap();
    let asked = &transport.asked()[0];
    assert_eq!(asked.url, "https://vendor.example/v1?x=1&key=a%26b");
    let body: Value = serde_json::from_str(asked.body.as_ref().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"items": [{"hash": "0x\"1", "kind": "transaction"}], "n": 1})
    );

    for (authentication, header) in [
        (
            json!({"kind": "bearer", "token": secret("t", "t")}),
            ("authorization", "Bearer t"),
        ),
        (
            json!({"kind": "header", "name": "x-key", "value": secret("h", "k")}),
            ("x-key", "k"),
        ),
    ] {
        let transport = good();
        let vendor = vendor(&json!({"authentication": authentication}));
        ask(&vendor, &transport, Currency::Btc, ADDRESS).unwrap();
        assert_eq!(
            transport.asked()[0].headers,
            [(header.0.to_owned(), header.1.to_owned())]
        );
    }
}

#[test]
fn scores_are_checked_and_scaled() {
    let vendor = vendor(&json!({"scale": {"from": 1, "to": 0}, "words": {"Severe": 95}}));
    for (body, score) in [
        (
            r#"{"data": {"risk": 0.25, "unknown": [{}]}, "more": 1}"#,
            Some(75.0),
        ),
        (r#"{"data": {"risk": "0.25"}}"#, Some(75.0)),
        (r#"{"data": {"risk": "Severe"}}"#, Some(95.0)),
        (r#"{"data": {"risk": 0.93}}"#, Some(7.0)),
        (r#"{"data": {"risk": 1.5}}"#, None),
        (r#"{"data": {"risk": 1e999}}"#, None),
        (r#"{"data": {"risk": "NaN"}}"#, None),
        (r#"{"data": {"risk": "unheard of"}}"#, None),
        (r#"{"data": {"risk": null}}"#, None),
        (r#"{"data": {"risk": true}}"#, None),
        (r#"{"data": {}}"#, None),
        (r#"{"data": {"risk": 0.25}"#, None),
        ("[1]", None),
        ("<html>", None),
        ("", None),
    ] {
        let said = vendor.read(body.as_bytes(), ADDRESS);
        assert_eq!(said.as_ref().ok().map(|answer| answer.score), score, "{body}");
        assert!(said.err().is_none_or(|why| !why.contains("unheard")));
    }
}

#[test]
fn members_become_what_the_contract_says() {
    let vendor = vendor(&json!({"members": {
        "balance": "/data/sum", "entities": {"at": "/data/who", "name": "/label"}, "firstSeenReceiving": "/data/from",
        "numberOfTransactions": "/data/n", "exposures": "/data/why", "high": "/data/risk", "newAddress": "/data/~1new~0",
        "inputs": {"at": "/list/1", "address": "/a/0", "amount": "/b"},
    }}));
    let body = |members: &str| format!(r#"{{"data": {{"risk": 10, {members}}}}}"#);
    let address = |members: &str| vendor.read(body(members).as_bytes(), ADDRESS);
    let read = address(
        r#""sum": 123456789012345678901.5, "from": 1700000000, "n": "18446744073709551615", "why": {"a": 1}, "/new~": false,
           "who": [{"label": "X", "category": "mixer", "unknown": 1}]"#,
    )
    .unwrap();
    assert_eq!(
        Value::Object(read.members),
        json!({
            "balance": "123456789012345678901.5", "firstSeenReceiving": "2023-11-14T22:13:20.000Z",
            "numberOfTransactions": 18_446_744_073_709_551_615_u64, "exposures": {"a": 1, "source": "vendor"},
            "newAddress": false, "entities": [{"name": "X", "category": "mixer"}],
        })
    );
    let none = address(r#""sum": null"#).unwrap();
    assert_eq!(
        Value::Object(none.members),
        json!({"exposures": {"source": "vendor"}})
    );
    for (wrong, name) in [
        (r#""sum": -1"#, "balance"),
        (r#""sum": [1]"#, "balance"),
        (r#""n": 18446744073709551616"#, "numberOfTransactions"),
        (r#""n": 1.5"#, "numberOfTransactions"),
        (r#""from": "yesterday""#, "firstSeenReceiving"),
        (r#""from": 9223372036854775807"#, "firstSeenReceiving"),
        (r#""from": -9223372036854775808"#, "firstSeenReceiving"),
        (r#""who": [{"label": "X"}]"#, "entities"),
        (r#""who": {"label": "X"}"#, "entities"),
        (r#""why": "because""#, "exposures"),
        (
            r#""why": {"a": {"$serde_json::private::RawValue": "1"}}"#,
            "exposures",
        ),
        (r#""/new~": 1"#, "newAddress"),
    ] {
        let why = address(wrong).unwrap_err();
        assert_eq!(why, format!("{name} is of another type"));
    }
    let text = r#"{"data": {"risk": 1, "sum": "x"}, "list": [0, [{"a": ["p"], "b": 1e-18}, {"a": [null], "b": "2"}]]}"#;
    let read = vendor.read(text.as_bytes(), Subject::Transaction("t")).unwrap();
    assert_eq!(
        Value::Object(read.members),
        json!({
            "high": 10.0, "exposures": {"source": "vendor"},
            "inputs": [{"address": "p", "amount": "0.000000000000000001"}, {"address": null, "amount": "2"}],
        })
    );
}

#[test]
fn failures_are_told_apart_and_the_transient_ones_repeated() {
    for (answer, times, expected) in [
        (answered(500, ""), 2, "cannot be reached: vendor answered 500"),
        (answered(429, ""), 2, "cannot be reached: vendor answered 429"),
        (answered(401, ""), 1, "nonsense: vendor: it answered 401"),
        (answered(302, ""), 1, "nonsense: vendor: it answered 302"),
        (answered(404, ""), 1, "no such thing"),
        (answered(200, "<"), 1, "nonsense: vendor: no JSON"),
        (answered(200, r#"{"data": 5}"#), 1, "nonsense: vendor: no score"),
        (Err(TransportError::TimedOut), 2, "too long"),
        (Err(TransportError::TooLarge), 1, "too large"),
        (
            Err(TransportError::Unreachable("refused".to_owned())),
            2,
            "vendor: refused",
        ),
    ] {
        let transport = Scripted::new(vec![answer.clone(), answer]);
        let error = ask(&vendor(&json!({})), &transport, Currency::Btc, ADDRESS).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(transport.asked().len(), times, "{expected}");
    }
    let transport = Scripted::new(vec![
        answered(503, ""),
        answered(200, r#"{"data": {"risk": 10}}"#),
    ]);
    let answer = ask(&vendor(&json!({})), &transport, Currency::Btc, ADDRESS).unwrap();
    assert_eq!(answer.score, 100.0);
    let late = vendor(&json!({})).ask(&transport, Currency::Btc, ADDRESS, Instant::now());
    assert_eq!(late.unwrap_err(), SourceError::TimedOut);
}

#[test]
fn a_failing_vendor_is_left_alone_for_a_while() {
    let patient = vendor(&json!({"retries": 0, "breaker": {"failures": 2, "coolDownMs": 60}}));
    let good = answered(200, r#"{"data": {"risk": 1}}"#);
    let transport = Scripted::new(vec![answered(500, ""), answered(500, ""), good]);
    for _ in 0..5 {
        assert!(ask(&patient, &transport, Currency::Btc, ADDRESS).is_err());
    }
    assert_eq!(transport.asked().len(), 2);
    std::thread::sleep(Duration::from_millis(80));
    let answer = ask(&patient, &transport, Currency::Btc, ADDRESS).unwrap();
    assert_eq!(answer.score, 10.0);

    // A refused query (400) is the caller's error and does not open the breaker.
    let refused = Scripted::new(vec![answered(400, ""); 5]);
    for _ in 0..5 {
        assert!(ask(&patient, &refused, Currency::Btc, ADDRESS).is_err());
    }
    assert_eq!(refused.asked().len(), 5);
}

fn read(list: &[Value]) -> Result<Upstreams, ConfigError> {
    Upstreams::read(&json!({"order": "upstreamsFirst", "upstreams": list}).to_string())
}

#[test]
fn vendors_are_asked_in_order() {
    let all = read(&[
        described(&json!({"name": "first", "retries": 0})),
        described(&json!({"name": "other chains", "chains": ["eth"]})),
        described(&json!({"name": "second", "retries": 0})),
    ])
    .unwrap();
    assert!(all.first);
    let good = || answered(200, r#"{"data": {"risk": 1}}"#);
    let ask = |answers| all.ask(&Scripted::new(answers), Currency::Btc, ADDRESS);
    assert_eq!(ask(vec![good()]).unwrap().vendor, "first");
    assert_eq!(ask(vec![answered(500, ""), good()]).unwrap().vendor, "second");
    assert_eq!(ask(vec![answered(404, ""), good()]).unwrap().vendor, "second");
    assert_eq!(
        ask(vec![answered(404, ""), answered(404, "")]).unwrap_err(),
        SourceError::NotFound
    );
    let both = ask(vec![Err(TransportError::TimedOut), answered(404, "")]);
    assert_eq!(both.unwrap_err(), SourceError::TimedOut);
    let none = Upstreams::default().ask(&Scripted::new(Vec::new()), Currency::Btc, ADDRESS);
    assert!(matches!(none, Err(SourceError::Unsupported(_))));
}

#[test]
fn wrong_descriptions_are_refused_without_repeating_them() {
    assert!(read(&[described(&json!({}))]).is_ok());
    for (name, value, expected) in [
        ("url", json!("ftp://v/{query}"), "vendor: url - must begin"),
        ("url", json!("https://v/"), "url - must hold {query}"),
        ("url", json!("https:///{query}"), "url - must name a host"),
        ("url", json!("https://u:pw@v/{query}"), "url - must name a host"),
        ("score", json!("s"), "score - must be a JSON pointer"),
        ("scale", json!({"from": 1, "to": 1}), "scale - "),
        ("words", json!({"x": 101}), "words - "),
        ("members", json!({"risk": "/r"}), "members - risk is no member"),
        ("members", json!({"balance": "r"}), "members - balance must be"),
        (
            "members",
            json!({"flags": {"at": "/f", "amount": "/x"}}),
            "members - flags has no part amount",
        ),
        ("timeoutMs", json!(0), "timeoutMs - "),
        ("retries", json!(50), "retries - "),
        ("types", json!({"wallet": "w"}), "types - "),
        ("headers", json!({"x-a": "b\r\nx: pw"}), "headers - "),
        ("unknown", json!(1), "unknown field"),
        ("authentication", json!("pw"), "a value of the wrong type"),
        (
            "authentication",
            json!({"kind": "bearer", "token": "pw"}),
            "a secret is {\"env\": VARIABLE}",
        ),
        (
            "authentication",
            json!({"kind": "bearer", "token": {"env": "BONAFIDE_TEST_NOT_SET"}}),
            "authentication - the variable BONAFIDE_TEST_NOT_SET cannot be read",
        ),
        (
            "authentication",
            json!({"kind": "bearer", "token": {"file": "/nowhere/token"}}),
            "authentication - the file /nowhere/token cannot be read",
        ),
    ] {
        let error = read(&[described(&json!({name: value}))])
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("pw"), "{error}");
    }
    let twice = read(&[described(&json!({})), described(&json!({}))])
        .err()
        .unwrap();
    assert_eq!(twice, ConfigError::DuplicateName("vendor".to_owned()));
    let error = Upstreams::read("{\n\"upstreams\": [pw]}").err().unwrap();
    assert_eq!(error.to_string(), "line 2: not JSON");
}

proptest! {
    #[test]
    fn nothing_that_a_vendor_sends_panics(body in any::<Vec<u8>>(), text in r#"[\[\]{}":,0-9a-z/.eE+-]{0,80}"#) {
        let vendor = vendor(&json!({"score": "/a/0", "members": {"balance": "/b", "inputs": "/c", "timestamp": "/a/0"}}));
        let _ = vendor.read(&body, Subject::Transaction("t"));
        let _ = vendor.read(text.as_bytes(), Subject::Transaction("t"));
        let whole = format!(r#"{{"a": [{text}], "b": {text}, "c": [{{"amount": {text}}}]}}"#);
        let _ = vendor.read(whole.as_bytes(), Subject::Transaction("t"));
    }
}
