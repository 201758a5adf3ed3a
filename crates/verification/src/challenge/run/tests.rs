//! A simulated person before the camera: what passes, and what ends how.

use super::*;
use crate::challenge::plan::tests::generator;
use crate::challenge::plan::{Colour, Random};

/// How somebody behaves, and what is before the camera.
#[derive(Clone)]
struct Behaviour {
    reaction_ms: i64,
    /// Degrees per frame.
    speed: f32,
    peak: f32,
    relief: f32,
    /// The share of this depth that turns to the picture's left show.
    relief_left: f32,
    wrong_way: bool,
    light: Light,
    distance: f32,
    /// From this angle away from rest (degrees), the camera sees another face.
    another_from: f32,
    /// First turns this far with the own face, returns, and turns with another one (degrees; 0: doesn't).
    feint: f32,
    /// After each move, the head comes to rest so much lower than at first (degrees).
    returns_lower: f32,
    faces: u32,
    change: f32,
    /// Frames per second.
    rate: i64,
    /// The time for measuring a body.
    lag_ms: i64,
    /// Loses the face in this frame.
    gone_at: Option<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Light {
    Screen,
    None,
    Another,
}

const HONEST: Behaviour = Behaviour {
    reaction_ms: 500,
    speed: 5.0,
    peak: 25.0,
    relief: 0.12,
    relief_left: 1.0,
    wrong_way: false,
    light: Light::Screen,
    distance: 0.5,
    another_from: 90.0,
    feint: 0.0,
    returns_lower: 0.0,
    faces: 1,
    change: 1.0,
    rate: 12,
    lag_ms: 30,
    gone_at: None,
};

struct Person {
    behaviour: Behaviour,
    yaw: f32,
    pitch: f32,
    target: (f32, f32),
    /// What is to be done, and when.
    pending: Option<(i64, (f32, f32))>,
    /// The move after a feint, and whether another head is before the camera.
    after_feint: Option<(f32, f32)>,
    is_another: bool,
    seen: u16,
    /// Where the head rests now, up and down.
    rests: f32,
    /// Where the head was in the frame from which its points are followed, to the side.
    reference: f32,
}

impl Person {
    fn look(&mut self, instruction: Instruction, now: i64) {
        if instruction.number == self.seen {
            return;
        }
        self.seen = instruction.number;
        let sign = if self.behaviour.wrong_way { -1.0 } else { 1.0 };
        let target = match instruction.shown {
            Shown::Do(movement) if movement.is_turn() => {
                (sign * movement.sign() * self.behaviour.peak, self.rests)
            }
            Shown::Do(movement) => (
                0.0,
                self.rests + sign * movement.sign() * self.behaviour.peak * 0.6,
            ),
            Shown::Hold(_) => return,
            _ => (0.0, self.rests),
        };
        if matches!(instruction.shown, Shown::Do(_)) {
            self.rests = self.behaviour.returns_lower;
        }
        self.is_another = false;
        if self.behaviour.feint > 0.0 && matches!(instruction.shown, Shown::Do(_)) {
            let share = self.behaviour.feint / self.behaviour.peak;
            self.after_feint = Some(target);
            self.pending = Some((
                now + self.behaviour.reaction_ms,
                (target.0 * share, target.1 * share),
            ));
            return;
        }
        self.pending = Some((now + self.behaviour.reaction_ms, target));
    }

    fn step(&mut self, now: i64) {
        if let Some((at, target)) = self.pending
            && now >= at
        {
            self.target = target;
            self.pending = None;
        }
        if (self.yaw, self.pitch) == self.target && self.after_feint.is_some() && self.pending.is_none() {
            if self.target == (0.0, 0.0) {
                self.target = self.after_feint.take().unwrap_or_default();
                self.is_another = true;
            } else {
                self.target = (0.0, 0.0);
            }
        }
        let speed = self.behaviour.speed;
        self.yaw += (self.target.0 - self.yaw).clamp(-speed, speed);
        self.pitch += (self.target.1 - self.pitch).clamp(-speed, speed);
    }

    fn frame(&self, number: u32, now: i64, instruction: Instruction) -> Measured {
        let lit = match (self.behaviour.light, instruction.shown) {
            (Light::Screen, Shown::Flash(colour)) => colour.light(),
            (Light::Another, _) => Colour::ALL[(number / 3 * 7 % 6) as usize].light(),
            _ => [0.0; 3],
        };
        let skin = [0.5, 0.35, 0.28];
        let gone = self.behaviour.gone_at == Some(number);
        let face = MeasuredFace {
            yaw: self.yaw + 2.0,
            pitch: self.pitch - 3.0,
            roll: 0.0,
            eye_share: 0.25,
            centre: [0.5, 0.5],
            part_inside: 1.0,
            tracked: Some(0.9),
            relief: Some([
                self.behaviour.relief
                    * if self.yaw < 0.0 {
                        self.behaviour.relief_left
                    } else {
                        1.0
                    }
                    * (self.yaw - self.reference)
                    / 25.0,
                0.0,
            ]),
            rgb: [0, 1, 2].map(|c| skin[c] * (1.0 + 0.2 * lit[c])),
            usable: true,
            too_dark: false,
            distance: None,
        };
        Measured {
            number,
            at_ms: now,
            instruction: instruction.number,
            hash: [number as u8; 32],
            faces: if gone { 0 } else { self.behaviour.faces },
            face: (!gone).then_some(face),
            change: Some(self.behaviour.change),
            background: [0.4, 0.4, 0.4],
        }
    }
}

/// Plays a run in bodies of two frames, and returns its end and its length in ms.
fn play(kind: Kind, seed: u64, behaviour: &Behaviour) -> (Option<End>, Run) {
    let mut random = generator(seed);
    let mut now = 1_000;
    let mut run = Run::new(Plan::random(kind, &mut random), now);
    let mut person = Person {
        behaviour: behaviour.clone(),
        yaw: 0.0,
        pitch: 0.0,
        target: (0.0, 0.0),
        pending: None,
        after_feint: None,
        is_another: false,
        seen: 0,
        rests: 0.0,
        reference: 0.0,
    };
    let mut number = 1;
    let mut compared = false;
    while run.end().is_none() && now < 200_000 {
        let shown = run.instruction();
        let restarts = run.request().restart;
        let mut body = Vec::new();
        for place in 0..2 {
            now += 1_000 / behaviour.rate;
            person.look(shown, now);
            person.step(now);
            if restarts && place == 0 {
                person.reference = person.yaw;
            }
            body.push(person.frame(number, now, shown));
            number += 1;
        }
        let wish = run.request().embed;
        for (place, frame) in body.iter_mut().enumerate() {
            let Some(face) = frame.face.as_mut().filter(|_| wish >> place & 1 == 1) else {
                continue;
            };
            let turned = (face.yaw - 2.0).abs().max((face.pitch + 3.0).abs() * 2.0);
            face.distance = Some(match compared {
                true if person.is_another || turned >= behaviour.another_from => 1.6,
                true => behaviour.distance,
                false => 0.0,
            });
            compared = true;
        }
        // The state goes through the database between two bodies.
        run = serde_json::from_value(serde_json::to_value(&run).unwrap()).unwrap();
        run.take(&body, now + behaviour.lag_ms);
    }
    (run.end(), run)
}

#[test]
fn a_head_that_comes_to_rest_elsewhere_after_a_move_passes() {
    for seed in 0..100 {
        for returns_lower in [-6.5, -5.0, 5.0, 6.5] {
            let (end, run) = play(
                Kind::Turns,
                seed,
                &Behaviour {
                    returns_lower,
                    ..HONEST
                },
            );
            assert_eq!(
                end,
                Some(End::Passed),
                "{seed} {returns_lower}: {:?}",
                run.report()
            );
            assert!(run.report().repeats <= 1, "{seed} {returns_lower}");
        }
    }
}

#[test]
fn a_person_who_follows_passes_within_seconds() {
    let mut took = Vec::new();
    for seed in 0..200 {
        let mut random = generator(seed + 7);
        let person = Behaviour {
            reaction_ms: 300 + i64::from(random.below(600)),
            peak: 21.0 + random.below(12) as f32,
            speed: 3.0 + random.below(4) as f32,
            ..HONEST
        };
        let (end, run) = play(Kind::Turns, seed, &person);
        assert_eq!(end, Some(End::Passed), "{seed}: {:?}", run.report());
        assert!(!run.selfies().is_empty());
        assert!(run.report().moves.len() >= 3, "{:?}", run.report());
        assert_eq!(run.progress(), 1.0);
        took.push(run.report().took_ms);
    }
    took.sort_unstable();
    assert!(
        took[100] <= 12_000,
        "median {} ms, longest {} ms",
        took[100],
        took[199]
    );
    assert!(took[199] <= 20_000, "longest {} ms", took[199]);
}

/// A busy server or phone measures fewer frames a second.
#[test]
fn a_person_whose_frames_are_few_shows_the_colours_long_enough() {
    for seed in 0..200 {
        for rate in [8, 10] {
            let (end, run) = play(Kind::Turns, seed, &Behaviour { rate, ..HONEST });
            assert_eq!(end, Some(End::Passed), "{seed}, {rate}: {:?}", run.report());
        }
    }
}

/// What counts is the depth since the head looked straight ahead, not since it was on its way there.
#[test]
fn two_turns_to_one_side_show_the_same_depth() {
    let mut twice = 0;
    for seed in 0..100 {
        let speed = 3.0 + (seed % 5) as f32;
        let (_, run) = play(Kind::Turns, seed, &Behaviour { speed, ..HONEST });
        for pair in run.report().moves.windows(2) {
            if pair[0].movement.is_turn() && pair[0].movement == pair[1].movement {
                let (first, second) = (pair[0].relief.unwrap(), pair[1].relief.unwrap());
                assert!(second >= first - 0.02, "{seed}: {:?}", run.report());
                twice += 1;
            }
        }
    }
    assert!(twice > 10, "{twice}");
}

#[test]
fn another_face_that_only_turns_never_passes() {
    for seed in 0..60 {
        for speed in [3.0, 5.0, 7.0] {
            for another_from in [12.0, 14.0, 16.0, 17.9] {
                let swap = Behaviour {
                    another_from,
                    speed,
                    ..HONEST
                };
                let (end, _) = play(Kind::Turns, seed, &swap);
                let expected = Some(End::Failed(Failure::AnotherFace));
                assert_eq!(end, expected, "{seed}, {speed}, {another_from}");
            }
            let feint = Behaviour {
                feint: 15.0,
                speed,
                ..HONEST
            };
            let (end, _) = play(Kind::Turns, seed, &feint);
            assert!(matches!(end, Some(End::Failed(_))), "{seed}, {speed}: {end:?}");
        }
    }
}

#[test]
fn a_state_of_a_server_before_comparisons_had_angles_is_read() {
    let run = Run::new(Plan::random(Kind::Turns, &mut generator(3)), 0);
    let mut state = serde_json::to_value(&run).unwrap();
    let attempted = state["attempted"].as_object_mut().unwrap();
    assert!(attempted.remove("compared_along").is_some());
    assert_eq!(serde_json::from_value::<Run>(state).unwrap(), run);
}

#[test]
fn what_is_not_a_person_who_follows_fails_by_its_reason() {
    use Failure::*;
    let cases: [(&str, Behaviour, End); 12] = [
        (
            "too slow",
            Behaviour {
                reaction_ms: 4_000,
                ..HONEST
            },
            End::Failed(TooSlow),
        ),
        (
            "anticipates",
            Behaviour {
                reaction_ms: 20,
                ..HONEST
            },
            End::Failed(TooEarly),
        ),
        (
            "the wrong way",
            Behaviour {
                wrong_way: true,
                ..HONEST
            },
            End::Failed(WrongWay),
        ),
        (
            "jumps",
            Behaviour {
                speed: 30.0,
                ..HONEST
            },
            End::Failed(TooFast),
        ),
        (
            "a photograph that is turned",
            Behaviour {
                relief: 0.018,
                ..HONEST
            },
            End::Failed(Flat),
        ),
        (
            "a face with little depth",
            Behaviour {
                relief: 0.033,
                ..HONEST
            },
            End::Review(Doubt::Shallow),
        ),
        (
            "another face",
            Behaviour {
                distance: 1.5,
                ..HONEST
            },
            End::Failed(AnotherFace),
        ),
        (
            "a room in the sun",
            Behaviour {
                light: Light::None,
                ..HONEST
            },
            End::Review(Doubt::NoScreenLight),
        ),
        (
            "a film that stands still",
            Behaviour {
                change: 0.0,
                ..HONEST
            },
            End::Failed(Interrupted),
        ),
        (
            "too few frames",
            Behaviour { rate: 2, ..HONEST },
            End::Void(VoidCause::SlowConnection),
        ),
        (
            "somewhat too few frames",
            Behaviour { rate: 6, ..HONEST },
            End::Void(VoidCause::SlowConnection),
        ),
        (
            "a slow server",
            Behaviour {
                lag_ms: 501,
                ..HONEST
            },
            End::Void(VoidCause::Busy),
        ),
    ];
    for (what, behaviour, expected) in cases {
        for seed in 0..20 {
            let (end, run) = play(Kind::Turns, seed, &behaviour);
            assert_eq!(end, Some(expected), "{what}, {seed}: {:?}", run.report());
        }
    }
}

/// The points of a photograph can go astray in one turn, but hardly in every one.
#[test]
fn depth_in_one_direction_only_is_left_to_a_person() {
    let behaviour = Behaviour {
        relief: 0.056,
        relief_left: 0.45,
        ..HONEST
    };
    let mut both = 0;
    for seed in 0..20 {
        let (end, run) = play(Kind::Turns, seed, &behaviour);
        let turned = |wanted| {
            run.report()
                .moves
                .iter()
                .any(|figures| figures.movement == wanted)
        };
        if turned(Move::TurnLeft) && turned(Move::TurnRight) {
            assert_eq!(
                end,
                Some(End::Review(Doubt::Shallow)),
                "{seed}: {:?}",
                run.report()
            );
            both += 1;
        }
    }
    assert!(both > 4, "{both}");
}

/// By chance, another code can resemble the one that was shown. Then a person decides.
#[test]
fn another_light_never_passes() {
    let person = Behaviour {
        light: Light::Another,
        ..HONEST
    };
    let ends = (0..100).map(|seed| play(Kind::Turns, seed, &person).0);
    let failed = ends.inspect(|end| assert_ne!(*end, Some(End::Passed)));
    let failed = failed
        .filter(|end| *end == Some(End::Failed(Failure::WrongLight)))
        .count();
    assert!(failed >= 80, "{failed} of 100");
}

#[test]
fn a_lost_face_repeats_a_move_and_costs_nothing() {
    for frame in [20, 45, 60, 75] {
        let (end, run) = play(
            Kind::Turns,
            3,
            &Behaviour {
                gone_at: Some(frame),
                ..HONEST
            },
        );
        assert_eq!(end, Some(End::Passed), "frame {frame}: {:?}", run.report());
        assert!((1..=2).contains(&run.report().repeats), "frame {frame}");
    }
}

#[test]
fn the_last_failed_try_is_left_to_a_person() {
    let person = Behaviour {
        wrong_way: true,
        ..HONEST
    };
    let (_, mut run) = play(Kind::Turns, 1, &person);
    run.leave_to_review(Doubt::NoTriesLeft);
    let end = Some(End::Review(Doubt::NoTriesLeft));
    assert_eq!((run.end(), run.report().end), (end, end));
    assert_eq!(run.report().last_failure, Some(Failure::WrongWay));
}

#[test]
fn two_faces_never_begin() {
    let (end, run) = play(Kind::Turns, 1, &Behaviour { faces: 2, ..HONEST });
    assert_eq!(end, Some(End::Void(VoidCause::BrokenOff)));
    assert_eq!(run.instruction().hint, Some(Hint::OneFace));
}

#[test]
fn a_short_film_passes_unless_nothing_moves_or_a_person_must_look() {
    for (kind, change, expected) in [
        (Kind::Burst, 0.8, End::Passed),
        (Kind::Burst, 0.0, End::Review(Doubt::Still)),
        (Kind::Assisted, 0.8, End::Review(Doubt::Assisted)),
    ] {
        let (end, run) = play(kind, 1, &Behaviour { change, ..HONEST });
        assert_eq!(end, Some(expected), "{kind:?}");
        assert!(!run.selfies().is_empty());
    }
}

#[test]
fn a_break_repeats_the_step_with_another_move_or_code() {
    let mut run = Run::new(Plan::random(Kind::Turns, &mut generator(5)), 0);
    run.rest = Some(Rest { yaw: 0.0, pitch: 0.0 });
    run.enter(Stage::Flash(3), 0);
    let code = run.plan.colours.clone();
    run.resume(100);
    assert_eq!(run.stage, Stage::Flash(0));
    assert_ne!(run.plan.colours, code);
    run.enter(Stage::Turn(1), 200);
    let turns = |run: &Run| {
        run.plan
            .moves
            .iter()
            .filter(|planned| planned.movement.is_turn())
            .count()
    };
    let before = turns(&run);
    run.resume(300);
    assert_eq!(run.stage, Stage::Back(1));
    assert!(turns(&run) >= before.min(2));
    for at in 0..10 {
        run.resume(400 + at);
    }
    assert_eq!(
        run.end(),
        Some(End::Void(VoidCause::SlowConnection)),
        "not for ever"
    );
}
