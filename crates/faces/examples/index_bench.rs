//! Measures the speed of the face index: `cargo run --release -p faces --example index_bench [FACES]` (one
//! million by default).
//!
//! The faces are invented. Their distances have the averages that those between strangers have in 372 photographed
//! faces, and SFace's half alone is within the searched distance for 6 % of the strangers, as in those photographs.
//! Every tenth query is near a face of the index. A search uses one thread, whose processor time depends less on other
//! programs than the time does.
#![expect(clippy::print_stdout, reason = "a program whose purpose is to print figures")]

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use faces::{EMBEDDING_LEN, Embedding, FaceIndex, IDENTIFICATION_BAND};
use uuid::Uuid;

const QUERIES: usize = 100;
/// The length of SFace's half of an embedding.
const NETWORK_LEN: usize = EMBEDDING_LEN / 2;

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
        let face = random.stranger();
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

    let (mut times, mut processor_times) = (Vec::new(), Vec::new());
    let mut hits = 0;
    for query in 0..QUERIES {
        let near = query % 10 == 0;
        let face = if near {
            random.around(*known[query / 10 % known.len()].values(), 0.2)
        } else {
            random.stranger()
        };
        let (start, processor_start) = (Instant::now(), processor_time());
        let found = index.search(&face, IDENTIFICATION_BAND).expect("one model");
        processor_times.push(processor_time() - processor_start);
        times.push(start.elapsed());
        hits += usize::from(!found.is_empty());
    }
    println!("{QUERIES} searches, {hits} with a hit (10 expected)");
    print_times("time", times);
    print_times("processor time", processor_times);
}

fn print_times(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let [best, median, worst] = [0, QUERIES / 2, QUERIES - 1].map(|at| milliseconds(times[at]));
    println!("{name} of one search: best {best:.2} ms, median {median:.2} ms, worst {worst:.2} ms");
}

/// The processor time that this thread used so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a clock that started at 0")
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

    fn stranger(&mut self) -> Embedding {
        // SFace's halves of all faces have a common part, which is a tenth of their squared length.
        let mut common = [0; EMBEDDING_LEN];
        common[..NETWORK_LEN].fill(420);
        self.around(common, 1.0)
    }

    /// A face around `centre`, whose numbers have an approximately normal distribution with `spread` times the
    /// deviation among strangers. SFace's half has the length 1.
    fn around(&mut self, centre: [i16; EMBEDDING_LEN], spread: f32) -> Embedding {
        let mut values = centre.map(f32::from);
        for (place, value) in values.iter_mut().enumerate() {
            let deviation = match place {
                // Unequal deviations spread the distances as much as real ones.
                0..NETWORK_LEN if place % 2 == 0 => 827.0,
                0..NETWORK_LEN => 1_764.0,
                _ => 1_012.0,
            };
            let normal = 1.732 * (self.unit() + self.unit() + self.unit() + self.unit());
            *value += spread * deviation * normal;
        }
        let sface = &mut values[..NETWORK_LEN];
        let length = sface.iter().map(|value| value * value).sum::<f32>().sqrt();
        for value in sface {
            *value *= 16_384.0 / length;
        }
        Embedding::new("0123456789ab", values.map(|value| value as i16)).expect("a version")
    }
}
