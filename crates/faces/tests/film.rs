//! Tests of films with the real models, on a sample photograph that is held before the camera and turned.

use std::sync::{Arc, LazyLock};

use faces::{FaceEngine, FilmFrame, FilmRequest, PictureKind, Track};
use imaging::{Homography, Limits, Picture, Point};
use inference::{Manifest, Models, find_models_dir};

const SIZE: (u32, u32) = (360, 480);
const FRAMES: usize = 20;
const RESTART: FilmRequest = FilmRequest {
    restart: true,
    embed: 0,
};
const CONTINUE: FilmRequest = FilmRequest {
    restart: false,
    embed: 0,
};

static ENGINE: LazyLock<FaceEngine> = LazyLock::new(|| {
    let dir = find_models_dir(None).expect("models are installed: run `make models`");
    FaceEngine::new(Arc::new(Models::open(&dir, 1).expect("the models open")))
});

/// The largest face of a sample, 90 px between its eyes, in the middle of a frame.
static PORTRAIT: LazyLock<Picture> = LazyLock::new(|| {
    let dir = find_models_dir(None).expect("models are installed: run `make models`");
    let path = Manifest::read(&dir)
        .and_then(|manifest| manifest.file(&dir, "sample2"))
        .expect("the sample is in the manifest");
    let bytes = std::fs::read(path).expect("readable");
    let picture = imaging::decode(&bytes, &Limits::default())
        .expect("a picture")
        .picture;
    let reading = ENGINE
        .analyse(&picture, PictureKind::Selfie)
        .expect("the models run");
    let face = reading.main().expect("a face");
    let scale = f64::from(face.inter_eye_px) / 90.0;
    let [x, y, width, height] = face.bounds.map(f64::from);
    let map = Homography([
        [scale, 0.0, x + width / 2.0 - scale * f64::from(SIZE.0) / 2.0],
        [0.0, scale, y + height / 2.0 - scale * f64::from(SIZE.1) / 2.0],
        [0.0, 0.0, 1.0],
    ]);
    picture.warp(&map, SIZE.0, SIZE.1, [90; 3])
});

/// The portrait as a flat picture that is turned by an angle (degrees) about its vertical axis, seen from four times
/// its width.
fn turned(degrees: f32) -> Picture {
    let (width, height) = (SIZE.0 as f32, SIZE.1 as f32);
    let (sin, cos) = degrees.to_radians().sin_cos();
    let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)].map(|(x, y)| Point::new(x, y));
    let seen = corners.map(|at| {
        let (x, y) = (at.x - width / 2.0, at.y - height / 2.0);
        let by = 4.0 * width / (4.0 * width + x * sin);
        Point::new(width / 2.0 + x * cos * by, height / 2.0 + y * by)
    });
    let map = Homography::between(seen, corners).expect("a quadrilateral");
    PORTRAIT.warp(&map, SIZE.0, SIZE.1, [90; 3])
}

fn film() -> Vec<Picture> {
    (0..FRAMES).map(|number| turned(number as f32 * 2.0)).collect()
}

#[test]
fn a_flat_picture_is_followed_and_has_no_relief() {
    let (frames, track) = ENGINE.film(None, &film(), RESTART).expect("the models run");
    assert!(track.is_some());
    assert_eq!(frames[0].change, None);
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!((frame.width, frame.height, frame.faces), (SIZE.0, SIZE.1, 1));
        let face = frame.face.as_ref().expect("a face");
        assert!(
            face.tracked.expect("a track") > 0.6,
            "frame {number}: {:?}",
            face.tracked
        );
        let relief = face.relief.expect("enough points");
        assert!(
            relief.lateral.abs() < 0.03 && relief.vertical.abs() < 0.03,
            "frame {number}: {relief:?}"
        );
        assert!(face.embedding.is_none() && face.texture.is_none());
        assert!((face.centre[0] - 0.5).abs() < 0.15 && face.part_inside > 0.9);
    }
}

#[test]
fn a_film_in_parts_gives_what_it_gives_at_once() {
    let film = film();
    let (at_once, track) = ENGINE.film(None, &film, RESTART).expect("the models run");
    let mut in_parts: Vec<FilmFrame> = Vec::new();
    let mut before: Option<(Picture, Track)> = None;
    for part in film.chunks(5) {
        let request = if before.is_some() { CONTINUE } else { RESTART };
        let continued = before.as_ref().map(|(picture, track)| (picture, track));
        let (frames, track) = ENGINE.film(continued, part, request).expect("the models run");
        in_parts.extend(frames);
        let stored = postcard::to_stdvec(&track.expect("followed")).expect("serialises");
        let track = postcard::from_bytes(&stored).expect("parses");
        before = Some((part[part.len() - 1].clone(), track));
    }
    assert_eq!(in_parts, at_once);
    assert_eq!(before.map(|(_, track)| track), track);
}

#[test]
fn a_frame_without_a_face_ends_the_track_until_the_next_start() {
    let frames = [turned(0.0), Picture::filled(SIZE.0, SIZE.1, [90; 3]), turned(0.0)];
    let request = FilmRequest {
        embed: 0b101,
        ..RESTART
    };
    let (frames, track) = ENGINE.film(None, &frames, request).expect("the models run");
    assert_eq!(track, None);
    assert_eq!(
        frames.iter().map(|frame| frame.faces).collect::<Vec<_>>(),
        [1, 0, 1]
    );
    let tracked = |number: usize| frames[number].face.as_ref().and_then(|face| face.tracked);
    assert_eq!((tracked(0), tracked(1), tracked(2)), (Some(1.0), None, None));
    for number in [0, 2] {
        let face = frames[number].face.as_ref().expect("a face");
        assert!(face.embedding.is_some() && face.texture.is_some());
    }
    assert!(frames[1].change.expect("a frame before") > 5.0);
}

#[test]
fn two_faces_are_counted_and_end_the_track() {
    let one = PORTRAIT.resized(240, 320);
    let mut two = Picture::filled(480, 320, [90; 3]);
    let mut alone = two.clone();
    for y in 0..320 {
        let row = one.row(y);
        let at = y as usize * 480 * 3;
        alone.pixels[at..at + 720].copy_from_slice(row);
        two.pixels[at..at + 720].copy_from_slice(row);
        two.pixels[at + 720..at + 1440].copy_from_slice(row);
    }
    // Every fourth frame is searched for other faces.
    let frames = [&alone, &two, &two, &two, &two, &alone].map(Picture::clone);
    let (frames, track) = ENGINE.film(None, &frames, RESTART).expect("the models run");
    assert_eq!(
        frames.iter().map(|frame| frame.faces).collect::<Vec<_>>(),
        [1, 1, 1, 1, 2, 1]
    );
    assert_eq!(track, None);
}

#[test]
fn pictures_of_any_shape_are_measured() {
    let shapes =
        [(1, 1), (1, 960), (960, 1), (3, 700), (16, 16)].map(|(w, h)| Picture::filled(w, h, [200; 3]));
    let (_, track) = ENGINE
        .film(None, &[turned(0.0)], RESTART)
        .expect("the models run");
    let (start, track) = (turned(0.0), track.expect("followed"));
    for shape in shapes {
        for before in [None, Some((&start, &track)), Some((&shape, &track))] {
            let frames = [shape.clone(), start.clone()];
            let (frames, _) = ENGINE.film(before, &frames, CONTINUE).expect("the models run");
            assert_eq!(frames.len(), 2);
        }
    }
}
