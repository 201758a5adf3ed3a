//! The supervised children that decode strangers' files (`bonafide decode-worker`).
//!
//! A decoder that crashes, hangs or eats its memory costs one request its answer: its process is killed and another is started.
//! This process never decodes a stranger's bytes itself.
//!
//! A file gets a verdict only from itself: when it makes its decoder fail, or exceeds the limits on memory and processor time, which
//! are the same on a busy machine. A decoder that is killed or does not end in time says nothing about the file; the request that
//! brought it answers 503.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use imaging::worker::{self, WorkerError};
use imaging::{DecodeError, Decoded, Limits};
use rustix::process::Signal;

/// The longest side the engines get: enough for a whole page's small print, and a bound on memory.
const MAX_SIDE: u32 = 4_000;
/// Pixels beyond which a child is not used again.
const LARGE: u64 = 16_000_000;
/// How many times its processor time a file may take by the clock: a busy machine runs it in turns with others.
const PATIENCE: u32 = 4;
/// What the child may take beyond its own time limit before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Idle children, and how to start more; as many live as are used at once.
pub struct Decoders {
    program: PathBuf,
    idle: Mutex<Vec<Worker>>,
    limits: Limits,
}

impl Decoders {
    /// Children of the given program, each file bounded by `processor` time (whole seconds), and by a multiple of it by the clock.
    pub fn new(program: PathBuf, processor: Duration) -> Self {
        let limits = Limits {
            max_side: Some(MAX_SIDE),
            processor,
            time: processor * PATIENCE,
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
    /// The outer error says that the work could not be finished, which says nothing about the file; the inner one is about the file.
    pub fn decode(&self, file: &[u8], from_page: u32) -> io::Result<Result<Decoded, DecodeError>> {
        let limits = Limits {
            from_page,
            ..self.limits.clone()
        };
        let reused = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut worker) = reused
            && let Ok(answer) = worker.ask(file, &limits)
        {
            return self.keep(worker, answer);
        }
        // A fresh child decides: an idle one may have been killed for reasons that are not this file's.
        let mut worker = Worker::start(&self.program)?;
        if let Ok(answer) = worker.ask(file, &limits) {
            return self.keep(worker, answer);
        }
        metrics::counter!("bonafide_decoder_crashes_total").increment(1);
        match worker.end().and_then(verdict) {
            Some(error) => Ok(Err(error)),
            None => Err(unfinished()),
        }
    }

    /// Passes an answer on. Its child waits for the next file, unless it gave up on one (it ends by itself), or its memory grew with a
    /// large picture and would stay so.
    fn keep(
        &self,
        worker: Worker,
        answer: Result<Decoded, DecodeError>,
    ) -> io::Result<Result<Decoded, DecodeError>> {
        let reusable = match &answer {
            Err(DecodeError::Unfinished) => return Err(unfinished()),
            Err(DecodeError::Crashed) => false,
            Err(_) => true,
            Ok(decoded) => u64::from(decoded.source_width) * u64::from(decoded.source_height) <= LARGE,
        };
        if reusable {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(worker);
        }
        Ok(answer)
    }
}

fn unfinished() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, DecodeError::Unfinished)
}

/// What the end of a child says about the file that it had. It ends itself where its memory ends or its code fails, and the operating
/// system ends it where its processor time ends; every other end comes from outside.
fn verdict(status: ExitStatus) -> Option<DecodeError> {
    let signal = status.signal()?;
    if signal == Signal::XCPU.as_raw() {
        return Some(DecodeError::TooMuchWork);
    }
    let own = [
        Signal::ABORT,
        Signal::SEGV,
        Signal::BUS,
        Signal::ILL,
        Signal::FPE,
        Signal::TRAP,
    ];
    own.iter()
        .any(|own| own.as_raw() == signal)
        .then_some(DecodeError::Crashed)
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

    /// Ends the child, and says how it ended: by itself before, or now.
    fn end(mut self) -> Option<ExitStatus> {
        let mut child = self.child.take()?;
        let _ = child.kill();
        child.wait().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_does_to_its_decoder_is_a_verdict() {
        for (signal, expected) in [
            (Signal::XCPU, Some(DecodeError::TooMuchWork)),
            (Signal::ABORT, Some(DecodeError::Crashed)),
            (Signal::SEGV, Some(DecodeError::Crashed)),
            (Signal::BUS, Some(DecodeError::Crashed)),
            (Signal::KILL, None),
            (Signal::TERM, None),
            (Signal::INT, None),
            (Signal::HUP, None),
        ] {
            let status = ExitStatus::from_raw(signal.as_raw());
            assert_eq!(verdict(status), expected, "{signal:?}");
        }
        for code in [0, 1, 127] {
            assert_eq!(verdict(ExitStatus::from_raw(code << 8)), None, "{code}");
        }
    }
}
