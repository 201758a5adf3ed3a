//! Exact amounts of money on a chain: whole numbers of the smallest unit, of any size, written as decimal strings.
//!
//! Never a float: a JSON number such as `0.1` is read from its text.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::Zero;

/// The longest text read as an amount: 256 bits and a fraction need fewer digits.
const LONGEST: usize = 200;

/// An amount in the smallest unit (satoshi, wei, lamport, …). Beyond `u64` and `u128`, too: a token's counters are 256 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(BigUint);

/// A text that is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAmount {
    /// Not digits with at most one point (and perhaps an exponent), or longer than any amount.
    #[error("not a decimal amount")]
    Shape,
    /// More decimals than the currency has.
    #[error("more decimals than the currency has")]
    TooPrecise,
}

impl Amount {
    /// The amount as a whole number of the smallest unit.
    pub fn units(&self) -> &BigUint {
        &self.0
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// What is left after taking `other` away; nothing, if `other` is more.
    pub fn saturating_sub(&self, other: &Amount) -> Amount {
        if other.0 >= self.0 {
            Amount::default()
        } else {
            Amount(&self.0 - &other.0)
        }
    }

    /// What part of `whole` this is, exactly; zero of nothing.
    pub fn part_of(&self, whole: &Amount) -> BigRational {
        if whole.is_zero() {
            return BigRational::zero();
        }
        BigRational::new(self.0.clone().into(), whole.0.clone().into())
    }

    /// Reads a whole number of the smallest unit.
    ///
    /// # Errors
    /// When the text is not digits alone.
    pub fn from_units(text: &str) -> Result<Amount, NotAnAmount> {
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotAnAmount::Shape);
        }
        BigUint::parse_bytes(text.as_bytes(), 10)
            .map(Amount)
            .ok_or(NotAnAmount::Shape)
    }

    /// Reads an EVM quantity such as `0x2a`.
    ///
    /// # Errors
    /// When the text is not `0x` and at most 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Amount, NotAnAmount> {
        let digits = text.strip_prefix("0x").ok_or(NotAnAmount::Shape)?;
        if digits.is_empty() {
            return Ok(Amount::default());
        }
        if digits.len() > 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAnAmount::Shape);
        }
        BigUint::parse_bytes(digits.as_bytes(), 16)
            .map(Amount)
            .ok_or(NotAnAmount::Shape)
    }

    /// Reads an amount of whole coins with a point (`0.1`, `1e-8`), exactly.
    ///
    /// # Errors
    /// When the text is no number, or finer than the currency.
    pub fn from_coins(text: &str, decimals: u8) -> Result<Amount, NotAnAmount> {
        if text.len() > LONGEST {
            return Err(NotAnAmount::Shape);
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| NotAnAmount::Shape)?)
            }
            None => (text, 0),
        };
        if exponent.unsigned_abs() > 100 {
            return Err(NotAnAmount::Shape);
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let units = Amount::from_units(&digits)?;
        let fraction = i64::try_from(fraction.len()).map_err(|_| NotAnAmount::Shape)?;
        let shift = i64::from(decimals) + i64::from(exponent) - fraction;
        let ten = BigUint::from(10u8);
        let power = ten.pow(u32::try_from(shift.unsigned_abs()).map_err(|_| NotAnAmount::Shape)?);
        if shift >= 0 {
            return Ok(Amount(units.0 * power));
        }
        if !(&units.0 % &power).is_zero() {
            return Err(NotAnAmount::TooPrecise);
        }
        Ok(Amount(units.0 / power))
    }

    /// Writes it in whole coins: `1.5`, `0.00000546`, `0`.
    pub fn to_coins(&self, decimals: u8) -> String {
        let digits = self.0.to_string();
        let decimals = usize::from(decimals);
        let digits = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{fraction}")
        }
    }
}

impl From<u64> for Amount {
    fn from(units: u64) -> Amount {
        Amount(units.into())
    }
}

impl From<BigUint> for Amount {
    fn from(units: BigUint) -> Amount {
        Amount(units)
    }
}

impl Add<&Amount> for Amount {
    type Output = Amount;

    fn add(self, other: &Amount) -> Amount {
        Amount(self.0 + &other.0)
    }
}

impl AddAssign<&Amount> for Amount {
    fn add_assign(&mut self, other: &Amount) {
        self.0 += &other.0;
    }
}

impl<'a> Sum<&'a Amount> for Amount {
    fn sum<I: Iterator<Item = &'a Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), |sum, amount| sum + amount)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_are_read_and_written_exactly() {
        for (text, decimals, units, written) in [
            ("0.1", 8, "10000000", "0.1"),
            ("1e-8", 8, "1", "0.00000001"),
            ("20999999.97690000", 8, "2099999997690000", "20999999.9769"),
            ("5", 0, "5", "5"),
            ("0", 18, "0", "0"),
            ("1.5E3", 2, "150000", "1500"),
        ] {
            let amount = Amount::from_coins(text, decimals).unwrap();
            assert_eq!(amount.to_string(), units, "{text}");
            assert_eq!(amount.to_coins(decimals), written);
        }
        assert_eq!(Amount::from_coins("0.000000001", 8), Err(NotAnAmount::TooPrecise));
        for wrong in ["", ".", "-1", "+1", "1.2.3", "1e999999999", "NaN", "1e", "0x10"] {
            assert_eq!(Amount::from_coins(wrong, 8), Err(NotAnAmount::Shape), "{wrong}");
        }
    }

    #[test]
    fn amounts_go_beyond_u64_and_u128() {
        let largest = format!("0x{}", "f".repeat(64));
        let amount = Amount::from_hex(&largest).unwrap();
        assert_eq!(amount.to_string().len(), 78);
        let doubled = amount.clone() + &amount;
        assert!(doubled > amount);
        assert_eq!(Amount::from_hex(&format!("{largest}f")), Err(NotAnAmount::Shape));
        assert_eq!(Amount::from_hex("0x").unwrap(), Amount::default());
        assert_eq!(
            Amount::from_units("18446744073709551616").unwrap().to_coins(18),
            "18.446744073709551616"
        );
    }
}
