//! Exact amounts of money on a chain: whole numbers of the smallest unit, of any size, written as decimal
//! strings.
//!
//! Amounts are never floats: a JSON number such as `0.1` is read from its text.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

/// The longest text of an amount in bytes; 256 bits and a fraction need fewer digits.
const LONGEST: usize = 200;

/// An amount in the smallest unit (satoshi, wei, lamport, …). It can exceed `u64` and `u128`, since token
/// counters have 256 bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(Units);

/// Short amounts, which are by far the most common, need no heap memory. The derived order needs the variants
/// in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Units {
    Short(u64),
    /// Beyond `u64`.
    Long(BigUint),
}

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is not digits with at most one point (and perhaps an exponent), or it is too long.
    #[error("not a decimal amount")]
    Shape,
    /// The text has more decimals than the currency.
    #[error("more decimals than the currency has")]
    TooPrecise,
}

impl Amount {
    /// The amount as a whole number of the smallest unit.
    pub fn units(&self) -> BigUint {
        match &self.0 {
            Units::Short(units) => (*units).into(),
            Units::Long(units) => units.clone(),
        }
    }

    /// The amount if it fits into 64 bits.
    pub fn to_u64(&self) -> Option<u64> {
        match self.0 {
            Units::Short(units) => Some(units),
            Units::Long(_) => None,
        }
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == Units::Short(0)
    }

    /// The amount less `other`, or zero if `other` is larger.
    pub fn saturating_sub(&self, other: &Amount) -> Amount {
        match (&self.0, &other.0) {
            (Units::Short(all), Units::Short(less)) => all.saturating_sub(*less).into(),
            _ if other >= self => Amount::default(),
            _ => (self.units() - other.units()).into(),
        }
    }

    /// This amount as an exact fraction of `whole`; zero when `whole` is zero.
    pub fn part_of(&self, whole: &Amount) -> BigRational {
        if whole.is_zero() {
            return BigRational::zero();
        }
        BigRational::new(self.units().into(), whole.units().into())
    }

    /// Parses a whole number of the smallest unit.
    ///
    /// # Errors
    /// When the text has anything but digits, or is too long.
    pub fn from_units(text: &str) -> Result<Amount, AmountError> {
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::Shape);
        }
        BigUint::parse_bytes(text.as_bytes(), 10)
            .map(Amount::from)
            .ok_or(AmountError::Shape)
    }

    /// Parses an EVM quantity such as `0x2a`.
    ///
    /// # Errors
    /// When the text is not `0x` with at most 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Amount, AmountError> {
        let digits = text.strip_prefix("0x").ok_or(AmountError::Shape)?;
        if digits.is_empty() {
            return Ok(Amount::default());
        }
        if digits.len() > 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(AmountError::Shape);
        }
        BigUint::parse_bytes(digits.as_bytes(), 16)
            .map(Amount::from)
            .ok_or(AmountError::Shape)
    }

    /// Parses an amount of whole coins with a point (`0.1`, `1e-8`), exactly.
    ///
    /// # Errors
    /// When the text is no number, or has more decimals than the currency.
    pub fn from_coins(text: &str, decimals: u8) -> Result<Amount, AmountError> {
        if text.len() > LONGEST {
            return Err(AmountError::Shape);
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                (mantissa, exponent.parse::<i32>().map_err(|_| AmountError::Shape)?)
            }
            None => (text, 0),
        };
        if exponent.unsigned_abs() > 100 {
            return Err(AmountError::Shape);
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let units = Amount::from_units(&digits)?;
        let fraction = i64::try_from(fraction.len()).map_err(|_| AmountError::Shape)?;
        let shift = i64::from(decimals) + i64::from(exponent) - fraction;
        let ten = BigUint::from(10u8);
        let power = ten.pow(u32::try_from(shift.unsigned_abs()).map_err(|_| AmountError::Shape)?);
        if shift >= 0 {
            return Ok((units.units() * power).into());
        }
        let units = units.units();
        if !(&units % &power).is_zero() {
            return Err(AmountError::TooPrecise);
        }
        Ok((units / power).into())
    }

    /// Writes the amount in whole coins: `1.5`, `0.00000546`, `0`.
    pub fn to_coins(&self, decimals: u8) -> String {
        let digits = self.to_string();
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
        Amount(Units::Short(units))
    }
}

impl From<BigUint> for Amount {
    fn from(units: BigUint) -> Amount {
        Amount(units.to_u64().map_or(Units::Long(units), Units::Short))
    }
}

impl Default for Amount {
    fn default() -> Amount {
        Amount(Units::Short(0))
    }
}

impl Add<&Amount> for Amount {
    type Output = Amount;

    fn add(mut self, other: &Amount) -> Amount {
        self += other;
        self
    }
}

impl AddAssign<&Amount> for Amount {
    fn add_assign(&mut self, other: &Amount) {
        *self = match (&self.0, &other.0) {
            (Units::Short(a), Units::Short(b)) => match a.checked_add(*b) {
                Some(sum) => sum.into(),
                None => (BigUint::from(*a) + *b).into(),
            },
            _ => (self.units() + other.units()).into(),
        };
    }
}

impl<'a> Sum<&'a Amount> for Amount {
    fn sum<I: Iterator<Item = &'a Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), |sum, amount| sum + amount)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Units::Short(units) => units.fmt(f),
            Units::Long(units) => units.fmt(f),
        }
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
        assert_eq!(Amount::from_coins("0.000000001", 8), Err(AmountError::TooPrecise));
        for wrong in ["", ".", "-1", "+1", "1.2.3", "1e999999999", "NaN", "1e", "0x10"] {
            assert_eq!(Amount::from_coins(wrong, 8), Err(AmountError::Shape), "{wrong}");
        }
    }

    #[test]
    fn short_and_long_amounts_are_one_kind() {
        let of = |text: &str| Amount::from_units(text).unwrap();
        let (last, next) = (of("18446744073709551615"), of("18446744073709551616"));
        assert_eq!(last.clone() + &of("1"), next);
        assert_eq!(next.saturating_sub(&of("1")), last);
        assert_eq!(Amount::from(next.units() - 1u8), Amount::from(u64::MAX));
        assert!(of("2") < last && last < next && next < next.clone() + &next);
        assert_eq!(of("1").saturating_sub(&next), Amount::default());
        assert_eq!(next.saturating_sub(&next), of("0"));
        assert!(of("00").is_zero() && !next.is_zero());
    }

    #[test]
    fn amounts_go_beyond_u64_and_u128() {
        let largest = format!("0x{}", "f".repeat(64));
        let amount = Amount::from_hex(&largest).unwrap();
        assert_eq!(amount.to_string().len(), 78);
        let doubled = amount.clone() + &amount;
        assert!(doubled > amount);
        assert_eq!(Amount::from_hex(&format!("{largest}f")), Err(AmountError::Shape));
        assert_eq!(Amount::from_hex("0x").unwrap(), Amount::default());
        assert_eq!(
            Amount::from_units("18446744073709551616").unwrap().to_coins(18),
            "18.446744073709551616"
        );
    }
}
