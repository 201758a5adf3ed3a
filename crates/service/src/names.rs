//! Screens an applicant under every known name: the submitted one, those that accepted readings of documents
//! state, and those that the same proven face used in earlier attempts
//! (`docs/decisions/0022-names-that-are-screened.md`).
//!
//! The earlier names are certain only inside the account's serial step, which finds the person.
//! [`load_earlier_names`] therefore reads and screens them before the step, for the person whose face is
//! nearest then. [`check_names_in_step`] only compares: if the person or the person's attempts have changed
//! in between, the step ends and the caller begins again.

use std::collections::BTreeMap;
use std::sync::Arc;

use sanctions::Query;
use store::attempts::{self, Attempt};
use store::rescreenings::{self, ListDigests};
use store::{Conn, Scope, Tx, people};
use uuid::Uuid;
use verification::dates;
use verification::names::{MAX_HITS, ScreenedName, combine, distinct};
use verification::screening::Screening;
use verification::status::AttemptStatus;

use super::attempt_detail::Detail;
use super::flow_choices::FlowChoices;
use super::lists::Lists;
use super::merchants::MerchantSettings;
use super::{Shared, cpu, screening_hits};
use crate::problem::Problem;

/// The response while screening is unavailable.
pub fn unavailable(reason: String) -> Problem {
    Problem::unavailable("Sanctions screening is unavailable; please try again shortly").because(reason)
}

/// Screens names against the same lists. The first is the submitted name. Blocks.
///
/// # Errors
/// 503 if the lists cannot be used. An applicant who cannot be screened is not verified.
fn screen(
    lists: &Lists,
    names: &[ScreenedName],
    sandbox: bool,
    settings: &MerchantSettings,
) -> Result<(Screening, ListDigests), Problem> {
    let queries: Vec<Query> = names.iter().map(query).collect();
    let searched = lists
        .screen_all(&queries, sandbox, settings)
        .map_err(unavailable)?;
    let screened = searched.results.into_iter().map(screening_hits::screening);
    Ok((combine(names.iter().zip(screened), MAX_HITS), searched.lists))
}

/// The search for a name.
pub(crate) fn query(name: &ScreenedName) -> Query {
    Query {
        schema: Some("Person".into()),
        name: Some(name.name.clone()),
        first_name: name.first_name.clone(),
        last_name: name.last_name.clone(),
        aliases: name.variants.clone(),
        dob: name.birth_date.clone(),
        country: name.country.clone(),
        nationality: name.nationality.clone(),
        ..Query::default()
    }
}

/// Names with their screening, the submitted name first.
#[derive(Clone, Debug)]
pub struct ScreenedNames {
    names: Vec<ScreenedName>,
    screening: Screening,
    /// The lists that were searched.
    lists: ListDigests,
}

impl ScreenedNames {
    /// Screens names. Blocks.
    ///
    /// # Errors
    /// See [`screen`].
    pub fn new(
        names: Vec<ScreenedName>,
        lists: &Lists,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<Self, Problem> {
        let (screening, lists) = screen(lists, &names, sandbox, settings)?;
        Ok(Self {
            names,
            screening,
            lists,
        })
    }

    /// Screens all names again if there are further ones. Blocks.
    ///
    /// # Errors
    /// See [`screen`].
    pub fn with(
        self,
        more: impl IntoIterator<Item = ScreenedName>,
        lists: &Lists,
        sandbox: bool,
        settings: &MerchantSettings,
    ) -> Result<Self, Problem> {
        let names = distinct(self.names.iter().cloned().chain(more));
        match names == self.names {
            true => Ok(self),
            false => Self::new(names, lists, sandbox, settings),
        }
    }

    /// The screening of these names.
    pub fn screening(&self) -> &Screening {
        &self.screening
    }

    /// Whether the Flow's people were looked at last, or are being looked at, against other lists than those that were
    /// searched; or whether the person has earlier names that may have been screened against another Flow's lists. Call
    /// it in the account's serial step, after the attempt was stored: a run that begins afterwards looks at this person
    /// itself.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn is_outdated(
        &self,
        tx: &mut Tx,
        scope: Scope,
        (flow_id, person): (Uuid, Uuid),
    ) -> Result<bool, Problem> {
        let state = match rescreenings::get(tx, scope).await {
            Ok(Some(state)) => state,
            // The first run looks at everybody.
            Ok(None) => return Ok(false),
            // Not knowing what the run covers must not prevent a verification.
            Err(store::Error::Unreadable(_)) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let run = state.target.unwrap_or(state.done);
        if self.lists != *run.of_flow(flow_id) {
            return Ok(true);
        }
        let is_first = attempts::log_ids(tx, scope, person).await?.len() == 1;
        Ok(!is_first && (!run.flows.is_empty() || FlowChoices::of_account(tx, scope).await?.has_lists()))
    }

    /// The names, the submitted one first.
    pub fn names(&self) -> &[ScreenedName] {
        &self.names
    }
}

/// The names that each attempt's proven face used, by the attempt's number.
pub type NamesByAttempt = BTreeMap<i64, Vec<ScreenedName>>;

/// Earlier names of the person with the nearest face just before the account's serial step, and their
/// screening.
#[derive(Default)]
pub struct EarlierNames {
    earlier: NamesByAttempt,
    screened: Option<ScreenedNames>,
}

/// Reads the earlier names of a person and screens them with an attempt's own names.
///
/// # Errors
/// See [`screen`]; 503 where an earlier attempt cannot be read.
pub async fn load_earlier_names(
    app: &Shared,
    scope: Scope,
    person: Uuid,
    own: &ScreenedNames,
    settings: &MerchantSettings,
) -> Result<EarlierNames, Problem> {
    let earlier = of_person(&mut app.db.read().await?, scope, person, &NamesByAttempt::new()).await?;
    screen_earlier_names(app, scope, earlier, own, settings).await
}

/// Screens earlier names with an attempt's own names.
///
/// # Errors
/// See [`screen`].
pub async fn screen_earlier_names(
    app: &Shared,
    scope: Scope,
    earlier: NamesByAttempt,
    own: &ScreenedNames,
    settings: &MerchantSettings,
) -> Result<EarlierNames, Problem> {
    let (app, own, settings) = (Arc::clone(app), own.clone(), settings.clone());
    let more: Vec<ScreenedName> = earlier.values().flatten().cloned().collect();
    let screened = cpu::blocking(move || Ok(own.with(more, &app.lists, scope.sandbox, &settings))).await??;
    Ok(EarlierNames {
        earlier,
        screened: Some(screened),
    })
}

/// What the account's serial step found about a person's names.
pub enum NameCheck {
    /// All of them were screened ahead: the screening that counts.
    Screened(Screening),
    /// There are other names. They must be screened before the step begins again.
    Unscreened(NamesByAttempt),
}

/// The screening that counts for the person whom the account's serial step found, if all names were screened
/// ahead.
///
/// # Errors
/// 503 where an earlier attempt cannot be read.
pub async fn check_names_in_step(
    tx: &mut Tx,
    scope: Scope,
    person: Uuid,
    own: &ScreenedNames,
    ahead: &EarlierNames,
) -> Result<NameCheck, Problem> {
    let earlier = of_person(tx, scope, person, &ahead.earlier).await?;
    let known = earlier.values().flatten().cloned();
    let names = distinct(own.names.iter().cloned().chain(known));
    let screened = [Some(own), ahead.screened.as_ref()].into_iter().flatten();
    let found = screened.into_iter().find(|screened| screened.names == names);
    Ok(found.map_or(NameCheck::Unscreened(earlier), |screened| {
        NameCheck::Screened(screened.screening.clone())
    }))
}

/// Whether the person has a name, or data with a name, under which an attempt was not screened.
///
/// # Errors
/// 503 where an earlier attempt cannot be read.
pub async fn any_unscreened(
    conn: &mut Conn,
    scope: Scope,
    person: Uuid,
    screened: &[ScreenedName],
) -> Result<bool, Problem> {
    let earlier = of_person(conn, scope, person, &NamesByAttempt::new()).await?;
    let known = screened.iter().cloned();
    let all = distinct(known.clone().chain(earlier.into_values().flatten()));
    Ok(all.len() > distinct(known).len())
}

/// The names under which a person's face was proven, by attempt. Attempts in `known` are not opened again.
async fn of_person(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    known: &NamesByAttempt,
) -> Result<NamesByAttempt, Problem> {
    let Some(person) = people::resolve(conn, scope, facemap_id).await? else {
        return Ok(NamesByAttempt::new());
    };
    let mut found = NamesByAttempt::new();
    for log_id in attempts::log_ids(conn, scope, person.facemap_id).await? {
        let names = match known.get(&log_id) {
            Some(names) => names.clone(),
            // An attempt that retention removes meanwhile has no names any more.
            None => match attempts::get(conn, scope, log_id).await? {
                Some(attempt) => of_attempt(&attempt)?,
                None => Vec::new(),
            },
        };
        found.insert(log_id, names);
    }
    Ok(found)
}

/// The names that an attempt's face used; none if no face was proven.
fn of_attempt(attempt: &Attempt) -> Result<Vec<ScreenedName>, Problem> {
    let detail = Detail::of(attempt)?;
    let was_doubted = detail.holds.iter().any(|hold| hold.leaves_face_unproven());
    let is_approved = attempt.status == AttemptStatus::Approved;
    let names = if detail.face_identified || (was_doubted && is_approved) {
        detail.names
    } else if detail.face_proven && detail.names.is_empty() {
        // An earlier version recorded the attempt without its names.
        vec![submitted_then(&attempt.request)?]
    } else {
        Vec::new()
    };
    Ok(names.into_iter().map(ScreenedName::of_earlier_attempt).collect())
}

/// The name in a recorded request.
pub(super) fn submitted_then(request: &str) -> Result<ScreenedName, Problem> {
    let texts: BTreeMap<String, String> = serde_json::from_str(request).map_err(Problem::internal)?;
    let text = |field: &str| texts.get(field).map(String::as_str);
    let dob = text("dob").and_then(dates::parse_us);
    Ok(ScreenedName::of_form(text, dob))
}

#[cfg(test)]
mod tests;
