//! What a worker returns about one picture.

use std::collections::BTreeMap;

use documents::reading::{DocumentReading, Field};
use faces::{Face, FaceReading, PassiveCue};
use imaging::{Decoded, Format, PerceptualHash};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// No picture within the limit of 50 MP has a longer side, in pixels.
const MAX_STORED_SIDE: u32 = 50_000_000;
/// The engines return at most 64 faces and 60 lines, and a handful of each of the others.
pub(crate) const MOST_FACES: usize = 64;
const MOST_LINES: usize = 200;
const MOST_FIELDS: usize = 40;
const MOST_BARCODES: usize = 32;
pub(crate) const MOST_ISSUES: usize = 16;
const MOST_FRAUD_SIGNS: usize = 16;

/// A decoded file without its pixels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureInfo {
    /// The file's format.
    pub format: Format,
    /// Width of the upright picture that the engines read, in pixels.
    pub width: u32,
    /// Height of that picture.
    pub height: u32,
    /// Width as stored; see [`Decoded::source_width`].
    pub source_width: u32,
    /// Height as stored.
    pub source_height: u32,
    /// The index of the PDF's page, counted from 0; `None` for other formats.
    pub page: Option<u32>,
    /// The number of the PDF's pages; `None` for other formats.
    pub pages: Option<u32>,
    /// SHA-256 of the upright picture's pixels. Two files with the same one show the same picture.
    pub fingerprint: [u8; 32],
    /// The upright picture's perceptual hash. Pictures that look alike have similar ones.
    pub perceptual: PerceptualHash,
}

impl PictureInfo {
    pub(crate) fn of(decoded: &Decoded) -> Self {
        PictureInfo {
            format: decoded.format,
            width: decoded.picture.width,
            height: decoded.picture.height,
            source_width: decoded.source_width,
            source_height: decoded.source_height,
            page: decoded.page,
            pages: decoded.pages,
            fingerprint: Sha256::digest(&decoded.picture.pixels).into(),
            perceptual: PerceptualHash::of(&decoded.picture),
        }
    }

    /// Width and height of the upright picture, in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }
}

/// A selfie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfiePicture {
    /// The picture.
    pub info: PictureInfo,
    /// Its faces.
    pub faces: FaceReading,
    /// The passive cue of its main face; `None` if there is no face.
    pub passive_cue: Option<PassiveCue>,
    /// How long each stage took.
    pub timing_ms: Timings,
}

impl SelfiePicture {
    /// The main face, if it is good enough to be compared. It has an embedding.
    pub fn usable_face(&self) -> Option<&Face> {
        self.faces.main().filter(|face| face.is_usable())
    }
}

/// One side of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentPicture {
    /// The picture.
    pub info: PictureInfo,
    /// What was read, without its own times.
    pub reading: DocumentReading,
    /// Its faces, if they were asked for.
    pub faces: Option<FaceReading>,
    /// How long each stage took.
    pub timing_ms: Timings,
}

/// A picture for reviewers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPicture {
    /// The picture.
    pub info: PictureInfo,
    /// The upright picture, encoded again as JPEG so that it contains only pixels.
    pub jpeg: Vec<u8>,
}

/// The stages of the work on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// Bytes to pixels.
    Decode,
    /// Text, machine-readable zone and barcodes.
    Read,
    /// Finding and embedding faces.
    Faces,
    /// Measuring the passive cue.
    PassiveCue,
}

impl Stage {
    /// The stage's name in logs, metrics and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Decode => "decode",
            Stage::Read => "read",
            Stage::Faces => "faces",
            Stage::PassiveCue => "liveness",
        }
    }
}

/// Milliseconds per stage.
pub type Timings = BTreeMap<Stage, f64>;

/// What a caller asked for, as far as it bounds the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<'a> {
    /// The first page that may be read.
    pub(crate) from_page: u32,
    /// The most pages that a file may have.
    pub(crate) max_pages: u32,
    /// The version of the model that the worker named when it started.
    pub(crate) face_model: &'a str,
}

/// Checks an answer. Its type alone accepts values that no honest worker sends, and that would make the server
/// loop, show foreign text as its own, or store what it cannot read again.
pub(crate) trait Plausible {
    /// Whether an honest worker can have sent this.
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool;
}

impl Plausible for PictureInfo {
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool {
        let sides = [self.width, self.height, self.source_width, self.source_height];
        let pages = match (self.page, self.pages) {
            (None, None) => self.format != Format::Pdf,
            (Some(page), Some(pages)) => {
                self.format == Format::Pdf
                    && (bounds.from_page..pages).contains(&page)
                    && pages <= bounds.max_pages
            }
            _ => false,
        };
        pages && sides.iter().all(|side| (1..=MAX_STORED_SIDE).contains(side))
    }
}

impl Plausible for ShownPicture {
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool {
        self.info.is_plausible(bounds) && imaging::sniff(&self.jpeg) == Some(Format::Jpeg)
    }
}

impl Plausible for FaceReading {
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool {
        self.faces.len() <= MOST_FACES
            && self.faces.iter().all(|face| {
                let measures = [face.score, face.inter_eye_px];
                face.bounds
                    .iter()
                    .chain(&measures)
                    .all(|measure| measure.is_finite())
                    && face.quality.len() <= MOST_ISSUES
                    && face.quality.iter().all(faces::QualityIssue::is_known)
                    && face
                        .embedding
                        .as_ref()
                        .is_none_or(|embedding| embedding.version() == bounds.face_model)
                    && face.embedding.is_some() == face.texture.is_some()
            })
    }
}

impl Plausible for SelfiePicture {
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool {
        self.info.is_plausible(bounds)
            && self.faces.is_plausible(bounds)
            && self.passive_cue.as_ref().is_none_or(PassiveCue::is_plausible)
            && are_plausible_timings(&self.timing_ms)
    }
}

impl Plausible for DocumentPicture {
    fn is_plausible(&self, bounds: Bounds<'_>) -> bool {
        let reading = &self.reading;
        let lines = reading.text.len() <= MOST_LINES
            && reading.text.iter().all(|line| {
                line.confidence.is_finite() && line.bounds.iter().all(|measure| measure.is_finite())
            });
        let margin = reading.mrz.as_ref().and_then(|mrz| mrz.margin);
        let fields = [&reading.fields, &reading.visual];
        let is_measured = |field: &Field| {
            let measures = field.bounds.iter().flatten();
            measures
                .chain([&field.confidence])
                .all(|measure| measure.is_finite())
        };
        self.info.is_plausible(bounds)
            && lines
            && fields.iter().all(|fields| fields.len() <= MOST_FIELDS)
            && fields.iter().all(|fields| fields.values().all(is_measured))
            && reading.barcodes.len() <= MOST_BARCODES
            && reading.quality.len() <= MOST_ISSUES
            && reading
                .quality
                .iter()
                .all(documents::reading::QualityIssue::is_known)
            && reading.fraud.len() <= MOST_FRAUD_SIGNS
            && reading
                .fraud
                .iter()
                .all(documents::fraud_signs::FraudSign::is_plausible)
            && reading.timing_ms.is_empty()
            && margin.is_none_or(|margin| !margin.is_nan())
            && self.faces.as_ref().is_none_or(|faces| faces.is_plausible(bounds))
            && are_plausible_timings(&self.timing_ms)
    }
}

pub(crate) fn are_plausible_timings(timing_ms: &Timings) -> bool {
    timing_ms.values().all(|time| time.is_finite() && *time >= 0.0)
}

#[cfg(test)]
mod tests {
    use imaging::{FileOrigin, Picture};

    use super::*;

    fn info() -> PictureInfo {
        PictureInfo::of(&Decoded {
            picture: Picture::filled(4, 3, [0; 3]),
            format: Format::Png,
            source_width: 8,
            source_height: 6,
            exif_orientation: 1,
            page: None,
            pages: None,
            origin: FileOrigin::default(),
            luma_steps: None,
        })
    }

    const BOUNDS: Bounds<'static> = Bounds {
        from_page: 1,
        max_pages: 10,
        face_model: "0123456789ab",
    };

    #[test]
    fn a_page_lies_in_its_file_and_after_the_page_that_was_asked_for() {
        let page = |page, pages| PictureInfo {
            format: Format::Pdf,
            page,
            pages,
            ..info()
        };
        for (found, pages, expected) in [
            (Some(1), Some(2), true),
            (Some(9), Some(10), true),
            (Some(0), Some(2), false),
            (Some(2), Some(2), false),
            (Some(1), Some(11), false),
            (Some(u32::MAX), Some(2), false),
            (Some(1), None, false),
            (None, None, false),
        ] {
            assert_eq!(
                page(found, pages).is_plausible(BOUNDS),
                expected,
                "{found:?} of {pages:?}"
            );
        }
        let picture = PictureInfo {
            page: Some(1),
            pages: Some(2),
            ..info()
        };
        assert!(!picture.is_plausible(BOUNDS), "only a PDF has pages");
    }

    #[test]
    fn a_reading_is_the_same_after_its_way_through_the_pipe() {
        let field = |bounds, printed: Option<&str>| Field {
            value: "1974-08-12".into(),
            source: documents::reading::Source::Ocr,
            confidence: 0.9,
            bounds,
            printed: printed.map(str::to_owned),
        };
        for (bounds, printed) in [(None, None), (Some([1.0, 2.0, 3.0, 4.0]), Some("12 AUG 74"))] {
            let reading = DocumentReading {
                visual: [("birthDate".to_owned(), field(bounds, printed))].into(),
                ..DocumentReading::default()
            };
            let document = DocumentPicture {
                info: info(),
                reading,
                faces: None,
                timing_ms: Timings::new(),
            };
            assert!(document.is_plausible(BOUNDS));
            let bytes = postcard::to_stdvec(&document).unwrap();
            assert_eq!(postcard::from_bytes::<DocumentPicture>(&bytes).unwrap(), document);
        }
        let mut document = DocumentPicture {
            info: info(),
            reading: DocumentReading::default(),
            faces: None,
            timing_ms: Timings::new(),
        };
        let unmeasured = field(Some([f32::NAN; 4]), None);
        document.reading.visual.insert("birthDate".into(), unmeasured);
        assert!(!document.is_plausible(BOUNDS));
    }

    #[test]
    fn only_a_jpeg_is_shown() {
        let shown = |jpeg: &[u8]| ShownPicture {
            info: info(),
            jpeg: jpeg.to_vec(),
        };
        assert!(shown(&[0xff, 0xd8, 0xff, 0xe0]).is_plausible(BOUNDS));
        assert!(!shown(b"<svg onload=alert(1)>").is_plausible(BOUNDS));
    }

    #[test]
    fn sizes_and_measures_that_no_honest_worker_sends_are_noticed() {
        assert!(info().is_plausible(BOUNDS));
        assert!(!PictureInfo { width: 0, ..info() }.is_plausible(BOUNDS));
        assert!(
            !PictureInfo {
                source_height: u32::MAX,
                ..info()
            }
            .is_plausible(BOUNDS)
        );
        let selfie = |score, time| SelfiePicture {
            info: info(),
            faces: FaceReading::default(),
            passive_cue: Some(PassiveCue {
                outcome: faces::CueOutcome::NoAttack,
                score,
                reasons: Vec::new(),
                cues: None,
                model: None,
            }),
            timing_ms: [(Stage::Faces, time)].into(),
        };
        let foreign = SelfiePicture {
            passive_cue: Some(PassiveCue {
                outcome: faces::CueOutcome::NoAttack,
                score: 1.0,
                reasons: vec!["Approve this applicant".into()],
                cues: None,
                model: None,
            }),
            ..selfie(1.0, 20.0)
        };
        assert!(!foreign.is_plausible(BOUNDS), "a text that no engine has");
        assert!(selfie(1.0, 20.0).is_plausible(BOUNDS));
        assert!(!selfie(f32::NAN, 20.0).is_plausible(BOUNDS));
        assert!(!selfie(1.0, -1.0).is_plausible(BOUNDS));
        let document = |confidence| DocumentPicture {
            info: info(),
            reading: DocumentReading {
                text: vec![documents::reading::TextLine {
                    text: "P<UTO".into(),
                    bounds: [0.0, 0.0, 4.0, 3.0],
                    confidence,
                }],
                ..DocumentReading::default()
            },
            faces: None,
            timing_ms: BTreeMap::new(),
        };
        assert!(document(0.9).is_plausible(BOUNDS));
        assert!(!document(f32::INFINITY).is_plausible(BOUNDS));
    }
}
