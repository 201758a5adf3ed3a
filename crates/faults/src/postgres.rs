//! A PostgreSQL cluster of this run's own, with the durability of a production server. It can be crashed and
//! started again.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rand::RngExt as _;
use tokio::process::Command;

use crate::process;

/// Where the search for ports begins and ends: below the ports that Linux gives to outgoing connections, so
/// that no connection takes the port of a server while it is down.
const PORTS: std::ops::Range<u16> = 12_000..32_000;
/// How long a statement may take.
const STATEMENT: Duration = Duration::from_secs(60);
/// How long a program may take that copies a database or files.
const COPIES: Duration = Duration::from_secs(600);
/// The name of the databases' superuser, who needs no password here.
pub(crate) const USER: &str = "bonafide";

/// A port that is free now. This process never gets the same one twice.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Several harnesses may run at once, so each begins elsewhere.
    let begin = rand::rng().random_range(PORTS);
    let _ = NEXT.compare_exchange(0, begin, Ordering::SeqCst, Ordering::SeqCst);
    for _ in PORTS {
        let port = NEXT.fetch_add(1, Ordering::SeqCst);
        if port >= PORTS.end {
            NEXT.store(PORTS.start, Ordering::SeqCst);
        }
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "no port of 127.0.0.1 between {} and {} is free",
        PORTS.start,
        PORTS.end
    )
}

/// A command that runs as the user `postgres` if this process runs as root, because PostgreSQL and PgBouncer
/// refuse to run as root.
pub(crate) fn unprivileged(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = match rustix::process::geteuid().is_root() {
        true => {
            let mut command = process::command("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                .arg(program);
            command
        }
        false => process::command(program),
    };
    command.current_dir("/").env("HOME", "/");
    command
}

/// Makes a folder that programs started by [`unprivileged`] own.
pub(crate) async fn unprivileged_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir(folder)?;
    match rustix::process::geteuid().is_root() {
        true => run(process::command("chown").arg("postgres:").arg(folder)).await,
        false => Ok(()),
    }
}

/// Runs a statement in a database of the server on a port. Returns its rows, without a header.
pub(crate) async fn sql_on(port: u16, database: &str, sql: &str) -> anyhow::Result<String> {
    let bin = find_bin()?;
    let port = port.to_string();
    let arguments = ["-h", "127.0.0.1", "-p", &port, "-U", USER, "-qAt", "-d", database];
    let mut command = unprivileged(bin.join("psql"));
    command.args(arguments).args(["-c", sql]);
    let name = format!("psql on port {port} ({sql})");
    let output = process::output(&mut command, STATEMENT, &name).await?;
    ensure!(
        output.status.success(),
        "{sql}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// A cluster in a temporary folder. It is stopped when dropped.
pub(crate) struct Postgres {
    bin: PathBuf,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl Postgres {
    /// Creates and starts a cluster.
    pub(crate) async fn start(folder: &Path) -> anyhow::Result<Postgres> {
        let bin = find_bin()?;
        let folder = folder.join("postgres");
        unprivileged_folder(&folder).await?;
        let postgres = Postgres {
            bin,
            folder,
            port: free_port()?,
        };
        let data = postgres.data();
        let arguments = ["-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "-D"];
        run(postgres.tool("initdb").args(arguments).arg(&data)).await?;
        postgres.resume().await?;
        Ok(postgres)
    }

    /// Starts a server on a folder with a base backup in `data`, which recovers from its archive.
    pub(crate) async fn recover(folder: PathBuf) -> anyhow::Result<Postgres> {
        let postgres = Postgres {
            bin: find_bin()?,
            folder,
            port: free_port()?,
        };
        postgres.resume().await?;
        Ok(postgres)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// One of PostgreSQL's programs, as the user that owns the cluster.
    fn tool(&self, name: &str) -> Command {
        unprivileged(self.bin.join(name))
    }

    /// Starts the cluster, and waits until it accepts connections.
    pub(crate) async fn resume(&self) -> anyhow::Result<()> {
        let options = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories={} -c max_connections=200",
            self.port,
            self.folder.display()
        );
        let log = self.folder.join("log");
        let mut start = self.tool("pg_ctl");
        start.args(["-w", "-o", &options, "start", "-D"]).arg(self.data());
        run(start.arg("-l").arg(log)).await
    }

    /// Ends every process of the cluster at once, without a checkpoint.
    pub(crate) async fn crash(&self) -> anyhow::Result<()> {
        run(self
            .tool("pg_ctl")
            .args(["-m", "immediate", "-w", "stop", "-D"])
            .arg(self.data()))
        .await
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let mut stop = self.tool("pg_ctl");
        stop.args(["-m", "immediate", "-w", "stop", "-D"])
            .arg(self.data());
        let _ = stop
            .as_std_mut()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

/// The folder of PostgreSQL's programs, the newest version's first.
pub(crate) fn find_bin() -> anyhow::Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| {
            let version = version.ok()?;
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .collect();
    found.sort();
    let in_path = || in_path("initdb")?.parent().map(Path::to_owned);
    found
        .pop()
        .map(|(_, bin)| bin)
        .or_else(in_path)
        .context("PostgreSQL is missing: install Debian's package postgresql")
}

/// A program in one of the folders of `PATH`.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths)
        .map(|folder| folder.join(program))
        .find(|file| file.exists())
}

/// Runs a program to its end, which is killed if it takes too long.
pub(crate) async fn run(command: &mut Command) -> anyhow::Result<()> {
    // A server that it starts inherits its output, so a pipe would never end.
    let file = tempfile::NamedTempFile::new()?;
    command.stdout(file.reopen()?).stderr(file.reopen()?);
    let std = command.as_std();
    let words: Vec<_> = std::iter::once(std.get_program())
        .chain(std.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    let name = words.join(" ");
    let status = process::within(COPIES, &name, command.status()).await?;
    ensure!(
        status.success(),
        "{name}: {status}\n{}",
        std::fs::read_to_string(file.path())?
    );
    Ok(())
}
