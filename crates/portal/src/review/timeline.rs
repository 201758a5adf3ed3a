//! A person's history: registrations, attempts, decisions, and notes, newest first.

use std::collections::BTreeMap;

use service::applicant_view::View;
use store::attempts::Summary;
use store::registrations::Registration;
use uuid::Uuid;
use verification::status::AttemptStatus;

use super::queue::meanings;
use crate::page::Page;

/// An entry of the history.
pub struct Event {
    /// When (ms).
    pub at: i64,
    /// `attempt`, `decision`, `note`, `registered` or `proposed`, which select the icon and the text.
    pub kind: &'static str,
    /// The title.
    pub title: String,
    /// Further text; empty if there is none.
    pub text: String,
    /// A status to show next to it.
    pub status: Option<AttemptStatus>,
    /// The attempt that it links to.
    pub log_id: Option<i64>,
    /// Whether it concerns the attempt that the page shows.
    pub here: bool,
}

/// The history of a person's registrations and attempts.
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

/// A person's history as seen from one attempt, with the reviewers' actions on it.
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
    // At equal times a registration is listed below the attempt that created it.
    events.sort_by_key(|event| std::cmp::Reverse((event.at, event.kind != "registered")));
    events
}
