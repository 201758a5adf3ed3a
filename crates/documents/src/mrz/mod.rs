//! Machine-readable zones: parses lines, and finds the most probable valid lines for an uncertain reading.
//!
//! - [`parse`] parses lines as printed and reports which check digits fail.
//! - [`repair`] takes probabilities per character and finds the most probable lines that the layout and the
//!   check digits allow.
//!
//! Neither invents a character to make a check digit correct. A reading that is not clearly the likeliest is
//! reported but not accepted.

mod cells;
mod dates;
mod lattice;
mod layout;
mod parse;
mod positions;
mod repair;

pub use cells::{Cell, Line, cells};
pub use layout::check_digit;
pub(crate) use parse::{DateOfZone, date_digits};
pub use parse::{MrzError, parse, parse_on};
pub use repair::{repair, repair_on};
