//! The greatest common divisor of long numbers by Lehmer's method: thirty steps of Euclid's at a time, reckoned on the
//! leading digits alone. Exact fractions of money have thousands of bits, and bit by bit they take a screening's time.

use std::mem::swap;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

/// The greatest common divisor; of nothing and a number, the number.
pub(crate) fn gcd(a: &BigUint, b: &BigUint) -> BigUint {
    let (mut a, mut b) = if a >= b {
        (a.clone(), b.clone())
    } else {
        (b.clone(), a.clone())
    };
    while b.bits() > 64 {
        let [keep, less, keep_too, less_too] = steps(&a, &b);
        if less == 0 {
            // The numbers' lengths differ too much to be led by a few digits.
            a %= &b;
            swap(&mut a, &mut b);
        } else {
            let next = difference(&a, keep, &b, less);
            b = difference(&b, keep_too, &a, less_too);
            a = next;
        }
    }
    let Some(mut small) = b.to_u64().filter(|small| *small != 0) else {
        return a;
    };
    let mut rest = (a % small).to_u64().unwrap_or(0);
    while rest != 0 {
        (small, rest) = (rest, small % rest);
    }
    small.into()
}

/// `|number·times − other·other_times|`
fn difference(number: &BigUint, times: u64, other: &BigUint, other_times: u64) -> BigUint {
    let (number, other) = (number * times, other * other_times);
    if number >= other {
        number - other
    } else {
        other - number
    }
}

/// What as many steps of Euclid's as the leading 62 bits of `a` ≥ `b` tell for certain make of them: the factors, without
/// their signs, of a and b in the new a, and of b and a in the new b. The second is 0 when no step is certain.
fn steps(a: &BigUint, b: &BigUint) -> [u64; 4] {
    let shift = a.bits().saturating_sub(62);
    let leading = |number: &BigUint| (number >> shift).to_i64().unwrap_or(0);
    let (mut x, mut y) = (leading(a), leading(b));
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
    [keep, less, keep_too, less_too].map(i64::unsigned_abs)
}

#[cfg(test)]
mod tests {
    use num_rational::Ratio;
    use num_traits::Zero;
    use proptest::prelude::*;

    use super::*;

    /// The same by the library, which goes bit by bit.
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
        // Neighbours in Fibonacci's row need the most steps.
        let (mut a, mut b) = (BigUint::from(1u8), BigUint::from(1u8));
        for _ in 0..4000 {
            (a, b) = (&a + &b, a);
        }
        assert_eq!(gcd(&a, &b), BigUint::from(1u8));
    }
}
