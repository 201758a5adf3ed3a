//! Throw-away.
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        println!("{}", documents::aamva::answer_line(&line.unwrap()));
    }
}
