//! The stages of a run: what is expected of the frames of each, and what follows.

use super::{Attempted, Repeat, Run, Stage};
use crate::challenge::angles::{Rest, limits, median};
use crate::challenge::flashes::{self, FlashSample, FlashVerdict};
use crate::challenge::measured::{Measured, MeasuredFace};
use crate::challenge::plan::{Kind, PlannedMove};
use crate::challenge::report::{Doubt, End, Failure, Hint, MoveFigures, VoidCause};
use crate::challenge::run::{NEARER, SETTLED, STILL_CHANGE, STRAIGHT, SelfieFrame, USUAL_INTERVAL_MS};

/// Good frames in a row before the flashes begin, and the time that they span, in ms.
const LOOK_FRAMES: usize = 4;
const LOOK_MS: i64 = 240;
/// The same for a challenge without moves, and for the route for people who cannot turn.
const BURST_FRAMES: usize = 12;
const BURST_MS: i64 = 1_000;
const ASSISTED_MS: i64 = 2_000;
/// A person has so long to be seen well, in ms.
const MOST_LOOKING_MS: i64 = 60_000;
/// The fewest frames in which the code is seen, even if a busy server or phone measures few frames a second.
const CODE_FRAMES: usize = 21;
/// Each colour is seen at least once, and at least this long after it was sent, in ms.
const FLASH_MS: i64 = 200;
/// The reaction to an instruction, in ms.
const REACTION_MS: std::ops::RangeInclusive<i64> = 250..=2_500;
/// The depth of a turn is measured in so many held frames, if they come within this time (ms). On its way, a head shows
/// less.
const DEEP_FRAMES: u32 = 2;
const MOST_UNMEASURED_MS: i64 = 500;
/// The longest wait for a head to come to rest, in ms.
const MOST_SETTLING_MS: i64 = 500;
/// A held move whose face was not compared by then is repeated, in ms.
const MOST_UNCOMPARED_MS: i64 = 1_500;
/// A move must be reached and held within this time, in ms.
const MOST_MOVE_MS: i64 = 6_000;
/// So long to look straight ahead again, in ms.
const MOST_BACK_MS: i64 = 5_000;
/// How far the nose stands out in the deepest turn, in eye distances: from here a head is proven, and below the second a
/// face is flat. Tilted and bent photographs reach .023 in single frames; rendered heads mostly .05 to .15.
const MIN_RELIEF: f32 = 0.04;
const FLAT: f32 = 0.025;
/// The same in the shallowest turn: below this, a person decides. Where the points of a photograph went astray in one
/// turn, the other stays flat; a cut-out once showed .056 and .024.
const EACH_RELIEF: f32 = 0.03;
/// The size of a face: the distance between its eyes as a share of the frame's width.
const MIN_EYES: f32 = 0.14;
const MAX_EYES: f32 = 0.42;
/// A face that looks into the camera, in degrees. The measured pitch of faces that do is up to 22° off.
const MAX_YAW: f32 = 12.0;
const MAX_PITCH: f32 = 35.0;
const MAX_ROLL: f32 = 18.0;
/// Frames of the beginning that may be sent as selfie.
const MOST_SELFIES: usize = 12;

impl Run {
    /// Good frames in a row that the beginning needs, and the time that they span, in ms.
    pub(super) fn least_looking(&self) -> (usize, i64) {
        match self.plan.kind {
            Kind::Turns => (LOOK_FRAMES, LOOK_MS),
            Kind::Burst => (BURST_FRAMES, BURST_MS),
            Kind::Assisted => (BURST_FRAMES, ASSISTED_MS),
        }
    }

    pub(super) fn look(&mut self, frame: &Measured, face: &MeasuredFace) {
        self.hint = hint(face);
        if self.hint.is_some() {
            self.looking.clear();
            return self.give_up_looking(frame.at_ms);
        }
        self.looking.push((frame.at_ms, face.yaw, face.pitch));
        if face.usable {
            if self.selfies.len() == MOST_SELFIES {
                self.selfies.remove(0);
            }
            self.selfies.push(SelfieFrame {
                number: frame.number,
                hash: frame.hash,
            });
        }
        let (least, span) = self.least_looking();
        let spanned = self.looking.first().map_or(0, |(at, ..)| frame.at_ms - at);
        if self.looking.len() < least || spanned < span || !self.has_reference || self.selfies.is_empty() {
            return self.give_up_looking(frame.at_ms);
        }
        let yaws = self.looking.iter().map(|(_, yaw, _)| *yaw).collect();
        let pitches = self.looking.iter().map(|(.., pitch)| *pitch).collect();
        self.rest = median(yaws)
            .zip(median(pitches))
            .map(|(yaw, pitch)| Rest { yaw, pitch });
        match self.plan.kind {
            Kind::Assisted => self.finish(End::Review(Doubt::Assisted)),
            Kind::Burst if self.changes.0 / (self.changes.1.max(1) as f32) < STILL_CHANGE => {
                self.finish(End::Review(Doubt::Still));
            }
            Kind::Burst => self.finish(End::Passed),
            Kind::Turns => {
                self.moving_since_ms = Some(frame.at_ms);
                self.enter(Stage::Flash(0), frame.at_ms);
                self.first_flash = self.instruction;
            }
        }
    }

    pub(super) fn give_up_looking(&mut self, at_ms: i64) {
        let most = match self.plan.kind {
            Kind::Turns | Kind::Burst => MOST_LOOKING_MS,
            Kind::Assisted => 3 * MOST_LOOKING_MS,
        };
        if at_ms - self.since_ms > most {
            self.finish(End::Void(VoidCause::BrokenOff));
        }
    }

    pub(super) fn flash(&mut self, index: usize, frame: &Measured, face: &MeasuredFace) {
        self.hint = None;
        let shown = frame.instruction.checked_sub(self.first_flash).map(usize::from);
        if let Some(colour) = shown
            .filter(|shown| *shown <= index)
            .and_then(|shown| self.plan.colours.get(shown))
        {
            self.flashes.push(FlashSample {
                at_ms: frame.at_ms,
                colour: *colour,
                face: face.rgb,
                background: frame.background,
            });
        }
        if shown != Some(index) {
            return;
        }
        let shown_for = self.issued_ms.map_or(0, |issued| frame.at_ms - issued);
        let least = (CODE_FRAMES * (index + 1)).div_ceil(self.plan.colours.len());
        if self.flashes.len() < least || shown_for < FLASH_MS {
            return;
        }
        if index + 1 < self.plan.colours.len() {
            return self.enter(Stage::Flash(index + 1), frame.at_ms);
        }
        let (figures, verdict) = flashes::judge(&self.flashes);
        self.report.flashes = figures;
        if verdict == FlashVerdict::Another {
            return self.finish(End::Failed(Failure::WrongLight));
        }
        self.is_compared = false;
        self.is_followed = false;
        self.enter(Stage::Back(0), frame.at_ms);
    }

    pub(super) fn ready(&mut self, index: usize, at_ms: i64, face: &MeasuredFace) {
        let Some((planned, rest)) = self.at_hand(index) else {
            return;
        };
        if rest.offset(face) > limits(planned.movement).straight + 4.0 {
            return self.repeat(Repeat::Own(Failure::TooEarly, Hint::HoldStill), at_ms);
        }
        let waited = at_ms - self.since_ms;
        let (along, _) = rest.angles(planned.movement, face);
        let still = self.is_still(at_ms, face);
        let looks_moved = along.abs() >= limits(planned.movement).onset;
        if (self.is_settling(index, along) || (looks_moved && !still)) && waited <= MOST_SETTLING_MS {
            return;
        }
        if self.is_followed && self.is_compared && waited >= planned.delay_ms {
            self.attempted = Attempted::default();
            let now = Rest {
                yaw: face.yaw,
                pitch: face.pitch,
            };
            // The depth is measured from the reference, so the angle must be, too.
            let is_reference = self
                .reference_along
                .is_some_and(|reference| (along - reference).abs() <= SETTLED);
            self.settled = (still && is_reference && rest.offset(face) <= STRAIGHT).then_some(now);
            self.enter(Stage::Turn(index), at_ms);
        }
    }

    pub(super) fn turn(&mut self, index: usize, at_ms: i64, face: &MeasuredFace) {
        let Some((planned, rest)) = self.at_hand(index) else {
            return;
        };
        let limits = limits(planned.movement);
        let (along, across) = rest.angles(planned.movement, face);
        let waited = self
            .issued_ms
            .map(|issued| at_ms - issued - self.round_trip_ms.unwrap_or(0));
        let moved = along >= limits.onset || along <= -limits.opposite || across.abs() >= limits.across;
        if self.attempted.reaction_ms.is_none() && moved {
            match waited {
                Some(waited) if REACTION_MS.contains(&waited) => self.attempted.reaction_ms = Some(waited),
                Some(waited) if waited > *REACTION_MS.end() => {
                    return self.repeat(Repeat::Own(Failure::TooSlow, Hint::More), at_ms);
                }
                _ => return self.repeat(Repeat::Own(Failure::TooEarly, Hint::HoldStill), at_ms),
            }
        }
        if along <= -limits.opposite || across.abs() >= limits.across {
            return self.finish(End::Failed(Failure::WrongWay));
        }
        let waited = waited.unwrap_or(0);
        if (self.attempted.reaction_ms.is_none() && waited > *REACTION_MS.end()) || waited > MOST_MOVE_MS {
            return self.repeat(Repeat::Own(Failure::TooSlow, Hint::More), at_ms);
        }
        self.attempted.peak = self.attempted.peak.max(along);
        if along < limits.onset {
            self.attempted.compared_along = 0.0;
        }
        self.note_relief(planned, along, face);
        if along >= limits.least && along <= limits.most {
            self.hint = None;
            return self.enter_quietly(Stage::Hold(index), at_ms);
        }
        self.hint = (along > limits.most).then_some(Hint::Less).or(self.hint);
    }

    pub(super) fn hold(&mut self, index: usize, at_ms: i64, face: &MeasuredFace) {
        let Some((planned, rest)) = self.at_hand(index) else {
            return;
        };
        let limits = limits(planned.movement);
        let (along, _) = rest.angles(planned.movement, face);
        self.attempted.peak = self.attempted.peak.max(along);
        if along < limits.held() || along > limits.most + limits.leeway() {
            self.hint = Some(if along > limits.most {
                Hint::Less
            } else {
                Hint::More
            });
            return self.enter_quietly(Stage::Turn(index), at_ms);
        }
        self.note_relief(planned, along, face);
        self.attempted.held_reliefs += u32::from(face.relief.is_some());
        let held = at_ms - self.since_ms;
        let must_be_deeper = planned.movement.is_turn() && self.attempted.held_reliefs < DEEP_FRAMES;
        if held < planned.hold_ms || (must_be_deeper && held <= MOST_UNMEASURED_MS) {
            return;
        }
        // Without it, another head could turn in the person's place.
        if !self.compared_turned(index) {
            if held > MOST_UNCOMPARED_MS {
                self.repeat(Repeat::Lost, at_ms);
            }
            return;
        }
        let relief = depth(std::mem::take(&mut self.attempted.relief));
        if relief.is_none() && planned.movement.is_turn() {
            return self.repeat(Repeat::Lost, at_ms);
        }
        self.note_move(planned, relief);
        self.is_compared = false;
        self.is_followed = false;
        if index + 1 >= self.plan.moves.len() {
            return self.conclude();
        }
        self.enter(Stage::Back(index + 1), at_ms);
    }

    /// Notes how far the nose stands out in a frame that is turned.
    fn note_relief(&mut self, planned: PlannedMove, along: f32, face: &MeasuredFace) {
        let Some([lateral, vertical]) = face.relief.filter(|_| along >= limits(planned.movement).turned)
        else {
            return;
        };
        let relief = if planned.movement.is_turn() {
            lateral
        } else {
            vertical
        };
        self.attempted.relief.push(relief * planned.movement.sign());
    }

    fn note_move(&mut self, planned: PlannedMove, relief: Option<f32>) {
        let Attempted {
            reaction_ms,
            peak,
            fastest,
            distance,
            ..
        } = self.attempted;
        self.report.moves.push(MoveFigures {
            movement: planned.movement,
            reaction_ms: reaction_ms.unwrap_or(0),
            peak,
            relief,
            fastest,
            distance,
        });
    }

    pub(super) fn back(&mut self, index: usize, at_ms: i64, face: &MeasuredFace) {
        let Some(rest) = self.rest else {
            return self.finish(End::Void(VoidCause::BrokenOff));
        };
        let before = index.saturating_sub(1);
        let straight = self
            .plan
            .moves
            .get(before)
            .map_or(6.0, |planned| limits(planned.movement).straight);
        if rest.offset(face) > straight {
            self.hint = Some(Hint::LookStraight);
            if at_ms - self.since_ms > MOST_BACK_MS {
                self.repeat(Repeat::Own(Failure::TooSlow, Hint::LookStraight), at_ms);
            }
            return;
        }
        self.hint = None;
        self.attempted = Attempted::default();
        self.enter(Stage::Ready(index), at_ms);
    }

    fn conclude(&mut self) {
        let turns = self
            .report
            .moves
            .iter()
            .filter(|figures| figures.movement.is_turn());
        let reliefs: Vec<f32> = turns.filter_map(|figures| figures.relief).collect();
        let deepest = reliefs.iter().copied().fold(0.0, f32::max);
        let shallowest = reliefs.iter().copied().fold(f32::INFINITY, f32::min);
        if deepest < FLAT {
            return self.finish(End::Failed(Failure::Flat));
        }
        let (_, verdict) = flashes::judge(&self.flashes);
        self.finish(match verdict {
            FlashVerdict::Another => End::Failed(Failure::WrongLight),
            _ if deepest < MIN_RELIEF || shallowest < EACH_RELIEF => End::Review(Doubt::Shallow),
            FlashVerdict::Reflected => End::Passed,
            FlashVerdict::Everywhere => End::Review(Doubt::LightEverywhere),
            FlashVerdict::NoSignal => End::Review(Doubt::NoScreenLight),
        });
    }

    /// The move with this place, and the pose from which it is measured.
    pub(super) fn at_hand(&self, index: usize) -> Option<(PlannedMove, Rest)> {
        let rest = match self.stage {
            Stage::Turn(_) | Stage::Hold(_) => self.settled.or(self.rest),
            _ => self.rest,
        };
        self.plan.moves.get(index).copied().zip(rest)
    }

    /// Whether the head has hardly moved since the last frame, however many frames a second there are.
    fn is_still(&self, at_ms: i64, face: &MeasuredFace) -> bool {
        self.before.is_some_and(|(before_ms, yaw, pitch)| {
            let step = (face.yaw - yaw).abs().max((face.pitch - pitch).abs());
            let interval = ((at_ms - before_ms) as f32 / USUAL_INTERVAL_MS).clamp(0.0, 1.0);
            step < NEARER * interval
        })
    }
}

/// The depth that a move showed: the second largest relief of its frames, since the points of one frame may be wrong.
/// Towards the end of a turn, points get lost, so a mean would punish people who turn far.
fn depth(mut reliefs: Vec<f32>) -> Option<f32> {
    reliefs.sort_by(|a, b| b.total_cmp(a));
    reliefs.get(1).copied()
}

/// What is wrong with a face that should look straight into the camera.
fn hint(face: &MeasuredFace) -> Option<Hint> {
    if face.eye_share < MIN_EYES {
        Some(Hint::Closer)
    } else if face.eye_share > MAX_EYES || face.part_inside < 0.9 {
        Some(Hint::Farther)
    } else if (face.centre[0] - 0.5).abs() > 0.22 || (face.centre[1] - 0.5).abs() > 0.25 {
        Some(Hint::Centre)
    } else if face.yaw.abs() > MAX_YAW || face.pitch.abs() > MAX_PITCH || face.roll.abs() > MAX_ROLL {
        Some(Hint::LookStraight)
    } else if face.too_dark {
        Some(Hint::TooDark)
    } else {
        None
    }
}
