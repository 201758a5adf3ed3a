//! The attacks on the challenge that can be rendered, and their names for tables.

/// A kind of attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Attack {
    /// A printed photograph on a stand: nothing moves.
    StillPhoto,
    /// A print in a shaking hand.
    ShakenPhoto,
    /// A print that is moved to the side, up or down as instructed.
    MovedPhoto,
    /// A print that is turned as instructed, up to 58°.
    TurnedPhoto,
    /// A print that turns about any axis, up to 58°, whatever the page shows.
    TiltedPhoto,
    /// A print bent around a cylinder, turned as instructed.
    BentPhoto,
    /// A printed mask with holes for the eyes, worn by another person who does as instructed.
    CutOut,
    /// The portrait of a document, coarse and under lines, held and turned a little as instructed.
    Portrait,
    /// The frames of an earlier session of the person, sent as the camera's.
    ReplayedSession,
    /// The frames of an earlier session in a random order.
    ShuffledFrames,
    /// Frontal parts of one session, and the instructed turns of another one, in another place.
    SplicedSessions,
    /// Frontal parts and the instructed turns of one long recording, sent as the camera's: every turn is right, and only
    /// the screen's light is missing or wrong.
    SplicedClips,
    /// A live person, whose place another person takes at some step.
    FaceSwap,
    /// An earlier session on a screen before the camera.
    ScreenReplay,
    /// The instructed turns of a long recording on a screen before the camera.
    ScreenClips,
    /// A film that turns left, right, up and down all the time.
    LoopedFilm,
    /// An earlier session of which parts are missing.
    DroppedFrames,
    /// A film of the person that stops at some time.
    FrozenFilm,
}

impl Attack {
    /// All kinds.
    pub const ALL: [Self; 18] = [
        Self::StillPhoto,
        Self::ShakenPhoto,
        Self::MovedPhoto,
        Self::TurnedPhoto,
        Self::TiltedPhoto,
        Self::BentPhoto,
        Self::CutOut,
        Self::Portrait,
        Self::ReplayedSession,
        Self::ShuffledFrames,
        Self::SplicedSessions,
        Self::SplicedClips,
        Self::FaceSwap,
        Self::ScreenReplay,
        Self::ScreenClips,
        Self::LoopedFilm,
        Self::DroppedFrames,
        Self::FrozenFilm,
    ];

    /// The name in tables and file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StillPhoto => "still-photo",
            Self::ShakenPhoto => "shaken-photo",
            Self::MovedPhoto => "moved-photo",
            Self::TurnedPhoto => "turned-photo",
            Self::TiltedPhoto => "tilted-photo",
            Self::BentPhoto => "bent-photo",
            Self::CutOut => "cut-out",
            Self::Portrait => "portrait",
            Self::ReplayedSession => "replayed-session",
            Self::ShuffledFrames => "shuffled-frames",
            Self::SplicedSessions => "spliced-sessions",
            Self::SplicedClips => "spliced-clips",
            Self::FaceSwap => "face-swap",
            Self::ScreenReplay => "screen-replay",
            Self::ScreenClips => "screen-clips",
            Self::LoopedFilm => "looped-film",
            Self::DroppedFrames => "dropped-frames",
            Self::FrozenFilm => "frozen-film",
        }
    }
}
