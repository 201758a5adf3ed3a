//! The `bonafide` program: everything is in the library, this only starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    bonafide::cli::run()
}
