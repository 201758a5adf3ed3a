//! The liveness challenge: what a person is asked to do before the camera, and what the film of it proves.
//!
//! [`Plan`] draws what is asked for. [`Run`] takes the measurements of frames as they arrive and says what the
//! page shows next, until it ends. [`frames`] is the form in which frames arrive. Everything is pure: this
//! module reads no pixels and no clock, and knows neither tries nor queues.

pub mod frames;

mod angles;
mod flashes;
mod measured;
mod plan;
mod report;
mod run;
mod selfie;
mod signals;

pub use flashes::FlashFigures;
pub use measured::{FilmWish, Measured, MeasuredFace};
pub use plan::{Colour, Kind, Move, Plan, PlannedMove, Random};
pub use report::{Doubt, End, Failure, Hint, Instruction, MoveFigures, Report, Shown, VoidCause};
pub use run::{Run, SelfieFrame};
pub use selfie::{SelfieProof, judge_selfie};
pub use signals::{Camera, FrameTrace, Signal, SignalCollector};

/// The tries of one session, each with a fresh plan.
pub const MAX_TRIES: u32 = 3;
