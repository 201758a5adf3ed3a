//! People for whom it was asked: their names, or who approved them, changed. They are looked at against all lists, in no
//! order, by any node.

use std::sync::Arc;

use sanctions::WordMemory;
use store::rescreenings::{self, CountingLists, Request};
use store::{Conn, Scope};

use super::current::is_current_for_people;
use super::findings::Recorder;
use super::names;
use super::person_lists::PersonLists;
use super::search::Search;
use crate::flow_choices::FlowChoices;
use crate::problem::Problem;
use crate::{Shared, cpu, merchants};

/// How many requests a sweep answers.
const AT_ONCE: i64 = 200;
/// When a person is tried again whose record cannot be read now, or who waits for the beginning of a run.
const AGAIN_AFTER_MS: i64 = 60_000;

/// Looks at people for whom it was asked. Returns how many.
///
/// # Errors
/// The first problem of a person, after all had their turn.
pub(super) async fn answer(app: &Shared) -> Result<u64, Problem> {
    let requested = rescreenings::requested(&mut app.db.read().await?, AT_ONCE).await?;
    let mut looked = 0;
    let mut first_problem = None;
    for request in requested {
        match answer_one(app, request).await {
            Ok(was_looked_at) => looked += u64::from(was_looked_at),
            Err(problem) => {
                first_problem = first_problem.or(Some(problem));
                store::transaction!(app.db, |tx| -> Result<(), store::Error> {
                    rescreenings::postpone(tx, request, AGAIN_AFTER_MS).await
                })?;
            }
        }
    }
    first_problem.map_or(Ok(looked), Err)
}

/// `false`: another worker was faster, it was asked again meanwhile, or the lists changed meanwhile.
async fn answer_one(app: &Shared, request: Request) -> Result<bool, Problem> {
    let Request {
        scope, facemap_id, ..
    } = request;
    let account = store::merchants::get(&mut app.db.read().await?, scope.merchant_id).await?;
    let Some(account) = account else { return Ok(false) };
    let settings = merchants::settings(&account)?;
    let choices = FlowChoices::of_account(&mut app.db.read().await?, scope).await?;
    let lists = app
        .lists
        .for_people(scope.sandbox, &settings, &choices.lists)
        .map_err(|reason| crate::names::unavailable(reason.to_string()))?;
    let people = PersonLists { lists, choices };
    let counting = people.lists.counting();
    if !is_of_last_run(&mut app.db.read().await?, scope, &counting).await? {
        // Others have their turn meanwhile.
        store::transaction!(app.db, |tx| -> Result<(), store::Error> {
            rescreenings::postpone(tx, request, AGAIN_AFTER_MS).await
        })?;
        return Ok(false);
    }
    let person = names::of_person(&mut app.db.read().await?, scope, facemap_id).await?;
    let search = Arc::new(Search::whole(&people.lists.all));
    let hits = match person.clone() {
        // The person is no longer approved.
        None => Vec::new(),
        Some(person) => {
            let lists = people.searched(&person.flows);
            let (search, options) = (Arc::clone(&search), people.lists.all.options(&settings));
            cpu::blocking(move || {
                Ok(search.hits(&person.names, &lists, &options, &mut WordMemory::default()))
            })
            .await??
        }
    };
    let recorder = Recorder::new(scope, &people, search.changes());
    store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        store::faces::lock(tx, scope).await?;
        // An older node asks again without a new token.
        let is_same = names::of_person(tx, scope, facemap_id).await? == person;
        if !is_same
            || !is_current_for_people(tx, scope, &settings, &people).await?
            || !is_of_last_run(tx, scope, &counting).await?
            || !rescreenings::take_request(tx, request).await?
        {
            return Ok(false);
        }
        recorder.record(tx, facemap_id, &hits).await?;
        Ok(true)
    })
}

/// Whether the run in progress, or the last one, is about these lists. Otherwise the next run begins soon, and the person
/// is looked at after its beginning. A later run then finds everything that differs.
async fn is_of_last_run(conn: &mut Conn, scope: Scope, lists: &CountingLists) -> Result<bool, Problem> {
    match rescreenings::get(conn, scope).await {
        Ok(state) => Ok(state.is_none_or(|state| state.target.unwrap_or(state.done) == *lists)),
        Err(store::Error::Unreadable(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
