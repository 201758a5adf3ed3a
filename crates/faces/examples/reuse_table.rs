//! Measures how well a picture is recognised after changes, and what else is taken for it:
//! `cargo run --release -p faces --example reuse_table -- MODELS [--pairs] FOLDER…`. With `--pairs`, it changes nothing.
//!
//! It changes each picture with a face in several ways and compares the result with the original. It also compares all
//! pictures with one another; those of one person are in one folder, or differ only in the number that ends their name.
//! Pairs within a distance of 12 that no command changed are the same photograph twice, and are left out and listed.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]
#![expect(clippy::expect_used, reason = "a measurement fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use faces::{Face, FaceEngine, PictureKind};
use imaging::{Limits, PerceptualHash, Picture, decode, encode_jpeg};
use inference::Models;

/// The longest side in pixels: measuring larger pictures takes longer and changes little.
const LONGEST_SIDE: u32 = 1_000;

struct Measured {
    file: PathBuf,
    picture: Picture,
    hash: PerceptualHash,
    face: Face,
}

struct Pair {
    distance: u32,
    shares_band: bool,
    embedding: f32,
    texture: f32,
}

impl Pair {
    fn of(a: (PerceptualHash, &Face), b: (PerceptualHash, &Face)) -> Option<Self> {
        let (first, second) = (a.1.embedding.as_ref()?, b.1.embedding.as_ref()?);
        Some(Self {
            distance: a.0.distance(b.0),
            shares_band: a.0.bands().iter().zip(b.0.bands()).any(|(a, b)| *a == b),
            embedding: faces::distance(first, second),
            texture: a.1.texture.as_ref()?.correlation(b.1.texture.as_ref()?),
        })
    }

    fn is_same(&self) -> bool {
        self.shares_band && faces::is_same_picture(self.distance, self.texture)
    }
}

type Change = (&'static str, fn(&Picture) -> Picture);

/// What is done to pictures.
const CHANGES: [Change; 12] = [
    ("JPEG 85", |p| encoded(p, 85)),
    ("JPEG 50", |p| encoded(p, 50)),
    ("half, JPEG 80", |p| encoded(&scaled(p, 0.5), 80)),
    ("third, JPEG 80", |p| encoded(&scaled(p, 0.34), 80)),
    ("enlarged by half", |p| scaled(p, 1.5)),
    ("brighter", |p| brighter(p)),
    ("cropped 1 %", |p| cropped(p, [0.01; 4])),
    ("cropped 2 %", |p| cropped(p, [0.02; 4])),
    ("cropped 3 %", |p| cropped(p, [0.03; 4])),
    ("cropped 5 %", |p| cropped(p, [0.05; 4])),
    ("left cut by 5 %", |p| cropped(p, [0.05, 0.0, 0.0, 0.0])),
    ("2 %, half, JPEG 70", |p| {
        encoded(&scaled(&cropped(p, [0.02; 4]), 0.5), 70)
    }),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let models = arguments.next().expect("the folder of the models");
    let models = Models::open(Path::new(&models), 1).expect("models");
    let engine = FaceEngine::new(Arc::new(models));
    let mut files = Vec::new();
    let mut pairs_only = false;
    for folder in arguments {
        if folder == "--pairs" {
            pairs_only = true;
            continue;
        }
        find(Path::new(&folder), &mut files);
    }
    files.sort();
    let measured: Vec<Measured> = files
        .into_iter()
        .filter_map(|file| measure(&engine, file))
        .collect();
    println!("{} pictures with one usable face", measured.len());
    if !pairs_only {
        changes(&engine, &measured);
    }
    others(&measured);
}

/// Compares each picture with changed copies of it.
fn changes(engine: &FaceEngine, measured: &[Measured]) {
    println!("change; found of all; median and highest distance; lowest and 5th percentile of textures");
    for (name, change) in CHANGES {
        let pairs = measured.iter().map(|one| {
            let copy = change(&one.picture);
            let face = main_face(engine, &copy)?;
            Pair::of((one.hash, &one.face), (PerceptualHash::of(&copy), &face))
        });
        let pairs: Vec<Option<Pair>> = pairs.collect();
        let found = pairs.iter().flatten().filter(|pair| pair.is_same()).count();
        let banded = pairs.iter().flatten().filter(|pair| pair.shares_band).count();
        let mut distances: Vec<u32> = pairs.iter().flatten().map(|pair| pair.distance).collect();
        let mut textures: Vec<f32> = pairs.iter().flatten().map(|pair| pair.texture).collect();
        distances.sort_unstable();
        textures.sort_by(f32::total_cmp);
        println!(
            "{name:20} {found} of {} (band in common {banded}); {} {}; {:.3} {:.3}",
            pairs.len(),
            distances[distances.len() / 2],
            distances[distances.len() - 1],
            textures[0],
            textures[textures.len() / 20],
        );
    }
}

/// Compares all pictures with one another.
fn others(measured: &[Measured]) {
    let (mut own, mut foreign, mut near) = ((0, 0), (0, 0), Vec::new());
    for (at, one) in measured.iter().enumerate() {
        for other in &measured[..at] {
            let Some(pair) = Pair::of((one.hash, &one.face), (other.hash, &other.face)) else {
                continue;
            };
            let names = format!("{} {}", name(&one.file), name(&other.file));
            if pair.distance <= 12 {
                println!("left out, one photograph twice: {names}");
                continue;
            }
            let counts = match person(&one.file) == person(&other.file) {
                true => &mut own,
                false => &mut foreign,
            };
            counts.0 += 1;
            counts.1 += usize::from(pair.is_same());
            near.push((pair, names));
        }
    }
    println!(
        "pairs of one person: {} of {} called the same picture",
        own.1, own.0
    );
    println!(
        "pairs of two people: {} of {} called the same picture",
        foreign.1, foreign.0
    );
    println!("the most alike by texture: distance, band in common, embedding, texture");
    near.sort_by(|a, b| b.0.texture.total_cmp(&a.0.texture));
    for (pair, names) in near.iter().take(15) {
        print(pair, names);
    }
    println!("the most alike by distance");
    near.sort_by_key(|(pair, _)| pair.distance);
    for (pair, names) in near.iter().take(15) {
        print(pair, names);
    }
}

fn print(pair: &Pair, names: &str) {
    println!(
        "  {:3} {:5} {:.2} {:.3} {names}",
        pair.distance, pair.shares_band, pair.embedding, pair.texture
    );
}

fn measure(engine: &FaceEngine, file: PathBuf) -> Option<Measured> {
    let picture = read(&file)?.reduced(LONGEST_SIDE);
    let face = main_face(engine, &picture).filter(Face::is_usable)?;
    Some(Measured {
        file,
        hash: PerceptualHash::of(&picture),
        picture,
        face,
    })
}

fn main_face(engine: &FaceEngine, picture: &Picture) -> Option<Face> {
    let reading = engine.analyse(picture, PictureKind::Selfie).expect("models run");
    let mut faces = reading.significant();
    let face = faces.next().cloned();
    face.filter(|_| faces.next().is_none())
}

/// A picture of any format that the server reads, or a grey PGM.
fn read(file: &Path) -> Option<Picture> {
    let bytes = std::fs::read(file).ok()?;
    if bytes.starts_with(b"P5") {
        let text = String::from_utf8_lossy(&bytes[..40.min(bytes.len())]).into_owned();
        let mut words = text.split_ascii_whitespace().skip(1);
        let mut side = || words.next()?.parse::<u32>().ok();
        let (width, height) = (side()?, side()?);
        let pixels = &bytes[bytes.len().checked_sub((width * height) as usize)?..];
        return Picture::new(width, height, pixels.iter().flat_map(|&grey| [grey; 3]).collect());
    }
    decode(&bytes, &Limits::default())
        .ok()
        .map(|decoded| decoded.picture)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            find(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn name(file: &Path) -> String {
    let parts: Vec<_> = file
        .components()
        .rev()
        .take(2)
        .map(|part| part.as_os_str())
        .collect();
    parts
        .iter()
        .rev()
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

/// Whose picture it is.
fn person(file: &Path) -> String {
    let name = file.with_extension("");
    name.to_string_lossy()
        .trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_')
        .to_owned()
}

fn encoded(picture: &Picture, quality: u8) -> Picture {
    let jpeg = encode_jpeg(picture, quality).expect("encodes");
    decode(&jpeg, &Limits::default()).expect("decodes").picture
}

fn scaled(picture: &Picture, factor: f32) -> Picture {
    let side = |side: u32| (side as f32 * factor).round() as u32;
    picture.resized(side(picture.width), side(picture.height))
}

fn brighter(picture: &Picture) -> Picture {
    let mut picture = picture.clone();
    for value in &mut picture.pixels {
        *value = (f32::from(*value) * 0.85 + 38.0) as u8;
    }
    picture
}

/// Cuts off shares of the sides: left, top, right, bottom.
fn cropped(picture: &Picture, [left, top, right, bottom]: [f32; 4]) -> Picture {
    let part = |share: f32, side: u32| (share * side as f32) as u32;
    let (across, down) = (
        part(left + right, picture.width),
        part(top + bottom, picture.height),
    );
    let cut = picture.crop(
        part(left, picture.width),
        part(top, picture.height),
        picture.width - across,
        picture.height - down,
    );
    cut.expect("something is left")
}
