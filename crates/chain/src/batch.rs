//! The `check-address` command: each input line is a JSON object and gives one output line, even if it is
//! wrong. Also measures the address rules against a file of vectors.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::address::{Address, AddressError, MAX_LENGTH};
use crate::currency::Currency;
use crate::hash::TransactionHash;
use crate::secret;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    chain: String,
    value: String,
    #[serde(default)]
    kind: Option<String>,
}

/// The result of checking one value.
struct CheckResult {
    kind: Option<String>,
    canonical: Option<String>,
    payload: Option<String>,
    reason: Option<String>,
    secret: bool,
}

impl CheckResult {
    fn refused(reason: &AddressError) -> CheckResult {
        CheckResult {
            kind: None,
            canonical: None,
            payload: None,
            reason: Some(reason.to_string()),
            secret: matches!(reason, AddressError::Secret(_)),
        }
    }
}

fn check_value(currency: Currency, kind: &str, value: &str) -> CheckResult {
    let found = |kind: Option<String>, canonical, payload: Option<&[u8]>| CheckResult {
        kind,
        canonical: Some(canonical),
        payload: payload.map(hex::encode),
        reason: None,
        secret: false,
    };
    if kind == "transaction" {
        return match TransactionHash::parse(currency, value) {
            Ok(hash) => found(None, hash.canonical, None),
            Err(error) => CheckResult::refused(&error),
        };
    }
    match Address::parse(currency, value) {
        Ok(address) => {
            let kind = address.kind.name().into_owned();
            found(Some(kind), address.canonical, Some(&address.payload))
        }
        Err(error) => CheckResult::refused(&error),
    }
}

/// Answers one line of `check-address`. A secret, or a text that may contain one, is not repeated: the member
/// is null.
pub fn answer_line(line: &str) -> String {
    let line: Line = match serde_json::from_str(line) {
        Ok(line) => line,
        // serde_json's error may quote the text.
        Err(_) => return refused("not an object with chain, value and perhaps kind, all texts"),
    };
    let kind = line.kind.as_deref().unwrap_or("address");
    if !matches!(kind, "address" | "transaction") {
        return refused("kind - must be address or transaction");
    }
    let verdict = match line.chain.parse::<Currency>() {
        Ok(currency) => check_value(currency, kind, &line.value),
        Err(_) => CheckResult {
            secret: secret::recognise(&line.value).is_some(),
            ..CheckResult::refused(&AddressError::Form("the chain is not known here"))
        },
    };
    let valid = verdict.reason.is_none();
    let tellable = line.value.len() <= MAX_LENGTH && line.value.bytes().all(|byte| byte.is_ascii_graphic());
    let value = (valid || (tellable && !verdict.secret)).then_some(&line.value);
    json!({
        "chain": secret::code(&line.chain),
        "value": value,
        "kind": kind,
        "valid": valid,
        "type": verdict.kind,
        "canonical": verdict.canonical,
        "payload": verdict.payload,
        "reason": verdict.reason,
    })
    .to_string()
}

fn refused(reason: &str) -> String {
    json!({
        "chain": null, "value": null, "kind": null, "valid": false, "type": null, "canonical": null, "payload": null,
        "reason": reason,
    })
    .to_string()
}

/// The result of measuring a file of vectors.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The number of vectors of supported chains.
    pub vectors: usize,
    /// The number of vectors of other chains.
    pub unknown: usize,
    /// The number of invalid values that were accepted.
    pub wrongly_accepted: usize,
    /// The number of valid values that were refused.
    pub wrongly_refused: usize,
    /// The number of values that were accepted as another type or with other bytes.
    pub otherwise_read: usize,
    /// One line for each of the last three: the vector's position in the file, and what is wrong.
    pub faults: Vec<String>,
    /// For each disagreement that the file lists: the origin's result, ours, and our reason.
    pub disagreements: Vec<String>,
}

#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vector>,
    #[serde(default, alias = "disagreements_with_origin")]
    disagreements: Vec<Disagreement>,
}

#[derive(Deserialize)]
struct Vector {
    chain: String,
    kind: String,
    value: String,
    valid: bool,
    #[serde(rename = "type")]
    form: Option<String>,
    payload_hex: Option<String>,
}

#[derive(Deserialize)]
struct Disagreement {
    chain: String,
    value: String,
    origin_says_valid: bool,
}

/// Compares our results with those of a file: `{"vectors":
/// [{"chain","kind","value","valid","type","payload_hex"}]}`.
///
/// # Errors
/// When the text is not such a file.
pub fn measure(text: &str) -> Result<Measured, &'static str> {
    let file: Vectors = serde_json::from_str(text)
        .map_err(|_| "not a file of vectors: {\"vectors\": [{\"chain\", \"kind\", \"value\", \"valid\"}]}")?;
    let mut measured = Measured::default();
    for (at, vector) in file.vectors.iter().enumerate() {
        let Ok(currency) = vector.chain.parse::<Currency>() else {
            measured.unknown += 1;
            continue;
        };
        measured.vectors += 1;
        let verdict = check_value(currency, &vector.kind, &vector.value);
        let valid = verdict.reason.is_none();
        let other = |ours: &Option<String>, theirs: &Option<String>| theirs.is_some() && ours != theirs;
        let fault = match (valid, vector.valid) {
            (true, false) => {
                measured.wrongly_accepted += 1;
                "accepted, and invalid".to_owned()
            }
            (false, true) => {
                measured.wrongly_refused += 1;
                format!("refused, and valid: {}", verdict.reason.unwrap_or_default())
            }
            (true, true)
                if other(&verdict.kind, &vector.form) || other(&verdict.payload, &vector.payload_hex) =>
            {
                measured.otherwise_read += 1;
                format!(
                    "read as {}, another type or other bytes than given",
                    verdict.kind.unwrap_or_default()
                )
            }
            _ => continue,
        };
        measured
            .faults
            .push(format!("vector {at} ({currency} {}): {fault}", vector.kind));
    }
    for disagreement in &file.disagreements {
        let Ok(currency) = disagreement.chain.parse::<Currency>() else {
            continue;
        };
        let ours = check_value(currency, "address", &disagreement.value);
        measured.disagreements.push(format!(
            "{currency}: origin says {}, we say {}",
            if disagreement.origin_says_valid {
                "valid"
            } else {
                "invalid"
            },
            ours.reason
                .map_or("valid".to_owned(), |reason| format!("invalid: {reason}")),
        ));
    }
    Ok(measured)
}

/// Converts the report to one JSON object.
impl From<&Measured> for Value {
    fn from(measured: &Measured) -> Value {
        json!({
            "vectors": measured.vectors,
            "unknownChains": measured.unknown,
            "wronglyAccepted": measured.wrongly_accepted,
            "wronglyRefused": measured.wrongly_refused,
            "otherwiseRead": measured.otherwise_read,
            "faults": measured.faults,
            "disagreements": measured.disagreements,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_answered_on_their_line() {
        let answer = |line: &str| serde_json::from_str::<Value>(&answer_line(line)).unwrap();
        let good = answer(
            r#"{"chain":"xdc","value":"xdc5aaeb6053f3e94c9b9a09f33669435e7ef1beaed","kind":"address"}"#,
        );
        assert_eq!(good["valid"], true);
        assert_eq!(good["canonical"], "xdc5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
        let bad = answer(r#"{"chain":"btc","value":"x"}"#);
        assert_eq!((&bad["valid"], &bad["value"]), (&json!(false), &json!("x")));
        for line in [
            "",
            "[]",
            "{}",
            r#"{"chain":"btc","value":"x","kind":"y"}"#,
            r#"{"chain":"btc","value":"x","more":1}"#,
        ] {
            assert_eq!(answer(line)["valid"], false, "{line}");
        }
        assert!(
            answer(r#"{"chain":"xmr","value":"x"}"#)["reason"]
                .as_str()
                .unwrap()
                .contains("not known")
        );
        let key = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ";
        for chain in ["btc", "none"] {
            assert!(!answer_line(&json!({"chain": chain, "value": key}).to_string()).contains(key));
        }
        let words = "abandon ".repeat(11) + "about";
        let long = format!("{key}{}", "1".repeat(300));
        // Decoding this as base58 would take minutes.
        let endless = json!({"chain": "xmr", "value": "z".repeat(4 << 20)});
        assert!(answer_line(&endless.to_string()).len() < 1000);
        let seed = "sczanglahtqn3kfnvojdrgrmxhoyidtk2ndwwxdlg7kymd3hqrjnkvhp";
        for secret in [&format!(" {key} "), &words, &long, &seed[..56].to_owned()] {
            for line in [
                json!({"chain": "btc", "value": secret}),
                json!({"chain": secret, "value": "x"}),
                json!({"chain": "xmr", "value": secret}),
                json!({"chain": "btc", "value": secret, "kind": "transaction"}),
            ] {
                let answer = answer_line(&line.to_string());
                assert!(!answer.contains(secret.trim()), "{answer}");
            }
        }
    }

    #[test]
    fn measures() {
        let address = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        let file = json!({
            "vectors": [
                {"chain": "btc", "kind": "address", "value": address, "valid": true, "type": "p2pkh"},
                {"chain": "btc", "kind": "address", "value": address, "valid": false},
                {"chain": "eth", "kind": "address", "value": address, "valid": true},
                {"chain": "btc", "kind": "address", "value": address, "valid": true, "type": "p2sh"},
                {"chain": "xmr", "kind": "address", "value": address, "valid": true},
            ],
            "disagreements_with_origin": [{"chain": "sys", "value": address, "origin_says_valid": true}],
        });
        let measured = measure(&file.to_string()).unwrap();
        let counts = (
            measured.vectors,
            measured.unknown,
            measured.wrongly_accepted,
            measured.wrongly_refused,
        );
        assert_eq!((counts, measured.otherwise_read), ((4, 1, 1, 1), 1));
        assert_eq!((measured.faults.len(), measured.disagreements.len()), (3, 1));
        assert!(measure("[]").is_err());
    }
}
