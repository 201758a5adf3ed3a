//! Compiles the crate anew when a migration is added: the compiler itself only sees changes to those it knows.

#[expect(clippy::print_stdout, reason = "how a build script talks to cargo")]
fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
