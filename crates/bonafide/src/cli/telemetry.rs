//! Switches off the telemetry of ONNX Runtime, which otherwise writes a device id to the home folder and sends events to
//! Microsoft from any process that loads it. It has no other switch than a variable that must be set at the start.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::Context as _;

/// The variable, which the library reads while it is loaded.
const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";

/// Starts the program again in the same process, with the variable, unless it is set. It must be called before anything
/// else, because everything before it happens twice.
///
/// # Errors
/// If the program cannot be started again: it must not go on then.
pub(crate) fn switch_off() -> anyhow::Result<()> {
    if env::var_os(VARIABLE).is_some() {
        return Ok(());
    }
    let program = env::current_exe().context("the program's file cannot be found")?;
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    let error = Command::new(program)
        .arg0(name)
        .args(arguments)
        .env(VARIABLE, "1")
        .exec();
    Err(error).with_context(|| format!("the program cannot be started again with {VARIABLE}=1"))
}
