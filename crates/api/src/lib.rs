//! HTTP: one module a family of endpoints. Handlers take apart the request, call `service`, and shape the answer; nothing else.

pub mod applicants;
pub mod docs;
pub mod document_requirements;
pub mod flows;
pub mod groups;
pub mod health;
pub mod monitoring;
pub mod sessions;
pub mod verify;
pub mod verify_schema;
