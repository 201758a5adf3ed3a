//! The searches themselves: which lists count, the search under a permit for heavy work, and the audit row.
//!
//! An audit row states how much was searched and found, never a name.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use sanctions::entity::Schema;
use sanctions::score::{DEFAULT_THRESHOLD, PairScore};
use sanctions::store::ListStatus;
use sanctions::{Example, IndexDamaged, ListEntry, ScreenOptions};
use serde_json::json;
use store::audit::Entry;

use super::datasets::DatasetScope;
use super::facets::{self, Facet, FacetCounts};
use super::filters::Filters;
use super::records::EntityRecord;
use crate::caller::Caller;
use crate::lists::MerchantLists;
use crate::names::unavailable;
use crate::problem::Problem;
use crate::{Shared, audit_trail, insight, merchants};

/// The lowest score of a hit, whatever a request allows. A lower one would list most names of a list.
pub const LEAST_SCORE: f64 = 0.2;
/// The lowest score of a search by text. A name that is only part of a listed one scores less than in a match.
const TEXT_SCORE: f64 = 0.5;

/// What a match returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchOptions {
    /// The score from which a hit is a match; `None`: the merchant's.
    pub threshold: Option<f64>,
    /// The score from which a hit is returned at all; `None`: the threshold. A greater one counts as the threshold.
    pub cutoff: Option<f64>,
    /// The most hits.
    pub limit: usize,
}

/// A hit of a match.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchHit {
    /// The listed entity.
    pub entity: EntityRecord,
    /// Its score, with the parts that explain it.
    pub score: PairScore,
    /// Whether the score reaches the threshold.
    pub is_match: bool,
}

/// The hits of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Matches {
    /// The hits, best first.
    pub hits: Vec<MatchHit>,
    /// The number of hits that reach the threshold, also beyond the limit.
    pub total: usize,
}

/// What a search by text returns.
#[derive(Clone, Debug, PartialEq)]
pub struct TextSearch {
    /// The text; blank for every entry.
    pub text: String,
    /// The position of the first result.
    pub offset: usize,
    /// The most results.
    pub limit: usize,
    /// The facets to count.
    pub facets: Vec<Facet>,
    /// The order.
    pub sort: Vec<(SortKey, bool)>,
}

/// A field that results can be sorted by; the flag beside it is true for a falling order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// The name to display.
    Caption,
    /// The id.
    Id,
    /// The schema's name.
    Schema,
}

/// The results of a search by text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextResults {
    /// A page of the entities.
    pub entities: Vec<EntityRecord>,
    /// The number of entities.
    pub total: usize,
    /// The counts over all of them.
    pub facets: Vec<FacetCounts>,
}

/// The lists of a request, and the part of them that it means.
struct Searched {
    lists: MerchantLists,
    threshold: f64,
    scope: DatasetScope,
    filters: Filters,
    /// The lists that changed since the request's time.
    changed: Option<Vec<String>>,
}

impl Searched {
    fn keeps(&self, entry: ListEntry<'_>) -> bool {
        entry.is_of(&self.lists.names) && self.filters.keep(entry, &self.scope, self.changed.as_deref())
    }

    fn options(&self, threshold: f64) -> ScreenOptions {
        ScreenOptions {
            threshold,
            datasets: self.lists.names.clone(),
            ..ScreenOptions::default()
        }
    }
}

/// Matches examples against a dataset, each by itself. The answers have the order of the examples.
///
/// # Errors
/// 404 without such a dataset, 503 without usable lists.
pub async fn match_examples(
    app: &Shared,
    caller: &Caller,
    dataset: &str,
    filters: Filters,
    options: MatchOptions,
    examples: Vec<Example>,
) -> Result<Vec<Matches>, Problem> {
    let searched = Arc::new(audited_scope(app, caller, dataset, filters).await?);
    let mut answers = Vec::with_capacity(examples.len());
    let mut failed = None;
    for example in examples {
        let searched = Arc::clone(&searched);
        let answer = app.cpu.run(move |_| {
            let answer = match_one(&searched, options, &example);
            searched.lists.screener.check().map(|()| answer)
        });
        match answer.await.and_then(|answer| answer.map_err(damaged)) {
            Ok(answer) => answers.push(answer),
            Err(problem) => {
                failed = Some(problem);
                break;
            }
        }
    }
    // Searches whose results were not delivered took place too.
    let hits = answers.iter().map(|answer: &Matches| answer.total).sum();
    write_audit_row(app, caller, &searched.lists, answers.len(), hits).await?;
    failed.map_or(Ok(answers), Err)
}

fn match_one(searched: &Searched, options: MatchOptions, example: &Example) -> Matches {
    let threshold = options.threshold.unwrap_or(searched.threshold);
    let cutoff = options
        .cutoff
        .unwrap_or(threshold)
        .min(threshold)
        .max(LEAST_SCORE);
    let screener = &searched.lists.screener;
    let found = screener.search_entity(&example.entity, &searched.options(cutoff));
    let hits = found.hits().enumerate();
    let mut hits: Vec<(usize, f64, ListEntry<'_>)> = hits
        .filter(|(_, (_, entry))| searched.keeps(*entry))
        .map(|(position, (score, entry))| (position, score, entry))
        .collect();
    hits.sort_by_cached_key(|(_, score, entry)| by_score_and_id(*score, *entry));
    let mut merged = by_entity(
        hits.iter()
            .map(|(position, score, entry)| ((*position, *score), *entry)),
    );
    let total = merged
        .iter()
        .filter(|((_, score), _)| *score >= threshold)
        .count();
    merged.truncate(options.limit);
    let hit = |((position, score), entries): ((usize, f64), Vec<ListEntry<'_>>)| {
        Some(MatchHit {
            entity: EntityRecord::of(&entries)?,
            score: found.explain(position)?,
            is_match: score >= threshold,
        })
    };
    Matches {
        hits: merged.into_iter().filter_map(hit).collect(),
        total,
    }
}

/// The order of hits. Scores have four decimals.
fn by_score_and_id(score: f64, entry: ListEntry<'_>) -> (Reverse<u32>, String) {
    (Reverse((score * 10_000.0).round() as u32), entry.id().to_owned())
}

/// Entries of the same entity together, each group at the place of its first entry and with that entry's value. They
/// have the same id and caption: lists of different publishers may use one id for different entities.
fn by_entity<'a, T>(entries: impl Iterator<Item = (T, ListEntry<'a>)>) -> Vec<(T, Vec<ListEntry<'a>>)> {
    let mut places: HashMap<(&'a str, &'a str), usize> = HashMap::new();
    let mut groups: Vec<(T, Vec<ListEntry<'a>>)> = Vec::new();
    for (value, entry) in entries {
        let place = *places
            .entry((entry.id(), entry.caption()))
            .or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(entry),
            None => groups.push((value, vec![entry])),
        }
    }
    groups
}

/// Searches a dataset for a text, or lists all its entries.
///
/// # Errors
/// 404 without such a dataset, 503 without usable lists.
pub async fn search_text(
    app: &Shared,
    caller: &Caller,
    dataset: &str,
    filters: Filters,
    search: TextSearch,
) -> Result<TextResults, Problem> {
    let searched = Arc::new(audited_scope(app, caller, dataset, filters).await?);
    let work = Arc::clone(&searched);
    let search = move || {
        let results = text_results(&work, &search);
        work.lists.screener.check().map(|()| results)
    };
    let results = app.cpu.run(move |_| search()).await?.map_err(damaged)?;
    write_audit_row(app, caller, &searched.lists, 1, results.total).await?;
    Ok(results)
}

fn text_results(searched: &Searched, search: &TextSearch) -> TextResults {
    let screener = &searched.lists.screener;
    let mut groups: Vec<Vec<ListEntry<'_>>> = if search.text.trim().is_empty() {
        let entries = screener.entries(&searched.lists.names);
        let entries = entries.filter(|entry| searched.keeps(*entry));
        if searched.lists.names.len() == 1 {
            entries.map(|entry| vec![entry]).collect()
        } else {
            by_entity(entries.map(|entry| ((), entry)))
                .into_iter()
                .map(|(_, group)| group)
                .collect()
        }
    } else {
        let example = Example::of_text(Schema::Thing, &search.text);
        let found = screener.search_entity(&example.entity, &searched.options(TEXT_SCORE));
        let mut hits: Vec<(f64, ListEntry<'_>)> =
            found.hits().filter(|(_, entry)| searched.keeps(*entry)).collect();
        hits.sort_by_cached_key(|(score, entry)| by_score_and_id(*score, *entry));
        by_entity(hits.into_iter())
            .into_iter()
            .map(|(_, group)| group)
            .collect()
    };
    for (key, falling) in search.sort.iter().rev() {
        let value = |group: &Vec<ListEntry<'_>>| -> String {
            group.first().map_or_else(String::new, |entry| match key {
                SortKey::Caption => entry.caption().to_owned(),
                SortKey::Id => entry.id().to_owned(),
                SortKey::Schema => entry.schema().as_str().to_owned(),
            })
        };
        match falling {
            true => groups.sort_by_cached_key(|group| Reverse(value(group))),
            false => groups.sort_by_cached_key(value),
        }
    }
    let page = groups.iter().skip(search.offset).take(search.limit);
    TextResults {
        entities: page.filter_map(|group| EntityRecord::of(group)).collect(),
        total: groups.len(),
        facets: facets::count(groups.iter().map(Vec::as_slice), &search.facets),
    }
}

/// The entity with an id, in the lists that count for the merchant. If several have it, the first list's.
///
/// # Errors
/// 404 without such an entity, 503 without usable lists.
pub async fn entity(app: &Shared, caller: &Caller, id: String) -> Result<EntityRecord, Problem> {
    let (lists, _) = merchant_lists(app, caller).await?;
    let find = move || {
        let entries = lists.screener.entries_with_id(&id, &lists.names);
        let found = by_entity(entries.map(|entry| ((), entry)))
            .first()
            .and_then(|(_, group)| EntityRecord::of(group));
        lists.screener.check().map(|()| found)
    };
    let found = app.cpu.run(move |_| find()).await?.map_err(damaged)?;
    found.ok_or_else(|| Problem::not_found("No such entity in the lists of this account"))
}

/// The lists that count for the merchant, by name.
///
/// # Errors
/// 503 without usable lists.
pub async fn datasets(app: &Shared, caller: &Caller) -> Result<Vec<ListStatus>, Problem> {
    let (lists, _) = merchant_lists(app, caller).await?;
    let mut known = insight::lists(app, caller.scope.sandbox).await?;
    known.retain(|list| lists.names.contains(&list.list));
    Ok(known)
}

/// The lists that count for the merchant, and the merchant's threshold.
async fn merchant_lists(app: &Shared, caller: &Caller) -> Result<(MerchantLists, f64), Problem> {
    let settings = merchants::settings(&caller.merchant)?;
    let confirmed = app.lists.confirm(&app.db).await;
    let lists = confirmed.and_then(|()| app.lists.for_merchant(caller.scope.sandbox, &settings));
    let lists = lists.map_err(|reason| unavailable(reason.to_string()))?;
    Ok((lists, settings.screening_threshold.unwrap_or(DEFAULT_THRESHOLD)))
}

/// What a request searches. A search that fails because the lists are missing is in the audit trail too.
async fn audited_scope(
    app: &Shared,
    caller: &Caller,
    dataset: &str,
    filters: Filters,
) -> Result<Searched, Problem> {
    let (lists, threshold) = match merchant_lists(app, caller).await {
        Ok(found) => found,
        Err(problem) => {
            let detail = json!({"failed": "lists"}).to_string();
            audit(app, caller, &detail).await?;
            return Err(problem);
        }
    };
    let scope = scope(&lists, dataset).ok_or_else(|| {
        let text = "No such dataset: use default, or a name from the catalog (/v2/yente/catalog)";
        Problem::not_found(text)
    })?;
    let changed = match &filters.changed_since {
        Some(since) => {
            let known = insight::lists(app, caller.scope.sandbox).await?;
            let is_known = |name: &&String| known.iter().any(|list| list.list == **name);
            if let Some(name) = lists.names.iter().find(|name| !is_known(name)) {
                return Err(unavailable(format!("the list {name} was replaced meanwhile")));
            }
            Some(changed_lists(known, since))
        }
        None => None,
    };
    Ok(Searched {
        lists,
        threshold,
        scope,
        filters,
        changed,
    })
}

/// The scope of a dataset's name.
fn scope(lists: &MerchantLists, dataset: &str) -> Option<DatasetScope> {
    let is_source = |name: &str| lists.screener.has_dataset(name, &lists.names);
    DatasetScope::of(dataset, &lists.names, is_source)
}

/// The lists cannot be searched until their index is built again.
fn damaged(damage: IndexDamaged) -> Problem {
    unavailable(damage.to_string())
}

/// The lists that were imported after a time. Lists do not state when an entry changed, so all entries of such a list
/// count as changed.
fn changed_lists(lists: Vec<ListStatus>, since: &str) -> Vec<String> {
    let is_changed = |list: &ListStatus| list.imported_at.as_str() > since;
    lists
        .into_iter()
        .filter(is_changed)
        .map(|list| list.list)
        .collect()
}

async fn write_audit_row(
    app: &Shared,
    caller: &Caller,
    lists: &MerchantLists,
    queries: usize,
    hits: usize,
) -> Result<(), Problem> {
    let versions = lists.screener.lists().iter();
    let versions: HashMap<&String, &String> =
        versions.filter(|(name, _)| lists.names.contains(name)).collect();
    let detail = json!({"queries": queries, "hits": hits, "lists": versions}).to_string();
    audit(app, caller, &detail).await
}

async fn audit(app: &Shared, caller: &Caller, detail: &str) -> Result<(), Problem> {
    let entry = Entry {
        actor: &caller.key,
        action: "screening.searched",
        subject: "by API",
        detail,
    };
    audit_trail::write(&app.db, caller.scope, &entry).await
}
