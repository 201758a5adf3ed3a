//! The scenarios that lose an installation and go on with a copy: a backup that was made under load (`restore`),
//! and the disk of a paused machine (`disk-image`). Everything acknowledged before the copy must be there,
//! what came later is counted as lost, and nothing that remains contradicts itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use reqwest::StatusCode;
use rustix::process::Signal;

use crate::check::Expected;
use crate::database::Cluster;
use crate::effect::Effect;
use crate::faults::Fault;
use crate::installation::Installation;
use crate::installation::copies::{Copy, copy_folder};
use crate::journal::{Acknowledged, Journal};
use crate::load::Load;
use crate::postgres::{USER, sql_on};

/// How many people are erased after the copy was made.
const ERASED: usize = 3;

/// A backup under load, the loss of everything, and a restore into a new installation. Returns the restored
/// installation, which runs, and what it must contain.
pub(crate) async fn restore(
    installation: &Arc<Installation>,
    journal: &Journal,
    load: Load,
    time: Duration,
) -> anyhow::Result<(Installation, Expected)> {
    tokio::time::sleep(time / 2).await;
    journal.await_failed().await?;
    let identity = installation.folder().join("backup.key");
    let private = installation.bonafide(&["backup", "generate-key"]).await?;
    std::fs::write(&identity, &private)?;
    let public = private
        .lines()
        .find_map(|line| line.strip_prefix("# public key: "))
        .context("a private key without its public key")?;
    let (before, from) = (journal.acknowledged(), Instant::now());
    let file = installation.folder().join("backup.age");
    let (file, identity) = (file.display().to_string(), identity.display().to_string());
    installation
        .bonafide(&["backup", &file, "--recipient", public])
        .await?;
    println!("backup under load: {:.1} s", from.elapsed().as_secs_f64());
    let verify = ["backup", "verify", &file, "--identity", &identity];
    installation.bonafide(&verify).await?;
    tokio::time::sleep(time / 2).await;
    load.abort().await;
    let (mut before, mut after) = (before, journal.acknowledged());
    let erased = erase(installation, &mut before, &mut after).await?;
    installation.kill_all().await?;

    let copy = Copy::prepare(installation)?;
    let database = empty_database(installation, &copy).await?;
    let restored = copy.open(installation, database)?;
    let from = Instant::now();
    let objects = format!("file:{}", installation.objects.display());
    let restore = [
        "restore",
        &file,
        "--identity",
        &identity,
        "--erasure-journal",
        &objects,
    ];
    let printed = restored.bonafide(&restore).await?;
    println!(
        "restore: {:.1} s: {}",
        from.elapsed().as_secs_f64(),
        printed.trim()
    );
    start(&restored, &erased).await?;
    let expected = Expected {
        before,
        after,
        is_exact: false,
    };
    Ok((restored, expected))
}

/// The address of an empty database for a copy, on the server that the installation used.
async fn empty_database(installation: &Installation, copy: &Copy) -> anyhow::Result<String> {
    let Some(server) = &installation.database else {
        return Ok(copy.sqlite());
    };
    let Cluster::Single(postgres) = &server.cluster else {
        bail!("the scenario restore needs --database sqlite or --database postgres");
    };
    sql_on(postgres.port, "postgres", "create database restored").await?;
    Ok(format!("postgres://{USER}@127.0.0.1:{}/restored", postgres.port))
}

/// The files of paused processes, as a host copies a disk. It proves nothing about syncs, because `cp` reads what the
/// kernel has in memory. Returns the started copy, and what it must contain.
pub(crate) async fn disk_image(
    installation: &Arc<Installation>,
    journal: &Journal,
    load: Load,
    time: Duration,
) -> anyhow::Result<(Installation, Expected)> {
    ensure!(
        installation.database_url().starts_with("sqlite:"),
        "the scenario disk-image needs --database sqlite, whose whole state is in one folder"
    );
    tokio::time::sleep(time / 2).await;
    let from = Instant::now();
    installation.signal_all(Signal::STOP).await?;
    // Answers that were sent before the pause are still on their way to the clients.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = journal.acknowledged();
    let copy = Copy::prepare(installation)?;
    copy_folder(installation.data(0), &copy.data()).await?;
    copy_folder(&installation.objects, &copy.objects()).await?;
    let is_paused = installation.is_paused(0).await?;
    installation.signal_all(Signal::CONT).await?;
    println!("paused and copied: {:.1} s", from.elapsed().as_secs_f64());
    installation.wait_until_ready().await?;
    let effect = Effect::once(is_paused, "process paused");
    journal.window(Fault::PausedNode, from, Instant::now(), effect);
    tokio::time::sleep(time / 2).await;
    load.stop().await?;

    let database = copy.sqlite();
    let image = copy.open(installation, database)?;
    start(&image, &[]).await?;
    let expected = Expected {
        before,
        after: journal.acknowledged(),
        is_exact: false,
    };
    Ok((image, expected))
}

/// Starts an installation, and checks that erased people are not in it.
pub(crate) async fn start(installation: &Installation, erased: &[String]) -> anyhow::Result<()> {
    let doctor = installation.bonafide(&["doctor"]).await?;
    ensure!(!doctor.contains("BAD"), "doctor: {doctor}");
    installation.start_node(0).await?;
    installation.wait_until_ready().await?;
    for user in erased {
        let url = format!(
            "{}/v2/reports/applicants/byExternalUserId/{user}",
            installation.nodes[0].base()
        );
        let request = installation.http.get(url);
        let answer = request
            .basic_auth(installation.demo("apiKey"), Some(installation.demo("secret")))
            .send()
            .await?;
        ensure!(
            answer.status() == StatusCode::NOT_FOUND,
            "{user} was erased and is there again: {}",
            answer.text().await?
        );
    }
    Ok(())
}

/// Erases some people who were there before the copy, and expects nothing of them any more. Returns their
/// names.
pub(crate) async fn erase(
    installation: &Installation,
    before: &mut Acknowledged,
    after: &mut Acknowledged,
) -> anyhow::Result<Vec<String>> {
    let failed = before
        .ended
        .iter()
        .filter(|(_, ended)| ended.user.starts_with("failing-"))
        .take(ERASED);
    let erased: Vec<(String, String)> = failed
        .map(|(session, ended)| (session.clone(), ended.user.clone()))
        .collect();
    let account = installation.demo("merchantId");
    for (session, user) in &erased {
        let erase = [
            "erase",
            "--merchant",
            account,
            "--sandbox",
            "--external-user-id",
            user,
        ];
        installation.bonafide(&erase).await?;
        before.ended.remove(session);
        after.ended.remove(session);
    }
    println!("erased after the copy: {} people", erased.len());
    Ok(erased.into_iter().map(|(_, user)| user).collect())
}
