//! Turns a person's hits into alerts and announces them. `verification::rescreening` decides which hits are news.

use std::collections::BTreeSet;

use serde_json::json;
use store::alerts::{self, Alert, AlertState, NewAlert};
use store::attempts::{self, Attempt};
use store::{Scope, Tx};
use uuid::Uuid;
use verification::rescreening::{KnownHit, News, news};
use verification::screening::ScreeningHit;
use verification::status::AttemptStatus;
use verification::suppression::{ClearedListing, effective_listings, is_covered, score};

use super::person_lists::PersonLists;
use super::search::Changes;
use crate::alerts::{Finding, note};
use crate::attempt_detail::Detail;
use crate::problem::Problem;
use crate::stored_hits::{is_match, stored_screening};
use crate::watched::{four_eyes_of, watched};
use crate::{events, suppressions};

/// Who opens and closes alerts, in the audit trail.
const ACTOR: &str = "server";

/// Records what was found about an account's people.
pub(super) struct Recorder<'a> {
    scope: Scope,
    lists: &'a PersonLists,
    changes: &'a Changes,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(scope: Scope, lists: &'a PersonLists, changes: &'a Changes) -> Self {
        Recorder {
            scope,
            lists,
            changes,
        }
    }

    /// Opens an alert for each hit that is news about an approved person, and announces them. Returns how many were
    /// opened or became stronger. The caller has locked the account, so that nobody opens the same alert meanwhile.
    pub(super) async fn record(
        &self,
        tx: &mut Tx,
        person: Uuid,
        hits: &[ScreeningHit],
    ) -> Result<i64, Problem> {
        if !hits.iter().any(|hit| hit.matched) {
            return Ok(0);
        }
        let scope = self.scope;
        let attempts = attempts::of_facemap(tx, scope, person).await?;
        let watched = watched(tx, scope, person, &attempts).await?;
        let Some(home) = watched.first() else {
            return Ok(0);
        };
        let earlier = alerts::of_person(tx, scope, person).await?;
        let known = known_hits(&attempts, &earlier);
        let flows: BTreeSet<Uuid> = watched.iter().map(|attempt| attempt.flow_id).collect();
        let counting = self.lists.searched(&flows);
        let cleared = self.cleared(tx, person, &watched).await?;
        let mut opened = 0;
        for hit in hits.iter().filter(|hit| !is_covered(&cleared, hit)) {
            let (Some(news), Some(list)) = (news(&known, hit), list_of(hit, &counting)) else {
                continue;
            };
            let listing = alerts::listing_ref(tx, scope, list, &hit.id);
            let open = earlier
                .iter()
                .find(|alert| alert.state == AlertState::Open && alert.listing_ref == listing);
            if open.is_some_and(|open| score(hit) <= open.score) {
                continue;
            }
            let known_score = match news {
                News::New => None,
                News::Stronger(known) => Some(known),
            };
            let finding = self.finding(list, hit, known_score)?;
            match open {
                Some(open) => {
                    let attempt = attempts.iter().find(|attempt| attempt.log_id == open.log_id);
                    let attempt = attempt.unwrap_or(home);
                    alerts::replace_hit(tx, scope, attempt, (open.id, score(hit), &finding)).await?;
                    let detail = json!({"logId": open.log_id});
                    note(tx, scope, (ACTOR, "alert.strengthened"), open.id, detail).await?;
                }
                None => {
                    let new = NewAlert {
                        list,
                        entity_id: &hit.id,
                        score: score(hit),
                        hit: &finding,
                    };
                    let id = alerts::open_new(tx, scope, home, &new).await?;
                    let detail = json!({"logId": home.log_id});
                    note(tx, scope, (ACTOR, "alert.opened"), id, detail).await?;
                }
            }
            opened += 1;
        }
        if opened > 0 {
            for attempt in &watched {
                let kind = events::RESCREENED;
                events::announce(tx, scope, attempt, kind, AttemptStatus::Approved).await?;
            }
        }
        Ok(opened)
    }

    /// Replaces the hit of an alert by a weaker one, unless the alert has changed since it was read.
    pub(super) async fn weaken(
        &self,
        tx: &mut Tx,
        alert: &Alert,
        (hit, known_score): (&ScreeningHit, Option<i64>),
    ) -> Result<(), Problem> {
        let scope = self.scope;
        if !is_as_read(tx, scope, alert).await? {
            return Ok(());
        }
        let Some(attempt) = attempts::get(tx, scope, alert.log_id).await? else {
            return Ok(());
        };
        let finding = self.finding(&alert.list, hit, known_score)?;
        if alerts::replace_hit(tx, scope, &attempt, (alert.id, score(hit), &finding)).await? {
            let detail = json!({"logId": alert.log_id});
            note(tx, scope, (ACTOR, "alert.weakened"), alert.id, detail).await?;
        }
        Ok(())
    }

    fn finding(&self, list: &str, hit: &ScreeningHit, known_score: Option<i64>) -> Result<String, Problem> {
        let change = self.changes.get(&(list.to_owned(), hit.id.clone()));
        let finding = Finding {
            hit: hit.clone(),
            known_score,
            change: change.map(|(kind, _)| *kind),
            fields: change.map(|(_, fields)| fields.clone()).unwrap_or_default(),
            version: self
                .lists
                .lists
                .all
                .screener
                .lists()
                .get(list)
                .cloned()
                .unwrap_or_default(),
        };
        serde_json::to_string(&finding).map_err(Problem::internal)
    }

    /// The listings that a reviewer found not to mean the person. They count for all of the person's approvals, so the
    /// strictest Flow counts, and the least proven face.
    async fn cleared(
        &self,
        tx: &mut Tx,
        person: Uuid,
        watched: &[Attempt],
    ) -> Result<Vec<ClearedListing>, Problem> {
        let mut proven = true;
        for attempt in watched {
            // Nothing is set aside by what cannot be read.
            let Ok(detail) = Detail::of(attempt) else {
                return Ok(Vec::new());
            };
            proven &= detail.face_proven;
        }
        let rows = suppressions::of_attempt(tx, self.scope, person, proven).await?;
        let required = four_eyes_of(tx, self.scope, watched).await?;
        let needs_two = required.account || required.flow;
        let cleared = rows.map_or_else(Vec::new, |rows| suppressions::cleared(&rows));
        Ok(effective_listings(cleared, needs_two))
    }
}

/// The imported list that contains a hit, of those that count. An entry names the list that it was imported with last.
fn list_of<'h>(hit: &'h ScreeningHit, counting: &[String]) -> Option<&'h str> {
    let mut datasets = hit.datasets.iter().rev();
    datasets.find(|name| counting.contains(name)).map(String::as_str)
}

/// The hits that the person's approved attempts listed, and those of alerts that are decided. A record that cannot be
/// read hides nothing: its hits count as unknown.
fn known_hits(attempts: &[Attempt], alerts: &[Alert]) -> Vec<KnownHit> {
    let mut known = Vec::new();
    for attempt in attempts
        .iter()
        .filter(|attempt| attempt.status == AttemptStatus::Approved)
    {
        if let Ok(screening) = stored_screening(attempt) {
            known.extend(screening.results.iter().map(known_hit));
        }
        if let Ok(detail) = Detail::of(attempt) {
            known.extend(detail.suppressed.iter().map(known_hit));
        }
    }
    for alert in alerts.iter().filter(|alert| alert.state.is_decided()) {
        if let Ok(finding) = Finding::of(alert) {
            known.push(known_hit(&finding.hit));
        }
    }
    known
}

/// A hit as it is known.
fn known_hit(hit: &ScreeningHit) -> KnownHit {
    KnownHit {
        id: hit.id.clone(),
        datasets: hit.datasets.clone(),
        score: score(hit),
        matched: is_match(hit),
    }
}

/// Whether an alert is open and nobody has changed it since it was read. The caller has locked the account.
async fn is_as_read(tx: &mut Tx, scope: Scope, alert: &Alert) -> Result<bool, Problem> {
    let now = alerts::get(tx, scope, alert.id).await?;
    Ok(now.is_some_and(|now| now.state == AlertState::Open && now.changed_at == alert.changed_at))
}

/// Closes an alert because of a change of its list, unless it has changed since it was read.
pub(super) async fn close(
    tx: &mut Tx,
    scope: Scope,
    alert: &Alert,
    state: AlertState,
) -> Result<(), Problem> {
    if is_as_read(tx, scope, alert).await? && alerts::close(tx, scope, alert.id, state).await? {
        let detail = json!({"logId": alert.log_id});
        note(tx, scope, (ACTOR, "alert.closed"), alert.id, detail).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use verification::rescreening::news;

    use super::*;

    /// A hit as an earlier version recorded it: a match, whatever the entry's topics.
    #[test]
    fn a_politically_exposed_person_who_is_sanctioned_is_news() {
        let hit = |topics: serde_json::Value| -> ScreeningHit {
            let hit = json!({"id": "os-1", "caption": "Ottoline Velloway", "schema": "Person", "score": 0.9,
                "match": true, "datasets": ["os"], "topics": topics});
            serde_json::from_value(hit).unwrap()
        };
        let sanctioned = hit(json!(["role.pep", "sanction"]));
        for (earlier, expected) in [
            (json!(["role.pep"]), Some(News::New)),
            (json!(["sanction"]), None),
            (json!([]), None),
            (json!(null), None),
        ] {
            let known = [known_hit(&hit(earlier.clone()))];
            assert_eq!(news(&known, &sanctioned), expected, "{earlier}");
        }
    }
}
