//! Recompiles the crate when a migration is added, because the compiler only tracks the migrations that it
//! already knows.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
