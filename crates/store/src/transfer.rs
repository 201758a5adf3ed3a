//! Copies a SQLite database into an empty PostgreSQL database, and compares every row.
//!
//! Both databases have this version's schema, with the same tables and columns. The copy is one transaction:
//! PostgreSQL has everything or nothing. This module knows no table.
//!
//! **Comparison.** Each row becomes a line in the text format of PostgreSQL's `COPY`. The checksum of a table
//! is the sum of its lines' SHA-256 values modulo 2^256, which does not depend on the order of the rows.
//! PostgreSQL's own lines are read back and summed up in the same way.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _, SqliteConnection};
use uuid::Uuid;

use crate::db::Db;
use crate::snapshots::{self, quoted};
use crate::{Error, Schema, sqlite};

/// Tables that belong to a database and not to its content.
const OWN: [&str; 3] = ["_sqlx_migrations", "migration_lock", snapshots::MARKER];
/// Bytes that are sent to PostgreSQL at once.
const AT_ONCE: usize = 1 << 20;

/// A table that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    /// The number of its rows.
    pub rows: u64,
    /// The checksum of its rows in hexadecimal digits, equal in both databases.
    pub checksum: String,
}

/// The type of a column in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Boolean,
    Text,
    Bytes,
    Uuid,
}

/// A table of PostgreSQL with its columns, in an order.
struct Table {
    name: String,
    columns: Vec<(String, Kind)>,
}

impl Table {
    /// The columns' names in SQL.
    fn list(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| quoted(name)).collect();
        names.join(", ")
    }
}

/// Copies everything from a SQLite database into a PostgreSQL database that has only the schema. Nothing may
/// write to either meanwhile.
///
/// # Errors
/// [`Error::Schema`] if a schema is not this version's; [`Error::Config`] if a table differs afterwards.
pub async fn copy_to_postgres(from: &Db, to: &Db) -> Result<BTreeMap<String, CopiedTable>, Error> {
    // Every column is copied by name, so both need this version's.
    for db in [from, to] {
        if db.schema().await? != Schema::Current {
            return Err(Error::Schema);
        }
    }
    let main = from.sqlite_file()?;
    let traffic = sqlite::traffic_file(main);
    let mut files = Vec::new();
    for file in [main, &traffic] {
        if file.exists() {
            files.push(SourceFile::open(file).await?);
        }
    }
    let mut tx = to.begin_postgres().await?;
    let tables = tables_of(&mut tx).await?;
    let names: Vec<String> = tables.iter().map(|table| quoted(&table.name)).collect();
    // Migrations may have written first rows.
    let truncate = format!("truncate {}", names.join(", "));
    sqlx::raw_sql(AssertSqlSafe(truncate)).execute(&mut *tx).await?;
    let mut copied = BTreeMap::new();
    for table in &tables {
        let mut sums = Sums::default();
        for file in &mut files {
            if file.tables.contains(&table.name) {
                file.copy(table, &mut tx, &mut sums).await?;
            }
        }
        let found = read_back(table, &mut tx).await?;
        if found != sums {
            return Err(Error::Config(format!(
                "the table {} differs after copying: {} rows were sent and {} found, or their content differs",
                table.name, sums.rows, found.rows
            )));
        }
        copied.insert(
            table.name.clone(),
            CopiedTable {
                rows: sums.rows,
                checksum: sums.text(),
            },
        );
    }
    // Nothing may be left out because no table of PostgreSQL has its name.
    for file in files {
        if let Some(unknown) = file.tables.iter().find(|name| !copied.contains_key(*name)) {
            return Err(Error::Config(format!("PostgreSQL has no table {unknown}")));
        }
        file.conn.close().await?;
    }
    tx.commit().await?;
    Ok(copied)
}

/// A SQLite file at one moment.
struct SourceFile {
    conn: SqliteConnection,
    tables: Vec<String>,
}

impl SourceFile {
    async fn open(file: &Path) -> Result<Self, Error> {
        let mut conn = sqlite::existing(file).read_only(true).connect().await?;
        // The transaction keeps one moment for all reads.
        sqlx::raw_sql("begin").execute(&mut conn).await?;
        let sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'";
        let mut tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut conn).await?;
        tables.retain(|name| !OWN.contains(&name.as_str()));
        Ok(Self { conn, tables })
    }

    /// Copies the rows of one table.
    async fn copy(&mut self, table: &Table, to: &mut PgConnection, sums: &mut Sums) -> Result<(), Error> {
        let (name, list) = (quoted(&table.name), table.list());
        let select = AssertSqlSafe(format!("select {list} from {name}"));
        let mut rows = sqlx::query(select).fetch(&mut self.conn);
        let copy = format!("copy {name} ({list}) from stdin");
        let mut sink = to.copy_in_raw(&copy).await?;
        let mut buffer = Vec::new();
        while let Some(row) = rows.try_next().await? {
            let begin = buffer.len();
            write_line(&row, table, &mut buffer)?;
            sums.add(&buffer[begin..]);
            if buffer.len() > AT_ONCE {
                sink.send(std::mem::take(&mut buffer)).await?;
            }
        }
        sink.send(buffer).await?;
        sink.finish().await?;
        Ok(())
    }
}

/// Writes a row as `COPY` writes it, with its line break.
fn write_line(row: &SqliteRow, table: &Table, to: &mut Vec<u8>) -> Result<(), Error> {
    for (index, (_, kind)) in table.columns.iter().enumerate() {
        if index > 0 {
            to.push(b'\t');
        }
        let text = match kind {
            Kind::Integer => row
                .try_get_unchecked::<Option<i64>, _>(index)?
                .map(|number| number.to_string()),
            Kind::Boolean => row
                .try_get_unchecked::<Option<bool>, _>(index)?
                .map(|is_true| if is_true { "t" } else { "f" }.to_owned()),
            Kind::Text => row.try_get_unchecked::<Option<String>, _>(index)?,
            Kind::Bytes => row
                .try_get_unchecked::<Option<Vec<u8>>, _>(index)?
                .map(|bytes| format!("\\x{}", hex::encode(bytes))),
            Kind::Uuid => row
                .try_get_unchecked::<Option<Uuid>, _>(index)?
                .map(|id| id.to_string()),
        };
        match text {
            Some(text) => escape(&text, to),
            None => to.extend(b"\\N"),
        }
    }
    to.push(b'\n');
    Ok(())
}

/// The escapes of the text format of `COPY`.
fn escape(text: &str, to: &mut Vec<u8>) {
    for byte in text.bytes() {
        let letter = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            _ => {
                to.push(byte);
                continue;
            }
        };
        to.extend([b'\\', letter]);
    }
}

/// The rows of a table as PostgreSQL has them.
async fn read_back(table: &Table, conn: &mut PgConnection) -> Result<Sums, Error> {
    let copy = format!(
        "copy (select {} from {}) to stdout",
        table.list(),
        quoted(&table.name)
    );
    let mut sums = Sums::default();
    let mut rest = Vec::new();
    let mut lines = conn.copy_out_raw(&copy).await?;
    while let Some(part) = lines.try_next().await? {
        rest.extend_from_slice(&part);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            sums.add(&rest[..=end]);
            rest.drain(..=end);
        }
    }
    Ok(sums)
}

/// The tables of PostgreSQL, each after those that it refers to.
async fn tables_of(conn: &mut PgConnection) -> Result<Vec<Table>, Error> {
    let sql = "select table_name::text, column_name::text, udt_name::text from information_schema.columns
               where table_schema = current_schema() order by table_name, ordinal_position";
    let columns: Vec<(String, String, String)> = sqlx::query_as(sql).fetch_all(&mut *conn).await?;
    let mut by_name: BTreeMap<String, Vec<(String, Kind)>> = BTreeMap::new();
    for (table, column, kind) in columns {
        if OWN.contains(&table.as_str()) {
            continue;
        }
        let kind = match kind.as_str() {
            "int8" => Kind::Integer,
            "bool" => Kind::Boolean,
            "text" => Kind::Text,
            "bytea" => Kind::Bytes,
            "uuid" => Kind::Uuid,
            other => {
                let text = format!("{table}.{column} has the unknown type {other}");
                return Err(Error::Config(text));
            }
        };
        by_name.entry(table).or_default().push((column, kind));
    }
    let sql = "select conrelid::regclass::text, confrelid::regclass::text from pg_constraint
               where contype = 'f' and connamespace = current_schema()::regnamespace and conrelid <> confrelid";
    let mut references: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&mut *conn).await?;
    let mut ordered = Vec::new();
    while !by_name.is_empty() {
        let is_free = |name: &&String| references.iter().all(|(from, _)| from != *name);
        let Some(name) = by_name.keys().find(is_free).cloned() else {
            return Err(Error::Config("the tables refer to each other in a circle".into()));
        };
        references.retain(|(_, to)| *to != name);
        let columns = by_name.remove(&name).unwrap_or_default();
        ordered.push(Table { name, columns });
    }
    Ok(ordered)
}

/// The number of lines, and the sum of their SHA-256 values modulo 2^256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    rows: u64,
    /// Little-endian.
    sum: [u64; 4],
}

impl Sums {
    fn add(&mut self, line: &[u8]) {
        self.rows += 1;
        let mut carry = false;
        for (digit, bytes) in self.sum.iter_mut().zip(Sha256::digest(line).chunks_exact(8)) {
            let number = bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte));
            let (sum, first) = digit.overflowing_add(number);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            *digit = sum;
            carry = first || second;
        }
    }

    fn text(self) -> String {
        self.sum
            .iter()
            .rev()
            .map(|digit| format!("{digit:016x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_order_and_notice_every_change() {
        let sum = |lines: &[&str]| {
            let mut sums = Sums::default();
            lines.iter().for_each(|line| sums.add(line.as_bytes()));
            sums
        };
        let whole = sum(&["a\n", "b\n", "b\n"]);
        assert_eq!(whole, sum(&["b\n", "a\n", "b\n"]));
        for other in [
            &["a\n", "b\n"][..],
            &["a\n", "a\n", "b\n"],
            &["a\n", "b\n", "c\n"],
        ] {
            assert_ne!(whole, sum(other), "{other:?}");
        }
        assert_eq!(sum(&["x\n"]).text().len(), 64);
    }

    #[test]
    fn a_sum_carries_and_wraps() {
        let mut sums = Sums {
            rows: 0,
            sum: [u64::MAX; 4],
        };
        sums.add(b"x");
        let mut expected = Sums::default();
        expected.add(b"x");
        // 2^256 - 1 + h = h - 1 modulo 2^256.
        expected.sum[0] -= 1;
        assert_eq!(sums.sum, expected.sum);
    }

    #[test]
    fn texts_are_escaped_as_copy_does() {
        let mut line = Vec::new();
        escape("tab\tline\nback\\slash\r\u{8}\u{b}\u{c}é\u{1}", &mut line);
        assert_eq!(line, "tab\\tline\\nback\\\\slash\\r\\b\\v\\fé\u{1}".as_bytes());
    }
}
