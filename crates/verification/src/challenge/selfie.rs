//! What a session's challenge means for a submitted selfie (`docs/decisions/0028-liveness-challenge.md`).

use super::plan::Kind;
use super::report::{Doubt, End};
use crate::evidence::Challenge;
use crate::flow::Biometric;
use crate::hold::Hold;

/// The ended challenge of a session, beside the selfie that was submitted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfieProof {
    /// The kind of challenge.
    pub kind: Kind,
    /// Its end.
    pub end: Option<End>,
    /// The selfie is one of the frames that the challenge accepted as selfie, byte for byte.
    pub is_frame: bool,
}

/// Judges a selfie that was submitted in a session. A `liveness` Flow takes only a frame of its challenge; without
/// one the answer is 2105. A `live selfie` Flow holds any other picture for review.
pub fn judge_selfie(wanted: Biometric, proof: Option<SelfieProof>) -> (Challenge, Option<Hold>) {
    let proof = proof.filter(|proof| proof.is_frame);
    let is_wanted = |kind: Kind| match wanted {
        Biometric::Selfie => false,
        Biometric::LiveSelfie => true,
        Biometric::Liveness => kind != Kind::Burst,
    };
    let end = proof
        .filter(|proof| is_wanted(proof.kind))
        .and_then(|proof| proof.end);
    match (wanted, end) {
        (Biometric::Selfie, _) => (Challenge::Absent, None),
        (_, Some(End::Passed)) => (Challenge::Passed, None),
        (_, Some(End::Review(Doubt::Still))) => (Challenge::InReview, Some(Hold::Copy)),
        (_, Some(End::Review(_))) => (Challenge::InReview, Some(Hold::UnfinishedChallenge)),
        (Biometric::Liveness, Some(End::Failed(_) | End::Void(_)) | None) => (Challenge::Absent, None),
        (Biometric::LiveSelfie, Some(End::Failed(_) | End::Void(_)) | None) => {
            (Challenge::Absent, Some(Hold::UnfinishedChallenge))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge::report::Failure;

    #[test]
    fn a_selfie_is_a_frame_of_the_challenge_that_the_flow_asks_for() {
        use Biometric::{LiveSelfie, Liveness, Selfie};
        use Challenge::{Absent, InReview, Passed};
        use Kind::{Assisted, Burst, Turns};
        let unfinished = Some(Hold::UnfinishedChallenge);
        let still = End::Review(Doubt::Still);
        let light = End::Review(Doubt::NoScreenLight);
        // wanted, kind, end, is a frame → challenge, hold
        let cases = [
            (Selfie, Turns, End::Passed, true, (Absent, None)),
            (Liveness, Turns, End::Passed, true, (Passed, None)),
            (Liveness, Turns, End::Passed, false, (Absent, None)),
            (Liveness, Turns, light, true, (InReview, unfinished)),
            (Liveness, Turns, light, false, (Absent, None)),
            (Liveness, Turns, End::Failed(Failure::Flat), true, (Absent, None)),
            (Liveness, Burst, End::Passed, true, (Absent, None)),
            (
                Liveness,
                Assisted,
                End::Review(Doubt::Assisted),
                true,
                (InReview, unfinished),
            ),
            (LiveSelfie, Burst, End::Passed, true, (Passed, None)),
            (LiveSelfie, Burst, End::Passed, false, (Absent, unfinished)),
            (LiveSelfie, Burst, still, true, (InReview, Some(Hold::Copy))),
            (LiveSelfie, Turns, End::Passed, true, (Passed, None)),
            (
                LiveSelfie,
                Assisted,
                End::Review(Doubt::Assisted),
                true,
                (InReview, unfinished),
            ),
        ];
        for (wanted, kind, end, is_frame, expected) in cases {
            let proof = SelfieProof {
                kind,
                end: Some(end),
                is_frame,
            };
            assert_eq!(
                judge_selfie(wanted, Some(proof)),
                expected,
                "{wanted:?} {proof:?}"
            );
        }
        assert_eq!(judge_selfie(Selfie, None), (Absent, None));
        assert_eq!(judge_selfie(Liveness, None), (Absent, None));
        assert_eq!(judge_selfie(LiveSelfie, None), (Absent, unfinished));
    }
}
