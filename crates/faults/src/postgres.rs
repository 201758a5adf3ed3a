//! A PostgreSQL cluster of this run's own, with the durability of a production server. It can be crashed and
//! started again.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use tokio::process::Command;

/// A port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

/// A cluster in a temporary folder. It is stopped when dropped.
pub(crate) struct Postgres {
    bin: PathBuf,
    folder: PathBuf,
    pub(crate) port: u16,
    is_root: bool,
}

impl Postgres {
    /// Creates and starts a cluster.
    pub(crate) async fn start(folder: &Path) -> anyhow::Result<Postgres> {
        let bin = find_bin().context("PostgreSQL is missing: install Debian's package postgresql")?;
        let is_root = rustix::process::geteuid().is_root();
        let folder = folder.join("postgres");
        std::fs::create_dir(&folder)?;
        let postgres = Postgres {
            bin,
            folder,
            port: free_port()?,
            is_root,
        };
        if is_root {
            // PostgreSQL refuses to run as root.
            run(Command::new("chown").arg("postgres:").arg(&postgres.folder)).await?;
        }
        let data = postgres.data();
        let arguments = [
            "-U",
            "bonafide",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "-D",
        ];
        run(postgres.tool("initdb").args(arguments).arg(&data)).await?;
        postgres.resume().await?;
        Ok(postgres)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// One of PostgreSQL's programs, as the user that owns the cluster.
    fn tool(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = match self.is_root {
            true => {
                let mut command = Command::new("setpriv");
                command
                    .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
                    .arg(program);
                command
            }
            false => Command::new(program),
        };
        command.current_dir("/").env("HOME", "/");
        command
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

    /// Runs a statement in a database.
    pub(crate) async fn sql(&self, database: &str, sql: &str) -> anyhow::Result<()> {
        let port = self.port.to_string();
        let arguments = [
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "bonafide",
            "-qAt",
            "-d",
            database,
            "-c",
            sql,
        ];
        run(self.tool("psql").args(arguments)).await
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
fn find_bin() -> Option<PathBuf> {
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
    let in_path = || {
        let paths = std::env::var_os("PATH")?;
        std::env::split_paths(&paths).find(|folder| folder.join("initdb").exists())
    };
    found.pop().map(|(_, bin)| bin).or_else(in_path)
}

/// Runs a program to its end.
pub(crate) async fn run(command: &mut Command) -> anyhow::Result<()> {
    // A server that it starts inherits its output, so a pipe would never end.
    let file = tempfile::NamedTempFile::new()?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file.reopen()?)
        .stderr(file.reopen()?)
        .status()
        .await?;
    ensure!(
        status.success(),
        "{:?}: {status}\n{}",
        command.as_std().get_program(),
        std::fs::read_to_string(file.path())?
    );
    Ok(())
}
