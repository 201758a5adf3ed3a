//! Reads an engine worker's answer, as the server does. A worker that an attacker owns sends any bytes.
#![no_main]

use documents::ReadHints;
use engine_process::protocol::{Request, Task, read_answer};
use imaging::Limits;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let framed = [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let hints = ReadHints::default();
    let film = Task::Film { before: None, frames: 2, restart: true, embed: 1 };
    for task in [Task::Check, Task::Selfie, Task::Document { hints, faces: true }, Task::Show { max_side: 9, quality: 85 }, film] {
        let request = Request { task, limits: Limits::default() };
        let _ = read_answer(&mut framed.as_slice(), &request, "0123456789ab");
    }
});
