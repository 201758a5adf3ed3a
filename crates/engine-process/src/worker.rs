//! The child's side: `bonafide engine-worker`.
//!
//! The order is decisive. The walls are built while the process has one thread; the runtime and the models are
//! loaded behind them, and the runtime starts threads; then the system calls are closed; then the first file
//! arrives.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use documents::{DocumentEngine, ReadHints};
use faces::{FaceEngine, FaceReading, FilmRequest, PictureKind, Track};
use imaging::{DecodeError, Decoded, Format, Limits, Picture, encode_jpeg, sniff};
use inference::Models;
use inference::own::{OwnModel, Selection};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Plan, Walls};

use crate::answers::{DocumentPicture, PictureInfo, SelfiePicture, ShownPicture, Stage, Timings};
use crate::film::{FRAME_SIDE, FilmDecodeError, Filmed, unpacked};
use crate::limits::MEMORY;
use crate::protocol::{self, Answer, FaceWish, Greeting, LoadedModels, ProtocolError, Request, Task};

/// What the kernel says about the processor.
const PROCESSOR: [&str; 2] = ["/proc/cpuinfo", "/sys/devices/system/cpu"];

/// The nice value of a thread that lets others go first (sched(7)). It gets a tenth of their share of a busy processor.
const ASIDE: i32 = 10;

/// What a worker is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of the models; searched for if it is not given.
    pub models: Option<PathBuf>,
    /// The custom models.
    pub selection: Selection,
    /// Work even if a required wall is missing.
    pub weak_sandbox: bool,
    /// Load the models with less priority than other workers.
    pub load_aside: bool,
}

/// Builds the walls, loads the models and answers requests from stdin until it ends.
///
/// # Errors
/// Fails if a pipe breaks or a request is malformed.
pub fn run(options: &Options) -> io::Result<()> {
    // When memory runs out, the kernel should end a worker before the server.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    let folder = inference::find_models_dir(options.models.as_deref());
    // The runtime needs libraries of the system, and looks at the processor's features.
    let mut readable = sandbox::library_folders();
    readable.extend(PROCESSOR.map(PathBuf::from));
    readable.extend(folder.clone());
    let mut walls = Walls::build(&Plan {
        memory: MEMORY,
        readable,
    });
    let load = || Engines::load(folder.as_deref(), &options.selection);
    let engines = if options.load_aside { aside(load)? } else { load() };
    end_with_parent()?;
    walls.close();
    let greeting = Greeting {
        models: match &engines {
            Ok(engines) => Ok(engines.models.clone()),
            Err(reason) => Err(reason.clone()),
        },
        walls,
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    protocol::write_greeting(&mut output, &greeting).map_err(io::Error::other)?;
    let open = greeting.walls.missing_required().next().is_some() && !options.weak_sandbox;
    match engines {
        Ok(engines) if !open => serve(&engines, &mut input, &mut output).map_err(io::Error::other),
        _ => Ok(()),
    }
}

/// Builds all walls and writes a [`Greeting`] without models to stdout, for checks of the machine.
///
/// # Errors
/// Fails if stdout is closed.
pub fn check_walls() -> io::Result<()> {
    let mut walls = Walls::build(&Plan {
        memory: MEMORY,
        readable: Vec::new(),
    });
    walls.close();
    let greeting = Greeting {
        walls,
        models: Err("no model was asked for".into()),
    };
    protocol::write_greeting(&mut io::stdout().lock(), &greeting).map_err(io::Error::other)
}

struct Engines {
    documents: DocumentEngine,
    faces: FaceEngine,
    models: LoadedModels,
}

impl Engines {
    fn load(folder: Option<&Path>, selection: &Selection) -> Result<Self, String> {
        let folder = folder.ok_or(
            "no model folder found in BONAFIDE_MODELS, next to the program or at ./models; `make models` downloads the models",
        )?;
        let load = || -> Result<Self, Box<dyn std::error::Error>> {
            let models = Arc::new(Models::open_with(folder, 1, selection)?);
            models.warm_up()?;
            let faces = FaceEngine::new(Arc::clone(&models));
            faces.check_own_models()?;
            Ok(Engines {
                models: LoadedModels {
                    face_model: faces.embedding_version().to_owned(),
                    versions: models.versions(),
                    own_bytes: models.own().map(OwnModel::bytes).sum(),
                },
                documents: DocumentEngine::new(models)?,
                faces,
            })
        };
        load().map_err(|error| format!("the models cannot be used: {error}"))
    }
}

/// Does work on a thread of lower priority, and waits for it. The calling thread retains its priority, because a thread
/// that lowered its own could not raise it again.
fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let low = || {
        // If this fails, the work slows others down, but is done.
        let _ = setpriority_process(Some(gettid()), ASIDE);
        work()
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("load".into())
            .spawn_scoped(scope, low)?;
        thread
            .join()
            .map_err(|_| io::Error::other("a thread of the engine worker panicked"))
    })
}

/// Ends this process when the parent's end of stdin is closed, also while it works.
fn end_with_parent() -> io::Result<()> {
    thread::Builder::new().name("parent".into()).spawn(|| {
        let stdin = io::stdin();
        loop {
            // Without requested events, only the end of the connection is reported.
            let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
            let ended = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            if poll(&mut watched, None) != Err(Errno::INTR) && watched[0].revents().intersects(ended) {
                // The runtime's destructors must not run while another thread is inside it.
                std::process::abort();
            }
        }
    })?;
    Ok(())
}

/// Answers requests until the input ends, or until a file left a thread or an engine in an unknown state.
fn serve(engines: &Engines, input: &mut impl Read, output: &mut impl Write) -> Result<(), ProtocolError> {
    while let Some((request, file)) = protocol::read_request(input)? {
        // A panic is a defect that the file triggers.
        let answer = catch_unwind(AssertUnwindSafe(|| engines.answer(&request, &file)))
            .unwrap_or(Ok(Answer::Undecodable(DecodeError::Crashed)))?;
        protocol::write_answer(output, &answer)?;
        if matches!(
            answer,
            Answer::Undecodable(DecodeError::Unfinished | DecodeError::Crashed)
        ) {
            break;
        }
    }
    Ok(())
}

impl Engines {
    fn answer(&self, request: &Request, file: &[u8]) -> io::Result<Answer> {
        let mut clock = StageClock::default();
        limit_processor(request.limits.processor)?;
        if let Task::Film {
            before,
            restart,
            embed,
            ..
        } = &request.task
        {
            let frames = match clock.time(Stage::Decode, || decode_frames(file, &request.limits)) {
                Ok(frames) => frames,
                Err((number, error)) => return Ok(undecodable_frame(number, before.is_some(), error)),
            };
            limit_processor(request.task.reading())?;
            let request = FilmRequest {
                restart: *restart,
                embed: *embed,
            };
            let answer = self.film(before.as_ref(), &frames, request, clock);
            return Ok(answer.unwrap_or_else(Answer::EngineFailed));
        }
        let decoded = match clock.time(Stage::Decode, || imaging::decode(file, &request.limits)) {
            Ok(decoded) => decoded,
            Err(error) => return Ok(Answer::Undecodable(error)),
        };
        limit_processor(request.task.reading())?;
        let answer = match &request.task {
            Task::Check => Ok(Answer::Checked(PictureInfo::of(&decoded))),
            Task::Show { max_side, quality } => Ok(shown(decoded, *max_side, *quality)),
            Task::Selfie => self.selfie(&decoded, clock),
            Task::Document { hints, faces } => self.document(&decoded, hints, *faces, clock),
            // Its file is no picture, and was answered above.
            Task::Film { .. } => Err(Stage::Decode),
        };
        Ok(answer.unwrap_or_else(Answer::EngineFailed))
    }

    fn selfie(&self, decoded: &Decoded, mut clock: StageClock) -> Result<Answer, Stage> {
        let picture = &decoded.picture;
        let faces = self.find_faces(picture, PictureKind::Selfie, &mut clock)?;
        let passive_cue = faces
            .main()
            .is_some()
            .then(|| clock.time(Stage::PassiveCue, || self.faces.passive_cue(picture, &faces)))
            .transpose()
            .map_err(|_| Stage::PassiveCue)?;
        Ok(Answer::Selfie(Box::new(SelfiePicture {
            info: PictureInfo::of(decoded),
            faces,
            passive_cue,
            timing_ms: clock.0,
        })))
    }

    fn document(
        &self,
        decoded: &Decoded,
        hints: &ReadHints,
        faces: FaceWish,
        mut clock: StageClock,
    ) -> Result<Answer, Stage> {
        let mut reading = clock
            .time(Stage::Read, || self.documents.read_file(decoded, hints))
            .map_err(|_| Stage::Read)?;
        reading.timing_ms.clear();
        let faces = match faces {
            FaceWish::Ignore => None,
            FaceWish::Find => Some(
                clock
                    .time(Stage::Faces, || {
                        self.faces.find_only(&decoded.picture, PictureKind::Document)
                    })
                    .map_err(|_| Stage::Faces)?,
            ),
            FaceWish::Embed => Some(self.find_faces(&decoded.picture, PictureKind::Document, &mut clock)?),
        };
        Ok(Answer::Document(Box::new(DocumentPicture {
            info: PictureInfo::of(decoded),
            reading,
            faces,
            timing_ms: clock.0,
        })))
    }

    fn film(
        &self,
        before: Option<&Track>,
        pictures: &[Picture],
        request: FilmRequest,
        mut clock: StageClock,
    ) -> Result<Answer, Stage> {
        let (before, frames) = match (before, pictures) {
            (Some(track), [earlier, frames @ ..]) => (Some((earlier, track)), frames),
            _ => (None, pictures),
        };
        let (frames, track) = clock
            .time(Stage::Faces, || self.faces.film(before, frames, request))
            .map_err(|_| Stage::Faces)?;
        Ok(Answer::Filmed(Box::new(Filmed {
            frames,
            track,
            timing_ms: clock.0,
        })))
    }

    fn find_faces(
        &self,
        picture: &Picture,
        kind: PictureKind,
        clock: &mut StageClock,
    ) -> Result<FaceReading, Stage> {
        clock
            .time(Stage::Faces, || self.faces.analyse(picture, kind))
            .map_err(|_| Stage::Faces)
    }
}

/// Decodes the frames of a film, all or none. The error has the index of the frame in the file.
fn decode_frames(file: &[u8], limits: &Limits) -> Result<Vec<Picture>, (usize, DecodeError)> {
    let frames = unpacked(file).ok_or((0, DecodeError::Damaged))?;
    let decoded = frames
        .into_iter()
        .enumerate()
        .map(|(number, jpeg)| decode_frame(jpeg, limits).map_err(|error| (number, error)));
    decoded.collect()
}

fn decode_frame(jpeg: &[u8], limits: &Limits) -> Result<Picture, DecodeError> {
    if sniff(jpeg).is_some_and(|format| format != Format::Jpeg) {
        return Err(DecodeError::Unsupported);
    }
    let picture = imaging::decode(jpeg, limits)?.picture;
    if picture.width.max(picture.height) > FRAME_SIDE {
        let Picture { width, height, .. } = picture;
        return Err(DecodeError::TooManyPixels { width, height });
    }
    Ok(picture)
}

/// `number` counts the frame before, if there is one.
fn undecodable_frame(number: usize, continues: bool, error: DecodeError) -> Answer {
    match error {
        // The worker has to be replaced, and the frames may be good.
        DecodeError::Unfinished | DecodeError::Crashed => Answer::Undecodable(error),
        error => Answer::FrameUndecodable(FilmDecodeError {
            frame: number
                .checked_sub(usize::from(continues))
                .and_then(|number| u32::try_from(number).ok()),
            error,
        }),
    }
}

fn shown(decoded: Decoded, max_side: u32, quality: u8) -> Answer {
    let info = PictureInfo::of(&decoded);
    match encode_jpeg(&decoded.picture.reduced(max_side), quality) {
        Some(jpeg) => Answer::Shown(ShownPicture { info, jpeg }),
        None => Answer::Undecodable(DecodeError::Damaged),
    }
}

/// Milliseconds per stage.
#[derive(Default)]
struct StageClock(Timings);

impl StageClock {
    fn time<T>(&mut self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = work();
        *self.0.entry(stage).or_default() += started.elapsed().as_secs_f64() * 1_000.0;
        done
    }
}

/// Allows this process `more` processor time from now on; the operating system ends it with SIGXCPU beyond
/// that. Unlike elapsed time, processor time does not grow while other processes run.
fn limit_processor(more: Duration) -> io::Result<()> {
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    let most = used + 1 + more.as_secs().max(1);
    let maximum = getrlimit(Resource::Cpu).maximum;
    Ok(setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(maximum.map_or(most, |maximum| most.min(maximum))),
            maximum,
        },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(width: u32, height: u32) -> Vec<u8> {
        encode_jpeg(&Picture::filled(width, height, [90; 3]), 80).unwrap()
    }

    #[test]
    fn a_frame_that_gives_no_picture_is_named() {
        let (good, wide) = (jpeg(36, 48), jpeg(FRAME_SIDE + 1, 9));
        let png = imaging::encode_png(&Picture::filled(4, 4, [0; 3])).unwrap();
        let limits = Limits::default();
        let cases: [(&[u8], DecodeError); 5] = [
            (b"", DecodeError::Empty),
            (b"nonsense", DecodeError::UnknownFormat),
            (&png, DecodeError::Unsupported),
            (&good[..good.len() / 2], DecodeError::Truncated),
            (
                &wide,
                DecodeError::TooManyPixels {
                    width: FRAME_SIDE + 1,
                    height: 9,
                },
            ),
        ];
        for (bad, error) in cases {
            let mut file = Vec::new();
            for frame in [good.as_slice(), bad, &good] {
                file.extend((frame.len() as u32).to_le_bytes());
                file.extend(frame);
            }
            let (number, found) = decode_frames(&file, &limits).unwrap_err();
            assert_eq!((number, &found), (1, &error));
            let Answer::FrameUndecodable(refused) = undecodable_frame(number, true, found) else {
                panic!("{error:?}");
            };
            assert_eq!(refused.frame, Some(0), "the frame before does not count");
        }
        let Answer::FrameUndecodable(refused) = undecodable_frame(0, true, DecodeError::Empty) else {
            panic!("a frame is refused");
        };
        assert_eq!(refused.frame, None);
    }
}
