//! The engine workers of a real server: the walls around them, and what their end costs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine_process::{EngineError, EngineWorkers, Settings};
use imaging::DecodeError;
use inference::own::Selection;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bad_input::{children, files};
use crate::harness::{Backend, Key, Server, wait_until, workspace};
use crate::verify::{specimen, verify};

/// The engine workers that a process started.
pub(crate) fn workers_of(pid: u32) -> Vec<Pid> {
    let is_worker = |pid: &u32| {
        let command = std::fs::read_to_string(of(*pid, "cmdline"));
        command.is_ok_and(|command| command.contains("engine-worker"))
    };
    children(pid)
        .into_iter()
        .filter(is_worker)
        .filter_map(|pid| Pid::from_raw(pid.cast_signed()))
        .collect()
}

/// A file of a process in `/proc`.
fn of(pid: u32, name: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(name)
}

fn settings(program: &str) -> Settings {
    Settings {
        program: program.into(),
        models: Some(workspace().join("models")),
        required: Selection::default(),
        decoding: Duration::from_secs(1),
        most: 1,
        weak_sandbox: false,
        on_demand: false,
    }
}

/// Sends a licence whose back is a PDF that renders forever.
pub(crate) async fn endless(server: &Server, demo: &Value) -> (u16, Value) {
    let form = specimen("pass-drivers").form_with(
        demo,
        &json!({"externalUserId": "endless"}),
        &[("driversBack", files::endless_pdf())],
    );
    verify(server, demo, form).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_sandboxed() {
    let server = Server::start(Backend::Sqlite, &[]).await;
    server.engines().await;
    let workers = workers_of(server.pid());
    let [worker] = workers[..] else {
        panic!("{workers:?}")
    };
    let worker = worker.as_raw_nonzero().get().cast_unsigned();
    let read = |name: &str| std::fs::read_to_string(of(worker, name)).unwrap();

    let status = read("status");
    let no_capability = "CapEff:\t0000000000000000\nCapBnd";
    for line in ["NoNewPrivs:\t1\n", "Seccomp:\t2\n", no_capability] {
        assert!(status.contains(line), "{line:?} {status}");
    }
    assert_eq!(read("environ"), "");
    let mut descriptors: Vec<_> = std::fs::read_dir(of(worker, "fd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    descriptors.sort();
    assert_eq!(descriptors, ["0", "1", "2"]);
    let limits = read("limits");
    for (name, most) in [("Max core file size", "0"), ("Max file size", "0")] {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        let values: Vec<_> = line[name.len()..].split_whitespace().collect();
        assert_eq!(values[..2], [most, most], "{line}");
    }
    // Every thread is behind the same walls, also those that the runtime started.
    for thread in std::fs::read_dir(of(worker, "task")).unwrap() {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert!(status.contains("Seccomp:\t2\n"), "{status}");
    }
    // Where the kernel allows it, the worker is in a network without interfaces.
    if !server
        .log()
        .await
        .contains("a wall around the engine workers is missing")
    {
        for name in ["ns/net", "ns/user", "ns/ipc"] {
            let namespace = |pid: u32| std::fs::read_link(of(pid, name)).unwrap();
            assert_ne!(namespace(worker), namespace(server.pid()), "{name}");
        }
    }
}

#[test]
fn a_worker_that_dies_is_replaced() {
    let png = files::png(&files::two_halves(32, 16));
    let broken = EngineWorkers::start(settings("/bin/false"));
    let error = broken.check(&png, || false).unwrap_err();
    assert!(
        matches!(error, EngineError::Unavailable(_)),
        "no fault of the file: {error}"
    );

    let engines = EngineWorkers::start(settings(env!("CARGO_BIN_EXE_bonafide")));
    engines.wait().unwrap();
    assert!(engines.check(&png, || false).unwrap().is_ok());
    let idle = workers_of(std::process::id());
    let [idle] = idle[..] else { panic!("{idle:?}") };
    kill_process(idle, Signal::KILL).unwrap();
    assert!(
        engines.check(&png, || false).unwrap().is_ok(),
        "another one takes its place"
    );
}

#[tokio::test]
async fn a_worn_worker_goes_on_until_its_successor_can_work() {
    let png = files::png(&files::two_halves(32, 16));
    let engines = EngineWorkers::start(settings(env!("CARGO_BIN_EXE_bonafide")));
    engines.wait().unwrap();
    let workers = || workers_of(std::process::id());
    let [first] = workers()[..] else {
        panic!("{:?}", workers())
    };
    // One file more than it is to work on.
    for _ in 0..51 {
        assert!(engines.check(&png, || false).unwrap().is_ok());
    }
    assert!(workers().contains(&first), "no file waited for another worker");
    let replaced = async || matches!(workers()[..], [second] if second != first);
    wait_until(replaced, "another worker alone").await;
    assert!(engines.check(&png, || false).unwrap().is_ok());
}

#[test]
fn a_file_that_takes_too_much_work_is_refused_and_the_next_has_its_own_time() {
    let engines = EngineWorkers::start(settings(env!("CARGO_BIN_EXE_bonafide")));
    // On a busy machine, a second of processor time may not be available in time, which says nothing about
    // the file.
    let check = |file: &[u8]| loop {
        match engines.check(file, || false) {
            Err(EngineError::Lost) => {}
            checked => break checked.unwrap(),
        }
    };
    assert_eq!(check(&files::endless_pdf()), Err(DecodeError::TooMuchWork));
    let png = files::png(&files::two_halves(32, 16));
    assert!(check(&png).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_worker_is_killed_answers_503_and_leaves_nothing() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    server.engines().await;
    let (status, body) =
        signal_decoding_workers_until_answered(Signal::KILL, &server, endless(&server, &demo)).await;
    assert_eq!(status, 503, "{body}");
    assert_eq!(body["success"], json!(false), "{body}");
    assert_eq!(server.count("select count(*) from attempts").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_workers_crash_is_refused() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    server.engines().await;
    // A file whose workers crash twice is one that cannot be read.
    let (status, body) =
        signal_decoding_workers_until_answered(Signal::SEGV, &server, endless(&server, &demo)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["success"], json!(false), "{body}");
    assert_eq!(server.count("select count(*) from attempts").await, 1);
    let (status, body) = verify(&server, &demo, specimen("pass-passport").form(&demo, &json!({}))).await;
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
}

/// Whether a worker has a file that it decodes.
fn is_decoding(worker: &Pid) -> bool {
    let pid = worker.as_raw_nonzero().get().cast_unsigned();
    let threads = std::fs::read_dir(of(pid, "task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        .any(|name| name == "decode\n")
}

/// Sends a signal to the server's workers whenever they decode, until the request has its answer.
async fn signal_decoding_workers_until_answered(
    signal: Signal,
    server: &Server,
    request: impl Future<Output = (u16, Value)>,
) -> (u16, Value) {
    tokio::pin!(request);
    loop {
        tokio::select! {
            answer = &mut request => break answer,
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                for worker in workers_of(server.pid()).into_iter().filter(is_decoding) {
                    let _ = kill_process(worker, signal);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_hangs_up_ends_the_work_on_its_files() {
    let (server, demo) = Server::demo(Backend::Sqlite, &["--workers", "1"]).await;
    server.engines().await;
    let form = specimen("pass-drivers").form_with(
        &demo,
        &json!({"externalUserId": "gone"}),
        &[("driversFront", files::endless_pdf())],
    );
    let before = workers_of(server.pid());
    let request = server
        .request(Method::POST, "/v2/idv/verify", &Key::of_demo(&demo))
        .multipart(form);
    let sent = tokio::spawn(request.send());
    wait_until(async || before.iter().any(is_decoding), "a worker at work").await;
    sent.abort();
    let replaced = async || {
        let now = workers_of(server.pid());
        !now.is_empty() && before.iter().all(|pid| !now.contains(pid))
    };
    wait_until(replaced, "another worker instead of the one at work").await;
    assert_eq!(server.count("select count(*) from attempts").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_takes_too_much_work_has_the_verdict_of_one_that_cannot_be_read() {
    let (server, demo) = Server::demo(Backend::Sqlite, &["--decode-seconds", "1"]).await;
    server.engines().await;
    // On a busy machine, the file's second of processor time may not be available in time. Then the response
    // is 503.
    let (status, body) = loop {
        let (status, body) = endless(&server, &demo).await;
        if status != 503 {
            break (status, body);
        }
        assert_eq!(server.count("select count(*) from attempts").await, 0);
    };
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["idvResult"]["codes"], json!([2003]), "{body}");
    assert_eq!(server.count("select count(*) from attempts").await, 1);
}
