//! yente's API below `/v2/yente`: the OpenSanctions matching API, answered from the lists that count for the merchant.
//!
//! Handlers and shapes follow yente 5.5. It scores nothing and selects no entry; `service::yente` does.

pub mod algorithms;
pub mod bodies;
pub mod catalog;
pub mod entities;
pub mod health;
pub mod matching;
pub mod parameters;
pub mod queries;
pub mod searching;
