//! Inserts many rows with one statement. Each row begins with the account and mode of its [`Rows`], so
//! callers pass only the other columns. This module knows no table.

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::conn::Raw;
use crate::{Error, Scope, Tx};

/// A column's value.
pub(super) enum Value {
    Id(Option<Uuid>),
    Bytes(Option<Vec<u8>>),
    Text(Option<String>),
    Int(Option<i64>),
    Bool(bool),
}

macro_rules! from {
    ($($kind:ident: $plain:ty),+) => { $(
        impl From<$plain> for Value {
            fn from(value: $plain) -> Self { Value::$kind(Some(value)) }
        }
        impl From<Option<$plain>> for Value {
            fn from(value: Option<$plain>) -> Self { Value::$kind(value) }
        }
    )+ };
}
from!(Id: Uuid, Bytes: Vec<u8>, Text: String, Int: i64);

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(Some(value.to_owned()))
    }
}

impl From<Option<&str>> for Value {
    fn from(value: Option<&str>) -> Self {
        Value::Text(value.map(str::to_owned))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

/// Less than SQLite's limit of 32,766 values in a statement.
const MOST_VALUES: usize = 32_000;

/// Rows of one account and mode for one table, inserted with as few statements as the database allows.
pub(super) struct Rows {
    scope: Scope,
    table: &'static str,
    columns: &'static str,
    values: Vec<Value>,
}

impl Rows {
    pub(super) fn of(scope: Scope, table: &'static str, columns: &'static str) -> Self {
        Self {
            scope,
            table,
            columns,
            values: Vec::new(),
        }
    }

    pub(super) fn push<const N: usize>(&mut self, row: [Value; N]) {
        debug_assert_eq!(N + 2, self.width(), "{}", self.table);
        self.values
            .extend([self.scope.merchant_id.into(), self.scope.sandbox.into()]);
        self.values.extend(row);
    }

    fn width(&self) -> usize {
        2 + self.columns.split(',').count()
    }

    pub(super) async fn write(self, tx: &mut Tx) -> Result<(), Error> {
        let width = self.width();
        let mut values = self.values.into_iter().peekable();
        while values.peek().is_some() {
            let chunk: Vec<Value> = values.by_ref().take(MOST_VALUES / width * width).collect();
            let mut sql = format!(
                "insert into {} (merchant_id, sandbox, {}) values ",
                self.table, self.columns
            );
            for row in 0..chunk.len() / width {
                sql.push_str(if row == 0 { "(" } else { ", (" });
                for column in 0..width {
                    sql.push_str(if column == 0 { "" } else { ", " });
                    // SQLite searches a list for each named placeholder, which is quadratic, so its
                    // placeholders have no names.
                    match tx.is_postgres() {
                        true => sql.push_str(&format!("${}", row * width + column + 1)),
                        false => sql.push('?'),
                    }
                }
                sql.push(')');
            }
            // Safe: the text consists of this module's constants and placeholders only.
            let sql = AssertSqlSafe(sql);
            macro_rules! run {
                ($raw:ident) => {{
                    let mut query = sqlx::query(sql);
                    for value in chunk {
                        query = match value {
                            Value::Id(value) => query.bind(value),
                            Value::Bytes(value) => query.bind(value),
                            Value::Text(value) => query.bind(value),
                            Value::Int(value) => query.bind(value),
                            Value::Bool(value) => query.bind(value),
                        };
                    }
                    query.execute($raw).await.map(|_| ())
                }};
            }
            let result = match tx.raw() {
                Raw::Sqlite(raw) => run!(raw),
                Raw::Postgres(raw) => run!(raw),
            };
            tx.outcome(result)?;
        }
        Ok(())
    }
}
