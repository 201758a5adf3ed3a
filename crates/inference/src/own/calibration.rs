//! The calibration of a PAD model: its threshold and the figures at it. `bonafide models calibrate` writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The lowest APCER of all types from which a model counts as blind: as good as a coin.
const BLIND: f64 = 0.5;

/// A threshold with its measurement. The threshold was chosen with half of the people, and `live` and `attacks` are the
/// figures of the other half.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calibration {
    /// SHA-256 of the model's declaration, hexadecimal. The declaration names the model's hash.
    pub declaration_sha256: String,
    /// The version of the way in which faces are found and cut out.
    pub recipe: u32,
    /// When it was measured (RFC 3339).
    pub made_at: String,
    /// A score below this is an attack.
    pub attack_below: f32,
    /// The BPCER that was aimed at.
    pub bpcer_goal: f64,
    /// The people with whom the threshold was chosen.
    pub people_chosen: u64,
    /// The people of the figures.
    pub people_reported: u64,
    /// Live people.
    pub live: Presentations,
    /// Attacks by type.
    pub attacks: BTreeMap<String, Presentations>,
}

/// Presentations at a calibration's threshold (ISO/IEC 30107-3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Presentations {
    /// Classified as live.
    pub live: u64,
    /// Classified as attacks.
    pub attacks: u64,
    /// Without a face that could be measured.
    pub unmeasured: u64,
}

impl Presentations {
    /// All presentations.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.live + self.attacks + self.unmeasured
    }
}

impl Calibration {
    /// The lowest APCER of all types if the model classifies at least half of the measured attacks of every type as
    /// live; otherwise `None`.
    #[must_use]
    pub fn blindness(&self) -> Option<f64> {
        let best = self
            .attacks
            .values()
            .filter(|attacks| attacks.live + attacks.attacks > 0)
            .map(|attacks| attacks.live as f64 / (attacks.live + attacks.attacks) as f64)
            .fold(1.0, f64::min);
        (best >= BLIND).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_stops_no_type_is_blind() {
        let of = |counts: &[(u64, u64, u64)]| Calibration {
            declaration_sha256: String::new(),
            recipe: 1,
            made_at: String::new(),
            attack_below: 0.5,
            bpcer_goal: 0.01,
            people_chosen: 5,
            people_reported: 5,
            live: Presentations::default(),
            attacks: counts
                .iter()
                .enumerate()
                .map(|(number, &(live, attacks, unmeasured))| {
                    let presentations = Presentations {
                        live,
                        attacks,
                        unmeasured,
                    };
                    (number.to_string(), presentations)
                })
                .collect(),
        };
        for (counts, expected) in [
            (&[(9, 1, 0), (5, 5, 0)][..], Some(0.5)),
            (&[(9, 1, 0), (4, 6, 0)], None),
            // What was not measured was not stopped.
            (&[(10, 0, 0), (0, 0, 10)], Some(1.0)),
            (&[(4, 0, 6)], Some(1.0)),
            (&[(0, 0, 0)], Some(1.0)),
            (&[], Some(1.0)),
        ] {
            assert_eq!(of(counts).blindness(), expected, "{counts:?}");
        }
    }
}
