//! What the pages of alerts share: filters, sentences, and what the forms of decisions state. It renders nothing.

use sanctions::changes::ChangeKind;
use service::alerts::{Conclusion, Finding};
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use store::alerts::{AlertFilter, AlertState, StateFilter};
use uuid::Uuid;

use crate::filters::Filters;
use crate::page::Page;
use crate::session::Member;

/// The address of the list.
pub(super) const HERE: &str = "/portal/alerts";
/// The filters of the list and of its export.
pub(super) const FILTERS: [&str; 2] = ["state", "list"];
/// Every state, in the order of the filter.
pub(super) const STATES: [AlertState; 5] = [
    AlertState::Open,
    AlertState::SamePerson,
    AlertState::OtherPerson,
    AlertState::Delisted,
    AlertState::NoMatch,
];

/// Converts the filters of an address. Without a state, alerts are listed that somebody must act on.
pub(super) fn parse_filter(filters: &Filters, before: Option<Uuid>) -> Result<AlertFilter, Problem> {
    let state = match filters.text("state") {
        "" => StateFilter::Waiting,
        "all" => StateFilter::Any,
        word => StateFilter::In(word.parse().map_err(|_| no_such_value("state"))?),
    };
    Ok(AlertFilter {
        state,
        list: filters.get("list").map(str::to_owned),
        before,
    })
}

/// The position in an address: the last alert of the previous page.
pub(super) fn parse_before(raw: Option<&str>) -> Result<Option<Uuid>, Problem> {
    let filters = Filters::read(raw, &["before"])?;
    let before = filters.get("before").map(Uuid::parse_str).transpose();
    before.map_err(|_| no_such_value("before"))
}

fn no_such_value(field: &str) -> Problem {
    Problem::invalid(format!("{field} - this filter has no such value"))
}

/// A score in ten-thousandths as a number from 0 to 1 with two decimals.
pub(super) fn score_text(score: i64) -> String {
    format!("{:.2}", score as f64 / 10_000.0)
}

/// Sentences that state what is new about a hit.
pub(super) fn novelties(page: &Page, finding: &Finding) -> Vec<String> {
    let of_entry = finding.change.map(|change| match change {
        ChangeKind::Added => "alerts.news.added",
        ChangeKind::Changed => "alerts.news.changed",
        ChangeKind::Removed => "alerts.news.removed",
    });
    let of_hit = match finding.known_score {
        Some(known) => page.t1("alerts.news.stronger", "score", score_text(known)),
        None => page.t("alerts.news.new"),
    };
    [Some(of_hit), of_entry.map(|key| page.t(key))]
        .into_iter()
        .flatten()
        .collect()
}

/// Parses the conclusion of a form. "Other person" needs its own permission.
pub(super) fn parse_conclusion<'a>(
    member: &Member,
    conclusion: &str,
    why: &'a str,
) -> Result<Conclusion<'a>, Problem> {
    match conclusion {
        "same_person" => Ok(Conclusion::SamePerson),
        "other_person" if member.may(Action::Suppress) => Ok(Conclusion::OtherPerson(why)),
        "other_person" => Err(Problem::new(Kind::Forbidden, "Your role does not allow this")),
        _ => {
            let text = "conclusion - must be same_person or other_person";
            Err(Problem::invalid(text).named("conclusion_required"))
        }
    }
}

/// Why a form was refused. Texts of this area precede those that were written for attempts.
pub(super) fn refusal(page: &Page, problem: &Problem) -> String {
    let key = format!("alerts.refused.{}", problem.word(Family::System));
    page.text_or(&key, &page.refusal(problem))
}

/// The field of a decision form that a refusal concerns; empty if none in particular.
pub(super) fn field_at_fault(problem: &Problem) -> &'static str {
    match problem.word(Family::System) {
        "reason_required" | "reason_length" => "reason",
        "why_required" => "why",
        "conclusion_required" => "conclusion",
        "alerts_none_chosen" => "ids",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use sanctions::changes::ChangeKind;
    use serde_json::json;

    use super::*;

    fn page() -> Page {
        Page::of(&axum::http::Request::new(()).into_parts().0)
    }

    fn filter(raw: &str) -> Result<AlertFilter, Problem> {
        parse_filter(&Filters::read(Some(raw), &FILTERS)?, parse_before(Some(raw))?)
    }

    #[test]
    fn waiting_alerts_are_listed_unless_the_address_states_otherwise() {
        for (raw, state) in [
            ("", StateFilter::Waiting),
            ("state=all", StateFilter::Any),
            ("state=delisted&list=demo", StateFilter::In(AlertState::Delisted)),
        ] {
            assert_eq!(filter(raw).unwrap().state, state, "{raw}");
        }
        assert_eq!(filter("list=demo").unwrap().list.as_deref(), Some("demo"));
        for wrong in ["state=closed", "before=1"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_state_has_its_text() {
        for state in STATES {
            let word = state.as_str();
            assert_ne!(page().word("alerts.state", word), word);
            assert_eq!(word.parse(), Ok(state));
        }
    }

    #[test]
    fn news_state_the_known_score_and_the_change_of_the_entry() {
        let hit = json!({"id": "x", "caption": "X", "schema": "Person", "score": 0.9, "match": true, "datasets": []});
        let mut finding = Finding {
            hit: serde_json::from_value(hit).unwrap(),
            known_score: None,
            change: None,
            fields: Vec::new(),
            version: "1".to_owned(),
        };
        assert_eq!(novelties(&page(), &finding), [page().t("alerts.news.new")]);
        finding.known_score = Some(8_249);
        finding.change = Some(ChangeKind::Changed);
        let news = novelties(&page(), &finding);
        assert!(news[0].contains("0.82"), "{news:?}");
        assert_eq!(news[1], page().t("alerts.news.changed"));
    }
}
