//! Why an attempt is held for review although no failure code applies (decisions §10, *Held for review*).
//!
//! The applicant and the merchant's systems see only "In review"; the reason is for reviewers.

use serde::{Deserialize, Serialize};

use crate::codes::Code;

/// A reason to hold an attempt for review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The submitted name clearly differs from a document, and the Flow does not compare them.
    NameMismatch,
    /// An MRZ was read with too little certainty, and neither the barcode nor the print confirms it.
    UncertainReading,
    /// The selfie is a copy of the document's portrait, or a still shown as video.
    Copy,
    /// The selfie was seen in an earlier attempt under another `externalUserId`.
    ReusedPicture,
    /// The selfie does not come from a passed liveness challenge.
    UnfinishedChallenge,
}

impl Hold {
    /// Every reason, in the order in which reviewers see them.
    pub const ALL: [Hold; 5] = [
        Hold::NameMismatch,
        Hold::UncertainReading,
        Hold::Copy,
        Hold::ReusedPicture,
        Hold::UnfinishedChallenge,
    ];

    /// The text that a held attempt has for all but reviewers.
    pub const MESSAGE: &'static str = "In review";

    /// `name_mismatch`, `uncertain_reading`, `copy`, `reused_picture` or `unfinished_challenge`.
    pub fn as_str(self) -> &'static str {
        match self {
            Hold::NameMismatch => "name_mismatch",
            Hold::UncertainReading => "uncertain_reading",
            Hold::Copy => "copy",
            Hold::ReusedPicture => "reused_picture",
            Hold::UnfinishedChallenge => "unfinished_challenge",
        }
    }

    /// Whether the selfie itself is in doubt. Such a face is not searched, bound or counted as a duplicate until an
    /// approval proves it.
    pub fn leaves_face_unproven(self) -> bool {
        match self {
            Hold::Copy | Hold::ReusedPicture | Hold::UnfinishedChallenge => true,
            Hold::NameMismatch | Hold::UncertainReading => false,
        }
    }

    /// The code that a doubt about the selfie becomes where the Flow reviews nothing (`reviewPolicy: never`).
    ///
    /// A name mismatch passes there, and an uncertain reading has the code of its document.
    pub(crate) fn code_without_review(self) -> Option<Code> {
        match self {
            Hold::Copy | Hold::ReusedPicture => Some(Code::NotLive),
            Hold::UnfinishedChallenge => Some(Code::LivenessIncomplete),
            Hold::NameMismatch | Hold::UncertainReading => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_is_stored_by_its_word() {
        for hold in Hold::ALL {
            let stored = serde_json::to_value(hold).expect("JSON");
            assert_eq!(stored, hold.as_str());
            assert_eq!(serde_json::from_value::<Hold>(stored).ok(), Some(hold));
        }
    }
}
