//! The liveness challenge's endpoints: bad input, the queue, breaks, and what a submission then says. Honest films
//! and attacks are those of `bonafide eval challenge`.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use verification::challenge::frames::{Body, Chain, Fit, compose};

use super::*;
use crate::portal::Browser;

/// The time between two frames of a film (ms).
const FRAME_MS: u64 = 80;
const CHALLENGE: &str = "/v2/sdk/session/challenge";
const FRAMES: &str = "/v2/sdk/session/challenge/frames";

impl Session<'_> {
    async fn begin(&self, body: Value) -> (u16, Value) {
        answer(
            self.request(Method::POST, CHALLENGE)
                .json(&body)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    async fn send_frames(&self, bytes: Vec<u8>) -> (u16, Value) {
        let request = self
            .request(Method::POST, FRAMES)
            .header("Content-Type", "application/octet-stream")
            .body(bytes);
        answer(request.send().await.unwrap()).await
    }

    /// Sends frames of a specimen's selfie until the run ends; without `moves`, always the same frame. Returns the last
    /// answer and the frames.
    async fn film(&self, mut body: Value, moves: bool) -> (Value, Vec<Vec<u8>>) {
        let picture = imaging::decode(&frame(360), &imaging::Limits::default())
            .unwrap()
            .picture;
        let mut chain = chain_of(&body);
        let mut sent: Vec<Vec<u8>> = Vec::new();
        let begun = Instant::now();
        while body["state"] == "running" {
            let first = sent.len() as u32;
            assert!(first < 200, "{body}");
            let frames: Vec<Vec<u8>> = (first..first + 5)
                .map(|number| {
                    // A hand that is never quite still.
                    let (x, y) = if moves { (number % 3, number % 2) } else { (0, 0) };
                    let shifted = picture.crop(x, y, 356, 476).unwrap();
                    imaging::encode_jpeg(&shifted.resized(360, 480), 60).unwrap()
                })
                .collect();
            let shown = u16::try_from(body["instruction"]["number"].as_u64().unwrap()).unwrap();
            let numbered: Vec<(u32, u32, u16, &[u8])> = (first..)
                .zip(&frames)
                .map(|(number, jpeg)| (number + 1, number * FRAME_MS as u32, shown, jpeg.as_slice()))
                .collect();
            let bytes = compose(&chain, &numbered);
            let Ok(Fit::Next(next)) = chain.fit(&Body::parse(&bytes).unwrap()) else {
                panic!("the frames fit")
            };
            chain = next;
            // No frame arrives before it is taken.
            let taken = begun + Duration::from_millis(u64::from(first + 4) * FRAME_MS);
            tokio::time::sleep_until(taken.into()).await;
            let (status, answer) = self.send_frames(bytes).await;
            assert_eq!(status, 200, "{answer}");
            body = answer;
            sent.extend(frames);
        }
        (body, sent)
    }
}

/// The chain that a response begins.
fn chain_of(body: &Value) -> Chain {
    let nonce = URL_SAFE_NO_PAD
        .decode(body["nonce"].as_str().expect("a nonce"))
        .unwrap();
    let next = body["nextFrame"].as_u64().expect("the next frame");
    Chain::begin(nonce.try_into().unwrap(), u32::try_from(next).unwrap())
}

/// A specimen's selfie as a frame of this width.
fn frame(width: u32) -> Vec<u8> {
    let folder = workspace().join("specimens");
    let index = std::fs::read(folder.join("index.json")).expect("specimens: run `make specimens`");
    let index: Vec<Value> = serde_json::from_slice(&index).unwrap();
    let specimen = index
        .iter()
        .find(|entry| entry["name"] == "pass-passport")
        .unwrap();
    let file = std::fs::read(folder.join(specimen["files"]["selfie"].as_str().unwrap())).unwrap();
    let picture = imaging::decode(&file, &imaging::Limits::default())
        .unwrap()
        .picture;
    let height = width * 4 / 3;
    let share = (picture.height as f32 / height as f32).min(picture.width as f32 / width as f32);
    let (cut_width, cut_height) = ((width as f32 * share) as u32, (height as f32 * share) as u32);
    let cut = picture
        .crop((picture.width - cut_width) / 2, 0, cut_width, cut_height)
        .unwrap();
    imaging::encode_jpeg(&cut.resized(width, height), 60).unwrap()
}

on_both!(frames_that_are_none_are_refused_by_name, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("liveness", "ada").await;
    let good = frame(360);
    let (status, body) = session.send_frames(vec![0; 60]).await;
    assert_eq!(
        (status, &body["error"]),
        (409, &json!("challenge_out_of_step")),
        "{body}"
    );
    let (status, body) = session.begin(json!({"route": "standard"})).await;
    assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");
    assert_eq!(
        (&body["instruction"]["show"], &body["triesLeft"]),
        (&json!("look"), &json!(3))
    );
    let chain = chain_of(&body);
    let small = frame(200);
    let too_long = vec![0xff; 15_001];
    let refused: [(&str, Vec<u8>, u16, &str); 9] = [
        ("nothing", Vec::new(), 400, "too short"),
        ("no frame", compose(&chain, &[]), 400, "no frame"),
        (
            "an empty frame",
            compose(&chain, &[(1, 0, 1, b"")]),
            400,
            "0 bytes",
        ),
        (
            "too long",
            compose(&chain, &[(1, 0, 1, &too_long)]),
            400,
            "15001 bytes",
        ),
        (
            "garbage",
            compose(&chain, &[(1, 0, 1, &good), (2, 80, 1, b"GIF89a")]),
            400,
            "frame 2 is not",
        ),
        ("another size", compose(&chain, &[(1, 0, 1, &small)]), 400, "200"),
        (
            "backwards",
            compose(&chain, &[(1, 80, 1, &good), (2, 79, 1, &good)]),
            400,
            "never goes back",
        ),
        (
            "missing",
            compose(&chain, &[(2, 0, 1, &good)]),
            409,
            "frame 1 was expected",
        ),
        (
            "another nonce",
            compose(&Chain::begin([9; 16], 1), &[(1, 0, 1, &good)]),
            409,
            "nonce",
        ),
    ];
    for (what, bytes, expected, text) in refused {
        let (status, body) = session.send_frames(bytes).await;
        assert_eq!(status, expected, "{what}: {body}");
        let said = body.to_string();
        assert!(
            said.contains("frames - ") && said.contains(text),
            "{what}: {said}"
        );
    }
    let mut broken = compose(&chain, &[(1, 0, 1, &good)]);
    broken[20] ^= 1;
    let (status, body) = session.send_frames(broken).await;
    assert_eq!(
        (status, &body["error"]),
        (409, &json!("challenge_out_of_step")),
        "{body}"
    );
    // Nothing of all that was taken.
    let first = compose(&chain, &[(1, 0, 1, &good), (2, 80, 1, &good)]);
    let (status, body) = session.send_frames(first.clone()).await;
    assert_eq!((status, &body["nextFrame"]), (200, &json!(3)), "{body}");
    let (status, again) = session.send_frames(first).await;
    assert_eq!(
        (status, &again["nextFrame"]),
        (200, &json!(3)),
        "its answer was lost: {again}"
    );
    // Another device goes on: a new nonce, and the old one is refused.
    let (_, other) = session.begin(json!({})).await;
    assert_ne!(other["nonce"], body["nonce"]);
    let (status, body) = session.send_frames(compose(&chain, &[(3, 160, 1, &good)])).await;
    assert_eq!(status, 409, "{body}");
    let (status, body) = session
        .send_frames(compose(&chain_of(&other), &[(3, 0, 1, &good)]))
        .await;
    assert_eq!((status, &body["nextFrame"]), (200, &json!(4)), "{body}");
    let request = session.request(Method::POST, FRAMES).json(&json!({}));
    assert_eq!(request.send().await.unwrap().status(), 400, "JSON is no frames");
    let huge = session.send_frames(vec![0; 1_000_000]).await;
    assert_eq!(huge.0, 413, "{huge:?}");
});

on_both!(what_a_request_for_a_challenge_may_say, |backend| {
    let account = Account::demo(backend, &[]).await;
    let session = account.session("liveness", "ada").await;
    for (body, text) in [
        (json!({"route": "easy"}), "route - must be"),
        (json!({"restart": 1}), "restart - must be"),
        (json!({"tries": 9}), "tries - is unknown"),
        (json!({"camera": "front"}), "camera - "),
    ] {
        let (status, answer) = session.begin(body).await;
        assert_eq!(status, 400);
        assert!(answer.to_string().contains(text), "{answer}");
    }
    let plain = account.session("passport", "bob").await;
    let (status, body) = plain.begin(json!({})).await;
    assert_eq!((status, &body["error"]), (400, &json!("no_challenge")), "{body}");
    let (status, body) = session.begin(json!({})).await;
    assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");
    // After a failed try, the next one is begun on purpose, or on the other route.
    account
        .server
        .sql("update challenges set state = 'failed', tries = 1")
        .await;
    let (_, body) = session.begin(json!({})).await;
    assert_eq!(
        (&body["state"], &body["triesLeft"]),
        (&json!("failed"), &json!(2)),
        "{body}"
    );
    let (_, body) = session.begin(json!({"route": "assisted"})).await;
    assert_eq!(body["state"], "running", "{body}");
    account
        .server
        .sql("update challenges set state = 'failed', tries = 1")
        .await;
    let (_, body) = session.begin(json!({"restart": true})).await;
    assert_eq!(
        (&body["state"], &body["instruction"]["number"]),
        (&json!("running"), &json!(1)),
        "{body}"
    );
});

// 200 sessions at once: as many run as the machine carries, the others learn their place, and nobody's session
// ends because of the queue.
on_both!(two_hundred_sessions_wait_their_turn, |backend| {
    let account = Account::demo(backend, &["--workers", "2"]).await;
    let mut sessions = Vec::new();
    for number in 0..200 {
        sessions.push(account.session("liveness", &format!("user-{number}")).await);
    }
    let mut running = 0;
    let mut places = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        // A place is kept for 10 s, in which a busy machine does not begin all of them.
        if number % 10 == 0 {
            account
                .server
                .sql("update challenges set held_until = held_until + 600000")
                .await;
        }
        let (status, body) = session.begin(json!({})).await;
        assert_eq!(status, 200, "{body}");
        match body["state"].as_str().unwrap() {
            "running" => running += 1,
            "waiting" => {
                assert!(body["waitSeconds"].as_i64().unwrap() > 0, "{body}");
                places.push(body["place"].as_i64().unwrap());
            }
            state => panic!("{state}"),
        }
    }
    assert_eq!(running, 8);
    assert_eq!(places, (1..=192).collect::<Vec<i64>>());
    // The running ones end; the first of the queue is next.
    account
        .server
        .sql("update challenges set held_until = 0 where state = 'running'")
        .await;
    let (_, later) = sessions[199].begin(json!({})).await;
    assert_eq!(later["state"], "waiting", "it came last: {later}");
    let (_, first) = sessions[8].begin(json!({})).await;
    assert_eq!(first["state"], "running", "{first}");
    account
        .server
        .sql("update sessions set expires_at = expires_at - 590000 where status = 'pending'")
        .await;
    let (status, body) = sessions[199].begin(json!({})).await;
    assert_eq!((status, &body["state"]), (200, &json!("waiting")), "{body}");
    account
        .server
        .sql("update sessions set expires_at = expires_at - 60000 where status = 'pending'")
        .await;
    let (status, body) = sessions[199].begin(json!({})).await;
    assert_eq!(status, 200, "the queue prolonged the session: {body}");
});

// A `live selfie` Flow holds a selfie that is no frame of its session; the assisted route ends with a person.
on_both!(a_selfie_that_is_no_frame_waits_for_a_person, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    let live = json!({"name": "live", "defaultFields": {"liveSelfie": true, "documentFileUpload": true},
        "defaultDocumentTypes": ["PASSPORT"],
        "settings": {"reviewPolicy": "on_match"}});
    account.add_flow(live).await;
    let session = account.session("live", "user-1").await;
    let (status, body) = session.send(specimen_form(&session, None)).await;
    assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    assert!(
        body["idvResult"]["codes"].as_array().is_none_or(Vec::is_empty),
        "{body}"
    );
    session.assert_state("pending", 1, "in_review").await;
});

// Signals of injection are shown to reviewers, and change no result.
#[tokio::test(flavor = "multi_thread")]
async fn signals_of_injection_are_shown_to_reviewers() {
    let mut account = Account::demo(Backend::Sqlite, &[]).await;
    let live = json!({"name": "live", "defaultFields": {"liveSelfie": true, "documentFileUpload": true},
        "defaultDocumentTypes": ["PASSPORT"],
        "settings": {"reviewPolicy": "on_match"}});
    account.add_flow(live).await;
    let session = account.session("live", "user-1").await;
    let camera = json!({"label": "OBS Virtual Camera", "width": 1_000, "height": 650, "frameRate": 30,
        "device": true, "automated": true});
    let (status, body) = session.begin(json!({"camera": camera})).await;
    assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");
    let (body, sent) = session.film(body, true).await;
    assert_eq!(body["state"], "passed", "{body}");
    let selfie = body["selfieFrame"].as_u64().unwrap() as usize - 1;
    let (status, body) = session
        .send(specimen_form(&session, Some(sent[selfie].clone())))
        .await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    let officer = Browser::sign_up(&account.server, &account.id, "compliance").await;
    let page = officer.get("/portal/applicants/1").await.page();
    for said in [
        "OBS Virtual Camera · 1000 × 650 · 30 frames a second",
        "name of virtual camera software",
        "size or frame rate that cameras do not have",
        "a program controls the browser",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

// Whoever fails every try and then films by the route without turns is shown to reviewers with those failures.
#[tokio::test(flavor = "multi_thread")]
async fn failed_tries_are_shown_to_reviewers_whatever_follows() {
    let mut account = Account::demo(Backend::Sqlite, &[]).await;
    let live = json!({"name": "live", "defaultFields": {"liveness": true, "documentFileUpload": true},
        "defaultDocumentTypes": ["PASSPORT"],
        "settings": {"reviewPolicy": "on_match"}});
    account.add_flow(live).await;
    let session = account.session("live", "user-1").await;
    for (left, state) in [(2, "failed"), (1, "failed"), (0, "review")] {
        let (status, body) = session.begin(json!({"restart": true})).await;
        assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");
        let (body, _) = session.film(body, false).await;
        assert_eq!(
            (&body["state"], &body["triesLeft"]),
            (&json!(state), &json!(left)),
            "{body}"
        );
    }
    let (status, body) = session.begin(json!({"restart": true})).await;
    assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");
    let (body, sent) = session.film(body, true).await;
    assert_eq!(body["state"], "review", "{body}");
    let selfie = sent[body["selfieFrame"].as_u64().unwrap() as usize - 1].clone();
    let (status, body) = session.send(specimen_form(&session, Some(selfie))).await;
    assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
    session.assert_state("pending", 1, "in_review").await;

    let officer = Browser::sign_up(&account.server, &account.id, "compliance").await;
    let page = officer.get("/portal/applicants/1").await.page();
    let interrupted = "The face left the picture, or another face appeared";
    let failures = [interrupted; 3].join(" · ");
    for said in [
        "Failed tries before it",
        failures.as_str(),
        "Route without head turns",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    let row = page
        .split("check-row")
        .find(|row| row.contains("Failed tries before it"));
    let row = row.expect("the row of the liveness check");
    assert!(row.starts_with("\" data-state=\"review\" open"), "{row}");
}

/// The form of the specimen with a passport, with another selfie if one is given.
fn specimen_form(session: &Session<'_>, selfie: Option<Vec<u8>>) -> Form {
    let folder = workspace().join("specimens");
    let index = std::fs::read(folder.join("index.json")).expect("specimens: run `make specimens`");
    let index: Vec<Value> = serde_json::from_slice(&index).unwrap();
    let specimen = index
        .iter()
        .find(|entry| entry["name"] == "pass-passport")
        .unwrap();
    let mut fields = specimen["fields"].clone();
    fields["externalUserId"] = json!(session.user);
    let mut form = session.form(fields);
    for (field, file) in specimen["files"].as_object().unwrap() {
        let bytes = match (&selfie, field.as_str()) {
            (Some(selfie), "selfie") => selfie.clone(),
            _ => std::fs::read(folder.join(file.as_str().unwrap())).unwrap(),
        };
        let part = reqwest::multipart::Part::bytes(bytes).file_name("x.jpg");
        form = form.part(field.clone(), part);
    }
    form
}
