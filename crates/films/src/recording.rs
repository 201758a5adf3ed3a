//! An earlier session of a person: what a replay shows. Its steps and colours have their own order.

use crate::instruction::{Move, Shown};
use crate::person::Person;
use crate::random::Random;
use crate::view::View;

/// Colours of flashes in linear light.
pub(crate) const COLOURS: [[f32; 3]; 6] = [
    [1.0, 0.02, 0.02],
    [0.02, 1.0, 0.02],
    [0.02, 0.02, 1.0],
    [1.0, 1.0, 0.02],
    [1.0, 0.02, 1.0],
    [0.02, 1.0, 1.0],
];

/// What a session begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Light {
    /// Flashes in an order of its own.
    Flashes,
    /// A page that never flashes.
    Plain,
}

/// A recorded session: the view at each time.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    person: Person,
    pub(crate) length_ms: i64,
}

impl Recording {
    /// A whole challenge with turns in an order of its own.
    pub(crate) fn session(person: Person, light: Light, seed: u64) -> Self {
        let mut random = Random::new(seed, 0x4ec0);
        let mut moves = Move::ALL.to_vec();
        random.shuffle(&mut moves);
        moves.truncate(3 + random.below(2));
        Self::of_steps(person, light, &moves, 700, &mut random)
    }

    /// The same four turns again and again, without a pause.
    pub(crate) fn loop_of_turns(person: Person, seed: u64) -> Self {
        let mut random = Random::new(seed, 0x100b);
        let moves = [Move::TurnLeft, Move::TurnRight, Move::NodUp, Move::NodDown].repeat(3);
        Self::of_steps(person, Light::Plain, &moves, 0, &mut random)
    }

    /// One turn that begins at 0.
    pub(crate) fn turn(mut person: Person, movement: Move) -> Self {
        person.show(0, Shown::Do(movement), None);
        Self {
            person,
            length_ms: 6_000,
        }
    }

    fn of_steps(
        mut person: Person,
        light: Light,
        moves: &[Move],
        pause_ms: i64,
        random: &mut Random,
    ) -> Self {
        let mut at = 0;
        person.show(at, Shown::Look, None);
        at += 900;
        if light == Light::Flashes {
            for _ in 0..7 {
                person.show(at, Shown::Flash(COLOURS[random.below(COLOURS.len())]), None);
                at += 400;
            }
        }
        for movement in moves {
            person.show(at, Shown::Ready, None);
            at += pause_ms;
            person.show(at, Shown::Do(*movement), None);
            at += 1_700;
            person.show(at, Shown::Hold(*movement), None);
            at += 400;
            person.show(at, Shown::Back, None);
            at += 1_100;
        }
        person.show(at, Shown::Ready, None);
        Self {
            person,
            length_ms: at + 800,
        }
    }

    /// The view at a time of the recording; beyond its end it starts again.
    pub(crate) fn view(&self, at_ms: i64) -> View {
        self.person.view(at_ms.rem_euclid(self.length_ms))
    }
}
