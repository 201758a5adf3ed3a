//! The hits in an attempt's stored response, and their references. It decides nothing.

use store::attempts::Attempt;
use verification::screening::{ScreeningHit, StoredScreening};

use crate::attempt_detail;
use crate::problem::Problem;

/// Reads the screening in an attempt's stored response. An unreadable response is an error: it must never
/// look like one without hits.
pub fn stored_screening(attempt: &Attempt) -> Result<StoredScreening, Problem> {
    StoredScreening::of_response(&attempt.response)
        .map_err(|fault| attempt_detail::unreadable(attempt.log_id, "response", &fault))
}

/// The [`references`] of the hits that counted in an attempt, and how many further hits were found but not
/// listed.
///
/// # Errors
/// 503 if the log cannot be read. An attempt whose hits are unknown is not approved.
pub fn hits(attempt: &Attempt) -> Result<(Vec<String>, usize), Problem> {
    let screening = stored_screening(attempt)?;
    let unlisted = screening.total.saturating_sub(screening.results.len());
    Ok((references(&screening.results), unlisted))
}

/// The reference of each hit of an attempt: its id, or `LIST/ID` if entries of several lists have that id
/// (all lists of the entry, joined by `+`). An earlier disposition with such an id alone counts for none of
/// them, because it is ambiguous.
pub fn references(hits: &[ScreeningHit]) -> Vec<String> {
    let lists = |hit: &ScreeningHit| {
        let mut lists = hit.datasets.clone();
        lists.sort_unstable();
        lists.join("+")
    };
    let reference = |hit: &ScreeningHit| {
        let own = lists(hit);
        let is_shared = |other: &ScreeningHit| other.id == hit.id && lists(other) != own;
        match hits.iter().any(is_shared) {
            true => format!("{own}/{}", hit.id),
            false => hit.id.clone(),
        }
    };
    hits.iter().map(reference).collect()
}

/// Whether a stored hit flags a person. Earlier versions called every hit a match, whatever its entry is listed for.
pub(crate) fn is_match(hit: &ScreeningHit) -> bool {
    hit.matched && hit.topics.as_deref().is_none_or(sanctions::entity::is_sanctioned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hit_is_named_with_its_lists_where_its_id_alone_is_ambiguous() {
        let hit = |id: &str, datasets: &[&str]| -> ScreeningHit {
            serde_json::from_value(json!({
                "id": id, "caption": "x", "schema": "Person", "score": 0.9, "match": true, "datasets": datasets,
            }))
            .unwrap()
        };
        for (hits, expected) in [
            (vec![hit("7", &["un"]), hit("8", &["eu"])], vec!["7", "8"]),
            (
                vec![hit("7", &["un"]), hit("7", &["ofac", "eu"]), hit("8", &["eu"])],
                vec!["un/7", "eu+ofac/7", "8"],
            ),
            (vec![hit("7", &["un"]), hit("7", &["un"])], vec!["7", "7"]),
            (vec![], vec![]),
        ] {
            assert_eq!(references(&hits), expected);
        }
    }
}
