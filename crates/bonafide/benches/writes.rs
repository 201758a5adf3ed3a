//! Benchmarks durable writes from outside: Groups are created and read while each sync of the disk takes 1.75
//! ms longer. It also counts the syncs per request.
//!
//! `cargo bench -p bonafide --bench writes` (needs `cc`; Linux with glibc). `WRITES_SYNC_US` sets another
//! delay. It prints figures and never fails because of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints its figures and stops at the first thing that is wrong"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

/// Duration of each run, in seconds.
const SECONDS: u64 = 5;

/// The running server; stopped when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Syncs per second of a file that grows by 4 KiB each time.
fn disk_rate(folder: &Path, delay: Duration) -> f64 {
    const SYNCS: u32 = 300;
    let mut file = std::fs::File::create(folder.join("rate")).unwrap();
    let begun = Instant::now();
    for _ in 0..SYNCS {
        file.write_all(&[7; 4_096]).unwrap();
        file.sync_data().unwrap();
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
    }
    f64::from(SYNCS) / begun.elapsed().as_secs_f64()
}

/// Requests per second, and the median and 99th percentile of the latency in microseconds.
async fn load<F, R>(clients: usize, request: F) -> (f64, u128, u128)
where
    F: Fn() -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let begun = Instant::now();
    let until = begun + Duration::from_secs(SECONDS);
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let request = request.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < until {
                    let started = Instant::now();
                    request().await;
                    times.push(started.elapsed().as_micros());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    (rate, at(0.5), at(0.99))
}

fn report(name: &str, (rate, median, p99): (f64, u128, u128), syncs: f64) {
    println!("{name:26} {rate:>7.0}/s   p50 {median:>6} us   p99 {p99:>6} us   {syncs:>5.2} syncs a request");
}

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (dir, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let delay = std::env::var("WRITES_SYNC_US").unwrap_or("1750".into());
    let library = tools.path().join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/disk/shim.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success(), "cc");
    let syncs = tools.path().join("syncs");
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bonafide"));
        command
            .env("BONAFIDE_DATA", dir.path())
            .env("LD_PRELOAD", &library)
            .env("DISK_ROOT", dir.path().canonicalize().unwrap())
            .env("DISK_SYNC_US", &delay)
            .env("DISK_SYNCS", &syncs);
        command
    };
    let made = program()
        .args(["merchant", "create", "--name", "Bench", "--approved", "--json"])
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let text = |name: &str| made["sandbox"][name].as_str().unwrap().to_owned();
    let (key, secret) = (text("apiKey"), text("secret"));
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let server = program()
        .args(["serve", "--listen", &address.to_string()])
        // Rate limits count requests as usual, but refuse none.
        .args(["--rate-writes", "1000000", "--rate-reads", "1000000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Server(server);
    let client = Client::new();
    let groups = format!("http://{address}/v2/public/groups");
    while client
        .get(format!("http://{address}/healthz"))
        .send()
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let micros = Duration::from_micros(delay.parse().unwrap());
    println!(
        "the disk's own syncs       {:>7.0}/s",
        disk_rate(tools.path(), Duration::ZERO)
    );
    println!(
        "the same, each {delay:>5} us later {:>3.0}/s",
        disk_rate(tools.path(), micros)
    );

    let count = || std::fs::metadata(&syncs).map_or(0, |file| file.len());
    let number = Arc::new(AtomicUsize::new(0));
    let post = {
        let (client, groups, key, secret) = (client.clone(), groups.clone(), key.clone(), secret.clone());
        move || {
            let name = format!("group {}", number.fetch_add(1, Ordering::Relaxed));
            let request = client
                .post(&groups)
                .basic_auth(&key, Some(&secret))
                .json(&json!({"name": name, "flowIds": ["x"]}));
            async move { assert_eq!(request.send().await.unwrap().status(), 201) }
        }
    };
    let get = move || {
        let request = client.get(&groups).basic_auth(&key, Some(&secret));
        async move { assert_eq!(request.send().await.unwrap().status(), 200) }
    };
    for clients in [1, 8] {
        let before = count();
        let measured = load(clients, get.clone()).await;
        let requests = measured.0 * SECONDS as f64;
        report(
            &format!("GET groups, {clients} clients"),
            measured,
            (count() - before) as f64 / requests,
        );
    }
    for clients in [1, 8, 32] {
        let before = count();
        let measured = load(clients, post.clone()).await;
        let requests = measured.0 * SECONDS as f64;
        report(
            &format!("POST groups, {clients} clients"),
            measured,
            (count() - before) as f64 / requests,
        );
    }
}
