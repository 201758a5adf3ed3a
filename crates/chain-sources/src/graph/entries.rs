//! The keys of the graph's indexes, and the entries that a block adds to them.

use chain::source::{Party, Totals, Transaction};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::record::{Damaged, exact_hash};

pub(super) type PartyKey = [u8; 16];

pub(super) fn party_key(party: &str) -> PartyKey {
    let mut key = [0; 16];
    key.copy_from_slice(&Sha256::digest(party.as_bytes())[..16]);
    key
}

pub(super) fn party_entry(party: &PartyKey, number: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(party);
    key[16..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The key of an id: 32 bytes for a hash, or `=` and the text for any other id.
pub(super) fn id_key(id: &str) -> Vec<u8> {
    match exact_hash(id) {
        Some(hash) => hash.to_vec(),
        None => [b"=", id.as_bytes()].concat(),
    }
}

pub(super) fn spend_key(number: u64, output: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&output.to_be_bytes());
    key
}

pub(super) fn number_of(bytes: &[u8]) -> Result<u64, Damaged> {
    bytes.try_into().map(u64::from_be_bytes).map_err(|_| Damaged)
}

/// Every party whose history contains the transaction, with the amounts moved for that party.
pub(super) fn sides(transaction: &Transaction) -> FxHashMap<&Party, Totals> {
    let mut sides = transaction.sides();
    if let Some(payer) = &transaction.fee_payer {
        sides.entry(payer).or_default().transactions = 1;
    }
    sides
}

/// The entries that a block adds to the indexes. They are written in the order of their keys, which is
/// quicker.
pub(super) struct Entries {
    pub(super) records: Vec<Vec<u8>>,
    pub(super) ids: Vec<(Vec<u8>, u64)>,
    pub(super) parties: Vec<PartyKey>,
    pub(super) visits: Vec<([u8; 24], Vec<u8>)>,
    pub(super) tokens: Vec<([u8; 24], Vec<u8>)>,
    pub(super) spends: Vec<([u8; 12], u64)>,
}

impl Entries {
    /// Empty entries with the capacity that this number of transactions usually needs.
    pub(super) fn of(transactions: usize) -> Entries {
        Entries {
            records: Vec::with_capacity(transactions),
            ids: Vec::with_capacity(transactions),
            parties: Vec::with_capacity(2 * transactions),
            visits: Vec::with_capacity(5 * transactions),
            tokens: Vec::new(),
            spends: Vec::with_capacity(2 * transactions),
        }
    }
}
