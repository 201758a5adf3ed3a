//! The scenario `upgrade`: two nodes of an earlier version under load, whose schema is brought up to date and which are
//! replaced one after the other. Nothing may fail but requests to a node that is being replaced, which clients repeat.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::process::Signal;

use crate::effect::Effect;
use crate::faults::Fault;
use crate::installation::Installation;
use crate::journal::Journal;

/// Migrates the schema under load, and replaces each node by `program`. Both versions serve for `time` in between.
pub(crate) async fn run(
    installation: &Installation,
    journal: &Journal,
    program: &Path,
    time: Duration,
) -> anyhow::Result<()> {
    tokio::time::sleep(time).await;
    installation.set_program(program)?;
    let from = Instant::now();
    installation.bonafide(&["migrate"]).await?;
    println!(
        "schema migrated under load: {:.1} s",
        from.elapsed().as_secs_f64()
    );
    tokio::time::sleep(time).await;
    for node in 0..installation.nodes.len() {
        let from = Instant::now();
        let status = installation.end(node, Signal::TERM).await?;
        ensure!(status.success(), "node {node} did not stop cleanly: {status}");
        installation.start_node(node).await?;
        installation.wait_until_node_is_ready(node).await?;
        journal.window(
            Fault::StoppedNode,
            from,
            Instant::now(),
            Effect::once(true, "program replaced"),
        );
        println!("node {node} replaced: {:.1} s", from.elapsed().as_secs_f64());
        tokio::time::sleep(time).await;
    }
    Ok(())
}
