//! Stored screenings: found by id, listed by query and label, and their flow of money.

use std::collections::{BTreeSet, HashSet};

use chain::address::Address;
use chain::currency::Currency;
use chain::hash::TransactionHash;
use chain::labels::{Label, Labels};
use chain::later_listing::unlisted_addresses;
use chain::picture::Picture;
use chain::screen::{Detail, Request, Screen, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::monitoring::{self, Filter, MOST_FORMS, Screening};
use store::{Conn, Error, Scope};
use uuid::Uuid;
use verification::risk_assessment::RiskAssessment;

use super::App;
use super::replay_error::ReplayError;
use crate::labels::AccountLabels;
use crate::problem::Problem;

/// The value of [`Evidence::source`] if no chain's history was queried.
pub(super) const BY_LABELS: &str = "labels";
/// The maximum number of labels that are stored with a score.
const MOST_LABELS: usize = 100;

/// The evidence of a score, stored with the response: enough to explain it, to draw the flow and to compute
/// it again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The time whose labels were used (ms).
    pub at: i64,
    /// The score.
    pub score: f64,
    /// The response's `exposures`, even if only a simple report was requested.
    pub exposures: Value,
    /// The flow of money.
    pub picture: Picture,
    /// The labels of the addresses that counted; `None` if an earlier version stored the evidence.
    #[serde(default)]
    pub labels: Option<Vec<AddressLabel>>,
    /// The addresses that it touched and that no sanctions list named then (`chain::later_listing`); `None` if an
    /// earlier version stored the evidence.
    #[serde(default)]
    pub unlisted: Option<Vec<String>>,
}

/// A label of an address, as one source states it.
#[derive(Debug, Serialize, Deserialize)]
pub struct AddressLabel {
    /// The address, in canonical form.
    pub address: String,
    /// Whether it comes from the account's own address book.
    #[serde(default)]
    pub own: bool,
    /// The label.
    #[serde(flatten)]
    pub label: Label,
}

impl Evidence {
    pub(super) fn of(
        request: &Request<'_>,
        labels: &AccountLabels,
        screen: &Screen,
        picture: Picture,
    ) -> Result<Evidence, Problem> {
        Ok(Evidence {
            at: request.at,
            score: screen.score.value(),
            exposures: serde_json::to_value(screen.detail.exposures()).map_err(Problem::internal)?,
            picture,
            labels: Some(collect_labels(request, labels, screen)),
            unlisted: Some(unlisted_addresses(request, labels, screen)),
        })
    }

    /// Reads the evidence of a screening's score.
    ///
    /// # Errors
    /// When the store fails. The inner error: why there is no evidence.
    pub async fn read(
        conn: &mut Conn,
        scope: Scope,
        screening: &Screening,
    ) -> Result<Result<Evidence, ReplayError>, Error> {
        if screening.score.is_none() {
            return Ok(Err(ReplayError::NoScore));
        }
        let kept = monitoring::evidence(conn, scope, screening.id).await?;
        Ok(match kept {
            None => Err(ReplayError::Vendor),
            Some(kept) => serde_json::from_str(&kept).map_err(|_| ReplayError::Unreadable),
        })
    }

    /// The addresses that it touched and that no sanctions list named then, in canonical form. Evidence of an earlier
    /// version names only those in its picture, its labels and the paths of its exposures.
    pub fn unlisted(&self, currency: Currency) -> Vec<String> {
        if let Some(stored) = &self.unlisted {
            return stored.clone();
        }
        let labels = || self.labels.iter().flatten();
        let elements = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
        let exposed = elements(&self.exposures["entity"]);
        let address = |step: &Value| step["address"].as_str().map(str::to_owned);
        let canonical = |text: String| {
            Address::parse(currency, &text)
                .ok()
                .map(|parsed| parsed.canonical)
        };
        // Labels are stored since a later version than paths, and not all of them are. A path ends at its party.
        let sanctioned = exposed.iter().filter(|entity| entity["category"] == "sanctions");
        let listed: HashSet<String> = sanctioned
            .filter_map(|entity| elements(&entity["path"]).last().and_then(address))
            .filter_map(canonical)
            .chain(
                labels()
                    .filter(|one| one.label.is_sanctions_listing())
                    .map(|one| one.address.clone()),
            )
            .collect();
        let steps = exposed.iter().flat_map(|entity| elements(&entity["path"]));
        let found: BTreeSet<String> = steps
            .filter_map(|step| address(&step))
            .chain(self.picture.nodes.iter().map(|node| node.name.clone()))
            .chain(labels().map(|one| one.address.clone()))
            .filter_map(canonical)
            .filter(|address| !listed.contains(address))
            .collect();
        found.into_iter().collect()
    }

    /// The source of the chain's history, such as `graph`; `labels` if no history was queried.
    pub fn source(&self) -> &str {
        self.exposures["source"].as_str().unwrap_or(BY_LABELS)
    }

    /// The block up to which money was followed.
    pub fn block(&self) -> Option<u64> {
        self.exposures["asOfBlock"].as_u64()
    }

    /// The version of the account's profile that was used.
    pub fn profile_version(&self) -> Option<u32> {
        u32::try_from(self.exposures["profileVersion"].as_u64()?).ok()
    }
}

/// The labels of the screened address, of its holder's other addresses, and of all parties that absorbed
/// money.
fn collect_labels(request: &Request<'_>, labels: &AccountLabels, screen: &Screen) -> Vec<AddressLabel> {
    let own = match request.subject {
        Subject::Address(address) => Some(address),
        Subject::Transaction(_) => None,
    };
    let held = match &screen.detail {
        Detail::Address(detail) => detail.cluster.as_ref(),
        Detail::Transaction(_) => None,
    };
    let held = held.into_iter().flat_map(|cluster| &cluster.addresses);
    let nodes = screen.traces.iter().flat_map(|trace| &trace.nodes);
    let absorbing = nodes.filter(|node| node.absorbed.is_some());
    let absorbing = absorbing.filter_map(|node| node.party.as_deref());
    let mut seen = HashSet::new();
    own.into_iter()
        .chain(held.map(String::as_str))
        .chain(absorbing)
        .filter(|address| seen.insert(*address))
        .flat_map(|address| {
            let known = labels.labels(request.chain, address, request.at);
            known.into_iter().map(|label| AddressLabel {
                address: address.to_owned(),
                own: labels.is_in_book(request.chain, address, request.at, &label),
                label,
            })
        })
        .take(MOST_LABELS)
        .collect()
}

/// A filter for screenings.
#[derive(Clone, Debug, Default)]
pub struct ScreeningFilter<'a> {
    /// Only screenings of this address or transaction, in any of its forms.
    pub text: Option<&'a str>,
    /// Only on this chain.
    pub currency: Option<Currency>,
    /// Only with exactly this label.
    pub label: Option<&'a str>,
    /// Only those older than the one with this `queryId`.
    pub before: Option<Uuid>,
}

/// A page of screenings, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// At most the requested number.
    pub screenings: Vec<Screening>,
    /// The value of [`Wanted::before`] for the next page; `None`: this is the last page.
    pub next: Option<Uuid>,
}

/// Reads a screening with its stored response. `None` if it does not exist or belongs to another account.
///
/// # Errors
/// When the store fails.
pub async fn find(app: &App, scope: Scope, id: Uuid) -> Result<Option<Screening>, Problem> {
    Ok(monitoring::get(&mut app.db.read().await?, scope, id).await?)
}

/// An account's screenings, newest first. None match a text that is no address and no transaction of any
/// chain.
///
/// # Errors
/// When the store fails.
pub async fn list(
    app: &App,
    scope: Scope,
    wanted: &ScreeningFilter<'_>,
    limit: u16,
) -> Result<Page, Problem> {
    Ok(page(&mut app.db.read().await?, scope, wanted, limit).await?)
}

/// As [`list`], on a given connection.
///
/// # Errors
/// When the store fails.
pub async fn page(
    conn: &mut Conn,
    scope: Scope,
    wanted: &ScreeningFilter<'_>,
    limit: u16,
) -> Result<Page, Error> {
    let nothing = Page {
        screenings: Vec::new(),
        next: None,
    };
    let canonical = wanted
        .text
        .map(|text| forms(text, wanted.currency))
        .unwrap_or_default();
    if wanted.text.is_some() && canonical.is_empty() {
        return Ok(nothing);
    }
    let filter = Filter {
        canonical: &canonical,
        currency: wanted.currency.map(Currency::code),
        label: wanted.label,
        before: wanted.before,
    };
    // One more than requested, to detect whether there is another page.
    let mut screenings = monitoring::list(conn, scope, filter, i64::from(limit) + 1).await?;
    let more = screenings.len() > usize::from(limit);
    screenings.truncate(usize::from(limit));
    let next = screenings.last().map(|last| last.id).filter(|_| more);
    Ok(Page { screenings, next })
}

/// The canonical forms of a text on one chain or on any.
fn forms(text: &str, currency: Option<Currency>) -> Vec<String> {
    let text = text.trim();
    let mut forms: Vec<String> = Currency::ALL
        .into_iter()
        .filter(|chain| currency.is_none_or(|currency| currency == *chain))
        .flat_map(|chain| {
            let address = Address::parse(chain, text).ok().map(|address| address.canonical);
            let hash = TransactionHash::parse(chain, text)
                .ok()
                .map(|hash| hash.canonical);
            address.into_iter().chain(hash)
        })
        .collect();
    forms.sort();
    forms.dedup();
    forms.truncate(MOST_FORMS);
    forms
}

/// The flow of money behind a screening's score. `None` if this account has no such screening, it has no
/// score, or a vendor made it.
///
/// # Errors
/// When the store fails.
pub async fn picture(app: &App, scope: Scope, id: Uuid) -> Result<Option<Picture>, Problem> {
    let conn = &mut app.db.read().await?;
    let Some(screening) = monitoring::get(conn, scope, id).await? else {
        return Ok(None);
    };
    let evidence = Evidence::read(conn, scope, &screening).await?;
    Ok(evidence.ok().map(|evidence| evidence.picture))
}

/// Interprets the score of a stored screening whose exposures are in its response or in its evidence.
pub fn assess(screening: &Screening, exposures: &Value) -> RiskAssessment {
    let coverage = screening
        .coverage
        .as_ref()
        .map(|(name, bound)| (name.as_str(), *bound));
    RiskAssessment::of_stored(screening.score, coverage, exposures)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_has_more_forms_than_are_looked_for() {
        for (text, count) in [
            ("0xDE00000000000000000000000000000000000DE0", 1..=MOST_FORMS),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", 1..=MOST_FORMS),
            (
                "E26AB8F3372D2FC02DEC1FD5674ADAB762D684BFFDBBDF5D674E9D7CF4A47054",
                1..=MOST_FORMS,
            ),
            ("nothing", 0..=0),
        ] {
            let found = forms(text, None);
            assert!(count.contains(&found.len()), "{found:?}");
        }
        assert_eq!(
            forms(" 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa ", Some(Currency::Btc)).len(),
            1
        );
    }

    #[test]
    fn evidence_of_an_earlier_version_names_no_party_that_was_sanctioned_then() {
        let [own, party, sanctioned, between] = [
            "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX",
            "1HLoD9E4SDFFPDiYfNYnkBLQ85Y51J3Zb1",
        ];
        let node = |name: &str| json!({"name": name, "category": null, "column": 0, "severity": 0, "percentage": 1.0});
        let step = |address: &str| json!({"transaction": "t", "address": address});
        let evidence: Evidence = serde_json::from_value(json!({
            "at": 0, "score": 70.0,
            "exposures": {"entity": [
                {"category": "sanctions", "path": [step(between), step(sanctioned)]},
                {"category": "exchange", "path": [step(party)]},
            ]},
            "picture": {"nodes": [node(own), node("others"), node(sanctioned)], "links": []},
        }))
        .unwrap();
        let mut expected = vec![own, party, between];
        expected.sort_unstable();
        assert_eq!(evidence.unlisted(Currency::Btc), expected);
    }
}
