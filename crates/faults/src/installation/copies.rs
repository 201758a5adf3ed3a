//! A second installation that opens what a first one has stored: a restored backup, a copied disk, or an earlier
//! state of the database. It never touches the first one's data.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::process::Signal;
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::{Installation, Node};
use crate::postgres::free_port;

/// The files of a second installation, before it starts.
pub(crate) struct Copy {
    folder: TempDir,
}

impl Copy {
    /// An empty folder with the key of an installation, as an operator prepares one.
    pub(crate) fn prepare(original: &Installation) -> anyhow::Result<Copy> {
        let folder = tempfile::Builder::new().prefix("bonafide-copy-").tempdir()?;
        let copy = Copy { folder };
        std::fs::create_dir(copy.data())?;
        for file in ["master.key", "demo.json"] {
            std::fs::copy(original.data(0).join(file), copy.data().join(file))?;
        }
        Ok(copy)
    }

    /// Its data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("node-0")
    }

    /// The folder of its objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// The address of its SQLite database.
    pub(crate) fn sqlite(&self) -> String {
        format!("sqlite:{}", self.data().join("bonafide.db").display())
    }

    /// The second installation with one node, which is not started yet.
    pub(crate) fn open(self, original: &Installation, database_url: String) -> anyhow::Result<Installation> {
        let (data, objects) = (self.data(), self.objects());
        Ok(Installation {
            program: std::sync::Mutex::new(original.program()),
            nodes: vec![Node {
                port: free_port()?,
                data,
                child: Mutex::new(None),
            }],
            database: None,
            garage: None,
            may_lose: false,
            has_failed_over: AtomicBool::new(false),
            database_url,
            objects,
            demo: original.demo.clone(),
            http: original.http.clone(),
            folder: self.folder,
        })
    }
}

impl Installation {
    /// The address of the database.
    pub(crate) fn database_url(&self) -> &str {
        &self.database_url
    }

    /// Kills every node, as a power cut does.
    pub(crate) async fn kill_all(&self) -> anyhow::Result<()> {
        for number in 0..self.nodes.len() {
            self.end(number, Signal::KILL).await?;
        }
        Ok(())
    }

    /// Sends a signal to every node.
    pub(crate) async fn signal_all(&self, signal: Signal) -> anyhow::Result<()> {
        for number in 0..self.nodes.len() {
            self.signal(number, signal).await?;
        }
        Ok(())
    }
}

/// Copies a folder with everything in it, by references to the same blocks where the file system can.
pub(crate) async fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut copy = crate::process::command("cp");
    copy.args(["--archive", "--reflink=auto", "--no-target-directory"]);
    crate::postgres::run(copy.arg(from).arg(to)).await
}
