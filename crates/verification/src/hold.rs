//! Why an attempt is held for review although no failure code applies
//! (`docs/decisions/0021-held-for-review.md`).
//!
//! The applicant and the merchant's systems see only "In review"; the reason is for reviewers.

use serde::{Deserialize, Serialize};

use crate::codes::Code;

/// A reason to hold an attempt for review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The submitted name clearly differs from a document's, and the Flow does not require the comparison.
    NameMismatch,
    /// The MRZ reading is uncertain, and neither the barcode nor the visual zone proves it.
    UncertainReading,
    /// The selfie is a copy of the document's portrait, or a still shown as video.
    Copy,
    /// The selfie was submitted before, in an attempt with another `externalUserId`.
    ReusedPicture,
    /// The selfie does not come from a passed liveness challenge.
    UnfinishedChallenge,
    /// A document's picture has signs of fraud, and the Flow sends those to review.
    FraudSigns,
    /// The document does not confirm the person whom the merchant expects.
    UnexpectedPerson,
}

impl Hold {
    /// Every reason, in the order in which the portal lists them.
    pub const ALL: [Hold; 7] = [
        Hold::NameMismatch,
        Hold::UncertainReading,
        Hold::Copy,
        Hold::ReusedPicture,
        Hold::UnfinishedChallenge,
        Hold::FraudSigns,
        Hold::UnexpectedPerson,
    ];

    /// The text that applicants and the merchant's systems see for a held attempt.
    pub const MESSAGE: &'static str = "In review";

    /// `name_mismatch`, `uncertain_reading`, `copy`, `reused_picture`, `unfinished_challenge`,
    /// `fraud_signs` or `unexpected_person`.
    pub fn as_str(self) -> &'static str {
        match self {
            Hold::NameMismatch => "name_mismatch",
            Hold::UncertainReading => "uncertain_reading",
            Hold::Copy => "copy",
            Hold::ReusedPicture => "reused_picture",
            Hold::UnfinishedChallenge => "unfinished_challenge",
            Hold::FraudSigns => "fraud_signs",
            Hold::UnexpectedPerson => "unexpected_person",
        }
    }

    /// Whether the hold doubts that the selfie is genuine, or that its face belongs to this account. Until an approval proves
    /// the face, it is not searched, bound to a person or counted as a duplicate.
    pub fn leaves_face_unproven(self) -> bool {
        match self {
            Hold::Copy | Hold::ReusedPicture | Hold::UnfinishedChallenge | Hold::UnexpectedPerson => true,
            Hold::NameMismatch | Hold::UncertainReading | Hold::FraudSigns => false,
        }
    }

    /// The failure code of a doubt about the selfie in a Flow without review (`reviewPolicy: never`).
    ///
    /// A name mismatch and signs of fraud pass in such a Flow. An uncertain reading gets the code of its document. An
    /// unexpected person gets that of the difference beside the hold, so that only an approval proves the face.
    pub(crate) fn code_without_review(self) -> Option<Code> {
        match self {
            Hold::Copy | Hold::ReusedPicture => Some(Code::NotLive),
            Hold::UnfinishedChallenge => Some(Code::LivenessIncomplete),
            Hold::NameMismatch | Hold::UncertainReading | Hold::FraudSigns | Hold::UnexpectedPerson => None,
        }
    }
}

/// An attempt's part in the proof of its person's face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaceProof {
    /// It proved no face, or its approval did and was taken back.
    None,
    /// It proved the face when it was submitted, so no later decision takes the proof back.
    Submission,
    /// The attempt was held, and its approval proved the face.
    Approval,
}

impl FaceProof {
    /// The proof by an attempt with these reasons, whose detail records whether the face is proven.
    pub fn of_attempt(holds: &[Hold], face_proven: bool, is_approved: bool) -> FaceProof {
        let was_held = holds.iter().any(|hold| hold.leaves_face_unproven());
        match (face_proven, was_held) {
            (true, false) => FaceProof::Submission,
            (true, true) if is_approved => FaceProof::Approval,
            _ => FaceProof::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_is_proven_by_a_submission_or_by_an_approval() {
        use FaceProof::{Approval, None, Submission};
        // holds, proven, approved, the proof
        let cases: [(&[Hold], bool, bool, FaceProof); 8] = [
            (&[], true, false, Submission),
            (&[Hold::NameMismatch], true, false, Submission),
            (&[Hold::UncertainReading], true, true, Submission),
            (&[Hold::Copy], true, true, Approval),
            (&[Hold::NameMismatch, Hold::ReusedPicture], true, true, Approval),
            (&[Hold::UnfinishedChallenge], true, false, None),
            (&[Hold::Copy], false, true, None),
            (&[], false, true, None),
        ];
        for (holds, proven, approved, proof) in cases {
            assert_eq!(
                FaceProof::of_attempt(holds, proven, approved),
                proof,
                "{holds:?} proven {proven} approved {approved}"
            );
        }
    }

    #[test]
    fn a_hold_is_stored_by_its_word() {
        for hold in Hold::ALL {
            let stored = serde_json::to_value(hold).expect("JSON");
            assert_eq!(stored, hold.as_str());
            assert_eq!(serde_json::from_value::<Hold>(stored).ok(), Some(hold));
        }
    }
}
