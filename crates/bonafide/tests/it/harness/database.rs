//! Creates a fresh database for each server, and reads and changes it without the server's involvement.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::{Connection as _, PgConnection, SqliteConnection};

use super::{Backend, Server, wait_until};

/// The test's own connection.
enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// Creates a fresh database and returns its URL.
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
    /// Changes the database without the server, for example to simulate the passing of time.
    pub(crate) async fn sql(&self, sql: &'static str) {
        if sql.contains("rate_limits") && self.database.starts_with("sqlite:") {
            // With SQLite, the durable limits of sign-ins and the other limits are in two files.
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

    /// Runs a statement in a transaction that ends only when another one waits for it. SQLite does not show
    /// waiting transactions, so there it ends after half a second.
    pub(crate) async fn sql_beside<F: Future>(&self, sql: &'static str, other: F) -> F::Output {
        macro_rules! held {
            ($connection:ident, $is_awaited:expr) => {{
                let mut held = $connection.begin().await.unwrap();
                sqlx::query(sql).execute(&mut *held).await.unwrap();
                let ends = async {
                    $is_awaited.await;
                    held.commit().await.unwrap();
                };
                tokio::join!(other, ends).0
            }};
        }
        match self.connection(sql).await {
            Connection::Sqlite(mut connection) => {
                held!(connection, tokio::time::sleep(Duration::from_millis(500)))
            }
            Connection::Postgres(mut connection) => {
                let waiting = "select count(*) from pg_locks where not granted
                    and pid in (select pid from pg_stat_activity where datname = current_database())";
                let is_awaited = wait_until(async || self.count(waiting).await > 0, "something waits");
                held!(connection, is_awaited)
            }
        }
    }

    /// The single number that a query returns.
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

    /// Copies every table, so that [`Server::fall_back`] can restore this state of the database.
    pub(crate) async fn remember_database(&self) {
        for table in self.tables().await {
            self.dynamic(&[format!("create table kept_{table} as select * from {table}")])
                .await;
        }
    }

    /// Restores the copied state in one transaction while the server runs. A process sees the same when a
    /// lagging replica is promoted or a backup is restored to a point in time.
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

    /// The schema's tables, except those of the migrations.
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

    /// Runs statements built by a test on one connection.
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

    /// The byte strings that a query returns.
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

    /// The texts that a query returns.
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

    /// Every row of every table as text, with bytes as hexadecimal digits, as in a dump.
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

    /// A connection to the file that a statement concerns. With SQLite, the API log has its own file.
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

    /// A connection to the SQLite database, for inspecting rows.
    pub(crate) async fn sqlite(&self) -> sqlx::SqliteConnection {
        <sqlx::SqliteConnection as sqlx::Connection>::connect(&self.database)
            .await
            .unwrap()
    }
}
