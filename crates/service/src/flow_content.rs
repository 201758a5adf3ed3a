//! Reads a stored Flow into the rules' type.

use store::flows::FlowContent;
use verification::flow::{FlowParts, StoredFlowError};

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
