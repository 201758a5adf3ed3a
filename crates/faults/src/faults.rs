//! What is broken, and how it is repaired. A fault ends when its cause is gone; whether the installation has
//! recovered is found by [`Installation::wait_until_ready`].

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::database::Cluster;
use crate::effect::Effect;
use crate::installation::Installation;
use crate::machine;
use crate::process::ended_by;
use crate::setup::{Database, Objects, Setup};

/// How long a fault lasts that does not end by itself.
const LASTS: Duration = Duration::from_secs(4);

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// A node is killed (SIGKILL) and started again.
    KilledNode,
    /// A node is asked to stop (SIGTERM) and started again.
    StoppedNode,
    /// A node does nothing for some seconds (SIGSTOP), as on an overloaded host.
    PausedNode,
    /// The processes that read files are killed.
    KilledEngines,
    /// The object store is missing for some seconds.
    MissingObjects,
    /// A node runs with a clock that is an hour ahead, for some seconds (Debian's library `faketime`).
    ClockAhead,
    /// A node runs with a clock that is an hour behind, for some seconds.
    ClockBehind,
    /// The disk of the whole run is full for some seconds (a tmpfs; needs root).
    FullDisk,
    /// A node runs an earlier version of the program for some seconds (`--older-program`).
    OlderProgram,
    /// PostgreSQL crashes (`-m immediate`) and is started again.
    CrashedDatabase,
    /// Every connection to the database ends.
    EndedConnections,
    /// Connections break after a COMMIT and before its answer.
    CutCommits,
    /// The network to the database delivers nothing for some seconds.
    StalledDatabase,
    /// The host of the cluster's primary is lost, and returns after another primary was elected.
    KilledPrimary,
    /// PgBouncer is killed and started again.
    KilledPooler,
    /// The network to the object store delivers nothing for some seconds.
    StalledObjects,
    /// A node of the object store is killed, and started again after some seconds.
    KilledStore,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        f.write_str(&name.unwrap_or_default())
    }
}

impl Fault {
    /// The faults that this setup allows.
    pub(crate) fn of(setup: Setup) -> Vec<Fault> {
        let all = Fault::value_variants().iter().copied();
        all.filter(|fault| fault.is_possible(setup)).collect()
    }

    fn is_possible(self, setup: Setup) -> bool {
        match self {
            Fault::KilledNode
            | Fault::StoppedNode
            | Fault::PausedNode
            | Fault::KilledEngines
            | Fault::MissingObjects => true,
            // Under Patroni, a crashed server is the agent's business: see `KilledPrimary`.
            Fault::CrashedDatabase => setup.database == Database::Postgres,
            Fault::EndedConnections | Fault::CutCommits | Fault::StalledDatabase => {
                setup.database != Database::Sqlite
            }
            Fault::KilledPrimary => matches!(setup.database, Database::Patroni | Database::PatroniAsync),
            // With SQLite, the only clock is the machine's: nothing can show that it is wrong.
            Fault::ClockAhead | Fault::ClockBehind => {
                setup.database != Database::Sqlite && machine::faketime().is_some()
            }
            Fault::FullDisk => setup.database == Database::Sqlite && machine::can_mount(),
            Fault::OlderProgram => machine::has_older_program(),
            Fault::KilledPooler => setup.pgbouncer,
            Fault::StalledObjects | Fault::KilledStore => setup.objects == Objects::Garage,
        }
    }
}

/// The faults in an order that a seed decides. Each comes once before any comes again.
pub(crate) struct Order {
    all: Vec<Fault>,
    left: Vec<Fault>,
    random: StdRng,
}

impl Order {
    pub(crate) fn new(all: Vec<Fault>, seed: u64) -> Order {
        Order {
            all,
            left: Vec::new(),
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// The next fault, and the node that it concerns, of `nodes`.
    pub(crate) fn next(&mut self, nodes: usize) -> (Fault, usize) {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
            self.left.shuffle(&mut self.random);
        }
        let fault = self.left.pop().unwrap_or(Fault::KilledNode);
        (fault, self.random.random_range(0..nodes))
    }
}

impl Installation {
    /// Breaks something, of this node if it concerns one, and repairs it. Returns the evidence that it took hold.
    ///
    /// # Errors
    /// When the harness itself fails.
    pub(crate) async fn inflict(&self, fault: Fault, node: usize) -> anyhow::Result<Effect> {
        let server = || {
            self.database
                .as_ref()
                .context("this fault needs a database server")
        };
        let garage = || self.garage.as_ref().context("this fault needs --objects garage");
        match fault {
            Fault::KilledNode => {
                let status = self.end(node, Signal::KILL).await?;
                self.start_node(node).await?;
                Ok(Effect::once(ended_by(status, Signal::KILL), "process killed"))
            }
            Fault::StoppedNode => {
                let status = self.end(node, Signal::TERM).await?;
                ensure!(status.success(), "node {node} did not stop cleanly: {status}");
                self.start_node(node).await?;
                Ok(Effect::once(true, "process stopped"))
            }
            Fault::PausedNode => {
                self.signal(node, Signal::STOP).await?;
                tokio::time::sleep(LASTS).await;
                let is_paused = self.is_paused(node).await?;
                self.signal(node, Signal::CONT).await?;
                Ok(Effect::once(is_paused, "process paused"))
            }
            Fault::KilledEngines => Ok(Effect::counted(
                self.kill_engines(node).await?,
                "engine processes killed",
            )),
            Fault::ClockAhead => self.with_clock(node, "+1h").await,
            Fault::ClockBehind => self.with_clock(node, "-1h").await,
            Fault::FullDisk => self.fill_disk().await,
            Fault::OlderProgram => self.with_older_program(node).await,
            Fault::MissingObjects => {
                if let Some(garage) = &self.garage {
                    let refused = garage.proxy.refuse(LASTS).await;
                    return Ok(Effect::counted(refused, "connections refused"));
                }
                let away = self.objects.with_extension("away");
                std::fs::rename(&self.objects, &away)?;
                // A file in its place, so that no new folder is made.
                std::fs::write(&self.objects, "")?;
                tokio::time::sleep(LASTS).await;
                let is_missing = self.objects.is_file();
                std::fs::remove_file(&self.objects)?;
                std::fs::rename(&away, &self.objects)?;
                Ok(Effect::once(is_missing, "folder missing"))
            }
            Fault::CrashedDatabase => {
                let Cluster::Single(postgres) = &server()?.cluster else {
                    bail!("this fault needs a single PostgreSQL: --database postgres");
                };
                postgres.crash().await?;
                let is_down = TcpStream::connect(("127.0.0.1", postgres.port)).await.is_err();
                tokio::time::sleep(Duration::from_secs(1)).await;
                postgres.resume().await?;
                Ok(Effect::once(is_down, "server down"))
            }
            Fault::EndedConnections => Ok(Effect::counted(
                server()?.end_connections().await?,
                "connections ended",
            )),
            Fault::CutCommits => {
                let cut = server()?.proxy.cut_commits(3, LASTS).await;
                Ok(Effect::counted(cut.into(), "commits cut"))
            }
            Fault::StalledDatabase => {
                let held = server()?.proxy.stall(LASTS).await;
                Ok(Effect::counted(held, "messages held back"))
            }
            Fault::KilledPrimary => {
                let Cluster::Patroni(patroni) = &server()?.cluster else {
                    bail!("this fault needs a cluster: --database patroni");
                };
                // It fails unless another member becomes the primary.
                patroni.kill_primary().await?;
                Ok(Effect::once(true, "primary replaced"))
            }
            Fault::KilledPooler => {
                let pgbouncer = server()?.pgbouncer.as_ref();
                let is_killed = pgbouncer.context("this fault needs --pgbouncer")?.restart();
                Ok(Effect::once(is_killed.await?, "process killed"))
            }
            Fault::StalledObjects => {
                let held = garage()?.proxy.stall(LASTS).await;
                Ok(Effect::counted(held, "messages held back"))
            }
            Fault::KilledStore => Ok(Effect::once(
                garage()?.restart_next_node().await?,
                "process killed",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_comes_once_before_any_comes_again() {
        let of = |database| {
            Fault::of(Setup {
                database,
                pgbouncer: false,
                objects: Objects::Folder,
            })
        };
        let all = of(Database::Postgres);
        assert!(all.len() > of(Database::Sqlite).len());
        let mut order = Order::new(all.clone(), 7);
        for _ in 0..3 {
            let mut round: Vec<String> = all.iter().map(|_| order.next(2).0.to_string()).collect();
            round.sort();
            round.dedup();
            assert_eq!(round.len(), all.len());
        }
        let (mut one, mut same) = (Order::new(all.clone(), 1), Order::new(all, 1));
        assert!(
            (0..20).all(|_| one.next(2) == same.next(2)),
            "a seed repeats a run"
        );
    }
}
