//! The engine process: the only place where uploaded files are decoded and read.
//!
//! The server starts `bonafide engine-worker` and sends it one file after another. The worker decodes, reads
//! documents, finds and embeds faces and measures the passive cue, behind the walls of the crate `sandbox`, and returns
//! readings, or a new JPEG for reviewers. It measures the frames of films in the same way.
//!
//! [`worker`] is the child's side, [`EngineWorkers`] the parent's. The parent trusts the child no more than the
//! file: it checks every length, and a child that crashes, hangs or exceeds a limit affects only the file that
//! it is reading. The crate never decides about a person and keeps nothing.

mod answers;
mod child;
mod error;
mod film;
mod limits;
mod parent;
pub mod protocol;
mod retry;
mod settings;
pub mod worker;

pub use answers::{DocumentPicture, PictureInfo, SelfiePicture, ShownPicture, Stage, Timings};
pub use child::check_walls;
pub use error::EngineError;
pub use film::{FilmDecodeError, FilmTask, Filmed};
pub use parent::EngineWorkers;
pub use protocol::FaceWish;
pub use sandbox::{Wall, prepare_control_group};
pub use settings::{Engines, Settings};
