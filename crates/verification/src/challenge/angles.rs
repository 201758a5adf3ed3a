//! The limits of moves, in degrees, and how a pose is measured against the resting one.

use serde::{Deserialize, Serialize};

use super::measured::MeasuredFace;
use super::plan::Move;

/// The limits of a kind of move, in degrees of the move's own direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// From here the person has begun to move.
    pub(super) onset: f32,
    /// From here a frame shows the depth of the face.
    pub(super) turned: f32,
    /// From here the move is held.
    pub(super) least: f32,
    /// Beyond this it is too far.
    pub(super) most: f32,
    /// So far in the opposite direction is the wrong way.
    pub(super) opposite: f32,
    /// So far along the other axis is the wrong way.
    pub(super) across: f32,
    /// Within this the person looks straight ahead again.
    pub(super) straight: f32,
}

impl Limits {
    /// How far a held move may leave its range.
    pub(super) fn leeway(&self) -> f32 {
        (self.least - self.onset) / 3.0
    }

    /// Down to here a move that has begun to be held is still held.
    pub(super) fn held(&self) -> f32 {
        self.least - self.leeway()
    }
}

const TURN: Limits = Limits {
    onset: 6.0,
    turned: 12.0,
    least: 18.0,
    most: 35.0,
    opposite: 10.0,
    across: 16.0,
    straight: 10.0,
};
const NOD: Limits = Limits {
    onset: 3.5,
    turned: 14.0 / 3.0,
    least: 7.0,
    most: 30.0,
    opposite: 6.0,
    across: 16.0,
    straight: 7.0,
};

/// The limits of a move.
pub(super) fn limits(movement: Move) -> Limits {
    if movement.is_turn() { TURN } else { NOD }
}

/// The pose of a person who looks straight ahead, in degrees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) yaw: f32,
    pub(super) pitch: f32,
}

impl Rest {
    /// The angle in the move's direction, and the one across it.
    pub(super) fn angles(&self, movement: Move, face: &MeasuredFace) -> (f32, f32) {
        let across = if movement.is_turn() {
            face.pitch - self.pitch
        } else {
            face.yaw - self.yaw
        };
        (self.along(movement, face.yaw, face.pitch), across)
    }

    /// The angle of a pose in the move's direction.
    pub(super) fn along(&self, movement: Move, yaw: f32, pitch: f32) -> f32 {
        let angle = if movement.is_turn() {
            yaw - self.yaw
        } else {
            pitch - self.pitch
        };
        angle * movement.sign()
    }

    /// How far the pose is from resting, the larger of both angles.
    pub(super) fn offset(&self, face: &MeasuredFace) -> f32 {
        (face.yaw - self.yaw).abs().max((face.pitch - self.pitch).abs())
    }
}

/// The middle value; `None` of an empty list.
pub(super) fn median(mut values: Vec<f32>) -> Option<f32> {
    values.sort_by(f32::total_cmp);
    values.get(values.len() / 2).copied()
}
