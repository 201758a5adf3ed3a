//! The calibration of a custom embedder: the scale that makes its distances comparable with those of the built-in
//! networks, for which all thresholds were chosen, and the figures of both. `bonafide models calibrate` writes it.

use serde::{Deserialize, Serialize};

/// A model that misses this share of the pairs of one person at the default threshold, or more, is blind: no better
/// than a coin.
const BLIND: f64 = 0.5;

/// The share of pairs of two people that may match at the default threshold.
const PROMISED_FMR: f64 = 5e-5;
/// The scales that are plausible for numbers of length 1. A smaller one would match everyone, and a larger one no one.
pub const SCALES: std::ops::RangeInclusive<f32> = 0.2..=1.9;

/// A scale and its measurement. The scale was chosen with half of the people, and the counts are those of the other
/// half.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbedderCalibration {
    /// SHA-256 of the model's declaration, hexadecimal. The declaration names the model's hash.
    pub declaration_sha256: String,
    /// The version of the way in which faces are found and aligned.
    pub recipe: u32,
    /// When it was measured (RFC 3339).
    pub made_at: String,
    /// Multiplies the distance of two embeddings of length 1.
    pub scale: f32,
    /// The people with whom the scale was chosen.
    pub people_chosen: u64,
    /// The people whose pairs were counted.
    pub people_reported: u64,
    /// Pictures of the reported half without one face of good quality.
    pub unmeasured: u64,
    /// Pairs of the reported half, compared by the custom embedder.
    pub own: Pairs,
    /// The same pairs, compared by the built-in networks.
    pub built_in: Pairs,
}

/// Pairs of pictures at the default threshold of similarity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pairs {
    /// Pairs of one person.
    pub genuine: u64,
    /// Those of them that do not match.
    pub false_non_matches: u64,
    /// Pairs of two people.
    pub impostor: u64,
    /// Those of them that match.
    pub false_matches: u64,
}

impl EmbedderCalibration {
    /// The false matches of the reported half, if they are more than those of the built-in networks and, with 95 %
    /// confidence, more frequent than [`PROMISED_FMR`]. Otherwise `None`.
    #[must_use]
    pub fn leaks(&self) -> Option<u64> {
        let (own, built_in) = (self.own, self.built_in);
        // At the promised rate, this many false matches or more have a probability of at most 5 %.
        let mean = PROMISED_FMR * own.impostor as f64;
        let (mut term, mut fewer) = ((-mean).exp(), 0.0);
        for matches in 0..own.false_matches {
            fewer += term;
            term *= mean / (matches + 1) as f64;
        }
        let is_unlikely = own.false_matches > 0 && 1.0 - fewer <= 0.05;
        (is_unlikely && own.false_matches > built_in.false_matches).then_some(own.false_matches)
    }

    /// The share of pairs of one person that do not match, if it is at least a half; otherwise `None`.
    #[must_use]
    pub fn blindness(&self) -> Option<f64> {
        let Pairs {
            genuine,
            false_non_matches,
            ..
        } = self.own;
        let missed = if genuine == 0 {
            1.0
        } else {
            false_non_matches as f64 / genuine as f64
        };
        (missed >= BLIND).then_some(missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(own: Pairs, built_in: Pairs) -> EmbedderCalibration {
        EmbedderCalibration {
            declaration_sha256: String::new(),
            recipe: 1,
            made_at: String::new(),
            scale: 1.0,
            people_chosen: 10,
            people_reported: 10,
            unmeasured: 0,
            own,
            built_in,
        }
    }

    #[test]
    fn more_false_matches_than_promised_are_a_leak() {
        for (impostor, own, built_in, expected) in [
            (1_700, 0, 0, None),
            // One by chance: 1 − e^−0.085 is 8 %.
            (1_700, 1, 0, None),
            (1_700, 2, 0, Some(2)),
            // The built-in networks find these people as alike.
            (1_700, 3, 3, None),
            (900, 1, 0, Some(1)),
            // 1 − P(at most 8 of 5 expected) is 7 %, and of 9 it is 3 %.
            (100_000, 9, 0, None),
            (100_000, 10, 0, Some(10)),
            (0, 0, 0, None),
        ] {
            let pairs = |false_matches| Pairs {
                impostor,
                false_matches,
                ..Pairs::default()
            };
            let calibration = of(pairs(own), pairs(built_in));
            assert_eq!(calibration.leaks(), expected, "{own} of {impostor}");
        }
    }

    #[test]
    fn a_model_that_recognises_nobody_is_blind() {
        for (genuine, false_non_matches, expected) in [
            (10, 4, None),
            (10, 5, Some(0.5)),
            (10, 10, Some(1.0)),
            (0, 0, Some(1.0)),
        ] {
            let pairs = Pairs {
                genuine,
                false_non_matches,
                ..Pairs::default()
            };
            let calibration = of(pairs, Pairs::default());
            assert_eq!(calibration.blindness(), expected, "{pairs:?}");
        }
    }
}
