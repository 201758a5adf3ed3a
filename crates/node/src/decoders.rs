//! Supervises the child processes that decode uploaded files (`bonafide decode-worker`).
//!
//! A decoder that crashes, hangs or uses too much memory costs one request its response. Its process is
//! killed and another one is started. This process itself never decodes uploaded bytes.
//!
//! A file is refused only for what it causes itself: its decoder fails, or it exceeds the limits on memory
//! and processor time. Those limits do not depend on how busy the machine is. A decoder that is killed from
//! outside or does not end in time proves nothing about the file, so the request gets 503.

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

/// The longest side in pixels that the engines receive: enough for a page's small print, and a bound on
/// memory.
const MAX_SIDE: u32 = 4_000;
/// A child that decoded a picture with more pixels than this is not reused.
const LARGE: u64 = 16_000_000;
/// The limit of elapsed time, as a multiple of the limit of processor time: on a busy machine a decoder
/// shares its core.
const PATIENCE: u32 = 4;
/// How far the child may exceed its time limit before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Idle children, and how to start more. There are as many as decode at the same time.
pub struct Decoders {
    program: PathBuf,
    idle: Mutex<Vec<Worker>>,
    limits: Limits,
}

impl Decoders {
    /// Creates decoders that run `program`. Each file is limited to `processor` time (whole seconds) and to a
    /// multiple of it in elapsed time.
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

    /// Decodes a file. For a PDF, decodes the first page from `from_page` on that is not blank. Blocks.
    ///
    /// The outer error means that decoding could not finish, which is no fault of the file. The inner error
    /// is a fault of the file.
    pub fn decode(&self, file: &[u8], from_page: u32) -> io::Result<Result<Decoded, DecodeError>> {
        let limits = Limits {
            from_page,
            ..self.limits.clone()
        };
        let reused = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut worker) = reused
            && let Ok(answer) = worker.decode(file, &limits)
        {
            return self.keep(worker, answer);
        }
        // A fresh child decides, because an idle child may have been killed for reasons unrelated to this
        // file.
        let mut worker = Worker::start(&self.program)?;
        if let Ok(answer) = worker.decode(file, &limits) {
            return self.keep(worker, answer);
        }
        metrics::counter!("bonafide_decoder_crashes_total").increment(1);
        match worker.end().and_then(fault_of_exit) {
            Some(error) => Ok(Err(error)),
            None => Err(unfinished()),
        }
    }

    /// Returns an answer and puts its child back for the next file. A child that gave up on a file is not
    /// reused, because it ends. Neither is one whose memory grew with a large picture and would stay so.
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

/// What the end of a child proves about its file. The child ends itself when memory runs out or its code
/// fails, and the operating system ends it when its processor time is used up. Any other end comes from
/// outside and proves nothing.
fn fault_of_exit(status: ExitStatus) -> Option<DecodeError> {
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

    /// Decodes one file under a watchdog, which kills a child that exceeds its own time limit.
    fn decode(&mut self, file: &[u8], limits: &Limits) -> Result<Result<Decoded, DecodeError>, WorkerError> {
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

    /// Ends the child and returns its exit status. The child may have ended before.
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
            assert_eq!(fault_of_exit(status), expected, "{signal:?}");
        }
        for code in [0, 1, 127] {
            assert_eq!(fault_of_exit(ExitStatus::from_raw(code << 8)), None, "{code}");
        }
    }
}
