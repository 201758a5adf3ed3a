//! What follows if a submitted picture was seen before, in an attempt under another `externalUserId` of the account
//! and mode (`docs/decisions/0050-reused-pictures.md`). It compares no pictures; engines find them.

use serde::{Deserialize, Serialize};

use crate::flow::Biometric;
use crate::hold::Hold;
use crate::submission::FileField;

/// How a picture resembles an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// Both have the same pixels.
    Exact,
    /// One is the other at another size, encoded again or slightly cropped.
    Similar,
}

impl Likeness {
    /// `exact` or `similar`.
    pub fn as_str(self) -> &'static str {
        match self {
            Likeness::Exact => "exact",
            Likeness::Similar => "similar",
        }
    }
}

/// A picture that was seen before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureReuse {
    /// The form's field of the picture (`selfie`, `passportFront`, …).
    pub file: String,
    /// How it resembles the earlier picture.
    pub likeness: Likeness,
    /// The number of the earlier attempt.
    pub log_id: i64,
    /// The form's field of the earlier picture.
    pub earlier_file: String,
}

/// The doubt about a selfie that was seen before. A camera takes a new picture each time, so a Flow that requires the
/// camera never sees a selfie twice. Uploaded files and documents may serve one person in several registrations, so
/// their reuse is only shown to reviewers.
pub fn judge_reuse(biometric: Biometric, reuses: &[PictureReuse]) -> Option<Hold> {
    let is_selfie = |reuse: &PictureReuse| reuse.file == FileField::Selfie.as_str();
    (biometric.uses_camera() && reuses.iter().any(is_selfie)).then_some(Hold::ReusedPicture)
}

#[cfg(test)]
mod tests {
    use Biometric::{LiveSelfie, Liveness, Selfie};

    use super::*;

    #[test]
    fn only_a_reused_selfie_of_a_camera_flow_is_in_doubt() {
        let reuse = |file: &str, earlier_file: &str, likeness| PictureReuse {
            file: file.into(),
            likeness,
            log_id: 7,
            earlier_file: earlier_file.into(),
        };
        let selfie = |likeness| reuse("selfie", "selfie", likeness);
        let document = reuse("passportFront", "passportFront", Likeness::Exact);
        let document_as_selfie = reuse("selfie", "passportFront", Likeness::Exact);
        let selfie_as_document = reuse("passportFront", "selfie", Likeness::Exact);
        // biometric, reuses, whether the selfie is in doubt
        let rows: &[(Biometric, &[PictureReuse], bool)] = &[
            (LiveSelfie, &[], false),
            (LiveSelfie, &[selfie(Likeness::Exact)], true),
            (LiveSelfie, &[selfie(Likeness::Similar)], true),
            (LiveSelfie, &[document_as_selfie], true),
            (LiveSelfie, &[selfie_as_document], false),
            (LiveSelfie, std::slice::from_ref(&document), false),
            (LiveSelfie, &[document.clone(), selfie(Likeness::Similar)], true),
            (Liveness, &[selfie(Likeness::Exact)], true),
            (Liveness, std::slice::from_ref(&document), false),
            (Selfie, &[selfie(Likeness::Exact)], false),
            (Selfie, &[document.clone(), selfie(Likeness::Similar)], false),
        ];
        for (biometric, reuses, doubted) in rows {
            let expected = doubted.then_some(Hold::ReusedPicture);
            assert_eq!(
                judge_reuse(*biometric, reuses),
                expected,
                "{biometric:?} {reuses:?}"
            );
        }
    }

    #[test]
    fn a_likeness_is_stored_by_its_word() {
        for likeness in [Likeness::Exact, Likeness::Similar] {
            assert_eq!(serde_json::to_value(likeness).expect("JSON"), likeness.as_str());
        }
    }
}
