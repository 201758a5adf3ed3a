//! Machine-readable zones: lines to fields, and uncertain lines to the one reading that the rules allow.
//!
//! [`parse`] takes lines as printed and says what they hold and which check digits fail; [`repair`] takes what
//! optical reading left open, as probabilities per character, and finds the most probable lines that the layout
//! and the check digits allow. Neither ever invents a character to make a digit hold: what is not clearly the
//! likeliest reading is reported as read and not accepted.

mod cells;
mod dates;
mod lattice;
mod layout;
mod parse;
mod repair;

pub use cells::{Cell, Line, cells};
pub use layout::check_digit;
pub use parse::{MrzError, parse, parse_on};
pub use repair::{repair, repair_on};
