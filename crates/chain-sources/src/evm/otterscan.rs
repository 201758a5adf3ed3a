//! Lists an account's transactions from the index for the explorer Otterscan (`ots_searchTransactionsBefore`:
//! Erigon, Anvil). It serves nodes without a complete `trace_filter`. The index has every transaction that
//! called, created or paid the account, also inside transactions.

use chain::source::SourceError;
use serde::Deserialize;
use serde_json::json;

use super::places::Places;
use super::quantity::number;
use crate::ondemand::Calls;
use crate::rpc::{Rpc, RpcError};

/// The number of transactions per request; Erigon's default configuration accepts no more.
const PAGE: u64 = 25;
/// The largest page that is requested when one block has many transactions.
const LARGEST_PAGE: u64 = 1600;

const BLOCK_TOO_FULL: SourceError =
    SourceError::Unsupported("one block holds more of an account's transactions than the node lists at once");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    txs: Vec<Listed>,
    last_page: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    hash: String,
    block_number: String,
    transaction_index: String,
}

/// Requests the page before a block; block 0 means the newest page.
fn page(rpc: &Rpc, calls: &Calls<'_>, digits: &str, before: u64, size: u64) -> Result<Page, RpcError> {
    let params = json!([format!("0x{digits}"), before, size]);
    rpc.call(calls, "ots_searchTransactionsBefore", params)
}

/// Whether a node has this index.
///
/// # Errors
/// When the node cannot be queried.
pub(super) fn is_kept(rpc: &Rpc, calls: &Calls<'_>) -> Result<bool, SourceError> {
    match page(rpc, calls, &"0".repeat(40), 0, PAGE) {
        Ok(_) => Ok(true),
        Err(RpcError::Fault(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lists an account's transactions from the newest to the oldest; stops after `limit`.
///
/// # Errors
/// [`SourceError::NotFound`] when the node does not have this index. Otherwise when the node cannot be
/// queried.
pub(super) fn list(
    rpc: &Rpc,
    calls: &Calls<'_>,
    digits: &str,
    limit: usize,
    places: &mut Places,
) -> Result<(), SourceError> {
    let (mut before, mut size) = (0, PAGE);
    while places.len() <= limit {
        let page = match page(rpc, calls, digits, before, size) {
            Err(RpcError::Fault(_)) if size > PAGE => return Err(BLOCK_TOO_FULL),
            Err(RpcError::Fault(_)) if before == 0 => return Err(SourceError::NotFound),
            page => page?,
        };
        let known = places.len();
        let mut oldest = u64::MAX;
        for listed in page.txs {
            let place = (number(&listed.block_number)?, number(&listed.transaction_index)?);
            oldest = oldest.min(place.0);
            places.insert(place, listed.hash);
        }
        if page.last_page {
            break;
        }
        if places.len() > known {
            // A page may end within a block. The next page must contain that block again, or its rest would
            // be missed.
            (before, size) = (oldest.saturating_add(1), PAGE);
        } else if size < LARGEST_PAGE {
            size *= 2;
        } else {
            return Err(BLOCK_TOO_FULL);
        }
    }
    Ok(())
}
