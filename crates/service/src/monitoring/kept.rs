//! Screenings that were kept: found by id, listed by what was asked and how it was labelled, drawn.

use std::collections::HashSet;

use chain::address::Address;
use chain::currency::Currency;
use chain::hash::TransactionHash;
use chain::labels::{Label, Labels};
use chain::picture::Picture;
use chain::screen::{Detail, Request, Screen, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::monitoring::{self, Filter, MOST_FORMS, Screening};
use store::{Conn, Error, Scope};
use uuid::Uuid;

use super::App;
use super::not_again::NotAgain;
use crate::labels::AccountLabels;
use crate::problem::Problem;

/// What [`Evidence::source`] is where no chain's history was asked for.
pub(super) const BY_LABELS: &str = "labels";
/// At most so many labels are kept beside a score.
const MOST_LABELS: usize = 100;

/// What led to a score, kept beside the answer: enough to explain it, to draw it and to reckon it again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The labels of which time (ms).
    pub at: i64,
    /// The score.
    pub score: f64,
    /// The answer's `exposures`, also where only a simple report was asked for.
    pub exposures: Value,
    /// The flow.
    pub picture: Picture,
    /// What was said of the addresses that counted; `None` in what earlier versions kept.
    #[serde(default)]
    pub labels: Option<Vec<Said>>,
}

/// What one source said about one address.
#[derive(Debug, Serialize, Deserialize)]
pub struct Said {
    /// The address, in canonical form.
    pub address: String,
    /// Whether the account's own book says it.
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
            labels: Some(said(request, labels, screen)),
        })
    }

    /// What led to a screening's score.
    ///
    /// # Errors
    /// When the store fails. The inner error: why there is nothing.
    pub async fn read(
        conn: &mut Conn,
        scope: Scope,
        screening: &Screening,
    ) -> Result<Result<Evidence, NotAgain>, Error> {
        if screening.score.is_none() {
            return Ok(Err(NotAgain::NoScore));
        }
        let kept = monitoring::evidence(conn, scope, screening.id).await?;
        Ok(match kept {
            None => Err(NotAgain::Vendor),
            Some(kept) => serde_json::from_str(&kept).map_err(|_| NotAgain::Unreadable),
        })
    }

    /// Who told the chain's history, such as `graph`; `labels` where nobody did.
    pub fn source(&self) -> &str {
        self.exposures["source"].as_str().unwrap_or(BY_LABELS)
    }

    /// Up to which block money was followed.
    pub fn block(&self) -> Option<u64> {
        self.exposures["asOfBlock"].as_u64()
    }

    /// By which version of the account's profile it was decided.
    pub fn profile_version(&self) -> Option<u32> {
        u32::try_from(self.exposures["profileVersion"].as_u64()?).ok()
    }
}

/// The labels of the screened address, of what its holder holds besides, and of everybody who absorbed money.
fn said(request: &Request<'_>, labels: &AccountLabels, screen: &Screen) -> Vec<Said> {
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
            known.into_iter().map(|label| Said {
                address: address.to_owned(),
                own: labels.is_own(request.chain, address, request.at, &label),
                label,
            })
        })
        .take(MOST_LABELS)
        .collect()
}

/// Which screenings to list.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// Of this address or transaction, in any of its forms.
    pub text: Option<&'a str>,
    /// On this chain.
    pub currency: Option<Currency>,
    /// With exactly this label.
    pub label: Option<&'a str>,
    /// Older than the one with this `queryId`.
    pub before: Option<Uuid>,
}

/// A page of screenings, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// At most as many as were asked for.
    pub screenings: Vec<Screening>,
    /// What to ask the next page with ([`Wanted::before`]); `None` when this is the last.
    pub next: Option<Uuid>,
}

/// One screening with its stored answer; `None` for one that does not exist or is another account's.
///
/// # Errors
/// When the store fails.
pub async fn find(app: &App, scope: Scope, id: Uuid) -> Result<Option<Screening>, Problem> {
    Ok(monitoring::get(&mut app.db.read().await?, scope, id).await?)
}

/// An account's screenings, newest first. A text that is no address and no transaction of any chain has none.
///
/// # Errors
/// When the store fails.
pub async fn list(app: &App, scope: Scope, wanted: &Wanted<'_>, limit: u16) -> Result<Page, Problem> {
    Ok(page(&mut app.db.read().await?, scope, wanted, limit).await?)
}

/// [`list`], over a connection.
///
/// # Errors
/// When the store fails.
pub async fn page(conn: &mut Conn, scope: Scope, wanted: &Wanted<'_>, limit: u16) -> Result<Page, Error> {
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
    // One more tells whether there is another page.
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

/// The flow that led to a screening's score. `None` when there is no such screening of this account, it has no score, or another
/// source made it.
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

#[cfg(test)]
mod tests {
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
}
