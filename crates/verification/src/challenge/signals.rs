//! Signals of injection: signs that the frames of a challenge may not come from a camera. They are evidence for
//! reviewers and decide nothing, because each has honest causes, and a skilful attacker avoids all of them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Parts of the names of software that poses as a camera, and of the test cameras of browsers, in lower case.
const VIRTUAL_CAMERAS: [&str; 28] = [
    ".mjpeg",
    ".y4m",
    "altercam",
    "avatarify",
    "camtwist",
    "chromacam",
    "deepfacelive",
    "droidcam",
    "dummy video",
    "e2esoft",
    "epoccam",
    "facerig",
    "fake_device",
    "iriun",
    "ivcam",
    "loopback",
    "manycam",
    "mmhmm",
    "ndi webcam",
    "obs-camera",
    "obs virtual",
    "snap camera",
    "sparkocam",
    "splitcam",
    "v4l2loopback",
    "virtual",
    "webcammax",
    "youcam",
];
/// A label that a browser generated has at least this many characters, and among them at least this many digits.
const GENERATED_LENGTH: usize = 32;
const GENERATED_DIGITS: usize = 4;
/// The longest label that is stored, in characters.
const MAX_LABEL: usize = 120;
/// The ratios of the longer side to the shorter one in cameras' pictures.
const RATIOS: [f32; 11] = [
    1.0,
    5.0 / 4.0,
    11.0 / 9.0,
    4.0 / 3.0,
    3.0 / 2.0,
    16.0 / 10.0,
    16.0 / 9.0,
    17.0 / 9.0,
    2.0,
    19.5 / 9.0,
    20.0 / 9.0,
];
const RATIO_TOLERANCE: f32 = 0.015;
/// The sides (in pixels) and frame rates (per second) of cameras' pictures.
const SIDES: std::ops::RangeInclusive<u32> = 120..=8_192;
const RATES: std::ops::RangeInclusive<f32> = 1.0..=240.0;
/// The fewest frames from which the figures of a film are meaningful.
const LEAST_FRAMES: u32 = 40;
/// Intervals with a smaller standard deviation suggest a program (ms). A steady camera with 30 frames a second has 0.47
/// merely because its times are rounded to whole milliseconds.
const EVEN_MS: f64 = 0.3;
/// The number of frames that repeat an earlier one byte for byte. A repetition of the frame just before does not count,
/// because the page can take a slow camera's picture twice.
const REPEATED: u32 = 3;
/// The share by which the rate of the page's clock may deviate from this server's, and the fewest seconds for which
/// they are compared.
const RATE_TOLERANCE: f64 = 0.1;
const RATE_LEAST_SECONDS: usize = 9;
/// The longest run, in seconds.
const MOST_SECONDS: usize = 180;
/// A sensor's noise leaves at most this share of a picture's cells unchanged from one frame to the next, on average.
/// Rendered films with noise reach 0.39 (41 runs of both renderers), and those without noise have 0.15–0.51, because
/// frames of 15 kB retain little of it. The limit spares honest people, so it misses most films without noise. No real
/// camera was measured.
const UNCHANGED: f64 = 0.45;

/// A sign that frames may not come from a camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The camera has the name of software that poses as one.
    VirtualCamera,
    /// The page named no camera, or one without a real name, such as a stream that a script draws.
    UnnamedCamera,
    /// The camera reports a picture size or frame rate that cameras do not have.
    UnlikelyPicture,
    /// The browser reports that a program controls it.
    AutomatedBrowser,
    /// The camera changed during a run.
    CameraChanged,
    /// The browser changed during a run, without a hand-off that the page had begun.
    DeviceChanged,
    /// Frames repeat earlier ones byte for byte.
    RepeatedFrames,
    /// Frames came in intervals as even as a program's.
    EvenTiming,
    /// The page's clock runs faster or slower than this server's, as when a film is played at another speed.
    ClockRate,
    /// Too much of the picture is perfectly still for it to have a sensor's noise.
    NoNoise,
}

impl Signal {
    /// The word in records, such as `virtual_camera`.
    pub fn as_str(self) -> &'static str {
        match self {
            Signal::VirtualCamera => "virtual_camera",
            Signal::UnnamedCamera => "unnamed_camera",
            Signal::UnlikelyPicture => "unlikely_picture",
            Signal::AutomatedBrowser => "automated_browser",
            Signal::CameraChanged => "camera_changed",
            Signal::DeviceChanged => "device_changed",
            Signal::RepeatedFrames => "repeated_frames",
            Signal::EvenTiming => "even_timing",
            Signal::ClockRate => "clock_rate",
            Signal::NoNoise => "no_noise",
        }
    }
}

/// The facts about a frame from which signals are found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameTrace {
    /// The page's clock, in ms since the nonce's first frame.
    pub captured_ms: u32,
    /// SHA-256 of the JPEG.
    pub hash: [u8; 32],
    /// The share of the picture that has not changed since the frame before, 0–1.
    pub unchanged: Option<f32>,
}

/// The camera as the page describes it. A client can claim anything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Camera {
    /// Its name.
    pub label: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Frames a second.
    pub frame_rate: f32,
    /// Whether the browser lists it as a device.
    pub is_device: bool,
    /// Whether the browser reports that a program controls it.
    pub is_automated: bool,
}

impl Camera {
    /// The camera with a label of bounded length without control characters, and a rate that can be stored.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.label = self
            .label
            .chars()
            .filter(|character| !character.is_control())
            .take(MAX_LABEL)
            .collect();
        // It is stored as JSON, which has no infinity.
        if !self.frame_rate.is_finite() {
            self.frame_rate = 0.0;
        }
        self
    }

    fn signals(&self) -> impl Iterator<Item = Signal> {
        let label = self.label.to_lowercase();
        let (short, long) = (self.width.min(self.height), self.width.max(self.height));
        let ratio = long as f32 / short.max(1) as f32;
        // A value that the browser does not state is 0, and is no signal.
        let has_size = (short, long) != (0, 0);
        let is_known_size = SIDES.contains(&short)
            && SIDES.contains(&long)
            && RATIOS
                .iter()
                .any(|known| (ratio / known - 1.0).abs() <= RATIO_TOLERANCE);
        let has_rate = self.frame_rate != 0.0;
        let is_unlikely = (has_size && !is_known_size) || (has_rate && !RATES.contains(&self.frame_rate));
        [
            (
                VIRTUAL_CAMERAS.iter().any(|name| label.contains(name)),
                Signal::VirtualCamera,
            ),
            (
                label.trim().is_empty() || is_generated(&label) || !self.is_device,
                Signal::UnnamedCamera,
            ),
            (is_unlikely, Signal::UnlikelyPicture),
            (self.is_automated, Signal::AutomatedBrowser),
        ]
        .into_iter()
        .filter_map(|(holds, signal)| holds.then_some(signal))
    }
}

/// Collects signals over a run. It can be stored between two bodies of frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignalCollector {
    camera: Option<Camera>,
    /// A hash of the properties that distinguish browsers.
    device: Option<String>,
    /// The number of the last hand-off that another device took.
    handoff: Option<i64>,
    found: BTreeSet<Signal>,
    /// Intervals of the page's clock: their number, sum and sum of squares (ms).
    intervals: (u32, f64, f64),
    /// For each second of the current nonce's clock: the shortest delay with which a body arrived, in ms. The first
    /// delay counts as 0.
    delays: Vec<Option<i64>>,
    /// The server's clock minus the page's at the nonce's first body (ms).
    first_offset: Option<i64>,
    last_captured: Option<u32>,
    /// The first bytes of the hash of each frame.
    hashes: Vec<u32>,
    repeated: u32,
    /// The frames whose unchanged share is known, and the sum of the shares.
    unchanged: (u32, f64),
}

impl SignalCollector {
    /// Records which device begins or continues a run. `handoff` is the number of the last hand-off that the page began
    /// and another device took. Each hand-off explains one change of device.
    pub fn begin(&mut self, camera: Option<Camera>, device: &str, handoff: Option<i64>) {
        let under_way = !self.hashes.is_empty();
        let is_another = self.device.as_deref().is_some_and(|before| before != device);
        if under_way && is_another && (handoff.is_none() || handoff == self.handoff) {
            self.found.insert(Signal::DeviceChanged);
        }
        // A hand-off from before the run explains no change during it.
        if is_another || !under_way {
            self.handoff = handoff;
        }
        self.device = Some(device.to_owned());
        if let Some(camera) = camera {
            let is_other = self
                .camera
                .as_ref()
                .is_some_and(|before| before.label != camera.label);
            if under_way && !is_another && is_other {
                self.found.insert(Signal::CameraChanged);
            }
            self.found.extend(camera.signals());
            // Without a description, such as while the camera restarts, the previous one remains.
            self.camera = Some(camera);
        }
        // A new nonce restarts the page's clock.
        if self.has_other_rate() {
            self.found.insert(Signal::ClockRate);
        }
        self.delays.clear();
        (self.first_offset, self.last_captured) = (None, None);
    }

    /// Records the frames of a body, and when it arrived.
    pub fn body(&mut self, frames: &[FrameTrace], arrived_ms: i64) {
        for frame in frames {
            if let Some(before) = self.last_captured.replace(frame.captured_ms) {
                let interval = f64::from(frame.captured_ms.saturating_sub(before));
                let (number, sum, squares) = &mut self.intervals;
                (*number, *sum, *squares) = (*number + 1, *sum + interval, *squares + interval * interval);
            }
            let [a, b, c, d, ..] = frame.hash;
            let hash = u32::from_be_bytes([a, b, c, d]);
            // The page can take a slow camera's picture twice, which is no signal.
            let is_same = self.hashes.last() == Some(&hash);
            if !is_same && self.hashes.contains(&hash) {
                self.repeated += 1;
            }
            self.hashes.push(hash);
            if let Some(share) = frame.unchanged.filter(|share| share.is_finite() && !is_same) {
                let (number, sum) = &mut self.unchanged;
                (*number, *sum) = (*number + 1, *sum + f64::from(share));
            }
        }
        if let Some(last) = frames.last() {
            let captured = i64::from(last.captured_ms);
            let offset = arrived_ms - captured;
            let delay = offset - *self.first_offset.get_or_insert(offset);
            // `as` saturates; the second is below the limit.
            let second = ((last.captured_ms / 1_000) as usize).min(MOST_SECONDS - 1);
            if self.delays.len() <= second {
                self.delays.resize(second + 1, None);
            }
            if let Some(least) = self.delays.get_mut(second) {
                *least = Some(least.map_or(delay, |least| least.min(delay)));
            }
        }
    }

    /// Whether the page's clock runs at another rate than this server's: even the quickest bodies of the last third come
    /// later, or sooner, than those of the first third. A single late body is no signal.
    fn has_other_rate(&self) -> bool {
        let seconds = self.delays.len();
        if seconds < RATE_LEAST_SECONDS {
            return false;
        }
        let third = seconds / 3;
        let least = |part: Option<&[Option<i64>]>| part?.iter().flatten().min().copied();
        let first = least(self.delays.get(..third));
        let last = least(self.delays.get(seconds - third..));
        let Some((first, last)) = first.zip(last) else {
            return false;
        };
        let apart_ms = (seconds - third) as f64 * 1_000.0;
        (last - first).unsigned_abs() as f64 / apart_ms > RATE_TOLERANCE
    }

    /// The standard deviation of the intervals between frames, in ms; `None` for a short film.
    #[must_use]
    pub fn deviation_ms(&self) -> Option<f64> {
        let (number, sum, squares) = self.intervals;
        let all = f64::from(number);
        let mean = sum / all.max(1.0);
        (number >= LEAST_FRAMES).then(|| (squares / all - mean * mean).max(0.0).sqrt())
    }

    /// The share of the picture that has not changed from frame to frame, on average; `None` for a short film.
    #[must_use]
    pub fn unchanged(&self) -> Option<f64> {
        let (number, sum) = self.unchanged;
        (number >= LEAST_FRAMES).then(|| sum / f64::from(number))
    }

    /// The signals so far, and the camera that the page named last.
    #[must_use]
    pub fn found(&self) -> (Vec<Signal>, Option<Camera>) {
        let mut found = self.found.clone();
        if self.device.is_some() && self.camera.is_none() {
            found.insert(Signal::UnnamedCamera);
        }
        if self.repeated >= REPEATED {
            found.insert(Signal::RepeatedFrames);
        }
        if self.has_other_rate() {
            found.insert(Signal::ClockRate);
        }
        if self.deviation_ms().is_some_and(|deviation| deviation < EVEN_MS) {
            found.insert(Signal::EvenTiming);
        }
        if self.unchanged().is_some_and(|share| share > UNCHANGED) {
            found.insert(Signal::NoNoise);
        }
        (found.into_iter().collect(), self.camera.clone())
    }
}

/// Whether a browser generated a label, as it does for a stream that a script draws: a long word with several digits.
fn is_generated(label: &str) -> bool {
    let digits = label.chars().filter(char::is_ascii_digit).count();
    label.len() >= GENERATED_LENGTH && digits >= GENERATED_DIGITS && !label.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera {
            label: "FaceTime HD Camera".into(),
            width: 1_280,
            height: 720,
            frame_rate: 30.0,
            is_device: true,
            is_automated: false,
        }
    }

    fn collector() -> SignalCollector {
        let mut collector = SignalCollector::default();
        collector.begin(Some(camera()), "browser", None);
        collector
    }

    /// A film of bodies with two frames each: the time of each frame, its content, when its body arrived, its unchanged share.
    fn play(
        collector: &mut SignalCollector,
        frames: u32,
        captured: impl Fn(u32) -> u32,
        content: impl Fn(u32) -> u32,
        arrived: impl Fn(u32) -> i64,
        unchanged: impl Fn(u32) -> f32,
    ) {
        for first in (0..frames).step_by(2) {
            let traces = [first, first + 1].map(|frame| FrameTrace {
                captured_ms: captured(frame),
                hash: std::array::from_fn(|at| content(frame).to_be_bytes()[at % 4]),
                unchanged: Some(unchanged(frame)),
            });
            collector.body(&traces, arrived(captured(first + 1)));
        }
    }

    /// The time of a camera's frame, which is never quite even.
    fn uneven(frame: u32) -> u32 {
        frame * 67 + frame % 3
    }

    fn noisy(frame: u32) -> f32 {
        0.1 + 0.01 * (frame % 7) as f32
    }

    #[test]
    fn a_camera_gives_no_signal() {
        let mut collector = collector();
        play(
            &mut collector,
            200,
            uneven,
            |frame| frame,
            |at| i64::from(at) + 90,
            noisy,
        );
        assert_eq!(collector.found(), (Vec::new(), Some(camera())));
        // Stored between bodies.
        let stored = serde_json::to_string(&collector).unwrap();
        assert_eq!(
            serde_json::from_str::<SignalCollector>(&stored).unwrap(),
            collector
        );
        // A state of a version without signals.
        assert_eq!(
            serde_json::from_str::<SignalCollector>("{}").unwrap(),
            SignalCollector::default()
        );
    }

    #[test]
    fn what_the_page_says_of_its_camera() {
        type Change = fn(&mut Camera);
        let cases: [(Change, Option<Signal>); 17] = [
            // As Chromium names the stream of a canvas.
            (
                |it| it.label = "Z0OI2h7RKssbZk+jk4Jd8wpKrZglFgSmMGddqW5i1MBhgrpjXOt2A6iaeL==".into(),
                Some(Signal::UnnamedCamera),
            ),
            (|it| it.label = "Integrated Webcam FHD (0bda:5520)".into(), None),
            (
                |it| it.label = "/tmp/film.mjpeg".into(),
                Some(Signal::VirtualCamera),
            ),
            (|_| (), None),
            (
                |it| it.label = "OBS Virtual Camera".into(),
                Some(Signal::VirtualCamera),
            ),
            (
                |it| it.label = "ManyCam Virtual Webcam".into(),
                Some(Signal::VirtualCamera),
            ),
            (
                |it| it.label = "fake_device_0".into(),
                Some(Signal::VirtualCamera),
            ),
            (|it| it.label = "camera2 1, facing front".into(), None),
            (|it| it.label = "Frontkamera".into(), None),
            (|it| it.label = " ".into(), Some(Signal::UnnamedCamera)),
            (|it| it.is_device = false, Some(Signal::UnnamedCamera)),
            (|it| (it.width, it.height) = (480, 640), None),
            (|it| (it.width, it.height) = (352, 288), None),
            (
                |it| (it.width, it.height) = (1_000, 650),
                Some(Signal::UnlikelyPicture),
            ),
            (|it| (it.width, it.height, it.frame_rate) = (0, 0, 0.0), None),
            (|it| it.frame_rate = 1_000.0, Some(Signal::UnlikelyPicture)),
            (|it| it.is_automated = true, Some(Signal::AutomatedBrowser)),
        ];
        for (change, expected) in cases {
            let mut changed = camera();
            change(&mut changed);
            let mut collector = SignalCollector::default();
            collector.begin(Some(changed.clone()), "browser", None);
            let expected: Vec<Signal> = expected.into_iter().collect();
            assert_eq!(collector.found().0, expected, "{changed:?}");
        }
        let mut collector = SignalCollector::default();
        collector.begin(None, "browser", None);
        assert_eq!(collector.found().0, [Signal::UnnamedCamera]);
        let long = Camera {
            label: "x\u{7}".repeat(200),
            ..camera()
        };
        assert_eq!(long.bounded().label, "x".repeat(MAX_LABEL));
        let endless = Camera {
            frame_rate: f32::INFINITY,
            ..camera()
        };
        assert_eq!(endless.bounded().frame_rate, 0.0);
    }

    #[test]
    fn another_camera_or_browser_in_a_run() {
        let other = Camera {
            label: "Back Camera".into(),
            ..camera()
        };
        for (camera_after, device, handoff, under_way, expected) in [
            (camera(), "browser", None, true, None),
            (other.clone(), "browser", None, true, Some(Signal::CameraChanged)),
            (other.clone(), "browser", None, false, None),
            (other.clone(), "phone", None, true, Some(Signal::DeviceChanged)),
            (other.clone(), "phone", Some(47), true, None),
            (other, "phone", None, false, None),
        ] {
            let mut collector = collector();
            if under_way {
                play(&mut collector, 2, uneven, |frame| frame, i64::from, noisy);
            }
            collector.begin(Some(camera_after.clone()), device, handoff);
            let expected: Vec<Signal> = expected.into_iter().collect();
            assert_eq!(
                collector.found().0,
                expected,
                "{camera_after:?} {device} {handoff:?}"
            );
        }
    }

    #[test]
    fn a_camera_without_a_description_stays_the_one_before() {
        let mut collector = collector();
        play(&mut collector, 2, uneven, |frame| frame, i64::from, noisy);
        collector.begin(None, "browser", None);
        assert_eq!(collector.found(), (Vec::new(), Some(camera())));
    }

    #[test]
    fn what_the_frames_say() {
        let found = |frames,
                     captured: fn(u32) -> u32,
                     content: fn(u32) -> u32,
                     arrived: fn(u32) -> i64,
                     unchanged: fn(u32) -> f32| {
            let mut collector = collector();
            play(&mut collector, frames, captured, content, arrived, unchanged);
            collector.found().0
        };
        let even = |frame| frame * 80;
        let own = |frame| frame;
        let soon = |at| i64::from(at) + 90;
        assert_eq!(found(200, even, own, soon, noisy), [Signal::EvenTiming]);
        assert_eq!(found(20, even, own, soon, noisy), [], "too short");
        assert_eq!(
            found(200, uneven, |frame| frame % 150, soon, noisy),
            [Signal::RepeatedFrames]
        );
        // A camera with few pictures in the dark: each is taken three times.
        assert_eq!(found(200, uneven, |frame| frame / 3, soon, noisy), []);
        // A camera in the dark without noise: the repeated pictures say nothing about it.
        let doubled = |frame| if frame % 2 == 0 { 0.1 } else { 1.0 };
        assert_eq!(found(200, uneven, |frame| frame / 2, soon, doubled), []);
        // One body that was held up by 3 s, early or late.
        let late = |at| i64::from(at) + if at > 13_200 { 3_000 } else { 0 };
        assert_eq!(found(200, uneven, own, late, noisy), []);
        let early = |at| i64::from(at) + if at < 200 { 3_000 } else { 0 };
        assert_eq!(found(200, uneven, own, early, noisy), []);
        // A film at 0.8 of its speed, and one whose network becomes slower by 300 ms.
        assert_eq!(
            found(200, uneven, own, |at| i64::from(at) * 5 / 4, noisy),
            [Signal::ClockRate]
        );
        assert_eq!(
            found(200, uneven, own, |at| i64::from(at) + i64::from(at) / 45, noisy),
            []
        );
        // A rendered room stands perfectly still.
        let rendered = |frame| 0.6 + 0.01 * (frame % 7) as f32;
        assert_eq!(found(200, uneven, own, soon, rendered), [Signal::NoNoise]);
        assert_eq!(found(20, uneven, own, soon, rendered), [], "too short");
        let unreadable = |_| f32::NAN;
        assert_eq!(found(200, uneven, own, soon, unreadable), []);
    }
}
