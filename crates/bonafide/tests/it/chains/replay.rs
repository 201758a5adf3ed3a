//! Replays of decisions, with and without the chain graph.

use serde_json::{Value, json};

use super::{Bitcoind, PATH, flags, followed, holder, until, until_scored};
use crate::harness::{Key, Server, on_both};
use crate::portal::Browser;

on_both!(a_decision_is_made_again_where_the_graph_is, |backend| {
    let folder = tempfile::tempdir().unwrap();
    let node = Bitcoind::default();
    node.mine(4, 1, 0x11);
    node.mine(3, 1, 0x22);
    let (_, follow) = followed(&node, folder.path()).await;
    let (server, demo) = Server::demo(backend, &flags(&follow, &[])).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let key = Key::of_demo(&demo);
    let file = folder.path().join("known.csv");
    let label = |number: u8, name: &str, category: &str| {
        let row = format!(
            "currency,address,name,category,confidence\nbtc,{},{name},{category},80\n",
            holder(number)
        );
        std::fs::write(&file, row).unwrap();
        server.bonafide(&["labels", "import", file.to_str().unwrap()]);
    };
    // The label comes before the wait, because the server loads labels and records its progress at the same
    // interval.
    label(0x11, "Mixy", "mixer");
    until(&server, |state| state["tip"]["height"] == 6 && state["lag"] == 0).await;
    // The address was paid by both parties. A simple report also stores all evidence for the score.
    let asked = json!({"type": "address", "query": holder(0xaa), "currency": "btc"});
    let first = until_scored(&server, &key, &asked, |score| score > 0.0).await;
    let score = first["score"].as_f64().unwrap();
    let id = first["queryId"].as_str().unwrap();

    // With more blocks and other labels, the same query now has another result.
    node.mine(3, 1, 0x33);
    label(0x22, "Scammer", "scam");
    until(&server, |state| state["tip"]["height"] == 9).await;
    let second = until_scored(&server, &key, &asked, |now| (now - score).abs() > 1.0).await;
    assert_ne!(second["score"], first["score"]);

    let auditor = Browser::sign_up(&server, merchant, "auditor").await;
    let page = format!("/portal/monitoring/{id}");
    let again = format!("{page}/again");
    let before = auditor.get(&page).await.page();
    for text in [
        &*again,
        "Mixy",
        "known",
        "own chain graph",
        "Total score",
        "Diagram data as a table",
    ] {
        assert!(before.contains(text), "{text}: {before}");
    }
    assert!(!before.contains("New score"), "{before}");
    let same = auditor.submit(&again, &[]).await;
    for text in [
        "The result is the same",
        "<dd>6</dd>",
        "/labelSetVersion",
        "Label set version",
    ] {
        assert!(same.contains(text), "{text}: {same}");
    }
    let shown = format!("{:.1}", (score * 10.0).round() / 10.0);
    assert_eq!(
        same.matches(&format!("<dd>{shown}</dd>")).count(),
        2,
        "then and again: {same}"
    );
    assert!(
        !auditor.get(&page).await.page().contains("The result is the same"),
        "it is shown once"
    );
    let compliance = Browser::sign_up(&server, merchant, "compliance").await;
    let trail = compliance.get("/portal/audit").await.page();
    assert!(
        trail.contains("screening.repeated") && trail.contains(id),
        "{trail}"
    );

    // A label backdated by a file applies to that day too. The page lists the differences member by member.
    let thief = folder.path().join("dated_back.csv");
    let row = format!(
        "currency,address,name,category,confidence,valid_from\nbtc,{},Thief,stolen_funds,90,2020-01-01\n",
        holder(0x22)
    );
    std::fs::write(&thief, row).unwrap();
    server.bonafide(&["labels", "import", thief.to_str().unwrap()]);
    let second = second["score"].as_f64().unwrap();
    until_scored(&server, &key, &asked, |now| (now - second).abs() > 1.0).await;
    let other = auditor.submit(&again, &[]).await;
    for text in [
        "The result is different",
        "Score components",
        "/contributions",
        "stolen_funds",
        "Entries: 1",
        "Entries: 2",
    ] {
        assert!(other.contains(text), "{text}: {other}");
    }

    // Other roles, accounts and modes cannot replay it.
    let developer = Browser::sign_up(&server, merchant, "developer").await;
    assert_eq!(developer.post(&again, &[]).await.status, 403);
    let stranger = Browser::sign_up(&server, &server.merchant(true).id, "owner").await;
    assert_eq!(stranger.post(&again, &[]).await.status, 404);
    compliance
        .post("/portal/mode", &[("sandbox", "false")])
        .await
        .redirect();
    assert_eq!(compliance.post(&again, &[]).await.status, 404);

    // The server has the graph open. The command line names the alternative, and still replays what needs no
    // graph.
    let replay =
        |id: &str| server.try_bonafide(&["monitoring", "replay", id, "--merchant", merchant, "--sandbox"]);
    let at = ["score", "btc", &holder(0xaa), "--at", "2999-01-01"];
    for refused in [replay(id), server.try_bonafide(&at)] {
        let text = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(
            text.contains("another process has the graph open") && text.contains("Repeat this decision"),
            "{text}"
        );
    }
    let labelled =
        json!({"type": "address", "query": "0xDE00000000000000000000000000000000000DE0", "currency": "eth"});
    let (_, labelled) = server.post(PATH, &key, labelled).await;
    let labelled = labelled["queryId"].as_str().unwrap();
    let replayed: Value = serde_json::from_slice(&replay(labelled).stdout).unwrap();
    assert_eq!(
        (&replayed["same"], &replayed["scoreAgain"]),
        (&json!(true), &json!(100.0))
    );
    let answered = auditor
        .submit(&format!("/portal/monitoring/{labelled}/again"), &[])
        .await;
    assert!(
        answered.contains("The result is the same") && answered.contains("no funds were traced"),
        "{answered}"
    );

    // Without the graph, the page states that the decision cannot be replayed, and why.
    std::fs::rename(server.dir.path().join("chain"), server.dir.path().join("gone")).unwrap();
    let server = server.kill_and_restart(&["--demo"]);
    let returned = Browser::new(&server);
    returned.set_cookie(auditor.cookie());
    let gone = returned.submit(&again, &[]).await;
    for text in [
        "The decision cannot be repeated",
        "currently gives no result for it",
        "own chain graph",
    ] {
        assert!(gone.contains(text), "{text}: {gone}");
    }
    assert!(!gone.contains("The result is"), "{gone}");
});
