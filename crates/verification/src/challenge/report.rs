//! What the page is told, how a run ends, and what reviewers see of it.

use serde::{Deserialize, Serialize};

use super::flashes::FlashFigures;
use super::plan::{Colour, Kind, Move};
use super::signals::{Camera, Signal};

/// What the page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Look straight into the camera.
    Look,
    /// The same, while the screen shows a colour.
    Flash(Colour),
    /// Keep looking straight ahead.
    Ready,
    /// Do this.
    Do(Move),
    /// Hold it.
    Hold(Move),
    /// Look straight ahead again.
    Back,
}

impl Shown {
    /// The word of the session's endpoints.
    pub fn as_str(self) -> &'static str {
        match self {
            Shown::Look => "look",
            Shown::Flash(_) => "flash",
            Shown::Ready => "ready",
            Shown::Do(movement) => movement.as_str(),
            Shown::Hold(_) => "hold",
            Shown::Back => "back",
        }
    }
}

/// An instruction. Its number rises with every instruction of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The number.
    pub number: u16,
    /// What the page shows.
    pub shown: Shown,
    /// What the person could do better.
    pub hint: Option<Hint>,
}

/// What a person could do better right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// No face is seen.
    NoFace,
    /// More than one face is seen.
    OneFace,
    /// The face is too small.
    Closer,
    /// The face is too large.
    Farther,
    /// The face is not in the middle.
    Centre,
    /// The head is turned.
    LookStraight,
    /// The face is too dark.
    TooDark,
    /// Turn or nod farther.
    More,
    /// Turn or nod less far.
    Less,
    /// Move more slowly.
    Slower,
    /// Wait for the instruction.
    HoldStill,
}

impl Hint {
    /// The word of the session's endpoints, such as `no_face`.
    pub fn as_str(self) -> &'static str {
        match self {
            Hint::NoFace => "no_face",
            Hint::OneFace => "one_face",
            Hint::Closer => "closer",
            Hint::Farther => "farther",
            Hint::Centre => "centre",
            Hint::LookStraight => "look_straight",
            Hint::TooDark => "too_dark",
            Hint::More => "more",
            Hint::Less => "less",
            Hint::Slower => "slower",
            Hint::HoldStill => "hold_still",
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "end", content = "why")]
pub enum End {
    /// Everything that was asked for was measured.
    Passed,
    /// A person must decide.
    Review(Doubt),
    /// The film is not what was asked for. It costs a try.
    Failed(Failure),
    /// The run is not the person's fault and costs no try.
    Void(VoidCause),
}

/// Why a person must decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The light of the screen could not be seen on the face.
    NoScreenLight,
    /// It could be seen on the background as well as on the face, as in the glass of a screen.
    LightEverywhere,
    /// The face showed little depth.
    Shallow,
    /// Nothing moved in the film.
    Still,
    /// The person chose the route without turns.
    Assisted,
    /// Every try failed.
    NoTriesLeft,
}

impl Doubt {
    /// The word in records, such as `no_screen_light`.
    pub fn as_str(self) -> &'static str {
        match self {
            Doubt::NoScreenLight => "no_screen_light",
            Doubt::LightEverywhere => "light_everywhere",
            Doubt::Shallow => "shallow",
            Doubt::Still => "still",
            Doubt::Assisted => "assisted",
            Doubt::NoTriesLeft => "no_tries_left",
        }
    }
}

/// Why a try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// Too long until a move.
    TooSlow,
    /// Another move than the one that was asked for.
    WrongWay,
    /// The head moved in jumps.
    TooFast,
    /// The head moved before it was asked to.
    TooEarly,
    /// Another face than at the beginning.
    AnotherFace,
    /// The face has no depth.
    Flat,
    /// Another light than the screen's shone on the face.
    WrongLight,
    /// The face left the picture, was not alone, or the film stood still.
    Interrupted,
}

impl Failure {
    /// The word of the session's endpoints, such as `too_slow`.
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::TooSlow => "too_slow",
            Failure::WrongWay => "wrong_way",
            Failure::TooFast => "too_fast",
            Failure::TooEarly => "too_early",
            Failure::AnotherFace => "another_face",
            Failure::Flat => "flat",
            Failure::WrongLight => "wrong_light",
            Failure::Interrupted => "interrupted",
        }
    }
}

/// Why a run counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidCause {
    /// Too few frames arrived.
    SlowConnection,
    /// This server was too slow.
    Busy,
    /// It was broken off too often or took too long to begin.
    BrokenOff,
}

impl VoidCause {
    /// The word of the session's endpoints, such as `busy`.
    pub fn as_str(self) -> &'static str {
        match self {
            VoidCause::SlowConnection => "slow_connection",
            VoidCause::Busy => "busy",
            VoidCause::BrokenOff => "broken_off",
        }
    }
}

/// What was measured, for reviewers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The kind of challenge.
    pub kind: Kind,
    /// The end; `None` of a run that was broken off.
    pub end: Option<End>,
    /// Why the last try failed, if every try did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Failure>,
    /// Why the tries before this one failed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_failures: Vec<Failure>,
    /// The moves in order.
    pub moves: Vec<MoveFigures>,
    /// The flashes.
    pub flashes: Option<FlashFigures>,
    /// The number of frames.
    pub frames: u32,
    /// From the first frame to the last, in ms.
    pub took_ms: i64,
    /// Moves that were repeated.
    pub repeats: u32,
    /// Signs that the frames may not come from a camera.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Signal>,
    /// What the page said of its camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Camera>,
}

/// One move as measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveFigures {
    /// What was asked for.
    pub movement: Move,
    /// From the instruction to the first movement, without the round trip, in ms.
    pub reaction_ms: i64,
    /// The largest angle, in degrees.
    pub peak: f32,
    /// How far the nose stood out in the move's direction, in eye distances.
    pub relief: Option<f32>,
    /// The fastest change between two frames, in degrees.
    pub fastest: f32,
    /// The largest distance of an embedding from the first face's.
    pub distance: Option<f32>,
}
