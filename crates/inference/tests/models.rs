//! Tests of the installed models. They fail without the models, which `make models` installs.

use std::{path::PathBuf, thread};

use inference::{Input, Manifest, ManifestEntry, ModelError, ModelName, Models, RUNTIME, find_models_dir};

fn models_dir() -> PathBuf {
    find_models_dir(None).expect("no models found: run `make models`")
}

fn models() -> Models {
    Models::open(&models_dir(), 1).expect("the models open")
}

#[test]
fn every_model_takes_and_answers_the_documented_shapes() {
    let models = models();
    for (name, expected) in [
        (ModelName::FaceDetector, vec![vec![1, 896, 17]]),
        (ModelName::FaceMesh, vec![vec![1, 1404], vec![1, 1]]),
        (ModelName::DlibEmbedding, vec![vec![1, 128]]),
        (ModelName::SfaceEmbedding, vec![vec![1, 128]]),
        (ModelName::TextDetector, vec![vec![1, 1, 320, 320]]),
        (ModelName::TextRecogniser, vec![vec![1, 40, 18_710]]),
        (ModelName::LatinTextRecogniser, vec![vec![1, 40, 545]]),
        (ModelName::FastTextRecogniser, vec![vec![1, 40, 6_906]]),
        (ModelName::FastLatinTextRecogniser, vec![vec![1, 40, 338]]),
        (ModelName::MrzRecogniser, vec![vec![1, 160, 38]]),
    ] {
        let shape = name.nominal_shape();
        let data = vec![0.5; shape.iter().product()];
        let outputs = models
            .run(
                name,
                Input {
                    shape: &shape,
                    data: &data,
                },
            )
            .unwrap();
        let shapes: Vec<_> = outputs.iter().map(|output| output.shape.clone()).collect();
        assert_eq!(shapes, expected, "{name:?}");
        for output in outputs {
            assert_eq!(
                output.data.len(),
                output.shape.iter().product::<usize>(),
                "{name:?}"
            );
            assert!(output.data.iter().all(|value| value.is_finite()), "{name:?}");
        }
    }
}

#[test]
fn a_batch_answers_as_its_members_do() {
    let models = models();
    for name in [
        ModelName::FaceDetector,
        ModelName::FaceMesh,
        ModelName::DlibEmbedding,
        ModelName::SfaceEmbedding,
    ] {
        let one = name.nominal_shape();
        let size: usize = one.iter().product();
        let data: Vec<f32> = (0..2 * size).map(|i| (i * 31 % 257) as f32 / 257.0).collect();
        let run = |shape: &[usize], data: &[f32]| models.run(name, Input { shape, data }).unwrap();
        let both = run(&[2, one[1], one[2], one[3]], &data);
        for (number, part) in data.chunks_exact(size).enumerate() {
            for (joint, alone) in both.iter().zip(run(&one, part)) {
                let joint = &joint.data[number * alone.data.len()..][..alone.data.len()];
                let scale = alone
                    .data
                    .iter()
                    .fold(0.1_f32, |largest, value| largest.max(value.abs()));
                let off = joint
                    .iter()
                    .zip(&alone.data)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(off < scale * 1e-4, "{name:?}: off by {off}");
            }
        }
    }
}

#[test]
fn threads_share_a_model_and_get_the_same_answer() {
    let models = models();
    let shape = ModelName::DlibEmbedding.nominal_shape();
    let data: Vec<f32> = (0..shape.iter().product())
        .map(|i: usize| (i * 7 % 256) as f32)
        .collect();
    let run = || {
        models
            .run(
                ModelName::DlibEmbedding,
                Input {
                    shape: &shape,
                    data: &data,
                },
            )
            .unwrap()
    };
    let expected = run();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn a_shape_that_cannot_be_is_refused() {
    let models = models();
    let data = [0.0; 12];
    for shape in [
        &[1, 2, 2, 3][..],
        &[1, 256, 256, 3],
        &[0, 256, 256, 3],
        &[12],
        &[],
        &[usize::MAX, usize::MAX, 2],
    ] {
        let result = models.run(ModelName::FaceDetector, Input { shape, data: &data });
        assert!(
            matches!(
                result,
                Err(ModelError::Input { ref name, .. }) if name == "face-detector"
            ),
            "{shape:?}: {result:?}"
        );
    }
    let shape = ModelName::FaceMesh.nominal_shape();
    let data = vec![0.0; shape.iter().product()];
    models
        .run(
            ModelName::FaceMesh,
            Input {
                shape: &shape,
                data: &data,
            },
        )
        .unwrap();
}

#[test]
fn the_recogniser_brings_its_alphabet_and_every_model_its_version() {
    let models = models();
    let alphabet = models.metadata(ModelName::TextRecogniser, "character").unwrap();
    assert!(alphabet.lines().any(|character| character == "<"));
    assert_eq!(models.metadata(ModelName::TextRecogniser, "no such key"), None);
    for name in ModelName::ALL {
        let version = models.version(name);
        assert!(
            version.len() == 12 && version.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{name:?}: {version}"
        );
    }
}

/// Faces that are known by SFace's earlier file must stay known.
#[test]
fn a_file_that_computes_the_same_numbers_keeps_their_version() {
    let models = models();
    assert_eq!(models.version(ModelName::SfaceEmbedding), "26e2c12231ce");
    let folder = inference::find_models_dir(None).unwrap();
    let manifest = Manifest::read(&folder).unwrap();
    let entry = |name: ModelName| {
        let named = |entry: &&ManifestEntry| entry.name == name.as_str();
        manifest.files.iter().find(named).unwrap()
    };
    assert!(
        !entry(ModelName::SfaceEmbedding)
            .sha256
            .starts_with("26e2c12231ce")
    );
    let mesh = entry(ModelName::FaceMesh);
    assert_eq!(
        (models.version(ModelName::FaceMesh), &mesh.same_as),
        (&mesh.sha256[..12], &None)
    );
}

#[test]
fn what_is_missing_or_changed_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let opened = || Models::open(dir.path(), 1).unwrap_err();
    let manifest = |text: &str| std::fs::write(dir.path().join("manifest.json"), text).unwrap();

    let error = opened();
    assert!(matches!(error, ModelError::NoManifest { .. }));
    assert!(error.to_string().contains("make models"), "{error}");

    manifest("{\"files\": 3}");
    assert!(matches!(opened(), ModelError::BadManifest { .. }));

    manifest("{\"recipe\": \"\", \"files\": []}");
    assert!(matches!(opened(), ModelError::Missing { name, .. } if name == RUNTIME));

    let entry = ManifestEntry {
        name: RUNTIME.to_owned(),
        file: "library".to_owned(),
        sha256: "00".repeat(32),
        same_as: None,
        source: String::new(),
        version: String::new(),
        licence: String::new(),
    };
    manifest(
        &serde_json::to_string(&Manifest {
            recipe: String::new(),
            files: vec![entry],
        })
        .unwrap(),
    );
    assert!(
        matches!(opened(), ModelError::Missing { .. }),
        "listed, but no file"
    );
    std::fs::write(dir.path().join("library"), "not a library").unwrap();
    assert!(matches!(opened(), ModelError::Changed { .. }));
}

#[test]
fn a_named_folder_is_taken_at_its_word() {
    let named = PathBuf::from("/nowhere/models");
    assert_eq!(find_models_dir(Some(&named)), Some(named));
}
