//! Starts the server with a database of its own and talks to it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// Which database.
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
    database: String,
    /// Variables of the server's environment and of every command's on its data.
    environment: Environment,
    pub(crate) http: Client,
}

/// Variables and their values.
pub(crate) type Environment = Vec<(&'static str, String)>;

/// An API key with its secret.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) key: String,
    pub(crate) secret: String,
}

impl Key {
    /// That of the demo account, from what `serve --demo` said.
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
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("BONAFIDE_DATA", dir)
        .env("BONAFIDE_DATABASE", database)
        .env("BONAFIDE_MODELS", workspace().join("models"))
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

/// A connection of the test's own.
enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// Starts the server and waits until it listens; its process and address. Its log goes on into a file of the folder.
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

/// The same for a server that may refuse to start: then what it wrote to stderr.
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
        // The folder may be gone by now; the lines must be read all the same, or the server would block.
        let mut file = std::fs::File::create(log).unwrap_or_else(|_| tempfile::tempfile().unwrap());
        for line in lines.map_while(Result::ok) {
            let _ = writeln!(file, "{line}");
        }
    });
    Ok((child, format!("http://{address}")))
}

/// The address of a fresh database.
pub(crate) async fn database(backend: Backend, dir: &Path) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    match backend {
        Backend::Sqlite => format!("sqlite:{}", dir.join("bonafide.db").display()),
        Backend::Postgres => {
            let cluster = std::env::var("BONAFIDE_TEST_POSTGRES")
                .expect("PostgreSQL tests need a cluster: run them with `scripts/with-postgres cargo test`");
            let name = format!(
                "it_{}_{}",
                std::process::id(),
                NUMBER.fetch_add(1, Ordering::Relaxed)
            );
            let mut admin = PgConnection::connect(&cluster).await.unwrap();
            let create = sqlx::AssertSqlSafe(format!("create database {name}"));
            sqlx::raw_sql(create).execute(&mut admin).await.unwrap();
            let (server, query) = cluster
                .split_once('?')
                .map_or((cluster.as_str(), None), |(a, b)| (a, Some(b)));
            let (server, _) = server.rsplit_once('/').unwrap();
            format!(
                "{server}/{name}{}",
                query.map(|query| format!("?{query}")).unwrap_or_default()
            )
        }
    }
}

impl Server {
    /// A server without data; accounts are made with the command line.
    pub(crate) async fn start(backend: Backend, arguments: &[&str]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let database = database(backend, dir.path()).await;
        Server::start_on(dir, database, Vec::new(), arguments)
    }

    /// A server on SQLite in a folder, which may hold data, with variables in its environment.
    pub(crate) async fn start_in(dir: TempDir, environment: Environment, arguments: &[&str]) -> Server {
        let database = database(Backend::Sqlite, dir.path()).await;
        Server::start_on(dir, database, environment, arguments)
    }

    /// A server with the sandbox merchant, and its `demo.json`.
    pub(crate) async fn demo(backend: Backend, arguments: &[&str]) -> (Server, Value) {
        let server = Server::start(backend, &[&["--demo"], arguments].concat()).await;
        let file = server.dir.path().join("demo.json");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !file.exists() {
            assert!(Instant::now() < deadline, "demo.json did not come");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let demo: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        (server, demo)
    }

    /// A second process on the same data; to be dropped first.
    pub(crate) fn beside(&self, arguments: &[&str]) -> Server {
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

    /// A server with its own data folder on a database; or the folder, and what it wrote to stderr when it refused.
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

    /// Another node: its own data folder with a copy of the master key, on the same database.
    pub(crate) fn another_node(&self, arguments: &[&str], environment: &[(&'static str, &str)]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(self.dir.path().join("master.key"), dir.path().join("master.key")).unwrap();
        Server::try_start_on(dir, &self.database, arguments, environment)
            .unwrap_or_else(|(_, said)| panic!("the node did not start:\n{said}"))
    }

    /// Stops it as an operator would; its data folder and its database.
    pub(crate) fn stop(mut self) -> (TempDir, String) {
        self.ask_to_stop();
        assert!(self.wait().success());
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        (dir, self.database.clone())
    }

    /// A part of the answer of `/readyz`: whether it is ready, and why not.
    pub(crate) async fn part(&self, name: &str) -> (bool, String) {
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

    /// Changes the database behind the server's back, as time would.
    pub(crate) async fn sql(&self, sql: &'static str) {
        if sql.contains("rate_limits") && self.database.starts_with("sqlite:") {
            // SQLite has two tables of them: those of sign-ins are durable, the others are traffic.
            let traffic = self.database.replace(".db", ".traffic.db");
            let mut connection = SqliteConnection::connect(&traffic).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap();
        }
        match self.connection(sql).await {
            Connection::Sqlite(mut connection) => {
                sqlx::query(sql).execute(&mut connection).await.unwrap();
            }
            Connection::Postgres(mut connection) => {
                sqlx::query(sql).execute(&mut connection).await.unwrap();
            }
        }
    }

    /// Runs a statement in a transaction that ends only half a second after something else has begun.
    pub(crate) async fn sql_beside<F: Future>(&self, sql: &'static str, other: F) -> F::Output {
        macro_rules! held {
            ($connection:ident) => {{
                let mut held = $connection.begin().await.unwrap();
                sqlx::query(sql).execute(&mut *held).await.unwrap();
                let ends = async {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    held.commit().await.unwrap();
                };
                tokio::join!(other, ends).0
            }};
        }
        match self.connection(sql).await {
            Connection::Sqlite(mut connection) => held!(connection),
            Connection::Postgres(mut connection) => held!(connection),
        }
    }

    /// The one number that a query answers.
    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        match self.connection(sql).await {
            Connection::Sqlite(mut connection) => {
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
            Connection::Postgres(mut connection) => {
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
        }
    }

    /// Copies every table, so that [`Server::fall_back`] can bring this state of the database back.
    pub(crate) async fn remember_database(&self) {
        for table in self.tables().await {
            self.dynamic(&[format!("create table kept_{table} as select * from {table}")])
                .await;
        }
    }

    /// Brings the remembered state back behind the running server's back, in one transaction: what a process sees when a
    /// replica that lagged is promoted or a backup is restored to a point in time.
    pub(crate) async fn fall_back(&self) {
        let kept: Vec<String> = self
            .tables()
            .await
            .iter()
            .filter_map(|table| table.strip_prefix("kept_").map(str::to_owned))
            .collect();
        assert!(!kept.is_empty(), "nothing was remembered");
        let mut statements = Vec::new();
        let sqlite = self.database.starts_with("sqlite:");
        statements.push(if sqlite {
            "pragma foreign_keys = off".to_owned()
        } else {
            "set session_replication_role = 'replica'".to_owned()
        });
        statements.push(if sqlite { "begin immediate" } else { "begin" }.to_owned());
        for table in kept {
            statements.push(format!("delete from {table}"));
            statements.push(format!("insert into {table} select * from kept_{table}"));
        }
        statements.push("commit".to_owned());
        self.dynamic(&statements).await;
    }

    /// The tables of the schema, without those of the migrations.
    async fn tables(&self) -> Vec<String> {
        let tables: Vec<String> = match self.connection("").await {
            Connection::Sqlite(mut connection) => {
                let sql = "select name from sqlite_master where type = 'table' order by name";
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            Connection::Postgres(mut connection) => {
                let sql =
                    "select tablename::text from pg_tables where schemaname = 'public' order by tablename";
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
        };
        let own = |table: &String| !table.starts_with("sqlite_") && !table.starts_with("_sqlx");
        tables.into_iter().filter(own).collect()
    }

    /// Statements that a test puts together, on one connection.
    async fn dynamic(&self, statements: &[String]) {
        let mut connection = self.connection("").await;
        for sql in statements {
            let sql = sqlx::AssertSqlSafe(sql.clone());
            match &mut connection {
                Connection::Sqlite(connection) => {
                    sqlx::raw_sql(sql).execute(connection).await.unwrap();
                }
                Connection::Postgres(connection) => {
                    sqlx::raw_sql(sql).execute(connection).await.unwrap();
                }
            }
        }
    }

    /// The byte strings that a query answers.
    pub(crate) async fn bytes(&self, sql: &str) -> Vec<Vec<u8>> {
        let connection = self.connection(sql).await;
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match connection {
            Connection::Sqlite(mut connection) => {
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            Connection::Postgres(mut connection) => {
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
        }
    }

    /// The texts that a query answers.
    async fn texts(&self, sql: &str) -> Vec<String> {
        let connection = self.connection(sql).await;
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match connection {
            Connection::Sqlite(mut connection) => {
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            Connection::Postgres(mut connection) => {
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
        }
    }

    /// Every row of every table as text, bytes in hexadecimal digits: what a dump holds.
    pub(crate) async fn dump(&self) -> Vec<String> {
        let is_sqlite = self.database.starts_with("sqlite:");
        let tables = match is_sqlite {
            true => "select name from sqlite_master where type = 'table'",
            false => {
                "select cast(table_name as text) from information_schema.tables where table_schema = 'public'"
            }
        };
        let mut rows = Vec::new();
        for table in self.texts(tables).await {
            let row = match is_sqlite {
                true => {
                    let columns =
                        format!("select 'quote(\"' || name || '\")' from pragma_table_info('{table}')");
                    self.texts(&columns).await.join("||','||")
                }
                false => "cast(t as text)".to_owned(),
            };
            rows.extend(self.texts(&format!("select {row} from \"{table}\" t")).await);
        }
        rows
    }

    /// A connection to what a statement is about: on SQLite the API log has a file of its own.
    async fn connection(&self, sql: &str) -> Connection {
        if self.database.starts_with("sqlite:") {
            let of_traffic = sql.contains("from api_log") || sql.contains("update api_log");
            let traffic = self.database.replace(".db", ".traffic.db");
            let database = if of_traffic { &traffic } else { &self.database };
            Connection::Sqlite(SqliteConnection::connect(database).await.unwrap())
        } else {
            Connection::Postgres(PgConnection::connect(&self.database).await.unwrap())
        }
    }

    /// Kills the server as a power cut would and starts it again on the same data.
    pub(crate) fn kill_and_restart(mut self, arguments: &[&str]) -> Server {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        Server::start_on(dir, self.database.clone(), self.environment.clone(), arguments)
    }

    /// The SQLite database, for looking at rows.
    pub(crate) async fn sqlite(&self) -> sqlx::SqliteConnection {
        <sqlx::SqliteConnection as sqlx::Connection>::connect(&self.database)
            .await
            .unwrap()
    }

    /// Kills the server as a power cut would; its data folder.
    pub(crate) fn kill(mut self) -> TempDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the server's end.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// Runs a command of the command line on the server's data; its stdout.
    pub(crate) fn bonafide(&self, arguments: &[&str]) -> String {
        let output = self.try_bonafide(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Decides on an attempt, a line of `review list`, on the command line. Its hits, if any, mean another person.
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

    /// The same, for commands that may fail.
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

    /// A new sandbox Flow of an account; its id.
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

    /// Sends a JSON body (or none) and reads a JSON answer.
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
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let ready = self
                .http
                .get(format!("{}/readyz", self.base))
                .send()
                .await
                .unwrap();
            let body: Value = ready.json().await.unwrap();
            let engines = body["parts"]
                .as_array()
                .unwrap()
                .iter()
                .find(|part| part["name"] == "engines")
                .unwrap();
            if engines["ready"] == json!(true) {
                return;
            }
            assert!(Instant::now() < deadline, "the engines did not load: {body}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Status and JSON body; every answer carries a request id.
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
