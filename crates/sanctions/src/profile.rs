//! The profiles that say which entries are hits. It scores nothing.

use serde::{Deserialize, Serialize};

/// Which entries are hits. Every profile finds whatever [`Profile::Standard`] finds, with the same scores. An entry that it
/// adds has its standard score too, usually below the threshold, and a feature that says why it is a hit: so what is known
/// of hits by their scores holds under every profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Similar names; another date of birth, country or gender lowers the score, and so does a common name.
    #[default]
    Standard,
    /// Also whatever would be a hit if no date of birth, country, gender or common name lowered its score.
    Strict,
    /// Also whatever OFAC's search would score [`OFAC_LEAST_SCORE`] or more; see [`ofac_score`](crate::ofac_score).
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

    /// The profile, unless it is the standard.
    pub fn unless_standard(self) -> Option<Profile> {
        Some(self).filter(|profile| *profile != Profile::Standard)
    }

    /// The profile of this name.
    pub fn parse(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.as_str() == name)
    }
}
