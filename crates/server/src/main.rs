//! The `bonafide` program.
fn main() {}
