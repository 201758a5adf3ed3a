//! The parent's side: starts engine workers, gives each file to one, and replaces those that end.
//!
//! A file that crashes its worker or uses up the processor time is tried again in a fresh worker, and refused if
//! it fails there too. These limits do not depend on how busy the machine is. A worker that is
//! killed from outside or does not answer in time proves nothing about the file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use documents::ReadHints;
use imaging::{DecodeError, Limits};
use inference::own::{OwnFolder, Selection};

use crate::answers::{DocumentPicture, PictureInfo, SelfiePicture, ShownPicture};
use crate::child::{CallerGone, Start, StartError, Wear, Worker, WorkerError, never};
use crate::error::EngineError;
use crate::film::{FRAME_SIDE, FilmDecodeError, FilmTask, Filmed};
use crate::limits::{MAX_SIDE, PATIENCE};
use crate::protocol::{Answer, FaceWish, Request, Task};
use crate::retry::{End, Next, decide_retry, fault_of_exit};
use crate::settings::{Engines, Settings};

const LOADING: &str = "the models are still being loaded";
/// The shortest time between two starts in the background for [`EngineWorkers::get`].
const RETRY: Duration = Duration::from_secs(5);

/// What the server knows of its engines.
#[derive(Debug, Default)]
struct EngineStatus {
    /// The result of the last start; `None` before the first one has ended.
    last: Option<Result<Engines, String>>,
    /// When the last start in the background began.
    tried: Option<Instant>,
    /// Workers that start, wait or work.
    workers: usize,
    /// The custom models of the first worker that started, with the version that it named. All later ones get the same,
    /// because attempts of one process must not be decided by different models.
    selection: Option<(Selection, BTreeMap<String, String>)>,
}

/// The engine workers of a process. Clones share them.
#[derive(Clone)]
pub struct EngineWorkers(Arc<Shared>);

struct Shared {
    settings: Settings,
    idle: Mutex<Vec<PooledWorker>>,
    status: Mutex<EngineStatus>,
    changed: Condvar,
    /// Whether a worn worker's successor is loading the models.
    is_loading: AtomicBool,
}

/// A worker with its slot in [`EngineStatus::workers`].
struct PooledWorker {
    worker: Worker,
    /// Set when a successor starts, and true once the successor can work.
    replaced: Option<Arc<AtomicBool>>,
    _slot: WorkerSlot,
}

impl PooledWorker {
    fn is_replaced(&self) -> bool {
        self.replaced
            .as_ref()
            .is_some_and(|replaced| replaced.load(Ordering::Acquire))
    }
}

/// One of the workers. Dropping it frees the slot.
struct WorkerSlot(Weak<Shared>);

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.status().workers -= 1;
        }
    }
}

impl EngineWorkers {
    /// Starts the first worker in the background, unless workers start on demand.
    pub fn start(settings: Settings) -> Self {
        let on_demand = settings.on_demand;
        let workers = EngineWorkers(Arc::new(Shared {
            settings,
            idle: Mutex::default(),
            status: Mutex::default(),
            changed: Condvar::new(),
            is_loading: AtomicBool::new(false),
        }));
        if !on_demand {
            workers.try_start();
        }
        workers
    }

    /// How many workers run or start now.
    pub fn count(&self) -> usize {
        self.0.status().workers
    }

    /// The engines, or why they cannot be used; `None` if they start on demand and nothing needed them yet.
    pub fn known(&self) -> Result<Option<Engines>, String> {
        let status = self.0.status();
        match (&status.last, status.tried) {
            (Some(last), _) => last.clone().map(Some),
            (None, Some(_)) => Err(LOADING.into()),
            (None, None) => Ok(None),
        }
    }

    /// The engines, or why they cannot be used. If no worker has started successfully, this starts one in the
    /// background, at most every five seconds.
    pub fn get(&self) -> Result<Engines, String> {
        let known = self.known();
        if !matches!(known, Ok(Some(_))) {
            self.try_start();
        }
        known?.ok_or_else(|| LOADING.into())
    }

    /// Waits until a worker has loaded the models or failed. Blocks.
    pub fn wait(&self) -> Result<Engines, String> {
        self.try_start();
        let status = self.0.status();
        let status = self
            .0
            .changed
            .wait_while(status, |status| status.last.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        status.last.clone().unwrap_or_else(|| Err(LOADING.into()))
    }

    /// Starts a worker in the background if none has started and none was tried lately.
    fn try_start(&self) {
        {
            let mut status = self.0.status();
            let lately = status.tried.is_some_and(|tried| tried.elapsed() < RETRY);
            if lately || matches!(status.last, Some(Ok(_))) {
                return;
            }
            status.tried = Some(Instant::now());
        }
        self.start_one_more();
    }

    /// Finds the faces of a selfie and measures the passive cue. Blocks.
    ///
    /// # Errors
    /// The outer error is no fault of the file, the inner one is.
    pub fn selfie(
        &self,
        file: &[u8],
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<SelfiePicture, DecodeError>, EngineError> {
        match self.answer(Task::Selfie, 0, file, gone)? {
            Ok(Answer::Selfie(picture)) => Ok(Ok(*picture)),
            Ok(_) => Err(EngineError::Lost),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Reads one side of a document, and does with its faces what `faces` says. Of a PDF it reads the first page from
    /// `from_page` on that is not blank. Blocks.
    ///
    /// # Errors
    /// The outer error is no fault of the file, the inner one is.
    pub fn document(
        &self,
        file: &[u8],
        from_page: u32,
        hints: ReadHints,
        faces: FaceWish,
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<DocumentPicture, DecodeError>, EngineError> {
        match self.answer(Task::Document { hints, faces }, from_page, file, gone)? {
            Ok(Answer::Document(picture)) => Ok(Ok(*picture)),
            Ok(_) => Err(EngineError::Lost),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Encodes a picture again, upright, with neither side longer than `max_side`. Blocks.
    ///
    /// # Errors
    /// The outer error is no fault of the file, the inner one is.
    pub fn show(
        &self,
        file: &[u8],
        from_page: u32,
        max_side: u32,
        quality: u8,
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<ShownPicture, DecodeError>, EngineError> {
        match self.answer(Task::Show { max_side, quality }, from_page, file, gone)? {
            Ok(Answer::Shown(picture)) => Ok(Ok(picture)),
            Ok(_) => Err(EngineError::Lost),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Decodes a file and describes it. Blocks.
    ///
    /// # Errors
    /// The outer error is no fault of the file, the inner one is.
    pub fn check(
        &self,
        file: &[u8],
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<PictureInfo, DecodeError>, EngineError> {
        match self.answer(Task::Check, 0, file, gone)? {
            Ok(Answer::Checked(info)) => Ok(Ok(info)),
            Ok(_) => Err(EngineError::Lost),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Measures the frames of a film. Blocks.
    ///
    /// # Errors
    /// The outer error is no fault of the frames, the inner one is.
    pub fn film(
        &self,
        task: FilmTask<'_>,
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<Filmed, FilmDecodeError>, EngineError> {
        let file = match task.packed() {
            Ok(file) => file,
            Err(refused) => return Ok(Err(refused)),
        };
        let request = Request {
            task: Task::Film {
                before: task.before.map(|(_, track)| track.clone()),
                frames: u32::try_from(task.frames.len()).unwrap_or(u32::MAX),
                restart: task.restart,
                embed: task.embed,
            },
            limits: Limits {
                max_pixels: u64::from(FRAME_SIDE).pow(2),
                max_side: None,
                ..self.limits(0)
            },
        };
        match self.answer_request(&request, &file, gone)? {
            Ok(Answer::Filmed(filmed)) => Ok(Ok(*filmed)),
            Ok(Answer::FrameUndecodable(refused)) => Ok(Err(refused)),
            Ok(_) => Err(EngineError::Lost),
            Err(error) => Ok(Err(FilmDecodeError { frame: None, error })),
        }
    }

    fn limits(&self, from_page: u32) -> Limits {
        let decoding = self.0.settings.decoding;
        Limits {
            from_page,
            max_side: Some(MAX_SIDE),
            processor: decoding,
            time: decoding * PATIENCE,
            ..Limits::default()
        }
    }

    fn answer(
        &self,
        task: Task,
        from_page: u32,
        file: &[u8],
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<Answer, DecodeError>, EngineError> {
        let limits = self.limits(from_page);
        self.answer_request(&Request { task, limits }, file, gone)
    }

    fn answer_request(
        &self,
        request: &Request,
        file: &[u8],
        gone: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Result<Answer, DecodeError>, EngineError> {
        let gone: CallerGone = Arc::new(gone);
        let mut earlier = None;
        let mut idle = self.0.idle().pop();
        loop {
            let was_idle = idle.is_some();
            let mut pooled = match idle.take() {
                Some(pooled) => pooled,
                None => self.start_worker(Start::AtOnce, &gone)?,
            };
            let end = match pooled.worker.answer(request, file, &gone) {
                Ok(Answer::Undecodable(DecodeError::Unfinished)) => End::Unknown,
                Ok(Answer::Undecodable(DecodeError::Crashed)) => End::Fault(DecodeError::Crashed),
                Ok(Answer::Undecodable(error)) => {
                    self.return_worker(pooled);
                    return Ok(Err(error));
                }
                // Its memory may be exhausted, so the next file gets another worker.
                Ok(Answer::EngineFailed(stage)) => {
                    drop(pooled);
                    self.start_one_more();
                    return Err(EngineError::Failed(stage));
                }
                Ok(answer) => {
                    self.return_worker(pooled);
                    return Ok(Ok(answer));
                }
                Err(WorkerError::Abandoned) => End::Abandoned,
                Err(WorkerError::Ended(status)) => {
                    status.and_then(fault_of_exit).map_or(End::Unknown, End::Fault)
                }
            };
            drop(pooled);
            if !matches!(end, End::Abandoned) {
                metrics::counter!("bonafide_engine_worker_crashes_total").increment(1);
            }
            match decide_retry(end, earlier.take(), was_idle) {
                Next::Again(fault) => earlier = fault,
                Next::Refuse(fault) => {
                    self.start_one_more();
                    return Ok(Err(fault));
                }
                Next::Give(error) => {
                    self.start_one_more();
                    return Err(error);
                }
            }
        }
    }

    /// Puts a worker back for the next file, or replaces it if it is worn.
    fn return_worker(&self, mut pooled: PooledWorker) {
        match pooled.worker.wear() {
            Wear::Spent => {
                drop(pooled);
                return self.start_one_more();
            }
            Wear::Much if pooled.replaced.is_none() => pooled.replaced = self.start_successor(),
            Wear::Much | Wear::Little => {}
        }
        let mut idle = self.0.idle();
        // The thread of a successor removes its predecessor under the same lock.
        if !pooled.is_replaced() && idle.len() < self.0.settings.most {
            idle.push(pooled);
        }
    }

    /// Starts a worker in the background that replaces a worn one. The flag becomes true once it can work. `None` while
    /// another successor is loading the models, because each takes memory and processor time.
    fn start_successor(&self) -> Option<Arc<AtomicBool>> {
        if self.0.is_loading.swap(true, Ordering::AcqRel) {
            return None;
        }
        let replaced = Arc::new(AtomicBool::new(false));
        let (workers, done) = (self.clone(), Arc::clone(&replaced));
        let begun = self.in_background(move || {
            let started = workers.start_worker(Start::Aside, &never());
            workers.0.is_loading.store(false, Ordering::Release);
            if let Ok(pooled) = started {
                let mut idle = workers.0.idle();
                done.store(true, Ordering::Release);
                let worn = match idle.iter_mut().find(|worn| worn.is_replaced()) {
                    Some(worn) => Some(std::mem::replace(worn, pooled)),
                    // The worn worker is busy, and ends after its current work.
                    None => {
                        idle.push(pooled);
                        None
                    }
                };
                drop(idle);
                // Dropping it waits for the end of its process.
                drop(worn);
            }
        });
        if !begun {
            self.0.is_loading.store(false, Ordering::Release);
        }
        begun.then_some(replaced)
    }

    /// Starts a worker and waits for it.
    fn start_worker(&self, start: Start, gone: &CallerGone) -> Result<PooledWorker, EngineError> {
        self.0.status().workers += 1;
        let slot = WorkerSlot(Arc::downgrade(&self.0));
        if gone() {
            return Err(EngineError::Abandoned);
        }
        metrics::counter!("bonafide_engine_worker_starts_total").increment(1);
        let started = self.selection().and_then(|selection| {
            let (worker, engines) = Worker::start(&self.0.settings, &selection, start, gone)?;
            Ok((worker, engines, selection))
        });
        let mut status = self.0.status();
        let worker = match started {
            Err(StartError::Abandoned) => return Err(EngineError::Abandoned),
            Err(StartError::Broken(reason)) => {
                tracing::error!("an engine worker cannot start: {reason}");
                // One worker that does not start says nothing about those that run.
                if status.workers == 1 || !matches!(status.last, Some(Ok(_))) {
                    status.last = Some(Err(reason.clone()));
                }
                Err(EngineError::Unavailable(reason))
            }
            Ok((worker, engines, selection)) => {
                let own = engines.own();
                let (_, first) = status.selection.get_or_insert((selection, own.clone()));
                if *first == own {
                    status.last = Some(Ok(engines));
                    Ok(PooledWorker {
                        worker,
                        replaced: None,
                        _slot: slot,
                    })
                } else {
                    let reason = "a custom model changed while the server was running: restart the server";
                    tracing::error!("an engine worker cannot be used: {reason}");
                    status.last = Some(Err(reason.into()));
                    Err(EngineError::Unavailable(reason.into()))
                }
            }
        };
        drop(status);
        self.0.changed.notify_all();
        worker
    }

    /// The custom models that a worker gets: those of the workers before it, else those in use.
    fn selection(&self) -> Result<Selection, StartError> {
        if let Some((selection, _)) = &self.0.status().selection {
            return Ok(selection.clone());
        }
        let broken = |reason: String| StartError::Broken(format!("the models cannot be used: {reason}"));
        let Some(models) = inference::find_models_dir(self.0.settings.models.as_deref()) else {
            return Ok(Selection::default());
        };
        let selection = OwnFolder::of(&models)
            .selection()
            .map_err(|error| broken(error.to_string()))?;
        selection
            .require(&self.0.settings.required)
            .map_err(|error| broken(error.to_string()))?;
        Ok(selection)
    }

    /// Starts a worker in the background for the next file, if there are too few.
    fn start_one_more(&self) {
        if self.0.status().workers >= self.0.settings.most {
            return;
        }
        let workers = self.clone();
        self.in_background(move || {
            if let Ok(pooled) = workers.start_worker(Start::AtOnce, &never()) {
                workers.return_worker(pooled);
            }
        });
    }

    /// Whether a thread could be started for the work.
    fn in_background(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let Err(error) = thread::Builder::new().spawn(work) else {
            return true;
        };
        let reason = format!("no thread can be started: {error}");
        tracing::error!("an engine worker cannot start: {reason}");
        self.0.status().last.get_or_insert(Err(reason));
        self.0.changed.notify_all();
        false
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<PooledWorker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> MutexGuard<'_, EngineStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
