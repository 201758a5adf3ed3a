//! The integration tests of `imaging`, as one binary.

mod decode;
mod files;
