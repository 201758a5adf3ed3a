//! The challenge's instructions as a person sees them on the page, for films that react.

/// A movement of the head. Left and right are the person's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// To the person's left: the nose moves to the right of a picture that is not mirrored.
    TurnLeft,
    /// To the person's right.
    TurnRight,
    /// The nose moves up.
    NodUp,
    /// The nose moves down.
    NodDown,
}

impl Move {
    /// All movements.
    pub const ALL: [Self; 4] = [Self::TurnLeft, Self::TurnRight, Self::NodUp, Self::NodDown];

    /// The directions of yaw and pitch.
    pub(crate) fn direction(self) -> [f32; 2] {
        match self {
            Self::TurnLeft => [1.0, 0.0],
            Self::TurnRight => [-1.0, 0.0],
            Self::NodUp => [0.0, -1.0],
            Self::NodDown => [0.0, 1.0],
        }
    }

    /// The movement to the other side.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::TurnLeft => Self::TurnRight,
            Self::TurnRight => Self::TurnLeft,
            Self::NodUp => Self::NodDown,
            Self::NodDown => Self::NodUp,
        }
    }
}

/// What the page shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shown {
    /// Look into the camera.
    Look,
    /// The whole screen in one colour: red, green and blue in linear light, 0–1.
    Flash([f32; 3]),
    /// Wait, and look straight.
    Ready,
    /// Move the head.
    Do(Move),
    /// Stay there.
    Hold(Move),
    /// Look into the camera again.
    Back,
}

/// What the page adds when a person must correct something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Come closer.
    Closer,
    /// Move away.
    Farther,
    /// Bring the face to the middle.
    Centre,
    /// Look straight into the camera.
    LookStraight,
    /// Turn further.
    More,
    /// Turn less far.
    Less,
    /// Move more slowly.
    Slower,
    /// Don't move.
    HoldStill,
}
