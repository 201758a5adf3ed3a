//! Being written.
pub(crate) fn run(_check: bool) -> anyhow::Result<()> { anyhow::bail!("not built yet") }
