//! The process's own log: structured lines to stderr. It never contains personal data, secrets or bodies.

use std::io;

use tracing_subscriber::EnvFilter;

/// Starts logging, as JSON lines or as text. `RUST_LOG` overrides the default filter.
pub fn start(json: bool) {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,hyper=warn,ort=warn"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // The report of a line that cannot be written would go to stderr too, and panic there. A full disk
        // with the log on it would end the server.
        .log_internal_errors(false)
        .with_target(false);
    // The default hook prints the panic's message, which may quote input data.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    // A second start in one process, as in tests, retains the first subscriber.
    let _ = if json {
        builder.json().try_init()
    } else {
        builder.try_init()
    };
}
