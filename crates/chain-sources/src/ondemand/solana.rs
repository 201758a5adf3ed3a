//! Solana's JSON-RPC: signatures of an address, and the balance changes of transactions.
//!
//! A node describes a transaction by its accounts' balances before and after, not by who paid whom. The
//! amounts that accounts lost are divided exactly among the accounts that gained, in proportion. A surplus of
//! losses was burnt; a surplus of gains is new money. Heights are slots.
//!
//! Tokens belong to the owners of their token accounts. A token transfer that names only the token account is
//! missing from its owner's list of signatures.

use std::collections::BTreeMap;
use std::sync::Arc;

use chain::amount::Amount;
use chain::source::{History, Party, Position, SourceError, Tip, Transaction, Transfer, TxId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Calls, Provider, concerns};
use crate::rpc::Rpc;

/// The number of signatures per request.
const PAGE: usize = 1000;
/// The decimal places of one SOL.
const DECIMALS: u8 = 9;

/// A Solana node.
pub struct Solana {
    rpc: Rpc,
}

#[derive(Deserialize)]
struct Signature {
    signature: String,
}

#[derive(Deserialize)]
struct Context {
    slot: u64,
}

#[derive(Deserialize)]
struct LatestHash {
    blockhash: String,
}

#[derive(Deserialize)]
struct Latest {
    context: Context,
    value: LatestHash,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageHeader {
    num_required_signatures: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    account_keys: Vec<String>,
    header: MessageHeader,
}

#[derive(Deserialize)]
struct Signed {
    message: Message,
    signatures: Vec<String>,
}

#[derive(Default, Deserialize)]
struct LoadedAddresses {
    writable: Vec<String>,
    readonly: Vec<String>,
}

#[derive(Deserialize)]
struct TokenAmount {
    amount: String,
    decimals: u8,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenBalance {
    account_index: usize,
    mint: String,
    owner: Option<String>,
    ui_token_amount: TokenAmount,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    fee: u64,
    pre_balances: Vec<u64>,
    post_balances: Vec<u64>,
    pre_token_balances: Option<Vec<TokenBalance>>,
    post_token_balances: Option<Vec<TokenBalance>>,
    loaded_addresses: Option<LoadedAddresses>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SolanaTransaction {
    slot: u64,
    block_time: Option<i64>,
    transaction: Signed,
    meta: Option<Meta>,
}

fn nonsense(why: &str) -> SourceError {
    SourceError::Nonsense(why.to_owned())
}

/// An account's balance before and after a transaction.
#[derive(Default)]
struct Change {
    before: Amount,
    after: Amount,
}

impl Change {
    fn lost(&self) -> Amount {
        self.before.saturating_sub(&self.after)
    }

    fn gained(&self) -> Amount {
        self.after.saturating_sub(&self.before)
    }

    /// The signed change in whole coins.
    fn text(&self, decimals: u8) -> String {
        if self.before > self.after {
            format!("-{}", self.lost().to_coins(decimals))
        } else {
            self.gained().to_coins(decimals)
        }
    }
}

/// Changes of token balances, by mint and its decimals.
type TokenChanges = BTreeMap<(Arc<str>, u8), BTreeMap<Party, Change>>;

/// Turns changes of balances into transfers. Every loss is divided among all gains in proportion, rounded
/// down; the remainders are then assigned in order.
fn transfers(changes: &BTreeMap<Party, Change>, asset: Option<&Arc<str>>) -> Vec<Transfer> {
    let side = |amount: fn(&Change) -> Amount| -> Vec<(Option<Party>, Amount)> {
        let all = changes
            .iter()
            .map(|(party, change)| (Some(party.clone()), amount(change)));
        all.filter(|(_, amount)| !amount.is_zero()).collect()
    };
    let (mut lost, mut gained) = (side(Change::lost), side(Change::gained));
    let sum = |side: &[(Option<Party>, Amount)]| side.iter().map(|(_, amount)| amount).sum::<Amount>();
    let (out, into) = (sum(&lost), sum(&gained));
    if out > into {
        gained.push((None, out.saturating_sub(&into)));
    } else if into > out {
        lost.push((None, into.saturating_sub(&out)));
    }
    let whole = out.max(into);
    if whole.is_zero() {
        return Vec::new();
    }
    let part = |loss: &Amount, gain: &Amount| Amount::from(loss.units() * gain.units() / whole.units());
    let mut given: Vec<Vec<Amount>> = lost
        .iter()
        .map(|(_, loss)| gained.iter().map(|(_, gain)| part(loss, gain)).collect())
        .collect();
    let mut open: Vec<Amount> = (0..gained.len())
        .map(|column| {
            let had: Amount = given.iter().map(|row| &row[column]).sum();
            gained[column].1.saturating_sub(&had)
        })
        .collect();
    for ((_, loss), row) in lost.iter().zip(&mut given) {
        let mut rest = loss.saturating_sub(&row.iter().sum());
        for (cell, open) in row.iter_mut().zip(&mut open) {
            let more = rest.clone().min(open.clone());
            *cell += &more;
            rest = rest.saturating_sub(&more);
            *open = open.saturating_sub(&more);
        }
    }
    let mut made = Vec::new();
    for ((from, _), row) in lost.iter().zip(given) {
        for ((to, _), amount) in gained.iter().zip(row) {
            if !amount.is_zero() {
                made.push(Transfer {
                    from: from.clone(),
                    to: to.clone(),
                    amount,
                    asset: asset.cloned(),
                });
            }
        }
    }
    made
}

impl Meta {
    /// Changes of native balances by account. The fee is added back to its payer's balance.
    fn native(&self, accounts: &[Party]) -> Result<BTreeMap<Party, Change>, SourceError> {
        if self.pre_balances.len() != accounts.len() || self.post_balances.len() != accounts.len() {
            return Err(nonsense("not one balance for each account"));
        }
        let mut changes: BTreeMap<Party, Change> = BTreeMap::new();
        let balances = self.pre_balances.iter().zip(&self.post_balances);
        for (place, (account, (before, after))) in accounts.iter().zip(balances).enumerate() {
            let change = changes.entry(account.clone()).or_default();
            change.before += &Amount::from(*before);
            change.after += &Amount::from(*after);
            if place == 0 {
                change.after += &Amount::from(self.fee);
            }
        }
        Ok(changes)
    }

    /// Changes of token balances by mint and owner.
    fn tokens(&self, accounts: &[Party]) -> Result<TokenChanges, SourceError> {
        let mut changes = TokenChanges::new();
        let told = [
            (&self.pre_token_balances, true),
            (&self.post_token_balances, false),
        ];
        for (balances, is_before) in told {
            for balance in balances.iter().flatten() {
                let account = accounts.get(balance.account_index);
                let holder = balance.owner.as_deref().map(Arc::from).or(account.cloned());
                let holder = holder.ok_or_else(|| nonsense("a token's account is not among the accounts"))?;
                let held = &balance.ui_token_amount;
                let amount = Amount::from_units(&held.amount)
                    .map_err(|_| nonsense("a token's amount is no whole number"))?;
                let mint = (balance.mint.as_str().into(), held.decimals);
                let change = changes.entry(mint).or_default().entry(holder).or_default();
                if is_before {
                    change.before += &amount;
                } else {
                    change.after += &amount;
                }
            }
        }
        Ok(changes)
    }
}

fn built(told: &SolanaTransaction, id: &str) -> Result<Transaction, SourceError> {
    let signed = &told.transaction;
    if signed.signatures.first().is_none_or(|first| first != id) {
        return Err(nonsense("another transaction than was asked for"));
    }
    let meta = told
        .meta
        .as_ref()
        .ok_or_else(|| nonsense("a transaction without its balances"))?;
    let loaded = meta.loaded_addresses.iter();
    let accounts: Vec<Party> = signed
        .message
        .account_keys
        .iter()
        .chain(loaded.flat_map(|loaded| loaded.writable.iter().chain(&loaded.readonly)))
        .map(|account| account.as_str().into())
        .collect();
    let native = meta.native(&accounts)?;
    let tokens = meta.tokens(&accounts)?;
    let mut all = transfers(&native, None);
    for ((mint, _), changes) in &tokens {
        all.extend(transfers(changes, Some(mint)));
    }
    let payer = accounts.first().cloned();
    let mut transaction = Transaction::of_transfers(id.into(), all);
    // The node does not state the position within the block.
    transaction.position = Some(Position {
        height: told.slot,
        index: 0,
    });
    transaction.time = told.block_time.map(|seconds| seconds.saturating_mul(1000));
    transaction.fee = Some(Amount::from(meta.fee));
    transaction.fee_payer = payer;
    transaction.extra = extra(
        &native,
        &tokens,
        &accounts,
        signed.message.header.num_required_signatures,
    );
    Ok(transaction)
}

/// The additional members of the contract's detailed report for this chain.
fn extra(
    native: &BTreeMap<Party, Change>,
    tokens: &TokenChanges,
    accounts: &[Party],
    signers: usize,
) -> Map<String, Value> {
    let changed = |changes: &BTreeMap<Party, Change>, decimals: u8, mint: Option<&str>| -> Vec<Value> {
        let changes = changes.iter().filter(|(_, change)| change.before != change.after);
        changes
            .map(|(party, change)| {
                let mut entry = json!({"address": &**party, "change": change.text(decimals)});
                if let Some(mint) = mint {
                    entry["mint"] = mint.into();
                }
                entry
            })
            .collect()
    };
    let of_tokens: Vec<Value> = tokens
        .iter()
        .flat_map(|((mint, decimals), changes)| changed(changes, *decimals, Some(mint)))
        .collect();
    let signers: Vec<&str> = accounts.iter().take(signers).map(|account| &**account).collect();
    Map::from_iter([
        ("solBalChange".to_owned(), changed(native, DECIMALS, None).into()),
        ("tokenBalChange".to_owned(), of_tokens.into()),
        ("listSigner".to_owned(), signers.into()),
    ])
}

impl Solana {
    /// A node that `rpc` reaches.
    pub fn new(rpc: Rpc) -> Solana {
        Solana { rpc }
    }

    fn fetched(&self, calls: &Calls<'_>, ids: &[String]) -> Result<Vec<Transaction>, SourceError> {
        let options =
            json!({"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "finalized"});
        let asked: Vec<(&str, Value)> = ids
            .iter()
            .map(|id| ("getTransaction", json!([id, options])))
            .collect();
        let told: Vec<Option<SolanaTransaction>> = self.rpc.batch(calls, &asked)?;
        told.into_iter()
            .zip(ids)
            .map(|(told, id)| built(&told.ok_or(SourceError::NotFound)?, id))
            .collect()
    }

    /// The latest signatures of an address from newest to oldest; `limit + 1` of them when there are more
    /// than `limit`.
    fn signatures(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<Vec<String>, SourceError> {
        let mut all: Vec<String> = Vec::new();
        loop {
            let mut options = json!({"limit": PAGE, "commitment": "finalized"});
            if let Some(last) = all.last() {
                options["before"] = last.as_str().into();
            }
            let params = json!([party, options]);
            let page: Vec<Signature> = self.rpc.call(calls, "getSignaturesForAddress", params)?;
            let count = page.len();
            if all
                .last()
                .is_some_and(|last| page.iter().any(|entry| entry.signature == *last))
            {
                return Err(nonsense("its pages repeat"));
            }
            all.extend(page.into_iter().map(|entry| entry.signature));
            if count < PAGE || all.len() > limit {
                all.truncate(limit + 1);
                return Ok(all);
            }
        }
    }
}

impl Provider for Solana {
    fn name(&self) -> &str {
        "solana"
    }

    fn tip(&self, calls: &Calls<'_>) -> Result<Tip, SourceError> {
        let params = json!([{"commitment": "finalized"}]);
        let latest: Latest = self.rpc.call(calls, "getLatestBlockhash", params)?;
        Ok(Tip {
            height: latest.context.slot,
            hash: latest.value.blockhash,
            time: None,
        })
    }

    fn history(&self, calls: &Calls<'_>, party: &str, limit: usize) -> Result<History, SourceError> {
        let mut ids = self.signatures(calls, party, limit)?;
        if ids.len() > limit {
            // The earlier balance is not known, so nothing can be stated about the sources of the money.
            return Ok(History::default());
        }
        ids.reverse();
        let mut transactions = match self.fetched(calls, &ids) {
            // A node retains transactions for a limited time only.
            Err(SourceError::NotFound) => return Ok(History::default()),
            transactions => transactions?,
        };
        transactions.retain(|transaction| concerns(transaction, party));
        Ok(History {
            transactions: transactions.into_iter().map(Arc::new).collect(),
            complete: true,
            totals: None,
            tokens_unseen_to: None,
        })
    }

    fn transaction(&self, calls: &Calls<'_>, id: &str) -> Result<Transaction, SourceError> {
        let one = self.fetched(calls, &[id.to_owned()])?.into_iter().next();
        one.ok_or(SourceError::NotFound)
    }

    fn spends(&self, _calls: &Calls<'_>, _id: &str) -> Result<Vec<Option<TxId>>, SourceError> {
        Err(SourceError::Unsupported("accounts have no outputs"))
    }
}
