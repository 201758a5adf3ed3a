//! Every change that waits for a second person belongs to an act that requires one.

use store::flows::FlowContent;
use uuid::Uuid;
use verification::four_eyes::{FourEyesScope, needs_second_person};

use super::*;
use crate::permissions::{Role, may};

const STATES: [FourEyesScope; 3] = [
    FourEyesScope {
        account: true,
        flow: false,
        any_flow: false,
    },
    FourEyesScope {
        account: true,
        flow: true,
        any_flow: true,
    },
    FourEyesScope {
        account: false,
        flow: true,
        any_flow: true,
    },
];

#[test]
fn every_change_asks_for_the_second_person_of_its_act() {
    let content = FlowContent {
        name: "A".into(),
        default_fields: "{}".into(),
        default_document_types: "[]".into(),
        country_overrides: "[]".into(),
        geo_blocked_countries: "[]".into(),
        webhook_url: None,
        min_age: None,
        max_age: None,
        settings: "{}".into(),
    };
    let changes = [
        Change::SetAside {
            hit: "h".into(),
            why: "name".into(),
        },
        Change::Flow {
            flow_id: Uuid::nil(),
            seen: 1,
            content: content.clone(),
        },
        Change::NewFlow { content },
        Change::Settings {
            before: "{}".into(),
            after: "{}".into(),
        },
        Change::Member { doubt: "role".into() },
    ];
    for change in changes {
        for state in STATES {
            assert!(needs_second_person(change.act(), state), "{change:?}");
        }
        assert!(change.act().lets_pass());
        assert!(!may(Some(Role::Auditor), false, change.action()), "{change:?}");
        assert!(!may(Some(Role::Developer), false, change.action()), "{change:?}");
        let text = serde_json::to_string(&change).unwrap();
        let read: Change = serde_json::from_str(&text).unwrap();
        assert_eq!(read.kind(), change.kind());
        let newer = text.replacen('{', "{\"newer\":1,", 1);
        assert!(
            serde_json::from_str::<Change>(&newer).is_err(),
            "what is not understood is not done"
        );
    }
}
