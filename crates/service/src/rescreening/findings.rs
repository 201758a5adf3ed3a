//! Turns a person's hits into alerts and announces them. `verification::rescreening` decides which hits are news.

use serde_json::json;
use store::alerts::{self, Alert, AlertState, NewAlert};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::{Scope, Tx};
use uuid::Uuid;
use verification::rescreening::{KnownHit, News, news};
use verification::screening::ScreeningHit;
use verification::status::AttemptStatus;
use verification::suppression::{ClearedListing, effective_listings, is_covered, score};

use super::search::Changes;
use crate::alerts::Finding;
use crate::attempt_detail::Detail;
use crate::lists::MerchantLists;
use crate::merchants::MerchantSettings;
use crate::problem::Problem;
use crate::stored_hits::stored_screening;
use crate::{events, flow_content, four_eyes, suppressions};

/// Who opens and closes alerts, in the audit trail.
const ACTOR: &str = "server";

/// Records what was found about an account's people.
pub(super) struct Recorder<'a> {
    scope: Scope,
    settings: &'a MerchantSettings,
    lists: &'a MerchantLists,
    changes: &'a Changes,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        scope: Scope,
        settings: &'a MerchantSettings,
        lists: &'a MerchantLists,
        changes: &'a Changes,
    ) -> Self {
        Recorder {
            scope,
            settings,
            lists,
            changes,
        }
    }

    /// Opens an alert for each hit that is news about an approved person, and announces them. Returns how many were
    /// opened or became stronger.
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
        let cleared = self.cleared(tx, person, home).await?;
        let mut opened = 0;
        for hit in hits.iter().filter(|hit| !is_covered(&cleared, hit)) {
            let (Some(news), Some(list)) = (news(&known, hit), self.list_of(hit)) else {
                continue;
            };
            let listing = alerts::listing_ref(tx, scope, list, &hit.id);
            let open = earlier
                .iter()
                .find(|alert| alert.state == AlertState::Open && alert.listing_ref == listing);
            if open.is_some_and(|open| score(hit) <= open.score) {
                continue;
            }
            let finding = self.finding(list, hit, news)?;
            match open {
                Some(open) => {
                    let attempt = attempts.iter().find(|attempt| attempt.log_id == open.log_id);
                    let attempt = attempt.unwrap_or(home);
                    alerts::replace_hit(tx, scope, attempt, (open.id, score(hit), &finding)).await?;
                    note(tx, scope, "alert.strengthened", open.id, open.log_id).await?;
                }
                None => {
                    let new = NewAlert {
                        list,
                        entity_id: &hit.id,
                        score: score(hit),
                        hit: &finding,
                    };
                    let id = alerts::open_new(tx, scope, home, &new).await?;
                    note(tx, scope, "alert.opened", id, home.log_id).await?;
                }
            }
            opened += 1;
        }
        if opened > 0 {
            for attempt in &watched {
                let kind = "verification.rescreened";
                events::announce(tx, scope, attempt, kind, AttemptStatus::Approved).await?;
            }
        }
        Ok(opened)
    }

    /// Replaces the hit of an alert by a weaker one.
    pub(super) async fn weaken(&self, tx: &mut Tx, alert: &Alert, hit: &ScreeningHit) -> Result<(), Problem> {
        let Some(attempt) = attempts::get(tx, self.scope, alert.log_id).await? else {
            return Ok(());
        };
        let finding = self.finding(&alert.list, hit, News::New)?;
        if alerts::replace_hit(tx, self.scope, &attempt, (alert.id, score(hit), &finding)).await? {
            note(tx, self.scope, "alert.weakened", alert.id, alert.log_id).await?;
        }
        Ok(())
    }

    fn finding(&self, list: &str, hit: &ScreeningHit, news: News) -> Result<String, Problem> {
        let change = self.changes.get(&(list.to_owned(), hit.id.clone()));
        let finding = Finding {
            hit: hit.clone(),
            known_score: match news {
                News::New => None,
                News::Stronger(known) => Some(known),
            },
            change: change.map(|(kind, _)| *kind),
            fields: change.map(|(_, fields)| fields.clone()).unwrap_or_default(),
            version: self.lists.screener.lists().get(list).cloned().unwrap_or_default(),
        };
        serde_json::to_string(&finding).map_err(Problem::internal)
    }

    /// The imported list that contains a hit. An entry names the list that it was imported with last.
    fn list_of<'h>(&self, hit: &'h ScreeningHit) -> Option<&'h str> {
        let mut datasets = hit.datasets.iter().rev();
        datasets
            .find(|name| self.lists.names.contains(name))
            .map(String::as_str)
    }

    /// The listings that a reviewer found not to mean the person.
    async fn cleared(
        &self,
        tx: &mut Tx,
        person: Uuid,
        home: &Attempt,
    ) -> Result<Vec<ClearedListing>, Problem> {
        let proven = Detail::of(home).is_ok_and(|detail| detail.face_proven);
        let rows = suppressions::of_attempt(tx, self.scope, person, proven).await?;
        let required = four_eyes::of_attempt(tx, self.scope, home).await?;
        let needs_two = self.settings.four_eyes || required.account || required.flow;
        let cleared = rows.map_or_else(Vec::new, |rows| suppressions::cleared(&rows));
        Ok(effective_listings(cleared, needs_two))
    }
}

/// The newest approved attempt of each approved registration whose Flow watches its people, the newest first.
async fn watched(
    tx: &mut Tx,
    scope: Scope,
    person: Uuid,
    attempts: &[Attempt],
) -> Result<Vec<Attempt>, Problem> {
    let registrations = store::registrations::of_facemap(tx, scope, person).await?;
    let mut found: Vec<Attempt> = Vec::new();
    for registration in registrations {
        if registration.status != Some(AttemptStatus::Approved) {
            continue;
        }
        // Newest first.
        let newest = attempts.iter().find(|attempt| {
            attempt.registration_id == Some(registration.id) && attempt.status == AttemptStatus::Approved
        });
        let Some(newest) = newest else { continue };
        let flow = store::flows::get(tx, scope, newest.flow_id).await?;
        // People of a Flow that was deleted or cannot be read are watched.
        let is_on = flow.is_none_or(|flow| {
            flow_content::parse(&flow.into()).map_or(true, |flow| flow.settings.ongoing_screening)
        });
        if is_on {
            found.push(newest.clone());
        }
    }
    found.sort_by_key(|attempt| std::cmp::Reverse(attempt.log_id));
    Ok(found)
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
            known.extend(screening.results.iter().map(KnownHit::from));
        }
        if let Ok(detail) = Detail::of(attempt) {
            known.extend(detail.suppressed.iter().map(KnownHit::from));
        }
    }
    for alert in alerts.iter().filter(|alert| alert.state.is_decided()) {
        if let Ok(finding) = Finding::of(alert) {
            known.push(KnownHit::from(&finding.hit));
        }
    }
    known
}

/// Closes an alert because of a change of its list.
pub(super) async fn close(
    tx: &mut Tx,
    scope: Scope,
    alert: &Alert,
    state: AlertState,
) -> Result<(), Problem> {
    if alerts::close(tx, scope, alert.id, state).await? {
        note(tx, scope, "alert.closed", alert.id, alert.log_id).await?;
    }
    Ok(())
}

/// An audit row. It contains neither list nor entry, because audit rows are never erased.
async fn note(tx: &mut Tx, scope: Scope, action: &str, id: Uuid, log_id: i64) -> Result<(), Problem> {
    let (subject, detail) = (id.to_string(), json!({"logId": log_id}).to_string());
    let entry = Entry {
        actor: ACTOR,
        action,
        subject: &subject,
        detail: &detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}
