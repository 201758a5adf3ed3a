//! Reads the JSON bodies of merchants and of the hosted page. A Flow that is accepted can be read again, because
//! every verification reads it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use verification::flow::{Flow, FlowParts};
use verification::flow_body::FlowChanges;
use verification::group::{GroupCreate, GroupUpdate};
use verification::hosted::{Consent, country_offers, estimated_minutes, parse_page_events};
use verification::link::LinkRequest;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Value::Object(body)) = serde_json::from_slice(bytes) else { return };
    let _ = (GroupCreate::parse(&body), GroupUpdate::parse(&body));
    let _ = (LinkRequest::parse(&body), Consent::parse(&body), parse_page_events(&body));
    for sandbox in [false, true] {
        let _ = FlowChanges::parse(&body, sandbox);
        let Ok(changes) = FlowChanges::parse_with_settings(&body, sandbox) else { continue };
        let flow = Flow::parse(&FlowParts {
            default_fields: changes.default_fields.as_deref().unwrap_or("{}"),
            default_document_types: changes.default_document_types.as_deref().unwrap_or("[]"),
            country_overrides: changes.country_overrides.as_deref().unwrap_or("[]"),
            geo_blocked_countries: changes.geo_blocked_countries.as_deref().unwrap_or("[]"),
            min_age: changes.min_age.flatten(),
            max_age: changes.max_age.flatten(),
            settings: changes.settings.as_deref().unwrap_or("{}"),
        });
        let flow = flow.expect("an accepted Flow can be read");
        let _ = (flow.check(), country_offers(&flow, sandbox), estimated_minutes(&flow.defaults));
    }
});
