//! Compiles the crate anew when a migration is added: the compiler itself only sees changes to those it knows.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
