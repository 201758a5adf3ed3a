//! Settings as merchants may write them, and as a damaged row may contain them.

use store::merchants::MerchantStatus;
use uuid::Uuid;

use super::*;

fn merchant(settings: &str) -> Merchant {
    Merchant {
        id: Uuid::nil(),
        short_id: "abcdefgh".into(),
        name: "Acme".into(),
        status: MerchantStatus::Approved,
        settings: settings.into(),
        created_at: 0,
        updated_at: 0,
    }
}

#[test]
fn what_cannot_be_read_counts_as_required() {
    for (stored, four_eyes, second_factor, countries) in [
        ("{", true, true, 0),
        ("[]", true, true, 0),
        (r#"{"fourEyes":"yes","blockedCountries":["KP"]}"#, true, false, 1),
        (
            r#"{"fourEyes":false,"blockedCountries":["Quibble"]}"#,
            false,
            false,
            0,
        ),
        (
            r#"{"requireSecondFactor":1,"screeningThreshold":7}"#,
            false,
            true,
            0,
        ),
    ] {
        let found = readable_settings(&merchant(stored));
        assert_eq!(
            (
                found.four_eyes,
                found.require_second_factor,
                found.blocked_countries.len()
            ),
            (four_eyes, second_factor, countries),
            "{stored}"
        );
        assert_eq!(found.screening_threshold, None, "{stored}");
    }
}

fn set(changes: &[&str]) -> Result<String, Vec<String>> {
    with_settings(
        &merchant(r##"{"brandColor":"#112233"}"##),
        &changes
            .iter()
            .map(|change| (*change).to_owned())
            .collect::<Vec<_>>(),
    )
}

#[test]
fn settings_are_checked_and_named() {
    let list = r##"{"allowedOrigins":["https://a.example","https://b.example"],"brandColor":"#112233"}"##;
    for (change, expected) in [
        ("allowedOrigins=https://a.example, https://B.example/", list),
        (
            r#"allowedOrigins=["https://a.example","https://b.example"]"#,
            list,
        ),
        ("brandColor=#0a7", r##"{"brandColor":"#00aa77"}"##),
        ("brandColor=", "{}"),
        (
            "requireSecondFactor=true",
            r##"{"brandColor":"#112233","requireSecondFactor":true}"##,
        ),
        ("requireSecondFactor=false", r##"{"brandColor":"#112233"}"##),
        (
            "brandName= Acme & Sons ",
            r##"{"brandName":"Acme & Sons","brandColor":"#112233"}"##,
        ),
        (
            "privacyUrl=https://acme.example/privacy",
            r##"{"brandColor":"#112233","privacyUrl":"https://acme.example/privacy"}"##,
        ),
        (
            "websiteUrl=https://acme.example",
            r##"{"brandColor":"#112233","websiteUrl":"https://acme.example/"}"##,
        ),
        (
            "signInUrl=https://acme.example/login?next=/",
            r##"{"brandColor":"#112233","signInUrl":"https://acme.example/login?next=/"}"##,
        ),
        (
            "contact=help@acme.example",
            r##"{"brandColor":"#112233","contact":"help@acme.example"}"##,
        ),
    ] {
        assert_eq!(set(&[change]), Ok(expected.to_owned()), "{change}");
    }
    for (change, error) in [
        (
            "allowedOrigins=http://a.example",
            "allowedOrigins - `http://a.example`",
        ),
        ("allowedOrigins=https://a.example/x", "has a path"),
        ("brandColor=green", "brandColor - "),
        ("brandLogo=logo.png", "brandLogo=@logo.png"),
        ("brandName=\u{7}", "brandName - "),
        (
            "privacyUrl=http://acme.example/privacy",
            "privacyUrl - must be an https address",
        ),
        ("privacyUrl=javascript:alert(1)", "privacyUrl - "),
        (
            "websiteUrl=http://acme.example",
            "websiteUrl - must be an https address",
        ),
        (
            "signInUrl=acme.example/login",
            "signInUrl - must be an https address",
        ),
        ("contact=call me", "contact - must be an e-mail address"),
        ("screeningThreshold=2", "screeningThreshold"),
        (
            "screeningProfile=loose",
            "screeningProfile - must be one of standard, strict, ofac",
        ),
        ("colour=#fff", "settings: unknown field"),
        ("brandColor", "is not KEY=VALUE"),
    ] {
        let text = set(&[change]).unwrap_err().concat();
        assert!(text.contains(error), "{change}: {text}");
    }
    let all = set(&[
        "brandColor=green",
        "contact=call me",
        "allowedOrigins=ftp://a,http://b",
    ]);
    assert_eq!(all.unwrap_err().len(), 4, "all at once");
}

/// Settings that were changed by hand, truncated or written by another version: a deciding member never falls
/// back to its default.
#[test]
fn unreadable_settings_refuse_and_name_the_member() {
    for (text, members) in [
        (r#"{"fourEyes":"true"}"#, &["fourEyes"][..]),
        (r#"{"fourEyes":1}"#, &["fourEyes"]),
        (r#"{"fourEyes":null}"#, &["fourEyes"]),
        (r#"{"blockedCountries":"DE"}"#, &["blockedCountries"]),
        (r#"{"blockedCountries":["DE",7]}"#, &["blockedCountries"]),
        (r#"{"blockedCountries":["Atlantis"]}"#, &["blockedCountries"]),
        (r#"{"blockedCountries":["DEU"]}"#, &["blockedCountries"]),
        (r#"{"screeningThreshold":"0.8"}"#, &["screeningThreshold"]),
        (r#"{"screeningThreshold":80}"#, &["screeningThreshold"]),
        (r#"{"screeningThreshold":-0.1}"#, &["screeningThreshold"]),
        (r#"{"screeningProfile":"Strict"}"#, &["screeningProfile"]),
        (r#"{"screeningProfile":1}"#, &["screeningProfile"]),
        (r#"{"walletAlertDays":366}"#, &["walletAlertDays"]),
        (r#"{"walletAlertDays":-1}"#, &["walletAlertDays"]),
        (r#"{"screeningLists":"demo"}"#, &["screeningLists"]),
        (r#"{"screeningLists":[""]}"#, &["screeningLists"]),
        (r#"{"maxFlows":-1}"#, &["maxFlows"]),
        (r#"{"rateVerify":-5}"#, &["rateVerify"]),
        (r#"{"rateVerify":4294967296}"#, &["rateVerify"]),
        (r#"{"allowedOrigins":{}}"#, &["allowedOrigins"]),
        (
            r#"{"brandName":["Atlantis"],"fourEyes":"Atlantis"}"#,
            &["brandName", "fourEyes"],
        ),
        (r#"{"fourEyes":true,"fourEyes":false}"#, &["settings"]),
        (r#"{"fourEyes":true,"brandName":"Atl"#, &["settings"]),
        ("[]", &["settings"]),
        ("null", &["settings"]),
        ("", &["settings"]),
    ] {
        let found = faults(&merchant(text));
        let named: Vec<_> = found
            .iter()
            .filter_map(|fault| fault.split(" - ").next())
            .collect();
        assert_eq!(named, members, "{text}: {found:?}");
        assert!(!found.concat().contains("Atl"), "no value: {found:?}");
        let problem = settings(&merchant(text)).unwrap_err();
        assert_eq!(
            (problem.kind(), problem.wait()),
            (crate::problem::Kind::Unavailable, Some(5)),
            "{text}"
        );
    }
}

#[test]
fn settings_of_a_newer_version_are_read_and_kept() {
    let newer = r#"{"fourEyes":true,"quorum":3,"blockedCountries":["kp"],"limits":{"a":[1]}}"#;
    let read = settings(&merchant(newer)).unwrap();
    assert!(read.four_eyes && read.blocked_countries == ["kp"]);
    let written = with_settings(&merchant(newer), &["brandName=Acme".to_owned()]).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(
        written,
        serde_json::json!({"fourEyes": true, "quorum": 3, "blockedCountries": ["kp"], "limits": {"a": [1]},
            "brandName": "Acme"})
    );
    assert_eq!(settings(&merchant("{}")).unwrap(), MerchantSettings::default());
}

#[test]
fn a_change_mends_the_member_that_it_replaces() {
    let broken = merchant(r#"{"fourEyes":"yes","maxFlows":3}"#);
    let change = |change: &str| with_settings(&broken, &[change.to_owned()]);
    assert_eq!(
        change("fourEyes=true"),
        Ok(r#"{"fourEyes":true,"maxFlows":3}"#.to_owned())
    );
    assert_eq!(change("fourEyes="), Ok(r#"{"maxFlows":3}"#.to_owned()));
    assert!(change("maxFlows=4").unwrap_err().concat().contains("fourEyes - "));
}

#[test]
fn settings_of_which_nothing_can_be_relied_on_are_replaced_as_a_whole() {
    let all = [
        "screeningThreshold=",
        "screeningProfile=",
        "screeningLists=",
        "walletAlertDays=",
        "blockedCountries=KP",
        "fourEyes=true",
        "requireSecondFactor=",
    ]
    .map(str::to_owned);
    for (stored, expected) in [
        (
            r#"{"fourEyes":tr"#,
            r#"{"blockedCountries":["KP"],"fourEyes":true}"#,
        ),
        ("[]", r#"{"blockedCountries":["KP"],"fourEyes":true}"#),
        (
            r#"{"maxFlows":3,"fourEyes":true,"fourEyes":false}"#,
            r#"{"blockedCountries":["KP"],"fourEyes":true,"maxFlows":3}"#,
        ),
    ] {
        let stored = merchant(stored);
        for lacking in 0..all.len() {
            let mut some = all.to_vec();
            let missing = some.remove(lacking);
            let text = repaired_settings(&stored, &some).unwrap_err().concat();
            assert!(
                text.contains("backup") && text.contains(missing.split('=').next().unwrap()),
                "{text}"
            );
        }
        assert_eq!(repaired_settings(&stored, &all), Ok(expected.to_owned()));
        // Limits of the plan and the portal repair nothing.
        assert!(with_settings(&stored, &all).is_err());
        assert!(readable_settings(&stored).four_eyes && readable_settings(&stored).require_second_factor);
    }
}

#[test]
fn every_member_is_known_by_its_name() {
    let whole = serde_json::json!({
        "screeningThreshold": 0.5, "screeningProfile": "strict", "screeningLists": ["a"], "walletAlertDays": 7, "blockedCountries": ["KP"], "allowedOrigins": ["https://a.example"],
        "brandName": "a", "brandLogo": "a", "brandColor": "#112233", "privacyUrl": "https://a.example/", "contact": "a@a.example",
        "websiteUrl": "https://a.example/", "signInUrl": "https://a.example/in",
        "fourEyes": true, "requireSecondFactor": true, "maxGroups": 1, "maxFlows": 1, "rateVerify": 1, "rateMonitoring": 1, "rateReads": 1, "rateWrites": 1,
    });
    let settings: MerchantSettings = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(settings.unknown, Map::new());
    assert_eq!(serde_json::to_value(&settings).unwrap(), whole);
    assert_eq!(whole.as_object().unwrap().keys().collect::<Vec<_>>(), MEMBERS);
}
