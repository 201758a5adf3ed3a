//! `eval faces --beside PROGRAM`: another program embeds the same pictures, and both are measured on the same pairs.
//! It compares embeddings only; it never shows the other program a result of ours.
//!
//! The program reads the paths of pictures from its standard input, one a line, and writes one JSON object a line:
//! first `{"name": "…", "threshold": 0.6}`, then for each path, in order,
//! `{"embedding": [numbers], "processorMs": 12.3}`. The embedding is null where it finds no face. Two embeddings match
//! within the threshold in Euclidean distance.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use faces::{Embedding, MATCH_SIMILARITY, distance, similarity};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::{Value, json};

use super::figures::{interval, rounded, share, tar_at_far};
use crate::cli::errors::Unusable;

/// Another program's embeddings of some pictures.
pub(super) struct Peer {
    pub(super) name: String,
    threshold: f32,
    /// One for each picture, in order. `None`: it found no face.
    pub(super) embeddings: Vec<Option<Vec<f32>>>,
    processor: Duration,
}

#[derive(Deserialize)]
struct Heading {
    name: String,
    threshold: f32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    embedding: Option<Vec<f32>>,
    processor_ms: f64,
}

impl Peer {
    /// Starts the program, and waits until it has embedded all pictures.
    ///
    /// # Errors
    ///
    /// If the program cannot be started or fails, or answers in another form.
    pub(super) fn embed(program: &Path, pictures: &[PathBuf]) -> anyhow::Result<Self> {
        let shown = program.display();
        let failed = |why: String| Unusable(format!("--beside {shown}: {why}"));
        // A file, because a program that answers before it has read everything would block a pipe.
        let mut paths = tempfile::tempfile()?;
        for picture in pictures {
            let path = std::path::absolute(picture)?;
            let path = path.to_str().filter(|path| !path.contains('\n')).ok_or_else(|| {
                failed(format!(
                    "rename {}: a path must be UTF-8 on one line",
                    picture.display()
                ))
            })?;
            writeln!(paths, "{path}")?;
        }
        std::io::Seek::rewind(&mut paths)?;
        let output = Command::new(program)
            .stdin(paths)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| failed(format!("it cannot be started: {error}")))?;
        if !output.status.success() {
            return Err(failed(format!("it ended with {}", output.status)).into());
        }
        let written = String::from_utf8_lossy(&output.stdout);
        Self::read(&written, pictures.len()).map_err(|why| failed(why).into())
    }

    /// Reads what a program has written about this many pictures.
    fn read(written: &str, pictures: usize) -> Result<Self, String> {
        let mut lines = written.lines();
        let heading: Heading = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| format!("its first line must be an object with name and threshold: {error}"))?;
        let mut peer = Self {
            name: heading.name,
            threshold: heading.threshold,
            embeddings: Vec::with_capacity(pictures),
            processor: Duration::ZERO,
        };
        let mut length = None;
        for (at, line) in lines.enumerate() {
            let number = at + 2;
            let answer: Answer =
                serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
            if let Some(embedding) = &answer.embedding {
                let expected = *length.get_or_insert(embedding.len());
                if embedding.len() != expected || embedding.iter().any(|value| !value.is_finite()) {
                    return Err(format!("line {number}: expected {expected} finite numbers"));
                }
            }
            peer.embeddings.push(answer.embedding);
            peer.processor += Duration::try_from_secs_f64(answer.processor_ms / 1_000.0)
                .map_err(|error| format!("line {number}: processorMs: {error}"))?;
        }
        if peer.embeddings.len() != pictures {
            let lines = peer.embeddings.len();
            return Err(format!("it answered for {lines} of {pictures} pictures"));
        }
        Ok(peer)
    }
}

/// A picture with the embeddings of both engines. `None`: the engine found no usable face.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) person: &'a Path,
    pub(super) ours: Option<&'a Embedding>,
    pub(super) theirs: Option<&'a Vec<f32>>,
}

/// The distances that one engine measured, and the pairs that it decides wrongly at its default threshold.
#[derive(Default)]
struct Side {
    genuine: Vec<f32>,
    impostor: Vec<f32>,
    /// Pairs of one person that do not match. A picture without a face matches none.
    refused: u64,
    false_matches: u64,
}

impl Side {
    fn decide(&mut self, is_same: bool, matches: bool) {
        self.refused += u64::from(is_same && !matches);
        self.false_matches += u64::from(!is_same && matches);
    }

    fn measure(&mut self, is_same: bool, distance: f32) {
        let distances = if is_same {
            &mut self.genuine
        } else {
            &mut self.impostor
        };
        distances.push(distance);
    }
}

/// What `compare` found.
pub(super) struct Compared {
    pub(super) figures: Value,
    /// The other program's distances within and between people, of the pairs that both engines compared.
    pub(super) genuine: Vec<f32>,
    pub(super) impostor: Vec<f32>,
}

/// Compares both engines on the same pairs, each with its own default threshold. Errors at a threshold are of all pairs;
/// `tarAtFar0.001` is of those in which both engines found both faces.
pub(super) fn compare<'a>(peer: &Peer, pairs: impl Iterator<Item = (Sample<'a>, Sample<'a>)>) -> Compared {
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    let (mut honest, mut strangers) = (0, 0);
    for (one, other) in pairs {
        let is_same = one.person == other.person;
        *(if is_same { &mut honest } else { &mut strangers }) += 1;
        let our_distance = one.ours.zip(other.ours).map(|(one, other)| distance(one, other));
        let their_distance = one
            .theirs
            .zip(other.theirs)
            .map(|(one, other)| euclidean(one, other));
        let we_match = our_distance.is_some_and(|distance| similarity(distance) >= MATCH_SIMILARITY);
        let they_match = their_distance.is_some_and(|distance| distance <= peer.threshold);
        ours.decide(is_same, we_match);
        theirs.decide(is_same, they_match);
        if let (Some(our_distance), Some(their_distance)) = (our_distance, their_distance) {
            ours.measure(is_same, our_distance);
            theirs.measure(is_same, their_distance);
        }
    }
    let tar = |side: &Side| rounded(tar_at_far(&side.genuine, &side.impostor, 0.001).map(|(tar, _)| tar));
    let rate = |part: u64, whole: u64| rounded(share(part, whole));
    let limits =
        |part: u64, whole: u64| interval(part, whole).map(|range| range.map(|limit| rounded(Some(limit))));
    let figures = json!({
        "genuinePairs": honest,
        "impostorPairs": strangers,
        "refusedHonest": ours.refused,
        "refusedHonestRate": rate(ours.refused, honest),
        "refusedHonestRate95": limits(ours.refused, honest),
        "peerRefusedHonest": theirs.refused,
        "peerRefusedHonestRate": rate(theirs.refused, honest),
        "peerRefusedHonestRate95": limits(theirs.refused, honest),
        "falseMatches": ours.false_matches,
        "falseMatchRate95": limits(ours.false_matches, strangers),
        "peerFalseMatches": theirs.false_matches,
        "peerFalseMatchRate95": limits(theirs.false_matches, strangers),
        "pairsOfBoth": ours.genuine.len() + ours.impostor.len(),
        "tarAtFar0.001": tar(&ours),
        "peerTarAtFar0.001": tar(&theirs),
    });
    Compared {
        figures,
        genuine: theirs.genuine,
        impostor: theirs.impostor,
    }
}

/// Processor time of one picture, decoded, searched and embedded, by both engines.
pub(super) fn effort(peer: &Peer, ours: Duration, pictures: usize) -> Value {
    let each = |time: Duration| time.as_secs_f64() * 1_000.0 / pictures.max(1) as f64;
    let ratio = (!ours.is_zero()).then(|| peer.processor.as_secs_f64() / ours.as_secs_f64());
    json!({
        "pictures": pictures,
        "peerWithoutFace": peer.embeddings.iter().filter(|found| found.is_none()).count(),
        "processorMsPerPicture": rounded(Some(each(ours))),
        "peerProcessorMsPerPicture": rounded(Some(each(peer.processor))),
        "peerProcessorTimeRatio": rounded(ratio),
    })
}

/// Processor time of this process so far.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn euclidean(one: &[f32], other: &[f32]) -> f32 {
    let squares = one
        .iter()
        .zip(other)
        .map(|(one, other)| (one - other) * (one - other));
    squares.sum::<f32>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = r#"{"name": "other", "threshold": 0.6}"#;

    #[test]
    fn answers_are_read_or_refused() {
        let good = [
            HEADING,
            r#"{"embedding": [0.5, 1.0], "processorMs": 2.5}"#,
            r#"{"embedding": null, "processorMs": 1.5}"#,
        ]
        .join("\n");
        let peer = Peer::read(&good, 2).unwrap();
        assert_eq!(peer.embeddings, [Some(vec![0.5, 1.0]), None]);
        assert_eq!(peer.processor, Duration::from_millis(4));

        for (written, pictures, why) in [
            (
                String::new(),
                0,
                "its first line must be an object with name and threshold",
            ),
            (good.clone(), 3, "it answered for 2 of 3 pictures"),
            (good.clone(), 1, "it answered for 2 of 1 pictures"),
            (format!("{good}\n{{}}"), 3, "line 4: missing field `processorMs`"),
            (
                format!("{good}\n{}", r#"{"embedding": [1.0], "processorMs": 1}"#),
                3,
                "line 4: expected 2 finite numbers",
            ),
            (
                format!("{HEADING}\n{}", r#"{"embedding": null, "processorMs": -1}"#),
                1,
                "line 2: processorMs",
            ),
            (format!("{HEADING}\nTraceback"), 1, "line 2: expected"),
        ] {
            let error = Peer::read(&written, pictures).err().unwrap();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn both_are_measured_on_the_same_pairs() {
        let face = |at: usize| {
            let mut values = [0; faces::EMBEDDING_LEN];
            values[at] = 16_384;
            Embedding::new("test-version", values).unwrap()
        };
        let (first, second) = (face(0), face(1));
        let (near, far) = (vec![0.0, 0.1], vec![0.0, 0.9]);
        let sample = |person: &'static str, ours, theirs| Sample {
            person: Path::new(person),
            ours: Some(ours),
            theirs,
        };
        let samples = [
            sample("a", &first, Some(&near)),
            sample("a", &first, None),
            sample("a", &first, Some(&far)),
            sample("b", &second, Some(&near)),
        ];
        let pairs = (0..4).flat_map(|one| (one + 1..4).map(move |other| (samples[one], samples[other])));
        let peer = Peer::read(HEADING, 0).unwrap();
        let figures = compare(&peer, pairs).figures;
        for (name, figure) in [
            ("genuinePairs", json!(3)),
            ("impostorPairs", json!(3)),
            ("refusedHonest", json!(0)),
            ("peerRefusedHonest", json!(3)),
            ("pairsOfBoth", json!(3)),
            ("falseMatches", json!(0)),
            ("peerFalseMatches", json!(1)),
            ("tarAtFar0.001", json!(1.0)),
            ("peerTarAtFar0.001", json!(0.0)),
        ] {
            assert_eq!(figures[name], figure, "{name}");
        }
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let pictures = [PathBuf::from("a.jpg")];
        for (program, why) in [
            ("/nonexistent/program", "it cannot be started"),
            ("/bin/false", "it ended with exit status: 1"),
            (
                "/bin/cat",
                "its first line must be an object with name and threshold",
            ),
        ] {
            let error = Peer::embed(Path::new(program), &pictures).err().unwrap();
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("--beside {program}: {why}")),
                "{error}"
            );
        }
        let error = Peer::embed(Path::new("/bin/cat"), &[PathBuf::from("a\nb.jpg")])
            .err()
            .unwrap();
        assert!(error.to_string().contains("UTF-8 on one line"), "{error}");
    }
}
