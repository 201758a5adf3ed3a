//! The measurements of one frame, as the engine gives them.

/// What the next film request should ask of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilmWish {
    /// The first frame becomes the reference of the points that are followed.
    pub restart: bool,
    /// Bit `i` asks for the embedding of frame `i`.
    pub embed: u64,
}

/// One frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its number in the challenge.
    pub number: u32,
    /// When it arrived, in ms of the server's clock.
    pub at_ms: i64,
    /// The instruction that the page showed when it was captured.
    pub instruction: u16,
    /// SHA-256 of the file.
    pub hash: [u8; 32],
    /// The number of significant faces.
    pub faces: u32,
    /// The main face.
    pub face: Option<MeasuredFace>,
    /// Mean absolute difference of grey values (0–255) to the frame before.
    pub change: Option<f32>,
    /// Mean colour of the background in linear light, 0–1.
    pub background: [f32; 3],
}

/// The face of a frame. Angles are in degrees: yaw grows towards the picture's right, pitch downwards.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredFace {
    /// To the side.
    pub yaw: f32,
    /// Up and down.
    pub pitch: f32,
    /// In the picture's plane.
    pub roll: f32,
    /// The distance between the eyes as a share of the frame's width.
    pub eye_share: f32,
    /// The face's centre as shares of the frame's width and height.
    pub centre: [f32; 2],
    /// The share of the face's box that is inside the frame.
    pub part_inside: f32,
    /// The share of the reference's points that are still followed.
    pub tracked: Option<f32>,
    /// How far the nose stands out, to the picture's right and downwards, in eye distances.
    pub relief: Option<[f32; 2]>,
    /// Mean colour of the skin in linear light, 0–1.
    pub rgb: [f32; 3],
    /// It is good enough to be compared as a selfie.
    pub usable: bool,
    /// It is too dark.
    pub too_dark: bool,
    /// The distance of its embedding from that of the challenge's first face, if it was embedded.
    pub distance: Option<f32>,
}
