//! Reads lines of a machine-readable zone, both as printed and as recognised.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines: Vec<&str> = text.lines().collect();
    if let Ok(reading) = documents::mrz::parse(&lines) {
        assert!(!reading.accepted || reading.valid);
        assert_eq!(reading.valid, reading.failed_checks.is_empty());
    }
    let cells: Vec<documents::mrz::Line> = lines
        .iter()
        .map(|line| documents::mrz::cells(line, &[]))
        .collect();
    if let Some(reading) = documents::mrz::repair(&cells) {
        assert!(!reading.accepted || reading.valid);
    }
});
