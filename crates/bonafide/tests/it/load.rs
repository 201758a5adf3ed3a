//! A busy machine changes only how long a response takes. Work that cannot be finished in time gets 503.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::workspace;
use crate::verify::specimen;

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
