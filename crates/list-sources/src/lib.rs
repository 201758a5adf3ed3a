//! Publishers' sanctions lists: their addresses ([`publishers`]), the settings that replace them ([`sources`]), and the
//! download of a file over HTTPS ([`download`]) or from a folder ([`folder`]).
//!
//! Nothing here reads a list's content or decides whether it becomes active. A connection is made only to the address
//! of a list that the caller names. No error and no `Debug` output contains an address's query, where tokens are.

pub mod address;
pub mod download;
pub mod error;
pub mod folder;
mod opensanctions;
pub mod publishers;
pub mod sources;
