//! A custom embedder, from its declaration to the people that it recognises.
//!
//! The model is a toy: `tiles.onnx` is ONNX opset 13 with two nodes, `AveragePool` (kernel and stride 28) of the input
//! `[1, 3, 112, 112]`, and `Flatten`. So its 48 numbers are the mean red of 16 tiles of the face, their green and their blue.

use super::*;
use crate::harness::wait_until;
use crate::interruptions::attempt_folders;

const TILES: &[u8] = include_bytes!("tiles.onnx");

/// Writes the declaration with changes, and returns its path.
fn declare(folders: &Folders, change: impl FnOnce(&mut Value)) -> String {
    fs::write(folders.path("brought/tiles.onnx"), TILES).unwrap();
    let flat = encode_png(&Picture::filled(112, 112, [150, 100, 50])).unwrap();
    fs::write(folders.path("brought/flat.png"), flat).unwrap();
    let numbers: Vec<i32> = [50, 0, -50].into_iter().flat_map(|mean| [mean; 16]).collect();
    let mut declaration = json!({
        "name": "tiles",
        "kind": "embedder",
        "model": "tiles.onnx",
        "sha256": hex::encode(Sha256::digest(TILES)),
        "licence": "CC0-1.0",
        "input": {
            "width": 112, "height": 112, "layout": "nchw", "channels": "rgb",
            "mean": [100, 100, 100], "deviation": [1, 1, 1], "align": "arcface",
        },
        "output": {"length": 48, "mirrored": true},
        "golden": [{"picture": "flat.png", "shows": "input", "embedding": numbers, "tolerance": 0.0001}],
    });
    change(&mut declaration);
    folders.write_declaration(&declaration)
}

/// Writes a calibration by which the model recognises people with this scale.
fn write_calibration(folders: &Folders, scale: f32) {
    let own = folders.path("models/own/tiles");
    let declaration = fs::read(own.join("declaration.json")).unwrap();
    let pairs = json!({"genuine": 60, "falseNonMatches": 1, "impostor": 1_700, "falseMatches": 0});
    let calibration = json!({
        "declarationSha256": hex::encode(Sha256::digest(declaration)),
        "recipe": 1, "madeAt": "2026-11-25T00:00:00Z", "scale": scale,
        "peopleChosen": 20, "peopleReported": 20, "unmeasured": 0, "own": pairs, "builtIn": pairs,
    });
    fs::write(own.join("calibration.json"), calibration.to_string()).unwrap();
}

#[test]
fn an_embedder_is_added_as_declared_and_calibrated_before_it_is_used() {
    let folders = Folders::new();
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 6] = [
        (|it| it["input"]["channels"] = json!("bgr"), "flat.png"),
        (|it| it["output"]["length"] = json!(64), "golden.embedding"),
        (|it| it["input"]["width"] = json!(56), "56 × 112"),
        (|it| it["golden"][0]["shows"] = json!("photograph"), "one face"),
        (|it| it["input"]["crop"] = json!({"box": 1.0}), "crop"),
        (|it| it["kind"] = json!("pad"), "align"),
    ];
    for (change, named) in cases {
        let error = folders.run(&["add", &declare(&folders, change)]).unwrap_err();
        assert!(error.contains(named), "{named}: {error}");
        assert_eq!(folders.added(), [""; 0], "{named}");
    }
    folders.run(&["add", &declare(&folders, |_| ())]).unwrap();
    let early = folders.run(&["use", "tiles"]).unwrap_err();
    assert!(early.contains("calibrate tiles --people"), "{early}");
    folders.pictures();
    let live = folders.path("live").display().to_string();
    for (arguments, named) in [
        (
            &["calibrate", "tiles", "--live", &live, "--attacks", &live][..],
            "--people FOLDER",
        ),
        (
            &["calibrate", "tiles", "--people", &live],
            "0 people with two pictures",
        ),
    ] {
        let error = folders.run(arguments).unwrap_err();
        assert!(error.contains(named), "{error}");
    }
    for scale in [-0.5, 1e-6, 60.0] {
        write_calibration(&folders, scale);
        let error = folders.run(&["use", "tiles"]).unwrap_err();
        assert!(error.contains("`scale`"), "{scale}: {error}");
    }
    // A model of one kind never takes another's place, whatever is written beside it.
    write_calibration(&folders, 1.0);
    folders.run(&["use", "tiles"]).unwrap();
    let chosen = folders.path("models/own/use.json");
    fs::write(&chosen, r#"{"pad": "tiles"}"#).unwrap();
    let error = crate::harness::try_command(
        folders.dir.path(),
        &Vec::new(),
        &["check-liveness", "--models", &folders.models(), "x.jpg"],
    );
    let error = String::from_utf8(error.stderr).unwrap();
    assert!(error.contains("kind `embedder`, not `pad`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_decides_and_finds_the_faces_from_before_it() {
    let folders = Folders::new();
    let models = folders.models();
    let serve = ["--models", models.as_str()];
    let (server, demo) = Server::demo(Backend::Sqlite, &serve).await;
    let send = async |server: &Server, name: &str, user: &str| {
        let form = specimen(name).form(&demo, &json!({"externalUserId": user}));
        verify(server, &demo, form).await
    };
    // Without the embedder: recorded, and another person's passport refused.
    let (_, body) = send(&server, "pass-passport", "first").await;
    assert_eq!(body["success"], true, "{body}");
    let (_, body) = send(&server, "2201-other-person-passport", "other").await;
    assert!(codes(&body).contains(&2201), "{body}");
    // No selfie is left, so the face cannot be embedded again.
    for attempt in attempt_folders(&server).keys() {
        fs::remove_dir_all(attempt).unwrap();
    }

    folders.run(&["add", &declare(&folders, |_| ())]).unwrap();
    // With this scale, all people look alike.
    write_calibration(&folders, 0.5);
    folders.run(&["use", "tiles"]).unwrap();
    let required = [&serve[..], &["--embedder", "tiles"]].concat();
    let server = server.kill_and_restart(&required);
    let (status, body) = send(&server, "pass-passport", "second").await;
    assert_eq!(
        (status, codes(&body)),
        (200, vec![2307]),
        "the face from before is found by the built-in networks: {body}"
    );
    let (_, body) = send(&server, "2201-other-person-passport", "third").await;
    assert!(
        !codes(&body).contains(&2201),
        "the embedder takes all for one: {body}"
    );
    let version = &hex::encode(Sha256::digest(TILES))[..12];
    let officer = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "compliance").await;
    let page = officer.get("/portal/applicants/3").await.page();
    assert!(page.contains(&format!("embedder tiles@{version}")), "{page}");

    // A new person resembles the known one by the embedder alone, which is for a person to decide.
    let (_, body) = send(&server, "pass-drivers", "fourth").await;
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("resembles another registered person"), "{body}");
    let early = folders.run(&["remove", "tiles"]).unwrap_err();
    assert!(early.contains("--built-in embedder"), "{early}");
    folders.run(&["use", "--built-in", "embedder"]).unwrap();
    let server = server.kill_and_restart(&required);
    assert_eq!(send(&server, "pass-passport", "refused").await.0, 503);
    let (_, why) = server.readiness_part("engines").await;
    assert!(
        why.contains("`--embedder` requires the custom model `tiles`"),
        "{why}"
    );
    let server = server.kill_and_restart(&serve);
    let (_, body) = send(&server, "pass-passport", "fifth").await;
    assert_eq!(codes(&body), [2307], "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn known_faces_are_embedded_again_for_an_embedder_and_stay_known_without_it() {
    let folders = Folders::new();
    let models = folders.models();
    let serve = ["--models", models.as_str()];
    let (server, demo) = Server::demo(Backend::Postgres, &serve).await;
    let send = async |server: &Server, user: &str| {
        let form = specimen("pass-passport").form(&demo, &json!({"externalUserId": user}));
        codes(&verify(server, &demo, form).await.1)
    };
    assert_eq!(send(&server, "first").await, [0_u64; 0]);
    folders.run(&["add", &declare(&folders, |_| ())]).unwrap();
    write_calibration(&folders, 1.0);
    folders.run(&["use", "tiles"]).unwrap();
    let server = server.kill_and_restart(&serve);
    // The first file starts the engines.
    assert_eq!(send(&server, "second").await, [2307]);
    let doctor = |server: &Server| {
        String::from_utf8(server.try_bonafide(&["doctor", "--models", &models]).stdout).unwrap()
    };
    wait_until(
        async || doctor(&server).contains("all made by the model in use"),
        "the face is embedded again",
    )
    .await;
    assert_eq!(send(&server, "third").await, [2307]);
    folders.run(&["use", "--built-in", "embedder"]).unwrap();
    let server = server.kill_and_restart(&serve);
    assert!(doctor(&server).contains("all made by the model in use"));
    assert_eq!(send(&server, "fourth").await, [2307]);
}
