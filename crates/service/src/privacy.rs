//! Finds the people whom a privacy request concerns, and counts their stored data, before it is exported or
//! erased.

use std::collections::BTreeSet;

use store::audit::{self, Entry};
use store::{Scope, applicants, attempts, people, registrations};
use uuid::Uuid;

use super::App;
use crate::problem::Problem;

/// The maximum number of people found for one label.
const MOST: usize = 20;

/// A summary of a person's stored data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonSummary {
    /// The person, not an alias.
    pub facemap_id: Uuid,
    /// Whether a proven face is stored.
    pub proven: bool,
    /// When the person was first recorded (ms).
    pub created_at: i64,
    /// The merchant's labels for the person.
    pub labels: Vec<String>,
    /// Registrations in groups.
    pub registrations: usize,
    /// Attempts in the log.
    pub attempts: usize,
}

impl PersonSummary {
    /// The text that a member types to confirm this person.
    pub fn confirmation(&self) -> String {
        confirmation(self.facemap_id)
    }
}

/// The text that a member types to confirm a person: the first eight digits of the facemap.
pub fn confirmation(facemap_id: Uuid) -> String {
    facemap_id.to_string().chars().take(8).collect()
}

/// All people with a facemap (or an earlier one) or an externalUserId. The audit trail records each person
/// found as viewed.
pub async fn find(app: &App, scope: Scope, asked: &str, actor: &str) -> Result<Vec<PersonSummary>, Problem> {
    let mut conn = app.db.read().await?;
    let mut facemaps = BTreeSet::new();
    // A label may look like a facemap.
    if let Ok(id) = Uuid::parse_str(asked.trim()) {
        facemaps.extend(
            people::resolve(&mut conn, scope, id)
                .await?
                .map(|person| person.facemap_id),
        );
    }
    let labelled = applicants::by_external_user_id(&mut conn, scope, asked).await?;
    facemaps.extend(labelled.iter().map(|applicant| applicant.facemap_id));
    drop(conn);
    let mut found = Vec::new();
    for facemap_id in facemaps.into_iter().take(MOST) {
        let held = summarise_person(app, scope, facemap_id).await?;
        store::transaction!(app.db, |tx| -> Result<(), Problem> {
            let entry = Entry {
                actor,
                action: "person.viewed",
                subject: &facemap_id.to_string(),
                detail: "{}",
            };
            Ok(audit::write(tx, scope, &entry).await?)
        })?;
        found.push(held);
    }
    Ok(found)
}

/// Summarises a person's stored data; 404 if there is no such person.
pub async fn summarise_person(app: &App, scope: Scope, facemap_id: Uuid) -> Result<PersonSummary, Problem> {
    let mut conn = app.db.read().await?;
    let person = people::resolve(&mut conn, scope, facemap_id)
        .await?
        .ok_or_else(|| Problem::not_found("No such person in this account"))?;
    let registered = registrations::of_facemap(&mut conn, scope, person.facemap_id).await?;
    let labels: BTreeSet<String> = registered
        .iter()
        .map(|one| one.external_user_id.clone())
        .collect();
    Ok(PersonSummary {
        facemap_id: person.facemap_id,
        proven: person.proven,
        created_at: person.created_at,
        labels: labels.into_iter().collect(),
        registrations: registered.len(),
        attempts: attempts::log_ids(&mut conn, scope, person.facemap_id)
            .await?
            .len(),
    })
}
