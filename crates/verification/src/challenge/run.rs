//! One run of a challenge: a state machine from measured frames to the next instruction and the end.
//!
//! Times are the server's. A move's reaction is counted from the moment its instruction was sent, less the
//! round trip, which is measured as the shortest time from sending an instruction to the first frame that
//! shows it. A move that lost frames or came too late is asked for again, as another move, and costs no try.

use serde::{Deserialize, Serialize};

use super::angles::{Rest, limits};
use super::flashes::FlashSample;
use super::measured::{Measured, MeasuredFace};
use super::plan::{Kind, Move, Plan, PlannedMove};
use super::report::{Doubt, End, Failure, Hint, Instruction, Report, Shown, VoidCause};
use super::signals::SignalCollector;

mod stages;
#[cfg(test)]
mod tests;
mod wish;

/// The whole of flashes and moves, in ms, and what each repetition adds.
const MOST_MOVING_MS: i64 = 25_000;
const REPEAT_MS: i64 = 6_000;
/// The most degrees from one frame to the next, at the usual interval. The way back is quicker by nature.
const MOST_STEP: f32 = 8.0;
const MOST_STEP_BACK: f32 = 16.0;
const USUAL_INTERVAL_MS: f32 = 80.0;
/// Frames further apart than this count as lost, in ms.
const MOST_GAP_MS: i64 = 400;
/// The least frames a second, counted once moves have lasted this long (ms). The page sends at least ten.
const LEAST_RATE: i64 = 7;
const RATE_MS: i64 = 4_000;
/// A run whose answer comes so long after its last frame is void, in ms.
const MOST_LAG_MS: i64 = 500;
/// The longest round trip that is subtracted from a reaction, in ms.
const MOST_ROUND_TRIP_MS: i64 = 600;
/// Repetitions that the person caused, and those that were lost.
const MOST_OWN_REPEATS: u32 = 2;
const MOST_LOST_REPEATS: u32 = 5;
/// The largest distance of embeddings of one person in one film, looking straight and turned.
const SAME_FACE: f32 = 1.23;
const SAME_FACE_TURNED: f32 = 1.36;
/// Within this of the resting pose, in degrees, a frame can be the reference of a move.
const STRAIGHT: f32 = 8.0;
/// If a reference is this far from the resting pose in the direction of the next move, it is replaced as soon as the
/// head is this much nearer to that pose, in degrees.
const SETTLED: f32 = 2.5;
const NEARER: f32 = 1.5;
/// So many frames in a row without any change are a film that stands still.
const STILL_FRAMES: u32 = 10;
/// A mean change below this is none (grey levels).
const STILL_CHANGE: f32 = 0.02;

/// A frame that may be sent as selfie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfieFrame {
    /// Its number.
    pub number: u32,
    /// SHA-256 of its file.
    pub hash: [u8; 32],
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Look,
    Flash(usize),
    /// Until the delay of this move is over.
    Ready(usize),
    Turn(usize),
    Hold(usize),
    /// Back to rest, and then to this move.
    Back(usize),
}

/// Why a move is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// The person's part, for which the try fails in the end.
    Own(Failure, Hint),
    Lost,
}

/// The move at hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Attempted {
    reaction_ms: Option<i64>,
    peak: f32,
    fastest: f32,
    distance: Option<f32>,
    /// The largest angle along the move at which the face was compared since it left its resting pose, in degrees. The
    /// default is for states of servers before this field: the face is compared again.
    #[serde(default)]
    compared_along: f32,
    relief: Vec<f32>,
    /// How many of them were measured while the move was held.
    #[serde(default)]
    held_reliefs: u32,
}

/// The state of a run. It can be stored between two bodies of frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    plan: Plan,
    stage: Stage,
    end: Option<End>,
    /// The number of the instruction, when it was sent, and when the stage began in frames' time.
    instruction: u16,
    issued_ms: Option<i64>,
    since_ms: i64,
    started_ms: i64,
    moving_since_ms: Option<i64>,
    /// Frames since then or the last break, and when the first of them arrived.
    counted: Option<(i64, i64)>,
    hint: Option<Hint>,
    /// The shortest time from an instruction to its first frame.
    round_trip_ms: Option<i64>,
    shown_seen: u16,
    /// The last good poses of the beginning: time, yaw, pitch.
    looking: Vec<(i64, f32, f32)>,
    rest: Option<Rest>,
    /// Where the head rested when the move at hand was asked for. People come back from a move to a slightly other pose.
    /// `None` where `rest` counts, and in states of servers before this field.
    #[serde(default)]
    settled: Option<Rest>,
    /// An embedding of the first face exists.
    has_reference: bool,
    /// The points are followed from a frame that looked straight ahead.
    is_followed: bool,
    /// The angle of that frame in the direction of the current move, in degrees. `None` before the first move, and in
    /// states that earlier versions stored.
    reference_along: Option<f32>,
    /// The face was compared since the points are followed.
    is_compared: bool,
    /// When the last frame that was compared arrived. `None` before the first, and in states that earlier versions
    /// stored.
    #[serde(default)]
    compared_ms: Option<i64>,
    first_flash: u16,
    flashes: Vec<FlashSample>,
    attempted: Attempted,
    before: Option<(i64, f32, f32)>,
    still: u32,
    changes: (f32, u32),
    own_repeats: u32,
    lost_repeats: u32,
    selfies: Vec<SelfieFrame>,
    report: Report,
}

impl Run {
    /// Begins a run at this time (ms).
    pub fn new(plan: Plan, now_ms: i64) -> Run {
        let report = Report {
            kind: plan.kind,
            end: None,
            last_failure: None,
            earlier_failures: Vec::new(),
            moves: Vec::new(),
            flashes: None,
            frames: 0,
            took_ms: 0,
            repeats: 0,
            signals: Vec::new(),
            camera: None,
        };
        Run {
            plan,
            stage: Stage::Look,
            end: None,
            instruction: 1,
            issued_ms: Some(now_ms),
            since_ms: now_ms,
            started_ms: now_ms,
            moving_since_ms: None,
            counted: None,
            hint: None,
            round_trip_ms: None,
            shown_seen: 0,
            looking: Vec::new(),
            rest: None,
            settled: None,
            has_reference: false,
            is_followed: false,
            reference_along: None,
            is_compared: false,
            compared_ms: None,
            first_flash: 0,
            flashes: Vec::new(),
            attempted: Attempted::default(),
            before: None,
            still: 0,
            changes: (0.0, 0),
            own_repeats: 0,
            lost_repeats: 0,
            selfies: Vec::new(),
            report,
        }
    }

    /// What the page shows now.
    pub fn instruction(&self) -> Instruction {
        let movement = |index: usize| self.plan.moves.get(index).map(|planned| planned.movement);
        let shown = match self.stage {
            Stage::Look => Shown::Look,
            Stage::Flash(index) => self
                .plan
                .colours
                .get(index)
                .map_or(Shown::Look, |c| Shown::Flash(*c)),
            Stage::Ready(_) => Shown::Ready,
            Stage::Turn(index) => movement(index).map_or(Shown::Back, Shown::Do),
            Stage::Hold(index) => movement(index).map_or(Shown::Back, Shown::Hold),
            Stage::Back(_) => Shown::Back,
        };
        Instruction {
            number: self.instruction,
            shown,
            hint: self.hint,
        }
    }

    /// The kind of challenge.
    pub fn kind(&self) -> Kind {
        self.plan.kind
    }

    /// How the run ended; `None` while it goes on.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// The part that is done, 0–1.
    pub fn progress(&self) -> f32 {
        let flashes = usize::from(!self.plan.colours.is_empty());
        let all = (1 + flashes + self.plan.moves.len()) as f32;
        let done = match self.stage {
            _ if self.end.is_some() => all,
            Stage::Look => {
                self.looking.len().min(self.least_looking().0) as f32 / self.least_looking().0 as f32
            }
            Stage::Flash(index) => 1.0 + index as f32 / self.plan.colours.len().max(1) as f32,
            Stage::Ready(index) | Stage::Turn(index) | Stage::Back(index) => (1 + flashes + index) as f32,
            Stage::Hold(index) => (1 + flashes + index) as f32 + 0.5,
        };
        (done / all).min(1.0)
    }

    /// Frames of the beginning that may be sent as selfie, best last.
    pub fn selfies(&self) -> &[SelfieFrame] {
        &self.selfies
    }

    /// What was measured.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Goes on after the connection broke, another device took over, or frames were lost: the step at hand is
    /// repeated, and the face is compared with the first one again. It costs no try.
    pub fn resume(&mut self, now_ms: i64) {
        if self.end.is_none() {
            self.counted = None;
            self.break_off(now_ms);
            self.issue(now_ms);
        }
    }

    /// Ends a run that took too many frames.
    pub fn give_up(&mut self) {
        if self.end.is_none() {
            self.finish(End::Void(VoidCause::BrokenOff));
        }
    }

    /// Adds the signals of injection to what reviewers see.
    pub fn note_signals(&mut self, collector: &SignalCollector) {
        (self.report.signals, self.report.camera) = collector.found();
    }

    /// Why this try and those before it failed, in order.
    pub fn failures(&self) -> Vec<Failure> {
        let own = match self.end {
            Some(End::Failed(failure)) => Some(failure),
            _ => self.report.last_failure,
        };
        self.report.earlier_failures.iter().copied().chain(own).collect()
    }

    /// Notes why the tries before this one failed, so that a person who decides sees it on any route.
    pub fn note_earlier_failures(&mut self, failures: Vec<Failure>) {
        self.report.earlier_failures = failures;
    }

    /// Leaves the last failed try to a person.
    pub fn leave_to_review(&mut self, doubt: Doubt) {
        if let Some(End::Failed(failure)) = self.end {
            self.report.last_failure = Some(failure);
        }
        self.finish(End::Review(doubt));
    }

    /// Takes the frames of one request, in order. `now_ms` is when their measurement was finished.
    pub fn take(&mut self, frames: &[Measured], now_ms: i64) {
        let restarted = self.request().restart && !matches!(self.stage, Stage::Look);
        if restarted {
            let first = frames.first().and_then(|frame| frame.face.as_ref());
            let placed = first.zip(self.rest);
            self.is_followed = placed.is_some_and(|(face, rest)| rest.offset(face) <= STRAIGHT);
            self.reference_along = match self.stage {
                Stage::Ready(index) | Stage::Back(index) => placed
                    .zip(self.plan.moves.get(index))
                    .map(|((face, rest), planned)| rest.angles(planned.movement, face).0),
                _ => None,
            };
            self.is_compared = false;
        }
        for frame in frames {
            if self.end.is_some() {
                break;
            }
            self.take_one(frame);
        }
        let Some(last) = frames.last() else { return };
        // Before anything is asked for, only the person's patience suffers.
        if self.end.is_none() && self.stage != Stage::Look && now_ms - last.at_ms > MOST_LAG_MS {
            self.finish(End::Void(VoidCause::Busy));
        }
        self.issue(now_ms);
    }

    /// The angle of the last frame in the direction of a move, in degrees.
    fn along_before(&self, index: usize) -> Option<f32> {
        let ((_, yaw, pitch), (planned, rest)) = self.before.zip(self.at_hand(index))?;
        Some(rest.along(planned.movement, yaw, pitch))
    }

    /// Whether a head with this angle in the direction of the current move is clearly nearer to its resting pose than
    /// in the reference. Measured from a reference that is still turned, a turn to the same side would show too little
    /// depth, and one to the other side too much.
    fn is_nearer(&self, along: f32) -> bool {
        self.reference_along
            .is_some_and(|reference| reference.abs() >= SETTLED && along.abs() + NEARER <= reference.abs())
    }

    /// Whether the head is coming to rest, so that a better reference will follow.
    fn is_settling(&self, index: usize, along: f32) -> bool {
        let moved = self
            .along_before(index)
            .map_or(0.0, |before| (along - before).abs());
        let is_off = self
            .reference_along
            .is_some_and(|reference| reference.abs() >= SETTLED);
        is_off && (moved >= NEARER || self.is_nearer(along))
    }

    /// Whether the face was compared in this move, at an angle at which it can be held.
    fn compared_turned(&self, index: usize) -> bool {
        self.at_hand(index)
            .is_some_and(|(planned, _)| self.attempted.compared_along >= limits(planned.movement).held())
    }

    /// Notes when the present instruction was sent.
    fn issue(&mut self, now_ms: i64) {
        self.issued_ms.get_or_insert(now_ms);
    }

    fn take_one(&mut self, frame: &Measured) {
        self.report.frames += 1;
        self.report.took_ms = frame.at_ms - self.started_ms;
        self.note_round_trip(frame);
        if self.is_frozen(frame) {
            return self.finish(End::Failed(Failure::Interrupted));
        }
        let gap = self.before.is_some_and(|(at, ..)| frame.at_ms - at > MOST_GAP_MS);
        let out_of_time = self.moving_since_ms.is_some_and(|since| {
            let repeats = i64::from(self.own_repeats + self.lost_repeats);
            frame.at_ms - since > MOST_MOVING_MS + repeats * REPEAT_MS
        });
        if out_of_time {
            return self.finish(End::Failed(Failure::TooSlow));
        }
        if self.is_too_sparse(frame.at_ms) {
            return self.finish(End::Void(VoidCause::SlowConnection));
        }
        let alone = frame.face.as_ref().filter(|_| frame.faces == 1);
        let Some(face) = alone else {
            self.hint = Some(if frame.faces > 1 {
                Hint::OneFace
            } else {
                Hint::NoFace
            });
            self.before = None;
            self.looking.clear();
            if self.stage == Stage::Look {
                return self.give_up_looking(frame.at_ms);
            }
            return self.break_off(frame.at_ms);
        };
        if let Some(distance) = face.distance {
            let is_straight = self.rest.is_none_or(|rest| rest.offset(face) <= STRAIGHT);
            let turned = matches!(self.stage, Stage::Turn(_) | Stage::Hold(_)) || !is_straight;
            self.has_reference = true;
            self.compared_ms = Some(frame.at_ms);
            self.is_compared |= is_straight;
            self.attempted.distance = Some(self.attempted.distance.unwrap_or(0.0).max(distance));
            if let Stage::Turn(index) | Stage::Hold(index) = self.stage
                && let Some((planned, rest)) = self.at_hand(index)
            {
                let (along, _) = rest.angles(planned.movement, face);
                self.attempted.compared_along = self.attempted.compared_along.max(along);
            }
            if distance > if turned { SAME_FACE_TURNED } else { SAME_FACE } {
                return self.finish(End::Failed(Failure::AnotherFace));
            }
        }
        let jumps = self.jumps(frame.at_ms, face);
        match self.stage {
            Stage::Look => self.look(frame, face),
            _ if gap => self.break_off(frame.at_ms),
            Stage::Flash(index) => self.flash(index, frame, face),
            _ if jumps => {
                self.repeat(Repeat::Own(Failure::TooFast, Hint::Slower), frame.at_ms);
            }
            Stage::Ready(index) => self.ready(index, frame.at_ms, face),
            Stage::Turn(index) => self.turn(index, frame.at_ms, face),
            Stage::Hold(index) => self.hold(index, frame.at_ms, face),
            Stage::Back(index) => self.back(index, frame.at_ms, face),
        }
        self.before = Some((frame.at_ms, face.yaw, face.pitch));
    }

    fn note_round_trip(&mut self, frame: &Measured) {
        if frame.instruction <= self.shown_seen || frame.instruction != self.instruction {
            return;
        }
        self.shown_seen = frame.instruction;
        if let Some(issued) = self.issued_ms.filter(|issued| *issued <= frame.at_ms) {
            let took = (frame.at_ms - issued).min(MOST_ROUND_TRIP_MS);
            self.round_trip_ms = Some(self.round_trip_ms.map_or(took, |known| known.min(took)));
        }
    }

    /// Whether fewer frames arrive than the page is to send, which would hide how a head moves.
    fn is_too_sparse(&mut self, at_ms: i64) -> bool {
        if self.moving_since_ms.is_none() {
            return false;
        }
        let (since, frames) = self.counted.unwrap_or((at_ms, 0));
        self.counted = Some((since, frames + 1));
        let passed = at_ms - since;
        passed > RATE_MS && frames * 1_000 < LEAST_RATE * passed
    }

    fn is_frozen(&mut self, frame: &Measured) -> bool {
        let Some(change) = frame.change else { return false };
        self.changes = (self.changes.0 + change, self.changes.1 + 1);
        self.still = if change < STILL_CHANGE { self.still + 1 } else { 0 };
        self.still >= STILL_FRAMES && self.plan.kind == Kind::Turns && self.stage != Stage::Look
    }

    fn jumps(&mut self, at_ms: i64, face: &MeasuredFace) -> bool {
        let Some((before_ms, yaw, pitch)) = self.before else {
            return false;
        };
        let step = (face.yaw - yaw).abs().max((face.pitch - pitch).abs());
        let interval = ((at_ms - before_ms) as f32 / USUAL_INTERVAL_MS).clamp(1.0, 3.0);
        let most = match self.stage {
            Stage::Back(_) | Stage::Ready(_) => MOST_STEP_BACK,
            _ => MOST_STEP,
        };
        self.attempted.fastest = self.attempted.fastest.max(step / interval);
        step > most * interval
    }

    /// Asks for the step at hand again, since frames or the face were lost.
    fn break_off(&mut self, at_ms: i64) {
        self.before = None;
        match self.stage {
            Stage::Look => self.looking.clear(),
            _ => self.repeat(Repeat::Lost, at_ms),
        }
    }

    fn repeat(&mut self, why: Repeat, at_ms: i64) {
        self.report.repeats += 1;
        self.is_compared = false;
        self.is_followed = false;
        match why {
            Repeat::Own(failure, hint) => {
                self.hint = Some(hint);
                self.own_repeats += 1;
                if self.own_repeats > MOST_OWN_REPEATS {
                    return self.finish(End::Failed(failure));
                }
            }
            Repeat::Lost => {
                self.lost_repeats += 1;
                if self.lost_repeats > MOST_LOST_REPEATS {
                    return self.finish(End::Void(VoidCause::SlowConnection));
                }
            }
        }
        match self.stage {
            Stage::Look => {}
            Stage::Flash(_) => match self.plan.spare_colours.pop() {
                None => self.finish(End::Void(VoidCause::BrokenOff)),
                Some(colours) => {
                    self.plan.colours = colours;
                    self.flashes.clear();
                    self.enter(Stage::Flash(0), at_ms);
                    self.first_flash = self.instruction;
                }
            },
            Stage::Ready(index) | Stage::Turn(index) | Stage::Hold(index) => {
                match (self.plan.spare_moves.pop(), self.plan.moves.get_mut(index)) {
                    (Some(spare), Some(planned)) => {
                        // A turn is replaced by a turn, so that two of them remain.
                        let movement = match (planned.movement.is_turn(), spare.movement) {
                            (true, Move::NodUp) => Move::TurnLeft,
                            (true, Move::NodDown) => Move::TurnRight,
                            (_, movement) => movement,
                        };
                        *planned = PlannedMove { movement, ..spare };
                        self.enter(Stage::Back(index), at_ms);
                    }
                    _ => self.finish(End::Void(VoidCause::BrokenOff)),
                }
            }
            Stage::Back(index) => self.enter(Stage::Back(index), at_ms),
        }
        self.attempted = Attempted::default();
    }

    fn enter(&mut self, stage: Stage, at_ms: i64) {
        self.instruction = self.instruction.saturating_add(1);
        self.issued_ms = None;
        self.stage = stage;
        self.since_ms = at_ms;
    }

    /// Between a move and its hold, the reaction still counts from the move's instruction.
    fn enter_quietly(&mut self, stage: Stage, at_ms: i64) {
        self.instruction = self.instruction.saturating_add(1);
        self.stage = stage;
        self.since_ms = at_ms;
    }

    fn finish(&mut self, end: End) {
        self.end = Some(end);
        self.report.end = Some(end);
    }
}
