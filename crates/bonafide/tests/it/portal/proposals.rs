//! Pending proposals while further ones are made.

use super::Browser;
use super::four_eyes::{answer, proposal, waiting};
use crate::harness::{Server, on_both};

on_both!(a_pending_proposal_is_not_replaced_by_another_person, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let id = demo["merchantId"].as_str().unwrap().to_owned();
    let ada = Browser::sign_up(&server, &id, "admin").await;
    let bob = Browser::sign_up(&server, &id, "admin").await;
    server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
    // A proposal of the command line may replace an earlier one of the command line.
    server.bonafide(&["merchant", "set", &id, "screeningThreshold=0.95"]);
    server.bonafide(&["merchant", "set", &id, "screeningThreshold=0.9"]);
    let first = proposal(&waiting(&ada).await);
    answer(&ada, &first, "confirm").await.redirect();
    // Ada supports it now.
    let second = server.try_bonafide(&["merchant", "set", &id, "fourEyes=false"]);
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success() && said.contains("pending"), "{said}");
    let page = waiting(&bob).await;
    assert!(
        page.contains("screeningThreshold") && !page.contains("fourEyes"),
        "{page}"
    );
    answer(&bob, &first, "confirm").await.redirect();
    let set = server.bonafide(&["merchant", "set", &id, "brandName=Acme"]);
    assert!(set.contains(r#""screeningThreshold":0.9"#), "{set}");
});

on_both!(
    a_logo_set_with_a_proposed_change_leaves_it_confirmable,
    |backend| {
        let (server, demo) = Server::demo(backend, &[]).await;
        let id = demo["merchantId"].as_str().unwrap().to_owned();
        let ada = Browser::sign_up(&server, &id, "owner").await;
        let bob = Browser::sign_up(&server, &id, "owner").await;
        server.bonafide(&["merchant", "set", &id, "fourEyes=true"]);
        let logo = server.dir.path().join("logo.png");
        std::fs::write(&logo, [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]).unwrap();
        let logo = format!("brandLogo=@{}", logo.display());
        let said = server.bonafide(&["merchant", "set", &id, &logo, "fourEyes=false"]);
        assert!(said.contains("Proposed"), "{said}");
        let proposed = proposal(&waiting(&ada).await);
        for browser in [&ada, &bob] {
            answer(browser, &proposed, "confirm").await.redirect();
        }
        let set = server.bonafide(&["merchant", "set", &id, "brandName=Acme"]);
        assert!(set.contains("brandLogo") && !set.contains("fourEyes"), "{set}");
    }
);
