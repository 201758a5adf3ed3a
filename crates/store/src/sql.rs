//! The macros that run statements. One SQL text with `$1` binds serves both databases. Each statement states
//! whose rows it uses, and [`crate::tenancy`] checks its text at compile time. The macros know no table.
//!
//! After the connection, every call takes one of these:
//!
//! - a [`Scope`](crate::Scope): one account in one mode. The macro binds `$1` to the account and `$2` to the
//!   mode, and the call's own binds begin at `$3`. The text must restrict every table of an account by both.
//! - `merchant(id)`: one account, for tables that have no mode. The macro binds `$1`.
//! - `both_modes(id, "reason")`: one account in both modes. The macro binds `$1`.
//! - `installation`: tables that belong to no account.
//! - `across_accounts("reason")`: every account's rows, on purpose. Only the presence of a reason is checked.
//!
//! The text is a constant. Code that chooses between several texts uses [`checked!`] for each.
//!
//! ```ignore
//! execute!(tx, scope, "delete from flows where merchant_id = $1 and sandbox = $2 and id = $3", id)?;
//! fetch!(all, conn, installation, Node, "select id, name from nodes")?;
//! // error[E0080]: a statement for one account and mode must contain `merchant_id = $1` and `sandbox = $2`
//! execute!(tx, scope, "delete from flows where id = $3", id)?;
//! ```

/// `execute!(conn, whose, "sql", binds…)` runs a statement and returns the number of rows that it changed.
macro_rules! execute {
    (@ $form:ident, $conn:expr, [$($tenant:expr),*], checked($sql:expr) $(, $bind:expr)* $(,)?) => {{
        let sql: $crate::tenancy::Checked<$crate::tenancy::$form> = $sql;
        execute!(@ run, $conn, sql.text(), $($tenant,)* $($bind,)*)
    }};
    (@ run, $conn:expr, $sql:expr, $($bind:expr,)*) => {{
        let sql: &'static str = $sql;
        let conn: &mut $crate::Conn = $conn;
        let result = match conn.raw() {
            $crate::conn::Raw::Sqlite(raw) => {
                sqlx::query(sql)$(.bind($bind))*.execute(raw).await.map(|done| done.rows_affected())
            }
            $crate::conn::Raw::Postgres(raw) => {
                sqlx::query(sql)$(.bind($bind))*.execute(raw).await.map(|done| done.rows_affected())
            }
        };
        conn.outcome(result)
    }};
    (@ $form:ident, $conn:expr, [$($tenant:expr),*], $sql:expr $(, $bind:expr)* $(,)?) => {{
        const CHECKED: &str = $crate::tenancy::$form::check($sql).text();
        execute!(@ run, $conn, CHECKED, $($tenant,)* $($bind,)*)
    }};
    ($conn:expr, installation, $($rest:tt)*) => { execute!(@ Installation, $conn, [], $($rest)*) };
    ($conn:expr, merchant($id:expr), $($rest:tt)*) => {{
        let merchant_id: uuid::Uuid = $id;
        execute!(@ OneMerchant, $conn, [merchant_id], $($rest)*)
    }};
    ($conn:expr, both_modes($id:expr, $reason:literal), $($rest:tt)*) => {{
        const _: () = assert!(!$reason.is_empty(), "give a reason");
        let merchant_id: uuid::Uuid = $id;
        execute!(@ BothModes, $conn, [merchant_id], $($rest)*)
    }};
    ($conn:expr, across_accounts($reason:literal), $sql:expr $(, $bind:expr)* $(,)?) => {{
        const _: () = assert!(!$reason.is_empty(), "give a reason");
        execute!(@ run, $conn, $sql, $($bind,)*)
    }};
    ($conn:expr, $scope:expr, $($rest:tt)*) => {{
        let scope: $crate::Scope = $scope;
        execute!(@ OneMode, $conn, [scope.merchant_id, scope.sandbox], $($rest)*)
    }};
}

/// `fetch!(one | optional | all, conn, whose, Type, "sql", binds…)` runs a statement and maps its rows to a
/// tuple or to a type that derives `sqlx::FromRow`.
macro_rules! fetch {
    (one, $($rest:tt)*) => { fetch!(@ whose, fetch_one, $($rest)*) };
    (optional, $($rest:tt)*) => { fetch!(@ whose, fetch_optional, $($rest)*) };
    (all, $($rest:tt)*) => { fetch!(@ whose, fetch_all, $($rest)*) };
    (@ whose, $fetch:ident, $conn:expr, installation, $($rest:tt)*) => {
        fetch!(@ Installation, $fetch, $conn, [], $($rest)*)
    };
    (@ whose, $fetch:ident, $conn:expr, merchant($id:expr), $($rest:tt)*) => {{
        let merchant_id: uuid::Uuid = $id;
        fetch!(@ OneMerchant, $fetch, $conn, [merchant_id], $($rest)*)
    }};
    (@ whose, $fetch:ident, $conn:expr, both_modes($id:expr, $reason:literal), $($rest:tt)*) => {{
        const _: () = assert!(!$reason.is_empty(), "give a reason");
        let merchant_id: uuid::Uuid = $id;
        fetch!(@ BothModes, $fetch, $conn, [merchant_id], $($rest)*)
    }};
    (@ whose, $fetch:ident, $conn:expr, across_accounts($reason:literal), $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {{
        const _: () = assert!(!$reason.is_empty(), "give a reason");
        fetch!(@ run, $fetch, $conn, $row, $sql, $($bind,)*)
    }};
    (@ whose, $fetch:ident, $conn:expr, $scope:expr, $($rest:tt)*) => {{
        let scope: $crate::Scope = $scope;
        fetch!(@ OneMode, $fetch, $conn, [scope.merchant_id, scope.sandbox], $($rest)*)
    }};
    (@ run, $fetch:ident, $conn:expr, $row:ty, $sql:expr, $($bind:expr,)*) => {{
        let sql: &'static str = $sql;
        let conn: &mut $crate::Conn = $conn;
        let result = match conn.raw() {
            $crate::conn::Raw::Sqlite(raw) => sqlx::query_as::<_, $row>(sql)$(.bind($bind))*.$fetch(raw).await,
            $crate::conn::Raw::Postgres(raw) => sqlx::query_as::<_, $row>(sql)$(.bind($bind))*.$fetch(raw).await,
        };
        conn.outcome(result)
    }};
    (@ $form:ident, $fetch:ident, $conn:expr, [$($tenant:expr),*], $row:ty, checked($sql:expr) $(, $bind:expr)* $(,)?) => {{
        let sql: $crate::tenancy::Checked<$crate::tenancy::$form> = $sql;
        fetch!(@ run, $fetch, $conn, $row, sql.text(), $($tenant,)* $($bind,)*)
    }};
    (@ $form:ident, $fetch:ident, $conn:expr, [$($tenant:expr),*], $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {{
        const CHECKED: &str = $crate::tenancy::$form::check($sql).text();
        fetch!(@ run, $fetch, $conn, $row, CHECKED, $($tenant,)* $($bind,)*)
    }};
}

/// `checked!(scope | both_modes | installation, "sql")` is a text that [`execute!`] and [`fetch!`] accept as
/// `checked(text)` in a call with the same kind of tenant.
macro_rules! checked {
    (scope, $sql:expr) => {{
        const CHECKED: $crate::tenancy::Checked<$crate::tenancy::OneMode> =
            $crate::tenancy::OneMode::check($sql);
        CHECKED
    }};
    (both_modes, $sql:expr) => {{
        const CHECKED: $crate::tenancy::Checked<$crate::tenancy::BothModes> =
            $crate::tenancy::BothModes::check($sql);
        CHECKED
    }};
    (installation, $sql:expr) => {{
        const CHECKED: $crate::tenancy::Checked<$crate::tenancy::Installation> =
            $crate::tenancy::Installation::check($sql);
        CHECKED
    }};
}

pub(crate) use {checked, execute, fetch};
