//! Reads one side of a document in an engine worker, for a submission and before one. Blocking work for the CPU pool. It
//! decides nothing.

use documents::reading::{DocumentKind, DocumentReading};
use documents::{ReadHints, Side as ReadSide};
use engine_process::{DocumentPicture, EngineError, EngineWorkers, FaceWish};
use faces::Face;
use imaging::DecodeError;
use reference::DocumentType;
use verification::evidence::{PictureContent, PictureState, SideEvidence};
use verification::picture::{self, RecognisedType};
use verification::submission::Side;

use super::cpu::Abandoned;

/// What to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideWish {
    /// The declared type.
    pub(crate) document_type: DocumentType,
    /// The declared side.
    pub(crate) side: Side,
    /// What to do with the faces.
    pub(crate) faces: FaceWish,
    /// Whether to look for signs of fraud.
    pub(crate) fraud_signs: bool,
}

impl SideWish {
    fn hints(self) -> ReadHints {
        ReadHints {
            document_type: Some(self.document_type),
            side: match self.side {
                Side::Front => ReadSide::Front,
                Side::Back => ReadSide::Back,
            },
            expect_mrz: self.document_type != DocumentType::Drivers,
            expect_barcode: self.document_type == DocumentType::Drivers,
            fraud_signs: self.fraud_signs,
        }
    }
}

/// Reads a file. Of a PDF, it reads the first page that shows a document, or else the first one that is not blank.
/// `note` receives every page that was read.
///
/// # Errors
/// The outer error is no fault of the file, the inner one is.
pub(crate) fn read(
    engines: &EngineWorkers,
    file: &[u8],
    wish: SideWish,
    gone: &Abandoned,
    mut note: impl FnMut(&DocumentPicture),
) -> Result<Result<DocumentPicture, DecodeError>, EngineError> {
    let mut from_page = 0;
    let mut first: Option<DocumentPicture> = None;
    loop {
        if gone.is_set() {
            return Err(EngineError::Abandoned);
        }
        let abandoned = gone.clone();
        let read = engines.document(file, from_page, wish.hints(), wish.faces, move || {
            abandoned.is_set()
        })?;
        let picture = match read {
            Ok(picture) => picture,
            // The pages after the first one that is not blank cannot be decoded, so the first one counts.
            Err(error) => return Ok(first.ok_or(error)),
        };
        note(&picture);
        let shows_document = picture.reading.kind != DocumentKind::None;
        let next = picture
            .info
            .page
            .map(|page| page + 1)
            .filter(|next| picture.info.pages.is_some_and(|pages| *next < pages));
        match next {
            Some(next) if !shows_document => {
                from_page = next;
                first = first.or(Some(picture));
            }
            _ if shows_document => return Ok(Ok(picture)),
            _ => return Ok(Ok(first.unwrap_or(picture))),
        }
    }
}

/// One processed picture.
pub(crate) struct ProcessedSide {
    pub(crate) side: SideEvidence,
    pub(crate) reading: DocumentReading,
    /// The main face, if it is good enough to be compared.
    pub(crate) portrait: Option<Face>,
    /// Of the upright picture, in pixels.
    pub(crate) size: (u32, u32),
}

impl ProcessedSide {
    /// A file that gave no picture.
    pub(crate) fn undecoded() -> Self {
        ProcessedSide {
            side: SideEvidence {
                state: PictureState::Corrupted,
                content: PictureContent::Declared,
                faces: 0,
            },
            reading: DocumentReading::default(),
            portrait: None,
            size: (0, 0),
        }
    }

    /// A picture that was read.
    pub(crate) fn of(picture: DocumentPicture, document_type: DocumentType, side: Side) -> Self {
        let size = picture.info.size();
        let reading = picture.reading;
        let is_empty = reading.text.is_empty() && reading.barcodes.is_empty() && reading.mrz.is_none();
        let faces = picture.faces.unwrap_or_default();
        ProcessedSide {
            side: SideEvidence {
                state: PictureState::Processed,
                content: picture::picture_content(recognised(reading.kind), is_empty, document_type, side),
                faces: faces.significant().count(),
            },
            reading,
            // A portrait of poor quality is not compared, because at such sizes strangers look alike.
            portrait: faces.main().filter(|face| face.is_usable()).cloned(),
            size,
        }
    }
}

/// Converts the kind of a document to the rules' type.
fn recognised(kind: DocumentKind) -> RecognisedType {
    match kind {
        DocumentKind::None => RecognisedType::Nothing,
        DocumentKind::Unknown => RecognisedType::Unknown,
        DocumentKind::Passport => RecognisedType::Passport,
        DocumentKind::Visa => RecognisedType::Visa,
        DocumentKind::Drivers | DocumentKind::IdCard | DocumentKind::ResidencyCard => RecognisedType::Card,
    }
}
