//! Throw-away.
use std::io::BufRead;
fn main() {
    let conf: f32 = std::env::args().nth(1).map_or(0.98, |a| a.parse().unwrap());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let lines: Vec<_> = line.split('|').map(|l| documents::mrz::cells(l, &vec![conf; 60])).collect();
        let t = std::time::Instant::now();
        let r = documents::mrz::repair(&lines);
        let ms = t.elapsed().as_secs_f64() * 1e3;
        let p = documents::mrz::parse(&line.split('|').collect::<Vec<_>>());
        match r {
            Some(r) => println!("{}\t{}\t{}\t{:?}\t{:?}\t{:?}\t{ms:.1}\tparsed:{:?}", r.lines.join("|"), r.valid, r.accepted, r.margin, r.failed_checks, r.warnings, p.map(|p| p.failed_checks)),
            None => println!("none\t\t\t\t\t\t{ms:.1}\t{p:?}"),
        }
    }
}
