//! The output of commands about people and accounts, and their refusals.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Key, Server, on_both, try_command, workspace};
use crate::verify::{demo_person, verify};

fn refusal(server: &Server, arguments: &[&str]) -> String {
    let output = server.try_bonafide(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

on_both!(an_erasure_names_the_mode_that_it_searched, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = demo["merchantId"].as_str().unwrap();
    let (status, body) = verify(&server, &demo, demo_person(&demo, "ada")).await;
    assert_eq!(status, 200, "{body}");
    let path = "/v2/reports/applicants/byExternalUserId/ada";
    let (_, found) = server.get(path, &Key::of_demo(&demo)).await;
    let facemap = found["facemapId"].as_str().unwrap();
    let erase = ["erase", "--merchant", id];
    for person in [["--external-user-id", "ada"], ["--facemap", facemap]] {
        let said = refusal(&server, &[&erase[..], &person].concat());
        assert!(
            said.contains("no live person") && said.contains("add --sandbox"),
            "{said}"
        );
    }
    let unknown = "00000000-0000-4000-8000-000000000000";
    for person in [["--external-user-id", "nobody"], ["--facemap", unknown]] {
        let said = refusal(&server, &[&erase[..], &person].concat());
        assert!(
            said.contains("no live person") && said.contains("(--sandbox) either"),
            "{said}"
        );
        let said = refusal(&server, &[&erase[..], &["--sandbox"], &person].concat());
        assert!(said.contains("no person in the sandbox"), "{said}");
    }
    let count = "select count(*) from people";
    assert_eq!(server.count(count).await, 1);
    let ada = ["--sandbox", "--external-user-id", "ada"];
    server.bonafide(&[&erase[..], &ada].concat());
    assert_eq!(server.count(count).await, 0);
    // Erasing the same person again by facemap ID is not an error.
    let again = server.bonafide(&[&erase[..], &["--sandbox", "--facemap", facemap]].concat());
    assert!(again.contains("\"attempts\":0"), "{again}");
});

on_both!(the_review_list_shows_a_proposed_decision, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = demo["merchantId"].as_str().unwrap();
    server.bonafide(&["merchant", "set", id, "fourEyes=true"]);
    let fields = json!({"firstName": "Ada", "lastName": "SANDBOX-2702", "externalUserId": "ada"});
    let (status, body) = verify(&server, &demo, crate::verify::person(&demo, fields)).await;
    assert_eq!(status, 200, "{body}");
    let listed = || -> Value { serde_json::from_str(&server.bonafide(&["review", "list"])).unwrap() };
    let waiting = listed();
    assert!(waiting.get("proposal").is_some_and(Value::is_null), "{waiting}");
    server.review("decline", &waiting);
    let proposal = &listed()["proposal"];
    assert_eq!(
        (&proposal["decision"], &proposal["proposedBy"]),
        (&json!("decline"), &json!("command line")),
        "{proposal}"
    );
    assert!(proposal["createdAt"].is_string(), "{proposal}");
});

on_both!(an_account_is_shown_with_its_settings, |backend| {
    let server = Server::start(backend, &[]).await;
    let id = server.merchant(true).id;
    let show = || -> Value { serde_json::from_str(&server.bonafide(&["merchant", "show", &id])).unwrap() };
    let whole = json!({
        "merchantId": id, "name": "Test", "status": "approved", "settings": {}, "unreadable": [],
    });
    assert_eq!(show(), whole);
    server
        .sql(r#"update merchants set settings = '{"fourEyes":"x","maxFlows":3}'"#)
        .await;
    let shown = show();
    assert_eq!(shown["settings"], json!({"fourEyes": "x", "maxFlows": 3}));
    let unreadable = shown["unreadable"].as_array().unwrap();
    assert!(
        unreadable.len() == 1 && unreadable[0].as_str().unwrap().starts_with("fourEyes - "),
        "{shown}"
    );
    let said = refusal(
        &server,
        &["merchant", "show", "00000000-0000-4000-8000-000000000000"],
    );
    assert!(said.contains("no such merchant"), "{said}");
});

// The stored settings cannot be parsed. All settings that affect decisions must be set again, and two people
// may be required.
on_both!(settings_that_are_no_object_are_replaced, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = demo["merchantId"].as_str().unwrap();
    let stored = r#"{"fourEyes":true,"brandName":"Ac"#;
    server
        .sql(format!("update merchants set settings = '{stored}'").leak())
        .await;
    assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 503);
    let shown: Value = serde_json::from_str(&server.bonafide(&["merchant", "show", id])).unwrap();
    assert_eq!(
        (&shown["settings"], &shown["storedSettings"]),
        (&Value::Null, &json!(stored))
    );
    let doctor = String::from_utf8(server.try_bonafide(&["doctor"]).stdout).unwrap();
    for name in ["backup", "blockedCountries", "requireSecondFactor"] {
        assert!(doctor.contains(name), "{name}: {doctor}");
    }
    let set = |changes: &[&str]| {
        let output = server.try_bonafide(&[&["merchant", "set", id], changes].concat());
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let (done, said) = set(&["fourEyes=true", "requireSecondFactor=true"]);
    assert!(!done && said.contains("screeningThreshold"), "{said}");
    let others = [
        "screeningThreshold=",
        "screeningProfile=",
        "screeningLists=",
        "walletAlertDays=",
        "blockedCountries=KP",
    ];
    let (done, said) = set(&[&others[..], &["fourEyes=false", "requireSecondFactor=false"]].concat());
    assert!(!done && said.contains("fourEyes=true"), "nobody alone: {said}");
    let (done, said) = set(&[&others[..], &["fourEyes=true", "requireSecondFactor=true"]].concat());
    assert!(done, "{said}");
    let repaired: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        repaired,
        json!({"fourEyes": true, "requireSecondFactor": true, "blockedCountries": ["KP"]})
    );
    assert_eq!(verify(&server, &demo, demo_person(&demo, "ada")).await.0, 200);
});

#[test]
fn a_mistyped_folder_does_not_become_an_installation() {
    let dir = tempfile::tempdir().unwrap();
    let id = "00000000-0000-4000-8000-000000000000";
    for arguments in [
        vec!["merchant", "list"],
        vec!["merchant", "show", id],
        vec!["merchant", "keys", "rotate", id],
        vec!["audit", "verify"],
        vec!["review", "list"],
        vec!["webhook", "list", "--merchant", id],
        vec!["erase", "--merchant", id, "--facemap", id],
        vec!["keys", "rotate"],
        vec!["portal", "operator-link"],
        vec!["portal", "password-link", "--email", "ada@example.com"],
        vec!["repeat-erasures"],
    ] {
        let output = try_command(dir.path(), &Vec::new(), &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?}");
        assert!(said.contains("there is no installation"), "{arguments:?}: {said}");
        let made: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
        assert!(made.is_empty(), "{arguments:?} made {made:?}");
    }
    let made = try_command(
        dir.path(),
        &Vec::new(),
        &["merchant", "create", "--name", "First"],
    );
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn a_command_that_loads_the_models_reports_to_nobody() {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bonafide"))
        .arg("detect-faces")
        .arg(workspace().join("specimens/pass-passport-selfie.jpg"))
        .env("HOME", home.path())
        .env("BONAFIDE_MODELS", workspace().join("models"))
        .env_remove("ORT_DISABLE_TELEMETRY")
        .env_remove("XDG_CACHE_HOME")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
