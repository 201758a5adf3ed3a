//! Measures label look-ups and label-only screens on one core: `cargo run --release -p chain --example
//! screen_labels [labels.ndjson]`.
//!
//! Without a file it generates half a million labels.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement, run by hand"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use chain::address::Address;
use chain::category::Category;
use chain::currency::Currency;
use chain::labels::{Label, LabelIndex, Labels as _, read};
use chain::profile::Profile;
use chain::screen::{Request, Subject, screen_labels};

type Row = (Currency, String, Label);

fn made() -> Vec<Row> {
    let categories = [
        Category::Exchange,
        Category::Scam,
        Category::Mixer,
        Category::Mining,
    ];
    (0..500_000_u64)
        .map(|number| {
            let mut hash = [0_u8; 20];
            hash[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            let script = [&[0x76, 0xa9, 20], hash.as_slice(), &[0x88, 0xac]].concat();
            let address = match number % 2 {
                0 => Address::of_script(Currency::Btc, &script).unwrap(),
                _ => Address::evm(Currency::Eth, hash),
            };
            let label = Label {
                name: format!("Entity {}", number % 20_000),
                category: categories[number as usize % categories.len()],
                source: format!("https://example.org/{}", number % 500),
                confidence: 50,
                valid_from: None,
                valid_to: None,
                authority: false,
            };
            (address.currency, address.canonical, label)
        })
        .collect()
}

fn imported(file: &str) -> Vec<Row> {
    let imported = read(std::fs::File::open(file).unwrap()).unwrap();
    println!("{} rows, {} rejected", imported.rows.len(), imported.rejected);
    imported
        .rows
        .into_iter()
        .map(|row| (row.currency, row.address, row.label))
        .collect()
}

fn main() {
    let rows = std::env::args().nth(1).map_or_else(made, |file| imported(&file));
    // Every second look-up is for an address without a label.
    let asked: Vec<(Currency, String)> = rows
        .iter()
        .map(|(currency, address, _)| (*currency, address.clone()))
        .flat_map(|(currency, address)| [(currency, address.clone()), (currency, format!("{address}x"))])
        .collect();
    let start = Instant::now();
    let index = LabelIndex::new(rows);
    println!(
        "{} labels indexed in {:?}: {:.1} MB",
        index.len(),
        start.elapsed(),
        index.bytes() as f64 / 1e6
    );

    let now = i64::MAX / 2;
    // The order must be unpredictable for the processor's caches.
    let order: Vec<usize> = (0..1_000_000).map(|at| at * 7_919_usize % asked.len()).collect();
    let start = Instant::now();
    for at in &order {
        let (currency, address) = &asked[*at];
        black_box(index.contains(*currency, address, now));
    }
    println!(
        "look-up: {:.0} ns",
        start.elapsed().as_secs_f64() * 1e9 / order.len() as f64
    );
    let start = Instant::now();
    for at in &order {
        let (currency, address) = &asked[*at];
        black_box(index.labels(*currency, address, now));
    }
    println!(
        "look-up with its labels: {:.0} ns",
        start.elapsed().as_secs_f64() * 1e9 / order.len() as f64
    );

    // The whole screen: syntax and checksum, labels, score and detail.
    let profile = Profile::built_in();
    let mut times: Vec<Duration> = Vec::with_capacity(300_000);
    let start = Instant::now();
    for at in order.iter().filter(|at| *at % 2 == 0).take(300_000) {
        let (currency, address) = &asked[*at];
        let began = Instant::now();
        let address = Address::parse(*currency, address).unwrap();
        let request = Request::new(*currency, Subject::Address(&address.canonical));
        black_box(screen_labels(&index, &profile, &request));
        times.push(began.elapsed());
    }
    let all = start.elapsed().as_secs_f64();
    times.sort();
    println!(
        "label-only screens: {:.0}/s, p50 {:?}, p99 {:?}",
        times.len() as f64 / all,
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}
