//! throw-away
use std::io::Write;
fn main() {
    let dir = inference::find_models_dir(None).unwrap();
    let models = std::sync::Arc::new(inference::Models::open(&dir, 1).unwrap());
    let engine = documents::DocumentEngine::new(models).unwrap();
    for line in std::io::stdin().lines() {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", documents::answer_line(&engine, &line.unwrap())).unwrap();
    }
}
