//! Parses query strings strictly: invalid UTF-8 is refused, and so is a repeated parameter, except by [`pairs`].

use std::collections::BTreeMap;

use std::fmt::Display;
use std::str::FromStr;

use service::problem::Problem;
use service::time;
use uuid::Uuid;

/// Parameters by name.
#[derive(Debug, Default)]
pub struct Query(BTreeMap<String, String>);

impl Query {
    /// A parameter's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// An error for each parameter that is not in `known`: a mistyped filter would otherwise answer everything. For
    /// endpoints of ours; those of the contract ignore what they do not know.
    pub fn unknown(&self, known: &[&str]) -> Vec<String> {
        let unknown = self.0.keys().filter(|name| !known.contains(&name.as_str()));
        let error = |name: &String| {
            let name = if name.is_empty() { "query" } else { name };
            format!("{name} - is not a parameter here; send only {}", known.join(", "))
        };
        unknown.map(error).collect()
    }

    /// A parameter's value as a `T`. Adds an error with `rule` if it is none.
    pub fn read<T: FromStr>(&self, name: &str, rule: impl Display, errors: &mut Vec<String>) -> Option<T> {
        let value = self.get(name)?.parse().ok();
        if value.is_none() {
            errors.push(format!("{name} - must be {rule}"));
        }
        value
    }

    /// A time in milliseconds, sent as a date (its beginning in UTC) or as date, time and offset.
    pub fn time(&self, name: &str, errors: &mut Vec<String>) -> Option<i64> {
        let text = self.get(name)?;
        let ms = time::read(text);
        if ms.is_none() {
            errors.push(format!(
                "{name} - must be a date, such as 2026-11-21, or a time, such as 2026-11-21T02:38:42Z; encode + as %2B"
            ));
        }
        ms
    }

    /// As [`Query::page`], for lists in the order of a time that is not part of the id. `before` is a [`cursor`].
    pub fn page_by_time<T: FromStr>(
        &self,
        usual: u16,
        most: u16,
        errors: &mut Vec<String>,
    ) -> (u16, Option<(i64, T)>) {
        let before = self.get("before").map(|text| {
            let (at, id) = text.split_once('.')?;
            let at = at.parse::<u64>().ok().and_then(|at| i64::try_from(at).ok());
            Some((at?, id.parse().ok()?))
        });
        if before.as_ref().is_some_and(Option::is_none) {
            errors.push(NOT_A_CURSOR.to_owned());
        }
        (self.limit(usual, most, errors), before.flatten())
    }

    fn limit(&self, usual: u16, most: u16, errors: &mut Vec<String>) -> u16 {
        match self.get("limit").map(str::parse::<u16>) {
            None => usual,
            Some(Ok(limit)) if (1..=most).contains(&limit) => limit,
            Some(_) => {
                errors.push(format!("limit - must be a whole number from 1 to {most}"));
                usual
            }
        }
    }

    /// `limit`, which is `usual` if absent, and `before`, the `next` of the previous page. Adds an error for each that is
    /// not valid.
    pub fn page(&self, usual: u16, most: u16, errors: &mut Vec<String>) -> (u16, Option<Uuid>) {
        let limit = self.limit(usual, most, errors);
        let before = self.get("before").map(Uuid::parse_str).transpose();
        let before = before.unwrap_or_else(|_| {
            errors.push(NOT_A_CURSOR.to_owned());
            None
        });
        (limit, before)
    }
}

const NOT_A_CURSOR: &str = "before - must be the `next` of a page";

/// `next` of a page whose last entry has this time (ms) and id, for [`Query::page_by_time`].
pub fn cursor(at: i64, id: impl Display) -> String {
    format!("{at}.{id}")
}

/// The parameters of `a=1&b=2&b=3` in their order, for endpoints that take a parameter several times.
pub fn pairs(raw: &str) -> Result<Vec<(String, String)>, Problem> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(name)?, decode(value)?))
    };
    let sent = raw.split('&').filter(|pair| !pair.is_empty());
    let invalid = || Problem::validation(vec!["query - is not valid percent-encoded UTF-8".into()]);
    sent.map(pair).collect::<Option<_>>().ok_or_else(invalid)
}

/// Parses `a=1&b=2`.
pub fn parse(raw: &str) -> Result<Query, Problem> {
    let mut query = Query::default();
    for (name, value) in pairs(raw)? {
        if query.0.insert(name.clone(), value).is_some() {
            return Err(Problem::validation(vec![format!(
                "{name} - is sent more than once; send it once"
            )]));
        }
    }
    Ok(query)
}

/// Percent-decoding with `+` for a space (the HTML form rules).
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push((digit(high)? * 16 + digit(low)?) as u8);
                rest = tail;
                continue;
            }
            (b'%', _) => return None,
            (b'+', _) => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_faults_refused() {
        let query = parse("country=C%C3%B4te+d%27Ivoire&docType=PASSPORT&&empty").unwrap();
        assert_eq!(query.get("country"), Some("Côte d'Ivoire"));
        assert_eq!(query.get("docType"), Some("PASSPORT"));
        assert_eq!(query.get("empty"), Some(""));
        for raw in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=1&a=2"] {
            assert!(parse(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn values_times_and_cursors_are_read_or_refused() {
        let mut errors = Vec::new();
        let query =
            parse("id=x&from=2026-11-21&until=2026-11-21T02:38:42%2B01:00&limit=7&before=5.8").unwrap();
        assert_eq!(query.read::<u8>("id", "a number", &mut errors), None);
        assert_eq!(query.read::<u8>("limit", "a number", &mut errors), Some(7));
        assert_eq!(query.time("from", &mut errors), Some(1_795_219_200_000));
        assert_eq!(query.time("until", &mut errors), Some(1_795_225_122_000));
        assert_eq!(query.page_by_time::<u8>(50, 100, &mut errors), (7, Some((5, 8))));
        assert_eq!(errors, ["id - must be a number"]);
        assert_eq!(cursor(5, 8), "5.8");
        for before in [
            "",
            "5",
            "5.",
            ".8",
            "x.8",
            "5.x",
            "5.8.1",
            "99999999999999999999.1",
        ] {
            let mut errors = Vec::new();
            let query = parse(&format!("before={before}&from=today&limit=0")).unwrap();
            assert_eq!(
                query.page_by_time::<u8>(50, 100, &mut errors),
                (50, None),
                "{before}"
            );
            assert_eq!(query.time("from", &mut errors), None);
            assert_eq!(errors.len(), 3, "{errors:?}");
        }
    }

    #[test]
    fn unknown_parameters_are_named() {
        let unknown = |raw| parse(raw).unwrap().unknown(&["state", "limit"]);
        assert_eq!(unknown("limit=1&state=open"), [""; 0]);
        assert_eq!(
            unknown("stat=open"),
            ["stat - is not a parameter here; send only state, limit"]
        );
        assert_eq!(
            unknown("=true"),
            ["query - is not a parameter here; send only state, limit"]
        );
    }
}
