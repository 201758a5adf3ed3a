//! Images and files of an attempt, and hostile uploads, which have no effect.

use reqwest::Method;
use serde_json::json;

use super::{decide, listed, merchant, newest, open};
use crate::harness::{Server, on_both};
use crate::portal::{Answer, Browser};
use crate::verify::{specimen, verify};

on_both!(pictures_are_encoded_anew_and_originals_saved, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let passing = specimen("pass-passport");
    let in_group = json!({"groupingId": demo["groupId"]});
    let (status, body) = verify(&server, &demo, passing.form(&demo, &in_group)).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let log_id = newest(&server).await;
    let page = open(&reviewer, log_id).await;
    let born = body["metadata"]["info"]["dob"].as_str().unwrap();
    let [year, month, day] = born.split('-').collect::<Vec<_>>()[..] else {
        panic!("{born}")
    };
    assert!(
        page.contains(born) && !page.contains(&format!("<dd>{month}/{day}/{year}")),
        "one way to write dates"
    );
    assert!(
        !page.contains(&format!("Group {}", demo["groupId"].as_str().unwrap())),
        "a Group has a name"
    );

    // A new link is shown once, on its own attempt's page, to the member who made it.
    let made = decide(&reviewer, log_id, "link", &[("q", "code=2702")])
        .await
        .redirect();
    assert_eq!(made, format!("/portal/applicants/{log_id}?q=code%3D2702"));
    let colleague = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    listed(&server, &demo, "somebody else").await;
    let another = format!("/portal/applicants/{}", newest(&server).await);
    for (who, address, shows) in [
        (&colleague, &made, false),
        (&reviewer, &another, false),
        (&reviewer, &made, true),
        (&reviewer, &made, false),
    ] {
        let page = who.get(address).await.page();
        assert_eq!(page.contains("iswebsdklink=true"), shows, "{address}");
    }
    let links = "select count(*) from audit where action = 'link.resubmission'";
    assert_eq!(server.count(links).await, 1);
    for text in [
        "field by field",
        "Similarity to Passport",
        "all check digits are correct",
        "class=\"mrz\"",
        "class=\"face\"",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let path = format!("/portal/applicants/{log_id}/files/passportFront");
    let shown = reviewer.send(reviewer.request(Method::GET, &path)).await;
    let header = |answer: &Answer, name: &str| answer.headers[name].to_str().unwrap().to_owned();
    assert_eq!(
        (shown.status, header(&shown, "content-type").as_str()),
        (200, "image/jpeg")
    );
    assert_eq!(
        header(&shown, "content-security-policy"),
        "sandbox; default-src 'none'"
    );
    assert_eq!(header(&shown, "x-content-type-options"), "nosniff");
    assert!(header(&shown, "content-disposition").starts_with("inline"));
    let saved = reviewer.get(&format!("{path}?download=1")).await;
    assert!(header(&saved, "content-disposition").starts_with("attachment"));
    for nothing in ["driversFront", "..%2F..%2Fkeyring.json", "passportfront"] {
        let path = format!("/portal/applicants/{log_id}/files/{nothing}");
        assert_eq!(reviewer.get(&path).await.status, 404, "{nothing}");
    }
    // A member of another account cannot find it.
    let other = server.merchant(true);
    let stranger = Browser::sign_up(&server, &other.id, "owner").await;
    for path in [path, format!("/portal/applicants/{log_id}")] {
        assert_eq!(stranger.get(&path).await.status, 404, "{path}");
    }

    // A person is found by words of the name, label, number and facemap ID, but never by another account.
    let facemap = body["facemap_id"].as_str().unwrap();
    let name = body["metadata"]["info"]["lastName"].as_str().unwrap();
    let number = log_id.to_string();
    for text in [
        name,
        &name.to_lowercase(),
        facemap,
        &number,
        body["metadata"]["externalUserId"].as_str().unwrap(),
    ] {
        let found = reviewer.search("/portal/people", &[("text", text)]).await.page();
        assert!(found.contains(facemap), "{text}");
        let found = stranger.search("/portal/people", &[("text", text)]).await.page();
        assert!(!found.contains(&format!("/portal/people/{facemap}")), "{text}");
    }
    assert_eq!(
        reviewer.search("/portal/people", &[("text", " ")]).await.status,
        400
    );
    assert_eq!(
        stranger.get(&format!("/portal/people/{facemap}")).await.status,
        404
    );
});

on_both!(hostile_uploads_stay_inert, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let reviewer = Browser::sign_up(&server, merchant(&demo), "reviewer").await;
    let form = || {
        reqwest::multipart::Form::new()
            .text("flowId", demo["flows"]["passport"].as_str().unwrap().to_owned())
            .text("externalUserId", "hostile")
            .text("firstName", "Eve")
            .text("lastName", "Quill")
            .text("dob", "02/03/1990")
            .text("documentTypes", "PASSPORT")
            .text("documentCountry", "UTO")
    };
    let part = |bytes: &'static [u8]| reqwest::multipart::Part::bytes(bytes).file_name("x.jpg");
    // The file starts like an image, which passes the check of uploads, and continues with markup.
    let polyglot: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF<html><script>alert(1)</script>";
    let (status, body) = verify(
        &server,
        &demo,
        form()
            .part("passportFront", part(polyglot))
            .part("selfie", part(polyglot)),
    )
    .await;
    assert_eq!(status, 200, "{body}");
    let log_id = newest(&server).await;
    let path = format!("/portal/applicants/{log_id}/files/selfie");
    let shown = reviewer.get(&path).await;
    assert_eq!(shown.status, 501, "it is no picture, so nothing is shown");
    assert!(!shown.body.contains("alert(1)"));
    let saved = reviewer.get(&format!("{path}?download=1")).await;
    let header = |name: &str| saved.headers[name].to_str().unwrap().to_owned();
    assert_eq!(saved.status, 200);
    assert!(header("content-disposition").starts_with("attachment"));
    assert!(!header("content-type").contains("html"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    let page = open(&reviewer, log_id).await;
    assert!(page.contains("This file cannot be displayed as a picture"));
});
