//! The names of approved people, and the attempts of earlier versions whose names are not yet beside their records.

use std::collections::{BTreeMap, BTreeSet};

use store::attempts::{self, Attempt};
use store::rescreenings::{self, StoredNames};
use store::{Conn, Db, Scope};
use uuid::Uuid;
use verification::names::ScreenedName;
use verification::rescreening::{AttemptNames, names_of_person};

use crate::attempt_detail::Detail;
use crate::names::submitted_then;
use crate::problem::Problem;

/// A person with an approved registration.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Person {
    /// The names.
    pub(super) names: Vec<ScreenedName>,
    /// The Flows of the newest approved attempt of each approved registration.
    pub(super) flows: BTreeSet<Uuid>,
}

/// What was read of one person's attempts.
#[derive(Default)]
struct Collected {
    names: Vec<(bool, AttemptNames)>,
    /// By registration.
    flows: BTreeMap<Uuid, Uuid>,
}

/// The names of people with an approved registration.
#[derive(Default)]
pub(super) struct Names {
    /// By person.
    pub(super) people: BTreeMap<Uuid, Person>,
    /// People of whom this version cannot read every name.
    pub(super) unreadable: BTreeSet<Uuid>,
    /// Attempts of earlier versions, with their names as JSON.
    unstored: Vec<(Attempt, String)>,
}

impl Names {
    /// The names of the people with an approved registration after one facemap, up to another.
    pub(super) async fn between(
        conn: &mut Conn,
        scope: Scope,
        after: Uuid,
        last: Uuid,
    ) -> Result<Names, Problem> {
        let rows = rescreenings::names_between(conn, scope, after, last).await?;
        let mut found = Names::default();
        let mut people: BTreeMap<Uuid, Collected> = BTreeMap::new();
        for row in rows {
            let names = match row.names {
                StoredNames::Text(names) => serde_json::from_str(&names).ok(),
                StoredNames::Unreadable => None,
                StoredNames::InRecord => match attempts::get(conn, scope, row.log_id).await {
                    Ok(Some(attempt)) => found.read_record(attempt),
                    // Retention has removed it meanwhile.
                    Ok(None) => continue,
                    Err(store::Error::Sealed | store::Error::Unreadable(_)) => None,
                    Err(error) => return Err(error.into()),
                },
            };
            let Some(names) = names else {
                let attempt = row.log_id;
                tracing::warn!(attempt, "the names of an approved person cannot be read");
                found.unreadable.insert(row.facemap_id);
                continue;
            };
            let of_person = people.entry(row.facemap_id).or_default();
            of_person.names.push((row.is_approved, names));
            if let Some(registration) = row.approved_registration.filter(|_| row.is_approved) {
                // The rows are ordered, so that the newest attempt remains.
                of_person.flows.insert(registration, row.flow_id);
            }
        }
        people.retain(|person, _| !found.unreadable.contains(person));
        let of_person = |(person, attempts): (Uuid, Collected)| {
            let read = Person {
                names: names_of_person(attempts.names),
                flows: attempts.flows.into_values().collect(),
            };
            (person, read)
        };
        found.people = people.into_iter().map(of_person).collect();
        Ok(found)
    }

    fn read_record(&mut self, attempt: Attempt) -> Option<AttemptNames> {
        let names = names_in_record(&attempt).ok()?;
        let text = serde_json::to_string(&names).ok()?;
        self.unstored.push((attempt, text));
        Some(names)
    }

    /// Stores the names of attempts of earlier versions beside their records, so that the next run opens no record.
    pub(super) async fn remember(&mut self, db: &Db, scope: Scope) -> Result<(), Problem> {
        let unstored = std::mem::take(&mut self.unstored);
        for some in unstored.chunks(20) {
            store::transaction!(db, |tx| -> Result<(), store::Error> {
                for (attempt, names) in some {
                    rescreenings::remember_names(tx, scope, attempt, names).await?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// One person; `None` if the person has no approved registration.
///
/// # Errors
/// 503 if this version cannot read all names.
pub(super) async fn of_person(
    conn: &mut Conn,
    scope: Scope,
    person: Uuid,
) -> Result<Option<Person>, Problem> {
    let before = Uuid::from_u128(person.as_u128().saturating_sub(1));
    let mut names = Names::between(conn, scope, before, person).await?;
    match names.unreadable.is_empty() {
        true => Ok(names.people.remove(&person)),
        false => {
            let text = "The names of an approved person cannot be read";
            Err(Problem::unavailable(text).because(format!("facemap {person}")))
        }
    }
}

fn names_in_record(attempt: &Attempt) -> Result<AttemptNames, Problem> {
    let mut names = Detail::of(attempt)?.attempt_names();
    if names.names.is_empty() {
        names.names.push(submitted_then(&attempt.request)?);
    }
    Ok(names)
}
