//! Reads the values that contracts transferred inside a transaction, from either kind of trace. Flat frames
//! come from `trace_block` and `trace_transaction`, nested ones from `debug_trace…` with the `callTracer`.
//!
//! Frames are read without recursion, because calls may be a thousand levels deep.

use chain::amount::Amount;
use chain::source::SourceError;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::quantity::{amount, nonsense};
use crate::rpc::untold;

/// A transfer of coins inside a transaction.
pub(super) struct MovedInside {
    pub(super) from: String,
    pub(super) to: Option<String>,
    pub(super) amount: Amount,
}

/// The result of a trace, without the transaction's own value.
#[derive(Default)]
pub(super) struct TraceResult {
    /// Whether the whole transaction was reverted.
    pub(super) failed: bool,
    /// The transfers in the order of execution, without reverted ones.
    pub(super) moved: Vec<MovedInside>,
}

impl TraceResult {
    fn moves(&mut self, from: &str, to: Option<&str>, value: Option<&str>) -> Result<(), SourceError> {
        let amount = value.map_or(Ok(Amount::default()), amount)?;
        if !amount.is_zero() {
            self.moved.push(MovedInside {
                from: from.to_owned(),
                to: to.map(str::to_owned),
                amount,
            });
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FlatAction {
    from: Option<String>,
    to: Option<String>,
    value: Option<String>,
    call_type: Option<String>,
    /// For a destroyed contract: its address, the recipient of its balance, and the balance.
    address: Option<String>,
    refund_address: Option<String>,
    balance: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct FlatResult {
    address: Option<String>,
}

/// A frame in the format of Parity and its successors. The frames of a transaction are in the order of
/// execution.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flat {
    r#type: String,
    action: FlatAction,
    error: Option<String>,
    result: Option<FlatResult>,
    #[serde(default)]
    trace_address: Vec<u64>,
    /// Missing for block rewards.
    pub(super) transaction_hash: Option<String>,
    pub(super) transaction_position: Option<u64>,
    pub(super) block_number: Option<u64>,
}

/// Reads the frames of one transaction.
pub(super) fn flat<'a>(frames: impl IntoIterator<Item = &'a Flat>) -> Result<TraceResult, SourceError> {
    let mut inner = TraceResult::default();
    let mut undone: Option<&[u64]> = None;
    let mut rooted = false;
    for frame in frames {
        let is_root = frame.trace_address.is_empty();
        rooted |= is_root;
        if undone.is_some_and(|undone| frame.trace_address.starts_with(undone)) {
            continue;
        }
        if frame.error.is_some() {
            inner.failed |= is_root;
            undone = Some(&frame.trace_address);
            continue;
        }
        let action = &frame.action;
        let from = action.from.as_deref().unwrap_or_default();
        match (frame.r#type.as_str(), action.call_type.as_deref()) {
            // The root is the transaction itself, whose value is not part of the trace's result.
            _ if is_root => {}
            ("call", None | Some("call")) => {
                inner.moves(from, action.to.as_deref(), action.value.as_deref())?;
            }
            ("create", _) => {
                let made = frame.result.as_ref().and_then(|result| result.address.as_deref());
                inner.moves(from, made, action.value.as_deref())?;
            }
            ("suicide" | "selfdestruct", _) => {
                let from = action.address.as_deref().unwrap_or_default();
                inner.moves(from, action.refund_address.as_deref(), action.balance.as_deref())?;
            }
            _ => {}
        }
    }
    if rooted {
        Ok(inner)
    } else {
        Err(nonsense("a transaction without its trace"))
    }
}

/// A frame of the `callTracer`. Its inner frames stay unparsed until their turn.
#[derive(Deserialize)]
struct Nested<'a> {
    r#type: String,
    #[serde(default)]
    from: String,
    to: Option<String>,
    value: Option<String>,
    error: Option<String>,
    #[serde(borrow, default)]
    calls: Vec<&'a RawValue>,
}

/// Reads the frame of one transaction with all frames within it.
pub(super) fn nested(root: &RawValue) -> Result<TraceResult, SourceError> {
    let mut inner = TraceResult::default();
    let mut waiting = vec![(root, true)];
    while let Some((frame, is_root)) = waiting.pop() {
        let frame: Nested<'_> = serde_json::from_str(frame.get()).map_err(|error| untold(&error))?;
        if frame.error.is_some() {
            inner.failed |= is_root;
            continue;
        }
        if !is_root
            && matches!(
                frame.r#type.as_str(),
                "CALL" | "CREATE" | "CREATE2" | "SELFDESTRUCT"
            )
        {
            inner.moves(&frame.from, frame.to.as_deref(), frame.value.as_deref())?;
        }
        waiting.extend(frame.calls.into_iter().rev().map(|call| (call, false)));
    }
    Ok(inner)
}
