use serde_json::{Value, json};

use super::*;
use crate::flow::FlowParts;

#[test]
fn no_act_that_lets_somebody_pass_is_one_persons_where_two_are_required() {
    for account in [false, true] {
        for flow in [false, true] {
            for any_flow in [false, true] {
                let state = FourEyesScope {
                    account,
                    flow,
                    any_flow,
                };
                for act in Act::ALL {
                    let needs = needs_second_person(*act, state);
                    if account {
                        assert!(needs || !act.lets_pass(), "{act:?} {state:?}");
                    }
                    if flow {
                        assert!(needs || !act.lets_pass(), "{act:?} {state:?}");
                    }
                    if state == FourEyesScope::default() {
                        assert!(!needs, "{act:?}: nobody requires two people");
                    }
                }
            }
        }
    }
    let any = FourEyesScope {
        any_flow: true,
        ..FourEyesScope::default()
    };
    for act in [
        Act::MakeFlow,
        Act::WeakenAccount,
        Act::RemoveList,
        Act::CountMember,
        Act::MergePeople,
        Act::SplitPerson,
    ] {
        assert!(needs_second_person(act, any), "{act:?} concerns every Flow");
    }
}

#[test]
fn nobody_passes_by_a_key_alone() {
    let two = FourEyesScope {
        account: true,
        ..FourEyesScope::default()
    };
    for state in [FourEyesScope::default(), two] {
        for act in Act::ALL {
            let effect = effect_by_key(*act, state);
            let expected = match act {
                Act::Approve => KeyEffect::Propose,
                Act::Decline if state.account => KeyEffect::Propose,
                Act::Decline => KeyEffect::CarryOut,
                _ => KeyEffect::Refuse,
            };
            assert_eq!(effect, expected, "{act:?} {state:?}");
            assert!(effect != KeyEffect::CarryOut || !act.lets_pass(), "{act:?}");
        }
    }
}

#[test]
fn decisions_are_acts() {
    for (decision, is_declined, act) in [
        (Decision::Approve, false, Act::Approve),
        (Decision::Approve, true, Act::Approve),
        (Decision::Decline, false, Act::Decline),
        (Decision::Reopen, true, Act::ReopenDeclined),
        (Decision::Reopen, false, Act::Reopen),
    ] {
        assert_eq!(Act::of_decision(decision, is_declined), act);
    }
}

const DEFAULTS: Defaults = Defaults {
    match_threshold: 80.0,
    review_band: 60.0,
    retention_days: Some(365),
};

fn flow(change: &Value) -> Flow {
    let mut whole = json!({
        "defaultFields": {"dob": true, "liveSelfie": true, "documentCapture": true, "ocrMatch": true, "idCardBack": true},
        "defaultDocumentTypes": ["PASSPORT", "ID_CARD"],
        "countryOverrides": [
            {"countryAlpha3": "DEU", "countryAlpha2": "DE", "restricted": true},
            {"countryAlpha3": "FRA", "countryAlpha2": "FR", "defaultFields": {"ssn": true}, "defaultDocumentTypes": ["PASSPORT"]},
        ],
        "geoBlockedCountries": [{"countryAlpha2": "CU"}],
        "minAge": 18, "maxAge": 70,
        "settings": {"matchThreshold": 85, "reviewBand": 70, "reviewPolicy": "on_match", "attemptsPerLink": 3,
            "retentionDays": 100, "fourEyes": true, "fraudSigns": "show", "screeningLists": ["eu", "ofac"]},
    });
    for (part, value) in change.as_object().expect("an object") {
        match (&mut whole[part], value) {
            (Value::Object(old), Value::Object(new)) => {
                old.extend(new.clone());
                // An unset member is absent from the stored JSON.
                old.retain(|_, value| !value.is_null());
            }
            (old, new) => *old = new.clone(),
        }
    }
    let text = |part: &str| whole[part].to_string();
    Flow::parse(&FlowParts {
        default_fields: &text("defaultFields"),
        default_document_types: &text("defaultDocumentTypes"),
        country_overrides: &text("countryOverrides"),
        geo_blocked_countries: &text("geoBlockedCountries"),
        min_age: whole["minAge"].as_i64(),
        max_age: whole["maxAge"].as_i64(),
        settings: &text("settings"),
    })
    .expect("a Flow")
}

#[test]
fn a_flow_that_checks_less_is_weaker() {
    let same = flow(&json!({}));
    let rows: &[(Value, &[&str])] = &[
        (json!({}), &[]),
        (
            json!({"defaultFields": {"dob": false}}),
            &["dob", "countryOverrides.DEU.dob", "countryOverrides.FRA.dob"],
        ),
        (
            json!({"defaultFields": {"ocrMatch": false}}),
            &[
                "ocrMatch",
                "countryOverrides.DEU.ocrMatch",
                "countryOverrides.FRA.ocrMatch",
            ],
        ),
        (
            json!({"defaultFields": {"liveSelfie": false}}),
            &[
                "biometric",
                "countryOverrides.DEU.biometric",
                "countryOverrides.FRA.biometric",
            ],
        ),
        (json!({"defaultFields": {"liveness": true}}), &[]),
        (
            json!({"defaultFields": {"documentCapture": false, "documentFileUpload": true}}),
            &[
                "documentCapture",
                "countryOverrides.DEU.documentCapture",
                "countryOverrides.FRA.documentCapture",
            ],
        ),
        (
            json!({"defaultFields": {"idCardBack": null}}),
            &[
                "idCardBack",
                "countryOverrides.DEU.idCardBack",
                "countryOverrides.FRA.idCardBack",
            ],
        ),
        (
            json!({"defaultFields": {"driversBack": false}}),
            &[
                "driversBack",
                "countryOverrides.DEU.driversBack",
                "countryOverrides.FRA.driversBack",
            ],
        ),
        (
            json!({"defaultFields": {"driversBack": true, "email": true}}),
            &[],
        ),
        (json!({"defaultDocumentTypes": ["PASSPORT"]}), &[]),
        (
            json!({"defaultDocumentTypes": ["PASSPORT", "ID_CARD", "DRIVERS"]}),
            &[
                "defaultDocumentTypes",
                "countryOverrides.DEU.defaultDocumentTypes",
            ],
        ),
        (
            json!({"defaultDocumentTypes": []}),
            &[
                "defaultDocumentTypes",
                "countryOverrides.DEU.defaultDocumentTypes",
            ],
        ),
        (
            json!({"countryOverrides": []}),
            &[
                "countryOverrides.DEU.restricted",
                "countryOverrides.FRA.ssn",
                "countryOverrides.FRA.defaultDocumentTypes",
            ],
        ),
        (
            json!({"countryOverrides": [
            {"countryAlpha3": "DEU", "countryAlpha2": "DE", "restricted": true},
            {"countryAlpha3": "FRA", "countryAlpha2": "FR", "defaultFields": {"ssn": true}, "defaultDocumentTypes": ["PASSPORT"]},
            {"countryAlpha3": "ITA", "countryAlpha2": "IT", "defaultFields": {"ocrMatch": false}}]}),
            &["countryOverrides.ITA.ocrMatch"],
        ),
        (json!({"geoBlockedCountries": []}), &["geoBlockedCountries"]),
        (
            json!({"geoBlockedCountries": [{"countryAlpha2": "CU"}, {"countryAlpha2": "KP"}]}),
            &[],
        ),
        (json!({"minAge": 17}), &["minAge"]),
        (json!({"minAge": null}), &["minAge"]),
        (json!({"minAge": 21, "maxAge": 60}), &[]),
        (json!({"maxAge": null}), &["maxAge"]),
        (json!({"maxAge": 71}), &["maxAge"]),
        (
            json!({"settings": {"matchThreshold": 84.9}}),
            &["settings.matchThreshold"],
        ),
        (
            json!({"settings": {"matchThreshold": null}}),
            &["settings.matchThreshold"],
        ),
        (json!({"settings": {"matchThreshold": 90}}), &[]),
        (json!({"settings": {"reviewBand": 69}}), &["settings.reviewBand"]),
        (
            json!({"settings": {"reviewBand": null}}),
            &["settings.reviewBand"],
        ),
        (
            json!({"settings": {"reviewPolicy": "never"}}),
            &["settings.reviewPolicy"],
        ),
        (json!({"settings": {"reviewPolicy": "always"}}), &[]),
        (
            json!({"settings": {"fraudSigns": "off"}}),
            &["settings.fraudSigns"],
        ),
        (json!({"settings": {"fraudSigns": "review"}}), &[]),
        (
            json!({"settings": {"attemptsPerLink": 4}}),
            &["settings.attemptsPerLink"],
        ),
        (json!({"settings": {"attemptsPerLink": 1}}), &[]),
        (
            json!({"settings": {"retentionDays": 99}}),
            &["settings.retentionDays"],
        ),
        (json!({"settings": {"retentionDays": null}}), &[]),
        (json!({"settings": {"fourEyes": false}}), &["settings.fourEyes"]),
        (json!({"settings": {"hideSanctionsDetail": true}}), &[]),
        (
            json!({"settings": {"screeningLists": ["ofac", "un"]}}),
            &["settings.screeningLists"],
        ),
        (json!({"settings": {"screeningLists": ["un", "ofac", "eu"]}}), &[]),
        (
            json!({"settings": {"screeningLists": []}}),
            &["settings.screeningLists"],
        ),
    ];
    for (change, expected) in rows {
        let members: Vec<String> = flow_weakenings(&same, &flow(change), DEFAULTS)
            .into_iter()
            .map(|weakening| weakening.member)
            .collect();
        assert_eq!(members, *expected, "{change}");
    }
    let of_account = flow(&json!({"settings": {"screeningLists": []}}));
    let found = flow_weakenings(&of_account, &same, DEFAULTS);
    assert_eq!(found.len(), 1, "two lists in place of the account's: {found:?}");
    let forever = flow(&json!({"settings": {"retentionDays": null}}));
    let defaults = Defaults {
        retention_days: None,
        ..DEFAULTS
    };
    let found = flow_weakenings(&forever, &same, defaults);
    assert_eq!(
        found.len(),
        1,
        "what was kept for ever goes after 100 days: {found:?}"
    );
}

#[test]
fn an_account_that_checks_less_is_weaker() {
    let names = |all: &[&str]| all.iter().map(|each| (*each).to_owned()).collect::<Vec<_>>();
    let from = AccountRules {
        four_eyes: true,
        second_factor: true,
        screening_threshold: 0.7,
        screening_profile: Some("strict"),
        screening_lists: names(&["eu", "ofac"]),
        wallet_alert_days: 30,
        blocked_countries: names(&["CU"]),
    };
    type Change<'a> = &'a dyn Fn(&mut AccountRules);
    let rows: &[(&str, Change<'_>)] = &[
        ("", &|_| {}),
        ("fourEyes", &|rules| rules.four_eyes = false),
        ("secondFactor", &|rules| rules.second_factor = false),
        ("screeningThreshold", &|rules| rules.screening_threshold = 0.71),
        ("", &|rules| rules.screening_threshold = 0.5),
        ("screeningProfile", &|rules| rules.screening_profile = None),
        ("screeningProfile", &|rules| {
            rules.screening_profile = Some("ofac");
        }),
        ("screeningLists", &|rules| {
            rules.screening_lists = names(&["ofac", "un"]);
        }),
        ("", &|rules| rules.screening_lists = names(&["un", "ofac", "eu"])),
        ("screeningLists", &|rules| rules.screening_lists = Vec::new()),
        ("walletAlertDays", &|rules| rules.wallet_alert_days = 0),
        ("", &|rules| rules.wallet_alert_days = 31),
        ("blockedCountries", &|rules| {
            rules.blocked_countries = names(&["KP"]);
        }),
        ("", &|rules| rules.blocked_countries = names(&["KP", "CU"])),
    ];
    for (expected, change) in rows {
        let mut to = from.clone();
        change(&mut to);
        let found: Vec<String> = account_weakenings(&from, &to)
            .into_iter()
            .map(|weakening| weakening.member)
            .collect();
        assert_eq!(found.join(" "), *expected, "{to:?}");
    }
    let all = AccountRules {
        screening_lists: Vec::new(),
        ..from.clone()
    };
    let found = account_weakenings(&all, &from);
    assert_eq!(found.len(), 1, "two lists in place of all: {found:?}");
}
