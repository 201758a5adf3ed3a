//! An account chooses the profile that says which entries are hits. Another one than the standard finds more, at verification,
//! afterwards and by hand.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Server, eventually, on_both};
use crate::portal::Browser;
use crate::rescreening::looked_at;
use crate::verify::{person, verify};

/// Imports a list of people, born on 3 February 1961.
async fn import(server: &Server, files: &Path, list: &str, names: &[&str]) {
    let file = files.join(format!("{list}.ftm.json"));
    let lines = names.iter().map(|name| {
        let entry = json!({"id": format!("{list}-{}", name.replace(' ', "-")), "schema": "Person", "datasets": [list],
            "properties": {"name": [name], "birthDate": ["1961-02-03"], "topics": ["sanction"]}});
        format!("{entry}\n")
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    server.bonafide(&["lists", "import", "--max-shrink", "100", file.to_str().unwrap()]);
    looked_at(server).await;
}

async fn status_of(
    server: &Server,
    flow: &Value,
    (first, last, dob): (&str, &str, &str),
) -> (Value, Value, Value) {
    let known = json!({"firstName": first, "lastName": last, "dob": dob});
    let (status, body) = verify(server, flow, person(flow, known)).await;
    assert_eq!(status, 200, "{body}");
    let screening = &body["kycResults"];
    (
        screening["status"].clone(),
        screening["results"][0]["score"].clone(),
        screening["results"][0]["features"].clone(),
    )
}

/// The right name with another date of birth.
const OTHER_DATE: (&str, &str, &str) = ("Ottoline", "Velloway", "05/06/1990");
/// One part of the listed name, and one that is too short for OFAC's search to compare.
const ONE_PART: (&str, &str, &str) = ("Xi", "Velloway", "02/03/1961");

on_both!(a_profile_finds_more_than_the_standard, |backend| {
    let server = Server::start(backend, &[]).await;
    let files = tempfile::tempdir().unwrap();
    import(&server, files.path(), "alpha", &["Ottoline Velloway"]).await;
    let merchant = server.merchant(true);
    let flow = server.flow(&merchant, &json!({"name": "any", "settings": {}}));
    let flow = json!({"apiKey": merchant.sandbox.key, "secret": merchant.sandbox.secret, "flows": {"data-only": flow}});
    let set = |change: &str| server.bonafide(&["merchant", "set", &merchant.id, change]);
    let reviewer = Browser::sign_up(&server, &merchant.id, "reviewer").await;
    for (profile, date, part) in [
        ("standard", "clear", "clear"),
        ("strict", "match", "clear"),
        // OFAC's search compares no dates.
        ("ofac", "match", "match"),
        ("", "clear", "clear"),
    ] {
        set(&format!("screeningProfile={profile}"));
        for (who, expected) in [(OTHER_DATE, date), (ONE_PART, part)] {
            let (status, score, features) = status_of(&server, &flow, who).await;
            assert_eq!(status, expected, "{profile} {who:?}: {features}");
            if expected == "match" {
                // The score stays the standard one; a feature says why it is a hit.
                assert_eq!(features[format!("{profile}_match")], json!(1.0), "{features}");
                assert!(score.as_f64().unwrap() < 0.7, "{score}");
            }
        }
        // The portal shows all profiles, whichever the account has.
        let search = [("name", "Xi Velloway"), ("kind", "Person")];
        let found = reviewer.search("/portal/screening", &search).await.page();
        assert!(
            found.contains("Profiles side by side") && found.contains("alpha"),
            "{found}"
        );
        assert_eq!(
            found.contains("No matches on these lists"),
            profile != "ofac",
            "{profile}: {found}"
        );
    }
    let output = server.try_bonafide(&["merchant", "set", &merchant.id, "screeningProfile=loose"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("standard, strict, ofac"),
        "{said}"
    );

    // People who were approved are screened again by the same profile.
    set("screeningProfile=ofac");
    let known =
        json!({"firstName": "Xi", "lastName": "Fennimore", "dob": "02/03/1961", "externalUserId": "xi"});
    let (status, body) = verify(&server, &flow, person(&flow, known)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    import(&server, files.path(), "beta", &["Barnaby Fennimore"]).await;
    eventually(async || {
        match server
            .count("select count(*) from alerts where list = 'beta' and state = 'open'")
            .await
        {
            1 => Ok(()),
            open => Err(format!("{open} alerts are open")),
        }
    })
    .await;
});
