//! Films before the camera: a living person, or an attack. A film reacts to what the page shows, if its kind can.
//!
//! Frames are a function of the seed, of what was shown when, and of the time; nothing else.

use faces::Pose;
use imaging::Picture;

use crate::attack::Attack;
use crate::canvas::{Camera, Canvas, Rgb, linear};
use crate::geometry::Vector;
use crate::head::Head;
use crate::instruction::{Hint, Move, Shown};
use crate::person::Person;
use crate::photograph::Photograph;
use crate::random::Random;
use crate::recording::{Light, Recording};
use crate::room::Room;
use crate::sheet::{Bend, Cut, Screen, draw_print, draw_screen};
use crate::view::{FRAME_SIZE, View};

/// The same hint is followed again after this time.
const HINT_AGAIN_MS: i64 = 1_500;
/// Sheets turn about their middle; masks about the neck of the person who wears them.
const SHEET_PIVOT: Vector = [0.0, 0.4, 0.0];
const NECK: Vector = [0.0, 0.8, 1.25];
/// The most that a print is turned.
const MAX_TILT: f32 = 58.0;

/// Whose heads a film shows.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The person whose identity is claimed.
    pub person: Head,
    /// Another person: the one who attacks.
    pub other: Head,
}

/// A film before the camera.
#[derive(Debug, Clone)]
pub struct Film {
    cast: Cast,
    /// Who acts: the living person, or the one who holds the picture or plays the film.
    actor: Person,
    source: Source,
    room: Room,
    camera: Camera,
    seed: u64,
    shown: Shown,
    shown_at_ms: i64,
    /// The last change of what is shown, with its hint.
    last: Option<(i64, Shown, Option<Hint>)>,
    /// Instructions to move so far.
    steps: u32,
}

#[derive(Debug, Clone)]
enum Source {
    Live,
    /// Another person from this step on.
    Swapped {
        from_step: u32,
    },
    Print {
        photograph: Photograph,
        bend: Bend,
        handling: Handling,
    },
    Mask {
        bend: Bend,
    },
    Recorded {
        recording: Recording,
        cut: Edit,
    },
    Clips {
        clips: Clips,
        elsewhere: Option<(Room, Camera)>,
    },
    ScreenRecorded {
        recording: Recording,
        screen: Screen,
    },
    ScreenClips {
        clips: Clips,
        screen: Screen,
    },
}

/// What is done with a print.
#[derive(Debug, Clone, Copy)]
enum Handling {
    Still,
    Shaken,
    Moved { reach: f32 },
    Turned { by: f32 },
    Tilted { axis: f32, hertz: f32 },
}

/// How a recording's time follows the session's.
#[derive(Debug, Clone)]
enum Edit {
    None,
    /// Frames of 80 ms in this order.
    Shuffled(Vec<u16>),
    /// Stops at this time.
    Frozen(i64),
    /// At these times this much is left out, in milliseconds.
    Dropped(Vec<[i64; 2]>),
}

impl Edit {
    fn time(&self, at_ms: i64) -> i64 {
        match self {
            Self::None => at_ms,
            Self::Shuffled(order) => {
                let place = (at_ms / 80).rem_euclid(order.len().max(1) as i64) as usize;
                order.get(place).map_or(0, |frame| i64::from(*frame) * 80)
            }
            Self::Frozen(from) => at_ms.min(*from),
            Self::Dropped(gaps) => {
                at_ms
                    + gaps
                        .iter()
                        .filter(|gap| gap[0] <= at_ms)
                        .map(|gap| gap[1])
                        .sum::<i64>()
            }
        }
    }
}

/// Parts of a long recording, chosen by what the page shows.
#[derive(Debug, Clone)]
struct Clips {
    frontal: Recording,
    turns: [Recording; 4],
}

impl Clips {
    fn new(filmed: &Person, turning: &Person, light: Light, seed: u64) -> Self {
        Self {
            frontal: Recording::session(filmed.clone(), light, seed),
            turns: Move::ALL.map(|movement| Recording::turn(turning.clone(), movement)),
        }
    }

    /// The view, and whether it is from the recording of turns.
    fn view(&self, shown: Shown, since_ms: i64, at_ms: i64) -> (View, bool) {
        match shown {
            Shown::Do(movement) | Shown::Hold(movement) => {
                let place = Move::ALL.iter().position(|other| *other == movement).unwrap_or(0);
                // Beyond its end the turn stays where it is.
                (self.turns[place].view(since_ms.min(5_500)), true)
            }
            Shown::Flash(_) => (self.frontal.view(900 + since_ms.rem_euclid(2_700)), false),
            _ => (self.frontal.view(at_ms.rem_euclid(850)), false),
        }
    }
}

impl Film {
    /// A film of a living person who does as the page says.
    pub fn live(head: &Head, room: Room, seed: u64) -> Self {
        let cast = Cast {
            person: head.clone(),
            other: head.clone(),
        };
        Self::new(cast, Source::Live, room, seed)
    }

    /// An attack. The seed varies it: sizes, angles, radii, and the behaviour of the person who attacks.
    pub fn attack(kind: Attack, cast: &Cast, room: Room, seed: u64) -> Self {
        let mut random = Random::new(seed, 0xa77a);
        let photograph = (*cast.person.photograph).clone();
        let print = |bend, handling| Source::Print {
            photograph: photograph.clone(),
            bend,
            handling,
        };
        let filmed = Person::new(seed ^ 0xf11).careful();
        let session = |light| Recording::session(filmed.clone(), light, seed);
        let light = if random.chance(0.5) {
            Light::Flashes
        } else {
            Light::Plain
        };
        let source = match kind {
            Attack::StillPhoto => print(Bend::Flat, Handling::Still),
            Attack::ShakenPhoto => print(Bend::Flat, Handling::Shaken),
            Attack::MovedPhoto => print(
                Bend::Flat,
                Handling::Moved {
                    reach: random.between(0.3, 1.0),
                },
            ),
            Attack::TurnedPhoto => print(
                Bend::Flat,
                Handling::Turned {
                    by: random.between(0.9, 2.4),
                },
            ),
            Attack::TiltedPhoto => print(
                Bend::Flat,
                Handling::Tilted {
                    axis: random.between(0.0, std::f32::consts::TAU),
                    hertz: random.between(0.12, 0.3),
                },
            ),
            Attack::BentPhoto => {
                let radius = random.between(1.2, 5.0);
                let bend = if random.chance(0.8) {
                    Bend::Upright(radius)
                } else {
                    Bend::Level(radius)
                };
                print(
                    bend,
                    Handling::Turned {
                        by: random.between(0.8, 1.8),
                    },
                )
            }
            Attack::CutOut => Source::Mask {
                bend: if random.chance(0.5) {
                    Bend::Flat
                } else {
                    Bend::Upright(random.between(1.2, 2.5))
                },
            },
            Attack::Portrait => Source::Print {
                photograph: portrait(&photograph, &mut random),
                bend: Bend::Flat,
                handling: Handling::Turned {
                    by: random.between(0.0, 1.5),
                },
            },
            Attack::ReplayedSession => Source::Recorded {
                recording: session(Light::Flashes),
                cut: Edit::None,
            },
            Attack::ShuffledFrames => {
                let recording = session(light);
                let mut order: Vec<u16> = (0..(recording.length_ms / 80).clamp(1, 500) as u16).collect();
                random.shuffle(&mut order);
                Source::Recorded {
                    recording,
                    cut: Edit::Shuffled(order),
                }
            }
            Attack::SplicedSessions => Source::Clips {
                clips: Clips::new(&filmed, &Person::new(seed ^ 0xf12).careful(), light, seed),
                elsewhere: Some((
                    Room::drawn(FRAME_SIZE[0], FRAME_SIZE[1], seed ^ 0xf13),
                    Camera::new(seed ^ 0xf13),
                )),
            },
            Attack::SplicedClips => Source::Clips {
                clips: Clips::new(&filmed, &filmed, light, seed),
                elsewhere: None,
            },
            Attack::FaceSwap => Source::Swapped {
                from_step: 1 + random.below(3) as u32,
            },
            Attack::ScreenReplay => Source::ScreenRecorded {
                recording: session(light),
                screen: screen(&mut random),
            },
            Attack::ScreenClips => Source::ScreenClips {
                clips: Clips::new(&filmed, &filmed, light, seed),
                screen: screen(&mut random),
            },
            Attack::LoopedFilm => Source::Recorded {
                recording: Recording::loop_of_turns(filmed.clone(), seed),
                cut: Edit::None,
            },
            Attack::DroppedFrames => {
                let gaps = (0..12).map(|_| {
                    [
                        random.between(0.0, 15_000.0) as i64,
                        random.between(200.0, 1_200.0) as i64,
                    ]
                });
                Source::Recorded {
                    cut: Edit::Dropped(gaps.collect()),
                    recording: session(light),
                }
            }
            Attack::FrozenFilm => Source::Recorded {
                recording: session(light),
                cut: Edit::Frozen(random.between(300.0, 9_000.0) as i64),
            },
        };
        Self::new(cast.clone(), source, room, seed)
    }

    /// The film as a program feeds it to the page that draws its frames: without a sensor's noise.
    #[must_use]
    pub fn without_noise(mut self) -> Self {
        self.camera = self.camera.without_noise();
        self
    }

    fn new(cast: Cast, source: Source, room: Room, seed: u64) -> Self {
        Self {
            cast,
            actor: Person::new(seed),
            source,
            room,
            camera: Camera::new(seed),
            seed,
            shown: Shown::Look,
            shown_at_ms: 0,
            last: None,
            steps: 0,
        }
    }

    /// The page shows this from `at_ms` on. Times must not go back. The same again changes nothing, except that a hint
    /// is followed again after 1.5 s.
    pub fn show(&mut self, at_ms: i64, shown: Shown, hint: Option<Hint>) {
        if let Some((since, last, last_hint)) = self.last
            && last == shown
            && last_hint == hint
            && (hint.is_none() || at_ms - since < HINT_AGAIN_MS)
        {
            return;
        }
        if self.last.is_none_or(|(_, last, _)| last != shown) {
            let goes_on = matches!((self.shown, shown), (Shown::Do(a), Shown::Hold(b)) if a == b)
                || matches!((self.shown, shown), (Shown::Flash(_), Shown::Flash(_)));
            if !goes_on {
                self.shown_at_ms = at_ms;
            }
            self.steps += u32::from(matches!(shown, Shown::Do(_)) && !goes_on);
        }
        self.shown = shown;
        self.last = Some((at_ms, shown, hint));
        self.actor.show(at_ms, shown, hint);
    }

    /// The frame taken at `at_ms`, of [`FRAME_SIZE`].
    pub fn frame(&self, at_ms: i64) -> Picture {
        let mut canvas = Canvas::new(FRAME_SIZE[0] as usize, FRAME_SIZE[1] as usize);
        let view = self.actor.view(at_ms);
        let mut camera = &self.camera;
        let (mut exposure, mut grain) = (view.exposure, at_ms);
        match &self.source {
            Source::Live => self.draw_head(&mut canvas, &self.room, &self.cast.person, &view),
            Source::Swapped { from_step } => {
                let head = if self.steps >= *from_step {
                    &self.cast.other
                } else {
                    &self.cast.person
                };
                self.draw_head(&mut canvas, &self.room, head, &view);
            }
            Source::Print {
                photograph,
                bend,
                handling,
            } => {
                let held = self.held(*handling, view, at_ms);
                self.room.draw(&mut canvas, held.shake, held.light);
                draw_print(
                    &mut canvas,
                    &held,
                    photograph,
                    (*bend, Cut::Whole),
                    SHEET_PIVOT,
                    0.0,
                );
            }
            Source::Mask { bend } => {
                self.draw_head(&mut canvas, &self.room, &self.cast.other, &view);
                let mask = &self.cast.person.photograph;
                draw_print(&mut canvas, &view, mask, (*bend, Cut::MaskWithHoles), NECK, 0.75);
            }
            Source::Recorded { recording, cut } => {
                grain = cut.time(at_ms);
                let view = recording.view(grain);
                exposure = view.exposure;
                self.draw_head(&mut canvas, &self.room, &self.cast.person, &view);
            }
            Source::Clips { clips, elsewhere } => {
                let (view, is_turn) = clips.view(self.shown, at_ms - self.shown_at_ms, at_ms);
                exposure = view.exposure;
                let mut room = &self.room;
                if let (true, Some((other_room, other_camera))) = (is_turn, elsewhere) {
                    (room, camera) = (other_room, other_camera);
                }
                self.draw_head(&mut canvas, room, &self.cast.person, &view);
            }
            Source::ScreenRecorded { recording, screen } => {
                self.draw_screen(&mut canvas, &recording.view(at_ms), view, *screen, at_ms);
            }
            Source::ScreenClips { clips, screen } => {
                let (shown, _) = clips.view(self.shown, at_ms - self.shown_at_ms, at_ms);
                self.draw_screen(&mut canvas, &shown, view, *screen, at_ms);
            }
        }
        camera.expose(&canvas, exposure, self.seed ^ grain as u64)
    }

    fn draw_head(&self, canvas: &mut Canvas, room: &Room, head: &Head, view: &View) {
        room.draw(canvas, view.shake, view.light);
        head.draw(canvas, view);
    }

    fn draw_screen(&self, canvas: &mut Canvas, recorded: &View, view: View, screen: Screen, at_ms: i64) {
        let mut film = Canvas::new(canvas.width, canvas.height);
        self.draw_head(&mut film, &self.room, &self.cast.person, recorded);
        let t = at_ms as f32 / 1_000.0;
        let pose = Pose {
            yaw: self.angle(1, 14.0) + 0.6 * (t * 2.1).sin(),
            pitch: self.angle(2, 10.0) + 0.6 * (t * 1.7).cos(),
            roll: self.angle(3, 4.0),
        };
        let held = View {
            pose,
            eye_px: 88.0,
            at: [canvas.width as f32 / 2.0, canvas.height as f32 / 2.0],
            ..view
        };
        self.room.draw(canvas, held.shake, held.light);
        draw_screen(canvas, &held, &film.into_texture(), screen);
    }

    /// A fixed angle of this film.
    fn angle(&self, purpose: u64, most: f32) -> f32 {
        Random::new(self.seed, 0xa901 + purpose).between(-most, most)
    }

    /// Where a print is at a time, held by the actor.
    fn held(&self, handling: Handling, view: View, at_ms: i64) -> View {
        let t = at_ms as f32 / 1_000.0;
        let [yaw, pitch] = self.actor.turned(at_ms);
        let tilt = |degrees: f32| degrees.clamp(-MAX_TILT, MAX_TILT);
        let mut held = View {
            pose: Pose {
                yaw: self.angle(4, 4.0),
                pitch: self.angle(5, 4.0),
                roll: self.angle(6, 4.0),
            },
            ..view
        };
        match handling {
            Handling::Still => {
                held.shake = [0.0; 2];
                held.at = self.actor.view(0).at;
                held.eye_px = self.actor.view(0).eye_px;
            }
            Handling::Shaken => {
                let wave = |hertz: f32, phase: f32| (t * hertz * std::f32::consts::TAU + phase).sin();
                held.at[0] += 14.0 * wave(1.7, 0.3) + 5.0 * wave(3.9, 1.0);
                held.at[1] += 11.0 * wave(2.1, 2.0) + 4.0 * wave(4.3, 0.1);
                held.pose.yaw += 8.0 * wave(1.1, 0.7);
                held.pose.pitch += 7.0 * wave(0.9, 1.9);
                held.pose.roll += 6.0 * wave(1.3, 2.5);
            }
            Handling::Moved { reach } => {
                held.at[0] += reach * held.eye_px * yaw / 26.0;
                held.at[1] += reach * held.eye_px * pitch / 26.0;
            }
            Handling::Turned { by } => {
                held.pose.yaw = tilt(held.pose.yaw + yaw * by);
                held.pose.pitch = tilt(held.pose.pitch + pitch * by);
            }
            Handling::Tilted { axis, hertz } => {
                let degrees = MAX_TILT * (t * hertz * std::f32::consts::TAU).sin();
                held.pose.yaw = degrees * axis.cos();
                held.pose.pitch = degrees * axis.sin();
            }
        }
        held
    }
}

fn screen(random: &mut Random) -> Screen {
    let brightness = random.between(0.7, 1.3);
    Screen {
        brightness: [
            brightness * 0.95,
            brightness,
            brightness * random.between(1.0, 1.15),
        ],
        reflection: random.between(0.01, 0.06),
        size: random.between(0.9, 1.25),
    }
}

/// A document's portrait of the person: few pixels, less contrast, and lines of a security pattern.
fn portrait(photograph: &Photograph, random: &mut Random) -> Photograph {
    let (pitch, slope) = (random.between(0.07, 0.14), random.between(-0.6, 0.6));
    let ink: Rgb = linear([120, 140, 170]);
    photograph
        .coarser(random.between(24.0, 45.0))
        .changed(|[x, y], colour| {
            let grey = colour.iter().sum::<f32>() / 3.0;
            let line =
                ((y + slope * x + 0.06 * (x * 9.0).sin()) / pitch * std::f32::consts::TAU).sin() > 0.75;
            std::array::from_fn(|i| {
                let faded = 0.08 + 0.75 * (0.4 * grey + 0.6 * colour[i]);
                if line { 0.75 * faded + 0.25 * ink[i] } else { faded }
            })
        })
}
