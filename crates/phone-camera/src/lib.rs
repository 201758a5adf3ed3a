//! Renders what a phone's camera makes of a document, for tests and `bonafide eval documents --renderings`.
//!
//! [`photograph`] takes a flat picture of a document whose machine-readable zone is known, and shows it under one
//! [`Condition`]: turned, tilted, far away on a cluttered table, out of focus, shaken, under glare. The same picture,
//! condition and seed give the same pixels on one machine.
//!
//! [`splice`] puts a part of another photograph into one.
//!
//! [`present`] shows it to the camera as a [`Presentation`]: the document itself, a copy in grey, or a screen.
//!
//! Never part of a verification: it measures and decides nothing, reads no file, and has no clock. Renders resemble
//! photographs only in what each condition names; figures measured on them say nothing about lenses or prints.

mod blur;
mod condition;
mod photograph;
mod presentation;
mod random;
mod splice;
mod table;

pub use condition::Condition;
pub use photograph::{FlatDocument, Photographed, photograph};
pub use presentation::{Presentation, present};
pub use splice::{Part, splice};
