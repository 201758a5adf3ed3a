//! Plays a film to the challenge as the hosted page does, under a clock that only counts: frames at 12.5 a second, one
//! request at a time, each with all frames since the one before.
//!
//! Every frame is encoded, decoded and measured as on a server. Nothing sleeps, and nothing is sent.

use std::time::Duration;

use anyhow::Context;
use faces::{Embedding, FaceEngine, FilmRequest, Track};
use films::{Film, FrameEncoder};
use imaging::{Limits, Picture};
use rustix::time::{ClockId, clock_gettime};
use service::challenge::measured_face;
use sha2::{Digest, Sha256};
use verification::challenge::{
    Camera, Colour, End, FrameTrace, Hint, Instruction, Kind, Measured, Move, Plan, Report, Run, Shown,
    SignalCollector,
};

/// Milliseconds from one frame to the next, and how much a camera deviates from it.
const INTERVAL_MS: u32 = 80;
const JITTER_MS: u32 = 6;
/// One frame in so many is lost.
const LOST_ONE_IN: u32 = 120;
/// A request's way to the server, and the answer's way back (ms).
const UPLINK_MS: (u32, u32) = (30, 150);
const DOWNLINK_MS: (u32, u32) = (20, 100);
/// The time that a frame takes on the server (ms). The measured time depends on this machine's load.
const MEASURING_MS: i64 = 15;
/// A colour stays on the page so long at least (ms).
const COLOUR_MS: i64 = 260;
/// The most frames of a run.
const MOST_FRAMES: u32 = 1_800;

/// A run that has ended.
#[derive(Debug, Clone)]
pub(super) struct Played {
    pub(super) end: End,
    pub(super) report: Report,
    /// The share of the picture that has not changed from frame to frame.
    pub(super) unchanged: Option<f64>,
    /// Processor time and clock time of decoding and measuring.
    pub(super) processor: Duration,
    pub(super) clock: Duration,
}

/// A generator of whole numbers below a limit.
pub(super) fn numbers(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed;
    move |limit| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % u64::from(limit.max(1))) as u32
    }
}

/// A frame on its way to the server.
struct Sent {
    captured_ms: i64,
    instruction: u16,
    hash: [u8; 32],
    picture: Picture,
}

/// The signals of a page that names an ordinary camera, so that only frames give further ones.
fn signals() -> SignalCollector {
    let camera = Camera {
        label: "camera".into(),
        width: 640,
        height: 480,
        frame_rate: 30.0,
        is_device: true,
        is_automated: false,
    };
    let mut signals = SignalCollector::default();
    signals.begin(Some(camera), "browser", None);
    signals
}

/// Plays a film to a challenge until it ends.
pub(super) fn play(engine: &FaceEngine, film: &mut Film, seed: u64) -> anyhow::Result<Played> {
    let mut random = numbers(seed);
    let run = Run::new(Plan::random(Kind::Turns, &mut random), 0);
    let mut server = Server {
        engine,
        run,
        last: None,
        reference: None,
        signals: signals(),
        number: 0,
        processor: Duration::ZERO,
        clock: Duration::ZERO,
    };
    let mut page = Page::new(server.run.instruction(), film);
    let mut encoder = FrameEncoder::default();
    let mut waiting: Vec<Sent> = Vec::new();
    // When the answer under way arrives, and what it says.
    let mut answer: Option<(i64, Instruction)> = None;
    let mut next_frame = 40;
    loop {
        let answered = answer.filter(|(at, _)| *at <= next_frame);
        if let Some((at, instruction)) = answered {
            answer = None;
            page.answer(at, instruction);
        }
        let now = answered.map_or(next_frame, |(at, _)| at);
        page.present(now, film);
        if answered.is_none() {
            let is_lost = random(LOST_ONE_IN) == 0;
            next_frame += i64::from(INTERVAL_MS - JITTER_MS + random(2 * JITTER_MS + 1));
            if !is_lost {
                let jpeg = encoder
                    .encode(&film.frame(now))
                    .context("a frame does not fit into its limit")?;
                waiting.push(server.decode(&jpeg, now, page.shown)?);
            }
        }
        if answer.is_none() && !waiting.is_empty() {
            let up = i64::from(UPLINK_MS.0 + random(UPLINK_MS.1 - UPLINK_MS.0));
            let down = i64::from(DOWNLINK_MS.0 + random(DOWNLINK_MS.1 - DOWNLINK_MS.0));
            let measured_ms = server.take(std::mem::take(&mut waiting), now + up)?;
            if let Some(end) = server.run.end() {
                server.run.note_signals(&server.signals);
                return Ok(Played {
                    end,
                    unchanged: server.signals.unchanged(),
                    report: server.run.report().clone(),
                    processor: server.processor,
                    clock: server.clock,
                });
            }
            answer = Some((measured_ms + down, server.run.instruction()));
        }
    }
}

/// What the page shows.
struct Page {
    /// The number of the instruction on the screen.
    shown: u16,
    colour: Option<Colour>,
    colour_since_ms: i64,
    /// An instruction that is shown when the colour before was long enough on the screen.
    due: Option<(i64, Instruction)>,
}

impl Page {
    fn new(instruction: Instruction, film: &mut Film) -> Self {
        let mut page = Self {
            shown: 0,
            colour: None,
            colour_since_ms: -COLOUR_MS,
            due: Some((0, instruction)),
        };
        page.present(0, film);
        page
    }

    fn answer(&mut self, now_ms: i64, instruction: Instruction) {
        let at = if colour(instruction.shown) == self.colour {
            now_ms
        } else {
            now_ms.max(self.colour_since_ms + COLOUR_MS)
        };
        self.due = Some((at, instruction));
    }

    fn present(&mut self, now_ms: i64, film: &mut Film) {
        let Some((at, instruction)) = self.due.take_if(|(at, _)| *at <= now_ms) else {
            return;
        };
        let colour = colour(instruction.shown);
        if colour != self.colour {
            (self.colour, self.colour_since_ms) = (colour, at);
        }
        self.shown = instruction.number;
        film.show(at, shown(instruction.shown), instruction.hint.and_then(hint));
    }
}

fn colour(shown: Shown) -> Option<Colour> {
    match shown {
        Shown::Flash(colour) => Some(colour),
        _ => None,
    }
}

/// The server's side: engine and rules.
struct Server<'a> {
    engine: &'a FaceEngine,
    run: Run,
    last: Option<(Picture, Option<Track>)>,
    reference: Option<Embedding>,
    signals: SignalCollector,
    number: u32,
    processor: Duration,
    clock: Duration,
}

impl Server<'_> {
    fn decode(&mut self, jpeg: &[u8], captured_ms: i64, instruction: u16) -> anyhow::Result<Sent> {
        let picture = self.timed(|| imaging::decode(jpeg, &Limits::default()))?.picture;
        Ok(Sent {
            captured_ms,
            instruction,
            hash: Sha256::digest(jpeg).into(),
            picture,
        })
    }

    /// Measures the frames of a request that arrives at this time; returns when that is done.
    fn take(&mut self, sent: Vec<Sent>, arrived_ms: i64) -> anyhow::Result<i64> {
        let wish = self.run.request();
        let request = FilmRequest {
            restart: wish.restart,
            embed: wish.embed,
        };
        let captured_ms = sent.last().map_or(0, |frame| frame.captured_ms);
        let times: Vec<(i64, u16)> = sent
            .iter()
            .map(|frame| (arrived_ms - (captured_ms - frame.captured_ms), frame.instruction))
            .collect();
        let sent_as: Vec<(i64, [u8; 32])> =
            sent.iter().map(|frame| (frame.captured_ms, frame.hash)).collect();
        let pictures: Vec<Picture> = sent.into_iter().map(|frame| frame.picture).collect();
        let last = self.last.take();
        let before = last
            .as_ref()
            .and_then(|(picture, track)| Some((picture, track.as_ref()?)));
        let engine = self.engine;
        let (frames, track) = self.timed(|| engine.film(before, &pictures, request))?;
        let done_ms = arrived_ms + MEASURING_MS * pictures.len() as i64;
        let mut measured = Vec::with_capacity(frames.len());
        for (frame, (at_ms, instruction)) in frames.iter().zip(times) {
            self.number += 1;
            measured.push(Measured {
                number: self.number,
                at_ms,
                instruction,
                // Hashes matter only for the selfie.
                hash: [0; 32],
                faces: frame.faces,
                face: measured_face(frame, &mut self.reference),
                change: frame.change,
                background: frame.background_rgb,
            });
        }
        let traces: Vec<FrameTrace> = sent_as
            .into_iter()
            .zip(&frames)
            .map(|((captured_ms, hash), frame)| FrameTrace {
                captured_ms: u32::try_from(captured_ms).unwrap_or(0),
                hash,
                unchanged: frame.unchanged,
            })
            .collect();
        self.signals.body(&traces, arrived_ms);
        self.run.take(&measured, done_ms);
        if self.number > MOST_FRAMES {
            self.run.give_up();
        }
        self.last = pictures.into_iter().next_back().map(|picture| (picture, track));
        Ok(done_ms)
    }

    fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (processor, clock) = (processor_time(), std::time::Instant::now());
        let result = work();
        self.processor += processor_time().saturating_sub(processor);
        self.clock += clock.elapsed();
        result
    }
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn movement(movement: Move) -> films::Move {
    match movement {
        Move::TurnLeft => films::Move::TurnLeft,
        Move::TurnRight => films::Move::TurnRight,
        Move::NodUp => films::Move::NodUp,
        Move::NodDown => films::Move::NodDown,
    }
}

/// What the page shows, for the crate `films`.
pub(super) fn shown(shown: Shown) -> films::Shown {
    match shown {
        Shown::Look => films::Shown::Look,
        Shown::Flash(colour) => films::Shown::Flash(colour.light()),
        Shown::Ready => films::Shown::Ready,
        Shown::Do(asked) => films::Shown::Do(movement(asked)),
        Shown::Hold(asked) => films::Shown::Hold(movement(asked)),
        Shown::Back => films::Shown::Back,
    }
}

/// The hint, if a person before the camera can follow it.
pub(super) fn hint(hint: Hint) -> Option<films::Hint> {
    match hint {
        Hint::NoFace | Hint::OneFace | Hint::TooDark => None,
        Hint::Closer => Some(films::Hint::Closer),
        Hint::Farther => Some(films::Hint::Farther),
        Hint::Centre => Some(films::Hint::Centre),
        Hint::LookStraight => Some(films::Hint::LookStraight),
        Hint::More => Some(films::Hint::More),
        Hint::Less => Some(films::Hint::Less),
        Hint::Slower => Some(films::Hint::Slower),
        Hint::HoldStill => Some(films::Hint::HoldStill),
    }
}
