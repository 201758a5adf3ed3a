//! Benchmarks the service from outside: start-up, memory, Groups compared with a bare axum handler, hosted
//! sessions at a steady rate, and verifications of 12-megapixel images.
//!
//! `cargo bench -p bonafide --bench service` (needs `models` and `specimens`). It prints figures and never
//! fails because of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints its figures and stops at the first thing that is wrong"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Client;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

/// Images are enlarged to this many pixels on their longer side: 12 MP at 4:3.
const LONG_SIDE: u32 = 4_000;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The running server; stopped when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory of the server and its decoders, in MiB.
fn memory(server: &Server) -> u64 {
    let pid = server.0.id();
    let resident = |pid: u32| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or("0");
        line.split_whitespace()
            .next()
            .and_then(|kib| kib.parse().ok())
            .unwrap_or(0)
    };
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .map(resident)
        .sum::<u64>();
    (resident(pid) + children) / 1024
}

/// Load from `clients` that each wait for their response before the next request. Returns requests per
/// second, and the median and 99th percentile of the latency in microseconds.
async fn load<F, R>(clients: usize, seconds: u64, request: F) -> (f64, u128, u128)
where
    F: Fn(usize) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send,
{
    let until = Instant::now() + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let request = request.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                let mut number = 0;
                while Instant::now() < until {
                    let started = Instant::now();
                    request(client * 1_000_000 + number).await;
                    number += 1;
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
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    (times.len() as f64 / seconds as f64, at(0.5), at(0.99))
}

/// Exchanges and polls per second, and the duration in seconds.
const STEADY: (u32, u32) = (500, 10);

/// Calls at a steady rate, whether or not earlier calls were answered: the latency that a waiting crowd
/// experiences. Returns the same figures as [`load`].
async fn steady<F, R>(request: F) -> (f64, u128, u128)
where
    F: Fn(usize) -> R,
    R: Future<Output = ()> + Send + 'static,
{
    let (rate, seconds) = STEADY;
    let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
    let started = Instant::now();
    let mut calls = Vec::new();
    for number in 0..(rate * seconds) as usize {
        tick.tick().await;
        let (call, begun) = (request(number), Instant::now());
        calls.push(tokio::spawn(async move {
            call.await;
            begun.elapsed().as_micros()
        }));
    }
    let mut times = Vec::new();
    for call in calls {
        times.push(call.await.unwrap());
    }
    let rate = times.len() as f64 / started.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    (rate, at(0.5), at(0.99))
}

/// Measures creating, exchanging and polling links.
async fn sessions(client: &Client, demo: &Value) {
    let text = |name: &str| demo[name].as_str().unwrap().to_owned();
    let (base, api_key, secret) = (text("baseUrl"), text("apiKey"), text("secret"));
    let body = json!({"userId": "bench", "groupId": demo["groupId"], "flowId": demo["flows"]["passport"]});
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (rate, seconds) = STEADY;
    let wanted = (rate * seconds) as usize;
    let link = || {
        let request = client
            .post(format!("{base}/v2/sdk/session/web-sdk-link"))
            .basic_auth(&api_key, Some(&secret))
            .json(&body);
        let tokens = Arc::clone(&tokens);
        async move {
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            let token = answer["url"].as_str().unwrap().split_once("token=").unwrap().1;
            tokens.lock().unwrap().push(token.to_owned());
        }
    };
    let started = Instant::now();
    for _ in 0..wanted / 8 {
        futures_util::future::join_all((0..8).map(|_| link())).await;
    }
    println!(
        "POST web-sdk-link (8 clients)                {:>9.0}/s",
        wanted as f64 / started.elapsed().as_secs_f64()
    );
    let ids = Arc::new(Mutex::new(Vec::new()));
    let tokens = tokens.lock().unwrap().clone();
    let exchange = |number: usize| {
        let request = client
            .post(format!("{base}/v2/sdk/session/exchange"))
            .json(&json!({"token": tokens[number % tokens.len()]}));
        let ids = Arc::clone(&ids);
        async move {
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            let id = answer["session_id"].as_str().unwrap().to_owned();
            ids.lock().unwrap().push(id);
        }
    };
    report("exchange, 500 a second offered", steady(exchange).await);
    let ids = ids.lock().unwrap().clone();
    let poll = |number: usize| {
        let id = &ids[number % ids.len()];
        let request = client
            .get(format!("{base}/v2/sdk/session/verification-result/{id}"))
            .basic_auth(&api_key, Some(&secret));
        async move { assert!(request.send().await.unwrap().status().is_success()) }
    };
    report("poll, 500 a second offered", steady(poll).await);
}

fn report(name: &str, (rate, median, p99): (f64, u128, u128)) {
    println!("{name:44} {rate:>9.0}/s   p50 {median:>7} us   p99 {p99:>7} us");
}

/// A specimen's images, enlarged to 12 MP.
fn enlarged(file: &Path) -> Vec<u8> {
    let picture = image::open(file).unwrap().to_rgb8();
    let scale = f64::from(LONG_SIDE) / f64::from(picture.width().max(picture.height()));
    let size = |side: u32| (f64::from(side) * scale) as u32;
    let (width, height) = (size(picture.width()), size(picture.height()));
    let large = image::imageops::resize(&picture, width, height, image::imageops::FilterType::Triangle);
    let mut bytes = Vec::new();
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 88)
        .encode_image(&large)
        .unwrap();
    bytes
}

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let dir = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_bonafide");
    println!(
        "binary size                                  {:>9} KiB",
        std::fs::metadata(program).unwrap().len() / 1024
    );
    let started = Instant::now();
    let server = Command::new(program)
        .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path())
        .arg("--models")
        .arg(workspace().join("models"))
        .arg("--specimens")
        .arg(workspace().join("specimens"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server(server);
    let file = dir.path().join("demo.json");
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!(
        "start to ready, fresh data folder            {:>9.0} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
    println!(
        "memory, idle                                 {:>9} MiB",
        memory(&server)
    );

    let demo: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let text = |name: &str| demo[name].as_str().unwrap().to_owned();
    let (base, api_key, secret) = (text("baseUrl"), text("apiKey"), text("secret"));
    let client = Client::new();

    let bare = axum::Router::new().route(
        "/",
        axum::routing::get(|| async { axum::Json(json!({"groups": []})) }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bare_url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, bare).await });
    let get = {
        let client = client.clone();
        move |_| {
            let request = client.get(&bare_url);
            async move { assert!(request.send().await.unwrap().status().is_success()) }
        }
    };
    report("bare axum handler, GET (8 clients)", load(8, 5, get).await);
    let groups = format!("{base}/v2/public/groups");
    let get = {
        let (client, groups, api_key, secret) =
            (client.clone(), groups.clone(), api_key.clone(), secret.clone());
        move |_| {
            let request = client.get(&groups).basic_auth(&api_key, Some(&secret));
            async move { assert!(request.send().await.unwrap().status().is_success()) }
        }
    };
    report("GET groups (8 clients)", load(8, 5, get).await);
    let post = {
        let (client, api_key, secret) = (client.clone(), api_key.clone(), secret.clone());
        move |number| {
            let body = json!({"name": format!("g{number}"), "flowIds": ["x"]});
            let request = client
                .post(&groups)
                .basic_auth(&api_key, Some(&secret))
                .json(&body);
            async move { assert!(request.send().await.unwrap().status().is_success()) }
        }
    };
    report("POST groups (8 clients)", load(8, 5, post).await);

    sessions(&client, &demo).await;

    let specimens = workspace().join("specimens");
    let index: Vec<Value> =
        serde_json::from_slice(&std::fs::read(specimens.join("index.json")).unwrap()).unwrap();
    let specimen = index
        .iter()
        .find(|entry| entry["name"] == "pass-passport")
        .expect("the passing passport");
    let files: Vec<(String, Vec<u8>)> = specimen["files"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(field, file)| (field.clone(), enlarged(&specimens.join(file.as_str().unwrap()))))
        .collect();
    let verify = |number: usize| {
        let mut form = Form::new().text("flowId", demo["flows"]["passport"].as_str().unwrap().to_owned());
        for (name, value) in specimen["fields"].as_object().unwrap() {
            if name != "externalUserId" && name != "flowId" {
                form = form.text(name.clone(), value.as_str().unwrap().to_owned());
            }
        }
        form = form.text("externalUserId", format!("bench-{number}"));
        for (field, bytes) in &files {
            form = form.part(field.clone(), Part::bytes(bytes.clone()).file_name("x.jpg"));
        }
        let request = client
            .post(format!("{base}/v2/idv/verify"))
            .basic_auth(&api_key, Some(&secret))
            .multipart(form);
        async {
            let started = Instant::now();
            let status = request.send().await.unwrap().status().as_u16();
            (status, started.elapsed())
        }
    };
    let mut alone: Vec<Duration> = Vec::new();
    for number in 0..5 {
        alone.push(verify(number).await.1);
    }
    alone.sort_unstable();
    println!(
        "one verification, two 12 MP pictures         {:>9.0} ms (median of 5)",
        alone[2].as_secs_f64() * 1e3
    );
    let started = Instant::now();
    let mut answered = Vec::new();
    for handle in (100..108).map(&verify) {
        answered.push(handle);
    }
    let answered = futures_util::future::join_all(answered).await;
    let busy = answered.iter().filter(|(status, _)| *status == 503).count();
    println!(
        "8 at once                                    {:>9.0} ms until the last answer, {busy} of them 503",
        started.elapsed().as_secs_f64() * 1e3
    );
    println!(
        "memory, after that                           {:>9} MiB",
        memory(&server)
    );
}
