//! The `bonafide` program. It only calls the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bonafide::cli::run()
}
