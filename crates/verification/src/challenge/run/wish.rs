//! The measurements that the engine is to make on the next frames. The module requests the least that the stage needs,
//! because placing points and computing embeddings cost far more than following a face.

use super::{Run, Stage};
use crate::challenge::angles::{Rest, limits};
use crate::challenge::measured::FilmWish;
use crate::challenge::plan::PlannedMove;

/// A head on its way back that is within this angle may look straight ahead in the next frames, in degrees.
const NEARLY_STRAIGHT: f32 = 20.0;
/// While a head is turned, its face is compared again after this time, so that no other head replaces it, in ms.
const COMPARED_EVERY_MS: i64 = 250;

impl Run {
    /// What the next film request should ask for.
    pub fn request(&self) -> FilmWish {
        let (restart, embed) = match self.stage {
            Stage::Look => (true, !self.has_reference && !self.looking.is_empty()),
            // The person looks straight ahead, so what the first move needs is measured before its instruction.
            Stage::Flash(index) if index + 1 == self.plan.colours.len() => {
                (!self.is_followed, !self.is_compared)
            }
            Stage::Flash(_) => (false, false),
            Stage::Ready(index) => {
                let nearer = self
                    .along_before(index)
                    .is_some_and(|along| self.is_nearer(along));
                let restart = !self.is_followed || nearer;
                (restart, restart || !self.is_compared)
            }
            // A comparison before the hold saves the person from waiting for it.
            Stage::Turn(index) => (false, self.was_under_way(index) && self.must_compare(index)),
            // The face is compared in each body, so that no other head replaces it at the end.
            Stage::Hold(_) => (false, true),
            // The first frame that looks straight ahead can already be the reference of the next move.
            Stage::Back(_) => (self.was_nearly_straight(), self.was_nearly_straight()),
        };
        FilmWish {
            restart,
            embed: u64::from(embed),
        }
    }

    /// Whether the face has to be compared: for the first time at an angle at which this move can be held, or because
    /// the last comparison was too long ago.
    fn must_compare(&self, index: usize) -> bool {
        let last = self.before.map(|(at_ms, ..)| at_ms);
        let since = last.zip(self.compared_ms).map(|(last, compared)| last - compared);
        let may_hold = self
            .along_before(index)
            .zip(self.at_hand(index))
            .is_none_or(|(along, (planned, _))| along >= limits(planned.movement).held());
        (may_hold && !self.compared_turned(index)) || since.is_none_or(|since| since >= COMPARED_EVERY_MS)
    }

    /// Whether the last frame looked straight ahead, or soon will.
    fn was_nearly_straight(&self) -> bool {
        let offset = |((_, yaw, pitch), rest): ((i64, f32, f32), Rest)| {
            (yaw - rest.yaw).abs().max((pitch - rest.pitch).abs())
        };
        self.before
            .zip(self.rest)
            .map(offset)
            .is_some_and(|offset| offset <= NEARLY_STRAIGHT)
    }

    /// Whether the last frame was far enough along this move that the next ones may count as turned.
    fn was_under_way(&self, index: usize) -> bool {
        let along = |((_, yaw, pitch), (planned, rest)): ((i64, f32, f32), (PlannedMove, Rest))| {
            rest.along(planned.movement, yaw, pitch) >= limits(planned.movement).least / 2.0
        };
        self.before.zip(self.at_hand(index)).is_some_and(along)
    }
}
