//! The profiles by which names are scored. It scores nothing.

use serde::{Deserialize, Serialize};

/// How names are scored. Whatever [`Profile::Standard`] finds, every profile finds, with at least the same score: a profile
/// never excuses a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// By similar names; what contradicts, such as another date of birth, lowers the score.
    #[default]
    Standard,
    /// As the standard, but nothing lowers the score of a name: another date of birth, country or gender excuses no hit,
    /// and common names count in full.
    Strict,
    /// As the standard, and also whatever OFAC's search would score [`OFAC_LEAST_SCORE`] or more; see
    /// [`ofac_score`](crate::ofac_score).
    Ofac,
}

/// The score (0–100) from which a name is a hit of [`Profile::Ofac`] by OFAC's score, unless a caller's threshold is
/// higher. OFAC recommends none; docs/measurements-engines.md states what scores find.
pub const OFAC_LEAST_SCORE: u8 = 95;

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 3] = [Profile::Standard, Profile::Strict, Profile::Ofac];

    /// The profile's name in settings and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::Standard => "standard",
            Profile::Strict => "strict",
            Profile::Ofac => "ofac",
        }
    }

    /// The profile of this name.
    pub fn parse(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.as_str() == name)
    }
}
