//! Being written.
pub(crate) fn run(_out: &std::path::Path, _models: &std::path::Path) -> anyhow::Result<()> { anyhow::bail!("not built yet") }
