//! How a person behaves before the page: reaction times, turns, corrections, trembling, and where the head is.
//!
//! It knows nothing of pixels. The numbers are those of ordinary adults: reactions of 0.35–1.1 s, turns with peaks of
//! 40–70° a second, whose speed rises and falls smoothly (minimum jerk).

use faces::Pose;

use crate::instruction::{Hint, Move, Shown};
use crate::random::Random;
use crate::view::{FRAME_SIZE, View};

/// The share of turns that go to the wrong side at first.
const WRONG_SIDE: f32 = 0.01;
/// The peak of a minimum-jerk movement in comparison with its mean speed.
const PEAK_BY_MEAN: f32 = 1.875;
/// The light of a page that is not flashing, in comparison with a flash: a white page with text.
const PAGE: [f32; 3] = [0.75, 0.75, 0.75];
/// Time from a change on the screen to the first frame that shows it, in milliseconds.
const CAMERA_LAG_MS: i64 = 60;

/// Yaw, pitch, roll in degrees; x, y in eye distances from the usual place; the logarithm of the size.
type State = [f32; 6];

/// A movement from one state to another.
#[derive(Debug, Clone)]
struct Movement {
    start_ms: i64,
    length_ms: i64,
    from: State,
    to: State,
}

/// A person before the page.
#[derive(Debug, Clone)]
pub struct Person {
    random: Random,
    /// Seconds to react, at least and at most.
    reaction: [f32; 2],
    /// The usual turn and nod in degrees.
    turn: f32,
    nod: f32,
    /// Peak speed of movements, degrees a second.
    speed: f32,
    /// The share of turns with a stop on the way.
    hesitates: f32,
    /// The share of turns that are too short or too far at first, and that go to the wrong side.
    careless: f32,
    confused: f32,
    /// The resting pose.
    rest: [f32; 3],
    /// Turning the head also tilts it by this share.
    coupling: f32,
    eye_px: f32,
    at: [f32; 2],
    /// The screen's light in comparison with the room's.
    screen: f32,
    exposure: f32,
    /// Amplitudes (degrees, pixels), and phases of trembling.
    tremor: [f32; 2],
    phases: [f32; 12],
    movements: Vec<Movement>,
    lights: Vec<(i64, [f32; 3])>,
    doing: Option<Move>,
}

impl Person {
    /// A person in a room.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, 0x9e25);
        let quickest = random.between(0.35, 0.6);
        let start = [
            random.normal() * 1.5,
            random.normal() * 1.5,
            0.0,
            random.between(-0.25, 0.25),
            random.between(-0.25, 0.25),
            random.between(-0.15, 0.1),
        ];
        let careless = if random.chance(0.25) { 0.35 } else { 0.06 };
        let hesitates = if random.chance(0.2) { 0.4 } else { 0.05 };
        let screen = if random.chance(0.3) {
            random.between(0.2, 0.35)
        } else {
            random.between(0.05, 0.2)
        };
        Self {
            reaction: [quickest, quickest + random.between(0.15, 0.5)],
            turn: random.between(22.0, 29.0),
            nod: random.between(20.0, 26.0),
            speed: random.between(42.0, 66.0),
            hesitates,
            careless,
            confused: WRONG_SIDE,
            rest: [
                random.normal() * 1.5,
                random.normal() * 3.0,
                random.normal() * 2.0,
            ],
            coupling: random.between(-0.12, 0.12),
            eye_px: random.between(74.0, 104.0),
            at: [
                FRAME_SIZE[0] as f32 * random.between(0.46, 0.54),
                FRAME_SIZE[1] as f32 * random.between(0.42, 0.5),
            ],
            screen,
            exposure: random.between(0.8, 1.15),
            tremor: [random.between(0.1, 0.5), random.between(0.2, 1.4)],
            phases: std::array::from_fn(|_| random.between(0.0, std::f32::consts::TAU)),
            movements: vec![Movement {
                start_ms: i64::MIN / 4,
                length_ms: 1,
                from: start,
                to: start,
            }],
            lights: vec![(i64::MIN / 4, PAGE)],
            doing: None,
            random,
        }
    }

    /// The same person, who makes no mistakes: the best takes of a film.
    #[must_use]
    pub fn careful(mut self) -> Self {
        (self.careless, self.confused, self.hesitates) = (0.0, 0.0, 0.0);
        self
    }

    /// The page shows an instruction from `at_ms` on. Times must not go back.
    pub fn show(&mut self, at_ms: i64, shown: Shown, hint: Option<Hint>) {
        let colour = if let Shown::Flash(colour) = shown {
            colour
        } else {
            PAGE
        };
        if self.lights.last().is_none_or(|(_, last)| *last != colour) {
            self.lights.push((at_ms, colour));
        }
        match (shown, hint) {
            (Shown::Do(movement), None) if self.doing != Some(movement) => self.turn(at_ms, movement),
            (Shown::Do(_) | Shown::Hold(_), Some(hint)) => self.correct(at_ms, hint),
            (Shown::Do(_), None) => {}
            (Shown::Hold(_), None) => self.movements.retain(|movement| movement.start_ms <= at_ms),
            (_, Some(hint @ (Hint::Closer | Hint::Farther | Hint::Centre))) => self.correct(at_ms, hint),
            _ => self.straight(at_ms),
        }
    }

    /// Where the head is, and its light, in the frame taken at `at_ms`.
    pub fn view(&self, at_ms: i64) -> View {
        let seen = at_ms - CAMERA_LAG_MS;
        let state = self.state(seen);
        let t = seen as f32 / 1_000.0;
        let wave = |at: usize, hertz: f32| (t * hertz * std::f32::consts::TAU + self.phases[at]).sin();
        let tremble =
            |at: usize| 0.6 * wave(at, 0.37 + 0.11 * at as f32) + 0.4 * wave(at + 1, 1.3 + 0.2 * at as f32);
        let [degrees, pixels] = self.tremor;
        let pose = Pose {
            yaw: self.rest[0] + state[0] + degrees * tremble(0),
            pitch: self.rest[1] + state[1] + degrees * tremble(2),
            roll: self.rest[2] + state[2] + 0.6 * degrees * tremble(4),
        };
        let size = state[5].exp() * (1.0 + 0.006 * wave(10, 0.31));
        let colour = self
            .lights
            .iter()
            .rev()
            .find(|(from, _)| *from <= seen)
            .map_or(PAGE, |light| light.1);
        View {
            pose,
            eye_px: self.eye_px * size,
            at: [
                self.at[0] + self.eye_px * (state[3] + 0.02 * wave(11, 0.23)),
                self.at[1] + self.eye_px * (state[4] + 0.02 * wave(9, 0.19)),
            ],
            shake: [
                pixels * (tremble(6) + 0.25 * wave(7, 5.7)),
                pixels * (tremble(8) + 0.25 * wave(6, 6.3)),
            ],
            light: colour.map(|part| part * self.screen),
            exposure: self.exposure / (1.0 + 0.5 * self.screen),
        }
    }

    /// The pose in the frame taken at `at_ms`, without trembling and relative to the resting pose: yaw and pitch in
    /// degrees.
    pub(crate) fn turned(&self, at_ms: i64) -> [f32; 2] {
        let state = self.state(at_ms - CAMERA_LAG_MS);
        [state[0], state[1]]
    }

    fn state(&self, at_ms: i64) -> State {
        let begun = self
            .movements
            .iter()
            .rev()
            .find(|movement| movement.start_ms <= at_ms);
        let Some(movement) = begun.or(self.movements.first()) else {
            return [0.0; 6];
        };
        let share = ((at_ms - movement.start_ms) as f32 / movement.length_ms as f32).clamp(0.0, 1.0);
        // Minimum jerk.
        let eased = share.powi(3) * (10.0 - 15.0 * share + 6.0 * share * share);
        std::array::from_fn(|i| movement.from[i] + (movement.to[i] - movement.from[i]) * eased)
    }

    /// Plans a movement that begins at `start_ms`, or when the one in progress ends. Movements that have not begun are
    /// given up.
    fn go(&mut self, now_ms: i64, start_ms: i64, to: State) -> i64 {
        self.movements.retain(|movement| movement.start_ms <= now_ms);
        let busy = self
            .movements
            .last()
            .map_or(0, |movement| movement.start_ms + movement.length_ms);
        self.append(start_ms.max(busy), to)
    }

    /// Adds a movement after all others; returns when it ends.
    fn append(&mut self, start_ms: i64, to: State) -> i64 {
        let from = self.movements.last().map_or([0.0; 6], |movement| movement.to);
        let degrees = (to[0] - from[0])
            .hypot(to[1] - from[1])
            .max((to[2] - from[2]).abs());
        let moved = (to[3] - from[3])
            .abs()
            .max((to[4] - from[4]).abs())
            .max((to[5] - from[5]).abs());
        let seconds = (PEAK_BY_MEAN * degrees / self.speed).max(moved * 2.0).max(0.25);
        let length_ms = (seconds * 1_000.0) as i64;
        self.movements.push(Movement {
            start_ms,
            length_ms,
            from,
            to,
        });
        start_ms + length_ms
    }

    fn react(&mut self) -> i64 {
        let [low, high] = self.reaction;
        (self.random.between(low, high) * 1_000.0) as i64
    }

    /// The state after the movements that have begun by `now_ms`.
    fn goal(&self, now_ms: i64) -> State {
        let begun = self
            .movements
            .iter()
            .rev()
            .find(|movement| movement.start_ms <= now_ms);
        begun.map_or([0.0; 6], |movement| movement.to)
    }

    fn turn(&mut self, now_ms: i64, wanted: Move) {
        self.doing = Some(wanted);
        let is_wrong = self.random.chance(self.confused);
        let movement = if is_wrong { wanted.opposite() } else { wanted };
        let [yaw, pitch] = movement.direction();
        let usual = if pitch == 0.0 { self.turn } else { self.nod };
        let mut degrees = (usual + 2.0 * self.random.normal()).clamp(18.0, 34.0);
        if self.random.chance(self.careless) {
            degrees = if self.random.chance(0.6) {
                self.random.between(11.0, 17.0)
            } else {
                self.random.between(35.0, 40.0)
            };
        }
        let mut to = self.goal(now_ms);
        to[0] = yaw * degrees + self.random.normal();
        to[1] = pitch * degrees + self.coupling * degrees * yaw.abs();
        to[2] = self.coupling * degrees;
        let start = now_ms + self.react();
        let mut end = if self.random.chance(self.hesitates) {
            let from = self.goal(now_ms);
            let share = self.random.between(0.3, 0.6);
            let part = std::array::from_fn(|i| from[i] + (to[i] - from[i]) * share);
            let stop = self.go(now_ms, start, part);
            let pause = self.random.between(100.0, 400.0) as i64;
            self.append(stop + pause, to)
        } else {
            self.go(now_ms, start, to)
        };
        if is_wrong {
            (to[0], to[1]) = (-to[0], -to[1]);
            let pause = self.random.between(400.0, 900.0) as i64;
            end = self.append(end + pause, to);
        }
        // While the page goes on asking, the person goes a little further.
        let [yaw, pitch] = wanted.direction();
        for _ in 0..2 {
            let further = self.random.between(4.0, 7.0);
            (to[0], to[1]) = (to[0] + yaw * further, to[1] + pitch * further);
            let pause = self.random.between(700.0, 1_300.0) as i64;
            end = self.append(end + pause, to);
        }
    }

    fn correct(&mut self, now_ms: i64, hint: Hint) {
        let mut to = self.goal(now_ms);
        if hint == Hint::HoldStill || hint == Hint::Slower {
            self.movements.retain(|movement| movement.start_ms <= now_ms);
        }
        let by = self.random.between(5.0, 9.0);
        let [yaw, pitch] = self.doing.map_or([0.0; 2], Move::direction);
        match hint {
            Hint::More => (to[0], to[1]) = (to[0] + yaw * by, to[1] + pitch * by),
            Hint::Less => (to[0], to[1]) = (to[0] - yaw * by, to[1] - pitch * by),
            Hint::Closer => to[5] += 0.22,
            Hint::Farther => to[5] -= 0.2,
            Hint::Centre => (to[3], to[4]) = (0.0, 0.0),
            Hint::LookStraight => (to[0], to[1], to[2]) = (0.0, 0.0, 0.0),
            Hint::Slower => self.speed = (self.speed * 0.75).max(20.0),
            Hint::HoldStill => self.tremor = self.tremor.map(|amplitude| amplitude * 0.6),
        }
        let start = now_ms + self.react();
        self.go(now_ms, start, to);
    }

    fn straight(&mut self, now_ms: i64) {
        self.doing = None;
        let goal = self.movements.last().map_or([0.0; 6], |movement| movement.to);
        if goal[0].hypot(goal[1]) < 4.0 && goal[2].abs() < 4.0 {
            return;
        }
        let mut to = goal;
        to[0] = self.random.normal();
        to[1] = self.random.normal();
        to[2] = 0.5 * self.random.normal();
        // The way back is expected, so it begins sooner and is quicker.
        let start = now_ms + self.react() * 3 / 5;
        let usual = self.speed;
        self.speed *= 1.25;
        self.go(now_ms, start, to);
        self.speed = usual;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_to_the_right_side_in_human_time_and_never_jump() {
        let mut late = 0;
        for seed in 0..60 {
            let mut person = Person::new(seed);
            person.show(0, Shown::Look, None);
            let mut at = 1_000;
            for movement in Move::ALL {
                person.show(at, Shown::Do(movement), None);
                let before = person.turned(at);
                let [yaw, pitch] = movement.direction();
                let along = |ms: i64| person.turned(ms)[0] * yaw + person.turned(ms)[1] * pitch;
                for ms in (at..at + 3_500).step_by(80) {
                    let (a, b) = (person.turned(ms), person.turned(ms + 80));
                    assert!((a[0] - b[0]).hypot(a[1] - b[1]) < 8.0, "seed {seed}");
                }
                let reacted = (0..3_500).find(|ms| {
                    let now = person.turned(at + ms);
                    (now[0] - before[0]).hypot(now[1] - before[1]) > 2.0
                });
                assert!((350..1_700).contains(&reacted.unwrap()), "{reacted:?}");
                late += u32::from(along(at + 3_500) < 10.0);
                person.show(at + 3_500, Shown::Back, None);
                at += 6_000;
                let rest = person.turned(at);
                assert!(rest[0].hypot(rest[1]) < 5.0, "seed {seed}: {rest:?}");
            }
        }
        assert!(late < 4, "{late} of 240 turns went wrong");
    }

    #[test]
    fn the_screen_lights_the_face_while_it_flashes() {
        let mut person = Person::new(3);
        person.show(0, Shown::Flash([1.0, 0.0, 0.0]), None);
        person.show(400, Shown::Flash([0.0, 0.0, 1.0]), None);
        let (red, blue) = (person.view(300).light, person.view(700).light);
        assert!(red[0] > 0.0 && red[2] == 0.0 && blue[2] > 0.0 && blue[0] == 0.0);
        assert_eq!(person.view(430).light, red, "the camera is a little late");
    }

    #[test]
    fn hints_are_followed() {
        let mut person = Person::new(8);
        person.show(0, Shown::Do(Move::TurnLeft), None);
        let before = person.turned(3_000)[0];
        person.show(3_000, Shown::Do(Move::TurnLeft), Some(Hint::More));
        assert!(person.turned(5_000)[0] > before + 4.0);
        let size = person.view(5_000).eye_px;
        person.show(5_000, Shown::Look, Some(Hint::Closer));
        assert!(person.view(8_000).eye_px > size * 1.15);
    }
}
