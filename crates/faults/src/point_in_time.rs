//! The scenario `point-in-time`: PostgreSQL archives its log under load, everything is lost, and the database is
//! recovered to a moment by PostgreSQL's own tools. What was acknowledged before that moment must be there, what
//! came later is counted as lost, and erasures are repeated. It never starts a second server on the first one's
//! objects.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use crate::check::Expected;
use crate::copied;
use crate::database::Cluster;
use crate::installation::Installation;
use crate::installation::copies::{Copy, copy_folder};
use crate::journal::Journal;
use crate::load::Load;
use crate::postgres::{self, Postgres, USER, run, sql_on};

/// How long the last piece of the log may take to reach the archive.
const ARCHIVES: Duration = Duration::from_secs(30);

/// The archive of an installation's database.
pub(crate) struct Archive {
    folder: PathBuf,
    /// The base backup, in a folder of a server that does not run yet.
    base: PathBuf,
}

fn server(installation: &Installation) -> anyhow::Result<&Postgres> {
    match installation.database.as_ref().map(|server| &server.cluster) {
        Some(Cluster::Single(postgres)) => Ok(postgres),
        _ => bail!("the scenario point-in-time needs --database postgres"),
    }
}

/// Makes the server archive its log, and makes a base backup. It must come before the load, because
/// PostgreSQL has to start again.
pub(crate) async fn archive(installation: &Installation) -> anyhow::Result<Archive> {
    let server = server(installation)?;
    let archive = Archive {
        folder: installation.folder().join("archive"),
        base: installation.folder().join("recovered"),
    };
    for folder in [&archive.folder, &archive.base] {
        postgres::unprivileged_folder(folder).await?;
    }
    let folder = archive.folder.display();
    let command = format!("test ! -f {folder}/%f && cp %p {folder}/.%f && mv {folder}/.%f {folder}/%f");
    sql_on(server.port, "postgres", "alter system set archive_mode = on").await?;
    let sql = format!("alter system set archive_command = '{command}'");
    sql_on(server.port, "postgres", &sql).await?;
    server.crash().await?;
    server.resume().await?;
    installation.wait_until_ready().await?;
    let port = server.port.to_string();
    let mut backup = postgres::unprivileged(postgres::find_bin()?.join("pg_basebackup"));
    backup
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            USER,
            "--checkpoint=fast",
            "-D",
        ])
        .arg(archive.base.join("data"));
    run(&mut backup).await?;
    Ok(archive)
}

/// Recovers the database to a moment in the middle of the load. Returns the installation on it, which runs,
/// its database server, and what it must contain.
pub(crate) async fn recover(
    installation: &Arc<Installation>,
    archive: Archive,
    journal: &Journal,
    load: Load,
    time: Duration,
) -> anyhow::Result<(Installation, Postgres, Expected)> {
    let port = server(installation)?.port;
    tokio::time::sleep(time / 2).await;
    journal.await_failed().await?;
    let mut before = journal.acknowledged();
    let moment = sql_on(port, "postgres", "select clock_timestamp()").await?;
    tokio::time::sleep(time / 2).await;
    load.abort().await;
    let mut after = journal.acknowledged();
    let erased = copied::erase(installation, &mut before, &mut after).await?;
    installation.kill_all().await?;
    await_archive(port, &archive).await?;
    server(installation)?.crash().await?;

    let from = Instant::now();
    let (folder, base) = (archive.folder.display(), archive.base.join("data"));
    let settings = format!(
        "archive_mode = off\nrestore_command = 'cp {folder}/%f %p'\nrecovery_target_time = '{}'\n\
         recovery_target_action = promote\n",
        moment.trim()
    );
    let file = base.join("postgresql.auto.conf");
    let before_settings = std::fs::read_to_string(&file)?;
    std::fs::write(&file, before_settings + &settings)?;
    std::fs::write(base.join("recovery.signal"), "")?;
    let recovered = Postgres::recover(archive.base).await?;
    let deadline = Instant::now() + ARCHIVES;
    while sql_on(recovered.port, "postgres", "select pg_is_in_recovery()")
        .await?
        .trim()
        != "f"
    {
        ensure!(Instant::now() < deadline, "PostgreSQL does not end its recovery");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!(
        "recovered to {}: {:.1} s",
        moment.trim(),
        from.elapsed().as_secs_f64()
    );

    let copy = Copy::prepare(installation)?;
    copy_folder(&installation.objects, &copy.objects()).await?;
    copy_folder(&installation.data(0).join("lists"), &copy.data().join("lists")).await?;
    let name = installation
        .database_url()
        .rsplit_once('/')
        .context("no database")?
        .1;
    let url = format!("postgres://{USER}@127.0.0.1:{}/{name}", recovered.port);
    let copy = copy.open(installation, url)?;
    let printed = copy.bonafide(&["repeat-erasures"]).await?;
    println!("repeat-erasures: {}", printed.trim());
    copied::start(&copy, &erased).await?;
    let expected = Expected {
        before,
        after,
        is_exact: false,
    };
    Ok((copy, recovered, expected))
}

/// Waits until everything written so far is in the archive.
async fn await_archive(port: u16, archive: &Archive) -> anyhow::Result<()> {
    let sql = "select pg_walfile_name(pg_switch_wal())";
    let last = sql_on(port, "postgres", sql).await?;
    let last = archive.folder.join(last.trim());
    let deadline = Instant::now() + ARCHIVES;
    while !last.exists() {
        ensure!(
            Instant::now() < deadline,
            "{} does not reach the archive",
            last.display()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
