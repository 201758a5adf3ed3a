//! The lists of reports, page by page, and one attempt with everything that its merchant sent and received. It only
//! reads. What reviewers see beyond that (measures, pictures, holds, notes) is in `applicant_view`.

use std::collections::BTreeMap;

use serde_json::Value;
use store::attempts::{self, AttemptFilter, Decision};
use store::link_tokens::{self, LinkFilter, ListedLink};
use store::registrations::{self, Registration, RegistrationFilter};
use store::{Scope, people};

use super::App;
use super::applicants::{AttemptRecord, name_words, opened};
use super::stored_hits::stored_screening;
use crate::problem::Problem;

/// A page of a list.
pub struct Page<T> {
    /// At most the requested number of entries, newest first.
    pub entries: Vec<T>,
    /// Whether another page follows.
    pub has_more: bool,
}

impl<T> Page<T> {
    /// A page of `limit` entries, from one entry more if there is one.
    fn of(mut entries: Vec<T>, limit: u16) -> Self {
        let has_more = entries.len() > usize::from(limit);
        entries.truncate(usize::from(limit));
        Page { entries, has_more }
    }
}

/// A page of the account's registrations. `name` restricts it to people whose names contain all of its words.
pub async fn applicants(
    app: &App,
    scope: Scope,
    name: Option<&str>,
    mut filter: RegistrationFilter,
    limit: u16,
) -> Result<Page<Registration>, Problem> {
    if let Some(name) = name {
        filter.name_words = name_words(name);
        filter.name_words.truncate(people::MOST_NAME_WORDS);
        if filter.name_words.is_empty() {
            return Err(Problem::validation(vec!["name - must contain a letter".into()]));
        }
    }
    let mut conn = app.db.read().await?;
    let found = registrations::page(&mut conn, scope, &filter, i64::from(limit) + 1).await?;
    Ok(Page::of(found, limit))
}

/// A page of the account's attempts. A facemap in the filter may be an alias.
///
/// # Errors
/// When the record of an attempt cannot be read.
pub async fn attempts(
    app: &App,
    scope: Scope,
    mut filter: AttemptFilter<'_>,
    limit: u16,
) -> Result<Page<AttemptRecord>, Problem> {
    let mut conn = app.db.read().await?;
    if let Some(id) = filter.facemap_id {
        let person = people::resolve(&mut conn, scope, id).await?;
        filter.facemap_id = Some(person.map_or(id, |person| person.facemap_id));
    }
    let found = attempts::page(&mut conn, scope, &filter, i64::from(limit) + 1).await?;
    let page = Page::of(found, limit);
    let records = page.entries.into_iter().map(|attempt| Ok(opened(attempt)?.0));
    Ok(Page {
        entries: records.collect::<Result<_, Problem>>()?,
        has_more: page.has_more,
    })
}

/// An attempt with what its merchant sent and received.
pub struct WholeAttempt {
    /// The attempt.
    pub record: AttemptRecord,
    /// The submitted texts, by field.
    pub submission: BTreeMap<String, String>,
    /// The response, as it was sent.
    pub response: Value,
    /// The reviewers' decisions, oldest first.
    pub decisions: Vec<Decision>,
}

/// One attempt.
///
/// # Errors
/// 404 if there is no such attempt; when its record cannot be read.
pub async fn attempt(app: &App, scope: Scope, log_id: &str) -> Result<WholeAttempt, Problem> {
    let missing = || Problem::not_found("No such attempt in this account");
    let log_id = log_id.parse().map_err(|_| missing())?;
    let mut conn = app.db.read().await?;
    let attempt = attempts::get(&mut conn, scope, log_id)
        .await?
        .ok_or_else(missing)?;
    // A response whose screening cannot be read must not be taken for one without hits.
    stored_screening(&attempt)?;
    Ok(WholeAttempt {
        submission: serde_json::from_str(&attempt.request).map_err(Problem::internal)?,
        response: serde_json::from_str(&attempt.response).map_err(Problem::internal)?,
        decisions: attempts::decisions(&mut conn, scope, &attempt).await?,
        record: opened(attempt)?.0,
    })
}

/// `kycResults` of an attempt's response.
///
/// # Errors
/// 503 if this version cannot read it: it must never look like a screening without hits.
pub fn name_screening(record: &AttemptRecord) -> Result<Value, Problem> {
    stored_screening(&record.attempt)?;
    let mut response: Value = serde_json::from_str(&record.attempt.response).map_err(Problem::internal)?;
    Ok(response["kycResults"].take())
}

/// A page of the account's links.
pub async fn links(
    app: &App,
    scope: Scope,
    filter: &LinkFilter<'_>,
    limit: u16,
) -> Result<Page<ListedLink>, Problem> {
    let mut conn = app.db.read().await?;
    let found = link_tokens::page(&mut conn, scope, filter, i64::from(limit) + 1).await?;
    Ok(Page::of(found, limit))
}
