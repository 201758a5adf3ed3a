//! Films of a painted face: where its parts go, and that nothing else than the seed decides.

use faces::{Eyes, Face, Pose};
use films::{
    Attack, Cast, FRAME_SIZE, Film, FrameEncoder, Head, Hint, MAX_FRAME_BYTES, Move, Photograph, Room, Shown,
    View,
};
use imaging::{Picture, Point};

/// Pixels between the eyes of the painted face.
const UNIT: f32 = 80.0;
const EYES: [f32; 2] = [160.0, 200.0];

/// A face of grey skin with blue eyes and a red tip of the nose.
fn painted() -> Photograph {
    let mut picture = Picture::filled(320, 440, [150, 150, 150]);
    for y in 0..picture.height {
        for x in 0..picture.width {
            let place = [
                (x as f32 + 0.5 - EYES[0]) / UNIT,
                (y as f32 + 0.5 - EYES[1]) / UNIT,
            ];
            let near = |cx: f32, cy: f32, radius: f32| (place[0] - cx).hypot(place[1] - cy) < radius;
            let colour = if near(-0.5, 0.0, 0.12) || near(0.5, 0.0, 0.12) {
                [20, 20, 220]
            } else if near(0.0, 0.62, 0.1) {
                [220, 20, 20]
            } else {
                continue;
            };
            let at = ((y * picture.width + x) * 3) as usize;
            picture.pixels[at..at + 3].copy_from_slice(&colour);
        }
    }
    let face = Face {
        bounds: [
            EYES[0] - 1.1 * UNIT,
            EYES[1] - 1.05 * UNIT,
            2.2 * UNIT,
            2.8 * UNIT,
        ],
        score: 1.0,
        significant: true,
        eyes: Eyes {
            right: Point::new(EYES[0] - UNIT / 2.0, EYES[1]),
            left: Point::new(EYES[0] + UNIT / 2.0, EYES[1]),
        },
        pose: Pose {
            yaw: 0.0,
            pitch: 0.0,
            roll: 0.0,
        },
        inter_eye_px: UNIT,
        quality: Vec::new(),
        embedding: None,
        texture: None,
    };
    Photograph::new(&picture, &face).expect("a face with an extent")
}

fn heads() -> [Head; 2] {
    [Head::smooth(&painted(), 1), Head::mesh(&painted(), 1)]
}

fn grey_room() -> Room {
    Room::photograph(
        &Picture::filled(64, 64, [90, 90, 90]),
        FRAME_SIZE[0],
        FRAME_SIZE[1],
    )
}

fn posed(yaw: f32, pitch: f32, roll: f32) -> View {
    View {
        pose: Pose { yaw, pitch, roll },
        ..View::FRONTAL
    }
}

/// The mean place of the pixels in which a channel is much brighter than another.
fn centre(picture: &Picture, channel: usize, other: usize) -> [f32; 2] {
    let (mut sum, mut count) = ([0.0; 2], 0.0);
    for y in 0..picture.height {
        for x in 0..picture.width {
            let pixel = picture.pixel(x, y).map(i32::from);
            if pixel[channel] > pixel[other] + 80 {
                sum = [sum[0] + x as f32, sum[1] + y as f32];
                count += 1.0;
            }
        }
    }
    assert!(count > 20.0, "nothing of this colour");
    sum.map(|value| value / count)
}

/// How far the nose is from the eyes, in pixels.
fn nose(head: &Head, view: &View) -> [f32; 2] {
    let picture = head.picture(&grey_room(), view, 4);
    let (nose, eyes) = (centre(&picture, 0, 2), centre(&picture, 2, 0));
    [nose[0] - eyes[0], nose[1] - eyes[1]]
}

#[test]
fn the_nose_goes_where_the_head_turns() {
    for head in heads() {
        let front = nose(&head, &posed(0.0, 0.0, 0.0));
        assert!(
            front[0].abs() < 6.0 && (40.0..70.0).contains(&front[1]),
            "{front:?}"
        );
        // It stands out by about 0.5 eye distances, of 88 pixels here.
        let (right, left) = (
            nose(&head, &posed(25.0, 0.0, 0.0)),
            nose(&head, &posed(-25.0, 0.0, 0.0)),
        );
        assert!((10.0..40.0).contains(&right[0]), "{right:?}");
        assert!((-40.0..-10.0).contains(&left[0]), "{left:?}");
        let (down, up) = (
            nose(&head, &posed(0.0, 20.0, 0.0)),
            nose(&head, &posed(0.0, -20.0, 0.0)),
        );
        assert!(
            down[1] > front[1] + 6.0 && up[1] < front[1] - 6.0,
            "{down:?} {up:?}"
        );
        let tilted = nose(&head, &posed(0.0, 0.0, 20.0));
        assert!(tilted[0] < -10.0, "{tilted:?}");
    }
}

#[test]
fn heads_are_drawn_without_holes() {
    // A face of one colour before a room of another: between the head's edges in a row there is no room.
    let room = Room::photograph(
        &Picture::filled(64, 64, [0, 160, 0]),
        FRAME_SIZE[0],
        FRAME_SIZE[1],
    );
    for head in heads() {
        for (yaw, pitch) in [(0.0, 0.0), (34.0, 0.0), (-34.0, 0.0), (0.0, 30.0), (10.0, -30.0)] {
            let picture = head.picture(&room, &posed(yaw, pitch, 5.0), 2);
            for y in 150..300 {
                let is_room = |x: u32| picture.pixel(x, y)[1] > picture.pixel(x, y)[0].saturating_add(60);
                let head: Vec<u32> = (0..picture.width).filter(|x| !is_room(*x)).collect();
                let (first, last) = (head.first().unwrap(), head.last().unwrap());
                assert!(last - first > 100, "yaw {yaw}, pitch {pitch}, row {y}");
                assert_eq!(
                    (last - first + 1) as usize,
                    head.len(),
                    "yaw {yaw}, pitch {pitch}, row {y}"
                );
            }
        }
    }
}

#[test]
fn the_screen_colours_the_face_more_than_the_room() {
    for head in heads() {
        let view = View {
            light: [0.3, 0.0, 0.0],
            ..View::FRONTAL
        };
        let (dark, lit) = (
            head.picture(&grey_room(), &View::FRONTAL, 3),
            head.picture(&grey_room(), &view, 3),
        );
        let gain = |x: u32, y: u32| {
            let red = |picture: &Picture| i32::from(picture.pixel(x, y)[0]);
            red(&lit) - red(&dark)
        };
        assert!(gain(220, 250) > 10, "{}", gain(220, 250));
        assert!(gain(20, 20) < 6);
        assert_eq!(lit.pixel(220, 250)[2], dark.pixel(220, 250)[2]);
    }
}

#[test]
fn frames_depend_on_the_seed_alone_and_fit_their_limit() {
    let [smooth, mesh] = heads();
    for head in [&smooth, &mesh] {
        let film = |seed: u64| {
            let mut film = Film::live(head, Room::drawn(FRAME_SIZE[0], FRAME_SIZE[1], seed), seed);
            film.show(0, Shown::Look, None);
            film.show(900, Shown::Do(Move::TurnLeft), None);
            [100, 1_500, 2_600].map(|at| film.frame(at))
        };
        let (once, again, other) = (film(7), film(7), film(8));
        assert!(once == again && once != other);
        let mut encoder = FrameEncoder::default();
        for frame in once {
            assert_eq!([frame.width, frame.height], FRAME_SIZE);
            assert!(encoder.encode(&frame).unwrap().len() <= MAX_FRAME_BYTES);
        }
    }
}

#[test]
fn every_attack_has_its_film() {
    let [person, other] = heads();
    let cast = Cast { person, other };
    for (number, kind) in Attack::ALL.into_iter().enumerate() {
        let room = Room::drawn(FRAME_SIZE[0], FRAME_SIZE[1], 1);
        let mut film = Film::attack(kind, &cast, room, number as u64);
        let mut frames = Vec::new();
        for (at, shown, hint) in [
            (0, Shown::Look, None),
            (800, Shown::Flash([1.0, 0.0, 0.0]), None),
            (1_200, Shown::Ready, Some(Hint::Centre)),
            (1_800, Shown::Do(Move::NodDown), None),
            (3_600, Shown::Hold(Move::NodDown), None),
            (4_000, Shown::Back, None),
        ] {
            film.show(at, shown, hint);
            frames.push(film.frame(at + 390));
        }
        assert!(
            frames
                .iter()
                .all(|frame| [frame.width, frame.height] == FRAME_SIZE)
        );
        let names = Attack::ALL.iter().filter(|other| other.as_str() == kind.as_str());
        assert_eq!(names.count(), 1);
    }
}

#[test]
fn a_frozen_film_repeats_its_frame_and_a_photograph_only_its_noise() {
    let [person, other] = heads();
    let cast = Cast { person, other };
    let film = |kind| Film::attack(kind, &cast, grey_room(), 5);
    let frozen = film(Attack::FrozenFilm);
    assert_eq!(frozen.frame(12_000), frozen.frame(12_080));
    let still = film(Attack::StillPhoto);
    let (a, b) = (still.frame(12_000), still.frame(12_080));
    assert_ne!(a, b);
    let difference: u64 = a
        .pixels
        .iter()
        .zip(&b.pixels)
        .map(|(a, b)| u64::from(a.abs_diff(*b)))
        .sum();
    assert!(difference < 5 * a.pixels.len() as u64);
}

#[test]
fn extreme_views_are_drawn_too() {
    for head in heads() {
        for (yaw, pitch, roll) in [
            (90.0, 0.0, 0.0),
            (180.0, 90.0, 45.0),
            (-720.0, 1e6, -90.0),
            (f32::NAN, 0.0, 0.0),
        ] {
            for eye_px in [0.0, 1.0, 400.0, f32::INFINITY] {
                let view = View {
                    eye_px,
                    at: [-50.0, 900.0],
                    shake: [1e9, f32::NAN],
                    light: [9.0, 0.0, -1.0],
                    exposure: 50.0,
                    ..posed(yaw, pitch, roll)
                };
                let picture = head.picture(&grey_room(), &view, 1);
                assert_eq!([picture.width, picture.height], FRAME_SIZE);
            }
        }
    }
}
