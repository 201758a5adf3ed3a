//! Measures the processor time of a film's frames, by what a call requests:
//! `cargo run --release -p faces --example film_bench [SELFIE]`.
//!
//! The frames show a selfie that moves a little. The default is a specimen (`make specimens`). Decoding is measured
//! separately.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]
#![expect(clippy::expect_used, reason = "a measurement fails by panicking")]

mod processor_time;

use std::sync::Arc;

use faces::{FaceEngine, FilmRequest};
use imaging::{Limits, Picture, decode};
use inference::{Models, find_models_dir};

use processor_time::median;

/// The size that the page sends.
const SIZE: (u32, u32) = (360, 480);
const QUALITY: u8 = 70;

fn main() {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "specimens/pass-passport-selfie.jpg".to_owned());
    let bytes = std::fs::read(&path).expect("a picture (`make specimens`)");
    let person = decode(&bytes, &Limits::default()).expect("a picture").picture;
    let frames: Vec<Picture> = (0..8).map(|number| shifted(&person, number)).collect();

    let folder = find_models_dir(None).expect("models (`make models`)");
    let models = Arc::new(Models::open(&folder, 1).expect("models"));
    models.warm_up().expect("models run");
    let engine = FaceEngine::new(models);

    let jpeg = imaging::encode_jpeg(&frames[0], QUALITY).expect("a JPEG");
    let decoding = median(|| drop(decode(&jpeg, &Limits::default()).expect("a picture")));
    println!("decoded              {decoding:6.1} ms ({} bytes)", jpeg.len());

    let film = |before: Option<(&Picture, &faces::Track)>, frames: &[Picture], request| {
        engine.film(before, frames, request).expect("models run")
    };
    let start = FilmRequest {
        restart: true,
        embed: 0,
    };
    let (_, track) = film(None, &frames[..1], start);
    let track = track.expect("a face that is followed");
    let before = Some((&frames[0], &track));
    let plain = FilmRequest::default();
    let one = median(|| drop(film(before, &frames[1..2], plain)));
    let two = median(|| drop(film(before, &frames[1..3], plain)));
    let seven = median(|| drop(film(before, &frames[1..], plain)));
    let restarted = median(|| drop(film(before, &frames[1..2], start)));
    let embedded = median(|| {
        let embed = 1;
        drop(film(before, &frames[1..2], FilmRequest { embed, ..plain }));
    });
    println!("one frame            {one:6.1} ms");
    println!("two frames           {two:6.1} ms");
    println!("seven frames         {seven:6.1} ms, {:.1} each", seven / 7.0);
    println!("points placed anew   {:6.1} ms more", restarted - one);
    println!("an embedding         {:6.1} ms more", embedded - one);
}

/// The picture of a frame: a part of the person's picture, at another place each time.
fn shifted(person: &Picture, number: u32) -> Picture {
    let wide = SIZE.0 + 40;
    let scaled = person.resized(
        wide,
        (person.height * wide).div_ceil(person.width).max(SIZE.1 + 40),
    );
    let (left, top) = (3 * number as usize, 2 * number);
    let rows = top..top + SIZE.1;
    let pixels = rows.flat_map(|y| scaled.row(y)[left * 3..(left + SIZE.0 as usize) * 3].to_vec());
    Picture::new(SIZE.0, SIZE.1, pixels.collect()).expect("the right size")
}
