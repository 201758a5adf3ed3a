//! The bar patterns of PDF417 codewords (ISO/IEC 15438 annex A), as a camera sees them through a blur.
//!
//! A codeword is matched as a whole against all patterns of its cluster. Blur that hides single modules still
//! leaves most codewords distinct. This module never searches for codewords.

use std::sync::LazyLock;

use rxing::pdf417::pdf_417_common::{SYMBOL_TABLE, getCodeword};

/// The modules of a codeword.
pub(super) const MODULES: usize = 17;
/// The standard deviations of the blurs, in modules.
const BLURS: [f32; 3] = [0.35, 0.7, 1.0];
/// The modules to each side of a codeword that influence its blurred pattern.
const REACH: usize = 3;

/// The patterns for each blur, the sharpest first.
pub(super) fn sets() -> &'static [PatternSet] {
    static SETS: LazyLock<Vec<PatternSet>> =
        LazyLock::new(|| BLURS.iter().map(|&blur| PatternSet::new(blur)).collect());
    &SETS
}

/// All patterns through one blur.
#[derive(Debug)]
pub(super) struct PatternSet {
    /// The patterns of clusters 0, 3 and 6.
    clusters: [Cluster; 3],
}

/// The patterns of a cluster.
#[derive(Debug, Default)]
struct Cluster {
    codewords: Vec<u32>,
    /// The brightness of each module, for all patterns. Each pattern has the mean 0 and the length 1.
    modules: [Vec<f32>; MODULES],
}

/// The pattern that resembles a profile most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Match {
    /// The row's number modulo 3.
    pub(super) cluster: usize,
    pub(super) codeword: u32,
    /// The correlation of the profile with the pattern, at most 1.
    pub(super) correlation: f32,
    /// The difference to the correlation with the second pattern.
    pub(super) lead: f32,
    /// The length of the profile's difference from its mean, in grey levels.
    pub(super) contrast: f32,
}

impl Match {
    /// How much the profile supports the match, to compare profiles of one codeword.
    pub(super) fn evidence(&self) -> f32 {
        self.correlation.max(0.0).powi(8) * self.contrast
    }
}

impl PatternSet {
    fn new(blur: f32) -> Self {
        let mixture = mixture(blur);
        let mut clusters: [Cluster; 3] = Default::default();
        for &symbol in &SYMBOL_TABLE {
            let Ok(codeword) = u32::try_from(getCodeword(symbol)) else {
                continue;
            };
            let cluster = &mut clusters[cluster(symbol)];
            cluster.codewords.push(codeword);
            let pattern = blurred(symbol, &mixture);
            let (pattern, _) = normalised(pattern);
            for (module, value) in cluster.modules.iter_mut().zip(pattern) {
                module.push(value);
            }
        }
        Self { clusters }
    }

    /// The best match of a profile, the brightness of each module, among some clusters.
    pub(super) fn best(&self, profile: [f32; MODULES], clusters: std::ops::Range<usize>) -> Match {
        let (profile, contrast) = normalised(profile);
        let mut best = Match {
            correlation: -1.0,
            contrast,
            ..Match::default()
        };
        let mut second = -1.0;
        for (index, cluster) in self
            .clusters
            .iter()
            .enumerate()
            .take(clusters.end)
            .skip(clusters.start)
        {
            let mut scores = vec![0.0; cluster.codewords.len()];
            for (module, value) in cluster.modules.iter().zip(profile) {
                for (score, pattern) in scores.iter_mut().zip(module) {
                    *score += value * pattern;
                }
            }
            for (&codeword, score) in cluster.codewords.iter().zip(scores) {
                if score > best.correlation {
                    second = best.correlation;
                    best = Match {
                        cluster: index,
                        codeword,
                        correlation: score,
                        ..best
                    };
                } else if score > second {
                    second = score;
                }
            }
        }
        best.lead = best.correlation - second;
        best
    }
}

/// A third of the cluster number (ISO/IEC 15438 §4.3.3): the alternating sum of the bars' widths modulo 9.
fn cluster(symbol: u32) -> usize {
    let mut widths = [0; 8];
    let mut element = 0;
    for module in 0..MODULES {
        let is_bar = symbol >> (MODULES - 1 - module) & 1 == 1;
        if is_bar == (element % 2 == 1) && element < 7 {
            element += 1;
        }
        widths[element] += 1;
    }
    (widths[0] + 9 - widths[2] + widths[4] + 9 - widths[6]) % 9 / 3
}

/// How much each module of a codeword and its surroundings contributes to the brightness of each of its modules.
type Mixture = [[f32; MODULES + 2 * REACH]; MODULES];

/// The mixture of a Gaussian blur with a standard deviation in modules.
fn mixture(blur: f32) -> Mixture {
    // Samples per module. A pixel averages over about a module.
    const FINE: usize = 8;
    let middle = |module: usize, sample: usize| module as f32 + (sample as f32 + 0.5) / FINE as f32;
    std::array::from_fn(|index| {
        let weights: [f32; MODULES + 2 * REACH] = std::array::from_fn(|from| {
            let pairs = (0..FINE * FINE).map(|pair| {
                let distance = middle(index + REACH, pair / FINE) - middle(from, pair % FINE);
                (-0.5 * (distance / blur).powi(2)).exp()
            });
            pairs.sum()
        });
        let total: f32 = weights.iter().sum();
        weights.map(|weight| weight / total)
    })
}

/// The brightness of each module: 0 is a bar, 1 a space.
fn blurred(symbol: u32, mixture: &Mixture) -> [f32; MODULES] {
    let modules: [f32; MODULES + 2 * REACH] = std::array::from_fn(|index| {
        // A space of unknown width precedes a codeword, and a bar follows it.
        match index.checked_sub(REACH) {
            None if index + 1 == REACH => 1.0,
            Some(at) if at < MODULES => 1.0 - (symbol >> (MODULES - 1 - at) & 1) as f32,
            Some(MODULES) => 0.0,
            _ => 0.5,
        }
    });
    mixture.map(|weights| {
        weights
            .iter()
            .zip(modules)
            .map(|(weight, value)| weight * value)
            .sum()
    })
}

/// A profile with the mean 0 and the length 1, and its length before.
fn normalised(profile: [f32; MODULES]) -> ([f32; MODULES], f32) {
    let mean = profile.iter().sum::<f32>() / MODULES as f32;
    let length = profile
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f32>()
        .sqrt();
    let scale = 1.0 / length.max(1e-3);
    (profile.map(|value| (value - mean) * scale), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_has_every_codeword() {
        for set in sets() {
            for cluster in &set.clusters {
                let mut codewords = cluster.codewords.clone();
                codewords.sort_unstable();
                assert!(codewords.iter().copied().eq(0..929));
            }
        }
    }

    #[test]
    fn every_pattern_is_matched_through_its_blur() {
        for (set, blur) in sets().iter().zip(BLURS) {
            let mixture = mixture(blur);
            for &symbol in SYMBOL_TABLE.iter().step_by(7) {
                let found = set.best(blurred(symbol, &mixture).map(|value| 40.0 + 90.0 * value), 0..3);
                assert_eq!(i64::from(found.codeword), i64::from(getCodeword(symbol)));
                assert_eq!(found.cluster, cluster(symbol));
                assert!(found.correlation > 0.999 && found.lead > 0.0);
            }
        }
    }

    #[test]
    fn a_flat_profile_has_no_contrast() {
        assert!(sets()[0].best([128.0; MODULES], 0..3).contrast < 1e-3);
    }
}
