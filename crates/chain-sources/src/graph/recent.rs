//! A cache of recently used values in bounded memory, with two generations: when the younger is full, the
//! older is dropped.
//!
//! It decides nothing: a value that was dropped is read from the store. The store has a block's entries only
//! after the whole block is written, so generations rotate only between blocks.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// The number of entries at which a generation is full.
const GENERATION: usize = 1_000_000;

/// Values by key. Taking a value and putting it back moves it to the younger generation.
pub(super) struct Recent<K, V> {
    young: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Recent<K, V> {
        Recent {
            young: FxHashMap::default(),
            old: FxHashMap::default(),
        }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Removes and returns a value.
    pub(super) fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    /// Inserts a value, which replaces the key's earlier value.
    pub(super) fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    /// Drops the older generation if the younger one is full. The store must already have all values.
    pub(super) fn turn(&mut self) {
        self.turn_at(GENERATION);
    }

    fn turn_at(&mut self, full: usize) {
        if self.young.len() >= full {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_dropped_between_blocks() {
        let mut recent = Recent::default();
        for block in 0..3 {
            for number in 0..3 {
                recent.put(block * 10 + number, number);
                // The first key is used in every round.
                assert_eq!(recent.take(&0), Some(0));
                recent.put(0, 0);
            }
            recent.turn_at(3);
        }
        let kept: Vec<Option<i32>> = [0, 1, 11, 21].iter().map(|number| recent.take(number)).collect();
        assert_eq!(kept, [Some(0), None, None, Some(1)]);
        assert_eq!(recent.take(&0), None, "what was taken is gone");
        for value in 1..=1000 {
            recent.put(value % 100, value);
        }
        assert_eq!(recent.take(&1), Some(901), "one value a key");
        assert_eq!(recent.take(&1), None);
        assert_eq!(recent.take(&2), Some(902), "however many come before the turn");
    }
}
