//! The sandbox's demo addresses. On every chain, an address (or transaction) whose bytes are `bonafide
//! sandbox NNN` has the outcome NNN. No private keys of them exist.
//!
//! Scores come from labels through the normal engine; only failures are simulated.

use crate::address::Address;
use crate::category::Category;
use crate::currency::Currency;
use crate::labels::{Label, LabelIndex};
use crate::source::SourceError;

const PREFIX: &[u8] = b"bonafide sandbox ";

/// One label for each band of scores: the number in the address, then the label that gives this score.
const SCORES: [(u16, Category, u8, bool); 4] = [
    (10, Category::Gambling, 25, false),
    (45, Category::Mixer, 60, false),
    (80, Category::Scam, 100, false),
    (100, Category::Sanctions, 100, true),
];

/// A failure that a demo query simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// 404.
    NotFound,
    /// 502: the source's response is not valid.
    Nonsense,
    /// 503: the source cannot be reached.
    Unreachable,
    /// 504: the source does not answer in time.
    TimedOut,
}

/// The failure that an address's payload or a transaction's bytes simulate, if any.
pub fn failure(bytes: &[u8]) -> Option<Failure> {
    match number(bytes)? {
        404 => Some(Failure::NotFound),
        502 => Some(Failure::Nonsense),
        503 => Some(Failure::Unreachable),
        504 => Some(Failure::TimedOut),
        _ => None,
    }
}

impl From<Failure> for SourceError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotFound => SourceError::NotFound,
            Failure::Nonsense => SourceError::Nonsense("the sandbox pretends so".into()),
            Failure::Unreachable => SourceError::Unreachable("the sandbox pretends so".into()),
            Failure::TimedOut => SourceError::TimedOut,
        }
    }
}

/// Whether an address's payload or a transaction's bytes belong to a demo, with any outcome.
pub fn is_demo(bytes: &[u8]) -> bool {
    number(bytes).is_some()
}

fn number(bytes: &[u8]) -> Option<u16> {
    // Cardano's payloads begin with a byte for their type.
    let after = |bytes: &[u8]| {
        bytes
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.get(..3).map(<[u8]>::to_vec))
    };
    let digits = after(bytes).or_else(|| after(bytes.get(1..)?))?;
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

/// A chain's demo address with an outcome, in canonical form.
pub fn address(currency: Currency, outcome: u16) -> Option<Address> {
    let mut bytes = [0_u8; 32];
    bytes[..17].copy_from_slice(PREFIX);
    bytes[17..20].copy_from_slice(format!("{outcome:03}").get(..3)?.as_bytes());
    Address::demo(currency, &bytes)
}

/// The labels of the demo addresses on all chains.
pub fn labels() -> LabelIndex {
    let rows = Currency::ALL.into_iter().flat_map(|currency| {
        SCORES
            .into_iter()
            .filter_map(move |(outcome, category, confidence, authority)| {
                let label = Label {
                    name: format!("Sandbox demo, score {outcome}"),
                    category,
                    source: "sandbox".to_owned(),
                    confidence,
                    valid_from: None,
                    valid_to: None,
                    authority,
                };
                address(currency, outcome).map(|address| (currency, address.canonical, label))
            })
    });
    LabelIndex::new(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Labels as _;
    use crate::profile::Profile;
    use crate::screen::{Request, Subject, screen_labels};

    #[test]
    fn every_chain_has_an_address_for_every_outcome() {
        let labels = labels();
        for currency in Currency::ALL {
            for (outcome, ..) in SCORES {
                let address = address(currency, outcome).unwrap();
                assert_eq!(
                    Address::parse(currency, &address.canonical).unwrap().canonical,
                    address.canonical
                );
                assert_eq!(
                    labels.labels(currency, &address.canonical, 0).len(),
                    1,
                    "{currency}"
                );
                let request = Request::new(currency, Subject::Address(&address.canonical));
                let score = screen_labels(&labels, &Profile::built_in(), &request)
                    .score
                    .value();
                assert!((score - f64::from(outcome)).abs() < 1e-9, "{currency} {outcome}");
                assert_eq!(failure(&address.payload), None);
            }
            for (outcome, expected) in [
                (404, Failure::NotFound),
                (502, Failure::Nonsense),
                (503, Failure::Unreachable),
                (504, Failure::TimedOut),
            ] {
                let address = address(currency, outcome).unwrap();
                let read = Address::parse(currency, &address.canonical).unwrap();
                assert_eq!(failure(&read.payload), Some(expected), "{currency}");
            }
        }
        assert!(is_demo(b"bonafide sandbox 045") && !is_demo(b"bonafide sandbox"));
        assert_eq!(failure(b""), None);
        assert_eq!(failure(b"bonafide sandbox 50"), None);
    }
}
