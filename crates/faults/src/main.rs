//! `make faults`: runs the real server under mixed load, breaks something every few seconds, and checks
//! afterwards that everything acknowledged is there once.
//!
//! The program only uses what a merchant and an operator can use: processes, signals, files, PostgreSQL's own
//! tools, the command line and the API. It depends on no other crate of this workspace, so it cannot share
//! their mistakes. It never changes the machine's clock or another process's data.

#![expect(
    clippy::print_stdout,
    reason = "it is a program for a terminal, and never runs inside another"
)]

mod check;
mod client;
mod copied;
mod database;
mod effect;
mod faults;
mod garage;
mod hosted;
mod installation;
mod journal;
mod load;
mod machine;
mod objects;
mod patroni;
mod pgbouncer;
mod point_in_time;
mod portal;
mod postgres;
mod process;
mod proxy;
mod registrations;
mod setup;
mod specimens;
mod unfinished;
mod upgrade;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::{Parser, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use crate::check::{Expected, Report};
use crate::faults::Fault;
use crate::installation::Installation;
use crate::journal::Journal;
use crate::load::Load;
use crate::machine::SmallDisk;
use crate::setup::{Database, Objects, Setup};

/// What happens in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// Faults under mixed load.
    Load,
    /// Many faces register twice at the same moment, while a node dies.
    Registrations,
    /// A backup under load, the loss of everything, and a restore.
    Restore,
    /// The files of paused processes are copied and started (SQLite). It tests a consistent image, not syncs.
    DiskImage,
    /// PostgreSQL is recovered to a moment from a base backup and its archived log.
    PointInTime,
    /// Nodes of an earlier version (`--older-program`) are replaced one by one (PostgreSQL).
    Upgrade,
}

impl Scenario {
    /// Refuses a setup that the scenario cannot use, before anything starts.
    fn check(self, setup: Setup) -> anyhow::Result<()> {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        let name = name.unwrap_or_default();
        let copies = matches!(
            self,
            Scenario::Restore | Scenario::DiskImage | Scenario::PointInTime
        );
        ensure!(
            !copies || setup.objects == Objects::Folder,
            "the scenario {name} copies the folder of the objects: leave --objects garage out"
        );
        let (databases, named): (&[Database], _) = match self {
            Scenario::Load | Scenario::Registrations => return Ok(()),
            Scenario::Restore => (
                &[Database::Sqlite, Database::Postgres],
                "--database sqlite or --database postgres",
            ),
            Scenario::DiskImage => (
                &[Database::Sqlite],
                "--database sqlite, whose state is in one folder",
            ),
            Scenario::PointInTime => (&[Database::Postgres], "--database postgres"),
            Scenario::Upgrade => (
                &[Database::Postgres, Database::Patroni],
                "--database postgres or --database patroni",
            ),
        };
        ensure!(
            databases.contains(&setup.database),
            "the scenario {name} needs {named}"
        );
        Ok(())
    }
}

/// An asynchronous standby has received everything that was acknowledged so long ago.
const LAG: Duration = Duration::from_secs(3);

/// Breaks a running installation under load, and checks that nothing acknowledged was lost.
#[derive(Parser)]
#[command(name = "faults", version)]
struct Arguments {
    /// What happens.
    #[arg(long, value_enum, default_value_t = Scenario::Load)]
    scenario: Scenario,
    /// Pictures of many different people, for the scenario `registrations`: a folder of pictures, or one that
    /// `xtask specimens --faces` has made.
    #[arg(long)]
    faces: Option<PathBuf>,
    /// The database: SQLite with one node, or PostgreSQL with two.
    #[arg(long, value_enum, default_value_t = Database::Postgres)]
    database: Database,
    /// Put PgBouncer in transaction mode between the nodes and PostgreSQL.
    #[arg(long)]
    pgbouncer: bool,
    /// Where the nodes store files.
    #[arg(long, value_enum, default_value_t = Objects::Folder)]
    objects: Objects,
    /// Seconds under load.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seconds from the end of one fault to the next.
    #[arg(long, default_value_t = 20)]
    every: u64,
    /// Clients at once.
    #[arg(long, default_value_t = 4)]
    clients: usize,
    /// Seed for the order of the faults.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these faults, by name.
    #[arg(long, value_enum)]
    fault: Vec<Fault>,
    /// The server's program.
    #[arg(long, default_value = "target/debug/bonafide")]
    program: PathBuf,
    /// An earlier version of the program, for the fault `older-program` and the scenario `upgrade`.
    #[arg(long)]
    older_program: Option<PathBuf>,
    /// The file for acknowledgements, best on another disk; by default in a temporary folder.
    #[arg(long)]
    journal: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    // Dropping the run stops every process that it has started.
    tokio::select! {
        done = run(arguments) => done,
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
        _ = hang_up.recv() => bail!("the terminal was closed"),
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    // The client library requires a provider, even though no address here uses TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let setup = Setup {
        database: arguments.database,
        pgbouncer: arguments.pgbouncer,
        objects: arguments.objects,
    };
    arguments.scenario.check(setup)?;
    let journal = Arc::new(Journal::open(arguments.journal.as_deref())?);
    if let Some(program) = &arguments.older_program {
        machine::set_older_program(program)?;
    }
    let all: Vec<Fault> = match arguments.fault.is_empty() {
        true => Fault::of(setup),
        false => arguments.fault.clone(),
    };
    // It is unmounted last.
    let _disk = match all.contains(&Fault::FullDisk) {
        true => Some(SmallDisk::mount()?),
        false => None,
    };
    let first = match arguments.scenario {
        Scenario::Upgrade => arguments
            .older_program
            .as_deref()
            .context("the scenario upgrade needs --older-program PATH")?,
        _ => &arguments.program,
    };
    let installation = Arc::new(Installation::start(first, setup).await?);
    if arguments.scenario == Scenario::Registrations {
        return registrations::run(&installation, &journal, arguments.faces.as_deref()).await;
    }
    let archive = match arguments.scenario {
        Scenario::PointInTime => Some(point_in_time::archive(&installation).await?),
        _ => None,
    };
    let load = Load::start(&installation, &journal, arguments.clients).await?;

    let time = Duration::from_secs(arguments.seconds);
    match arguments.scenario {
        Scenario::Restore => {
            let (restored, expected) = copied::restore(&installation, &journal, load, time).await?;
            return finish(&restored, &journal, &expected).await;
        }
        Scenario::DiskImage => {
            let (image, expected) = copied::disk_image(&installation, &journal, load, time).await?;
            return finish(&image, &journal, &expected).await;
        }
        Scenario::PointInTime => {
            let archive = archive.context("no archive")?;
            let recovery = point_in_time::recover(&installation, archive, &journal, load, time);
            let (recovered, _server, expected) = recovery.await?;
            return finish(&recovered, &journal, &expected).await;
        }
        Scenario::Upgrade => {
            // Four periods: before, and after each of three steps.
            upgrade::run(&installation, &journal, &arguments.program, time / 4).await?;
            load.stop().await?;
            installation.restart_all().await?;
            return finish(
                &installation,
                &journal,
                &Expected::exactly(&journal.acknowledged()),
            )
            .await;
        }
        Scenario::Load | Scenario::Registrations => {}
    }
    let started = Instant::now();
    let end = started + Duration::from_secs(arguments.seconds);
    let pause = Duration::from_secs(arguments.every);
    ensure!(
        pause > journal::GRACE && started + pause < end,
        "a run needs time for a fault: --every is more than {:?} and less than --seconds",
        journal::GRACE
    );
    let mut order = faults::Order::new(all, arguments.seed);
    // What was acknowledged shortly before a failover and during it, if it may be lost.
    let mut uncertain = Vec::new();
    while Instant::now() + pause < end {
        tokio::time::sleep(pause).await;
        let (fault, node) = order.next(installation.nodes.len());
        let may_lose = installation.may_lose && fault == Fault::KilledPrimary;
        let earlier = may_lose.then(|| journal.acknowledged());
        if may_lose {
            tokio::time::sleep(LAG).await;
        }
        let from = Instant::now();
        installation.has_failed_over.fetch_or(may_lose, Ordering::SeqCst);
        let effect = installation.inflict(fault, node).await?;
        // Another primary is elected: what is acknowledged from now on may not be lost.
        uncertain.extend(earlier.map(|earlier| (earlier, journal.acknowledged())));
        installation.wait_until_ready().await?;
        journal.window(fault, from, Instant::now(), effect);
        println!(
            "{:>5} s  {fault}: {effect}, {:.1} s",
            started.elapsed().as_secs(),
            from.elapsed().as_secs_f64()
        );
    }
    tokio::time::sleep(end.saturating_duration_since(Instant::now())).await;
    load.stop().await?;

    installation.restart_all().await?;
    let mut expected = Expected::exactly(&journal.acknowledged());
    for (earlier, later) in uncertain.iter().rev() {
        expected.before.forget_between(earlier, later);
    }
    expected.is_exact = !installation.may_lose;
    finish(&installation, &journal, &expected).await
}

/// Checks an installation, and prints everything that was found. Fails if anything is wrong.
async fn finish(installation: &Installation, journal: &Journal, expected: &Expected) -> anyhow::Result<()> {
    let mut report = check::check(installation, expected).await?;
    objects::check(installation, expected, &mut report).await?;
    println!("{}", journal.summary());
    println!("found as acknowledged: {}", Report::counts(&report.found));
    if !expected.is_exact {
        println!("acknowledged later, and lost: {}", Report::counts(&report.lost));
    }
    let wrong: Vec<String> = journal.violations().into_iter().chain(report.wrong).collect();
    for wrong in &wrong {
        println!("WRONG  {wrong}");
    }
    ensure!(wrong.is_empty(), "{} violations", wrong.len());
    let lost = if expected.is_exact {
        "nothing lost"
    } else {
        "nothing else lost"
    };
    println!("{lost}, nothing doubled, no wrong answer");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_refuse_what_they_cannot_copy() {
        use Database::{Patroni, Postgres, Sqlite};
        use Objects::{Folder, Garage};
        for (scenario, database, objects, problem) in [
            (Scenario::Load, Patroni, Garage, None),
            (Scenario::Registrations, Postgres, Garage, None),
            (Scenario::Restore, Sqlite, Folder, None),
            (Scenario::Restore, Postgres, Folder, None),
            (Scenario::Restore, Patroni, Folder, Some("--database sqlite or")),
            (Scenario::Restore, Postgres, Garage, Some("--objects garage")),
            (Scenario::PointInTime, Postgres, Folder, None),
            (Scenario::PointInTime, Sqlite, Folder, Some("--database postgres")),
            (Scenario::PointInTime, Postgres, Garage, Some("--objects garage")),
            (Scenario::DiskImage, Sqlite, Folder, None),
            (Scenario::DiskImage, Postgres, Folder, Some("--database sqlite")),
            (Scenario::Upgrade, Postgres, Garage, None),
            (Scenario::Upgrade, Sqlite, Folder, Some("--database postgres or")),
            (Scenario::DiskImage, Sqlite, Garage, Some("--objects garage")),
        ] {
            let setup = Setup {
                database,
                pgbouncer: false,
                objects,
            };
            let error = scenario.check(setup).err().map(|error| error.to_string());
            let is_right = match (&error, problem) {
                (Some(error), Some(problem)) => error.contains(problem),
                (error, problem) => error.is_none() && problem.is_none(),
            };
            assert!(is_right, "{scenario:?} {setup:?}: {error:?}");
        }
    }
}
