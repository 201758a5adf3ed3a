//! What custom models have in common: which face they may judge, how its pixels become their input, and how their
//! golden pictures are read. The module of each kind cuts out the face and reads the model's output.

use std::path::Path;

use imaging::{Limits, Picture};
use inference::Layout;
use inference::own::{Channels, ModelInput, OwnModel};

use crate::error::FaceError;
use crate::reading::{Face, FaceReading};

/// The largest golden picture, in bytes.
const MAX_PICTURE: u64 = 64 << 20;

/// The error of a model that cannot be used, with the reason.
pub(crate) fn failed(model: &OwnModel, reason: impl ToString) -> FaceError {
    FaceError::OwnModel {
        model: model.declaration().name.clone(),
        reason: reason.to_string(),
    }
}

/// The face that a custom model may judge: the only significant one, without a blocking quality issue.
pub(crate) fn suitable(reading: &FaceReading) -> Option<&Face> {
    let mut significant = reading.significant();
    let face = significant.next()?;
    let alone = significant.next().is_none();
    (alone && !face.quality.iter().any(|issue| issue.blocking)).then_some(face)
}

/// A picture as a model's input.
pub(crate) fn values(input: &ModelInput, picture: &Picture) -> Vec<f32> {
    let picture = picture.resized(input.width as u32, input.height as u32);
    let order = match input.channels {
        Channels::Rgb => [0, 1, 2],
        Channels::Bgr => [2, 1, 0],
    };
    let value = |pixel: &[u8], place: usize| {
        (f32::from(pixel[order[place]]) - input.mean[place]) / input.deviation[place]
    };
    let pixels = || picture.pixels.chunks_exact(3);
    match input.layout {
        Layout::Nhwc => pixels()
            .flat_map(|pixel| (0..3).map(move |place| value(pixel, place)))
            .collect(),
        Layout::Nchw => (0..3)
            .flat_map(|place| pixels().map(move |pixel| value(pixel, place)))
            .collect(),
    }
}

/// A golden picture that is the model's input.
pub(crate) fn golden_input(model: &OwnModel, name: &str) -> Result<Picture, FaceError> {
    let picture = golden_picture(model, name)?;
    let input = &model.declaration().input;
    if (picture.width as usize, picture.height as usize) == (input.width, input.height) {
        return Ok(picture);
    }
    Err(failed(
        model,
        format!(
            "golden picture `{name}`: it has {} × {} pixels, and the model's input {} × {}",
            picture.width, picture.height, input.width, input.height
        ),
    ))
}

/// A golden photograph with its only face, which [`suitable`] returns.
pub(crate) fn golden_photograph(
    model: &OwnModel,
    name: &str,
    find: impl Fn(&Picture) -> Result<FaceReading, FaceError>,
) -> Result<(Picture, FaceReading), FaceError> {
    let picture = golden_picture(model, name)?;
    let reading = find(&picture)?;
    if suitable(&reading).is_some() {
        return Ok((picture, reading));
    }
    Err(failed(
        model,
        format!(
            "golden picture `{name}`: it does not show one face of good quality; `bonafide detect-faces` shows why"
        ),
    ))
}

fn golden_picture(model: &OwnModel, name: &str) -> Result<Picture, FaceError> {
    decode(&model.golden_picture(name))
        .map_err(|reason| failed(model, format!("golden picture `{name}`: {reason}")))
}

fn decode(path: &Path) -> Result<Picture, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_PICTURE {
        return Err(format!("it exceeds {MAX_PICTURE} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let decoded = imaging::decode(&bytes, &Limits::default()).map_err(|error| error.to_string())?;
    Ok(decoded.picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_declared_order_and_scale() {
        let picture = Picture::new(2, 1, vec![10, 20, 30, 40, 50, 60]).unwrap();
        let input = |layout, channels| ModelInput {
            width: 2,
            height: 1,
            layout,
            channels,
            mean: [10.0, 20.0, 30.0],
            deviation: [1.0, 2.0, 10.0],
        };
        let cases = [
            (Layout::Nchw, Channels::Rgb, [0.0, 30.0, 0.0, 15.0, 0.0, 3.0]),
            (Layout::Nhwc, Channels::Rgb, [0.0, 0.0, 0.0, 30.0, 15.0, 3.0]),
            (Layout::Nchw, Channels::Bgr, [20.0, 50.0, 0.0, 15.0, -2.0, 1.0]),
        ];
        for (layout, channels, expected) in cases {
            assert_eq!(
                values(&input(layout, channels), &picture),
                expected,
                "{layout:?} {channels:?}"
            );
        }
    }
}
