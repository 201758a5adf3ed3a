//! One worker process and its pipes, under a watchdog.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::{WallState, Walls};

use inference::own::{ModelKind, Selection};

use crate::limits::{GRACE, LEEWAY, MAX_WEAR, OWN_MODEL, PATIENCE, RESIDENT, START};
use crate::protocol::{self, Answer, Greeting, LoadedModels, ProtocolError, Request};
use crate::settings::{Engines, Settings};

/// How often the watchdog looks for a caller that has gone.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a worker should be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wear {
    /// It can continue.
    Little,
    /// A successor should replace it. It can continue until the successor has loaded the models.
    Much,
    /// It must not receive another file.
    Spent,
}

impl Wear {
    fn of(wear: u32) -> Self {
        match wear {
            _ if wear < MAX_WEAR => Wear::Little,
            _ if wear < MAX_WEAR + LEEWAY => Wear::Much,
            _ => Wear::Spent,
        }
    }
}

/// How a worker loads the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// A file is waiting for it.
    AtOnce,
    /// Other workers are processing files meanwhile, and have priority for the processor.
    Aside,
}

/// Says whether the caller of some work has gone.
pub(crate) type CallerGone = Arc<dyn Fn() -> bool + Send + Sync>;

/// Why a worker gave no answer. It has ended.
#[derive(Debug)]
pub(crate) enum WorkerError {
    /// It was killed because the caller has gone.
    Abandoned,
    /// It ended, or it was killed because it took too long or sent nonsense.
    Ended(Option<ExitStatus>),
}

/// Why a worker could not be started.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The caller has gone.
    Abandoned,
    /// For this reason.
    Broken(String),
}

/// A worker that waits for a file or works on one. Dropping it ends the process.
pub(crate) struct Worker {
    child: Option<Child>,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// How much the worker has done; see [`MAX_WEAR`].
    wear: u32,
    /// The models that its greeting named.
    models: LoadedModels,
}

/// Starts a worker without models, and returns the state of its walls.
///
/// # Errors
/// Fails if the worker cannot be started or does not answer.
pub fn check_walls(program: &Path) -> io::Result<Walls> {
    let mut worker = Worker::spawn(Command::new(program).args(["engine-worker", "--check-walls"]))?;
    let greeting = worker.guarded(START, &never(), |_, stdout| protocol::read_greeting(stdout));
    match greeting {
        Ok(greeting) => Ok(greeting.walls),
        Err(_) => Err(io::Error::other(
            "the engine worker ended before it had built its walls",
        )),
    }
}

/// A caller that stays.
pub(crate) fn never() -> CallerGone {
    Arc::new(|| false)
}

impl Worker {
    /// Starts a worker and waits until it has loaded the models, with the custom models of a selection.
    pub(crate) fn start(
        settings: &Settings,
        selection: &Selection,
        start: Start,
        gone: &CallerGone,
    ) -> Result<(Self, Engines), StartError> {
        let mut command = Command::new(&settings.program);
        command.arg("engine-worker");
        if let Some(models) = &settings.models {
            command.arg("--models").arg(models);
        }
        for kind in ModelKind::ALL {
            if let Some(name) = selection.of(kind) {
                command.arg(format!("--{kind}")).arg(name);
            }
        }
        if settings.weak_sandbox {
            command.arg("--weak-sandbox");
        }
        if start == Start::Aside {
            command.arg("--load-aside");
        }
        let mut worker = Worker::spawn(&mut command)
            .map_err(|error| StartError::Broken(format!("no engine worker can be started: {error}")))?;
        let greeting = worker
            .guarded(START, gone, |_, stdout| protocol::read_greeting(stdout))
            .map_err(|lost| match lost {
                WorkerError::Abandoned => StartError::Abandoned,
                WorkerError::Ended(status) => {
                    let end = status.map_or_else(String::new, |status| format!(" ({status})"));
                    StartError::Broken(format!("an engine worker ended before it was ready{end}"))
                }
            })?;
        let Greeting { walls, models } = greeting;
        if let (Some(missing), false) = (walls.missing_required().next(), settings.weak_sandbox) {
            return Err(StartError::Broken(format!(
                "a wall around the engine workers is missing ({missing}); to accept the risk, use `--weak-sandbox`"
            )));
        }
        worker.models = models.map_err(StartError::Broken)?;
        let engines = Engines {
            face_model: worker.models.face_model.clone(),
            models: worker.models.versions.clone(),
            missing_walls: walls.missing().map(WallState::to_string).collect(),
        };
        Ok((worker, engines))
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("the engine worker has no pipes");
        let (stdin, stdout) = (
            child.stdin.take().ok_or_else(missing)?,
            child.stdout.take().ok_or_else(missing)?,
        );
        Ok(Worker {
            child: Some(child),
            stdin,
            stdout,
            wear: 0,
            models: LoadedModels::default(),
        })
    }

    /// Answers one request. The worker is killed when it exceeds its own limits of time or the caller goes.
    pub(crate) fn answer(
        &mut self,
        request: &Request,
        file: &[u8],
        gone: &CallerGone,
    ) -> Result<Answer, WorkerError> {
        self.wear += request.task.wear();
        let face_model = self.models.face_model.clone();
        let within = request.limits.time + request.task.reading() * PATIENCE + GRACE;
        self.guarded(within, gone, |stdin, stdout| {
            protocol::write_request(stdin, request, file)?;
            protocol::read_answer(stdout, request, &face_model)
        })
    }

    /// How worn the worker is, by the files that it has processed and the memory that it retains.
    pub(crate) fn wear(&mut self) -> Wear {
        // One that has not worked yet has the memory that every worker has.
        if self.wear == 0 {
            return Wear::Little;
        }
        let Some(resident) = self.child.as_ref().and_then(|child| resident_bytes(child.id())) else {
            return Wear::Spent;
        };
        let most = RESIDENT.saturating_add(self.models.own_bytes.saturating_mul(OWN_MODEL));
        if resident > most.saturating_mul(2) {
            return Wear::Spent;
        }
        if resident > most {
            self.wear = self.wear.max(MAX_WEAR);
        }
        Wear::of(self.wear)
    }

    fn guarded<T>(
        &mut self,
        within: Duration,
        gone: &CallerGone,
        work: impl FnOnce(&mut ChildStdin, &mut ChildStdout) -> Result<T, ProtocolError>,
    ) -> Result<T, WorkerError> {
        let Some(mut child) = self.child.take() else {
            return Err(WorkerError::Ended(None));
        };
        let (done, waiting) = channel::<()>();
        let gone = Arc::clone(gone);
        let watchdog = thread::Builder::new().spawn(move || {
            let begun = Instant::now();
            let mut abandoned = false;
            while waiting.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let has_gone = gone();
                if has_gone || begun.elapsed() > within {
                    abandoned |= has_gone;
                    let _ = child.kill();
                }
            }
            (child, abandoned)
        });
        // Without a watchdog the child is not waited for. It ends when the caller drops its pipes.
        let Ok(watchdog) = watchdog else {
            return Err(WorkerError::Ended(None));
        };
        let answer = work(&mut self.stdin, &mut self.stdout);
        drop(done);
        let Ok((child, abandoned)) = watchdog.join() else {
            return Err(WorkerError::Ended(None));
        };
        let child = self.child.insert(child);
        match answer {
            Ok(answer) => Ok(answer),
            Err(_) if abandoned => Err(WorkerError::Abandoned),
            Err(_) => {
                let _ = child.kill();
                Err(WorkerError::Ended(child.wait().ok()))
            }
        }
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

/// The memory of a process that is in RAM, in bytes (proc_pid_status(5)).
fn resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    resident_bytes_of(&status)
}

fn resident_bytes_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FILE_WEAR;

    #[test]
    fn resident_memory_is_read_from_the_status() {
        let status = "Name:\tbonafide\nVmHWM:\t  900 kB\nVmRSS:\t  204800 kB\nThreads:\t2\n";
        assert_eq!(resident_bytes_of(status), Some(200 << 20));
        for bad in ["", "VmRSS:", "VmRSS:\t-1 kB\n", "VmRSS:\t12\n"] {
            assert_eq!(resident_bytes_of(bad), None, "{bad}");
        }
    }

    fn started(program: &str, arguments: &[&str]) -> Worker {
        Worker::spawn(Command::new(program).args(arguments)).unwrap()
    }

    #[test]
    fn a_worker_that_hangs_is_killed_and_says_nothing_about_its_file() {
        let mut hanging = started("sleep", &["600"]);
        let within = Duration::from_millis(60);
        let lost = hanging
            .guarded(within, &never(), |_, stdout| protocol::read_greeting(stdout))
            .unwrap_err();
        let WorkerError::Ended(Some(status)) = lost else {
            panic!("{lost:?}")
        };
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn a_worker_is_killed_when_its_caller_goes() {
        let mut hanging = started("sleep", &["600"]);
        let gone: CallerGone = Arc::new(|| true);
        let lost = hanging
            .guarded(START, &gone, |_, stdout| protocol::read_greeting(stdout))
            .unwrap_err();
        assert!(matches!(lost, WorkerError::Abandoned), "{lost:?}");
    }

    /// A program that sends a greeting with a missing wall and waits.
    fn without_wall(folder: &Path, wall: sandbox::Wall) -> Settings {
        let mut greeting = Vec::new();
        let walls = Walls::from(vec![WallState {
            wall,
            fault: Some("no".into()),
        }]);
        let models = Ok(LoadedModels {
            face_model: "0123456789ab".into(),
            ..LoadedModels::default()
        });
        protocol::write_greeting(&mut greeting, &Greeting { walls, models }).unwrap();
        std::fs::write(folder.join("greeting"), greeting).unwrap();
        let program = folder.join("program");
        let script = format!("#!/bin/sh\ncat {}/greeting\nexec sleep 600\n", folder.display());
        std::fs::write(&program, script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        Settings {
            program,
            models: None,
            required: Selection::default(),
            decoding: Duration::from_secs(1),
            most: 1,
            weak_sandbox: false,
            on_demand: false,
        }
    }

    #[test]
    fn a_worn_worker_goes_on_for_a_while() {
        for (wear, expected) in [
            (0, Wear::Little),
            (49 * FILE_WEAR, Wear::Little),
            (50 * FILE_WEAR, Wear::Much),
            (69 * FILE_WEAR, Wear::Much),
            (70 * FILE_WEAR, Wear::Spent),
            (u32::MAX, Wear::Spent),
        ] {
            assert_eq!(Wear::of(wear), expected, "{wear}");
        }
    }

    #[test]
    fn a_worker_without_a_required_wall_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let settings = without_wall(folder.path(), sandbox::Wall::SystemCalls);
        let Err(StartError::Broken(reason)) =
            Worker::start(&settings, &Selection::default(), Start::AtOnce, &never())
        else {
            panic!("it was used")
        };
        assert!(
            reason.contains("system calls: no") && reason.contains("--weak-sandbox"),
            "{reason}"
        );
        let weak = Settings {
            weak_sandbox: true,
            ..settings
        };
        let Ok((_, engines)) = Worker::start(&weak, &Selection::default(), Start::AtOnce, &never()) else {
            panic!("the operator accepted it")
        };
        assert_eq!(engines.missing_walls, ["system calls: no"]);
        let settings = without_wall(folder.path(), sandbox::Wall::Network);
        assert!(
            Worker::start(&settings, &Selection::default(), Start::AtOnce, &never()).is_ok(),
            "not every kernel has it"
        );
    }
}
