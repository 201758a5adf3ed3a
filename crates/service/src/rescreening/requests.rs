//! People for whom it was asked: their names, or who approved them, changed. They are looked at against all lists, in no
//! order, by any node.

use std::sync::Arc;

use sanctions::WordMemory;
use store::rescreenings::{self, Request};

use super::current::is_current;
use super::findings::Recorder;
use super::names;
use super::search::Search;
use crate::problem::Problem;
use crate::{Shared, cpu, merchants};

/// How many requests a sweep answers.
const AT_ONCE: i64 = 200;
/// When a person is tried again whose record cannot be read now.
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
    let lists = app
        .lists
        .for_merchant(scope.sandbox, &settings)
        .map_err(|reason| crate::names::unavailable(reason.to_string()))?;
    let names = names::of_person(&mut app.db.read().await?, scope, facemap_id).await?;
    let (search, options) = (Arc::new(Search::whole(&lists)), lists.options(&settings));
    let hits = match names.clone() {
        // The person is no longer approved.
        None => Vec::new(),
        Some(names) => {
            let search = Arc::clone(&search);
            cpu::blocking(move || Ok(search.hits(&names, &options, &mut WordMemory::default()))).await??
        }
    };
    let recorder = Recorder::new(scope, &lists, search.changes());
    store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        store::faces::lock(tx, scope).await?;
        // An older node asks again without a new token.
        let are_same = names::of_person(tx, scope, facemap_id).await? == names;
        if !are_same
            || !is_current(tx, scope, &settings, &lists).await?
            || !rescreenings::take_request(tx, request).await?
        {
            return Ok(false);
        }
        recorder.record(tx, facemap_id, &hits).await?;
        Ok(true)
    })
}
