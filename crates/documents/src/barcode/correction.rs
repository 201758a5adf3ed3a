//! Error correction of PDF417: a Reed–Solomon code over the integers modulo 929 (ISO/IEC 15438 §4.3.6 and
//! annex H), with erasures.
//!
//! An erasure, a codeword that is known to be unread, costs one of the symbol's check codewords, an error two.
//! `rxing` treats every erasure as an error, so it loses symbols with covered rows. This module never
//! interprets codewords.

/// The number of codewords, a prime.
pub(super) const MODULUS: u32 = 929;
/// A primitive root modulo 929. The generator polynomial's roots are its powers from 1.
const ROOT: u32 = 3;
/// The check codewords that a correction must leave unused. A random word passes each of them with a
/// probability of 1/929.
pub(super) const MARGIN: usize = 3;

/// Corrects codewords, of which the last `checks` are check codewords. The codewords at the positions in
/// `erasures` are unknown.
///
/// Returns `None` if no code word is near enough that `2 · errors + erasures` leaves [`MARGIN`] check codewords
/// unused.
pub(super) fn correct(received: &[u32], checks: usize, erasures: &[usize]) -> Option<Vec<u32>> {
    let length = received.len();
    let usable = checks.checked_sub(MARGIN)?;
    let is_valid = length < MODULUS as usize
        && checks < length
        && erasures.len() <= usable
        && erasures.iter().all(|&at| at < length)
        && received.iter().all(|&word| word < MODULUS);
    if !is_valid {
        return None;
    }
    let mut word = received.to_vec();
    for &at in erasures {
        word[at] = 0;
    }
    let syndromes = syndromes(&word, checks);
    if syndromes.iter().all(|&syndrome| syndrome == 0) {
        return Some(word);
    }
    let known = erasures.iter().fold(vec![1], |locator, &at| {
        multiply(&locator, &[1, negative(power(ROOT, exponent(length, at)))])
    });
    let locator = error_locator(&syndromes, known, erasures.len());
    let degree = locator.len() - 1;
    let errors = degree.checked_sub(erasures.len())?;
    if erasures.len() + 2 * errors > usable {
        return None;
    }
    // Ω = S · Λ mod x^checks; Forney's formula gives the value of each error.
    let mut evaluator = multiply(&syndromes, &locator);
    evaluator.truncate(checks);
    let derivative: Vec<u32> = (1..locator.len())
        .map(|k| k as u32 * locator[k] % MODULUS)
        .collect();
    let mut roots = 0;
    for (at, value) in word.iter_mut().enumerate() {
        let inverse_place = inverse(power(ROOT, exponent(length, at)));
        if evaluate(&locator, inverse_place) != 0 {
            continue;
        }
        roots += 1;
        let slope = evaluate(&derivative, inverse_place);
        if slope == 0 {
            return None;
        }
        // The error is −Ω/Λ', and it is subtracted.
        *value = (*value + evaluate(&evaluator, inverse_place) * inverse(slope)) % MODULUS;
    }
    let is_code_word = roots == degree
        && self::syndromes(&word, checks)
            .iter()
            .all(|&syndrome| syndrome == 0);
    is_code_word.then_some(word)
}

/// The exponent of x at a position: the first codeword is the highest coefficient.
fn exponent(length: usize, at: usize) -> u32 {
    (length - 1 - at) as u32
}

/// The word's values at the generator's roots.
fn syndromes(word: &[u32], checks: usize) -> Vec<u32> {
    let mut root = 1;
    (0..checks)
        .map(|_| {
            root = root * ROOT % MODULUS;
            word.iter().fold(0, |sum, &value| (sum * root + value) % MODULUS)
        })
        .collect()
}

/// The locator of errors and erasures by Berlekamp and Massey's algorithm, started with the erasures' locator.
fn error_locator(syndromes: &[u32], known: Vec<u32>, erasures: usize) -> Vec<u32> {
    let mut locator = known.clone();
    let mut previous = known;
    let mut length = erasures;
    for step in erasures..syndromes.len() {
        let discrepancy = locator
            .iter()
            .take(step + 1)
            .enumerate()
            .fold(0, |sum, (k, &value)| {
                (sum + value * syndromes[step - k]) % MODULUS
            });
        previous.insert(0, 0);
        if discrepancy == 0 {
            continue;
        }
        let mut next = locator.clone();
        next.resize(next.len().max(previous.len()), 0);
        for (value, &old) in next.iter_mut().zip(&previous) {
            *value = (*value + MODULUS * MODULUS - discrepancy * old) % MODULUS;
        }
        if 2 * length <= step + erasures {
            length = step + 1 + erasures - length;
            let scale = inverse(discrepancy);
            previous = locator.iter().map(|&value| value * scale % MODULUS).collect();
        }
        locator = next;
    }
    while locator.len() > 1 && locator.last() == Some(&0) {
        locator.pop();
    }
    locator
}

/// The product of two polynomials; the lowest coefficient comes first.
fn multiply(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut product = vec![0; a.len() + b.len() - 1];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            product[i + j] = (product[i + j] + x * y) % MODULUS;
        }
    }
    product
}

/// The value of a polynomial, whose lowest coefficient comes first.
fn evaluate(polynomial: &[u32], at: u32) -> u32 {
    polynomial
        .iter()
        .rev()
        .fold(0, |sum, &value| (sum * at + value) % MODULUS)
}

fn negative(value: u32) -> u32 {
    (MODULUS - value) % MODULUS
}

fn power(base: u32, mut exponent: u32) -> u32 {
    let (mut square, mut result) = (base % MODULUS, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % MODULUS;
        }
        square = square * square % MODULUS;
        exponent >>= 1;
    }
    result
}

/// The inverse by Fermat's theorem; 0 for 0.
fn inverse(value: u32) -> u32 {
    power(value, MODULUS - 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Appends check codewords as a writer does: the remainder by the generator polynomial, subtracted.
    fn encode(data: &[u32], checks: usize) -> Vec<u32> {
        let generator = (1..=checks as u32).fold(vec![1], |product, k| {
            multiply(&product, &[negative(power(ROOT, k)), 1])
        });
        let mut rest = data.to_vec();
        rest.resize(data.len() + checks, 0);
        for at in 0..data.len() {
            let lead = rest[at];
            for (k, &value) in generator.iter().rev().enumerate() {
                rest[at + k] = (rest[at + k] + negative(lead) * value) % MODULUS;
            }
        }
        data.iter()
            .copied()
            .chain(rest[data.len()..].iter().map(|&value| negative(value)))
            .collect()
    }

    #[test]
    fn the_code_is_that_of_the_standard() {
        // ISO/IEC 15438 annex Q: "PDF417" in text compaction with level 1.
        assert_eq!(
            encode(&[5, 453, 178, 121, 239], 4),
            [5, 453, 178, 121, 239, 452, 327, 657, 619]
        );
    }

    #[test]
    fn errors_and_erasures_are_corrected_up_to_the_margin() {
        let data: Vec<u32> = (0..120).map(|k| k * 31 % MODULUS).collect();
        let whole = encode(&data, 64);
        for (erased, wrong, is_corrected) in [
            (0, 0, true),
            (61, 0, true),
            (62, 0, false),
            (0, 30, true),
            (0, 31, false),
            (41, 10, true),
            (42, 10, false),
        ] {
            let mut word = whole.clone();
            let erasures: Vec<usize> = (0..erased).map(|k| k * 2).collect();
            for &at in &erasures {
                word[at] = 0;
            }
            for k in 0..wrong {
                let at = 2 * k + 1;
                word[at] = (word[at] + 1 + k as u32) % MODULUS;
            }
            let corrected = correct(&word, 64, &erasures);
            assert_eq!(
                corrected.as_ref(),
                is_corrected.then_some(&whole),
                "{erased} {wrong}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_word_makes_the_correction_panic(
            word in prop::collection::vec(0u32..2000, 0..40),
            checks in 0usize..50,
            erasures in prop::collection::vec(0usize..50, 0..12),
        ) {
            correct(&word, checks, &erasures);
        }

        #[test]
        fn a_random_word_is_not_corrected(
            word in prop::collection::vec(0u32..MODULUS, 100),
            erased in 0usize..20,
        ) {
            let erasures: Vec<usize> = (0..erased).map(|k| 3 * k).collect();
            prop_assert_eq!(correct(&word, 32, &erasures), None);
        }
    }
}
