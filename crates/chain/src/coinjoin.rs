//! Recognises from a transaction's shape whether its payers are one holder, or several people who made it
//! together (CoinJoin, PayJoin).
//!
//! It uses one transaction alone; [`crate::cluster`] combines several.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::amount::Amount;
use crate::transaction::{Movement, Output, Party, Transaction};

/// The smallest number of equal outputs of a CoinJoin.
const COINJOIN_EQUALS: usize = 3;

/// Whether a transaction has the shape of a CoinJoin. At least three parties receive outputs of one value,
/// the commonest above zero. At least as many inputs, of as many parties, pay for them.
pub fn is_coinjoin(transaction: &Transaction) -> bool {
    let Movement::Outputs {
        coinbase: false,
        inputs,
        outputs,
    } = &transaction.movement
    else {
        return false;
    };
    if inputs.len() < COINJOIN_EQUALS || outputs.len() < COINJOIN_EQUALS {
        return false;
    }
    let most = equal_outputs(outputs).max().unwrap_or(0);
    if most < COINJOIN_EQUALS || inputs.len() < most {
        return false;
    }
    // Each mixed output needs a participant. A payer of equal wages spends from one wallet, often from one
    // address.
    let payers: FxHashSet<Option<&str>> = inputs.iter().map(|input| input.party.as_deref()).collect();
    payers.len() >= most
}

/// For each value among outputs, the number of parties that receive it.
fn equal_outputs(outputs: &[Output]) -> impl Iterator<Item = usize> {
    let mut holders: FxHashMap<&Amount, FxHashSet<Option<&str>>> = FxHashMap::default();
    for output in outputs.iter().filter(|output| !output.amount.is_zero()) {
        holders
            .entry(&output.amount)
            .or_default()
            .insert(output.party.as_deref());
    }
    holders.into_values().map(|holders| holders.len())
}

/// Whether a transaction may be a CoinJoin with few participants. It has as many equal outputs as there would
/// be participants if all but one received change, and at least as many paying parties. Goldfeder and others
/// search for this shape. It is too common to prove a CoinJoin.
pub fn may_be_coinjoin(transaction: &Transaction) -> bool {
    let Movement::Outputs {
        coinbase: false,
        inputs,
        outputs,
    } = &transaction.movement
    else {
        return false;
    };
    if inputs.len() < 2 || outputs.len() < 3 {
        return false;
    }
    let participants = outputs.len().div_ceil(2);
    let payers: FxHashSet<&Party> = inputs.iter().filter_map(|input| input.party.as_ref()).collect();
    if payers.len() < participants {
        return false;
    }
    equal_outputs(outputs).any(|holders| holders == participants)
}

/// Whether a transaction may be a PayJoin, in which the payee adds an input, so two parties sign. The shape
/// has two outputs, inputs of several parties, and an input that the payment did not need. In an ordinary
/// payment the change, and so the smallest output, is less than the smallest input.
pub fn may_be_payjoin(transaction: &Transaction) -> bool {
    let Movement::Outputs {
        coinbase: false,
        inputs,
        outputs,
    } = &transaction.movement
    else {
        return false;
    };
    if inputs.len() < 2 || outputs.len() != 2 {
        return false;
    }
    let payers: FxHashSet<Option<&str>> = inputs.iter().map(|input| input.party.as_deref()).collect();
    let smallest_output = outputs.iter().map(|output| &output.amount).min();
    let smallest_input = inputs.iter().map(|input| &input.amount).min();
    payers.len() > 1 && smallest_output >= smallest_input
}

/// Whether all inputs belong to one holder, as far as the transaction's shape shows.
pub fn one_spender(transaction: &Transaction) -> bool {
    !is_coinjoin(transaction) && !may_be_coinjoin(transaction) && !may_be_payjoin(transaction)
}

/// The parties that signed a transaction, in the order of its inputs, if they are several and count as one
/// holder. Otherwise empty.
pub fn spenders(transaction: &Transaction) -> Vec<&Party> {
    let spenders: Vec<&Party> = match &transaction.movement {
        Movement::Outputs { inputs, .. } => inputs.iter().filter_map(|input| input.party.as_ref()).collect(),
        Movement::Transfers(_) => Vec::new(),
    };
    let several = spenders.iter().any(|spender| *spender != spenders[0]);
    if several && one_spender(transaction) {
        spenders
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::of_parties as transaction;

    #[test]
    fn shapes_of_several_people_are_told_apart() {
        let whirlpool = transaction(
            &[("a", 101), ("b", 101), ("c", 100), ("d", 100), ("e", 100)],
            &[("1", 100), ("2", 100), ("3", 100), ("4", 100), ("5", 100)],
        );
        assert!(is_coinjoin(&whirlpool) && !one_spender(&whirlpool));
        let two = transaction(
            &[("a", 150), ("b", 120)],
            &[("1", 100), ("2", 100), ("3", 49), ("4", 19)],
        );
        assert!(!is_coinjoin(&two) && may_be_coinjoin(&two) && !one_spender(&two));
        let payjoin = transaction(
            &[("payer", 200), ("payee", 50)],
            &[("payee2", 150), ("payer2", 99)],
        );
        assert!(may_be_payjoin(&payjoin) && !one_spender(&payjoin));
        let plain = transaction(&[("a", 60), ("b", 50)], &[("shop", 100), ("c", 9)]);
        assert!(one_spender(&plain));
        let wages = transaction(
            &[("firm", 400)],
            &[("1", 100), ("2", 100), ("3", 100), ("firm", 99)],
        );
        assert!(!is_coinjoin(&wages) && one_spender(&wages));
        let mined = transaction(&[], &[("miner", 50)]);
        assert!(!is_coinjoin(&mined));
    }
}
