//! What a challenge asks for: its kind, its moves and the colours of its flashes. Everything is drawn at random
//! when the challenge starts, so that a film recorded before cannot fit.

use serde::{Deserialize, Serialize};

/// A source of uniform random numbers. Closures `FnMut(u32) -> u32` are one.
pub trait Random {
    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: u32) -> u32;
}

impl<F: FnMut(u32) -> u32> Random for F {
    fn below(&mut self, limit: u32) -> u32 {
        self(limit)
    }
}

/// The kinds of challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Flashes, turns and nods: for a `liveness` Flow.
    Turns,
    /// A short film without moves: for a `live selfie` Flow.
    Burst,
    /// A short film for people who cannot turn or see. It always ends with a person's review.
    Assisted,
}

impl Kind {
    /// `turns`, `burst` or `assisted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Turns => "turns",
            Kind::Burst => "burst",
            Kind::Assisted => "assisted",
        }
    }
}

/// A movement of the head. Left and right are the person's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// A turn to the person's left.
    TurnLeft,
    /// A turn to the person's right.
    TurnRight,
    /// A nod upwards.
    NodUp,
    /// A nod downwards.
    NodDown,
}

impl Move {
    /// Every move.
    pub const ALL: [Move; 4] = [Move::TurnLeft, Move::TurnRight, Move::NodUp, Move::NodDown];

    /// `turn_left`, `turn_right`, `nod_up` or `nod_down`.
    pub fn as_str(self) -> &'static str {
        match self {
            Move::TurnLeft => "turn_left",
            Move::TurnRight => "turn_right",
            Move::NodUp => "nod_up",
            Move::NodDown => "nod_down",
        }
    }

    /// Whether the head turns to a side.
    pub fn is_turn(self) -> bool {
        matches!(self, Move::TurnLeft | Move::TurnRight)
    }

    /// The sign of the angle that the move makes: yaw grows towards the picture's right, pitch downwards.
    pub(super) fn sign(self) -> f32 {
        match self {
            Move::TurnLeft | Move::NodDown => 1.0,
            Move::TurnRight | Move::NodUp => -1.0,
        }
    }
}

/// A colour that the whole screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// A soft red.
    Red,
    /// A soft green.
    Green,
    /// A soft blue.
    Blue,
    /// Yellow.
    Yellow,
    /// Magenta.
    Magenta,
    /// Cyan.
    Cyan,
}

impl Colour {
    /// Every colour.
    pub const ALL: [Colour; 6] = [
        Colour::Red,
        Colour::Green,
        Colour::Blue,
        Colour::Yellow,
        Colour::Magenta,
        Colour::Cyan,
    ];

    /// The colour on the screen as CSS. No channel is off, so that no change is one between saturated red and
    /// another colour (WCAG 2.3.1).
    pub fn css(self) -> &'static str {
        match self {
            Colour::Red => "#ff5050",
            Colour::Green => "#50ff50",
            Colour::Blue => "#5050ff",
            Colour::Yellow => "#ffff50",
            Colour::Magenta => "#ff50ff",
            Colour::Cyan => "#50ffff",
        }
    }

    /// The light of the screen: red, green and blue in linear light, 0–1.
    pub fn light(self) -> [f32; 3] {
        // 0x50 of sRGB is 0.08 in linear light.
        const DIM: f32 = 0.08;
        match self {
            Colour::Red => [1.0, DIM, DIM],
            Colour::Green => [DIM, 1.0, DIM],
            Colour::Blue => [DIM, DIM, 1.0],
            Colour::Yellow => [1.0, 1.0, DIM],
            Colour::Magenta => [1.0, DIM, 1.0],
            Colour::Cyan => [DIM, 1.0, 1.0],
        }
    }
}

/// One move of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// The movement.
    pub movement: Move,
    /// How long the person looks straight ahead before it is asked for, in ms.
    pub delay_ms: i64,
    /// How long it is held, in ms.
    pub hold_ms: i64,
}

/// What a challenge asks for, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The kind.
    pub kind: Kind,
    /// The moves. At least two are turns to a side, which prove depth.
    pub moves: Vec<PlannedMove>,
    /// The colours of the flashes. No two that follow each other are the same.
    pub colours: Vec<Colour>,
    /// Moves that replace interrupted ones, so that no move is asked for twice.
    pub(super) spare_moves: Vec<PlannedMove>,
    /// Colours that replace interrupted ones.
    pub(super) spare_colours: Vec<Vec<Colour>>,
}

/// Moves and codes in reserve.
const SPARE_MOVES: usize = 8;
const SPARE_CODES: usize = 6;
/// One plan in this many has four moves; the others have three.
const FOUR_MOVES_ONE_IN: u32 = 8;
/// The random delay before a move's instruction is shorter than this (ms).
const DELAY_MS: u32 = 110;
/// How long a move is held: at least the first value, plus a random time below the second (ms).
const HOLD_MS: (i64, u32) = (80, 110);

impl Plan {
    /// Draws a plan.
    pub fn random(kind: Kind, random: &mut impl Random) -> Plan {
        if kind != Kind::Turns {
            return Plan {
                kind,
                moves: Vec::new(),
                colours: Vec::new(),
                spare_moves: Vec::new(),
                spare_colours: Vec::new(),
            };
        }
        let count = 3 + usize::from(random.below(FOUR_MOVES_ONE_IN) == 0);
        let moves = loop {
            let moves: Vec<PlannedMove> = (0..count).map(|_| planned(random)).collect();
            if moves.iter().filter(|planned| planned.movement.is_turn()).count() >= 2 {
                break moves;
            }
        };
        Plan {
            kind,
            moves,
            colours: code(random),
            spare_moves: (0..SPARE_MOVES).map(|_| planned(random)).collect(),
            spare_colours: (0..SPARE_CODES).map(|_| code(random)).collect(),
        }
    }
}

fn planned(random: &mut impl Random) -> PlannedMove {
    PlannedMove {
        movement: Move::ALL[random.below(4) as usize],
        delay_ms: i64::from(random.below(DELAY_MS)),
        hold_ms: HOLD_MS.0 + i64::from(random.below(HOLD_MS.1)),
    }
}

/// Six to eight colours, equally often: of shorter codes, more are alike.
fn code(random: &mut impl Random) -> Vec<Colour> {
    let count = 6 + random.below(3) as usize;
    let mut colours: Vec<Colour> = Vec::with_capacity(count);
    while colours.len() < count {
        let colour = Colour::ALL[random.below(6) as usize];
        if colours.last() != Some(&colour) {
            colours.push(colour);
        }
    }
    colours
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A small generator for the tests of challenges (PCG).
    pub(in crate::challenge) fn generator(seed: u64) -> impl FnMut(u32) -> u32 {
        let mut state = seed;
        move |limit| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(limit)) as u32
        }
    }

    #[test]
    fn a_plan_has_three_or_four_moves_two_turns_and_six_to_eight_colours() {
        let mut random = generator(1);
        let mut counts = [0; 5];
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let plan = Plan::random(Kind::Turns, &mut random);
            counts[plan.moves.len()] += 1;
            let turns = plan.moves.iter().filter(|planned| planned.movement.is_turn());
            assert!(turns.count() >= 2, "{plan:?}");
            for code in plan.spare_colours.iter().chain([&plan.colours]) {
                assert!((6..=8).contains(&code.len()));
                assert!(code.windows(2).all(|pair| pair[0] != pair[1]), "{code:?}");
            }
            seen.insert(format!(
                "{:?}",
                plan.moves.iter().map(|m| m.movement).collect::<Vec<_>>()
            ));
        }
        assert_eq!(counts[3] + counts[4], 1_000);
        assert!(counts[3] > 800 && counts[4] > 80, "{counts:?}");
        assert!(seen.len() > 100, "{} sequences", seen.len());
    }

    #[test]
    fn only_turns_have_moves_and_flashes() {
        for kind in [Kind::Burst, Kind::Assisted] {
            let plan = Plan::random(kind, &mut generator(2));
            assert!(plan.moves.is_empty() && plan.colours.is_empty());
        }
    }
}
