//! A busy machine changes only how long a response takes. Work that cannot be finished in time gets 503.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use imaging::DecodeError;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use service::decoders::Decoders;

use crate::bad_input::{children, files};
use crate::harness::{Backend, Server, workspace};
use crate::verify::{specimen, verify};

/// Processes that use all available processor time. They end when dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn begin(processes: usize) -> Busy {
        let spin = || {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .unwrap()
        };
        Busy((0..processes).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Every image of two specimens: a passport, and a licence with its PDF417.
fn pictures() -> Vec<String> {
    ["pass-passport", "pass-drivers"]
        .into_iter()
        .flat_map(|name| {
            let files = specimen(name).0["files"].as_object().unwrap().clone();
            files.into_values()
        })
        .map(|file| workspace().join("specimens").join(file.as_str().unwrap()))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect()
}

/// The output of `read-document` for images, without times.
fn readings(pictures: &[String]) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bonafide"))
        .args(["read-document", "--batch", "--models"])
        .arg(workspace().join("models"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = pictures
        .iter()
        .map(|file| format!("{}\n", json!({ "file": file })))
        .collect();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let without_times = |line: &str| {
        let mut reading: Value = serde_json::from_str(line).unwrap();
        assert!(reading["error"].is_null(), "{reading}");
        reading.as_object_mut().unwrap().remove("timingMs");
        reading.to_string()
    };
    text.lines().map(without_times).collect()
}

#[test]
fn readings_are_the_same_on_a_busy_machine() {
    let pictures = pictures();
    let idle = readings(&pictures);
    assert_eq!(idle.len(), pictures.len());
    let aamva = |reading: &String| reading.contains("\"symbology\":\"PDF417\"");
    assert_eq!(
        idle.iter().filter(|reading| aamva(reading)).count(),
        1,
        "{idle:?}"
    );
    let _busy = Busy::begin(4);
    assert_eq!(readings(&pictures), idle);
}

/// Sends a licence whose back is a PDF that renders forever.
async fn endless(server: &Server, demo: &Value) -> (u16, Value) {
    let form = specimen("pass-drivers").form_with(
        demo,
        &json!({"externalUserId": "endless"}),
        &[("driversBack", files::endless_pdf())],
    );
    verify(server, demo, form).await
}

fn decoders_of(pid: u32) -> Vec<Pid> {
    let is_decoder = |pid: &u32| {
        let command = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("cmdline"));
        command.is_ok_and(|command| command.contains("decode-worker"))
    };
    children(pid)
        .into_iter()
        .filter(is_decoder)
        .filter_map(|pid| Pid::from_raw(pid.cast_signed()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_decoder_is_killed_answers_503_and_leaves_nothing() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    server.engines().await;
    let request = endless(&server, &demo);
    tokio::pin!(request);
    let (status, body) = loop {
        tokio::select! {
            answer = &mut request => break answer,
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                for decoder in decoders_of(server.pid()) {
                    let _ = kill_process(decoder, Signal::KILL);
                }
            }
        }
    };
    assert_eq!(status, 503, "{body}");
    assert_eq!(body["success"], json!(false), "{body}");
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

#[test]
fn a_decoder_that_does_not_end_in_time_says_nothing_about_its_file() {
    // The decoder waits without using the processor, like one on a machine that is busy with other work.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("decoder");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, executable).unwrap();
    let png = files::png(&files::two_halves(32, 16));
    let waiting = Decoders::new(program, Duration::from_millis(1));
    let error = waiting.decode(&png, 0).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);

    let decoders = Decoders::new(env!("CARGO_BIN_EXE_bonafide").into(), Duration::from_secs(1));
    // On a busy machine, a second of processor time may not be available in time, which says nothing about
    // the file.
    let decode = |file: &[u8]| loop {
        match decoders.decode(file, 0) {
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
            decoded => break decoded.unwrap(),
        }
    };
    assert_eq!(decode(&files::endless_pdf()), Err(DecodeError::TooMuchWork));
    assert!(decode(&png).is_ok(), "the next file has its own");
}
