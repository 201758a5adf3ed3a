//! The installation under test: its nodes, database, objects and command line.

pub(crate) mod copies;

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use crate::database::DatabaseServer;
use crate::garage::Garage;
use crate::postgres::free_port;
use crate::process;
use crate::setup::{Database, Objects, Setup};

/// How long a start or a recovery may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a node may take to end. It gives running requests 30 seconds (`--shutdown-seconds`).
const ENDS: Duration = Duration::from_secs(120);
/// How long a command may take, such as a backup of everything.
const COMMAND: Duration = Duration::from_secs(600);
/// The only setting of the caller that nodes get: the models' folder is not a part of the installation.
const MODELS: &str = "BONAFIDE_MODELS";

/// A running installation. Everything is stopped and deleted when it is dropped.
pub(crate) struct Installation {
    program: std::sync::Mutex<PathBuf>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) database: Option<DatabaseServer>,
    database_url: String,
    /// The folder of the objects, if they are not in a bucket.
    pub(crate) objects: PathBuf,
    pub(crate) garage: Option<Garage>,
    /// Whether a failover may lose acknowledged writes.
    pub(crate) may_lose: bool,
    /// Whether a primary was killed.
    pub(crate) has_failed_over: AtomicBool,
    /// The sandbox account, as `serve --demo` describes it.
    pub(crate) demo: Value,
    pub(crate) http: reqwest::Client,
    folder: TempDir,
}

/// How a node is started, if not as usual.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeOptions {
    /// Another program than the run's.
    pub(crate) program: Option<PathBuf>,
    /// Further environment variables, such as `LD_PRELOAD`.
    pub(crate) env: Vec<(String, String)>,
}

/// One server process.
pub(crate) struct Node {
    pub(crate) port: u16,
    data: PathBuf,
    child: Mutex<Option<Child>>,
}

impl Installation {
    /// Starts a database server with two nodes, or one node on SQLite.
    pub(crate) async fn start(program: &Path, setup: Setup) -> anyhow::Result<Installation> {
        ensure!(
            !(setup.pgbouncer && setup.database == Database::Sqlite),
            "--pgbouncer needs a database server, such as --database postgres"
        );
        let program = existing(program)?;
        let folder = tempfile::Builder::new().prefix("bonafide-faults-").tempdir()?;
        // PostgreSQL's own user must reach its folder.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
        let data = |number: usize| folder.path().join(format!("node-{number}"));
        let garage = match setup.objects {
            Objects::Folder => None,
            Objects::Garage => Some(Garage::start(folder.path()).await?),
        };
        let database = DatabaseServer::start(folder.path(), setup).await?;
        let (database_url, count) = match &database {
            None => (format!("sqlite:{}", data(0).join("bonafide.db").display()), 1),
            Some(server) => (server.url(), 2),
        };
        let mut nodes = Vec::new();
        for number in 0..count {
            let data = data(number);
            std::fs::create_dir(&data)?;
            nodes.push(Node {
                port: free_port()?,
                data,
                child: Mutex::new(None),
            });
        }
        let mut installation = Installation {
            program: std::sync::Mutex::new(program),
            nodes,
            database,
            database_url,
            objects: folder.path().join("objects"),
            garage,
            may_lose: setup.database == Database::PatroniAsync,
            has_failed_over: AtomicBool::new(false),
            demo: Value::Null,
            http: reqwest::Client::builder()
                .timeout(Duration::from_secs(15))
                .no_proxy()
                .build()?,
            folder,
        };
        installation.first_start().await?;
        Ok(installation)
    }

    /// Starts the first node, which makes the sandbox account, then the others with its key and lists.
    async fn first_start(&mut self) -> anyhow::Result<()> {
        let first = self.nodes[0].data.clone();
        self.start_node(0).await?;
        let file = first.join("demo.json");
        let deadline = Instant::now() + PATIENCE;
        while !file.exists() {
            self.ensure_runs(0).await?;
            ensure!(Instant::now() < deadline, "the sandbox account was not made");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.demo = serde_json::from_slice(&std::fs::read(file)?)?;
        for number in 1..self.nodes.len() {
            let data = &self.nodes[number].data;
            std::fs::create_dir(data.join("lists"))?;
            std::fs::copy(first.join("master.key"), data.join("master.key"))?;
            for list in std::fs::read_dir(first.join("lists"))? {
                let list = list?;
                std::fs::copy(list.path(), data.join("lists").join(list.file_name()))?;
            }
            self.start_node(number).await?;
        }
        self.wait_until_ready().await
    }

    /// The server's program with the settings of a node.
    fn command(&self, number: usize, options: &NodeOptions) -> Command {
        let mut command = process::command(options.program.clone().unwrap_or_else(|| self.program()));
        command
            .envs(std::env::var_os(MODELS).map(|models| (MODELS, models)))
            .envs(options.env.iter().map(|(name, value)| (name, value)))
            .env("BONAFIDE_DATA", &self.nodes[number].data)
            .env("BONAFIDE_DATABASE", &self.database_url);
        match &self.garage {
            None => command.env("BONAFIDE_OBJECTS", format!("file:{}", self.objects.display())),
            Some(garage) => command.env("BONAFIDE_OBJECTS", garage.url()).envs(garage.env()),
        };
        command
    }

    /// The program for commands and for nodes that are started.
    fn program(&self) -> PathBuf {
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        program.clone()
    }

    /// Uses another program from now on, for commands and for nodes that are started.
    pub(crate) fn set_program(&self, program: &Path) -> anyhow::Result<()> {
        let program = existing(program)?;
        *self.program.lock().unwrap_or_else(PoisonError::into_inner) = program;
        Ok(())
    }

    /// The folder of the whole run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder of a node.
    pub(crate) fn data(&self, number: usize) -> &Path {
        &self.nodes[number].data
    }

    /// Starts a node, without waiting for it.
    pub(crate) async fn start_node(&self, number: usize) -> anyhow::Result<()> {
        self.start_node_with(number, &NodeOptions::default()).await
    }

    /// Starts a node with another program or environment, without waiting for it.
    pub(crate) async fn start_node_with(&self, number: usize, options: &NodeOptions) -> anyhow::Result<()> {
        let node = &self.nodes[number];
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(node.log())?;
        let mut command = self.command(number, options);
        let address = format!("127.0.0.1:{}", node.port);
        command.args(["serve", "--listen", &address, "--idempotency-lease-ms", "5000"]);
        // Only the first node makes the account; without limits, the load decides how many requests come.
        match number {
            0 => command.arg("--demo"),
            _ => {
                let unlimited = [
                    "--rate-verify",
                    "--rate-reads",
                    "--rate-writes",
                    "--rate-exchange",
                ];
                command.args(unlimited.iter().flat_map(|limit| [limit, "0"]))
            }
        };
        command.stdout(Stdio::null()).stderr(log);
        *node.child.lock().await = Some(command.spawn()?);
        Ok(())
    }

    /// Sends a signal to a node.
    pub(crate) async fn signal(&self, number: usize, signal: Signal) -> anyhow::Result<()> {
        let child = self.nodes[number].child.lock().await;
        let pid = child
            .as_ref()
            .and_then(Child::id)
            .context("the node does not run")?;
        Ok(rustix::process::kill_process(pid_of(pid)?, signal)?)
    }

    /// Sends a signal that ends a node, and waits for its end.
    pub(crate) async fn end(&self, number: usize, signal: Signal) -> anyhow::Result<ExitStatus> {
        self.signal(number, signal).await?;
        self.wait_for_end(number).await
    }

    /// Waits for the end of a node's process. A process that does not end in time is killed.
    pub(crate) async fn wait_for_end(&self, number: usize) -> anyhow::Result<ExitStatus> {
        let node = &self.nodes[number];
        let child = node.child.lock().await.take();
        let mut child = child.context("the node does not run")?;
        let process = format!("node {number} (process {})", child.id().unwrap_or_default());
        let ended = process::within(ENDS, &process, child.wait()).await;
        ended.with_context(|| node.last_lines())
    }

    /// Whether a node's process is paused (SIGSTOP).
    pub(crate) async fn is_paused(&self, number: usize) -> anyhow::Result<bool> {
        let child = self.nodes[number].child.lock().await;
        let pid = child
            .as_ref()
            .and_then(Child::id)
            .context("the node does not run")?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The state follows the name, which is in parentheses.
        Ok(stat
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    /// Whether a node's process has ended.
    pub(crate) async fn has_ended(&self, number: usize) -> anyhow::Result<bool> {
        let mut child = self.nodes[number].child.lock().await;
        match child.as_mut() {
            Some(child) => Ok(child.try_wait()?.is_some()),
            None => Ok(true),
        }
    }

    /// Kills the engine workers of a node. Returns how many.
    pub(crate) async fn kill_engines(&self, number: usize) -> anyhow::Result<u64> {
        let child = self.nodes[number].child.lock().await;
        let pid = child
            .as_ref()
            .and_then(Child::id)
            .context("the node does not run")?;
        // The threads that start workers are the parents of their processes.
        let mut all = String::new();
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let file = task?.path().join("children");
            all.push_str(&std::fs::read_to_string(file).unwrap_or_default());
        }
        let mut killed = 0;
        for worker in all.split_whitespace() {
            // A worker may end by itself meanwhile.
            let sent = rustix::process::kill_process(pid_of(worker.parse()?)?, Signal::KILL);
            killed += u64::from(sent.is_ok());
        }
        Ok(killed)
    }

    /// Fails if a node has ended by itself.
    async fn ensure_runs(&self, number: usize) -> anyhow::Result<()> {
        let node = &self.nodes[number];
        let ended = node
            .child
            .lock()
            .await
            .as_mut()
            .map(Child::try_wait)
            .transpose()?;
        if let Some(Some(status)) = ended {
            bail!("node {number} ended ({status}):\n{}", node.last_lines());
        }
        Ok(())
    }

    /// Waits until every node can work.
    pub(crate) async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        for number in 0..self.nodes.len() {
            self.wait_until(number, deadline).await?;
        }
        Ok(())
    }

    /// Waits until one node can work.
    pub(crate) async fn wait_until_node_is_ready(&self, number: usize) -> anyhow::Result<()> {
        self.wait_until(number, Instant::now() + PATIENCE).await
    }

    async fn wait_until(&self, number: usize, deadline: Instant) -> anyhow::Result<()> {
        let node = &self.nodes[number];
        let mut answers = 0;
        // Two answers in a row, because an answer may be a second old.
        while answers < 2 {
            let ready = self.http.get(format!("{}/readyz", node.base())).send().await;
            match ready {
                Ok(answer) if answer.status().is_success() => answers += 1,
                _ => answers = 0,
            }
            self.ensure_runs(number).await?;
            ensure!(
                Instant::now() < deadline,
                "node {number} is not ready:\n{}",
                node.last_lines()
            );
            tokio::time::sleep(Duration::from_millis(if answers == 1 { 1_100 } else { 50 })).await;
        }
        Ok(())
    }

    /// Stops every node as an operator does, and starts it again.
    pub(crate) async fn restart_all(&self) -> anyhow::Result<()> {
        for number in 0..self.nodes.len() {
            self.end(number, Signal::TERM).await?;
            self.start_node(number).await?;
        }
        self.wait_until_ready().await
    }

    /// Runs a command on the installation's data. Returns its stdout.
    pub(crate) async fn bonafide(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = self.command(0, &NodeOptions::default());
        let name = format!("bonafide {}", arguments.join(" "));
        let output = process::output(command.args(arguments), COMMAND, &name).await?;
        ensure!(
            output.status.success(),
            "{name}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// A member of the sandbox account's description.
    pub(crate) fn demo(&self, name: &str) -> &str {
        self.demo[name].as_str().unwrap_or_default()
    }
}

impl Node {
    /// The node's address.
    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn log(&self) -> PathBuf {
        self.data.join("server.log")
    }

    fn last_lines(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// The absolute path of a program.
fn existing(program: &Path) -> anyhow::Result<PathBuf> {
    program
        .canonicalize()
        .with_context(|| format!("{} is missing: build the server first", program.display()))
}

fn pid_of(pid: u32) -> anyhow::Result<Pid> {
    Pid::from_raw(i32::try_from(pid)?).context("no process")
}
