//! What every command prints the same way. It decides nothing about what is printed.

/// Writes a line to stdout; a reader that has gone ends the program quietly.
pub(crate) fn say(line: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Reports that a change waits: two people, who confirm it in the portal, are required.
pub(crate) fn say_proposed(json: bool) -> anyhow::Result<()> {
    say(if json {
        r#"{"proposed":true}"#
    } else {
        "Proposed. Two people must confirm it in the portal, under \"Needs second approval\"."
    })
}
