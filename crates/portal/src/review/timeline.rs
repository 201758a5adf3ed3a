//! What happened to a person in order: registrations, attempts, decisions, notes. Newest first.

use std::collections::BTreeMap;

use service::applicant_view::View;
use store::attempts::Summary;
use store::registrations::Registration;
use uuid::Uuid;
use verification::status::AttemptStatus;

use super::queue::meanings;
use crate::page::Page;

/// Something that happened.
pub struct Event {
    /// When (ms).
    pub at: i64,
    /// `attempt`, `decision`, `note`, `registered` or `proposed`, as icons and texts know it.
    pub kind: &'static str,
    /// What, in words.
    pub title: String,
    /// More; empty when there is none.
    pub text: String,
    /// A status to show beside it.
    pub status: Option<AttemptStatus>,
    /// The attempt that it leads to.
    pub log_id: Option<i64>,
    /// It is about the attempt that is looked at.
    pub here: bool,
}

/// A person's registrations and attempts.
pub fn of_person(
    page: &Page,
    registrations: &[Registration],
    attempts: &[Summary],
    here: Option<i64>,
    groups: &BTreeMap<Uuid, String>,
) -> Vec<Event> {
    let registered = registrations.iter().map(|registration| Event {
        at: registration.created_at,
        kind: "registered",
        title: page.t1("review.event.registered", "id", &registration.external_user_id),
        text: match registration.grouping_id {
            Some(id) => match groups.get(&id) {
                Some(name) => page.t1("review.event.group", "group", name),
                None => page.t1("review.event.group", "group", id),
            },
            None => page.t("review.event.no_group"),
        },
        status: registration.status,
        log_id: None,
        here: false,
    });
    let attempted = attempts.iter().map(|attempt| Event {
        at: attempt.created_at,
        kind: "attempt",
        title: page.tf(
            "review.event.attempt",
            &[("id", &attempt.log_id.to_string()), ("flow", &attempt.flow_name)],
        ),
        text: meanings(&attempt.codes)
            .iter()
            .map(|(number, meaning)| format!("{number} {meaning}"))
            .collect::<Vec<_>>()
            .join("; "),
        status: Some(attempt.status),
        log_id: Some(attempt.log_id),
        here: here == Some(attempt.log_id),
    });
    sorted(registered.chain(attempted).collect())
}

/// The same around one attempt, with what reviewers did on it.
pub fn of_view(page: &Page, view: &View) -> Vec<Event> {
    let mut events = of_person(
        page,
        &view.registrations,
        &view.attempts,
        Some(view.attempt.log_id),
        &view.groups,
    );
    events.extend(view.decisions.iter().map(|decision| Event {
        at: decision.at,
        kind: "decision",
        title: page.tf(
            &format!("review.event.{}", decision.decision),
            &[("who", &view.name_of(&decision.actor))],
        ),
        text: decision.reason.clone().unwrap_or_default(),
        status: None,
        log_id: None,
        here: true,
    }));
    events.extend(view.notes.iter().map(|note| Event {
        at: note.at,
        kind: "note",
        title: page.t1("review.event.note", "who", view.staff_name(&note.staff_id)),
        text: note.text.clone(),
        status: None,
        log_id: None,
        here: true,
    }));
    sorted(events)
}

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    // What happened at one moment is listed as it was found: a registration is made by its attempt.
    events.sort_by_key(|event| std::cmp::Reverse((event.at, event.kind != "registered")));
    events
}
