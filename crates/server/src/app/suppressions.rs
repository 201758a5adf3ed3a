//! "Not this person": a reviewer found that a listing does not mean somebody. Screening still finds it, but for this person it does not
//! count any more, until the hit grows stronger than the one that was looked at or another list takes the entry up.

use serde_json::{Value, json};
use store::audit::{self, Entry};
use store::suppressions::{self, Suppression};
use store::{Conn, Db, Error, Scope, attempts, people};
use uuid::Uuid;
use verification::evidence::Screening;

use super::seen::Detail;
use crate::error::{Kind, Problem};

/// Why a listing does not mean a person. Words of ours only: they are kept unsealed.
pub const REASONS: [&str; 5] = ["name", "birth_date", "nationality", "gender", "other"];

/// A hit's list entries: its id in each dataset that lists it.
fn listings(hit: &Value) -> Vec<(String, String)> {
    let id = hit["id"].as_str().unwrap_or_default();
    let datasets = hit["datasets"].as_array().map_or(&[][..], Vec::as_slice);
    datasets
        .iter()
        .filter_map(Value::as_str)
        .map(|list| (list.to_owned(), id.to_owned()))
        .collect()
}

/// A hit's score in ten-thousandths, to which scores are rounded.
fn score(hit: &Value) -> i64 {
    (hit["score"].as_f64().unwrap_or(1.0) * 10_000.0).round() as i64
}

/// Whether every list entry of a hit was found not to mean the person, by a hit as strong.
pub fn covers(known: &[Suppression], hit: &Value) -> bool {
    let (listings, score) = (listings(hit), score(hit));
    let is_known = |(list, id): &(String, String)| {
        known
            .iter()
            .any(|entry| entry.list == *list && entry.entity_id == *id && score <= entry.score)
    };
    !listings.is_empty() && listings.iter().all(is_known)
}

/// What was found not to mean the person of an attempt; `None` where that must not concern the attempt: the person was proven by a face,
/// and the attempt's own face did not prove that it is theirs ([`Detail::face_proven`]). The label alone is anybody's who submits it.
pub async fn of_attempt(
    conn: &mut Conn,
    scope: Scope,
    facemap_id: Uuid,
    face_proven: bool,
) -> Result<Option<Vec<Suppression>>, Error> {
    let person = people::resolve(conn, scope, facemap_id).await?;
    if !face_proven && person.is_some_and(|person| person.proven) {
        return Ok(None);
    }
    suppressions::of_person(conn, scope, facemap_id).await.map(Some)
}

/// A screening as it counts for a person, and the hits that do not.
pub fn apply(known: &[Suppression], screening: &Screening) -> (Screening, Vec<Value>) {
    let (suppressed, counted): (Vec<Value>, Vec<Value>) = screening
        .results
        .iter()
        .cloned()
        .partition(|hit| covers(known, hit));
    let beyond = screening.total.saturating_sub(screening.results.len());
    let counting = Screening {
        total: counted.len() + beyond,
        matched: screening.matched && (beyond > 0 || counted.iter().any(|hit| hit["match"] == true)),
        results: counted,
        ..screening.clone()
    };
    (counting, suppressed)
}

/// Notes that a hit of an attempt does not mean its person. The attempt itself stays as it is: somebody decides on it.
pub async fn suppress(
    db: &Db,
    scope: Scope,
    log_id: i64,
    hit_id: &str,
    reason: &str,
    (staff_id, actor): (Uuid, &str),
) -> Result<(), Problem> {
    if !REASONS.contains(&reason) {
        let text = format!("reason - must be one of {}", REASONS.join(", "));
        return Err(Problem::invalid(text).named("why_required"));
    }
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let attempt = attempts::get_for_update(tx, scope, log_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such attempt"))?;
        let detail: Detail = serde_json::from_str(&attempt.detail).map_err(Problem::internal)?;
        if of_attempt(tx, scope, attempt.facemap_id, detail.face_proven)
            .await?
            .is_none()
        {
            let text =
                "No face proved that this attempt is this person's: nothing is set aside for them by it";
            return Err(Problem::new(Kind::Conflict, text).named("unproven"));
        }
        let response: Value = serde_json::from_str(&attempt.response).map_err(Problem::internal)?;
        let hits = response["kycResults"]["results"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let hit = hits
            .iter()
            .find(|hit| hit["id"] == hit_id)
            .ok_or_else(|| Problem::not_found("The attempt has no such hit"))?;
        for (list, entity_id) in listings(hit) {
            let suppression = Suppression {
                list,
                entity_id,
                score: score(hit),
                staff_id,
                reason: reason.to_owned(),
                at: tx.now(),
            };
            suppressions::put(tx, scope, attempt.facemap_id, &suppression).await?;
            let detail = json!({
                "list": suppression.list, "entry": suppression.entity_id, "reason": reason, "logId": log_id,
            });
            write(
                tx,
                scope,
                actor,
                "person.listing_suppressed",
                attempt.facemap_id,
                &detail,
            )
            .await?;
        }
        Ok(())
    })
}

/// Takes it back: the listing counts again for the person's next attempts.
pub async fn undo(
    db: &Db,
    scope: Scope,
    facemap_id: Uuid,
    (list, entity_id): (&str, &str),
    actor: &str,
) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        let missing = || Problem::not_found("No such listing is set aside for this person");
        let person = store::people::resolve(tx, scope, facemap_id)
            .await?
            .ok_or_else(missing)?;
        if !suppressions::remove(tx, scope, person.facemap_id, list, entity_id).await? {
            return Err(missing());
        }
        let detail = json!({"list": list, "entry": entity_id});
        write(
            tx,
            scope,
            actor,
            "person.listing_restored",
            person.facemap_id,
            &detail,
        )
        .await
    })
}

async fn write(
    tx: &mut store::Tx,
    scope: Scope,
    actor: &str,
    action: &str,
    facemap_id: Uuid,
    detail: &Value,
) -> Result<(), Problem> {
    let (subject, detail) = (facemap_id.to_string(), detail.to_string());
    let entry = Entry {
        actor,
        action,
        subject: &subject,
        detail: &detail,
    };
    Ok(audit::write(tx, scope, &entry).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(list: &str, entity_id: &str, score: i64) -> Suppression {
        Suppression {
            list: list.into(),
            entity_id: entity_id.into(),
            score,
            staff_id: Uuid::nil(),
            reason: "name".into(),
            at: 0,
        }
    }

    fn hit(id: &str, datasets: &[&str], score: f64) -> Value {
        json!({"id": id, "datasets": datasets, "score": score, "match": true})
    }

    #[test]
    fn a_hit_is_covered_by_list_entry_and_strength() {
        let rows = [
            (hit("a", &["ofac"], 0.81), true),
            (hit("a", &["ofac"], 0.8124), true),
            (hit("a", &["ofac"], 0.8125), false),
            (hit("a", &["un"], 0.5), false),
            (hit("b", &["ofac"], 0.5), false),
            (hit("a", &["ofac", "un"], 0.5), false),
            (hit("a", &["ofac", "eu"], 0.5), true),
            (hit("a", &[], 0.5), false),
            (json!({}), false),
        ];
        let known = [
            known("ofac", "a", 8124),
            known("eu", "a", 8124),
            known("un", "b", 10_000),
        ];
        for (hit, expected) in rows {
            assert_eq!(covers(&known, &hit), expected, "{hit}");
        }
    }

    #[test]
    fn what_is_left_counts() {
        let screening = |results: Vec<Value>, total| Screening {
            matched: true,
            results,
            total,
            ..Screening::default()
        };
        let known = [known("ofac", "a", 9000)];
        let (a, b) = (hit("a", &["ofac"], 0.9), hit("b", &["ofac"], 0.9));
        let (left, out) = apply(&known, &screening(vec![a.clone()], 1));
        assert_eq!(
            (left.matched, left.total, left.results.len(), out.len()),
            (false, 0, 0, 1)
        );
        let (left, out) = apply(&known, &screening(vec![a.clone(), b.clone()], 2));
        assert_eq!(
            (left.matched, left.total, left.results, out),
            (true, 1, vec![b], vec![a.clone()])
        );
        let (left, _) = apply(&known, &screening(vec![a.clone()], 30));
        assert_eq!(
            (left.matched, left.total),
            (true, 29),
            "hits that were not listed still count"
        );
        let (left, out) = apply(&[], &screening(vec![a], 1));
        assert_eq!((left.matched, left.total, out.len()), (true, 1, 0));
    }
}
