//! Ongoing screening: when the lists of an account change, everybody who is approved is looked at again
//! (`docs/decisions/0057-ongoing-screening.md`). [`search`] finds what changed and whom it resembles, and [`findings`]
//! turns hits into alerts. Nobody's status changes here.
//!
//! One worker at a time looks at an account's people, in the order of their facemaps. What it finds is recorded in one
//! transaction with the place where it continues, so any node continues after it, and nothing is lost or announced
//! twice. A person whose record cannot be read never holds up the others: it is asked for that person, and tried again.

pub(crate) mod current;
mod findings;
mod names;
mod person_lists;
mod requests;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use node::background::Job;
use store::alerts::{self, Alert, AlertState};
use store::rescreenings::{self, CountingLists, Rescreening, Step};
use store::{Scope, Tx};
use uuid::Uuid;
use verification::names::ScreenedName;
use verification::screening::ScreeningHit;
use verification::suppression::score;

use self::current::is_current_for_people;
use self::findings::Recorder;
use self::names::{Names, Person};
use self::person_lists::PersonLists;
use self::search::{LastSearch, Search};
use super::alerts::Finding;
use super::flow_choices::FlowChoices;
use super::merchants::{self, MerchantSettings};
use super::{Shared, cpu};
use crate::problem::Problem;

/// How many people's names are read at once.
const PEOPLE_AT_ONCE: i64 = 500;
/// How many people with hits one transaction records. It holds the account's serial step.
const FOUND_AT_ONCE: usize = 20;
/// How many alerts are read at once.
const ALERTS_AT_ONCE: i64 = 200;
/// Other workers continue a run after this time without a step or a sign of life.
const LEASE: Duration = Duration::from_mins(5);

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
    let (states, accounts, mut choices) = {
        let mut conn = app.db.read().await?;
        let states = rescreenings::list(&mut conn).await?;
        let accounts = store::merchants::list(&mut conn).await?;
        (states, accounts, FlowChoices::of_all_accounts(&mut conn).await?)
    };
    let mut states: BTreeMap<(Uuid, bool), Result<Rescreening, store::Error>> = states
        .into_iter()
        .map(|(scope, state)| ((scope.merchant_id, scope.sandbox), state))
        .collect();
    let mut last_search = LastSearch::default();
    let mut looked = 0;
    let mut first_problem = None;
    // One mode after the other, because the accounts of a mode mostly use the same lists.
    for sandbox in [false, true] {
        for account in &accounts {
            let scope = Scope {
                merchant_id: account.id,
                sandbox,
            };
            let done = match (
                merchants::settings(account),
                states.remove(&(account.id, sandbox)).transpose(),
            ) {
                (Ok(settings), Ok(state)) => {
                    let choices = choices.remove(&(account.id, sandbox)).unwrap_or_default();
                    look_again(app, scope, (settings, choices), state.as_ref(), &mut last_search).await
                }
                (Err(problem), _) => Err(problem),
                (_, Err(error)) => Err(error.into()),
            };
            match done {
                Ok(people) => looked += people,
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
    }
    match requests::answer(app).await {
        Ok(people) => looked += people,
        Err(problem) => first_problem = first_problem.or(Some(problem)),
    }
    first_problem.map_or(Ok(looked), Err)
}

/// Looks at an account's people, if the lists changed that count for any of them, and nobody else does it.
async fn look_again(
    app: &Shared,
    scope: Scope,
    (settings, choices): (MerchantSettings, FlowChoices),
    state: Option<&Rescreening>,
    last_search: &mut LastSearch,
) -> Result<u64, Problem> {
    // An account without lists verifies nobody either.
    let Ok(lists) = app.lists.for_people(scope.sandbox, &settings, &choices.lists) else {
        return Ok(0);
    };
    let target = lists.counting();
    if state.is_some_and(|state| state.target.is_none() && state.done == target) {
        return Ok(0);
    }
    let people = PersonLists { lists, choices };
    let lease = Uuid::new_v4();
    let begun = store::transaction!(app.db, |tx| -> Result<Option<Rescreening>, Problem> {
        // Attempts that are being recorded are visible afterwards, and later ones notice the new lists.
        store::faces::lock(tx, scope).await?;
        // The lists or a choice of them may have changed since the sweep began: the next sweep looks.
        match is_current_for_people(tx, scope, &settings, &people).await? {
            true => rescreenings::begin(tx, scope, &target, lease, lease_ms())
                .await
                .map_err(Problem::from),
            false => Ok(None),
        }
    })?;
    let Some(state) = begun else { return Ok(0) };
    let run = Run {
        app,
        scope,
        settings,
        people,
        lease,
    };
    let looked = run.finish_alive(state, target, last_search).await;
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
    settings: MerchantSettings,
    people: PersonLists,
    lease: Uuid,
}

/// A page of people who were looked at.
struct Page {
    /// All of them, in order.
    people: Vec<Uuid>,
    /// Those with hits, in order.
    found: Vec<(Uuid, Vec<ScreeningHit>)>,
    /// Those who cannot be looked at now.
    failed: BTreeSet<Uuid>,
}

/// A person who is searched for.
struct SearchedPerson {
    names: Vec<ScreenedName>,
    /// The lists that are searched.
    lists: Vec<String>,
}

/// Another worker has the run.
fn lost() -> Problem {
    Problem::unavailable("Another node continues to screen these people again")
}

impl Run<'_> {
    /// [`Run::finish`], with signs of life, so that no other worker takes the run while a step takes long.
    async fn finish_alive(
        &self,
        state: Rescreening,
        target: CountingLists,
        last_search: &mut LastSearch,
    ) -> Result<u64, Problem> {
        let stay_alive = async {
            loop {
                tokio::time::sleep(LEASE / 5).await;
                let extended = store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                    self.keep_lease(tx).await
                });
                if let Err(problem) = extended {
                    return problem;
                }
            }
        };
        tokio::select! {
            looked = self.finish(state, target, last_search) => looked,
            problem = stay_alive => Err(problem),
        }
    }

    async fn finish(
        &self,
        state: Rescreening,
        target: CountingLists,
        last_search: &mut LastSearch,
    ) -> Result<u64, Problem> {
        let mut looked = 0;
        if self.has_something_to_do(state.after).await? {
            let (known, now) = (target.known_since(&state.done), target.active());
            let search = last_search
                .get(&self.people.lists.all, self.app.lists.store(), (&known, &now))
                .await?;
            looked = self.look_at_everybody(&search, state.after).await?;
            let is_same_choice = target.has_same_names(&state.done);
            self.close_alerts(&search, is_same_choice).await?;
        }
        let ended = store::transaction!(self.app.db, |tx| -> Result<bool, store::Error> {
            rescreenings::finish(tx, self.scope, self.lease).await
        })?;
        if ended { Ok(looked) } else { Err(lost()) }
    }

    /// Whether there is anybody to look at, or an open alert.
    async fn has_something_to_do(&self, after: Uuid) -> Result<bool, Problem> {
        let mut conn = self.app.db.read().await?;
        let people = rescreenings::approved_people(&mut conn, self.scope, after, 1).await?;
        Ok(!people.is_empty() || !alerts::lists_with_open(&mut conn, self.scope).await?.is_empty())
    }

    async fn look_at_everybody(&self, search: &Arc<Search>, mut after: Uuid) -> Result<u64, Problem> {
        let mut looked = 0;
        while !search.finds_nothing() {
            let (people, mut names) = {
                let mut conn = self.app.db.read().await?;
                let people =
                    rescreenings::approved_people(&mut conn, self.scope, after, PEOPLE_AT_ONCE).await?;
                let Some(last) = people.last() else { break };
                let names = Names::between(&mut conn, self.scope, after, *last).await?;
                (people, names)
            };
            names.remember(&self.app.db, self.scope).await?;
            let mut failed = std::mem::take(&mut names.unreadable);
            let searched = names.people.into_iter().map(|(person, Person { names, flows })| {
                let lists = self.people.searched(&flows);
                (person, SearchedPerson { names, lists })
            });
            let found = self.search(search, searched.collect(), &mut failed).await?;
            let page = Page {
                people,
                found,
                failed,
            };
            after = self.record(search, &page, after).await?;
            metrics::counter!("bonafide_rescreened_people_total").increment(page.people.len() as u64);
            looked += page.people.len() as u64;
            // A long run holds up nobody for whom it was asked.
            if let Err(problem) = requests::answer(self.app).await {
                tracing::warn!(%problem, "people could not be screened again");
            }
        }
        Ok(looked)
    }

    /// The hits of each person who has any. People whose names cannot be searched are added to `failed`. Blocks a worker
    /// thread, not the server.
    async fn search(
        &self,
        search: &Arc<Search>,
        people: BTreeMap<Uuid, SearchedPerson>,
        failed: &mut BTreeSet<Uuid>,
    ) -> Result<Vec<(Uuid, Vec<ScreeningHit>)>, Problem> {
        let search = Arc::clone(search);
        let options = self.people.lists.all.options(&self.settings);
        let search_all = move || {
            let mut memory = search.memory();
            let mut found = Vec::new();
            let mut refused = Vec::new();
            for (person, SearchedPerson { names, lists }) in people {
                match search.hits(&names, &lists, &options, &mut memory) {
                    Ok(hits) if hits.is_empty() => {}
                    Ok(hits) => found.push((person, hits)),
                    Err(problem) => {
                        tracing::warn!(%person, %problem, "the names of an approved person cannot be searched");
                        refused.push(person);
                    }
                }
            }
            (found, refused)
        };
        let (found, refused) = cpu::blocking(move || Ok(search_all())).await?;
        failed.extend(refused);
        Ok(found)
    }

    /// Records what was found about a page of people, and returns where the next page begins.
    async fn record(&self, search: &Search, page: &Page, mut after: Uuid) -> Result<Uuid, Problem> {
        for found in page.found.chunks(FOUND_AT_ONCE) {
            after = match self.step(search, page, after, found).await {
                Ok(last) => last,
                Err(_) => self.record_each(search, page, after, found).await?,
            };
        }
        let last = page.people.last().copied().unwrap_or(after);
        store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
            self.advance(tx, page, (after, last), 0).await
        })?;
        Ok(last)
    }

    /// Records what was found about each person by itself, because one of them cannot be recorded.
    async fn record_each(
        &self,
        search: &Search,
        page: &Page,
        mut after: Uuid,
        found: &[(Uuid, Vec<ScreeningHit>)],
    ) -> Result<Uuid, Problem> {
        for one in found {
            let Err(problem) = self.step(search, page, after, std::slice::from_ref(one)).await else {
                after = one.0;
                continue;
            };
            let person = one.0;
            tracing::warn!(%person, %problem, "what was found about a person cannot be recorded");
            store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                rescreenings::request(tx, self.scope, person).await?;
                self.advance(tx, page, (after, person), 0).await
            })?;
            after = person;
        }
        Ok(after)
    }

    /// Records what was found about some people in one transaction; returns the last of them.
    async fn step(
        &self,
        search: &Search,
        page: &Page,
        after: Uuid,
        found: &[(Uuid, Vec<ScreeningHit>)],
    ) -> Result<Uuid, Problem> {
        let recorder = Recorder::new(self.scope, &self.people, search.changes());
        store::transaction!(self.app.db, |tx| -> Result<Uuid, Problem> {
            store::faces::lock(tx, self.scope).await?;
            let (mut last, mut alerts) = (after, 0);
            for (person, hits) in found {
                alerts += recorder.record(tx, *person, hits).await?;
                last = *person;
            }
            self.advance(tx, page, (after, last), alerts).await?;
            Ok(last)
        })
    }

    /// Records that everybody after one person, up to another, was looked at. Who could not be is asked for.
    async fn advance(
        &self,
        tx: &mut Tx,
        page: &Page,
        (after, last): (Uuid, Uuid),
        alerts: i64,
    ) -> Result<(), Problem> {
        let is_between = |person: &&Uuid| after < **person && **person <= last;
        for person in page.failed.iter().filter(is_between) {
            rescreenings::request(tx, self.scope, *person).await?;
        }
        let looked_at = page.people.iter().filter(is_between);
        let step = Step {
            after: last,
            people: i64::try_from(looked_at.count()).unwrap_or(i64::MAX),
            alerts,
        };
        match rescreenings::advance(tx, self.scope, self.lease, step, lease_ms()).await? {
            true => Ok(()),
            false => Err(lost()),
        }
    }

    async fn keep_lease(&self, tx: &mut Tx) -> Result<(), Problem> {
        match rescreenings::extend(tx, self.scope, self.lease, lease_ms()).await? {
            true => Ok(()),
            false => Err(lost()),
        }
    }

    /// Closes and weakens the open alerts of lists that changed or are no longer used. Unless the same lists count for
    /// the same people as in the last run, every open alert is checked.
    async fn close_alerts(&self, search: &Arc<Search>, is_same_choice: bool) -> Result<(), Problem> {
        let names = alerts::lists_with_open(&mut self.app.db.read().await?, self.scope).await?;
        let is_due = |list: &String| !is_same_choice || search.may_close(list);
        for list in names.into_iter().filter(is_due) {
            let mut after = Uuid::nil();
            loop {
                let ids = alerts::open_of_list(
                    &mut self.app.db.read().await?,
                    self.scope,
                    &list,
                    after,
                    ALERTS_AT_ONCE,
                )
                .await?;
                let Some(last) = ids.last() else { break };
                after = *last;
                store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                    self.keep_lease(tx).await
                })?;
                for id in ids {
                    if let Err(problem) = self.check_alert(search, id, is_same_choice).await {
                        tracing::warn!(alert = %id, %problem, "an alert cannot be compared with its list");
                    }
                }
            }
        }
        Ok(())
    }

    async fn check_alert(&self, search: &Arc<Search>, id: Uuid, is_same_choice: bool) -> Result<(), Problem> {
        let alert = alerts::get(&mut self.app.db.read().await?, self.scope, id).await?;
        let Some(alert) = alert else { return Ok(()) };
        let Finding { hit, known_score, .. } = Finding::of(&alert)?;
        if !self.people.lists.may_count(&alert.list) {
            return self.close(&alert, AlertState::Delisted).await;
        }
        // An entry of a collection may be filed under one of its sources, in which it has another id or none.
        let is_own = hit.datasets.last() == Some(&alert.list);
        if is_own && !search.lists(&alert.list, &hit.id) {
            return self.close(&alert, AlertState::Delisted).await;
        }
        let is_changed = search.is_changed(&alert.list, &hit.id);
        if is_same_choice && !is_changed {
            return Ok(());
        }
        let person = names::of_person(&mut self.app.db.read().await?, self.scope, alert.facemap_id).await?;
        // An alert about a person who is no longer approved waits for a reviewer.
        let Some(person) = person else { return Ok(()) };
        if !self.people.may_count(&person.flows, &alert.list) {
            return self.close(&alert, AlertState::Delisted).await;
        }
        if !is_changed {
            return Ok(());
        }
        let searched = SearchedPerson {
            names: person.names,
            lists: vec![alert.list.clone()],
        };
        let people = BTreeMap::from([(alert.facemap_id, searched)]);
        let mut failed = BTreeSet::new();
        let found = self.search(search, people, &mut failed).await?;
        if !failed.is_empty() {
            return Err(Problem::internal(
                "the names of the alert's person cannot be searched",
            ));
        }
        let hits = found.into_iter().flat_map(|(_, hits)| hits);
        let mut same =
            hits.filter(|now| now.matched && now.id == hit.id && now.datasets.contains(&alert.list));
        match same.next() {
            None => self.close(&alert, AlertState::NoMatch).await,
            Some(now) if known_score.is_some_and(|known| score(&now) <= known) => {
                self.close(&alert, AlertState::NoMatch).await
            }
            Some(now) if score(&now) < alert.score => {
                let recorder = Recorder::new(self.scope, &self.people, search.changes());
                store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
                    store::faces::lock(tx, self.scope).await?;
                    self.keep_lease(tx).await?;
                    recorder.weaken(tx, &alert, (&now, known_score)).await
                })
            }
            // A stronger hit was recorded with the page of its person.
            Some(_) => Ok(()),
        }
    }

    async fn close(&self, alert: &Alert, state: AlertState) -> Result<(), Problem> {
        store::transaction!(self.app.db, |tx| -> Result<(), Problem> {
            store::faces::lock(tx, self.scope).await?;
            self.keep_lease(tx).await?;
            findings::close(tx, self.scope, alert, state).await
        })
    }
}
