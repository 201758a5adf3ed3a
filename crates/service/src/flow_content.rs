//! Reads a stored Flow into the rules' type.

use serde_json::{Map, Value};
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

/// What a Flow's settings state about the screening of its people.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScreeningChoice {
    /// The lists that it chose; empty: the account's; `None`: the choice cannot be read.
    pub(crate) lists: Option<Vec<String>>,
    /// Whether its people are screened again.
    pub(crate) is_ongoing: bool,
}

/// Reads these members of stored settings by themselves, because a damaged Flow still has approved people.
pub(crate) fn read_screening(settings: &str) -> ScreeningChoice {
    let Ok(members) = serde_json::from_str::<Map<String, Value>>(settings) else {
        return ScreeningChoice {
            lists: None,
            is_ongoing: true,
        };
    };
    let alone = |name: &str| {
        let member = members.get(name).map(|value| (name.to_owned(), value.clone()));
        Settings::parse(&member.into_iter().collect())
    };
    ScreeningChoice {
        lists: alone("screeningLists")
            .ok()
            .map(|settings| settings.screening_lists),
        is_ongoing: alone("ongoingScreening").map_or(true, |settings| settings.ongoing_screening),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_lists_is_read_from_damaged_settings() {
        let names = |all: &[&str]| Some(all.iter().map(|each| (*each).to_owned()).collect::<Vec<_>>());
        for (settings, lists, is_ongoing) in [
            ("{}", names(&[]), true),
            (r#"{"screeningLists":["un"]}"#, names(&["un"]), true),
            (
                r#"{"screeningLists":["un"],"ongoingScreening":false,"matchThreshold":"x"}"#,
                names(&["un"]),
                false,
            ),
            (r#"{"screeningLists":"un","ongoingScreening":"x"}"#, None, true),
            (r#"{"screeningLists":["un"]"#, None, true),
        ] {
            let expected = ScreeningChoice { lists, is_ongoing };
            assert_eq!(read_screening(settings), expected, "{settings}");
        }
    }
}
