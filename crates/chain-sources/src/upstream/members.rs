//! The detailed report's members that a vendor may provide (contract §4.9): the type of each, and how it is
//! read from the vendor's response.
//!
//! Numbers are read from their text, never through a float, because an amount may have more digits than a
//! float.

use std::borrow::Cow;
use std::collections::HashMap;

use chain::amount::Amount;
use chain::json;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::pointer::Pointer;

/// The largest number of decimal places in an amount.
const DECIMALS: u8 = 36;

/// The type of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// True or false.
    Truth,
    /// A whole number, also as a text.
    Count,
    /// A decimal number, also as a text; written as a decimal string.
    Amount,
    /// An instant, or seconds or milliseconds since 1970.
    Time,
    /// A text, or a number that is an id.
    Text,
    /// A score on the scale of the vendor's score.
    Score,
    /// `[{name, category}]`.
    Names,
    /// `[{address, amount}]`.
    Sides,
    /// An object that the vendor defines.
    Object,
    /// Anything.
    Any,
}

impl Kind {
    /// The parts of a list's items.
    pub(super) fn parts(self) -> &'static [&'static str] {
        match self {
            Kind::Names => &["name", "category"],
            Kind::Sides => &["address", "amount"],
            _ => &[],
        }
    }
}

/// The kind of report that has a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Address,
    Transaction,
    Both,
}

const MEMBERS: [(&str, Kind, About); 34] = [
    ("newAddress", Kind::Truth, About::Address),
    ("entities", Kind::Names, About::Both),
    ("flags", Kind::Names, About::Both),
    ("cluster", Kind::Any, About::Address),
    ("firstSeenReceiving", Kind::Time, About::Address),
    ("firstSeenSending", Kind::Time, About::Address),
    ("lastSeenReceiving", Kind::Time, About::Address),
    ("lastSeenSending", Kind::Time, About::Address),
    ("receivedAmount", Kind::Amount, About::Address),
    ("sentAmount", Kind::Amount, About::Address),
    ("balance", Kind::Amount, About::Address),
    ("numberOfTransactions", Kind::Count, About::Address),
    ("receivedTransactions", Kind::Count, About::Address),
    ("sentTransactions", Kind::Count, About::Address),
    ("isOwner", Kind::Truth, About::Address),
    ("ownerAddress", Kind::Text, About::Address),
    ("organizationLabelName", Kind::Text, About::Address),
    ("organizationLabelId", Kind::Text, About::Address),
    ("exposures", Kind::Object, About::Both),
    ("low", Kind::Score, About::Transaction),
    ("median", Kind::Score, About::Transaction),
    ("average", Kind::Score, About::Transaction),
    ("high", Kind::Score, About::Transaction),
    ("timestamp", Kind::Time, About::Transaction),
    ("amount", Kind::Amount, About::Transaction),
    ("amountFiat", Kind::Amount, About::Transaction),
    ("fees", Kind::Amount, About::Transaction),
    ("feesFiat", Kind::Amount, About::Transaction),
    ("inputs", Kind::Sides, About::Transaction),
    ("outputs", Kind::Sides, About::Transaction),
    ("solBalChange", Kind::Any, About::Transaction),
    ("tokenBalChange", Kind::Any, About::Transaction),
    ("listSigner", Kind::Any, About::Transaction),
    ("tokenMetadata", Kind::Any, About::Transaction),
];

/// The type of a member; `None` for a name that no report has.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let found = MEMBERS.iter().find(|(member, ..)| *member == name);
    found.map(|(_, kind, _)| *kind)
}

/// Whether a report about an address (`to_address`) or about a transaction has the member.
pub(super) fn belongs(name: &str, to_address: bool) -> bool {
    let wanted = if to_address {
        About::Address
    } else {
        About::Transaction
    };
    let belongs = |about: About| about == About::Both || about == wanted;
    MEMBERS
        .iter()
        .any(|(member, _, about)| *member == name && belongs(*about))
}

/// The value at a JSON pointer; `None` where there is no value, or null.
pub(super) fn at<'a>(document: &'a RawValue, pointer: &str) -> Option<&'a RawValue> {
    let mut found = document;
    for token in pointer
        .strip_prefix('/')
        .into_iter()
        .flat_map(|rest| rest.split('/'))
    {
        let token = token.replace("~1", "/").replace("~0", "~");
        found = if found.get().starts_with('[') {
            let items: Vec<&'a RawValue> = serde_json::from_str(found.get()).ok()?;
            items.get(token.parse::<usize>().ok()?).copied()?
        } else {
            let members: HashMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(found.get()).ok()?;
            members.get(token.as_str()).copied()?
        };
    }
    (found.get() != "null").then_some(found)
}

/// A number's digits or a string's text.
pub(super) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let raw = value.get();
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(raw).ok().map(Cow::Owned),
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(raw)),
        _ => None,
    }
}

fn amount(value: &RawValue) -> Option<String> {
    let amount = Amount::from_coins(&text(value)?, DECIMALS).ok()?;
    Some(amount.to_coins(DECIMALS))
}

fn time(value: &RawValue) -> Option<String> {
    /// From this value on a number counts milliseconds: as seconds it would be beyond the year 5000.
    const MILLISECONDS: u64 = 100_000_000_000;
    let text = text(value)?;
    let instant = match text.parse::<i64>() {
        Ok(seconds) if seconds.unsigned_abs() < MILLISECONDS => jiff::Timestamp::from_second(seconds).ok()?,
        Ok(milliseconds) => jiff::Timestamp::from_millisecond(milliseconds).ok()?,
        Err(_) => text.parse::<jiff::Timestamp>().ok()?,
    };
    Some(instant.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

fn items(value: &RawValue, of: Kind, pointer: &Pointer) -> Option<Value> {
    let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
    let item = |item: &RawValue| -> Option<Value> {
        let mut read = Map::new();
        for part in of.parts() {
            let found = at(item, &pointer.part(part));
            let value = match (*part, found) {
                ("amount", Some(found)) => amount(found)?.into(),
                // A script may have no address.
                ("address", None) => Value::Null,
                (_, Some(found)) => text(found)?.into_owned().into(),
                (_, None) => return None,
            };
            read.insert((*part).to_owned(), value);
        }
        Some(read.into())
    };
    items.into_iter().map(item).collect()
}

/// Reads a member; `None` when the value has another type.
pub(super) fn read(
    kind: Kind,
    value: &RawValue,
    pointer: &Pointer,
    score: impl Fn(&RawValue) -> Option<f64>,
) -> Option<Value> {
    match kind {
        Kind::Truth => serde_json::from_str::<bool>(value.get()).ok().map(Value::from),
        Kind::Count => text(value)?.parse::<u64>().ok().map(Value::from),
        Kind::Amount => amount(value).map(Value::from),
        Kind::Time => time(value).map(Value::from),
        Kind::Text => text(value).map(|text| text.into_owned().into()),
        Kind::Score => score(value).map(Value::from),
        Kind::Names | Kind::Sides => items(value, kind, pointer),
        Kind::Object => {
            let object = json::parse(value.get().as_bytes()).ok()?;
            object.is_object().then_some(object)
        }
        Kind::Any => json::parse(value.get().as_bytes()).ok(),
    }
}
