//! A custom model, from its declaration to a verdict, and what happens when it cannot be used.
//!
//! The model is a toy: the more red and the less blue a picture is, the more alive. `warm.onnx` is ONNX opset 13 with
//! two nodes, `ReduceMean(axes 2 and 3)` of the input `[1, 3, 32, 32]`, and `MatMul` with the weights
//! `[[0, -0.05], [0, 0], [0, 0.05]]`, so the second of its two numbers is 0.05 × (red − blue) of a BGR input.

mod embedder;

use std::fs;
use std::path::{Path, PathBuf};

use imaging::{Limits, Picture, encode_jpeg, encode_png};
use inference::{MANIFEST, Manifest};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::engine_worker::workers_of;
use crate::harness::{Backend, Server, workspace};
use crate::portal::Browser;
use crate::verify::{codes, specimen, verify};

const MODEL: &[u8] = include_bytes!("warm.onnx");

/// A models folder of its own, with the built-in models as links, and what an operator brings.
struct Folders {
    dir: TempDir,
}

impl Folders {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (from, to) = (workspace().join("models"), dir.path().join("models"));
        fs::create_dir(&to).unwrap();
        fs::copy(from.join(MANIFEST), to.join(MANIFEST)).unwrap();
        for entry in Manifest::read(&from).unwrap().files {
            let link = to.join(&entry.file);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            fs::hard_link(from.join(&entry.file), link).unwrap();
        }
        let folders = Self { dir };
        let brought = folders.path("brought");
        fs::create_dir(&brought).unwrap();
        fs::write(brought.join("warm.onnx"), MODEL).unwrap();
        let warm = encode_png(&Picture::filled(32, 32, [150, 100, 110])).unwrap();
        fs::write(brought.join("warm.png"), warm).unwrap();
        folders
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn models(&self) -> String {
        self.path("models").display().to_string()
    }

    /// Writes the declaration with changes, and returns its path.
    fn declare(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut declaration = json!({
            "name": "warm",
            "kind": "pad",
            "model": "warm.onnx",
            "sha256": hex::encode(Sha256::digest(MODEL)),
            "licence": "CC0-1.0",
            "input": {
                "width": 32, "height": 32, "layout": "nchw", "channels": "bgr",
                "mean": [0, 0, 0], "deviation": [1, 1, 1], "crop": {"box": 1.0},
            },
            "output": {"activation": "softmax", "class": 1, "means": "live"},
            // 0.05 × (150 − 110) is 2, and 1 / (1 + e⁻²) is 0.8808.
            "golden": [{"picture": "warm.png", "shows": "input", "score": 0.8808, "tolerance": 0.001}],
        });
        change(&mut declaration);
        self.write_declaration(&declaration)
    }

    fn write_declaration(&self, declaration: &Value) -> String {
        let path = self.path("brought/declaration.json");
        fs::write(&path, declaration.to_string()).unwrap();
        path.display().to_string()
    }

    /// Runs `bonafide models`. Returns its output, or its complaint.
    fn run(&self, arguments: &[&str]) -> Result<Value, String> {
        let models = self.models();
        let all = [&["models"], arguments, &["--models", models.as_str()]].concat();
        let output = crate::harness::try_command(self.dir.path(), &Vec::new(), &all);
        if output.status.success() {
            let text = String::from_utf8(output.stdout).unwrap();
            return Ok(serde_json::from_str(text.trim()).unwrap_or(Value::Null));
        }
        Err(String::from_utf8(output.stderr).unwrap())
    }

    fn added(&self) -> Vec<String> {
        let own = self.path("models/own");
        let entries = fs::read_dir(own).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    /// Live pictures and attacks of ten people: a specimen's selfie in warm and in cold light.
    fn pictures(&self) {
        let selfie = selfie().reduced(480);
        for number in 0..10_u8 {
            let person = format!("person-{number}");
            for (folder, blue) in [("live", -30), ("attacks/screen", 60)] {
                let dir = self.path(folder).join(&person);
                fs::create_dir_all(&dir).unwrap();
                let picture = tinted(&selfie, i16::from(number), blue);
                fs::write(dir.join("1.jpg"), encode_jpeg(&picture, 90).unwrap()).unwrap();
            }
        }
    }

    fn calibrate(&self) -> Result<Value, String> {
        let [live, attacks] = ["live", "attacks"].map(|name| self.path(name).display().to_string());
        self.run(&["calibrate", "warm", "--live", &live, "--attacks", &attacks])
    }
}

/// The selfie of a specimen that passes.
fn selfie() -> Picture {
    let specimen = specimen("pass-passport");
    let file = specimen.0["files"]["selfie"].as_str().unwrap();
    decoded(&workspace().join("specimens").join(file))
}

fn decoded(file: &Path) -> Picture {
    imaging::decode(&fs::read(file).unwrap(), &Limits::default())
        .unwrap()
        .picture
}

/// A picture with more or less light and blue.
fn tinted(picture: &Picture, light: i16, blue: i16) -> Picture {
    let mut tinted = picture.clone();
    for pixel in tinted.pixels.chunks_exact_mut(3) {
        for (place, more) in [light - blue / 2, light, light + blue].into_iter().enumerate() {
            pixel[place] = (i16::from(pixel[place]) + more).clamp(0, 255) as u8;
        }
    }
    tinted
}

#[test]
fn a_model_that_is_not_as_declared_is_not_added() {
    let folders = Folders::new();
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 8] = [
        (|it| it["sha256"] = json!("0".repeat(64)), "brought/warm.onnx"),
        (|it| it["golden"][0]["score"] = json!(0.5), "warm.png"),
        (|it| it["input"]["channels"] = json!("rgb"), "warm.png"),
        (|it| it["input"]["width"] = json!(64), "64 × 32"),
        (|it| it["output"]["class"] = json!(2), "output.class"),
        (|it| it["golden"][0]["shows"] = json!("photograph"), "one face"),
        (|it| it["model"] = json!("missing.onnx"), "missing.onnx"),
        (|it| it["licence"] = json!(""), "`licence`"),
    ];
    for (change, named) in cases {
        let error = folders.run(&["add", &folders.declare(change)]).unwrap_err();
        assert!(error.contains(named), "{named}: {error}");
        assert_eq!(folders.added(), [""; 0], "{named}");
    }
    // Not an ONNX file at all.
    fs::write(folders.path("brought/warm.onnx"), b"nonsense").unwrap();
    let nonsense = |it: &mut Value| it["sha256"] = json!(hex::encode(Sha256::digest(b"nonsense")));
    let error = folders.run(&["add", &folders.declare(nonsense)]).unwrap_err();
    assert!(error.contains("cannot be loaded"), "{error}");
    assert_eq!(folders.added(), [""; 0]);
}

#[test]
fn a_model_is_calibrated_before_it_is_used() {
    let folders = Folders::new();
    let declaration = folders.declare(|_| ());
    folders.run(&["add", &declaration]).unwrap();
    let again = folders.run(&["add", &declaration]).unwrap_err();
    assert!(again.contains("another name"), "{again}");
    let early = folders.run(&["use", "warm"]).unwrap_err();
    assert!(early.contains("models calibrate warm"), "{early}");
    let unknown = folders.run(&["use", "cold"]).unwrap_err();
    assert!(unknown.contains("Added models: warm"), "{unknown}");

    folders.pictures();
    let misplaced = folders.path("live/1.jpg");
    fs::copy(folders.path("live/person-1/1.jpg"), &misplaced).unwrap();
    let error = folders.calibrate().unwrap_err();
    assert!(error.contains("FOLDER/PERSON/FILE"), "{error}");
    fs::remove_file(misplaced).unwrap();

    let figures = folders.calibrate().unwrap();
    assert_eq!(
        (&figures["peopleChosen"], &figures["peopleReported"]),
        (&json!(5), &json!(5)),
        "{figures}"
    );
    assert_eq!(figures["attacks"]["screen"]["apcer"], json!(0.0), "{figures}");
    // Exactly 1 − 0.05^(1/5).
    assert_eq!(
        figures["attacks"]["screen"]["apcerAtMost"],
        json!(0.4507),
        "{figures}"
    );
    folders.run(&["use", "warm"]).unwrap();
    let listed = folders.run(&["list"]).unwrap();
    assert_eq!(
        (&listed["inUse"], &listed["calibration"]),
        (&json!(true), &figures),
        "{listed}"
    );

    // What decides may not change.
    for arguments in [
        &["remove", "warm"][..],
        &["calibrate", "warm", "--live", "x", "--attacks", "x"],
    ] {
        let error = folders.run(arguments).unwrap_err();
        assert!(error.contains("in use"), "{error}");
    }
    folders.run(&["use", "--built-in", "pad"]).unwrap();
    // A calibration is for one declaration.
    let stored = folders.path("models/own/warm/declaration.json");
    let changed = fs::read_to_string(&stored).unwrap().replace("CC0-1.0", "MIT");
    fs::write(&stored, changed).unwrap();
    let error = folders.run(&["use", "warm"]).unwrap_err();
    assert!(error.contains("another declaration"), "{error}");
    folders.run(&["remove", "warm"]).unwrap();
    assert_eq!(folders.run(&["list"]).unwrap(), Value::Null);

    // A model that classifies every attack as live.
    let inverted = folders.declare(|it| {
        it["output"]["means"] = json!("attack");
        it["golden"][0]["score"] = json!(-0.8808);
    });
    folders.run(&["add", &inverted]).unwrap();
    let figures = folders.calibrate().unwrap();
    assert_eq!(figures["attacks"]["screen"]["apcer"], json!(1.0), "{figures}");
    let error = folders.run(&["use", "warm"]).unwrap_err();
    assert!(error.contains("output.means"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_model_decides_and_is_named() {
    let folders = Folders::new();
    folders.run(&["add", &folders.declare(|_| ())]).unwrap();
    folders.pictures();
    folders.calibrate().unwrap();
    folders.run(&["use", "warm"]).unwrap();
    let models = folders.models();
    let serve = ["--models", models.as_str()];
    let (server, demo) = Server::demo(Backend::Sqlite, &serve).await;

    let submit = async |user: &str, blue: i16| {
        let selfie = encode_jpeg(&tinted(&selfie(), 0, blue), 92).unwrap();
        let form = specimen("pass-passport").form_with(
            &demo,
            &json!({"externalUserId": user}),
            &[("selfie", selfie)],
        );
        let (status, body) = verify(&server, &demo, form).await;
        assert_eq!(status, 200, "{body}");
        body
    };
    let cold = submit("cold", 60).await;
    assert!(codes(&cold).contains(&2104), "{cold}");
    let warm = submit("warm", -45).await;
    assert!(!codes(&warm).contains(&2104), "{warm}");

    let version = &hex::encode(Sha256::digest(MODEL))[..12];
    let officer = Browser::sign_up(&server, demo["merchantId"].as_str().unwrap(), "compliance").await;
    let page = officer.get("/portal/applicants/1").await.page();
    for said in [
        format!("model warm ({version})"),
        format!("pad warm@{version}"),
        "model classifies it as an attack".to_owned(),
    ] {
        assert!(page.contains(&said), "{said}: {page}");
    }

    // A threshold never changes under a running server: a new worker has another one and is not used.
    folders.run(&["use", "--built-in", "pad"]).unwrap();
    folders.calibrate().unwrap();
    for worker in workers_of(server.pid()) {
        kill_process(worker, Signal::KILL).unwrap();
    }
    let passport = || specimen("pass-passport").form(&demo, &json!({}));
    let (status, body) = verify(&server, &demo, passport()).await;
    assert_eq!(status, 503, "{body}");
    let (ready, why) = server.readiness_part("engines").await;
    assert!(!ready && why.contains("restart the server"), "{why}");

    // The settings can require the model, so that nobody passes without it because the folder is gone.
    let required = [&serve[..], &["--pad", "warm"]].concat();
    let server = server.kill_and_restart(&required);
    let (status, body) = verify(&server, &demo, passport()).await;
    assert_eq!(status, 503, "{body}");
    let (_, why) = server.readiness_part("engines").await;
    assert!(why.contains("requires the custom model `warm`"), "{why}");
    folders.run(&["use", "warm"]).unwrap();
    let server = server.kill_and_restart(&required);
    let (status, body) = verify(&server, &demo, passport()).await;
    assert_eq!(status, 200, "{body}");

    // A file that is no longer the declared one stops the engines.
    let file = folders.path("models/own/warm/model.onnx");
    fs::write(&file, b"nonsense").unwrap();
    let doctor = server.try_bonafide(&["doctor", "--models", &models]);
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        said.contains("BAD   models") && said.contains("is not the declared file"),
        "{said}"
    );
    let server = server.kill_and_restart(&serve);
    let (status, body) = verify(&server, &demo, passport()).await;
    assert_eq!(status, 503, "{body}");
    let (ready, why) = server.readiness_part("engines").await;
    assert!(!ready && why.contains("is not the declared file"), "{why}");
}
