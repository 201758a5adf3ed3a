//! Builds a transaction from a node's data: the transaction, its receipt with logs, and its trace.
//!
//! This module fetches nothing; [`super::node`] and [`super::provider`] do.

use chain::address::Address;
use chain::amount::Amount;
use chain::currency::Currency;
use chain::source::{Party, Position, SourceError, Transaction, Transfer};
use serde::Deserialize;

use super::quantity::{amount, nonsense, number};
use super::trace::TraceResult;

/// Keccak-256 of `Transfer(address,address,uint256)`.
pub(super) const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// The gas of a transfer to an account that runs no code.
const PLAIN: u64 = 21_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcTransaction {
    pub(super) hash: String,
    pub(super) from: String,
    pub(super) to: Option<String>,
    pub(super) value: String,
    pub(super) gas_price: Option<String>,
    pub(super) block_hash: Option<String>,
    pub(super) block_number: Option<String>,
    pub(super) transaction_index: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RpcLog {
    address: String,
    topics: Vec<String>,
    data: String,
    #[serde(default)]
    removed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RpcReceipt {
    pub(super) transaction_hash: String,
    /// Missing before Byzantium.
    status: Option<String>,
    gas_used: String,
    effective_gas_price: Option<String>,
    blob_gas_used: Option<String>,
    blob_gas_price: Option<String>,
    contract_address: Option<String>,
    logs: Vec<RpcLog>,
}

/// Parses an account. XDC's nodes may write `xdc` instead of `0x`.
pub(super) fn account(currency: Currency, text: &str) -> Result<Party, SourceError> {
    let mut account = [0; 20];
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("xdc"));
    digits
        .and_then(|digits| hex::decode_to_slice(digits, &mut account).ok())
        .ok_or_else(|| nonsense("an account is not 40 hexadecimal digits"))?;
    Ok(Address::evm(currency, account).canonical.into())
}

/// The account in a log's topic of 32 bytes.
fn topic_account(currency: Currency, topic: &str) -> Result<Party, SourceError> {
    let digits = topic.strip_prefix("0x").and_then(|digits| digits.get(24..));
    account(currency, &format!("0x{}", digits.unwrap_or_default()))
}

/// A token's transfer, if a log is one. ERC-721 has the same event with a fourth topic.
fn token(currency: Currency, log: &RpcLog) -> Result<Option<Transfer>, SourceError> {
    let [event, from, to] = log.topics.as_slice() else {
        return Ok(None);
    };
    if log.removed || !event.eq_ignore_ascii_case(TRANSFER) || log.data.len() != 66 {
        return Ok(None);
    }
    Ok(Some(Transfer {
        from: Some(topic_account(currency, from)?),
        to: Some(topic_account(currency, to)?),
        amount: amount(&log.data)?,
        asset: Some(account(currency, &log.address)?),
    }))
}

impl RpcReceipt {
    /// Whether the transaction moved only its own value, so that there is nothing to trace. A receipt without
    /// a status needs a trace, because only the trace states whether the transaction succeeded.
    pub(super) fn is_plain(&self) -> bool {
        self.status.is_some() && self.logs.is_empty() && number(&self.gas_used) == Ok(PLAIN)
    }

    fn fee(&self, told: &RpcTransaction) -> Result<Option<Amount>, SourceError> {
        let Some(price) = self.effective_gas_price.as_ref().or(told.gas_price.as_ref()) else {
            return Ok(None);
        };
        let mut fee = amount(&self.gas_used)?.units() * amount(price)?.units();
        if let (Some(used), Some(price)) = (&self.blob_gas_used, &self.blob_gas_price) {
            fee += amount(used)?.units() * amount(price)?.units();
        }
        Ok(Some(fee.into()))
    }
}

/// Builds a transaction. `inner` is the result of its trace; for a plain transaction it is empty.
pub(super) fn built(
    currency: Currency,
    told: &RpcTransaction,
    receipt: &RpcReceipt,
    inner: &TraceResult,
    time: Option<i64>,
) -> Result<Transaction, SourceError> {
    if receipt.transaction_hash != told.hash {
        return Err(nonsense("another receipt than was asked for"));
    }
    let payer = account(currency, &told.from)?;
    let mut transfers = Vec::new();
    let failed = inner.failed || receipt.status.as_deref() == Some("0x0");
    if !failed {
        let to = told.to.as_ref().or(receipt.contract_address.as_ref());
        transfers.push(Transfer {
            from: Some(payer.clone()),
            to: to.map(|to| account(currency, to)).transpose()?,
            amount: amount(&told.value)?,
            asset: None,
        });
        for moved in &inner.moved {
            transfers.push(Transfer {
                from: Some(account(currency, &moved.from)?),
                to: moved.to.as_ref().map(|to| account(currency, to)).transpose()?,
                amount: moved.amount.clone(),
                asset: None,
            });
        }
        for log in &receipt.logs {
            transfers.extend(token(currency, log)?);
        }
    }
    let mut transaction = Transaction::of_transfers(told.hash.as_str().into(), transfers);
    if let (Some(height), Some(index)) = (&told.block_number, &told.transaction_index) {
        transaction.position = Some(Position {
            height: number(height)?,
            index: u32::try_from(number(index)?).map_err(|_| nonsense("an index is too large"))?,
        });
    }
    transaction.time = time;
    transaction.fee = receipt.fee(told)?;
    transaction.fee_payer = Some(payer);
    Ok(transaction)
}
