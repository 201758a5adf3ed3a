//! Check digits and letters that states use. Each function tells whether digits with their check digit are right, or gives
//! the check character.
//!
//! This module knows no state's number.

/// The sum of digits times weights.
pub(super) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits
        .iter()
        .zip(weights)
        .map(|(digit, weight)| u32::from(*digit) * weight)
        .sum()
}

/// Luhn's algorithm (ISO/IEC 7812-1 annex B), with the check digit at the end.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| match 2 * digit {
        sum @ 10.. => sum - 9,
        sum => sum,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| u32::from(if at % 2 == 1 { doubled(*digit) } else { *digit }))
        .sum();
    sum.is_multiple_of(10)
}

/// Verhoeff's algorithm, with the check digit at the end.
pub(super) fn verhoeff(digits: &[u8]) -> bool {
    const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    // Multiplication in the dihedral group of ten elements: 5 to 9 are reflections.
    let times = |a: u8, b: u8| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b) % 5,
        (false, true) => 5 + (a + 5 - b) % 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (at, digit)| {
        let permuted = (0..at % 8).fold(*digit, |digit, _| PERMUTATION[usize::from(digit)]);
        times(check, permuted)
    });
    check == 0
}

/// ISO/IEC 7064 MOD 11,10, with the check digit at the end.
pub(super) fn mod_11_10(digits: &[u8]) -> bool {
    let Some((last, first)) = digits.split_last() else {
        return false;
    };
    let product = first.iter().fold(10, |product, digit| {
        let sum = match (product + u32::from(*digit)) % 10 {
            0 => 10,
            sum => sum,
        };
        sum * 2 % 11
    });
    (product + u32::from(*last)) % 10 == 1
}

/// The check character of ISO/IEC 7064 MOD 11-2.
pub(super) fn mod_11_2(digits: &[u8]) -> char {
    let sum = digits
        .iter()
        .fold(0, |sum, digit| (sum + u32::from(*digit)) * 2 % 11);
    match (12 - sum) % 11 {
        10 => 'X',
        check => char::from_digit(check, 10).unwrap_or('X'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes().map(|b| b - b'0').collect()
    }

    #[test]
    fn known_numbers_are_right_and_every_changed_digit_is_seen() {
        type Check = fn(&[u8]) -> bool;
        let checks: [(Check, &str); 3] = [
            (luhn, "79927398713"),
            (verhoeff, "2363"),
            (mod_11_10, "33392005961"),
        ];
        for (is_right, text) in checks {
            let right = digits(text);
            assert!(is_right(&right), "{text}");
            for at in 0..right.len() {
                for other in (0..10).filter(|other| *other != right[at]) {
                    let mut wrong = right.clone();
                    wrong[at] = other;
                    assert!(!is_right(&wrong), "{wrong:?}");
                }
            }
        }
        assert_eq!(mod_11_2(&digits("36042619910101007")), '1');
        assert_eq!(mod_11_2(&digits("11010519491231002")), 'X');
    }
}
