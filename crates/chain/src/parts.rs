//! Exact parts of one whole in bounded size: whole numbers over one denominator that all parts of a
//! calculation share.
//!
//! The sum of many fractions needs a denominator that all of theirs divide, which grows without limit. Here
//! the shared denominator grows up to [`MOST_BITS`] bits, and all parts are exact until then. About forty
//! transactions with coprime amounts of bitcoin need that many.
//!
//! After that, a part that the denominator cannot express is rounded down, by less than one part in 2^512.
//! The caller can detect this, because the pieces then no longer sum to the whole.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::{BigInt, BigUint};
use num_rational::{BigRational, Ratio};
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::gcd::gcd;

/// An exact part of a whole, 0 to 1.
pub type Share = BigRational;

/// The largest size of the shared denominator in bits.
pub const MOST_BITS: u64 = 2048;
/// Rounding is never coarser than one part in two to this power.
const FINE_BITS: u64 = 512;

/// A part, from 0 to 1. Two parts compare exactly.
#[derive(Clone, Debug)]
pub struct Part {
    numerator: BigUint,
    denominator: Arc<BigUint>,
}

impl Part {
    /// Whether the part is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        to_f64(&self.numerator, &self.denominator)
    }

    /// A number for sorting: it never contradicts the exact order, and is computed once for many comparisons.
    pub(crate) fn key(&self) -> u128 {
        ((&self.numerator << 120u32) / &*self.denominator)
            .to_u128()
            .unwrap_or(u128::MAX)
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Part {}
impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        if self.denominator == other.denominator {
            return self.numerator.cmp(&other.numerator);
        }
        (&self.numerator * &*other.denominator).cmp(&(&other.numerator * &*self.denominator))
    }
}

/// The denominator that all parts of a calculation share.
#[derive(Clone, Debug)]
pub struct Scale {
    denominator: Arc<BigUint>,
    most_bits: u64,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::within(MOST_BITS)
    }
}

impl Scale {
    /// A scale whose denominator has at most `most_bits` bits; at least 512 are allowed.
    pub fn within(most_bits: u64) -> Scale {
        Scale {
            denominator: Arc::new(BigUint::one()),
            most_bits: most_bits.max(FINE_BITS),
        }
    }

    /// The part that is the whole.
    pub fn one(&self) -> Part {
        self.part((*self.denominator).clone())
    }

    /// The part that is zero.
    pub fn nothing(&self) -> Part {
        self.part(BigUint::zero())
    }

    /// The current denominator.
    pub fn whole(&self) -> &BigUint {
        &self.denominator
    }

    /// A numerator over the current denominator, as a part.
    pub fn part(&self, numerator: BigUint) -> Part {
        Part {
            numerator,
            denominator: Arc::clone(&self.denominator),
        }
    }

    /// A part's numerator over the current denominator. This is exact, because the denominator only grows by
    /// factors.
    pub fn numerator(&self, part: &Part) -> BigUint {
        if Arc::ptr_eq(&self.denominator, &part.denominator) {
            return part.numerator.clone();
        }
        &part.numerator * (&*self.denominator / &*part.denominator)
    }

    /// Multiplies the denominator by a factor. If the result would be too long, it is only extended for fine
    /// rounding.
    fn grow(&mut self, factor: &BigUint) {
        if factor.is_one() {
            return;
        }
        let bits = self.denominator.bits();
        if bits + factor.bits() <= self.most_bits {
            self.denominator = Arc::new(&*self.denominator * factor);
        } else if bits < FINE_BITS {
            self.denominator = Arc::new(&*self.denominator << (FINE_BITS - bits));
        }
    }

    /// Converts a fraction to a part.
    pub fn to_part(&mut self, share: &Share) -> Part {
        let (numerator, denominator) = (share.numer().magnitude(), share.denom().magnitude());
        self.split(&self.one(), &[numerator], denominator)
            .pop()
            .unwrap_or_else(|| self.nothing())
    }

    /// Splits a part in the ratios `amounts` / `of`. Each piece is rounded down where necessary.
    pub fn split(&mut self, part: &Part, amounts: &[&BigUint], of: &BigUint) -> Vec<Part> {
        if of.is_zero() {
            return vec![self.nothing(); amounts.len()];
        }
        let numerator = self.numerator(part);
        // The smallest factor that makes every amount of the part a whole number.
        self.grow(&(of / gcd(&((&numerator * common(amounts)) % of), of)));
        let numerator = self.numerator(part);
        amounts
            .iter()
            .map(|amount| self.part(&numerator * *amount / of))
            .collect()
    }

    /// The parts of the amounts in their whole. This is exact, unless the whole is longer than the
    /// denominator may be.
    pub fn weigh(&mut self, amounts: &[&BigUint], whole: &BigUint) -> Vec<Part> {
        let common = amounts
            .iter()
            .fold(whole.clone(), |common, amount| gcd(&common, &(*amount % &common)));
        if common.is_one() || common.is_zero() {
            return self.split(&self.one(), amounts, whole);
        }
        let reduced: Vec<BigUint> = amounts.iter().map(|amount| *amount / &common).collect();
        self.split(
            &self.one(),
            &reduced.iter().collect::<Vec<_>>(),
            &(whole / common),
        )
    }

    /// Adds a part to a sum.
    pub fn add(&self, sum: &mut Part, part: &Part) {
        *sum = self.part(self.numerator(sum) + self.numerator(part));
    }

    /// A part as a fraction of the whole, not in lowest terms.
    pub fn share(&self, part: &Part) -> Share {
        fraction(&self.numerator(part), &self.denominator)
    }
}

/// A fraction that is not reduced. Reducing long fractions after each step would take most of the time.
pub fn fraction(numerator: &BigUint, denominator: &BigUint) -> Share {
    Share::new_raw(numerator.clone().into(), denominator.clone().into())
}

/// The same fraction in lowest terms, as it is written.
pub fn lowest(share: &Share) -> Share {
    let common = gcd(share.numer().magnitude(), share.denom().magnitude());
    if common.is_zero() || common.is_one() {
        return share.clone();
    }
    let common = BigInt::from(common);
    Share::new_raw(share.numer() / &common, share.denom() / common)
}

/// A fraction in lowest terms.
pub fn share(numerator: &BigUint, denominator: &BigUint) -> Share {
    lowest(&fraction(numerator, denominator))
}

/// Adds to a sum, not in lowest terms. If one denominator divides the other, the sum has the larger one.
pub fn add(sum: &mut Share, more: &Share) {
    let (above, below) = if sum.denom() == more.denom() {
        (sum.numer() + more.numer(), sum.denom().clone())
    } else if (more.denom() % sum.denom()).is_zero() {
        let times = more.denom() / sum.denom();
        (sum.numer() * times + more.numer(), more.denom().clone())
    } else if (sum.denom() % more.denom()).is_zero() {
        let times = sum.denom() / more.denom();
        (sum.numer() + more.numer() * times, sum.denom().clone())
    } else {
        let above = sum.numer() * more.denom() + more.numer() * sum.denom();
        (above, sum.denom() * more.denom())
    };
    *sum = Share::new_raw(above, below);
}

/// The nearest float of a share of any length.
pub fn number(share: &Share) -> f64 {
    let number = to_f64(share.numer().magnitude(), share.denom().magnitude());
    if share.numer().is_negative() {
        -number
    } else {
        number
    }
}

/// The nearest float of a fraction of any length.
pub fn to_f64(numerator: &BigUint, denominator: &BigUint) -> f64 {
    // 65 to 67 digits of the quotient suffice; the last is set if a remainder follows, so rounding stays
    // correct.
    let shift = numerator.bits().cast_signed() - denominator.bits().cast_signed() - 66;
    if numerator.is_zero() || denominator.is_zero() || shift.abs() > 1000 {
        return Ratio::<BigInt>::new_raw(numerator.clone().into(), denominator.clone().into())
            .to_f64()
            .unwrap_or(0.0);
    }
    let lengthened = |number: &BigUint, shift: i64| number << shift.max(0).unsigned_abs();
    let (above, below) = (lengthened(numerator, -shift), lengthened(denominator, shift));
    let quotient = &above / &below;
    let more = quotient.clone() * below != above;
    let digits = quotient.to_u128().unwrap_or(u128::MAX) | u128::from(more);
    digits as f64 * 2f64.powi(shift as i32)
}

/// The greatest common divisor of short amounts; 1 if one is too long for a quick result.
fn common(amounts: &[&BigUint]) -> BigUint {
    let mut common = 0u128;
    for amount in amounts {
        let Some(mut rest) = amount.to_u128() else {
            return BigUint::one();
        };
        while rest != 0 {
            (common, rest) = (rest, common % rest);
        }
        if common == 1 {
            break;
        }
    }
    common.max(1).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fraction(numerator: u64, denominator: u64) -> Share {
        Share::new(numerator.into(), denominator.into())
    }

    #[test]
    fn fractions_are_reduced_and_summed_exactly() {
        for (a, b, sum) in [
            ((2, 6), (1, 3), "2/3"),
            ((1, 3), (5, 12), "3/4"),
            ((5, 12), (1, 3), "3/4"),
            ((1, 6), (3, 4), "11/12"),
            ((0, 5), (0, 7), "0"),
        ] {
            let raw = |(above, below): (u64, u64)| super::fraction(&above.into(), &below.into());
            let mut found = raw(a);
            add(&mut found, &raw(b));
            assert_eq!(lowest(&found).to_string(), sum);
        }
    }

    #[test]
    fn weights_need_no_longer_denominator_than_their_fractions() {
        let long = BigUint::one() << 900u32;
        let amounts = [&long * 2u8, &long * 6u8, &long * 4u8];
        let mut scale = Scale::default();
        let parts = scale.weigh(&amounts.iter().collect::<Vec<_>>(), &(&long * 14u8));
        assert_eq!(scale.whole(), &7u8.into());
        let shares: Vec<Share> = parts.iter().map(|part| scale.share(part)).collect();
        assert_eq!(shares, [fraction(1, 7), fraction(3, 7), fraction(2, 7)]);
    }

    #[test]
    fn parts_of_parts_are_exact() {
        let mut scale = Scale::default();
        let third = scale.to_part(&fraction(1, 3));
        let pieces = scale.split(&third, &[&2u8.into(), &5u8.into()], &7u8.into());
        assert_eq!(scale.share(&pieces[0]), fraction(2, 21));
        assert_eq!(scale.share(&pieces[1]), fraction(5, 21));
        let mut sum = scale.nothing();
        for piece in &pieces {
            scale.add(&mut sum, piece);
        }
        assert_eq!(sum, third, "an older part over a smaller denominator");
        assert!(pieces[0] < pieces[1] && pieces[0].key() < pieces[1].key());
        assert_eq!(scale.whole(), &21u8.into());
        // A piece that the denominator can already express must not extend it.
        scale.split(&third, &[&10u8.into()], &10u8.into());
        scale.split(&third, &[&2u8.into(), &4u8.into()], &14u8.into());
        assert_eq!(scale.whole(), &21u8.into());
    }

    #[test]
    fn a_denominator_stops_growing_and_what_is_lost_is_little() {
        let mut scale = Scale::default();
        let mut left = scale.one();
        let mut sum = scale.nothing();
        for step in 0..3000u64 {
            let of: BigUint = (1_000_000_007 + 2 * step).into();
            let pieces = scale.split(&left, &[&7u8.into(), &(&of - 7u8)], &of);
            scale.add(&mut sum, &pieces[0]);
            left = pieces[1].clone();
        }
        scale.add(&mut sum, &left);
        assert!(scale.whole().bits() <= MOST_BITS);
        let lost = Share::from_integer(1.into()) - scale.share(&sum);
        assert!(lost > Share::zero() && lost < share(&1u8.into(), &(BigUint::one() << 500)));
    }

    #[test]
    fn amounts_of_any_length_are_split() {
        let mut scale = Scale::default();
        let long = (BigUint::one() << 3000u32) + 1u8;
        let half = &long / 2u8;
        let pieces = scale.split(&scale.one(), &[&half, &half], &long);
        assert!(scale.whole().bits() <= MOST_BITS);
        assert!((to_f64(&scale.numerator(&pieces[0]), scale.whole()) - 0.5).abs() < 1e-12);
        let nothing = scale.split(&scale.one(), &[&half], &BigUint::zero());
        assert!(nothing[0].is_zero());
    }

    proptest! {
        #[test]
        fn numbers_are_the_nearest(
            above in prop::collection::vec(any::<u32>(), 0..40),
            below in prop::collection::vec(any::<u32>(), 1..40),
            shift in 0u32..70,
        ) {
            let (above, below) = (BigUint::new(above), BigUint::new(below) + 1u8);
            for (above, below) in [(above.clone(), below.clone()), (above >> shift, below << shift)] {
                let library = Ratio::<BigInt>::new(above.clone().into(), below.clone().into()).to_f64();
                prop_assert_eq!(Some(to_f64(&above, &below)), library);
            }
        }

        #[test]
        fn halves_are_rounded_to_even(whole in (1u64 << 52)..(1u64 << 53), rest in 0u64..4, times in 1u64..1000) {
            let above = (BigUint::from(whole) * 4u8 + rest) * times;
            let below = BigUint::from(4 * times);
            let library = Ratio::<BigInt>::new(above.clone().into(), below.clone().into()).to_f64();
            prop_assert_eq!(Some(to_f64(&above, &below)), library);
        }

        #[test]
        fn pieces_are_what_fractions_say(
            steps in prop::collection::vec(prop::collection::vec(1u64..1000, 1..5), 1..12),
            which in 0usize..5,
        ) {
            let mut scale = Scale::default();
            let (mut part, mut expected) = (scale.one(), fraction(1, 1));
            for amounts in &steps {
                let of: u64 = amounts.iter().sum();
                let units: Vec<BigUint> = amounts.iter().map(|amount| (*amount).into()).collect();
                let pieces = scale.split(&part, &units.iter().collect::<Vec<_>>(), &of.into());
                let which = which % amounts.len();
                part = pieces[which].clone();
                expected *= fraction(amounts[which], of);
                prop_assert_eq!(scale.share(&part), expected.clone());
            }
        }
    }
}
