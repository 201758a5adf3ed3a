//! The supervised children that decode strangers' files (`bonafide decode-worker`).
//!
//! A decoder that crashes, hangs or eats its memory costs one request its answer: its process is killed and another is started.
//! This process never decodes a stranger's bytes itself.

use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use imaging::worker::{self, WorkerError};
use imaging::{DecodeError, Decoded, Limits};

/// The longest side the engines get: enough for a whole page's small print, and a bound on memory.
const MAX_SIDE: u32 = 4_000;
/// Pixels beyond which a child is not used again.
const LARGE: u64 = 16_000_000;
/// What the child may take beyond its own time limit before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Idle children, and how to start more; as many live as are used at once.
pub struct Decoders {
    program: PathBuf,
    idle: Mutex<Vec<Worker>>,
    limits: Limits,
}

impl Decoders {
    /// Children of the given program, each file bounded by `time`.
    pub fn new(program: PathBuf, time: Duration) -> Self {
        let limits = Limits {
            max_side: Some(MAX_SIDE),
            time,
            ..Limits::default()
        };
        Decoders {
            program,
            idle: Mutex::default(),
            limits,
        }
    }

    /// Decodes a file; for a PDF the first page from `from_page` on that is not blank. Blocks.
    ///
    /// The outer error says that no child could be started; the inner one is about the file.
    pub fn decode(&self, file: &[u8], from_page: u32) -> io::Result<Result<Decoded, DecodeError>> {
        let limits = Limits {
            from_page,
            ..self.limits.clone()
        };
        let reused = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut worker) = reused
            && let Ok(answer) = worker.ask(file, &limits)
        {
            self.keep(worker, &answer);
            return Ok(answer);
        }
        // A fresh child decides: an idle one may have been killed for reasons that are not this file's.
        let mut worker = Worker::start(&self.program)?;
        match worker.ask(file, &limits) {
            Ok(answer) => {
                self.keep(worker, &answer);
                Ok(answer)
            }
            Err(_) => {
                metrics::counter!("bonafide_decoder_crashes_total").increment(1);
                Ok(Err(DecodeError::Crashed))
            }
        }
    }

    /// The others wait for the next file: not a child that gave up on one (it ends by itself), nor one whose memory grew with a
    /// large picture and would stay so.
    fn keep(&self, worker: Worker, answer: &Result<Decoded, DecodeError>) {
        let reusable = match answer {
            Err(DecodeError::TooSlow | DecodeError::Crashed) => false,
            Err(_) => true,
            Ok(decoded) => u64::from(decoded.source_width) * u64::from(decoded.source_height) <= LARGE,
        };
        if reusable {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(worker);
        }
    }
}

struct Worker {
    child: Option<Child>,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Worker {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let mut child = Command::new(program)
            .arg("decode-worker")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("the decode worker has no pipes");
        let (stdin, stdout) = (
            child.stdin.take().ok_or_else(missing)?,
            child.stdout.take().ok_or_else(missing)?,
        );
        Ok(Worker {
            child: Some(child),
            stdin,
            stdout,
        })
    }

    /// One question under a watchdog that kills the child when its own time limit did not hold.
    fn ask(&mut self, file: &[u8], limits: &Limits) -> Result<Result<Decoded, DecodeError>, WorkerError> {
        let Some(mut child) = self.child.take() else {
            return Err(WorkerError::Malformed);
        };
        let (done, waiting) = channel::<()>();
        let deadline = limits.time + GRACE;
        let watchdog = thread::spawn(move || {
            if waiting.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
                let _ = child.kill();
            }
            child
        });
        let answer = worker::write_request(&mut self.stdin, file, limits)
            .and_then(|()| worker::read_answer(&mut self.stdout, limits));
        drop(done);
        self.child = watchdog.join().ok();
        answer
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
