//! Runs the two embedding networks on a face: SFace and dlib's. Their embeddings err on different faces, so
//! that both together separate people better than either.
//!
//! Each network's embedding is the mean over the face and its mirror image, which reduces the effects of pose and
//! light. Faces of one film have the same camera and room, so they are compared without the mirror image, in half the
//! time.

use imaging::Picture;
use inference::{Input, ModelName, Models};

use crate::align::sface_chip;
use crate::embedding::{Embedding, NETWORK_LEN};
use crate::error::FaceError;
use crate::mesh::Mesh;
use crate::restore::restored;

/// The views over which an embedding is a mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Views {
    /// The face alone.
    Plain,
    /// The face and its mirror image.
    Mirrored,
}

/// The embedding of a face with its chip for dlib's network, or `None` if the points of its mesh coincide.
pub(crate) fn embed(
    models: &Models,
    version: &str,
    picture: &Picture,
    mesh: &Mesh,
    dlib_chip: &Picture,
    views: Views,
) -> Result<Option<Embedding>, FaceError> {
    let Some(sface) = sface_chip(picture, mesh) else {
        return Ok(None);
    };
    let sface = run(models, ModelName::SfaceEmbedding, &restored(&sface), views)?;
    let dlib = run(models, ModelName::DlibEmbedding, &restored(dlib_chip), views)?;
    Embedding::of_networks(version, &sface, &dlib)
        .map(Some)
        .map_err(|_| FaceError::UnexpectedAnswer(ModelName::SfaceEmbedding.as_str()))
}

/// What a network computes for a chip: the mean over its views.
fn run(
    models: &Models,
    network: ModelName,
    chip: &Picture,
    views: Views,
) -> Result<[f32; NETWORK_LEN], FaceError> {
    let (width, height) = (chip.width as usize, chip.height as usize);
    let mirrored = (views == Views::Mirrored).then(|| chip.mirrored());
    let count = 1 + usize::from(mirrored.is_some());
    let mut data = Vec::with_capacity(count * 3 * width * height);
    for view in std::iter::once(chip).chain(&mirrored) {
        for channel in 0..3 {
            let values = view.pixels.iter().skip(channel).step_by(3);
            data.extend(values.map(|&value| f32::from(value)));
        }
    }
    let shape = [count, 3, height, width];
    let input = Input {
        shape: &shape,
        data: &data,
    };
    let answer = models.run(network, input)?;
    let computed = answer
        .first()
        .map(|tensor| tensor.data.as_chunks::<NETWORK_LEN>());
    match (views, computed) {
        (Views::Plain, Some(([plain], []))) => Ok(*plain),
        (Views::Mirrored, Some(([plain, mirrored], []))) => {
            Ok(std::array::from_fn(|at| f32::midpoint(plain[at], mirrored[at])))
        }
        _ => Err(FaceError::UnexpectedAnswer(network.as_str())),
    }
}
