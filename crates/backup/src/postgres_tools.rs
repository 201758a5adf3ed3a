//! Runs `pg_dump` and `pg_restore`. The password goes through the environment, because every user of a machine
//! can read arguments.

use std::path::Path;
use std::process::Stdio;

use percent_encoding::percent_decode_str;
use tokio::process::Command;
use url::Url;

use store::snapshots::{MARKER, PostgresSnapshot};

use crate::error::BackupError;

/// The environment variables of libpq by the parameters of an address.
const PARAMETERS: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("options", "PGOPTIONS"),
    ("sslmode", "PGSSLMODE"),
    ("ssl-mode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("ssl-root-cert", "PGSSLROOTCERT"),
    ("ssl-ca", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("ssl-cert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("ssl-key", "PGSSLKEY"),
];

/// Writes a snapshot of a database to a file, in the custom format.
pub(crate) async fn dump(address: &str, snapshot: &PostgresSnapshot, to: &Path) -> Result<(), BackupError> {
    let mut command = tool("pg_dump", address)?;
    command.args([
        "--format=custom",
        "--no-owner",
        "--no-privileges",
        "--no-password",
    ]);
    // Other programs may have schemas of the same database.
    let schema = snapshot.schema.replace('"', "\"\"");
    command.arg(format!("--table=\"{schema}\".*"));
    command.arg(format!("--exclude-table=*.{MARKER}"));
    command
        .arg(format!("--snapshot={}", snapshot.name))
        .arg("--file")
        .arg(to);
    run("pg_dump", command).await
}

/// Copies a dump into a database without tables, in one transaction.
pub(crate) async fn restore(address: &str, from: &Path) -> Result<(), BackupError> {
    let mut command = tool("pg_restore", address)?;
    command.args([
        "--no-owner",
        "--no-privileges",
        "--no-password",
        "--single-transaction",
    ]);
    command.arg("--exit-on-error");
    let (_, database) = environment(address)?
        .into_iter()
        .rfind(|(name, _)| *name == "PGDATABASE")
        .ok_or_else(|| BackupError::Argument("the database's address names no database".into()))?;
    command.arg("--dbname").arg(database).arg(from);
    run("pg_restore", command).await
}

/// Reads the list of contents of a dump, which fails if it is no dump.
pub(crate) async fn check(dump: &Path) -> Result<(), BackupError> {
    let mut command = Command::new("pg_restore");
    command.arg("--list").arg(dump);
    run("pg_restore", command).await
}

/// Refuses a `pg_restore` that sends settings that the server does not know: version 17 or later sends
/// `transaction_timeout`, which earlier servers refuse.
pub(crate) async fn check_version(server_major: u32) -> Result<(), BackupError> {
    const PROGRAM: &str = "pg_restore";
    let output = Command::new(PROGRAM).arg("--version").output().await;
    let output = output.map_err(|error| BackupError::Tool {
        program: PROGRAM,
        reason: format!("{error}. Install PostgreSQL's client programs (Debian: postgresql-client)"),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_digit = |letter: char| letter.is_ascii_digit();
    let version = text.split_whitespace().find(|word| word.starts_with(is_digit));
    let major = version.and_then(|version| version.split(|letter| !is_digit(letter)).next());
    let major: u32 = major.and_then(|major| major.parse().ok()).unwrap_or_default();
    if major < 17 || server_major >= 17 {
        return Ok(());
    }
    Err(BackupError::Tool {
        program: PROGRAM,
        reason: format!(
            "version {major} cannot restore into PostgreSQL {server_major}. Install the client programs of version \
             {server_major} (Debian: postgresql-client-{server_major}), or use a server of version 17 or later"
        ),
    })
}

fn tool(program: &str, address: &str) -> Result<Command, BackupError> {
    let mut command = Command::new(program);
    command.envs(environment(address)?);
    Ok(command)
}

/// The environment variables that name a database.
fn environment(address: &str) -> Result<Vec<(&'static str, String)>, BackupError> {
    let unusable = |_| BackupError::Argument("the database address is not a URL".into());
    let url = Url::parse(address).map_err(unusable)?;
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut variables = vec![("PGAPPNAME", "bonafide backup".to_owned())];
    let mut set = |name, value: String| {
        if !value.is_empty() {
            variables.push((name, value));
        }
    };
    set("PGHOST", decoded(url.host_str().unwrap_or_default()));
    set(
        "PGPORT",
        url.port().map(|port| port.to_string()).unwrap_or_default(),
    );
    set("PGUSER", decoded(url.username()));
    set("PGPASSWORD", decoded(url.password().unwrap_or_default()));
    set("PGDATABASE", decoded(url.path().trim_start_matches('/')));
    for (name, value) in url.query_pairs() {
        if let Some((_, variable)) = PARAMETERS.iter().find(|(known, _)| *known == name) {
            set(variable, value.into_owned());
        }
    }
    // The server trusts the usual authorities; libpq does so only if it is told.
    let is_set = |wanted: &str| variables.iter().any(|(name, _)| *name == wanted);
    let verifies = |(name, value): &(&str, String)| *name == "PGSSLMODE" && value.starts_with("verify");
    if variables.iter().any(verifies) && !is_set("PGSSLROOTCERT") {
        variables.push(("PGSSLROOTCERT", "system".to_owned()));
    }
    Ok(variables)
}

async fn run(program: &'static str, mut command: Command) -> Result<(), BackupError> {
    let failed = |reason: String| BackupError::Tool { program, reason };
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let fix = "the program was not found. Install PostgreSQL's client programs (Debian: \
                       postgresql-client) of the server's version or a later one";
            return Err(failed(fix.into()));
        }
        Err(error) => return Err(failed(error.to_string())),
        Ok(child) => child.wait_with_output().await,
    };
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = printed.lines().take(5).collect();
    Err(failed(if first.is_empty() {
        output.status.to_string()
    } else {
        first.join("; ")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_environments() {
        for (address, expected) in [
            (
                "postgres://ada:p%40ss@db.example:5433/bona%20fide?sslmode=verify-full&sslrootcert=/ca.pem",
                "PGHOST=db.example PGPORT=5433 PGUSER=ada PGPASSWORD=p@ss PGDATABASE=bona fide \
                 PGSSLMODE=verify-full PGSSLROOTCERT=/ca.pem",
            ),
            (
                "postgresql:///bonafide?host=/run/postgresql&user=bonafide&statement_cache_capacity=0",
                "PGDATABASE=bonafide PGHOST=/run/postgresql PGUSER=bonafide",
            ),
            (
                "postgres://db.example/x?sslmode=verify-full",
                "PGHOST=db.example PGDATABASE=x PGSSLMODE=verify-full PGSSLROOTCERT=system",
            ),
            (
                "postgres://%2Frun%2Fpostgresql/x",
                "PGHOST=/run/postgresql PGDATABASE=x",
            ),
        ] {
            let found = environment(address).unwrap();
            let found: Vec<String> = found
                .iter()
                .skip(1)
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            assert_eq!(found.join(" "), expected, "{address}");
        }
        assert!(matches!(environment("bonafide"), Err(BackupError::Argument(_))));
    }
}
