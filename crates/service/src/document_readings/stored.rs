//! What is stored of a picture that was read, sealed under its own key. What was proposed is apart from the engine's
//! reading, whose form may differ between versions that serve one session.

use documents::reading::DocumentReading;
use serde::{Deserialize, Serialize};
use store::document_readings::Reading;
use verification::evidence::{PictureContent, PictureState, SideEvidence};
use verification::judge::reading::Proposal;

use crate::document_side::ProcessedSide;
use crate::problem::Problem;

/// What the person was shown, and the size of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Shown {
    pub(super) proposal: Proposal,
    pub(super) bytes: u64,
}

impl Shown {
    /// # Errors
    /// 503 if it cannot be read: then nobody knows what was taken from the document.
    pub(super) fn read(stored: &Reading) -> Result<Self, Problem> {
        serde_json::from_slice(&stored.content).map_err(|error| {
            let fault = verification::json::describe_without_values(&error);
            let text =
                "A picture that was read in this session cannot be used; please start again with a new link";
            Problem::unavailable(text).because(format!("document_readings.content {}: {fault}", stored.id))
        })
    }
}

/// A side as the engine read it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredSide {
    is_processed: bool,
    is_declared: bool,
    faces: usize,
    pub(super) reading: DocumentReading,
}

impl From<ProcessedSide> for StoredSide {
    fn from(looked: ProcessedSide) -> Self {
        StoredSide {
            is_processed: looked.side.state == PictureState::Processed,
            is_declared: looked.side.content == PictureContent::Declared,
            faces: looked.side.faces,
            reading: looked.reading,
        }
    }
}

impl StoredSide {
    /// The side; `None` if another version wrote it, as if it had not been read.
    pub(super) fn read(stored: &Reading) -> Option<Self> {
        #[derive(Deserialize)]
        struct Content {
            side: StoredSide,
        }
        match serde_json::from_slice::<Content>(&stored.content) {
            Ok(content) => Some(content.side),
            Err(error) => {
                let fault = verification::json::describe_without_values(&error);
                tracing::warn!(reading = %stored.id, fault, "a stored reading is not compared with the other side");
                None
            }
        }
    }

    pub(super) fn evidence(&self) -> SideEvidence {
        SideEvidence {
            state: match self.is_processed {
                true => PictureState::Processed,
                false => PictureState::Corrupted,
            },
            content: match self.is_declared {
                true => PictureContent::Declared,
                false => PictureContent::Other,
            },
            faces: self.faces,
        }
    }
}

/// The content of a row.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    #[serde(flatten)]
    pub(super) shown: &'a Shown,
    pub(super) side: &'a StoredSide,
}
