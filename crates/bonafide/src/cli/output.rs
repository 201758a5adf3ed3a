//! Output that all commands print the same way. It decides nothing about the content.

/// Writes a line to stdout.
///
/// # Errors
/// Fails if stdout cannot be written to, for example because its reader has closed the pipe.
pub(crate) fn print_line(line: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Reports that the change is only proposed and that two people must confirm it in the portal.
pub(crate) fn print_proposed(json: bool) -> anyhow::Result<()> {
    print_line(if json {
        r#"{"proposed":true}"#
    } else {
        "Proposed. Two people must confirm it in the portal, under \"Needs second approval\"."
    })
}
