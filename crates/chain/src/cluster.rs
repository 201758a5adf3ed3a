//! Finds the addresses that one holder controls, by outputs that one holder spends together
//! ([`crate::coinjoin`]).
//!
//! Change heuristics never merge clusters, because a wrong merge would taint strangers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::coinjoin::spenders;
pub use crate::coinjoin::{is_coinjoin, may_be_coinjoin, may_be_payjoin, one_spender};
use crate::source::{Source, SourceError, Window};
use crate::transaction::{Movement, Party, Transaction};

/// Clusters of many transactions at once: union-find by size with path halving.
#[derive(Default)]
pub struct Clusters {
    numbers: FxHashMap<Party, u32>,
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl Clusters {
    /// Adds a transaction's parties, and merges those that spent together.
    pub fn add(&mut self, transaction: &Transaction) {
        if let Movement::Outputs { inputs, outputs, .. } = &transaction.movement {
            let parties = inputs
                .iter()
                .map(|input| &input.party)
                .chain(outputs.iter().map(|output| &output.party));
            for party in parties.flatten() {
                self.number(party);
            }
        }
        let spenders = spenders(transaction);
        if let Some((first, others)) = spenders.split_first() {
            let first = self.number(first);
            for other in others {
                let other = self.number(other);
                self.union(first, other);
            }
        }
    }

    /// All parties in a party's cluster, itself included, in order; empty for an unknown party.
    pub fn members(&mut self, party: &str) -> Vec<Party> {
        let Some(number) = self.numbers.get(party).copied() else {
            return Vec::new();
        };
        let root = self.root(number);
        let all: Vec<(Party, u32)> = self
            .numbers
            .iter()
            .map(|(party, number)| (party.clone(), *number))
            .collect();
        let mut members: Vec<Party> = all
            .into_iter()
            .filter(|(_, number)| self.root(*number) == root)
            .map(|(party, _)| party)
            .collect();
        members.sort();
        members
    }

    /// Whether two parties are in the same cluster.
    pub fn same(&mut self, a: &str, b: &str) -> bool {
        match (self.numbers.get(a).copied(), self.numbers.get(b).copied()) {
            (Some(a), Some(b)) => self.root(a) == self.root(b),
            _ => false,
        }
    }

    /// The number of clusters, including those of one address.
    pub fn count(&self) -> usize {
        self.parents
            .iter()
            .zip(0u32..)
            .filter(|(parent, number)| **parent == *number)
            .count()
    }

    fn number(&mut self, party: &Party) -> u32 {
        if let Some(number) = self.numbers.get(party) {
            return *number;
        }
        let number = u32::try_from(self.parents.len()).unwrap_or(u32::MAX);
        self.numbers.insert(party.clone(), number);
        self.parents.push(number);
        self.sizes.push(1);
        number
    }

    fn root(&mut self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            let up = self.parents[self.parents[number as usize] as usize];
            self.parents[number as usize] = up;
            number = up;
        }
        number
    }

    fn union(&mut self, a: u32, b: u32) {
        let (mut large, mut small) = (self.root(a), self.root(b));
        if large == small {
            return;
        }
        if self.sizes[large as usize] < self.sizes[small as usize] {
            std::mem::swap(&mut large, &mut small);
        }
        self.parents[small as usize] = large;
        self.sizes[large as usize] += self.sizes[small as usize];
    }
}

/// The cluster of one address, found without an index of all clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The members in order, including the address itself.
    pub members: Vec<Party>,
    /// Whether the budget sufficed to query every member.
    pub complete: bool,
}

/// Finds an address's cluster from histories: at most `budget` of them, with `limit` transactions each. The
/// result depends on the histories alone, so every source of a chain gives the same answer.
///
/// # Errors
/// When the source fails.
pub fn cluster_of(
    source: &dyn Source,
    party: &str,
    window: Window,
    budget: usize,
) -> Result<Cluster, SourceError> {
    let mut members: FxHashSet<Party> = FxHashSet::default();
    let start: Party = party.into();
    members.insert(start.clone());
    let mut queue = std::collections::VecDeque::from([start]);
    let mut complete = true;
    let mut looked_up = 0;
    while let Some(next) = queue.pop_front() {
        if looked_up == budget {
            complete = false;
            break;
        }
        looked_up += 1;
        let history = match source.joint_spends(&next, window) {
            Err(SourceError::Budget) if looked_up > 1 => {
                complete = false;
                break;
            }
            history => history?,
        };
        complete &= history.complete;
        for transaction in &history.transactions {
            for other in spenders(transaction) {
                if members.insert(other.clone()) {
                    queue.push_back(other.clone());
                }
            }
        }
    }
    let mut members: Vec<Party> = members.into_iter().collect();
    members.sort();
    Ok(Cluster { members, complete })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::of_parties as transaction;

    #[test]
    fn spending_together_merges_and_receiving_together_does_not() {
        let mut clusters = Clusters::default();
        clusters.add(&transaction(
            &[("a", 60), ("b", 50)],
            &[("shop", 100), ("change", 9)],
        ));
        clusters.add(&transaction(
            &[("b", 60), ("c", 50)],
            &[("shop2", 100), ("change2", 9)],
        ));
        clusters.add(&transaction(&[("x", 200), ("a", 50)], &[("y", 150), ("z", 99)]));
        assert!(clusters.same("a", "c"));
        assert!(!clusters.same("a", "change"));
        assert!(!clusters.same("a", "x"), "a PayJoin merges nobody");
        assert_eq!(
            clusters.members("c"),
            ["a".into(), "b".into(), "c".into()] as [Party; 3]
        );
        assert!(clusters.members("nobody").is_empty());
        assert_eq!(clusters.count(), 8);
    }
}
