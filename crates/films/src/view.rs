//! How a head, or a picture of one, is seen in one frame.

use faces::Pose;

use crate::geometry::FRONTAL;

/// Width and height of frames in pixels.
pub const FRAME_SIZE: [u32; 2] = [360, 480];

/// Pose, place and light in one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The orientation in degrees, as [`faces::Pose`].
    pub pose: Pose,
    /// Pixels between the eyes when the head faces the camera.
    pub eye_px: f32,
    /// The pixel where the point between the eyes is when the head faces the camera.
    pub at: [f32; 2],
    /// How far the shaking camera moves everything, in pixels.
    pub shake: [f32; 2],
    /// The screen's light (red, green, blue), relative to the room's light. About 0.05 in a bright office and 0.3 in a
    /// dim room.
    pub light: [f32; 3],
    /// Factor on all light before the picture is taken.
    pub exposure: f32,
}

impl View {
    /// A face in the middle of the frame that looks into the camera, without light of a screen.
    pub const FRONTAL: Self = Self {
        pose: FRONTAL,
        eye_px: 88.0,
        at: [180.0, 210.0],
        shake: [0.0; 2],
        light: [0.0; 3],
        exposure: 1.0,
    };

    /// Where the point between the eyes is in the frame.
    pub(crate) fn centre(&self) -> [f32; 2] {
        [self.at[0] + self.shake[0], self.at[1] + self.shake[1]]
    }
}
