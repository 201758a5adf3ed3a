//! Prints the milliseconds that a run of each model takes, and the memory that the models use:
//! `cargo run --release -p inference --example latency`.

use std::{
    io::{self, Write},
    time::Instant,
};

use inference::{Input, ModelName, Models, find_models_dir};

const RUNS: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = find_models_dir(None).ok_or("no models: run `make models`")?;
    let mut out = io::stdout().lock();
    let start = Instant::now();
    let models = Models::open(&dir, 1)?;
    writeln!(out, "open       {:8.1} ms", start.elapsed().as_secs_f64() * 1e3)?;
    models.warm_up()?;
    writeln!(out, "and warm   {:8.1} ms", start.elapsed().as_secs_f64() * 1e3)?;
    for name in ModelName::ALL {
        let shape = name.nominal_shape();
        let data = vec![0.5; shape.iter().product()];
        let start = Instant::now();
        for _ in 0..RUNS {
            models.run(
                name,
                Input {
                    shape: &shape,
                    data: &data,
                },
            )?;
        }
        let each = start.elapsed().as_secs_f64() * 1e3 / f64::from(RUNS);
        writeln!(out, "{:16} {each:6.1} ms  {shape:?}", name.as_str())?;
    }
    // Lines of text have many widths, and memory must not grow with their number.
    for width in (64..1600).step_by(32) {
        let shape = [1, 3, 48, width];
        let data = vec![0.5; shape.iter().product()];
        models.run(
            ModelName::TextRecogniser,
            Input {
                shape: &shape,
                data: &data,
            },
        )?;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
    {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
