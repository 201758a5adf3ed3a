//! Measures the speed of the face index: `cargo run --release -p faces --example index_bench [FACES]` (one
//! million by default).
//!
//! The faces are invented: 256 numbers with the deviations of SFace's and dlib's. Every hundredth query is near a face
//! of the index.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]

use std::time::{Duration, Instant};

use faces::{EMBEDDING_LEN, Embedding, FaceIndex, IDENTIFICATION_BAND};
use uuid::Uuid;

const QUERIES: usize = 100;

fn main() {
    let count: usize = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    let mut random = Random(42);
    let mut index = FaceIndex::new();
    let start = Instant::now();
    let mut known = Vec::new();
    for id in 0..count {
        let face = random.face([0; EMBEDDING_LEN], 1.0);
        index
            .insert(Uuid::from_u128(id as u128), &face)
            .expect("one model");
        if id % (count / 10).max(1) == 0 {
            known.push(face);
        }
    }
    println!(
        "{count} faces inserted in {:.0} ms",
        milliseconds(start.elapsed())
    );

    let mut times = Vec::new();
    let mut hits = 0;
    for query in 0..QUERIES {
        let near = query % 10 == 0;
        let face = if near {
            random.face(*known[query / 10 % known.len()].values(), 0.2)
        } else {
            random.face([0; EMBEDDING_LEN], 1.0)
        };
        let start = Instant::now();
        let found = index.search(&face, IDENTIFICATION_BAND).expect("one model");
        times.push(start.elapsed());
        hits += usize::from(!found.is_empty());
    }
    times.sort();
    println!("{QUERIES} searches, {hits} with a hit (10 expected)");
    let [best, median, worst] = [0, QUERIES / 2, QUERIES - 1].map(|at| milliseconds(times[at]));
    println!("one search: best {best:.2} ms, median {median:.2} ms, worst {worst:.2} ms");
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Xorshift, which gives the same faces on every run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }

    /// A face around `centre`, whose numbers have an approximately normal distribution with `spread` times the
    /// deviation among strangers.
    fn face(&mut self, centre: [i16; EMBEDDING_LEN], spread: f32) -> Embedding {
        let mut values = centre;
        for (place, value) in values.iter_mut().enumerate() {
            let deviation = if place < EMBEDDING_LEN / 2 { 1_450.0 } else { 980.0 };
            let normal = 1.732 * (self.unit() + self.unit() + self.unit() + self.unit());
            *value = (f32::from(*value) + spread * deviation * normal) as i16;
        }
        Embedding::new("0123456789ab", values).expect("a version")
    }
}
