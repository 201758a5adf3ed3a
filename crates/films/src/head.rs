//! One head in one of the two ways to draw it.

use std::sync::Arc;

use crate::canvas::{Camera, Canvas};
use crate::mesh::MeshHead;
use crate::photograph::Photograph;
use crate::room::Room;
use crate::smooth::SmoothHead;
use crate::view::{FRAME_SIZE, View};

/// The head of a person, made from a photograph. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Head {
    pub(crate) photograph: Arc<Photograph>,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Smooth(Arc<SmoothHead>),
    Mesh(Arc<MeshHead>),
}

impl Head {
    /// A smooth body with analytic relief, hit by parallel rays. The seed varies its proportions.
    pub fn smooth(photograph: &Photograph, seed: u64) -> Self {
        Self {
            photograph: Arc::new(photograph.clone()),
            shape: Shape::Smooth(Arc::new(SmoothHead::new(photograph.clone(), seed))),
        }
    }

    /// A mesh of triangles with typical depths at landmarks, before a perspective camera. The seed varies its
    /// proportions.
    pub fn mesh(photograph: &Photograph, seed: u64) -> Self {
        Self {
            photograph: Arc::new(photograph.clone()),
            shape: Shape::Mesh(Arc::new(MeshHead::new(photograph.clone(), seed))),
        }
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, view: &View) {
        match &self.shape {
            Shape::Smooth(head) => head.draw(canvas, view),
            Shape::Mesh(head) => head.draw(canvas, view),
        }
    }

    /// A single picture of the head in a room, of [`FRAME_SIZE`]. The seed chooses the camera and its noise.
    pub fn picture(&self, room: &Room, view: &View, seed: u64) -> imaging::Picture {
        let mut canvas = Canvas::new(FRAME_SIZE[0] as usize, FRAME_SIZE[1] as usize);
        room.draw(&mut canvas, view.shake, view.light);
        self.draw(&mut canvas, view);
        Camera::new(seed).expose(&canvas, view.exposure, seed)
    }
}
