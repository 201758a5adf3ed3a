//! What is stored of a challenge between two bodies of frames, and how measurements become the rules' data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine_process::Filmed;
use faces::{Embedding, FilmFrame, Track};
use serde::{Deserialize, Serialize};
use store::challenges::Challenge;
use verification::challenge::frames::{Body, Chain, Frame, FramesError, NONCE_BYTES};
use verification::challenge::{Measured, MeasuredFace, Run, SignalCollector};
use zeroize::Zeroizing;

use crate::problem::Problem;

/// A frame that arrives so much later than the quickest one was held up (ms).
const MOST_DELAY_MS: i64 = 3_000;
/// The page's clock may run so much faster than this server's in one challenge (ms).
const MOST_DRIFT_MS: i64 = 2_000;
/// Widths and heights of frames, in pixels.
const WIDTHS: std::ops::RangeInclusive<u32> = 320..=480;
const MOST_HEIGHT: u32 = 854;

/// The stored state of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) run: Run,
    /// The chain of the present nonce; `None` after the end.
    pub(super) chain: Option<Chain>,
    /// The size of every frame.
    size: Option<(u32, u32)>,
    /// The server's clock less the page's at the first frame of the nonce, and the least of all frames (ms).
    clocks: Option<(i64, i64)>,
    /// The last frame, in base64.
    pub(super) last: Option<String>,
    pub(super) track: Option<Track>,
    /// The first face.
    reference: Option<Embedding>,
    /// Signals of injection.
    #[serde(default)]
    pub(super) signals: SignalCollector,
}

impl State {
    pub(super) fn new(run: Run, nonce: [u8; NONCE_BYTES]) -> Self {
        State {
            run,
            chain: Some(Chain::begin(nonce, 1)),
            size: None,
            clocks: None,
            last: None,
            track: None,
            reference: None,
            signals: SignalCollector::default(),
        }
    }

    /// The stored state of a challenge, if it has one.
    pub(super) fn read(challenge: &Challenge) -> Result<Option<Self>, Problem> {
        let Some(run) = &challenge.run else {
            return Ok(None);
        };
        serde_json::from_slice(run).map(Some).map_err(|error| {
            let fault = verification::json::describe_without_values(&error);
            Problem::unavailable("The challenge cannot be read; please start it again").because(fault)
        })
    }

    pub(super) fn write(&self) -> Result<Zeroizing<Vec<u8>>, Problem> {
        serde_json::to_vec(self)
            .map(Zeroizing::new)
            .map_err(Problem::internal)
    }

    /// The state for a page that goes on: a new nonce, and the step at hand again.
    pub(super) fn resumed(mut self, nonce: [u8; NONCE_BYTES], now_ms: i64) -> Self {
        let next = self.chain.map_or(1, |chain| chain.next());
        self.run.resume(now_ms);
        State {
            chain: Some(Chain::begin(nonce, next)),
            // A phone may have been turned.
            size: None,
            clocks: None,
            last: None,
            track: None,
            ..self
        }
    }

    /// What remains of a run that has ended.
    pub(super) fn ended(&self) -> Self {
        let mut run = self.run.clone();
        run.note_signals(&self.signals);
        State {
            run,
            chain: None,
            size: None,
            clocks: None,
            last: None,
            track: None,
            reference: None,
            signals: SignalCollector::default(),
        }
    }

    pub(super) fn last_frame(&self) -> Result<Option<Vec<u8>>, Problem> {
        self.last
            .as_ref()
            .map(|last| STANDARD.decode(last).map_err(Problem::internal))
            .transpose()
    }

    /// Notes when a body arrived; returns whether it was held up on its way.
    pub(super) fn note_arrival(&mut self, body: &Body<'_>, arrived_ms: i64) -> Result<bool, FramesError> {
        let Some(last) = body.frames.last() else {
            return Ok(false);
        };
        let offset = arrived_ms - i64::from(last.captured_ms);
        let (first, least) = self.clocks.unwrap_or((offset, offset));
        if offset < first - MOST_DRIFT_MS {
            return Err(FramesError::Malformed(format!(
                "frame {} was captured after it arrived; send the time since the nonce's first frame",
                last.number
            )));
        }
        self.clocks = Some((first, least.min(offset)));
        Ok(offset - least > MOST_DELAY_MS)
    }

    /// Checks that every frame has the challenge's size.
    pub(super) fn check_size(&mut self, filmed: &Filmed, body: &Body<'_>) -> Result<(), FramesError> {
        for (frame, sent) in filmed.frames.iter().zip(&body.frames) {
            let size = (frame.width, frame.height);
            let expected = *self.size.get_or_insert(size);
            if !WIDTHS.contains(&frame.width) || frame.height > MOST_HEIGHT || size != expected {
                return Err(FramesError::Malformed(format!(
                    "frame {} is {}×{} pixels; send every frame in one size, 320 to 480 pixels wide and at most \
                     {MOST_HEIGHT} high",
                    sent.number, frame.width, frame.height
                )));
            }
        }
        Ok(())
    }

    /// The measurements as the rules take them. The first embedded face becomes the one that all are compared
    /// with.
    pub(super) fn measured(
        &mut self,
        frames: &[Frame<'_>],
        filmed: &Filmed,
        arrived: impl Fn(&Frame<'_>) -> i64,
    ) -> Vec<Measured> {
        let both = frames.iter().zip(&filmed.frames);
        both.map(|(sent, frame)| Measured {
            number: sent.number,
            at_ms: arrived(sent),
            instruction: sent.instruction,
            hash: sent.hash(),
            faces: frame.faces,
            face: measured_face(frame, &mut self.reference),
            change: frame.change,
            background: frame.background_rgb,
        })
        .collect()
    }
}

/// The face of a frame as the rules take it. `reference` becomes the first embedded face, with which all are compared.
pub fn measured_face(frame: &FilmFrame, reference: &mut Option<Embedding>) -> Option<MeasuredFace> {
    let face = frame.face.as_ref()?;
    let distance = face.embedding.as_ref().map(|embedding| {
        let reference = reference.get_or_insert_with(|| embedding.clone());
        faces::distance(reference, embedding)
    });
    Some(MeasuredFace {
        yaw: face.pose.yaw,
        pitch: face.pose.pitch,
        roll: face.pose.roll,
        eye_share: face.inter_eye_px / frame.width.max(1) as f32,
        centre: face.centre,
        part_inside: face.part_inside,
        tracked: face.tracked,
        relief: face.relief.map(|relief| [relief.lateral, relief.vertical]),
        rgb: face.face_rgb,
        usable: face.usable,
        too_dark: face.issues.iter().any(|issue| issue.code == "too-dark"),
        distance,
    })
}

/// A frame for [`State::last`].
pub(super) fn encoded(jpeg: &[u8]) -> String {
    STANDARD.encode(jpeg)
}
