//! Output that all commands print the same way. It decides nothing about the content.

/// Writes a line for people to stderr, formatted as by `eprintln!`. A line that cannot be written is lost: `eprintln!`
/// would panic, and a full disk under stderr would end the server.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::cli::output::write_note(format_args!($($text)*))
    };
}
pub(super) use note;

/// Writes a line to stderr, as [`note!`] does.
pub(super) fn write_note(text: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    // One write for the whole line, so that lines of several threads do not mix.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

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
