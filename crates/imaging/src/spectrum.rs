//! Power spectra of small patches, in which the periodic patterns of screens and prints are peaks.
//!
//! It never interprets a spectrum as an attack.

use std::f32::consts::PI;
use std::sync::LazyLock;

use crate::{Luma, Picture};

/// Side of a patch in pixels.
pub const PATCH: usize = 128;
/// JPEG's 8-pixel blocks cause peaks at multiples of this frequency.
const JPEG_GRID: usize = PATCH / 8;
/// Lower frequencies (cycles per patch) belong to what the picture shows.
const LOWEST: usize = 14;

/// The power of noise with a deviation of 0.7 grey levels.
const QUIET: f32 = 1000.0;
/// The place of the median in the ring of a frequency's surroundings.
const MEDIAN: usize = RING.len() / 2;

/// The Hann window.
static HANN: LazyLock<[f32; PATCH]> =
    LazyLock::new(|| std::array::from_fn(|i| 0.5 - 0.5 * (2.0 * PI * i as f32 / PATCH as f32).cos()));
/// Sines and cosines of the transform. Those of a step that joins `width` values begin at `width / 2`.
static TURNS: LazyLock<[(f32, f32); PATCH]> = LazyLock::new(|| {
    std::array::from_fn(|place| {
        let half = place.checked_ilog2().map_or(1, |step| 1 << step);
        let k = place.saturating_sub(half);
        (-2.0 * PI * k as f32 / (2 * half) as f32).sin_cos()
    })
});

/// The top left corners of patches that cover a region evenly: at most `most` × `most`, none if no patch fits.
///
/// `region` is left, top, right, bottom.
pub fn patches_of(picture: &Picture, region: [u32; 4], most: usize) -> Vec<(u32, u32)> {
    let [left, top, right, bottom] = region;
    let columns = starts(left, right.min(picture.width), most);
    let rows = starts(top, bottom.min(picture.height), most);
    rows.iter()
        .flat_map(|&y| columns.iter().map(move |&x| (x, y)))
        .collect()
}

/// The arithmetic mean of the patches' power spectra, or `None` without a patch. One strong patch determines it.
///
/// `plane` converts a patch to a plane of the same size.
pub fn mean_power(
    picture: &Picture,
    patches: &[(u32, u32)],
    plane: impl Fn(&Picture) -> Luma,
) -> Option<Vec<f32>> {
    let planes = planes_of(picture, patches, plane);
    if planes.is_empty() {
        return None;
    }
    let mut mean = vec![0.0; PATCH * PATCH];
    for pair in planes.chunks(2) {
        let joint = joint_transform(&pair[0], pair.get(1)).power();
        let share = 1.0 / planes.len() as f32;
        for (at, sum) in mean.iter_mut().enumerate() {
            // A frequency and its opposite each have the sum of both patches' powers.
            *sum += share * (joint[at] + joint[opposite(at)]) / 2.0;
        }
    }
    Some(mean)
}

/// For each patch, the height of its strongest narrow peak above its surroundings, as the natural logarithm of power:
/// below 4 on most patches of photographs. JPEG's block grid is excluded. Unlike [`peak`], it looks on the axes too, on
/// which upright and level patterns lie. There the surroundings are the axis itself, because the strokes of text have
/// power all along it. What is weaker than a quiet camera's noise counts as that noise, so that pictures without any,
/// such as rendered ones, have no peaks of rounding.
///
/// `plane` converts a patch to a plane of the same size.
pub fn patch_peaks(picture: &Picture, patches: &[(u32, u32)], plane: impl Fn(&Picture) -> Luma) -> Vec<f32> {
    let planes = planes_of(picture, patches, plane);
    let heights = |pair: &[Luma]| {
        let transform = joint_transform(&pair[0], pair.get(1));
        let powers = transform.powers().map(|power| {
            let logs: Vec<f32> = power.iter().map(|power| (power + QUIET).ln()).collect();
            peak_off_axes(&logs).max(peak_on_axes(&logs))
        });
        powers.into_iter().take(pair.len())
    };
    planes.chunks(2).flat_map(heights).collect()
}

fn planes_of(picture: &Picture, patches: &[(u32, u32)], plane: impl Fn(&Picture) -> Luma) -> Vec<Luma> {
    let side = PATCH as u32;
    patches
        .iter()
        .filter_map(|&(x, y)| picture.crop(x, y, side, side))
        .map(|patch| plane(&patch))
        .collect()
}

/// The first pixels of the patches between two borders.
fn starts(from: u32, to: u32, most: usize) -> Vec<u32> {
    let length = to.saturating_sub(from) as usize;
    if length < PATCH {
        return Vec::new();
    }
    let room = length - PATCH;
    let count = (room / (PATCH / 2) + 1).min(most);
    (0..count)
        .map(|i| {
            from + if count > 1 {
                room * i / (count - 1)
            } else {
                room / 2
            } as u32
        })
        .collect()
}

/// The height of the strongest narrow peak above its surroundings, as the natural logarithm of power: about 2
/// in smooth photographs. JPEG's block grid and the axes are excluded.
pub fn peak(power: &[f32]) -> f32 {
    let logs: Vec<f32> = power.iter().map(|power| (power + 1e-3).ln()).collect();
    peak_off_axes(&logs)
}

fn peak_off_axes(logs: &[f32]) -> f32 {
    let half = PATCH / 2;
    let mut strongest = 0.0f32;
    let framed = framed(logs);
    for v in 0..half {
        for u in 0..PATCH {
            let horizontal = u.min(PATCH - u);
            if horizontal * horizontal + v * v < LOWEST * LOWEST || on_jpeg_grid(horizontal, v) {
                continue;
            }
            let at = (v + FRAME) * FRAMED + u + FRAME;
            let here = framed[at];
            // A higher peak is above more than half of its surroundings by more than the strongest.
            let limit = here - strongest;
            let mut most_high = RING.len() - MEDIAN;
            let is_higher = OFFSETS.iter().all(|offset| {
                most_high -= usize::from(framed[at.wrapping_add_signed(*offset)] >= limit);
                most_high > 0
            });
            if is_higher {
                strongest = here - median(OFFSETS.map(|offset| framed[at.wrapping_add_signed(offset)]));
            }
        }
    }
    strongest
}

/// The width of the frame around a spectrum: the ring's radius.
const FRAME: usize = 4;
const FRAMED: usize = PATCH + 2 * FRAME;

/// The upper half of a spectrum with a frame of the values that follow around its edges.
fn framed(logs: &[f32]) -> Vec<f32> {
    let mut framed = Vec::with_capacity((PATCH / 2 + 2 * FRAME) * FRAMED);
    for v in 0..PATCH / 2 + 2 * FRAME {
        let row = &logs[(v + PATCH - FRAME) % PATCH * PATCH..][..PATCH];
        framed.extend_from_slice(&row[PATCH - FRAME..]);
        framed.extend_from_slice(row);
        framed.extend_from_slice(&row[..FRAME]);
    }
    framed
}

fn peak_on_axes(logs: &[f32]) -> f32 {
    let mut strongest = 0.0f32;
    for beside in [0, 1, 2, PATCH - 2, PATCH - 1] {
        for is_upright in [false, true] {
            let log = |along: usize| {
                let (u, v) = if is_upright {
                    (beside, along)
                } else {
                    (along, beside)
                };
                logs[(v % PATCH) * PATCH + u % PATCH]
            };
            for along in (LOWEST..=PATCH / 2).filter(|along| !near_jpeg_grid(*along)) {
                let others = [-6, -5, -4, 4, 5, 6].map(|step| log(along.wrapping_add_signed(step)));
                strongest = strongest.max(log(along) - median(others));
            }
        }
    }
    strongest
}

/// The middle value; of an even number of values, the upper one of the two.
fn median<const N: usize>(mut values: [f32; N]) -> f32 {
    let (_, median, _) = values.select_nth_unstable_by(N / 2, f32::total_cmp);
    *median
}

/// The surroundings of a frequency: a ring at a distance of about four steps, outside the slopes of a peak.
const RING: [(isize, isize); 16] = [
    (4, 0),
    (4, 2),
    (3, 3),
    (2, 4),
    (0, 4),
    (-2, 4),
    (-3, 3),
    (-4, 2),
    (-4, 0),
    (-4, -2),
    (-3, -3),
    (-2, -4),
    (0, -4),
    (2, -4),
    (3, -3),
    (4, -2),
];

/// The ring as steps in a framed spectrum.
const OFFSETS: [isize; RING.len()] = {
    let mut offsets = [0; RING.len()];
    let mut at = 0;
    while at < RING.len() {
        let (du, dv) = RING[at];
        offsets[at] = dv * FRAMED as isize + du;
        at += 1;
    }
    offsets
};

/// Whether a frequency belongs to block edges, which cause power on the axes and at multiples of the block
/// frequency.
fn on_jpeg_grid(u: usize, v: usize) -> bool {
    u <= 2 || v <= 2 || (near_jpeg_grid(u) && near_jpeg_grid(v))
}

fn near_jpeg_grid(frequency: usize) -> bool {
    (frequency + 1) % JPEG_GRID <= 2
}

/// One transform of two patches: the first patch is the real part, the second the imaginary part.
struct JointTransform {
    real: Vec<f32>,
    imaginary: Vec<f32>,
}

impl JointTransform {
    /// The power: the mean of a frequency's and its opposite's is half the sum of both patches' powers. Without a second
    /// patch, it is the first patch's power, which is the same at both frequencies.
    fn power(&self) -> Vec<f32> {
        self.real
            .iter()
            .zip(&self.imaginary)
            .map(|(re, im)| re * re + im * im)
            .collect()
    }

    /// The power of each patch. The transform of real values is the conjugate at the opposite frequency, which tells the
    /// patches apart.
    fn powers(&self) -> [Vec<f32>; 2] {
        let of = |at: usize, sign: f32| {
            let (re, im) = (self.real[at], self.imaginary[at]);
            let (other_re, other_im) = (self.real[opposite(at)], self.imaginary[opposite(at)]);
            ((re + sign * other_re).powi(2) + (im - sign * other_im).powi(2)) / 4.0
        };
        [1.0, -1.0].map(|sign| (0..PATCH * PATCH).map(|at| of(at, sign)).collect())
    }
}

/// The place of the opposite frequency.
fn opposite(at: usize) -> usize {
    let (u, v) = (at % PATCH, at / PATCH);
    (PATCH - v) % PATCH * PATCH + (PATCH - u) % PATCH
}

/// The transform after removing each patch's mean and applying a Hann window.
fn joint_transform(first: &Luma, second: Option<&Luma>) -> JointTransform {
    let mut real = windowed(first);
    let mut imaginary = match second {
        Some(second) => windowed(second),
        None => vec![0.0; PATCH * PATCH],
    };
    for _ in 0..2 {
        for (re, im) in real
            .chunks_exact_mut(PATCH)
            .zip(imaginary.chunks_exact_mut(PATCH))
        {
            transform(re, im);
        }
        transpose(&mut real);
        transpose(&mut imaginary);
    }
    JointTransform { real, imaginary }
}

/// A patch without its mean, multiplied by the Hann window.
fn windowed(patch: &Luma) -> Vec<f32> {
    let mut values: Vec<f32> = patch.pixels.iter().map(|&value| f32::from(value)).collect();
    let mean = values.iter().sum::<f32>() / (PATCH * PATCH) as f32;
    for (row, down) in values.chunks_exact_mut(PATCH).zip(&*HANN) {
        for (value, across) in row.iter_mut().zip(&*HANN) {
            *value = (*value - mean) * across * down;
        }
    }
    values
}

fn transpose(square: &mut [f32]) {
    for y in 0..PATCH {
        for x in 0..y {
            square.swap(y * PATCH + x, x * PATCH + y);
        }
    }
}

/// The Fourier transform in place (radix 2, decimation in time). The length must be a power of two, and at most
/// [`PATCH`].
fn transform(re: &mut [f32], im: &mut [f32]) {
    let n = re.len();
    let mut reversed = 0;
    for i in 1..n {
        let mut bit = n / 2;
        while reversed & bit != 0 {
            reversed ^= bit;
            bit /= 2;
        }
        reversed |= bit;
        if i < reversed {
            re.swap(i, reversed);
            im.swap(i, reversed);
        }
    }
    let mut width = 2;
    while width <= n {
        let turns = &TURNS[width / 2..width];
        for (re, im) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)) {
            let ((re_low, re_high), (im_low, im_high)) =
                (re.split_at_mut(width / 2), im.split_at_mut(width / 2));
            let low = re_low.iter_mut().zip(im_low);
            let high = re_high.iter_mut().zip(im_high);
            for (((rl, il), (rh, ih)), (sin, cos)) in low.zip(high).zip(turns) {
                let (tr, ti) = (*rh * cos - *ih * sin, *rh * sin + *ih * cos);
                (*rh, *ih) = (*rl - tr, *il - ti);
                (*rl, *il) = (*rl + tr, *il + ti);
            }
        }
        width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u32) -> impl FnMut() -> f32 {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 16) as f32 / 65536.0 - 0.5
        }
    }

    fn picture(value: impl Fn(f32, f32) -> f32) -> Picture {
        let mut random = noise(5);
        let pixels = (0..256 * 256)
            .flat_map(|i| [(value((i % 256) as f32, (i / 256) as f32) + 12.0 * random()) as u8; 3]);
        Picture::new(256, 256, pixels.collect()).expect("the right size")
    }

    #[test]
    fn the_transform_is_the_sum_it_stands_for() {
        let mut random = noise(3);
        let input: Vec<f32> = (0..16).map(|_| random()).collect();
        let (mut re, mut im) = (input.clone(), vec![0.0; 16]);
        transform(&mut re, &mut im);
        for k in 0..16 {
            let angle = |n: usize| -2.0 * PI * (k * n) as f32 / 16.0;
            let expected_re: f32 = input.iter().enumerate().map(|(n, x)| x * angle(n).cos()).sum();
            let expected_im: f32 = input.iter().enumerate().map(|(n, x)| x * angle(n).sin()).sum();
            assert!((re[k] - expected_re).abs() < 1e-4 && (im[k] - expected_im).abs() < 1e-4);
        }
    }

    #[test]
    fn two_patches_in_one_transform_give_the_mean_of_both() {
        let plane = picture(|x, y| 120.0 + 30.0 * (x / 9.0).sin() + 20.0 * (y * y / 700.0).cos());
        let of = |left| mean_power(&plane, &[(left, 0)], Picture::luma).expect("one patch");
        let (first, second) = (of(0), of(128));
        let both = mean_power(&plane, &[(0, 0), (128, 0)], Picture::luma).expect("two patches");
        let largest = both.iter().copied().fold(0.0, f32::max);
        let planes = planes_of(&plane, &[(0, 0), (128, 0)], Picture::luma);
        let powers = joint_transform(&planes[0], planes.get(1)).powers();
        for (power, alone) in powers.iter().zip([&first, &second]) {
            let differs = power
                .iter()
                .zip(alone)
                .any(|(a, b)| (a - b).abs() > 1e-5 * largest);
            assert!(!differs, "a patch's power differs from its own transform's");
        }
        for (at, value) in both.iter().enumerate() {
            let expected = f32::midpoint(first[at], second[at]);
            assert!(
                (value - expected).abs() < 1e-5 * largest,
                "{at}: {value}, not {expected}"
            );
        }
        let differs = first
            .iter()
            .zip(&second)
            .any(|(a, b)| (a - b).abs() > 1e-3 * largest);
        assert!(differs, "two patches that differ");
    }

    #[test]
    fn a_periodic_pattern_stands_out_and_plain_or_blocky_pictures_do_not() {
        let measure = |picture: &Picture| {
            let patches = patches_of(picture, [0, 0, 256, 256], 4);
            peak(&mean_power(picture, &patches, Picture::luma).expect("patches fit"))
        };
        let plain = measure(&picture(|x, y| {
            120.0 + 40.0 * (x / 60.0).sin() + 30.0 * (y / 45.0).cos()
        }));
        let blocky = measure(&picture(|x, y| {
            120.0 + 12.0 * (((x / 8.0) as i32 * 7 + (y / 8.0) as i32 * 5) % 3) as f32
        }));
        let moire = measure(&picture(|x, y| 120.0 + 8.0 * (x * 1.3 + y * 0.7).sin()));
        assert!(plain < 2.5, "{plain}");
        assert!(moire > plain + 2.0 && moire > blocky + 1.0, "{moire}, {blocky}");
    }

    #[test]
    fn upright_and_level_patterns_lie_on_the_axes() {
        let measure = |picture: &Picture| {
            let patches = patches_of(picture, [0, 0, 256, 256], 4);
            let power = mean_power(picture, &patches, Picture::luma).expect("patches fit");
            let least = patch_peaks(picture, &patches, Picture::luma)
                .into_iter()
                .fold(f32::MAX, f32::min);
            (peak(&power), least)
        };
        // Strokes of all widths, as text has.
        let strokes = |x: f32| 40.0 * f32::from(((x * 0.618).fract() * 7.0) as u8 % 2);
        let (_, plain) = measure(&picture(|x, _| 120.0 + strokes((x / 5.0).floor())));
        for upright in [false, true] {
            let wave = |x: f32, y: f32| 8.0 * (1.3 * if upright { y } else { x }).sin();
            let (off, with) = measure(&picture(|x, y| 120.0 + wave(x, y)));
            assert!(
                off < 2.5 && with > 5.0 && with > plain + 1.0,
                "{off} {with} {plain}"
            );
        }
    }

    #[test]
    fn regions_without_room_have_no_spectrum() {
        let fits = |(width, height): (u32, u32), region| {
            let picture = Picture::filled(width, height, [9; 3]);
            mean_power(&picture, &patches_of(&picture, region, 3), Picture::luma).is_some()
        };
        assert!(!fits((200, 100), [0, 0, 200, 100]));
        assert!(!fits((200, 200), [100, 0, 200, 200]));
        assert!(fits((200, 200), [0, 0, 9999, 9999]));
        assert_eq!(starts(10, 10 + PATCH as u32, 4), [10]);
    }
}
