//! What was used lately, in bounded memory: two generations, the older of which is dropped when the younger is full. It
//! decides nothing: what it no longer knows, the store does.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Entries of a generation.
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
        self.put_within(key, value, GENERATION);
    }

    fn put_within(&mut self, key: K, value: V, generation: usize) {
        if self.young.len() >= generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_dropped() {
        let mut recent = Recent::default();
        for number in 0..6 {
            recent.put_within(number, number * 10, 3);
            // The first is used all the time.
            let first = recent.take(&0);
            assert_eq!(first, Some(0), "{number}");
            recent.put_within(0, 0, 3);
        }
        let kept: Vec<Option<i32>> = (0..7).map(|number| recent.take(&number)).collect();
        assert_eq!(kept[0], Some(0));
        assert_eq!(kept[1], None, "a generation ago and more");
        assert_eq!(kept[5], Some(50));
        assert_eq!(kept[6], None);
        assert_eq!(recent.take(&0), None, "what was taken is gone");
        for value in [1, 2, 3] {
            recent.put_within(9, value, 1);
        }
        assert_eq!(
            [recent.take(&9), recent.take(&9)],
            [Some(3), None],
            "one value a key"
        );
    }
}
