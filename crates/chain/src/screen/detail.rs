//! The contract's members of the detailed report. `exposures` has the data from which the score can be
//! recomputed.
//!
//! Amounts are decimal strings, percentages 0-100, times ISO 8601. Members that a chain does not provide are
//! omitted.

use serde::Serialize;

use super::exposures::Exposures;
use super::iso::iso;
use super::request::Request;
use crate::amount::Amount;
use crate::category::Category;
use crate::cluster::Cluster;
use crate::labels::Label;
use crate::score::Spread;
use crate::source::{History, Movement, Transaction};

/// A detailed report.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Detail {
    /// The report of an address.
    Address(Box<AddressDetail>),
    /// The report of a transaction.
    Transaction(Box<TransactionDetail>),
}

impl Detail {
    /// The report's exposures.
    pub fn exposures(&self) -> &Exposures {
        match self {
            Detail::Address(detail) => &detail.exposures,
            Detail::Transaction(detail) => &detail.exposures,
        }
    }
}

/// A name with its category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// The name.
    pub name: String,
    /// The category.
    pub category: Category,
}

/// A party with an amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartyAmount {
    /// The address; `null` when a script has none.
    pub address: Option<String>,
    /// The amount in whole coins.
    pub amount: String,
}

/// The detailed report of an address.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's names, §4.9")]
pub struct AddressDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_address: Option<bool>,
    pub entities: Vec<Entity>,
    pub flags: Vec<Entity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterDetail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen_receiving: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen_sending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_receiving: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_sending: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_transactions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_transactions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_transactions: Option<u64>,
    pub exposures: Exposures,
}

/// The addresses that one holder controls together with the screened one.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterDetail {
    /// The number of known addresses.
    pub size: usize,
    /// The first addresses in order, at most 100.
    pub addresses: Vec<String>,
    /// Whether the search for members was complete.
    pub complete: bool,
}

/// The detailed report of a transaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's names, §4.9")]
pub struct TransactionDetail {
    pub entities: Vec<Entity>,
    pub flags: Vec<Entity>,
    #[serde(flatten)]
    pub spread: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fees: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<PartyAmount>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<PartyAmount>>,
    pub exposures: Exposures,
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// Converts labels to entities (each label once) and flags (categories that add risk).
fn named(labels: &[Label]) -> (Vec<Entity>, Vec<Entity>) {
    let mut entities: Vec<Entity> = Vec::new();
    for label in labels {
        let entity = Entity {
            name: label.name.clone(),
            category: label.category,
        };
        if !entities.contains(&entity) {
            entities.push(entity);
        }
    }
    let mut flags: Vec<Entity> = Vec::new();
    for entity in &entities {
        let flag = Entity {
            name: entity.category.to_string(),
            category: entity.category,
        };
        let weighs = !matches!(
            entity.category,
            Category::Exchange | Category::Mining | Category::Other | Category::Unattributed
        );
        if weighs && !flags.contains(&flag) {
            flags.push(flag);
        }
    }
    (entities, flags)
}

impl AddressDetail {
    /// The report when only labels are known.
    pub(super) fn unknown(own: &[Label], exposures: Exposures) -> AddressDetail {
        let (entities, flags) = named(own);
        AddressDetail {
            new_address: None,
            entities,
            flags,
            cluster: None,
            first_seen_receiving: None,
            first_seen_sending: None,
            last_seen_receiving: None,
            last_seen_sending: None,
            received_amount: None,
            sent_amount: None,
            balance: None,
            number_of_transactions: None,
            received_transactions: None,
            sent_transactions: None,
            exposures,
        }
    }

    pub(super) fn of(
        request: &Request<'_>,
        address: &str,
        history: &History,
        cluster: &Cluster,
        own: &[Label],
        exposures: Exposures,
    ) -> AddressDetail {
        let decimals = request.chain.decimals();
        let sides: Vec<Side> = history
            .transactions
            .iter()
            .map(|transaction| Side::of(transaction, address))
            .collect();
        let received = sides.iter().filter(|side| side.receives).count() as u64;
        let sent = sides.iter().filter(|side| side.sends).count() as u64;
        // These count transactions: a history may be complete for a trace although token transfers are
        // missing.
        let unseen_to = history.tokens_unseen_to;
        let counted = history.complete && unseen_to.is_none();
        let seen = |chosen: fn(&&Side) -> bool, last: bool| {
            let mut chosen = sides.iter().filter(chosen);
            let side = if last {
                chosen.next_back().filter(|side| side.height > unseen_to)
            } else {
                chosen.next().filter(|_| counted)
            };
            side.and_then(|side| side.time).and_then(iso)
        };
        let totals = history.totals.clone().or_else(|| {
            history.complete.then(|| crate::source::Totals {
                received: sides.iter().map(|side| &side.received).sum(),
                sent: sides.iter().map(|side| &side.sent).sum(),
                transactions: sides.len() as u64,
            })
        });
        AddressDetail {
            new_address: match sides.is_empty() {
                true if unseen_to.is_some() => None,
                is_empty => Some(is_empty && totals.as_ref().is_none_or(|totals| totals.transactions == 0)),
            },
            cluster: (cluster.members.len() > 1).then(|| ClusterDetail {
                size: cluster.members.len(),
                addresses: cluster
                    .members
                    .iter()
                    .take(100)
                    .map(ToString::to_string)
                    .collect(),
                complete: cluster.complete,
            }),
            first_seen_receiving: seen(|side| side.receives, false),
            first_seen_sending: seen(|side| side.sends, false),
            last_seen_receiving: seen(|side| side.receives, true),
            last_seen_sending: seen(|side| side.sends, true),
            received_amount: totals.as_ref().map(|totals| totals.received.to_coins(decimals)),
            sent_amount: totals.as_ref().map(|totals| totals.sent.to_coins(decimals)),
            balance: totals
                .as_ref()
                .map(|totals| totals.received.saturating_sub(&totals.sent).to_coins(decimals)),
            // An index's own counter includes the transactions that the history lacks.
            number_of_transactions: totals
                .filter(|_| unseen_to.is_none() || history.totals.is_some())
                .map(|totals| totals.transactions),
            received_transactions: counted.then_some(received),
            sent_transactions: counted.then_some(sent),
            ..AddressDetail::unknown(own, exposures)
        }
    }
}

/// One address's side of a transaction, in the chain's own money.
struct Side {
    height: Option<u64>,
    time: Option<i64>,
    received: Amount,
    sent: Amount,
    receives: bool,
    sends: bool,
}

impl Side {
    fn of(transaction: &Transaction, address: &str) -> Side {
        let is_it = |party: &Option<crate::source::Party>| party.as_deref() == Some(address);
        let mut side = Side {
            height: transaction.position.map(|position| position.height),
            time: transaction.time,
            received: Amount::default(),
            sent: Amount::default(),
            receives: false,
            sends: false,
        };
        match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => {
                side.sent = inputs
                    .iter()
                    .filter(|input| is_it(&input.party))
                    .map(|input| &input.amount)
                    .sum();
                side.received = outputs
                    .iter()
                    .filter(|output| is_it(&output.party))
                    .map(|output| &output.amount)
                    .sum();
                side.sends = inputs.iter().any(|input| is_it(&input.party));
                side.receives = outputs.iter().any(|output| is_it(&output.party));
            }
            Movement::Transfers(transfers) => {
                let native = || transfers.iter().filter(|transfer| transfer.asset.is_none());
                side.sent = native()
                    .filter(|transfer| is_it(&transfer.from))
                    .map(|transfer| &transfer.amount)
                    .sum();
                side.received = native()
                    .filter(|transfer| is_it(&transfer.to))
                    .map(|transfer| &transfer.amount)
                    .sum();
                side.sends = transfers.iter().any(|transfer| is_it(&transfer.from));
                side.receives = transfers.iter().any(|transfer| is_it(&transfer.to));
                if let (true, Some(fee)) = (is_it(&transaction.fee_payer), &transaction.fee) {
                    side.sent += fee;
                }
            }
        }
        side
    }
}

impl TransactionDetail {
    /// The report when nothing is known.
    pub(super) fn unknown(exposures: Exposures) -> TransactionDetail {
        TransactionDetail {
            entities: Vec::new(),
            flags: Vec::new(),
            spread: None,
            timestamp: None,
            amount: None,
            fees: None,
            inputs: None,
            outputs: None,
            exposures,
            extra: serde_json::Map::new(),
        }
    }

    pub(super) fn of(
        request: &Request<'_>,
        transaction: &Transaction,
        total: &Amount,
        own: &[Label],
        spread: Spread,
        exposures: Exposures,
    ) -> TransactionDetail {
        let decimals = request.chain.decimals();
        let moved = |party: &Option<crate::source::Party>, amount: &Amount| PartyAmount {
            address: party.as_deref().map(str::to_owned),
            amount: amount.to_coins(decimals),
        };
        let (inputs, outputs): (Vec<PartyAmount>, Vec<PartyAmount>) = match &transaction.movement {
            Movement::Outputs { inputs, outputs, .. } => (
                inputs
                    .iter()
                    .map(|input| moved(&input.party, &input.amount))
                    .collect(),
                outputs
                    .iter()
                    .map(|output| moved(&output.party, &output.amount))
                    .collect(),
            ),
            Movement::Transfers(transfers) => transfers
                .iter()
                .filter(|transfer| transfer.asset.is_none())
                .map(|transfer| {
                    (
                        moved(&transfer.from, &transfer.amount),
                        moved(&transfer.to, &transfer.amount),
                    )
                })
                .unzip(),
        };
        let (entities, flags) = named(own);
        TransactionDetail {
            entities,
            flags,
            spread: Some(spread),
            timestamp: transaction.time.and_then(iso),
            amount: Some(total.to_coins(decimals)),
            fees: transaction.fee.as_ref().map(|fee| fee.to_coins(decimals)),
            inputs: Some(inputs),
            outputs: Some(outputs),
            extra: transaction.extra.clone(),
            ..TransactionDetail::unknown(exposures)
        }
    }
}
