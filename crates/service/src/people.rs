//! Finds people by words of their names and by the ids that a merchant may have. Names are searched only by
//! blind indexes.

use std::str::FromStr;

use store::people::{self, Person};
use store::registrations::{self, Registration};
use store::{Conn, Scope, applicants, attempts};
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;

use super::App;
use super::applicants::name_words;
use super::attempt_detail::Detail;
use crate::problem::Problem;

/// The maximum number of people in a search result.
pub const MOST_FOUND: usize = 25;
/// The maximum number of people that are read for the rarest word.
const MOST_LOOKED_AT: i64 = 20_000;
/// The maximum number of attempts that are read to find the one that proved a face.
const MOST_OPENED: i64 = 50;
/// The maximum length of a searched text, in characters.
pub const MAX_TEXT: usize = 500;

/// A person in a search result.
pub struct FoundPerson {
    /// The person.
    pub person: Person,
    /// Most recently active first.
    pub registrations: Vec<Registration>,
    /// The data of the person's [identifying attempt](identifying_attempt); empty if none is stored.
    pub info: ApplicantInfo,
    /// The newest attempt.
    pub log_id: Option<i64>,
}

/// A search result.
#[derive(Default)]
pub struct Search {
    /// At most [`MOST_FOUND`].
    pub people: Vec<FoundPerson>,
    /// The attempt, if its number or its session's id was searched.
    pub log_id: Option<i64>,
    /// Whether there may be more people. More words narrow the search.
    pub more: bool,
}

/// Searches by an attempt's number, an id (facemap or session), an externalUserId, or words of a name. Ids
/// come first in the result.
pub async fn search(app: &App, scope: Scope, text: &str) -> Result<Search, Problem> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_TEXT {
        return Err(Problem::invalid(format!(
            "search - must have 1 to {MAX_TEXT} characters"
        )));
    }
    let mut conn = app.db.read().await?;
    let mut ids: Vec<Uuid> = Vec::new();
    let mut search = Search::default();
    if let Ok(log_id) = i64::from_str(text.trim_start_matches('#'))
        && let Some(attempt) = attempts::get(&mut conn, scope, log_id).await?
    {
        search.log_id = Some(log_id);
        ids.push(attempt.facemap_id);
    }
    if let Ok(id) = Uuid::parse_str(text) {
        ids.extend(
            people::resolve(&mut conn, scope, id)
                .await?
                .map(|person| person.facemap_id),
        );
        if let Some(log_id) = attempts::newest_of_session(&mut conn, scope, id).await? {
            search.log_id = Some(log_id);
            let attempt = attempts::get(&mut conn, scope, log_id).await?;
            ids.extend(attempt.map(|attempt| attempt.facemap_id));
        }
    }
    let labelled = applicants::by_external_user_id(&mut conn, scope, text).await?;
    ids.extend(labelled.into_iter().map(|applicant| applicant.facemap_id));
    let words = name_words(text);
    if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let limit = MOST_FOUND as i64;
        let (named, complete) =
            people::find_by_name_words(&mut conn, scope, &words, MOST_LOOKED_AT, limit).await?;
        search.more = !complete;
        ids.extend(named);
    }
    let mut unique = Vec::new();
    for id in ids {
        if !unique.contains(&id) && unique.len() < MOST_FOUND {
            unique.push(id);
        }
    }
    for id in unique {
        search.people.extend(read_person(&mut conn, scope, id).await?);
    }
    Ok(search)
}

async fn read_person(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
) -> Result<Option<FoundPerson>, Problem> {
    let Some(person) = people::resolve(conn, scope, facemap_id).await? else {
        return Ok(None);
    };
    let newest = attempts::newest_of_facemap(conn, scope, person.facemap_id).await?;
    let known = identifying_attempt(conn, scope, &person).await?;
    Ok(Some(FoundPerson {
        registrations: registrations::of_facemap(conn, scope, person.facemap_id).await?,
        person,
        info: known.map(|(_, detail)| detail.info).unwrap_or_default(),
        log_id: newest.map(|attempt| attempt.log_id),
    }))
}

/// The attempt that identifies a person. For a person with a proven face it is the newest attempt that the
/// face proved, because other attempts with the label may be anyone's. If none is found, it is the first
/// attempt, with which the face came. For a person without a proven face it is the newest attempt.
pub async fn identifying_attempt(
    conn: &mut Conn,
    scope: Scope,
    person: &Person,
) -> Result<Option<(i64, Detail)>, Problem> {
    let mut known = None;
    for log_id in attempts::latest_and_first(conn, scope, person.facemap_id, MOST_OPENED).await? {
        let Some(attempt) = attempts::get(conn, scope, log_id).await? else {
            continue;
        };
        let detail = Detail::of(&attempt)?;
        let is_it = detail.face_proven || !person.proven;
        known = Some((log_id, detail));
        if is_it {
            break;
        }
    }
    Ok(known)
}

/// The name that was submitted.
pub fn name(info: &ApplicantInfo) -> String {
    [info.first_name.as_deref(), info.last_name.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}
