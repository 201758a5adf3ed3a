//! The greatest common divisor of long numbers by Lehmer's method. It computes about thirty of Euclid's steps
//! at a time on the leading digits alone. Exact fractions of money have thousands of bits, for which a
//! bitwise method is too slow.

use std::cmp::Ordering;
use std::mem::swap;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// A number's 64-bit digits from the lowest to the highest; the highest is not 0.
type Digits = Vec<u64>;

/// The greatest common divisor; if one number is zero, the other number.
pub(crate) fn gcd(a: &BigUint, b: &BigUint) -> BigUint {
    let (mut a, mut b) = (a.to_u64_digits(), b.to_u64_digits());
    if is_less(&a, &b) {
        swap(&mut a, &mut b);
    }
    while b.len() > 1 {
        let factors = steps(&a, &b);
        if factors[1] == 0 {
            // The lengths differ too much for the leading digits to determine a quotient.
            let rest = (number(&a) % number(&b)).to_u64_digits();
            a = std::mem::replace(&mut b, rest);
        } else {
            shorten(&mut a, &mut b, factors);
            if is_less(&a, &b) {
                swap(&mut a, &mut b);
            }
        }
    }
    let Some(mut small) = b.first().copied() else {
        return number(&a);
    };
    let mut rest = (number(&a) % small).to_u64().unwrap_or(0);
    while rest != 0 {
        (small, rest) = (rest, small % rest);
    }
    small.into()
}

fn number(digits: &[u64]) -> BigUint {
    let halves = digits
        .iter()
        .flat_map(|digit| [*digit as u32, (digit >> 32) as u32]);
    BigUint::new(halves.collect())
}

fn is_less(a: &Digits, b: &Digits) -> bool {
    let by_length = a.len().cmp(&b.len());
    by_length.then_with(|| a.iter().rev().cmp(b.iter().rev())) == Ordering::Less
}

/// The 62 leading bits of `a` ≥ `b`, and the bits of `b` at the same positions.
fn leading(a: &[u64], b: &[u64]) -> (i64, i64) {
    let top = a.len() - 1;
    let unused = a[top].leading_zeros();
    let at = |digits: &[u64], place: usize| u128::from(digits.get(place).copied().unwrap_or(0));
    let of = |digits: &[u64]| {
        let two = at(digits, top) << 64 | at(digits, top.wrapping_sub(1));
        ((two << unused) >> 66) as i64
    };
    (of(a), of(b))
}

/// Computes Euclid's steps as long as the leading 62 bits of `a` ≥ `b` determine the quotients. Returns
/// signed factors: of a and b in the new a, then of a and b in the new b. The second is 0 when no step is
/// certain.
fn steps(a: &[u64], b: &[u64]) -> [i64; 4] {
    let (mut x, mut y) = leading(a, b);
    let (mut keep, mut less, mut less_too, mut keep_too) = (1i64, 0i64, 0i64, 1i64);
    let factor = |of: i64, quotient: i64, times: i64| {
        let factor = of.checked_sub(quotient.checked_mul(times)?)?;
        (factor.unsigned_abs() <= 1 << 31).then_some(factor)
    };
    // Both ways of rounding must give the same quotient (Knuth, volume 2, 4.5.2, algorithm L).
    while y + less_too != 0 && y + keep_too != 0 {
        let quotient = (x + keep) / (y + less_too);
        if quotient != (x + less) / (y + keep_too) {
            break;
        }
        let (Some(a_next), Some(b_next)) =
            (factor(keep, quotient, less_too), factor(less, quotient, keep_too))
        else {
            break;
        };
        (x, y) = (y, x - quotient * y);
        (keep, less, less_too, keep_too) = (less_too, keep_too, a_next, b_next);
    }
    [keep, less, less_too, keep_too]
}

/// Replaces a by `keep·a + less·b` and b by `less_too·a + keep_too·b`; neither may be negative.
fn shorten(a: &mut Digits, b: &mut Digits, [keep, less, less_too, keep_too]: [i64; 4]) {
    b.resize(a.len(), 0);
    let (mut carry, mut carry_too) = (0i128, 0i128);
    for (a, b) in a.iter_mut().zip(b.iter_mut()) {
        let (x, y) = (i128::from(*a), i128::from(*b));
        // Factors have at most 32 bits, so these sums stay below 2^97.
        carry += i128::from(keep) * x + i128::from(less) * y;
        carry_too += i128::from(less_too) * x + i128::from(keep_too) * y;
        (*a, *b) = (carry as u64, carry_too as u64);
        carry >>= 64;
        carry_too >>= 64;
    }
    for digits in [a, b] {
        digits.truncate(
            digits
                .iter()
                .rposition(|digit| *digit != 0)
                .map_or(0, |last| last + 1),
        );
    }
}

#[cfg(test)]
mod tests {
    use num_rational::Ratio;
    use num_traits::Zero;
    use proptest::prelude::*;

    use super::*;

    /// The same by the library's bitwise method.
    fn peer(a: &BigUint, b: &BigUint) -> BigUint {
        if b.is_zero() {
            return a.clone();
        }
        b / Ratio::new(a.clone(), b.clone()).denom()
    }

    proptest! {
        #[test]
        fn it_is_that_of_the_bit_by_bit_method(
            a in prop::collection::vec(any::<u32>(), 0..80),
            b in prop::collection::vec(any::<u32>(), 0..80),
            common in prop::collection::vec(any::<u32>(), 0..20),
        ) {
            let [a, b, common] = [a, b, common].map(BigUint::new);
            prop_assert_eq!(gcd(&a, &b), peer(&a, &b));
            let (a, b) = (a * &common, b * &common);
            prop_assert_eq!(gcd(&a, &b), peer(&a, &b));
        }

        #[test]
        fn near_numbers_and_runs_of_ones_too(bits in 0u64..3000, a in any::<u64>(), b in any::<u64>()) {
            let one = BigUint::from(1u8);
            let ones = (&one << bits) - &one;
            for (a, b) in [(&ones + a, &ones + b), (&ones * a, &ones + b), (&ones * a, (&ones << 7u32) * b)] {
                prop_assert_eq!(gcd(&a, &b), peer(&a, &b));
            }
        }
    }

    #[test]
    fn of_nothing_it_is_the_other() {
        let number = BigUint::from(7u8) << 700u32;
        assert_eq!(gcd(&number, &BigUint::zero()), number);
        assert_eq!(gcd(&BigUint::zero(), &BigUint::zero()), BigUint::zero());
        // Neighbouring Fibonacci numbers need the most steps.
        let (mut a, mut b) = (BigUint::from(1u8), BigUint::from(1u8));
        for _ in 0..4000 {
            (a, b) = (&a + &b, a);
        }
        assert_eq!(gcd(&a, &b), BigUint::from(1u8));
    }
}
