//! Whether the face reflected the colours that the screen showed.
//!
//! The light of the screen falls on the face and hardly on the background. The module measures the chromaticity of the
//! face: each channel's share compared with the channel's mean, because skin reflects more red than blue. It removes
//! slow changes, and the changes of the background, which show the camera's white balance. It correlates the rest with
//! the code at several delays, because screens and cameras take time. A room that outshines the screen leaves no
//! signal, which proves nothing either way.
//!
//! The glass of a screen that shows a film reflects the code too, but over the whole film: the background gets as much
//! light of it as the face. What is behind a person is farther away and gets a small part, since light falls with the
//! square of the distance.

use serde::{Deserialize, Serialize};

use super::plan::Colour;

/// A frame during the flashes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct FlashSample {
    /// When it arrived, in ms.
    pub(super) at_ms: i64,
    /// The colour that the page showed.
    pub(super) colour: Colour,
    /// Mean of the face in linear light.
    pub(super) face: [f32; 3],
    /// Mean of the background.
    pub(super) background: [f32; 3],
}

/// What the flashes showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlashFigures {
    /// Correlation of the face's colour with the code, −1 to 1, at the best delay.
    pub correlation: f32,
    /// The change of the face's chromaticity that the code explains, as a share.
    pub amplitude: f32,
    /// Standard deviation of the face's chromaticity, as a share.
    pub deviation: f32,
    /// The delay, in frames.
    pub delay: usize,
    /// The light of the code on the background, in comparison with that on the face. About 0 of a person, 1 of a screen
    /// whose glass reflects the code.
    #[serde(default)]
    pub background: f32,
}

/// What follows from the flashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FlashVerdict {
    /// The face reflected the code.
    Reflected,
    /// No light of the screen can be seen.
    NoSignal,
    /// The code was seen, and the background got too much of its light, or changed instead of the face.
    Everywhere,
    /// The face's colour changed strongly, but not as the screen did.
    Another,
}

/// Delays that are tried, in frames.
const DELAYS: usize = 5;
/// The least frames.
const MIN_SAMPLES: usize = 18;
/// The least frames that surely show one colour, and the least colours of the code that they show. With fewer, almost
/// any light correlates by chance.
const MIN_KEPT: usize = 12;
const MIN_COLOURS: usize = 5;
/// At this correlation or more, the code was reflected. Rendered people reach .85 to .99, and so do screens whose glass
/// reflects the code. One in a hundred films of another code reaches it by chance.
pub(super) const REFLECTED: f32 = 0.8;
/// Below this correlation a strong change is another code's.
pub(super) const ANOTHER: f32 = 0.45;
/// The least change. Rendered people show .006 to .06, and such screens up to .015.
pub(super) const MIN_AMPLITUDE: f32 = 0.005;
/// A change from which another light shone on the face.
pub(super) const STRONG: f32 = 0.012;
/// From this share of the face's light on the background, a reflection proves no person. A wall behind a head gets less
/// than a tenth, a headrest or a pillow about a third.
pub(super) const MOST_BACKGROUND: f32 = 0.5;
/// A channel darker than this, in linear light, is not amplified, because its noise would be amplified too.
const LEAST_MEAN: f32 = 0.02;
/// Below this, only the background changed, against the code.
const LEAST_BACKGROUND: f32 = -1.0;

/// Measures and judges. `None` without enough frames.
pub(super) fn judge(samples: &[FlashSample]) -> (Option<FlashFigures>, FlashVerdict) {
    let Some(figures) = measure(samples) else {
        return (None, FlashVerdict::NoSignal);
    };
    let verdict = if figures.correlation >= REFLECTED && figures.amplitude >= MIN_AMPLITUDE {
        if (LEAST_BACKGROUND..MOST_BACKGROUND).contains(&figures.background) {
            FlashVerdict::Reflected
        } else {
            FlashVerdict::Everywhere
        }
    } else if figures.correlation < ANOTHER && figures.deviation >= STRONG {
        FlashVerdict::Another
    } else {
        FlashVerdict::NoSignal
    };
    (Some(figures), verdict)
}

fn measure(samples: &[FlashSample]) -> Option<FlashFigures> {
    if samples.len() < MIN_SAMPLES {
        return None;
    }
    let shown: Vec<[f32; 3]> = samples
        .iter()
        .map(|sample| chromaticity(sample.colour.light()))
        .collect();
    let faces: Vec<[f32; 3]> = samples.iter().map(|sample| chromaticity(sample.face)).collect();
    let backgrounds: Vec<[f32; 3]> = samples
        .iter()
        .map(|sample| chromaticity(sample.background))
        .collect();
    // What the white balance changes, it changes in both.
    let seen: Vec<[f32; 3]> = without_albedo(samples.iter().map(|sample| sample.face).collect())
        .into_iter()
        .zip(without_albedo(
            samples.iter().map(|sample| sample.background).collect(),
        ))
        .map(|(face, background)| [0, 1, 2].map(|channel| face[channel] - background[channel]))
        .collect();
    let (best, delay) = (0..DELAYS)
        .map(|delay| (correlate(&shown, &seen, delay), delay))
        .max_by(|(a, _), (b, _)| a.correlation.total_cmp(&b.correlation))?;
    // A share of a colour changes less where there is more other light.
    let light = |seen: &[[f32; 3]], of: fn(&FlashSample) -> [f32; 3]| {
        let brightness = samples.iter().flat_map(of).sum::<f32>() / samples.len() as f32;
        correlate(&shown, seen, delay).amplitude * brightness
    };
    let on_face = light(&faces, |sample| sample.face);
    let on_background = light(&backgrounds, |sample| sample.background);
    Some(FlashFigures {
        correlation: best.correlation,
        amplitude: best.amplitude,
        deviation: best.deviation,
        delay,
        background: if on_face > 1e-6 {
            (on_background / on_face).clamp(-10.0, 10.0)
        } else {
            // A face that got no light of the code proves nothing.
            10.0
        },
    })
}

/// How a series of colours follows the code.
struct Following {
    correlation: f32,
    amplitude: f32,
    deviation: f32,
}

impl Following {
    const NOTHING: Following = Following {
        correlation: 0.0,
        amplitude: 0.0,
        deviation: 0.0,
    };
}

fn correlate(shown: &[[f32; 3]], seen: &[[f32; 3]], delay: usize) -> Following {
    // A frame after a change may show either colour, because a delay is not a whole number of frames. Before the first
    // colour, the screen shows none.
    let kept: Vec<usize> = (delay + 1..seen.len())
        .filter(|at| shown[at - delay - 1] == shown[at - delay])
        .collect();
    let changes = kept
        .windows(2)
        .filter(|pair| shown[pair[0] - delay] != shown[pair[1] - delay]);
    if kept.len() < MIN_KEPT || 1 + changes.count() < MIN_COLOURS {
        return Following::NOTHING;
    }
    let times: Vec<f32> = kept.iter().map(|at| *at as f32).collect();
    let shown = without_trend(&times, kept.iter().map(|at| shown[at - delay]).collect());
    let seen = without_trend(&times, kept.iter().map(|at| seen[*at]).collect());
    let dot = |a: &[[f32; 3]], b: &[[f32; 3]]| -> f32 {
        a.iter()
            .zip(b)
            .flat_map(|(a, b)| a.iter().zip(b))
            .map(|(a, b)| a * b)
            .sum()
    };
    let (shown_power, seen_power) = (dot(&shown, &shown), dot(&seen, &seen));
    let together = dot(&shown, &seen);
    let slope = together / shown_power.max(f32::EPSILON);
    let count = kept.len() as f32;
    Following {
        correlation: together / (shown_power * seen_power).sqrt().max(f32::EPSILON),
        amplitude: slope * (shown_power / count).sqrt(),
        deviation: (seen_power / count).sqrt(),
    }
}

/// Each channel's share of the light.
fn chromaticity(rgb: [f32; 3]) -> [f32; 3] {
    let sum = rgb.iter().sum::<f32>().max(1e-4);
    rgb.map(|channel| channel / sum)
}

/// The chromaticity of a surface that would reflect every channel alike: each channel in comparison with its mean.
fn without_albedo(light: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
    let count = light.len() as f32;
    let means = [0, 1, 2].map(|channel| {
        let mean = light.iter().map(|rgb| rgb[channel]).sum::<f32>() / count;
        mean.max(LEAST_MEAN)
    });
    light
        .into_iter()
        .map(|rgb| chromaticity([0, 1, 2].map(|channel| rgb[channel] / means[channel])))
        .collect()
}

/// Takes the mean and the linear trend of each channel away.
fn without_trend(times: &[f32], mut values: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
    let count = values.len() as f32;
    let middle = times.iter().sum::<f32>() / count;
    let spread: f32 = times.iter().map(|time| (time - middle).powi(2)).sum();
    for channel in 0..3 {
        let mean = values.iter().map(|value| value[channel]).sum::<f32>() / count;
        let together = times
            .iter()
            .zip(&values)
            .map(|(time, value)| (time - middle) * (value[channel] - mean));
        let slope = together.sum::<f32>() / spread.max(f32::EPSILON);
        for (time, value) in times.iter().zip(&mut values) {
            value[channel] -= mean + slope * (time - middle);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge::plan::tests::generator;
    use crate::challenge::plan::{Kind, Plan};

    const CODE: [Colour; 6] = [
        Colour::Red,
        Colour::Cyan,
        Colour::Blue,
        Colour::Yellow,
        Colour::Green,
        Colour::Magenta,
    ];
    const OTHER: [Colour; 6] = [
        Colour::Green,
        Colour::Blue,
        Colour::Red,
        Colour::Magenta,
        Colour::Cyan,
        Colour::Red,
    ];

    /// Frames of a face lit by `light` with this strength while the page shows `CODE`, five frames a colour.
    fn film(light: &[Colour], strength: f32, delay: usize, noise: f32) -> Vec<FlashSample> {
        let mut wobble = 1_u32;
        (0..CODE.len() * 5)
            .map(|frame| {
                wobble = wobble.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let by = noise * ((wobble >> 16) as f32 / 65_536.0 - 0.5);
                let lit = light[(frame.saturating_sub(delay) / 5) % light.len()].light();
                let skin = [0.5, 0.35, 0.28];
                FlashSample {
                    at_ms: frame as i64 * 80,
                    colour: CODE[frame / 5],
                    face: [0, 1, 2].map(|c| skin[c] * (1.0 + strength * lit[c]) + by * (c as f32 - 1.0)),
                    background: [0.4, 0.4, 0.42],
                }
            })
            .collect()
    }

    #[test]
    fn a_face_reflects_the_code_another_code_or_none() {
        use FlashVerdict::{Another, NoSignal, Reflected};
        for (what, light, strength, delay, noise, expected) in [
            ("dim room", &CODE, 0.3, 0, 0.002, Reflected),
            ("a slow camera", &CODE, 0.2, 3, 0.002, Reflected),
            ("an office", &CODE, 0.05, 1, 0.002, Reflected),
            ("sunlight", &CODE, 0.002, 1, 0.004, NoSignal),
            ("a replay with another code", &OTHER, 0.3, 0, 0.002, Another),
            ("a photograph", &[Colour::Red; 6], 0.0, 0, 0.004, NoSignal),
        ] {
            let (figures, verdict) = judge(&film(light, strength, delay, noise));
            assert_eq!(verdict, expected, "{what}: {figures:?}");
        }
    }

    #[test]
    fn skin_that_reflects_little_blue_follows_the_code() {
        use Colour::{Blue, Cyan, Green};
        // Measured in a browser on a busy machine. Its first frame shows the face before the first colour.
        let samples: Vec<FlashSample> = [
            (Cyan, [0.5653, 0.3911, 0.1756], [0.2633, 0.1997, 0.1796]),
            (Cyan, [0.6553, 0.6069, 0.2702], [0.2698, 0.2124, 0.1912]),
            (Cyan, [0.654, 0.6053, 0.2677], [0.2698, 0.2124, 0.1913]),
            (Cyan, [0.6532, 0.6037, 0.2674], [0.2696, 0.2121, 0.1909]),
            (Cyan, [0.6558, 0.6057, 0.2694], [0.2698, 0.212, 0.1908]),
            (Green, [0.6558, 0.6067, 0.2701], [0.2696, 0.2118, 0.1907]),
            (Green, [0.6562, 0.6058, 0.2021], [0.2682, 0.211, 0.1826]),
            (Green, [0.6536, 0.6037, 0.2002], [0.2689, 0.2113, 0.183]),
            (Green, [0.6541, 0.6035, 0.2005], [0.2682, 0.2104, 0.1822]),
            (Cyan, [0.6524, 0.6041, 0.2676], [0.269, 0.2112, 0.1898]),
            (Cyan, [0.6508, 0.6012, 0.2658], [0.2683, 0.2104, 0.189]),
            (Cyan, [0.6512, 0.6028, 0.2673], [0.2682, 0.2104, 0.189]),
            (Blue, [0.6522, 0.6041, 0.2682], [0.2682, 0.2104, 0.1889]),
            (Blue, [0.6522, 0.4527, 0.2669], [0.2679, 0.2027, 0.1893]),
            (Blue, [0.651, 0.4524, 0.2665], [0.2678, 0.2027, 0.1893]),
            (Blue, [0.6561, 0.4562, 0.2702], [0.2679, 0.2028, 0.1894]),
            (Cyan, [0.6554, 0.6068, 0.2692], [0.2686, 0.2106, 0.1894]),
            (Cyan, [0.6559, 0.6077, 0.27], [0.2694, 0.2116, 0.1904]),
            (Cyan, [0.6504, 0.6022, 0.2684], [0.2689, 0.2111, 0.1899]),
            (Green, [0.6559, 0.6093, 0.2713], [0.2697, 0.2118, 0.1907]),
            (Green, [0.6576, 0.608, 0.2039], [0.2695, 0.2119, 0.1836]),
            (Green, [0.6552, 0.6059, 0.2034], [0.2695, 0.2119, 0.1838]),
        ]
        .into_iter()
        .enumerate()
        .map(|(frame, (colour, face, background))| FlashSample {
            at_ms: frame as i64 * 90,
            colour,
            face,
            background,
        })
        .collect();
        let figures = judge(&samples).0.unwrap();
        assert!(figures.correlation >= 0.9, "{figures:?}");
    }

    /// A film of an earlier session shows another code.
    #[test]
    fn another_code_seldom_fits_by_chance() {
        let mut random = generator(1);
        let mut colours = || Plan::random(Kind::Turns, &mut random).colours;
        let fits = (0..2_000)
            .filter(|_| {
                let (asked, shown) = (colours(), colours());
                let samples: Vec<FlashSample> = (0..asked.len() * 4)
                    .map(|frame| {
                        let lit = shown[(frame / 4).min(shown.len() - 1)].light();
                        FlashSample {
                            at_ms: frame as i64 * 80,
                            colour: asked[frame / 4],
                            face: [0, 1, 2].map(|c| [0.5, 0.35, 0.28][c] * (1.0 + 0.2 * lit[c])),
                            background: [0.4, 0.4, 0.42],
                        }
                    })
                    .collect();
                judge(&samples).1 == FlashVerdict::Reflected
            })
            .count();
        assert!(fits <= 25, "{fits} of 2,000");
    }

    #[test]
    fn a_reflection_on_everything_proves_no_person() {
        // The glass of a screen adds this share of the code's light to the face and to what is beside it.
        use FlashVerdict::{Another, Everywhere, Reflected};
        for (what, background, glass, expected) in [
            ("a film with a dark background", [0.1, 0.1, 0.11], 0.06, Another),
            (
                "a film with a bright background",
                [0.8, 0.8, 0.85],
                0.06,
                Everywhere,
            ),
            ("a faint reflection", [0.8, 0.8, 0.85], 0.03, Everywhere),
            ("a person before a wall", [0.8, 0.8, 0.85], 0.0, Reflected),
        ] {
            let samples: Vec<FlashSample> = film(&CODE, if glass > 0.0 { 0.0 } else { 0.1 }, 1, 0.002)
                .into_iter()
                .enumerate()
                .map(|(frame, sample)| {
                    let lit = CODE[frame.saturating_sub(1) / 5]
                        .light()
                        .map(|light| glass * light);
                    FlashSample {
                        face: [0, 1, 2].map(|c| sample.face[c] + lit[c]),
                        background: [0, 1, 2].map(|c| background[c] + lit[c]),
                        ..sample
                    }
                })
                .collect();
            let (figures, verdict) = judge(&samples);
            assert_eq!(verdict, expected, "{what}: {figures:?}");
        }
    }

    #[test]
    fn a_code_of_which_one_colour_is_seen_proves_nothing() {
        let mut film = film(&CODE, 0.3, 0, 0.0);
        let mut frame = 0;
        // One frame of each colour but the last.
        film.retain(|_| {
            frame += 1;
            frame > 25 || frame % 5 == 1
        });
        film.extend_from_within(film.len() - 5..);
        film.extend_from_within(film.len() - 5..);
        assert!(film.len() >= MIN_SAMPLES);
        assert_eq!(judge(&film).1, FlashVerdict::NoSignal);
    }

    #[test]
    fn a_face_without_the_light_that_its_background_lacks_proves_nothing() {
        // A lamp behind a photograph shines in the complement of the code.
        let samples: Vec<FlashSample> = film(&CODE, 0.0, 0, 0.002)
            .into_iter()
            .map(|sample| FlashSample {
                background: [0, 1, 2].map(|c| 0.4 - 0.06 * sample.colour.light()[c]),
                ..sample
            })
            .collect();
        let (figures, verdict) = judge(&samples);
        assert_ne!(verdict, FlashVerdict::Reflected, "{figures:?}");
    }

    #[test]
    fn a_few_frames_prove_nothing() {
        let film = film(&CODE, 0.3, 0, 0.0);
        assert_eq!(judge(&film[..MIN_SAMPLES - 1]), (None, FlashVerdict::NoSignal));
    }

    #[test]
    fn darkness_is_no_signal() {
        let dark: Vec<FlashSample> = film(&CODE, 0.0, 0, 0.0)
            .into_iter()
            .map(|sample| FlashSample {
                face: [0.0; 3],
                background: [0.0; 3],
                ..sample
            })
            .collect();
        assert_eq!(judge(&dark).1, FlashVerdict::NoSignal);
    }
}
