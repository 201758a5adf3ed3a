//! What was used lately, in bounded memory: two generations, the older of which is dropped when the younger is full. It
//! decides nothing: what it no longer knows, the store does. The store knows of a block only when it is whole, so
//! generations turn between blocks alone.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Entries that make a generation full.
const GENERATION: usize = 1_000_000;

/// Values by key. Taking one out and putting it back keeps it young.
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
    /// Takes a value out.
    pub(super) fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    /// Puts a value in, instead of what the key had.
    pub(super) fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    /// Drops what was not used for a generation. The store must know all of it.
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
                // The first of all is used all the time.
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
