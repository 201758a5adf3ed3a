//! Reads a stored Flow into the rules' type.

use serde_json::{Map, Value, json};
use store::flows::FlowContent;
use verification::flow::{FlowParts, StoredFlowError};
use verification::settings::Settings;

use crate::problem::Problem;

/// Reads a stored Flow; 503 if a member cannot be read. The log names the member but not its value.
pub fn parse(content: &FlowContent) -> Result<verification::flow::Flow, Problem> {
    read(content).map_err(|fault| {
        let text = "The Flow's stored configuration cannot be read, so nothing was done. The operator finds the member with `bonafide doctor`";
        Problem::unavailable(text).because(fault)
    })
}

/// Reads a stored Flow.
///
/// # Errors
/// The stored member that cannot be read.
pub fn read(content: &FlowContent) -> Result<verification::flow::Flow, StoredFlowError> {
    verification::flow::Flow::parse(&FlowParts {
        default_fields: &content.default_fields,
        default_document_types: &content.default_document_types,
        country_overrides: &content.country_overrides,
        geo_blocked_countries: &content.geo_blocked_countries,
        min_age: content.min_age,
        max_age: content.max_age,
        settings: &content.settings,
    })
}

/// Whether the people whom a Flow approved are screened again. A Flow that cannot be read does.
pub(crate) fn watches_its_people(flow: &FlowContent) -> bool {
    parse(flow).map_or(true, |flow| flow.settings.ongoing_screening)
}

/// The lists that a Flow chose, from its stored settings; empty: the account's; `None`: the choice cannot be read. It is
/// read by itself, because a damaged Flow still has approved people.
pub(crate) fn chosen_lists(settings: &str) -> Option<Vec<String>> {
    let members: Map<String, Value> = serde_json::from_str(settings).ok()?;
    let choice = members.get("screeningLists");
    let alone = choice.map(|value| ("screeningLists".to_owned(), value.clone()));
    let settings = Settings::parse(&alone.into_iter().collect()).ok()?;
    Some(settings.screening_lists)
}

/// The settings that remain of a deleted Flow: its choice of lists, if it made one or the choice cannot be read.
pub(crate) fn settings_after_deletion(settings: &str) -> Option<String> {
    match chosen_lists(settings) {
        Some(lists) if lists.is_empty() => None,
        Some(lists) => Some(json!({ "screeningLists": lists }).to_string()),
        None => Some(json!({ "screeningLists": "unreadable" }).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_lists_is_read_from_damaged_settings_and_outlives_its_flow() {
        let names = |all: &[&str]| Some(all.iter().map(|each| (*each).to_owned()).collect::<Vec<_>>());
        for (settings, lists) in [
            ("{}", names(&[])),
            (r#"{"screeningLists":[]}"#, names(&[])),
            (r#"{"screeningLists":["un"]}"#, names(&["un"])),
            (
                r#"{"screeningLists":["un"],"matchThreshold":"x"}"#,
                names(&["un"]),
            ),
            (r#"{"screeningLists":"un"}"#, None),
            (r#"{"screeningLists":["un"]"#, None),
        ] {
            let found = chosen_lists(settings);
            assert_eq!(found, lists, "{settings}");
            let is_chosen = lists != names(&[]);
            let after = settings_after_deletion(settings);
            assert_eq!(after.is_some(), is_chosen, "{settings}");
            assert!(
                after.is_none_or(|after| chosen_lists(&after) == lists),
                "{settings}"
            );
        }
    }
}
