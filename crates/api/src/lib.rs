//! The HTTP API, one module per family of endpoints. Handlers parse the request, call `service` and build the
//! response. They contain no rules and no SQL.

pub mod acts;
pub mod applicants;
pub mod attempts;
pub mod docs;
pub mod document_requirements;
pub mod events;
pub mod evidence;
pub mod flows;
pub mod groups;
pub mod health;
pub mod invitations;
pub mod links;
pub mod lists;
pub mod monitoring;
pub mod screenings;
pub mod sessions;
pub mod verify;
pub mod verify_schema;
pub mod wallet_alerts;
pub mod wallet_screenings;
pub mod webhook_messages;
pub mod yente;
