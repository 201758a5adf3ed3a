//! Starts the server with its own database and sends requests to it.

mod database;
pub(crate) mod mail;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use self::database::database;

/// The database of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// Defines the same test on both databases: `on_both!(name, |backend| { … })`.
macro_rules! on_both {
    ($name:ident, |$backend:ident| $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn run($backend: crate::harness::Backend) $body

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                run(crate::harness::Backend::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                run(crate::harness::Backend::Postgres).await;
            }
        }
    };
}
pub(crate) use on_both;

/// A running server; stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) base: String,
    pub(crate) dir: TempDir,
    pub(crate) database: String,
    /// Environment variables of the server, and of every command on its data.
    environment: Environment,
    pub(crate) http: Client,
}

/// Environment variables and their values.
pub(crate) type Environment = Vec<(&'static str, String)>;

/// An API key with its secret.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) secret: String,
}

impl Key {
    /// The demo account's key, from the `demo.json` of `serve --demo`.
    pub(crate) fn of_demo(demo: &Value) -> Key {
        let told = |name: &str| demo[name].as_str().unwrap().to_owned();
        Key {
            key: told("apiKey"),
            secret: told("secret"),
        }
    }
}

/// An account.
pub(crate) struct Merchant {
    pub(crate) id: String,
    pub(crate) live: Key,
    pub(crate) sandbox: Key,
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

pub(crate) fn program(database: &str, dir: &Path, environment: &Environment) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bonafide"));
    command
        // The dates in the tests' lists do not grow with the calendar.
        .env("BONAFIDE_LIST_MAX_AGE_HOURS", "0")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("BONAFIDE_DATA", dir)
        .env("BONAFIDE_DATABASE", database)
        .env("BONAFIDE_MODELS", workspace().join("models"))
        // Hundreds of servers start, and few of them read a file.
        .env("BONAFIDE_ENGINES_ON_DEMAND", "true")
        .env("BONAFIDE_SPECIMENS", workspace().join("specimens"));
    command
}

/// Runs a command on the SQLite data in a folder.
pub(crate) fn try_command(dir: &Path, environment: &Environment, arguments: &[&str]) -> std::process::Output {
    let database = format!("sqlite:{}", dir.join("bonafide.db").display());
    program(&database, dir, environment)
        .args(arguments)
        .output()
        .unwrap()
}

/// Starts the server and waits until it listens. Returns its process and address. Its log goes to a file in
/// the folder.
fn spawn(
    dir: &Path,
    database: &str,
    environment: &Environment,
    arguments: &[&str],
    log: &str,
) -> (Child, String) {
    try_spawn(dir, database, environment, arguments, log)
        .unwrap_or_else(|said| panic!("the server did not start:\n{said}"))
}

/// Does the same for a server that may refuse to start. The error is its output on stderr.
fn try_spawn(
    dir: &Path,
    database: &str,
    environment: &Environment,
    arguments: &[&str],
    log: &str,
) -> Result<(Child, String), String> {
    let mut child = program(database, dir, environment)
        .args(["serve", "--listen", "127.0.0.1:0", "--log-json"])
        .args(arguments)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut seen = String::new();
    let address = loop {
        let Some(Ok(line)) = lines.next() else {
            let status = child.wait().unwrap();
            assert!(!status.success(), "it ended without an error:\n{seen}");
            return Err(seen);
        };
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["fields"]["message"] == "listening" {
            break entry["fields"]["address"].as_str().unwrap().to_owned();
        }
        seen.push_str(&line);
        seen.push('\n');
    };
    let log = dir.join(log);
    std::thread::spawn(move || {
        use std::io::Write;
        // The folder may already be deleted. The lines must be read nevertheless, because a full pipe would
        // block the server.
        let mut file = std::fs::File::create(log).unwrap_or_else(|_| tempfile::tempfile().unwrap());
        for line in lines.map_while(Result::ok) {
            let _ = writeln!(file, "{line}");
        }
    });
    Ok((child, format!("http://{address}")))
}

impl Server {
    /// A server without data. Tests create accounts with the command line.
    pub(crate) async fn start(backend: Backend, arguments: &[&str]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let database = database(backend, dir.path()).await;
        Server::start_on(dir, database, Vec::new(), arguments)
    }

    /// A server on SQLite in a folder that may contain data, with environment variables.
    pub(crate) async fn start_in(dir: TempDir, environment: Environment, arguments: &[&str]) -> Server {
        let database = database(Backend::Sqlite, dir.path()).await;
        Server::start_on(dir, database, environment, arguments)
    }

    /// A server with the sandbox merchant, and its `demo.json`.
    pub(crate) async fn demo(backend: Backend, arguments: &[&str]) -> (Server, Value) {
        let server = Server::start(backend, &[&["--demo"], arguments].concat()).await;
        let file = server.dir.path().join("demo.json");
        wait_until(async || file.exists(), "demo.json is there").await;
        let demo: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        (server, demo)
    }

    /// A second process on the same data. It must be dropped first.
    pub(crate) fn second_process(&self, arguments: &[&str]) -> Server {
        let (child, base) = spawn(
            self.dir.path(),
            &self.database,
            &self.environment,
            arguments,
            "beside.log",
        );
        Server {
            child,
            base,
            dir: tempfile::tempdir().unwrap(),
            database: self.database.clone(),
            environment: self.environment.clone(),
            http: Client::new(),
        }
    }

    /// A server with its own data folder on an existing database. If it refuses to start, the error has the
    /// folder and its output on stderr.
    pub(crate) fn try_start_on(
        dir: TempDir,
        database: &str,
        arguments: &[&str],
        environment: &[(&'static str, &str)],
    ) -> Result<Server, (TempDir, String)> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let environment: Environment = environment
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        match try_spawn(dir.path(), database, &environment, arguments, "server.log") {
            Ok((child, base)) => Ok(Server {
                child,
                base,
                dir,
                database: database.to_owned(),
                environment,
                http: Client::new(),
            }),
            Err(said) => Err((dir, said)),
        }
    }

    /// Another node on the same database: its own data folder with a copy of the master key.
    pub(crate) fn another_node(&self, arguments: &[&str], environment: &[(&'static str, &str)]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(self.dir.path().join("master.key"), dir.path().join("master.key")).unwrap();
        Server::try_start_on(dir, &self.database, arguments, environment)
            .unwrap_or_else(|(_, said)| panic!("the node did not start:\n{said}"))
    }

    /// Stops the server like an operator would. Returns its data folder and its database URL.
    pub(crate) fn stop(mut self) -> (TempDir, String) {
        self.ask_to_stop();
        assert!(self.wait().success());
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        (dir, self.database.clone())
    }

    /// A part of the response of `/readyz`: whether it is ready, and the details.
    pub(crate) async fn readiness_part(&self, name: &str) -> (bool, String) {
        let ready = self
            .http
            .get(format!("{}/readyz", self.base))
            .send()
            .await
            .unwrap();
        let body: Value = ready.json().await.unwrap();
        let part = body["parts"]
            .as_array()
            .unwrap()
            .iter()
            .find(|part| part["name"] == name)
            .unwrap_or_else(|| panic!("no part {name}: {body}"));
        let detail = part["detail"].as_str().unwrap_or_default().to_owned();
        (part["ready"] == json!(true), detail)
    }

    fn start_on(dir: TempDir, database: String, environment: Environment, arguments: &[&str]) -> Server {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (child, base) = spawn(dir.path(), &database, &environment, arguments, "server.log");
        Server {
            child,
            base,
            dir,
            database,
            environment,
            http: Client::new(),
        }
    }

    /// Kills the server with SIGKILL and starts it again on the same data.
    pub(crate) fn kill_and_restart(mut self, arguments: &[&str]) -> Server {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        Server::start_on(dir, self.database.clone(), self.environment.clone(), arguments)
    }

    /// Kills the server with SIGKILL. Returns its data folder.
    pub(crate) fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }

    /// The ID of the server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until the server's process ends.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// Runs a command on the server's data, which must succeed. Returns its stdout.
    pub(crate) fn bonafide(&self, arguments: &[&str]) -> String {
        let output = self.try_bonafide(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Decides on an attempt from a line of `review list`. Any hits are recorded as another person.
    pub(crate) fn review(&self, decision: &str, waiting: &Value) {
        let number = waiting["logId"].to_string();
        let hits = waiting["hits"].as_array().unwrap();
        let hits: Vec<String> = hits
            .iter()
            .map(|hit| format!("{}=other_person", hit.as_str().unwrap()))
            .collect();
        let mut arguments = vec!["review", decision, &number, "--reason", "seen"];
        if decision == "approve" {
            arguments.extend(hits.iter().flat_map(|hit| ["--disposition", hit.as_str()]));
        }
        self.bonafide(&arguments);
    }

    /// Does the same for a command that may fail.
    pub(crate) fn try_bonafide(&self, arguments: &[&str]) -> std::process::Output {
        program(&self.database, self.dir.path(), &self.environment)
            .args(arguments)
            .output()
            .unwrap()
    }

    /// A new account.
    pub(crate) fn merchant(&self, approved: bool) -> Merchant {
        let mut arguments = vec!["merchant", "create", "--name", "Test", "--json"];
        arguments.extend(approved.then_some("--approved"));
        let made: Value = serde_json::from_str(&self.bonafide(&arguments)).unwrap();
        let key = |mode: &str| Key {
            key: made[mode]["apiKey"].as_str().unwrap().into(),
            secret: made[mode]["secret"].as_str().unwrap().into(),
        };
        Merchant {
            id: made["merchantId"].as_str().unwrap().into(),
            live: key("live"),
            sandbox: key("sandbox"),
        }
    }

    /// Creates a sandbox Flow for an account. Returns its ID.
    pub(crate) fn flow(&self, merchant: &Merchant, flow: &Value) -> String {
        let file = self.dir.path().join("flow.json");
        std::fs::write(&file, flow.to_string()).unwrap();
        let file = file.to_str().unwrap();
        let made = self.bonafide(&[
            "flow",
            "create",
            "--merchant",
            &merchant.id,
            "--file",
            file,
            "--sandbox",
            "--json",
        ]);
        serde_json::from_str::<Value>(&made).unwrap()["flowId"]
            .as_str()
            .unwrap()
            .into()
    }

    pub(crate) fn request(&self, method: Method, path: &str, key: &Key) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .basic_auth(&key.key, Some(&key.secret))
    }

    /// Sends a JSON body (or none) and reads a JSON response.
    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        key: &Key,
        body: Option<Value>,
    ) -> (u16, Value) {
        let mut request = self.request(method, path, key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        answer(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, key: &Key) -> (u16, Value) {
        self.json(Method::GET, path, key, None).await
    }

    pub(crate) async fn post(&self, path: &str, key: &Key, body: Value) -> (u16, Value) {
        self.json(Method::POST, path, key, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, key: &Key, body: Value) -> (u16, Value) {
        self.json(Method::PUT, path, key, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str, key: &Key) -> (u16, Value) {
        self.json(Method::DELETE, path, key, None).await
    }

    /// Waits until the engines are loaded.
    pub(crate) async fn engines(&self) {
        eventually(async || match self.readiness_part("engines").await {
            (true, _) => Ok(()),
            (false, detail) => Err(format!("the engines did not load: {detail}")),
        })
        .await;
    }

    /// The server's log, including every line written before this call.
    pub(crate) async fn log(&self) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let last = self.http.get(format!("{}/healthz", self.base));
        last.header("x-request-id", &id).send().await.unwrap();
        let file = self.dir.path().join("server.log");
        eventually(async || {
            let log = std::fs::read_to_string(&file).unwrap_or_default();
            match log.contains(&id) {
                true => Ok(log),
                false => Err(format!("the log lacks {id}:\n{log}")),
            }
        })
        .await
    }
}

/// Waits until `ask` succeeds. Its error states why it does not yet; after two minutes the test fails with
/// that.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut pause = Duration::from_millis(5);
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(reason) => assert!(Instant::now() < deadline, "{reason}"),
        }
        tokio::time::sleep(pause).await;
        // The pause grows, because some questions start a program.
        pause = (pause * 2).min(Duration::from_millis(160));
    }
}

/// Waits until a condition is true.
pub(crate) async fn wait_until(mut holds: impl AsyncFnMut() -> bool, what: &str) {
    eventually(async || match holds().await {
        true => Ok(()),
        false => Err(format!("never: {what}")),
    })
    .await;
}

/// The status and JSON body of a response. Every response must have a request ID.
pub(crate) async fn answer(response: Response) -> (u16, Value) {
    let status: StatusCode = response.status();
    assert!(response.headers().contains_key("x-request-id"), "no X-Request-Id");
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: not JSON: {text}"));
    (status.as_u16(), body)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
