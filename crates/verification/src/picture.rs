//! Whether a document's picture shows another type than declared, and whether a selfie is a copy of the
//! documents. It reads no pixels; engines supply what they recognised.

use reference::DocumentType;

use crate::evidence::{PassiveCue, PictureContent, SelfieEvidence};
use crate::hold::Hold;
use crate::submission::Side;

/// What an engine recognised a picture as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecognisedType {
    /// No document.
    Nothing,
    /// A document whose type is uncertain.
    Unknown,
    /// A passport.
    Passport,
    /// A visa.
    Visa,
    /// A driving licence, an identity card or a residence permit.
    Card,
}

/// Whether a picture certainly shows something other than declared. `is_empty` means that neither text nor
/// codes were read from it.
#[must_use]
pub fn picture_content(
    recognised: RecognisedType,
    is_empty: bool,
    declared: DocumentType,
    side: Side,
) -> PictureContent {
    let other = match recognised {
        // Some backs have nothing but a barcode.
        RecognisedType::Nothing => side == Side::Front || is_empty,
        RecognisedType::Unknown => false,
        RecognisedType::Passport => declared != DocumentType::Passport,
        RecognisedType::Visa => true,
        // A card titled as a licence may be a learner's permit, which counts as ID_CARD. ID cards and
        // residence permits differ only in wording, which the issuers choose.
        RecognisedType::Card => declared == DocumentType::Passport,
    };
    if other {
        PictureContent::Other
    } else {
        PictureContent::Declared
    }
}

/// How a selfie resembles the documents' pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resemblance {
    /// The selfie has the same pixels as a document's picture.
    pub is_document: bool,
    /// The selfie's face is so similar to a document's portrait that it is the same picture.
    pub is_portrait: bool,
}

/// Judges a selfie's resemblance (`docs/decisions/0024-copies.md`). The picture of a document itself is not
/// live (2104). A copy of the portrait is a doubt that a reviewer settles.
pub fn judge_resemblance(selfie: &mut SelfieEvidence, resemblance: Resemblance) -> Option<Hold> {
    if resemblance.is_document {
        selfie.passive_cue = PassiveCue::Attack;
        return None;
    }
    resemblance.is_portrait.then_some(Hold::Copy)
}

#[cfg(test)]
mod tests {
    use DocumentType::{Drivers, IdCard, Passport, ResidencyCard};
    use Side::{Back, Front};

    use super::*;
    use crate::evidence::{Challenge, PictureState};

    #[test]
    fn only_what_is_certainly_something_else_is() {
        let types = [Passport, Drivers, IdCard, ResidencyCard];
        // recognised, empty, side → the declared types that the picture contradicts
        let rows: &[(RecognisedType, bool, Side, &[DocumentType])] = &[
            (RecognisedType::Nothing, true, Front, &types),
            (RecognisedType::Nothing, false, Front, &types),
            (RecognisedType::Nothing, true, Back, &types),
            (RecognisedType::Nothing, false, Back, &[]),
            (RecognisedType::Unknown, false, Front, &[]),
            (RecognisedType::Unknown, true, Back, &[]),
            (
                RecognisedType::Passport,
                false,
                Front,
                &[Drivers, IdCard, ResidencyCard],
            ),
            (RecognisedType::Visa, false, Front, &types),
            (RecognisedType::Card, false, Front, &[Passport]),
        ];
        for (recognised, is_empty, side, others) in rows {
            for declared in types {
                let expected = match others.contains(&declared) {
                    true => PictureContent::Other,
                    false => PictureContent::Declared,
                };
                let found = picture_content(*recognised, *is_empty, declared, *side);
                assert_eq!(found, expected, "{recognised:?} {is_empty} {side:?} {declared:?}");
            }
        }
    }

    #[test]
    fn a_picture_of_the_document_is_not_live_and_a_portrait_is_a_doubt() {
        for (is_document, is_portrait, passive_cue, doubt) in [
            (false, false, PassiveCue::NoAttack, None),
            (false, true, PassiveCue::NoAttack, Some(Hold::Copy)),
            (true, false, PassiveCue::Attack, None),
            (true, true, PassiveCue::Attack, None),
        ] {
            let mut selfie = SelfieEvidence {
                state: PictureState::Processed,
                faces: 1,
                passive_cue: PassiveCue::NoAttack,
                challenge: Challenge::Absent,
            };
            let resemblance = Resemblance {
                is_document,
                is_portrait,
            };
            assert_eq!(judge_resemblance(&mut selfie, resemblance), doubt);
            assert_eq!(selfie.passive_cue, passive_cue);
        }
    }
}
