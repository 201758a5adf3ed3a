//! Measures the processor time of finding, checking and embedding the faces of one verification:
//! `cargo run --release -p faces --example engine_bench [SELFIE DOCUMENT]`.
//!
//! The selfie is enlarged and placed on a background of 12 megapixels, and the document is enlarged to three. The
//! pictures default to the specimens (`make specimens`). Decoding is not measured.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]
#![expect(clippy::expect_used, reason = "a measurement fails by panicking")]

mod processor_time;

use std::sync::Arc;

use faces::{FaceEngine, PictureKind};
use imaging::{Limits, Picture, decode};
use inference::{Input, ModelName, Models, find_models_dir};

use processor_time::{ROUNDS, median};

/// The size of a 12-megapixel picture held upright, and of the selfie on it.
const SELFIE: (u32, u32) = (3000, 4000);
const PERSON_WIDTH: u32 = 2400;
const DOCUMENT_WIDTH: u32 = 2100;
const BACKGROUND: [u8; 3] = [172, 168, 160];
/// The models of faces, with the size of a batch in which the engine runs each.
const NETWORKS: [(ModelName, usize); 4] = [
    (ModelName::FaceDetector, 1),
    (ModelName::FaceMesh, 1),
    (ModelName::SfaceEmbedding, 2),
    (ModelName::DlibEmbedding, 2),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut file = |specimen: &str| {
        let path = arguments
            .next()
            .unwrap_or_else(|| format!("specimens/{specimen}"));
        let bytes = std::fs::read(&path).expect("a picture (`make specimens`)");
        decode(&bytes, &Limits::default()).expect("a picture").picture
    };
    let selfie = twelve_megapixels(&file("pass-passport-selfie.jpg"));
    let document = widened(&file("pass-passport-passportFront.jpg"), DOCUMENT_WIDTH);

    let folder = find_models_dir(None).expect("models (`make models`)");
    let models = Arc::new(Models::open(&folder, 1).expect("models"));
    models.warm_up().expect("models run");
    let engine = FaceEngine::new(Arc::clone(&models));

    let mut together = 0.0;
    for (name, picture, kind) in [
        ("selfie", &selfie, PictureKind::Selfie),
        ("document", &document, PictureKind::Document),
    ] {
        let before = NETWORKS.map(|(network, _)| models.inputs_run(network));
        let reading = engine.analyse(picture, kind).expect("models run");
        let ran: Vec<u64> = NETWORKS
            .iter()
            .zip(before)
            .map(|((network, _), before)| models.inputs_run(*network) - before)
            .collect();
        println!(
            "{name}: {} × {} pixels, {} faces, {} significant, {:.0} pixels between the eyes",
            picture.width,
            picture.height,
            reading.faces.len(),
            reading.significant().count(),
            reading.main().map_or(0.0, |face| face.inter_eye_px),
        );
        let analysed = median(|| drop(engine.analyse(picture, kind).expect("models run")));
        println!("  analysed             {analysed:6.1} ms");
        let mut rest = analysed;
        for ((network, batch), inputs) in NETWORKS.into_iter().zip(ran) {
            let time = inputs as f64 * run_alone(&models, network, batch);
            rest -= time;
            println!("    {:16} {time:6.1} ms: {inputs} inputs", network.as_str());
        }
        println!("    pixels           {rest:6.1} ms");
        together += analysed;
        if kind == PictureKind::Selfie {
            let checked = median(|| drop(engine.passive_cue(picture, &reading)));
            println!("  passive cue          {checked:6.1} ms");
            together += checked;
        }
    }
    println!("together               {together:6.1} ms of processor time (medians of {ROUNDS})");
}

fn widened(picture: &Picture, width: u32) -> Picture {
    picture.resized(width, (picture.height * width).div_ceil(picture.width))
}

/// The picture of a person as a telephone's camera takes it.
fn twelve_megapixels(person: &Picture) -> Picture {
    let person = widened(person, PERSON_WIDTH);
    let mut picture = Picture::filled(SELFIE.0, SELFIE.1, BACKGROUND);
    let (left, top) = (
        (SELFIE.0 - person.width) as usize / 2,
        SELFIE.1.saturating_sub(person.height),
    );
    for (source, y) in (0..person.height).zip(top..SELFIE.1) {
        let at = (y as usize * SELFIE.0 as usize + left) * 3;
        let row = person.row(source);
        picture.pixels[at..at + row.len()].copy_from_slice(row);
    }
    picture
}

/// Milliseconds of processor time that a model takes for one input.
fn run_alone(models: &Models, network: ModelName, batch: usize) -> f64 {
    let mut shape = network.nominal_shape();
    shape[0] = batch;
    let data = vec![0.5; shape.iter().product()];
    let input = Input {
        shape: &shape,
        data: &data,
    };
    median(|| drop(models.run(network, input).expect("models run"))) / batch as f64
}
