//! A small generator of random numbers (SplitMix64), so that a seed gives the same film on every machine and with
//! every version of a library. It is not for cryptography.

/// A generator with a state of 64 bits.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator for one purpose: another `purpose` gives other numbers from the same seed.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed ^ purpose.wrapping_mul(0x9e6c_63d0_876a_9a47));
        random.next();
        random
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly distributed from `low` to `high`.
    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 40) as f32 / (1_u64 << 24) as f32)
    }

    /// True with this probability.
    pub(crate) fn chance(&mut self, probability: f32) -> bool {
        self.between(0.0, 1.0) < probability
    }

    /// Normally distributed with mean 0 and deviation 1, within ±3.46 (the sum of twelve even numbers would be within
    /// ±6; four are enough here).
    pub(crate) fn normal(&mut self) -> f32 {
        let sum: f32 = (0..4).map(|_| self.between(-1.0, 1.0)).sum();
        sum * 3f32.sqrt() / 2.0
    }

    /// One of `count` places.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// Exchanges the items until every order is equally likely.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}
