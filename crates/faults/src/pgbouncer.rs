//! PgBouncer in transaction mode, with far fewer connections to PostgreSQL than the nodes open to it, so that
//! each transaction may run on another one. It can be killed and started again.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::sync::Mutex;

use crate::postgres::{USER, free_port, in_path, unprivileged, unprivileged_folder};
use crate::process;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running PgBouncer. It ends when it is dropped.
pub(crate) struct PgBouncer {
    pub(crate) port: u16,
    program: PathBuf,
    folder: PathBuf,
    child: Mutex<Option<Child>>,
}

impl PgBouncer {
    /// Starts PgBouncer in front of the server on a port.
    pub(crate) async fn start(folder: &Path, server: u16) -> anyhow::Result<PgBouncer> {
        let program = [in_path("pgbouncer"), Some(PathBuf::from("/usr/sbin/pgbouncer"))]
            .into_iter()
            .flatten()
            .find(|program| program.exists())
            .context("pgbouncer is missing: run `scripts/prepare faults`, or install Debian's package")?;
        let folder = folder.join("pgbouncer");
        unprivileged_folder(&folder).await?;
        let pgbouncer = PgBouncer {
            port: free_port()?,
            program,
            folder,
            child: Mutex::new(None),
        };
        std::fs::write(pgbouncer.folder.join("pgbouncer.ini"), pgbouncer.settings(server))?;
        pgbouncer.resume().await?;
        Ok(pgbouncer)
    }

    fn settings(&self, server: u16) -> String {
        format!(
            "[databases]\n\
             * = host=127.0.0.1 port={server} user={USER}\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {}\n\
             unix_socket_dir =\n\
             auth_type = any\n\
             pool_mode = transaction\n\
             default_pool_size = 8\n\
             max_client_conn = 200\n\
             ignore_startup_parameters = extra_float_digits\n\
             ; After a failover, connect again at once instead of after 15 seconds.\n\
             server_login_retry = 1\n",
            self.port
        )
    }

    /// Starts it, and waits until it accepts connections.
    async fn resume(&self) -> anyhow::Result<()> {
        let log = self.folder.join("log");
        let output = std::fs::File::options().create(true).append(true).open(&log)?;
        let mut command = unprivileged(&self.program);
        command
            .arg(self.folder.join("pgbouncer.ini"))
            .stdout(Stdio::null())
            .stderr(output);
        *self.child.lock().await = Some(command.spawn()?);
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            ensure!(
                Instant::now() < deadline,
                "pgbouncer does not start:\n{}",
                std::fs::read_to_string(&log).unwrap_or_default()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Kills it, and starts it again. Returns whether it was killed.
    pub(crate) async fn restart(&self) -> anyhow::Result<bool> {
        let child = self.child.lock().await.take();
        let child = child.context("pgbouncer does not run")?;
        let is_killed = process::kill(child, PATIENCE, "pgbouncer").await?;
        self.resume().await?;
        Ok(is_killed)
    }
}
