//! Ongoing screening: when the lists of an account change, everybody who is approved is looked at again
//! (`docs/decisions/0057-ongoing-screening.md`). [`search`] finds what changed and whom it resembles, and [`findings`]
//! turns hits into alerts. Nobody's status changes here.
//!
//! One worker at a time looks at an account's people, in the order of their facemaps. What it finds about a page of
//! people is recorded in one transaction with the place where the next page begins, so any node continues after it, and
//! nothing is lost or announced twice.

mod findings;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use node::background::Job;
use store::alerts::{self, Alert, AlertState};
use store::rescreenings::{self, ListDigests, Rescreening, Step, StoredNames};
use store::{Conn, Scope, attempts};
use uuid::Uuid;
use verification::names::ScreenedName;
use verification::rescreening::{AttemptNames, names_of_person};
use verification::screening::ScreeningHit;
use verification::suppression::score;

use self::findings::Recorder;
use self::search::Search;
use super::alerts::Finding;
use super::attempt_detail::Detail;
use super::lists::MerchantLists;
use super::merchants::{self, MerchantSettings};
use super::{App, Shared, cpu};
use crate::problem::Problem;

/// How many people one step looks at.
const PEOPLE_AT_ONCE: i64 = 500;
/// How many alerts one step closes, and how many requests a sweep answers.
const ALERTS_AT_ONCE: i64 = 200;
/// Other workers continue a run after this time without a step.
const LEASE: Duration = Duration::from_mins(5);
/// When a person is tried again whose record cannot be read now.
const AGAIN_AFTER_MS: i64 = 60_000;

fn lease_ms() -> i64 {
    i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

/// Looks after everybody for as long as the server runs.
pub async fn run(app: Shared) {
    loop {
        tokio::time::sleep(Job::Rescreening.interval()).await;
        let looked = sweep(&app).await;
        match &looked {
            Ok(0) => {}
            Ok(people) => tracing::info!(people, "people were screened again after a change of the lists"),
            Err(problem) => tracing::warn!(%problem, "people could not be screened again"),
        }
        app.background.record_run(Job::Rescreening, &looked);
    }
}

/// Looks again at the people of every account whose lists changed, and at people for whom it was asked. Returns how
/// many people it looked at.
///
/// # Errors
/// The first problem of an account, after all accounts had their turn.
pub async fn sweep(app: &Shared) -> Result<u64, Problem> {
    if app.lists.confirm(&app.db).await.is_err() {
        // `/readyz` reports why there are no lists. Nobody can be looked at without them.
        return Ok(0);
    }
    let (states, accounts) = {
        let mut conn = app.db.read().await?;
        let states: Vec<(Scope, Rescreening)> = rescreenings::list(&mut conn).await?;
        (states, store::merchants::list(&mut conn).await?)
    };
    let mut looked = 0;
    let mut first_problem = None;
    for account in accounts {
        for sandbox in [false, true] {
            let scope = Scope {
                merchant_id: account.id,
                sandbox,
            };
            let state = states.iter().find(|(of, _)| *of == scope).map(|(_, state)| state);
            let settings = merchants::settings(&account);
            let done = match settings {
                Ok(settings) => look_again(app, scope, settings, state).await,
                Err(problem) => Err(problem),
            };
            match done {
                Ok(people) => looked += people,
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
    }
    match answer_requests(app).await {
        Ok(people) => looked += people,
        Err(problem) => first_problem = first_problem.or(Some(problem)),
    }
    first_problem.map_or(Ok(looked), Err)
}

/// The lists that count for an account, with the digests of their contents.
fn digests(lists: &MerchantLists) -> ListDigests {
    let of_set = lists.set.iter().flat_map(|set| &set.lists);
    of_set
        .filter(|(name, _)| lists.names.contains(name))
        .map(|(name, list)| (name.clone(), hex::encode(list.digest)))
        .collect()
}

/// Looks at an account's people, if its lists changed and nobody else does it.
async fn look_again(
    app: &Shared,
    scope: Scope,
    settings: MerchantSettings,
    state: Option<&Rescreening>,
) -> Result<u64, Problem> {
    // An account without lists verifies nobody either.
    let Ok(lists) = app.lists.for_merchant(scope.sandbox, &settings) else {
        return Ok(0);
    };
    let target = digests(&lists);
    if state.is_some_and(|state| state.target.is_none() && state.done == target) {
        return Ok(0);
    }
    let lease = Uuid::new_v4();
    let begun = store::transaction!(app.db, |tx| -> Result<Option<Rescreening>, store::Error> {
        // Attempts that are being recorded are visible afterwards, and later ones notice the new lists.
        store::faces::lock(tx, scope).await?;
        rescreenings::begin(tx, scope, &target, lease, lease_ms()).await
    })?;
    let Some(state) = begun else { return Ok(0) };
    let run = Run {
        app,
        scope,
        settings: Arc::new(settings),
        lists: Arc::new(lists),
        lease,
    };
    let looked = run.finish(state, target).await;
    if looked.is_err() {
        // Another worker, or this one, continues at once.
        store::transaction!(app.db, |tx| -> Result<(), store::Error> {
            rescreenings::release(tx, scope, lease).await
        })?;
    }
    looked
}

/// A run over an account's people.
struct Run<'a> {
    app: &'a Shared,
    scope: Scope,
    settings: Arc<MerchantSettings>,
    lists: Arc<MerchantLists>,
    lease: Uuid,
}

/// A page of people who were looked at.
struct Page {
    /// Those with hits.
    found: Vec<(Uuid, Vec<ScreeningHit>)>,
    /// Those whose names cannot be read now. They are asked for, so that they do not hold up the others.
    unreadable: BTreeSet<Uuid>,
    /// The last of all.
    last: Uuid,
    /// How many there are.
    people: usize,
}

/// Another worker has the run.
fn lost() -> Problem {
    Problem::unavailable("Another node continues to screen these people again")
}

impl Run<'_> {
    async fn finish(&self, state: Rescreening, target: ListDigests) -> Result<u64, Problem> {
        let (lists, list_store) = (Arc::clone(&self.lists), self.app.lists.store().clone());
        let done = state.done.clone();
        let search = cpu::blocking(move || Ok(Search::new(&lists, &list_store, &done, &target))).await??;
        let search = Arc::new(search);
        let mut looked = 0;
        let mut after = state.after;
        while !search.finds_nothing() {
            let (people, names) = {
                let mut conn = self.app.db.read().await?;
                let people =
                    rescreenings::approved_people(&mut conn, self.scope, after, PEOPLE_AT_ONCE).await?;
                let Some(last) = people.last() else { break };
                let names = names_between(&mut conn, self.scope, after, *last).await?;
                (people.clone(), names)
            };
            let last = people.last().copied().unwrap_or(after);
            let Names {
                people: names,
                unreadable,
            } = names;
            let found = self.search(&search, names).await?;
            let page = Page {
                found,
                unreadable,
                last,
                people: people.len(),
            };
            self.record(&search, &page).await?;
            metrics::counter!("bonafide_rescreened_people_total").increment(people.len() as u64);
            looked += people.len() as u64;
            after = last;
        }
        self.close_alerts(&search).await?;
        let ended = store::transaction!(self.app.db, |tx| -> Result<bool, store::Error> {
            rescreenings::finish(tx, self.scope, self.lease).await
        })?;
        if ended { Ok(looked) } else { Err(lost()) }
    }

    /// The hits of each person who has any. Blocks a worker thread, not the server.
    async fn search(
        &self,
        search: &Arc<Search>,
        people: BTreeMap<Uuid, Vec<ScreenedName>>,
    ) -> Result<Vec<(Uuid, Vec<ScreeningHit>)>, Problem> {
        let (search, lists, settings) = (
            Arc::clone(search),
            Arc::clone(&self.lists),
            Arc::clone(&self.settings),
        );
        let search_all = move || {
            let options = lists.options(&settings);
            let mut found = Vec::new();
            for (person, names) in people {
                let hits = search.hits(&names, &options)?;
                if !hits.is_empty() {
                    found.push((person, hits));
                }
            }
            Ok(found)
        };
        cpu::blocking(move || Ok(search_all())).await?
    }

    /// Records what was found about a page of people, and where the next page begins.
    async fn record(&self, search: &Search, page: &Page) -> Result<(), Problem> {
        let recorder = Recorder::new(self.scope, &self.settings, &self.lists, search.changes());
        store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
            let mut opened = 0;
            for (person, hits) in &page.found {
                opened += recorder.record(tx, *person, hits).await?;
            }
            for person in &page.unreadable {
                rescreenings::request(tx, self.scope, *person).await?;
            }
            let step = Step {
                after: page.last,
                people: i64::try_from(page.people).unwrap_or(i64::MAX),
                alerts: opened,
            };
            match rescreenings::advance(tx, self.scope, self.lease, step, lease_ms()).await? {
                true => Ok(()),
                false => Err(lost()),
            }
        })
    }

    /// Closes and weakens the open alerts of lists that changed or are no longer used.
    async fn close_alerts(&self, search: &Arc<Search>) -> Result<(), Problem> {
        let names = alerts::lists_with_open(&mut self.app.db.read().await?, self.scope).await?;
        for list in names.into_iter().filter(|list| search.may_close(list)) {
            let mut after = Uuid::nil();
            loop {
                let open = alerts::open_of_list(
                    &mut self.app.db.read().await?,
                    self.scope,
                    &list,
                    after,
                    ALERTS_AT_ONCE,
                )
                .await?;
                let Some(last) = open.last() else { break };
                after = last.id;
                for alert in open {
                    self.check_alert(search, &alert).await?;
                }
            }
        }
        Ok(())
    }

    async fn check_alert(&self, search: &Arc<Search>, alert: &Alert) -> Result<(), Problem> {
        let Finding { hit, .. } = Finding::of(alert)?;
        let close = async |state: AlertState| {
            store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                findings::close(tx, self.scope, alert, state).await
            })
        };
        if !search.lists(&alert.list, &hit.id) {
            return close(AlertState::Delisted).await;
        }
        if !search.is_changed(&alert.list, &hit.id) {
            return Ok(());
        }
        let names = names_of(&mut self.app.db.read().await?, self.scope, alert.facemap_id).await?;
        let people = BTreeMap::from([(alert.facemap_id, names)]);
        let found = self.search(search, people).await?;
        let hits = found.into_iter().flat_map(|(_, hits)| hits);
        let mut same =
            hits.filter(|now| now.matched && now.id == hit.id && now.datasets.contains(&alert.list));
        match same.next() {
            None => close(AlertState::NoMatch).await,
            Some(now) if score(&now) < alert.score => {
                let recorder = Recorder::new(self.scope, &self.settings, &self.lists, search.changes());
                store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                    recorder.weaken(tx, alert, &now).await
                })
            }
            // A stronger hit was recorded with the page of its person.
            Some(_) => Ok(()),
        }
    }
}

/// Looks at people for whom it was asked, against all lists.
async fn answer_requests(app: &Shared) -> Result<u64, Problem> {
    let requested = rescreenings::requested(&mut app.db.read().await?, ALERTS_AT_ONCE).await?;
    let mut looked = 0;
    let mut first_problem = None;
    for (scope, person) in requested {
        match answer_request(app, scope, person).await {
            Ok(was_looked_at) => looked += u64::from(was_looked_at),
            Err(problem) => {
                first_problem = first_problem.or(Some(problem));
                store::transaction!(app.db, |tx| -> Result<(), store::Error> {
                    rescreenings::postpone(tx, scope, person, AGAIN_AFTER_MS).await
                })?;
            }
        }
    }
    first_problem.map_or(Ok(looked), Err)
}

async fn answer_request(app: &App, scope: Scope, person: Uuid) -> Result<bool, Problem> {
    let account = store::merchants::get(&mut app.db.read().await?, scope.merchant_id).await?;
    let Some(account) = account else { return Ok(false) };
    let settings = merchants::settings(&account)?;
    let lists = app
        .lists
        .for_merchant(scope.sandbox, &settings)
        .map_err(|reason| super::names::unavailable(reason.to_string()))?;
    let search = Search::whole(&lists);
    let names = names_of(&mut app.db.read().await?, scope, person).await?;
    let options = lists.options(&settings);
    let recorder = Recorder::new(scope, &settings, &lists, search.changes());
    let hits = search.hits(&names, &options)?;
    store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        if !rescreenings::take_request(tx, scope, person).await? {
            return Ok(false);
        }
        recorder.record(tx, person, &hits).await?;
        Ok(true)
    })
}

/// The names of one person.
async fn names_of(conn: &mut Conn, scope: Scope, person: Uuid) -> Result<Vec<ScreenedName>, Problem> {
    let before = Uuid::from_u128(person.as_u128().saturating_sub(1));
    let mut names = names_between(conn, scope, before, person).await?;
    match names.unreadable.is_empty() {
        true => Ok(names.people.remove(&person).unwrap_or_default()),
        false => {
            let text = "The names of an approved person cannot be read";
            Err(Problem::unavailable(text).because(format!("facemap {person}")))
        }
    }
}

/// The names of people.
struct Names {
    people: BTreeMap<Uuid, Vec<ScreenedName>>,
    /// People whose names this version cannot read.
    unreadable: BTreeSet<Uuid>,
}

/// The names of the people with an approved registration after one facemap, up to another.
async fn names_between(conn: &mut Conn, scope: Scope, after: Uuid, last: Uuid) -> Result<Names, Problem> {
    let rows = rescreenings::names_between(conn, scope, after, last).await?;
    let mut people: BTreeMap<Uuid, Vec<(bool, AttemptNames)>> = BTreeMap::new();
    let mut unreadable = BTreeSet::new();
    for row in rows {
        let names = match row.names {
            StoredNames::Text(names) => serde_json::from_str(&names).ok(),
            StoredNames::Unreadable => None,
            StoredNames::InRecord => match attempts::get(conn, scope, row.log_id).await {
                Ok(Some(attempt)) => names_in_record(&attempt).ok(),
                // Retention has removed it meanwhile.
                Ok(None) => continue,
                Err(store::Error::Sealed | store::Error::Unreadable(_)) => None,
                Err(error) => return Err(error.into()),
            },
        };
        match names {
            Some(names) => people
                .entry(row.facemap_id)
                .or_default()
                .push((row.is_approved, names)),
            None => {
                tracing::warn!(
                    attempt = row.log_id,
                    "the names of an approved person cannot be read"
                );
                unreadable.insert(row.facemap_id);
            }
        }
    }
    let of_person = |(person, attempts)| (person, names_of_person(attempts));
    Ok(Names {
        people: people.into_iter().map(of_person).collect(),
        unreadable,
    })
}

fn names_in_record(attempt: &attempts::Attempt) -> Result<AttemptNames, Problem> {
    let mut names = Detail::of(attempt)?.attempt_names();
    if names.names.is_empty() {
        names.names.push(super::names::submitted_then(&attempt.request)?);
    }
    Ok(names)
}
