//! An account's transactions from the index that nodes keep for the explorer Otterscan (`ots_searchTransactionsBefore`: Erigon,
//! Anvil), for nodes without a whole `trace_filter`. It lists what called, created or paid the account, inside transactions too.

use chain::source::SourceError;
use serde::Deserialize;
use serde_json::json;

use super::places::Places;
use super::quantity::number;
use crate::ondemand::Calls;
use crate::rpc::{Rpc, RpcError};

/// Transactions asked for at once: Erigon takes no more unless it is told to.
const PAGE: u64 = 25;
/// Pages within one block grow up to here.
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

/// Asks for the page before a block; 0: the newest.
fn page(rpc: &Rpc, calls: &Calls<'_>, digits: &str, before: u64, size: u64) -> Result<Page, RpcError> {
    let params = json!([format!("0x{digits}"), before, size]);
    rpc.call(calls, "ots_searchTransactionsBefore", params)
}

/// Whether a node keeps this index.
///
/// # Errors
/// When it cannot be asked.
pub(super) fn is_kept(rpc: &Rpc, calls: &Calls<'_>) -> Result<bool, SourceError> {
    match page(rpc, calls, &"0".repeat(40), 0, PAGE) {
        Ok(_) => Ok(true),
        Err(RpcError::Fault(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lists an account's transactions, the newest first; stops beyond `limit`.
///
/// # Errors
/// [`SourceError::NotFound`] where the node keeps no such index; otherwise when it cannot be asked.
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
            // A page may end within a block, the rest of which no search before that block would bring.
            (before, size) = (oldest.saturating_add(1), PAGE);
        } else if size < LARGEST_PAGE {
            size *= 2;
        } else {
            return Err(BLOCK_TOO_FULL);
        }
    }
    Ok(())
}
