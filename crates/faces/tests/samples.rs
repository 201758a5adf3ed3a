//! Tests of the engine with its real models on the sample photographs that `xtask models` installs: six
//! photographs of 22 people.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use faces::{
    CueOutcome, Face, FaceEngine, FaceReading, MATCH_SIMILARITY, MatchVerdict, PictureKind,
    check_liveness_line, compare_faces_line, detect_faces_line, distance, similarity,
};
use imaging::{Limits, Picture, Point};
use inference::{Manifest, ModelName, Models, find_models_dir};
use serde_json::Value;

/// The number of people in each photograph, counted by a person.
const PEOPLE: [(&str, usize); 6] = [
    ("sample1", 3),
    ("sample2", 3),
    ("sample3", 3),
    ("sample4", 4),
    ("sample5", 5),
    ("sample6", 4),
];

static ENGINE: LazyLock<FaceEngine> = LazyLock::new(|| {
    let models = Models::open(&models_dir(), 1).expect("the models open");
    FaceEngine::new(Arc::new(models))
});

fn models_dir() -> PathBuf {
    find_models_dir(None).expect("models are installed: run `make models`")
}

fn path(name: &str) -> PathBuf {
    let dir = models_dir();
    Manifest::read(&dir)
        .and_then(|manifest| manifest.file(&dir, name))
        .expect("the sample is in the manifest")
}

fn sample(name: &str) -> Picture {
    let bytes = std::fs::read(path(name)).expect("readable");
    imaging::decode(&bytes, &Limits::default())
        .expect("a picture")
        .picture
}

fn analyse(picture: &Picture, kind: PictureKind) -> FaceReading {
    ENGINE.analyse(picture, kind).expect("the models run")
}

/// A face with its surroundings cut out of a photograph like a selfie, enlarged by `zoom`.
fn selfie(picture: &Picture, face: &Face, zoom: f32) -> Picture {
    let [x, y, w, h] = face.bounds;
    let room = h * 0.8;
    let side = |value: f32| value.max(0.0) as u32;
    let part = picture.crop(
        side(x - room),
        side(y - room),
        (w + 2.0 * room) as u32,
        (h + 2.0 * room) as u32,
    );
    let part = part.expect("the face lies inside");
    part.resized(
        (part.width as f32 * zoom) as u32,
        (part.height as f32 * zoom) as u32,
    )
}

fn embedding(face: &Face) -> &faces::Embedding {
    face.embedding.as_ref().expect("a significant face is embedded")
}

#[test]
fn every_person_is_found_and_no_two_match() {
    let mut everybody = Vec::new();
    for (name, people) in PEOPLE {
        let reading = analyse(&sample(name), PictureKind::Selfie);
        assert_eq!(reading.significant().count(), people, "{name}");
        assert_eq!(reading.faces.len(), people, "{name}");
        everybody.push(reading);
    }
    // All people within a photograph are different; some people appear in several photographs.
    for reading in &everybody {
        for (place, a) in reading.faces.iter().enumerate() {
            for b in &reading.faces[place + 1..] {
                let measured = similarity(distance(embedding(a), embedding(b)));
                assert!(measured < MATCH_SIMILARITY, "two people at {measured}");
            }
        }
    }
}

/// From this tilt on, `human` turns the picture first and then places the eyes visibly wrong (sample3's third
/// face by 20 px).
const HUMANS_TILT: f32 = 0.2;

#[test]
fn eyes_are_where_human_sees_them() {
    let goldens: Value = serde_json::from_str(include_str!("goldens.json")).expect("JSON");
    for name in ["sample3", "sample5", "sample6"] {
        let reading = analyse(&sample(name), PictureKind::Selfie);
        let goldens = goldens[name].as_array().expect("faces");
        assert_eq!(goldens.len(), reading.faces.len());
        for golden in goldens {
            let point = |eye: &str| {
                let axis = |i: usize| golden[eye][i].as_f64().expect("a number") as f32;
                Point::new(axis(0), axis(1))
            };
            let (right, left) = (point("right"), point("left"));
            if (left.y - right.y).abs() >= HUMANS_TILT * (left.x - right.x) {
                continue;
            }
            let near = |face: &&Face| {
                face.eyes.right.distance(right).max(face.eyes.left.distance(left))
                    < 0.2 * right.distance(left)
            };
            assert!(
                reading.faces.iter().any(|face| near(&face)),
                "{name}: no face with eyes at {right:?}, {left:?}"
            );
        }
    }
}

/// The same face matches at another size, turned, mirrored or recompressed, for every person.
#[test]
fn a_face_matches_itself_however_it_is_sent() {
    let photograph = sample("sample6");
    for face in &analyse(&photograph, PictureKind::Selfie).faces {
        let shown = selfie(&photograph, face, 1.5);
        let jpeg =
            imaging::encode_jpeg(&shown.resized(shown.width / 2, shown.height / 2), 60).expect("encodes");
        let recompressed = imaging::decode(&jpeg, &Limits::default())
            .expect("decodes")
            .picture;
        for changed in [
            shown.clone(),
            shown.mirrored(),
            recompressed,
            shown.rotated(1),
            shown.rotated(2),
        ] {
            let reading = analyse(&changed, PictureKind::Document);
            assert_eq!(reading.significant().count(), 1);
            let again = embedding(reading.main().expect("one face"));
            let measured = distance(embedding(face), again);
            assert_eq!(
                MatchVerdict::of(similarity(measured)),
                MatchVerdict::Match,
                "at {measured}"
            );
        }
    }
}

/// A document has its portrait twice: the small second one is not another person. The result is the same if
/// the document is turned.
#[test]
fn a_ghost_portrait_does_not_count_and_a_second_person_does() {
    let photograph = sample("sample6");
    let people = analyse(&photograph, PictureKind::Selfie);
    let portrait = selfie(&photograph, &people.faces[0], 1.0).resized(300, 320);
    let other = selfie(&photograph, &people.faces[1], 1.0).resized(300, 320);
    let card = |second: &Picture| {
        let mut card = Picture::filled(1000, 630, [205, 214, 220]);
        paste(&mut card, &portrait, 40, 150, 1.0);
        paste(&mut card, second, 720, 300, 0.7);
        card
    };
    for (second, expected) in [(portrait.resized(170, 181), 1), (other.resized(210, 224), 2)] {
        for turns in 0..4 {
            let reading = analyse(&card(&second).rotated(turns), PictureKind::Document);
            assert_eq!(reading.faces.len(), 2, "turned {turns}");
            assert_eq!(reading.significant().count(), expected, "turned {turns}");
        }
    }
}

/// A second person's face counts in each of four orientations beside an upright portrait.
#[test]
fn a_second_person_in_another_orientation_counts() {
    let photograph = sample("sample6");
    let people = analyse(&photograph, PictureKind::Selfie);
    let portrait = selfie(&photograph, &people.faces[0], 1.0).resized(500, 533);
    let other = selfie(&photograph, &people.faces[1], 1.0).resized(500, 533);
    for turns in 0..4 {
        let mut picture = Picture::filled(1100, 640, [205, 214, 220]);
        paste(&mut picture, &portrait, 20, 50, 1.0);
        paste(&mut picture, &other.rotated(turns), 545, 50, 1.0);
        let reading = analyse(&picture, PictureKind::Document);
        assert_eq!(reading.significant().count(), 2, "turned {turns}");
    }
}

/// A plain face saves runs of the detector, which make up much of the cost of a picture.
#[test]
fn a_plain_face_needs_few_runs_of_the_detector() {
    let models = Arc::new(Models::open(&models_dir(), 1).expect("the models open"));
    let engine = FaceEngine::new(Arc::clone(&models));
    let photograph = sample("sample6");
    let people = analyse(&photograph, PictureKind::Selfie);
    let person = selfie(&photograph, &people.faces[0], 1.0);
    let mut card = Picture::filled(1000, 630, [205, 214, 220]);
    paste(&mut card, &person.resized(400, 426), 40, 150, 1.0);
    for (picture, kind, most) in [
        (&person, PictureKind::Selfie, 1),
        (&card, PictureKind::Document, 4),
    ] {
        let before = models.inputs_run(ModelName::FaceDetector);
        let reading = engine.analyse(picture, kind).expect("the models run");
        assert_eq!(reading.faces.len(), 1);
        let runs = models.inputs_run(ModelName::FaceDetector) - before;
        assert!(runs <= most, "{kind:?}: {runs}");
    }
}

fn paste(onto: &mut Picture, part: &Picture, left: u32, top: u32, opacity: f32) {
    for y in 0..part.height {
        for x in 0..part.width {
            let at = ((top + y) * onto.width + left + x) as usize * 3;
            for (value, new) in onto.pixels[at..at + 3].iter_mut().zip(part.pixel(x, y)) {
                *value = (f32::from(*value) * (1.0 - opacity) + f32::from(new) * opacity) as u8;
            }
        }
    }
}

#[test]
fn pictures_without_a_face_have_none() {
    let mut state = 1u32;
    let noise = (0..300 * 200 * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let pictures = [
        Picture::filled(1, 1, [0; 3]),
        Picture::filled(640, 480, [255; 3]),
        Picture::filled(20_000, 3, [90, 120, 40]),
        Picture::filled(2, 9_000, [90, 120, 40]),
        Picture::new(300, 200, noise.collect()).expect("the right size"),
    ];
    for picture in pictures {
        for kind in [PictureKind::Selfie, PictureKind::Document] {
            let reading = analyse(&picture, kind);
            assert!(reading.faces.is_empty(), "{picture:?}");
            assert_eq!(
                ENGINE.passive_cue(&picture, &reading).unwrap().reasons,
                ["no-face"]
            );
        }
    }
}

/// Each of four faces, plain and with the pixel grid that a camera records from a screen.
#[test]
fn a_screens_grid_is_not_live_and_the_face_itself_is_not_called_an_attack() {
    let photograph = sample("sample6");
    for face in &analyse(&photograph, PictureKind::Selfie).faces {
        let plain = selfie(&photograph, face, 2.0);
        let outcome = |picture: &Picture| {
            ENGINE
                .passive_cue(picture, &analyse(picture, PictureKind::Selfie))
                .unwrap()
                .outcome
        };
        assert_ne!(outcome(&plain), CueOutcome::Attack);
        let mut screen = plain.clone();
        let width = screen.width as usize;
        for (at, pixel) in screen.pixels.chunks_exact_mut(3).enumerate() {
            // The brightness varies between the columns and rows of a slightly turned display.
            let (x, y) = ((at % width) as f32, (at / width) as f32);
            let grid = 0.9 + 0.1 * ((x + 0.05 * y) * 2.1).sin() * ((y - 0.05 * x) * 2.1).sin();
            pixel
                .iter_mut()
                .for_each(|value| *value = (f32::from(*value) * grid) as u8);
        }
        assert_eq!(outcome(&screen), CueOutcome::Attack);
    }
}

#[test]
fn the_batch_answers_every_line() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        path.to_string_lossy().into_owned()
    };
    let photograph = path("sample5").to_string_lossy().into_owned();
    let whole = std::fs::read(&photograph).expect("readable");
    let blank = imaging::encode_png(&Picture::filled(64, 64, [200; 3])).expect("encodes");
    let one = |path: &str| serde_json::json!({ "file": path }).to_string();
    let parse = |line: String| serde_json::from_str::<Value>(&line).expect("JSON");

    let answer = parse(detect_faces_line(&ENGINE, &one(&photograph)));
    assert_eq!(answer["error"], Value::Null);
    let found = answer["faces"].as_array().expect("faces");
    assert_eq!(found.iter().filter(|face| face["significant"] == true).count(), 5);
    assert!(
        found
            .iter()
            .all(|face| face["box"].as_array().is_some_and(|b| b.len() == 4) && face["score"].is_number())
    );
    assert!(answer["timingMs"]["total"].is_number());

    let errors = [
        (file("empty.jpg", b""), "empty"),
        (file("cut.jpg", &whole[..whole.len() / 2]), "truncated"),
        (file("text.jpg", b"no picture"), "unknown-format"),
        (
            dir.path().join("nowhere").to_string_lossy().into_owned(),
            "unreadable",
        ),
        (dir.path().to_string_lossy().into_owned(), "unreadable"),
    ];
    for (path, code) in errors {
        for command in [detect_faces_line, check_liveness_line] {
            let answer = parse(command(&ENGINE, &one(&path)));
            assert_eq!(
                (&answer["error"]["code"], &answer["file"]),
                (&Value::from(code), &Value::from(path.clone()))
            );
        }
    }
    for line in [
        "",
        "{",
        "[]",
        "null",
        r#"{"file":1}"#,
        r#"{"file":"x","more":1}"#,
        "{\"file\":\"\0\"}",
        "\u{feff}{}",
    ] {
        for command in [detect_faces_line, check_liveness_line, compare_faces_line] {
            assert_eq!(
                parse(command(&ENGINE, line))["error"]["code"],
                "bad-input",
                "{line}"
            );
        }
    }

    let two = |a: &str, b: &str| {
        parse(compare_faces_line(
            &ENGINE,
            &serde_json::json!({ "a": a, "b": b }).to_string(),
        ))
    };
    let same = two(&photograph, &photograph);
    assert_eq!(
        (&same["match"], &same["similarity"]),
        (&Value::from(true), &Value::from(100.0))
    );
    let blank = file("blank.png", &blank);
    let none = two(&photograph, &blank);
    assert_eq!(
        (&none["error"]["code"], &none["match"]),
        (&Value::from("no-face"), &Value::Null)
    );

    let liveness = parse(check_liveness_line(&ENGINE, &one(&blank)));
    assert_eq!(
        (&liveness["outcome"], &liveness["reasons"][0]),
        (&Value::from("impossible"), &Value::from("no-face"))
    );
}
