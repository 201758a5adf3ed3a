//! An S3-compatible object store of three nodes (Garage, replication factor 3) behind a proxy. A node can be
//! killed and started again, and the proxy can stall or refuse. Garage is only started as a program, because
//! its licence (AGPL) forbids linking it here.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rand::RngExt as _;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use crate::postgres::{free_port, in_path};
use crate::process;
use crate::proxy::{Proxy, Target};

/// The number of nodes, and of copies of each object.
const NODES: usize = 3;
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a killed node stays away.
const AWAY: Duration = Duration::from_secs(3);
/// The bucket's name.
const BUCKET: &str = "faults";
/// Where `cargo install` puts the program, seen from the repository's root.
const INSTALLED: &str = ".cache/garage/bin/garage";

/// A running store. All its processes end when it is dropped.
pub(crate) struct Garage {
    pub(crate) proxy: Proxy,
    nodes: Vec<Node>,
    /// Counts the nodes that were killed.
    killed: AtomicUsize,
    program: PathBuf,
    key_id: String,
    secret: String,
}

struct Node {
    settings: PathBuf,
    log: PathBuf,
    s3: u16,
    child: Mutex<Option<Child>>,
}

impl Garage {
    /// Starts three nodes that form a cluster, with a bucket and a key for it.
    pub(crate) async fn start(folder: &Path) -> anyhow::Result<Garage> {
        let installed = std::env::current_dir()?.join(INSTALLED);
        let program = in_path("garage").or_else(|| installed.exists().then_some(installed));
        let program = program.context(
            "garage is missing: run `cargo install garage --version 2.5.0 --locked --root .cache/garage \
             --no-default-features --features bundled-libs,lmdb`",
        )?;
        let rpc_secret = random_hex(64);
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let folder = folder.join(format!("garage-{number}"));
            std::fs::create_dir(&folder)?;
            let (rpc, s3) = (free_port()?, free_port()?);
            let settings = folder.join("garage.toml");
            std::fs::write(&settings, text_of_settings(&folder, rpc, s3, &rpc_secret))?;
            nodes.push(Node {
                settings,
                log: folder.join("log"),
                s3,
                child: Mutex::new(None),
            });
        }
        let ports: Vec<u16> = nodes.iter().map(|node| node.s3).collect();
        let garage = Garage {
            proxy: Proxy::start(Target::Any(ports.into())).await?,
            nodes,
            killed: AtomicUsize::new(0),
            program,
            key_id: format!("GK{}", random_hex(24)),
            secret: random_hex(64),
        };
        for node in 0..NODES {
            garage.start_node(node).await?;
        }
        garage.form_cluster().await?;
        Ok(garage)
    }

    /// The address of the objects.
    pub(crate) fn url(&self) -> String {
        format!("s3://{BUCKET}/objects")
    }

    /// The environment with which the server reaches the store.
    pub(crate) fn env(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", format!("http://127.0.0.1:{}", self.proxy.port)),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_DEFAULT_REGION", "garage".into()),
            ("AWS_ACCESS_KEY_ID", self.key_id.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }

    /// Kills the next node in turn, and starts it again after some seconds. Returns whether it was killed.
    pub(crate) async fn restart_next_node(&self) -> anyhow::Result<bool> {
        // The installation has fewer nodes, so its number of a node would never reach the last one here.
        let number = self.killed.fetch_add(1, Ordering::SeqCst) % self.nodes.len();
        let child = self.nodes[number].child.lock().await.take();
        let child = child.context("the garage node does not run")?;
        let is_killed = process::kill(child, PATIENCE, "garage").await?;
        tokio::time::sleep(AWAY).await;
        self.start_node(number).await?;
        Ok(is_killed)
    }

    async fn start_node(&self, number: usize) -> anyhow::Result<()> {
        let node = &self.nodes[number];
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&node.log)?;
        let mut command = self.command(node);
        command
            .arg("server")
            .env("RUST_LOG", "garage=warn")
            .stdout(Stdio::null())
            .stderr(log);
        *node.child.lock().await = Some(command.spawn()?);
        Ok(())
    }

    fn command(&self, node: &Node) -> Command {
        let mut command = process::command(&self.program);
        command.arg("-c").arg(&node.settings);
        command
    }

    /// Connects the nodes, and makes the bucket and its key.
    async fn form_cluster(&self) -> anyhow::Result<()> {
        let mut ids = Vec::new();
        for node in &self.nodes {
            ids.push(
                self.until_done(node, &["node", "id", "-q"])
                    .await?
                    .trim()
                    .to_owned(),
            );
        }
        let first = &self.nodes[0];
        for id in &ids[1..] {
            self.until_done(first, &["node", "connect", id]).await?;
        }
        for id in &ids {
            let id = id.split('@').next().unwrap_or_default();
            self.until_done(first, &["layout", "assign", "-z", "one", "-c", "10G", id])
                .await?;
        }
        self.until_done(first, &["layout", "apply", "--version", "1"])
            .await?;
        let key = ["key", "import", "--yes", "-n", BUCKET, &self.key_id, &self.secret];
        self.until_done(first, &key).await?;
        self.until_done(first, &["bucket", "create", BUCKET]).await?;
        let allow = [
            "bucket",
            "allow",
            "--read",
            "--write",
            "--owner",
            BUCKET,
            "--key",
            &self.key_id,
        ];
        self.until_done(first, &allow).await?;
        Ok(())
    }

    /// Runs a command of the program until it succeeds, because a node takes a moment to start and to reach
    /// the others. Returns what it prints.
    async fn until_done(&self, node: &Node, arguments: &[&str]) -> anyhow::Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Printed by name only, because arguments may be the secret.
            let command = arguments[..2].join(" ");
            let process = format!("garage {command}");
            let output = process::output(self.command(node).args(arguments), PATIENCE, &process).await?;
            if output.status.success() {
                return Ok(String::from_utf8(output.stdout)?);
            }
            if Instant::now() > deadline {
                bail!(
                    "garage {command}: {}{}",
                    String::from_utf8_lossy(&output.stderr),
                    std::fs::read_to_string(&node.log).unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}

fn text_of_settings(folder: &Path, rpc: u16, s3: u16, rpc_secret: &str) -> String {
    let folder = folder.display();
    format!(
        "metadata_dir = \"{folder}/meta\"\n\
         data_dir = \"{folder}/data\"\n\
         db_engine = \"lmdb\"\n\
         replication_factor = {NODES}\n\
         rpc_bind_addr = \"127.0.0.1:{rpc}\"\n\
         rpc_public_addr = \"127.0.0.1:{rpc}\"\n\
         rpc_secret = \"{rpc_secret}\"\n\
         [s3_api]\n\
         s3_region = \"garage\"\n\
         api_bind_addr = \"127.0.0.1:{s3}\"\n\
         root_domain = \".s3.garage.localhost\"\n"
    )
}

/// Random hexadecimal digits.
fn random_hex(digits: usize) -> String {
    let mut random = rand::rng();
    (0..digits)
        .map(|_| char::from_digit(random.random_range(0..16), 16).unwrap_or('0'))
        .collect()
}
