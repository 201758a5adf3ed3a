//! Tests of the form's values and of the body that it sends.

use super::*;

fn sent(pairs: &[(&str, &str)]) -> FormFields {
    FormFields(
        pairs
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
    )
}

/// The fields that a browser sends if nobody edits the form.
fn unchanged(body: &Object) -> FormFields {
    let form = FlowForm::new(body.clone());
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: &str| pairs.push((name.into(), value.into()));
    for text in ["name", "webhookUrl", "minAge", "maxAge"] {
        put(text, &form.text(text));
    }
    for key in PERSON.iter().chain(&ADDRESS).chain(&["ocrMatch"]) {
        if form.is_on(key) {
            put(&format!("field.{key}"), "on");
        }
    }
    put("biometric", form.biometric());
    put("upload", form.upload());
    for key in BACKS {
        put(key, form.back(key));
    }
    for document_type in DocumentType::ALL {
        if form.accepts(document_type.as_str()) {
            put("type", document_type.as_str());
        }
    }
    for country in reference::countries() {
        if form.blocks(country) {
            put("geo", country.alpha2);
        }
    }
    for key in [
        "matchThreshold",
        "reviewBand",
        "attemptsPerLink",
        "invitationHours",
        "reminderHours",
        "retentionDays",
    ] {
        put(key, &form.text(&format!("settings.{key}")));
    }
    put("reviewPolicy", &form.policy());
    put("fraudSigns", &form.fraud_signs());
    put("ongoingScreening", if form.is_ongoing() { "on" } else { "off" });
    let renews = form.renews_invitations();
    put("renewInvitations", if renews { "on" } else { "off" });
    for name in form.screening_lists() {
        put("screeningLists", &name);
    }
    for key in ["hideSanctionsDetail", "detailsFirst", "fourEyes"] {
        if form.setting_is_on(key) {
            put(key, "on");
        }
    }
    for country in &form.overrides {
        let alpha3 = country.country.alpha3;
        put("override", alpha3);
        let own = |name: &str| format!("override.{alpha3}.{name}");
        if country.restricted() {
            put(&own("restricted"), "on");
        }
        for key in PERSON.iter().chain(&ADDRESS).chain(&["ocrMatch"]).chain(&BACKS) {
            put(&own(key), country.field(key));
        }
        put(&own("biometric"), country.biometric());
        put(&own("upload"), country.upload());
        put(&own("types"), if country.has_types() { "own" } else { INHERIT });
        for document_type in DocumentType::ALL {
            if country.accepts(document_type.as_str()) {
                put(&own("type"), document_type.as_str());
            }
        }
    }
    FormFields(pairs)
}

fn rich() -> Object {
    object(Some(&json!({
        "name": "A", "webhookUrl": "https://a.example/x", "minAge": 18, "maxAge": null,
        "defaultFields": {"dob": true, "phone": false, "selfie": true, "liveness": true, "documentFileUpload": true,
                          "documentCapture": true, "idCardBack": false, "future": {"a": [1]}},
        "defaultDocumentTypes": ["PASSPORT", "ID_CARD"],
        "countryOverrides": [
            {"countryAlpha2": "DE", "note": "kept", "defaultFields": {"liveSelfie": true, "future": 1}},
            {"countryAlpha2": "FR", "countryAlpha3": "FRA", "countryName": "France", "restricted": true},
            {"countryAlpha3": "UTO", "defaultFields": {"liveness": false}, "defaultDocumentTypes": []}],
        "geoBlockedCountries": [{"countryAlpha2": "RU", "countryName": "Россия"}],
        "settings": {"attemptsPerLink": 2, "invitationHours": 24, "reminderHours": 12, "renewInvitations": false,
                     "reviewPolicy": "on_match", "future": true, "matchThreshold": 71.5},
    })))
}

#[test]
fn an_untouched_form_changes_nothing() {
    for body in [rich(), new_body()] {
        let merged = merge(&body, &unchanged(&body), |_| true);
        for (key, value) in &body {
            assert_eq!(merged.get(key), Some(value), "{key}");
        }
    }
}

#[test]
fn a_new_flow_compares() {
    assert!(FlowForm::new(new_body()).is_on("ocrMatch"));
    let switched_off = sent(&[("type", "PASSPORT")]);
    let merged = merge(&new_body(), &switched_off, |_| true);
    assert_eq!(merged["defaultFields"]["ocrMatch"], false);
}

#[test]
fn every_known_field_is_in_the_form() {
    let shown: Vec<&str> = PERSON
        .iter()
        .chain(&ADDRESS)
        .chain(&BIOMETRICS)
        .chain(&UPLOADS)
        .chain(&BACKS)
        .copied()
        .collect();
    for key in verification::flow::KNOWN_FIELDS {
        assert!(
            shown.contains(&key) || ["ocrMatch", "selfie"].contains(&key),
            "{key}"
        );
    }
    assert!(
        verification::flow::PERSONAL_FIELDS
            .iter()
            .all(|key| shown.contains(key))
    );
}

#[test]
fn choices_become_the_members_that_verification_reads() {
    let body = rich();
    let with = |changes: &[(&str, &str)]| {
        let mut form = unchanged(&body);
        form.0
            .retain(|(key, _)| !changes.iter().any(|(name, _)| name == key));
        form.0.extend(sent(changes).0);
        merge(&body, &form, |_| true)
    };
    let fields = |changes| with(changes)["defaultFields"].clone();
    let live = fields(&[("biometric", "liveSelfie")]);
    assert_eq!(
        (&live["liveness"], &live["liveSelfie"], &live["selfie"]),
        (&json!(false), &json!(true), &json!(true))
    );
    assert_eq!(live["future"], json!({"a": [1]}), "unknown members stay");
    let file = fields(&[("upload", "documentFileUpload")]);
    assert_eq!(
        (&file["documentCapture"], &file["documentFileUpload"]),
        (&json!(false), &json!(true))
    );
    let none = fields(&[("upload", "")]);
    assert_eq!(
        (&none["documentCapture"], &none["documentFileUpload"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(fields(&[("idCardBack", "")]).get("idCardBack"), None);
    assert_eq!(fields(&[("driversBack", "true")])["driversBack"], json!(true));
    assert_eq!(
        fields(&[("type", "")])["selfie"],
        json!(true),
        "an empty text is refused, not taken for no type"
    );

    let german = |changes| with(changes)["countryOverrides"][0].clone();
    let inherit = german(&[("override.DEU.biometric", INHERIT)]);
    assert_eq!(inherit["defaultFields"], json!({"future": 1}));
    assert_eq!(inherit["note"], "kept");
    let photo = german(&[("override.DEU.biometric", "")]);
    assert_eq!(
        photo["defaultFields"],
        json!({"liveSelfie": false, "liveness": false, "future": 1})
    );
    let types = german(&[("override.DEU.types", "own"), ("override.DEU.type", "PASSPORT")]);
    assert_eq!(types["defaultDocumentTypes"], json!(["PASSPORT"]));

    assert_eq!(
        with(&[("do", "remove.FRA")])["countryOverrides"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let added = with(&[("do", "add"), ("addCountry", "ITA")]);
    assert_eq!(
        added["countryOverrides"][3],
        json!({"countryAlpha2": "IT", "countryAlpha3": "ITA", "countryName": "Italy"})
    );
    assert_eq!(
        with(&[("do", "add"), ("addCountry", "DEU")])["countryOverrides"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );

    for (typed, expected) in [
        ("", json!(null)),
        ("21", json!(21)),
        ("old", json!("old")),
        ("1e2", json!(100.0)),
    ] {
        assert_eq!(with(&[("minAge", typed)])["minAge"], expected, "{typed}");
    }
    assert_eq!(
        with(&[("attemptsPerLink", "")])["settings"].get("attemptsPerLink"),
        None
    );
    assert_eq!(
        with(&[("reviewPolicy", "always")])["settings"]["reviewPolicy"],
        "always"
    );
}

#[test]
fn lists_are_chosen_in_their_stored_order() {
    let mut body = new_body();
    let choose = |body: &Object, names: &[&str]| {
        let mut form = unchanged(body);
        form.0.retain(|(key, _)| key != "screeningLists");
        let chosen = names
            .iter()
            .map(|name| ("screeningLists".to_owned(), (*name).to_owned()));
        form.0.extend(chosen);
        merge(body, &form, |_| true)
    };
    assert_eq!(choose(&body, &[])["settings"], json!({}));
    body = choose(&body, &["un"]);
    body = choose(&body, &["eu", "un"]);
    assert_eq!(body["settings"]["screeningLists"], json!(["un", "eu"]));
    body = choose(&body, &["ch", "eu"]);
    assert_eq!(FlowForm::new(body.clone()).screening_lists(), ["eu", "ch"]);
    assert_eq!(choose(&body, &[])["settings"]["screeningLists"], json!([]));
}

#[test]
fn settings_that_are_on_by_default_are_stored_once_they_differ() {
    for key in ON_BY_DEFAULT {
        let choose = |body: &Object, choice: &str| {
            let mut form = unchanged(body);
            form.0.retain(|(name, _)| name != key);
            form.0.push((key.to_owned(), choice.to_owned()));
            merge(body, &form, |_| true)
        };
        let body = choose(&new_body(), "on");
        assert_eq!(body["settings"], json!({}), "{key}");
        let body = choose(&body, "off");
        assert_eq!(body["settings"], json!({ key: false }), "{key}");
        let body = choose(&body, "");
        assert_eq!(
            body["settings"],
            json!({ key: false }),
            "{key}: an absent field changes nothing"
        );
        let body = choose(&body, "on");
        assert_eq!(body["settings"], json!({ key: true }), "{key}");
    }
}

#[test]
fn reserved_settings_stay_as_they_were_stored() {
    let forged = [
        ("reviewPolicy", "never"),
        ("fourEyes", "on"),
        ("fraudSigns", "show"),
        ("ongoingScreening", "off"),
        ("screeningLists", "demo"),
        ("matchThreshold", "1"),
        ("reviewBand", "1"),
        ("retentionDays", "1"),
        ("attemptsPerLink", "5"),
        ("invitationHours", "48"),
        ("reminderHours", "6"),
        ("renewInvitations", "off"),
    ];
    for (may, changed) in [
        (&[][..], &[][..]),
        (&[Action::ManageRetention], &["retentionDays"]),
        (
            &[Action::ManageRules],
            &[
                "reviewPolicy",
                "fourEyes",
                "fraudSigns",
                "ongoingScreening",
                "screeningLists",
                "matchThreshold",
                "reviewBand",
            ],
        ),
    ] {
        for body in [rich(), new_body()] {
            let merged = merge(&body, &sent(&forged), |action| may.contains(&action));
            for (key, _) in RESERVED {
                let is_kept = merged["settings"].get(key) == body["settings"].get(key);
                assert_eq!(is_kept, !changed.contains(&key), "{key} with {may:?}");
            }
            assert_eq!(merged["settings"]["attemptsPerLink"], 5, "what anybody may");
            assert_eq!(merged["settings"]["invitationHours"], 48, "what anybody may");
            assert_eq!(merged["settings"]["reminderHours"], 6, "what anybody may");
            assert_eq!(merged["settings"]["renewInvitations"], false, "what anybody may");
        }
    }
}

#[test]
fn without_documents_there_is_no_selfie() {
    let body = rich();
    let mut form = unchanged(&body);
    form.0.retain(|(key, _)| key != "type" && key != "biometric");
    let fields = merge(&body, &form, |_| true)["defaultFields"].clone();
    assert_eq!((fields.get("selfie"), &fields["liveness"]), (None, &json!(false)));
}
