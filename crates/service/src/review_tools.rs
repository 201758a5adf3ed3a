//! Reviewers' tools: saved views of the queue, each for one member, and reason templates for the whole
//! account. It decides nothing about an attempt.

use store::saved_views::{self, SavedView};
use store::{Db, Error, reason_templates};
use uuid::Uuid;
use verification::status::Decision;

/// The maximum number of saved views per member.
pub const MOST_VIEWS: i64 = 20;
/// The maximum number of reason templates per account.
pub const MOST_REASONS: i64 = 50;

/// Saves a view of the queue under its name.
///
/// # Errors
/// [`Error::LimitReached`] beyond [`MOST_VIEWS`].
pub async fn save_view(db: &Db, merchant_id: Uuid, staff_id: Uuid, view: &SavedView) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        saved_views::put(tx, merchant_id, staff_id, view, MOST_VIEWS).await
    })
}

/// Deletes a view.
pub async fn delete_view(db: &Db, merchant_id: Uuid, staff_id: Uuid, name: &str) -> Result<(), Error> {
    store::transaction!(db, |tx| -> Result<(), Error> {
        saved_views::remove(tx, merchant_id, staff_id, name).await
    })
}

/// Adds a reason template for a decision, and returns its id.
///
/// # Errors
/// [`Error::LimitReached`] beyond [`MOST_REASONS`].
pub async fn add_reason(db: &Db, merchant_id: Uuid, decision: Decision, body: &str) -> Result<Uuid, Error> {
    store::transaction!(db, |tx| -> Result<Uuid, Error> {
        reason_templates::add(tx, merchant_id, decision, body, MOST_REASONS).await
    })
}

/// Deletes a template, and returns whether it existed.
pub async fn remove_reason(db: &Db, merchant_id: Uuid, id: Uuid) -> Result<bool, Error> {
    store::transaction!(db, |tx| -> Result<bool, Error> {
        reason_templates::remove(tx, merchant_id, id).await
    })
}
