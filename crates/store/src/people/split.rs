//! Splits a person in two in every table that refers to one. This module does not decide who is who.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::sql::execute;
use crate::{Error, Scope, Tx, attempts, faces, outbox, people, registrations, rescreenings};

/// A face with its model's version.
pub type StoredFace = (String, Vec<u8>);

/// What leaves a person, and what stays.
#[derive(Clone, Debug, Default)]
pub struct Departure {
    /// The registrations that leave.
    pub registrations: Vec<Uuid>,
    /// The attempts that leave, including those of the registrations.
    pub log_ids: BTreeSet<i64>,
    /// The faces of the person from now on. Without any, the person's facemap becomes provisional.
    pub staying_faces: Vec<StoredFace>,
    /// The faces of the new person. Without any, the new facemap is provisional.
    pub leaving_faces: Vec<StoredFace>,
    /// The normalised words of the person's names from now on.
    pub staying_words: BTreeSet<String>,
    /// The normalised words of the new person's names.
    pub leaving_words: BTreeSet<String>,
}

/// Creates a person and moves a part of another one there: registrations, attempts, faces, names and webhook events.
/// The keys of what moves are wrapped again; no object moves. Listings that were set aside and aliases stay. The caller
/// has taken the account's [lock](faces::lock). Returns the new person's facemap.
///
/// # Errors
/// [`Error::Missing`] if there is no such person.
pub async fn split(tx: &mut Tx, scope: Scope, from: Uuid, leaves: &Departure) -> Result<Uuid, Error> {
    let from_key = people::key(tx, scope, from).await?;
    let new = people::create(tx, scope, !leaves.leaving_faces.is_empty())
        .await?
        .facemap_id;
    let new_key = people::key(tx, scope, new).await?;
    let (from_with_key, new_with_key) = ((from, &from_key), (new, &new_key));
    registrations::move_some(tx, scope, from_with_key, new_with_key, &leaves.registrations).await?;
    attempts::move_some(tx, scope, from_with_key, new_with_key, &leaves.log_ids).await?;
    outbox::move_some(tx, scope, from, new, &leaves.log_ids).await?;
    people::unbind_faces(tx, scope, from).await?;
    if !leaves.staying_faces.is_empty() {
        people::set_proven(tx, scope, from).await?;
    }
    for (person, stored) in [(from, &leaves.staying_faces), (new, &leaves.leaving_faces)] {
        for (model, embedding) in stored {
            faces::insert(tx, scope, person, model, embedding).await?;
        }
    }
    const FORGET: &str = "delete from name_words where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    execute!(tx, scope, FORGET, from)?;
    for (person, words) in [(from, &leaves.staying_words), (new, &leaves.leaving_words)] {
        people::index_name(tx, scope, person, words.iter().map(String::as_str)).await?;
    }
    // A run may have passed the new facemap already.
    rescreenings::request(tx, scope, new).await?;
    Ok(new)
}
