//! Renders films of heads and of attacks on the liveness challenge from photographs, for tests and
//! `bonafide eval challenge`.
//!
//! A [`Head`] is made from one frontal [`Photograph`]. It can be drawn in two ways that share neither shape, camera nor
//! sampling: thresholds are chosen with one, and reported with the other. A [`Film`] shows a living person, or an
//! [`Attack`], and reacts to what the page shows. The same seed, instructions and times give the same pixels.
//!
//! Never part of a verification: it measures and decides nothing, reads no file, and has no clock. Renders resemble
//! photographs only as far as the challenge measures them; a detector must not be trained on them.

mod attack;
mod canvas;
mod depths;
mod film;
mod geometry;
mod head;
mod instruction;
mod mesh;
mod person;
mod photograph;
mod random;
mod raster;
mod recording;
mod room;
mod sheet;
mod smooth;
mod view;

pub use attack::Attack;
pub use canvas::{FrameEncoder, MAX_FRAME_BYTES};
pub use film::{Cast, Film};
pub use head::Head;
pub use instruction::{Hint, Move, Shown};
pub use person::Person;
pub use photograph::Photograph;
pub use room::Room;
pub use view::{FRAME_SIZE, View};
