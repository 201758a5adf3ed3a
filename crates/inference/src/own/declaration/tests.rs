//! What a declaration may say, and what its refusals name.

use serde_json::{Value, json};

use super::*;

fn declaration() -> Value {
    json!({
        "name": "acme-pad-2",
        "kind": "pad",
        "model": "acme.onnx",
        "sha256": "0123456789abcdef".repeat(4),
        "licence": "Apache-2.0",
        "input": {
            "width": 80, "height": 80, "layout": "nchw", "channels": "bgr",
            "mean": [0, 0, 0], "deviation": [1, 1, 1], "crop": {"box": 2.7},
        },
        "output": {"activation": "softmax", "class": 1, "means": "live"},
        "golden": [{"picture": "live.jpg", "shows": "photograph", "score": 0.97, "tolerance": 0.02}],
    })
}

fn parse(declaration: &Value) -> Result<Declaration, OwnModelError> {
    Declaration::parse(declaration.to_string().as_bytes())
}

fn embedder() -> Value {
    let mut declared = declaration();
    declared["kind"] = json!("embedder");
    declared["input"]["align"] = json!("arcface");
    declared["input"].as_object_mut().unwrap().remove("crop");
    declared["output"] = json!({"length": 64, "mirrored": true});
    declared["golden"] =
        json!([{"picture": "face.png", "shows": "input", "embedding": vec![0.5; 64], "tolerance": 0.001}]);
    declared
}

#[test]
fn each_kind_has_its_own_members() {
    let pad = parse(&declaration()).unwrap();
    assert!(matches!(
        pad.purpose,
        Purpose::Pad(PadPurpose {
            crop: Crop::Box(2.7),
            ..
        })
    ));
    assert_eq!(pad.golden_pictures().collect::<Vec<_>>(), ["live.jpg"]);
    let read = parse(&embedder()).unwrap();
    let Purpose::Embedder(purpose) = &read.purpose else {
        panic!("{read:?}");
    };
    assert_eq!((purpose.align, purpose.output.length), (Template::Arcface, 64));
    assert_eq!(read.golden_pictures().collect::<Vec<_>>(), ["face.png"]);
}

#[test]
fn a_refusal_of_an_embedder_names_the_field() {
    let mut long = vec![0.5; 64];
    long[3] = 1e39;
    for (at, value, named) in [
        ("/output/length", json!(8), "output.length"),
        ("/output/length", json!(4_096), "output.length"),
        ("/golden/0/embedding", json!(vec![0.5; 63]), "golden.embedding"),
        ("/golden/0/embedding", json!(vec![0; 64]), "golden.embedding"),
        ("/golden/0/embedding", json!(long), "golden.embedding"),
        ("/golden/0/tolerance", json!(1), "golden.tolerance"),
        ("/input/align", json!("fit"), "fit"),
        ("/input/align", json!({"box": 2}), "declaration.json"),
        // Another kind's members.
        (
            "/output",
            json!({"activation": "none", "class": 1, "means": "live"}),
            "activation",
        ),
        ("/kind", json!("pad"), "align"),
    ] {
        let mut changed = embedder();
        *changed.pointer_mut(at).expect(at) = value.clone();
        let error = parse(&changed).expect_err(at).to_string();
        assert!(error.contains(named), "{at} {value}: {error}");
    }
}

#[test]
fn a_refusal_names_the_field() {
    let long = "x".repeat(201);
    let cases = [
        ("/name", json!("Acme"), "name"),
        ("/name", json!("../acme"), "name"),
        ("/name", json!(""), "name"),
        ("/name", json!("2acme"), "name"),
        ("/name", json!("x".repeat(41)), "name"),
        ("/model", json!("../acme.onnx"), "model"),
        ("/model", json!("/etc/passwd"), "model"),
        ("/model", json!("."), "model"),
        ("/model", json!(""), "model"),
        ("/sha256", json!("0123"), "sha256"),
        ("/sha256", json!("0123456789ABCDEF".repeat(4)), "sha256"),
        ("/licence", json!(" "), "licence"),
        ("/licence", json!(long), "licence"),
        ("/source", json!(long), "source"),
        ("/input/width", json!(0), "input.width"),
        ("/input/height", json!(4_000), "input.height"),
        ("/input/deviation", json!([1, 0, 1]), "input.deviation"),
        ("/input/crop", json!({"square": 0}), "input.crop"),
        ("/input/crop", json!({"box": 9}), "input.crop"),
        ("/output/class", json!(5_000), "output.class"),
        ("/golden", json!([]), "golden"),
        ("/golden/0/picture", json!("a/b.jpg"), "golden.picture"),
        ("/golden/0/picture", json!("calibration.json"), "golden.picture"),
        ("/golden/0/picture", json!("model.onnx"), "golden.picture"),
        ("/golden/0/tolerance", json!(0.5), "golden.tolerance"),
        ("/golden/0/tolerance", json!(-0.1), "golden.tolerance"),
        // The parser names these.
        ("/kind", json!("lottery"), "lottery"),
        ("/input/layout", json!("hwc"), "hwc"),
        ("/input/mean", json!([1, 2]), "declaration.json"),
        ("/output/means", json!("maybe"), "maybe"),
        ("/surplus", json!(1), "surplus"),
    ];
    for (at, value, named) in cases {
        let mut changed = declaration();
        match changed.pointer_mut(at) {
            Some(place) => *place = value.clone(),
            None => changed[at.trim_start_matches('/')] = value.clone(),
        }
        let error = parse(&changed).expect_err(at).to_string();
        assert!(error.contains(named), "{at} {value}: {error}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for field in [
        "name", "kind", "model", "sha256", "licence", "input", "output", "golden",
    ] {
        let mut changed = declaration();
        changed.as_object_mut().unwrap().remove(field);
        let error = parse(&changed).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    assert!(Declaration::parse(b"nonsense").is_err());
}
