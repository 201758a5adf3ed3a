//! Compile-time checks of whose rows a statement may use. A statement on an account's tables must restrict
//! the account, and the mode if the table has one. The checks read only the statement's text, never a value,
//! and do not parse SQL. They detect a forgotten restriction, not a deliberate circumvention.

use std::marker::PhantomData;

/// Defines a list of tables, and the function that finds a name in it. The function is a `match` on bytes,
/// because the compiler runs it for every word of every statement.
macro_rules! tables {
    ($(#[$meaning:meta])* $is:ident, $list:ident: $($name:literal)*) => {
        $(#[$meaning])*
        const fn $is(word: &[u8]) -> bool {
            matches!(word, $($name)|*)
        }

        $(const _: () = assert!($name.len() <= LONGEST_NAME);)*

        #[cfg(test)]
        const $list: &[&[u8]] = &[$($name),*];
    };
}

tables! {
    /// Tables with the columns `merchant_id` and `sandbox`: each row belongs to an account in one mode.
    is_mode_table, MODE_TABLES:
    b"alerts"
    b"api_log"
    b"applicant_invitation_tokens"
    b"applicant_invitations"
    b"applicant_letters"
    b"attempts"
    b"audit"
    b"challenges"
    b"consents"
    b"counters"
    b"credentials"
    b"decisions"
    b"deleted_flow_lists"
    b"deleted_four_eyes_flows"
    b"document_readings"
    b"erasures"
    b"facemap_aliases"
    b"faces"
    b"flows"
    b"group_flows"
    b"groups"
    b"handoffs"
    b"hit_dispositions"
    b"idempotency_keys"
    b"link_tokens"
    b"name_words"
    b"object_removals"
    b"outbox"
    b"people"
    b"picture_fingerprints"
    b"picture_refs"
    b"portal_sessions"
    b"proposals"
    b"registrations"
    b"rescreening_requests"
    b"rescreenings"
    b"review_claims"
    b"review_notes"
    b"review_proposals"
    b"screening_evidence"
    b"screenings"
    b"session_events"
    b"sessions"
    b"suppressions"
    b"wallet_alerts"
    b"wallet_rescreenings"
    b"webhook_endpoints"
}

tables! {
    /// Tables with the column `merchant_id` alone: each row belongs to an account in both modes.
    is_merchant_table, MERCHANT_TABLES:
    b"audit_heads"
    b"invitations"
    b"jobs"
    b"memberships"
    b"merchant_logos"
    b"merchant_profiles"
    b"rate_limits"
    b"reason_templates"
    b"risk_profiles"
    b"saved_views"
}

/// The maximum length of a table's name, in bytes.
const LONGEST_NAME: usize = 32;

/// The text of a statement that one of the forms below has accepted, for code that chooses between several
/// texts.
pub(crate) struct Checked<Form> {
    text: &'static str,
    form: PhantomData<Form>,
}

impl<Form> Checked<Form> {
    pub(crate) const fn text(self) -> &'static str {
        self.text
    }
}

/// A statement on the rows of one account in one mode. `$1` is the account and `$2` is the mode.
pub(crate) enum OneMode {}

/// A statement on tables with one set of rows for both modes of an account. `$1` is the account.
pub(crate) enum OneMerchant {}

/// A statement on the rows of one account in both modes. `$1` is the account.
pub(crate) enum BothModes {}

/// A statement on the installation's tables, which belong to no account.
pub(crate) enum Installation {}

impl OneMode {
    pub(crate) const fn check(text: &'static str) -> Checked<Self> {
        if is_insert(text) {
            assert!(
                names_columns(text, "merchant_id, sandbox,")
                    && gives_values(text, "$1, $2", "merchant_id, sandbox,"),
                "an insert for one account and mode must begin its columns with `merchant_id, sandbox` and its values \
                 with `$1, $2`"
            );
        } else {
            assert!(
                count(text, "merchant_id = $1") > 0 && count(text, "sandbox = $2") > 0,
                "a statement for one account and mode must contain `merchant_id = $1` and `sandbox = $2`"
            );
        }
        assert!(
            count(text, "set merchant_id = ") == 0,
            "an assignment does not restrict a statement to an account"
        );
        let tables = tables_of(text);
        assert!(
            restricts(text, "merchant_id = ", tables.mode_uses + tables.merchant_uses)
                && restricts(text, "sandbox = ", tables.mode_uses),
            "each table of an account in this statement, also in a join or a subquery, needs its own `merchant_id =` \
             and `sandbox =`"
        );
        checked(text)
    }
}

impl OneMerchant {
    pub(crate) const fn check(text: &'static str) -> Checked<Self> {
        assert!(
            !tables_of(text).mode_table,
            "this statement reads or writes a table that separates the modes: pass a `Scope`, or \
             `both_modes(merchant_id, \"reason\")`"
        );
        checked(BothModes::check(text).text())
    }
}

impl BothModes {
    pub(crate) const fn check(text: &'static str) -> Checked<Self> {
        if is_insert(text) {
            assert!(
                names_columns(text, "merchant_id,") && gives_values(text, "$1", "merchant_id,"),
                "an insert for one account must begin its columns with `merchant_id` and its values with `$1`"
            );
        } else {
            assert!(
                count(text, "merchant_id = $1") > 0,
                "a statement for one account must contain `merchant_id = $1`"
            );
        }
        assert!(
            count(text, "set merchant_id = ") == 0,
            "an assignment does not restrict a statement to an account"
        );
        let tables = tables_of(text);
        assert!(
            restricts(text, "merchant_id = ", tables.mode_uses + tables.merchant_uses),
            "each table of an account in this statement, also in a join or a subquery, needs its own `merchant_id =`"
        );
        checked(text)
    }
}

impl Installation {
    pub(crate) const fn check(text: &'static str) -> Checked<Self> {
        let tables = tables_of(text);
        assert!(
            !tables.mode_table && !tables.merchant_table,
            "this statement mentions a table of accounts: pass a `Scope`, or `merchant(id)`, or \
             `across_accounts(\"reason\")`"
        );
        checked(text)
    }
}

const fn checked<Form>(text: &'static str) -> Checked<Form> {
    Checked {
        text,
        form: PhantomData,
    }
}

const fn is_insert(text: &str) -> bool {
    begins(text.trim_ascii_start().as_bytes(), 0, "insert into ")
}

/// Whether an insert's list of columns begins with these.
const fn names_columns(text: &str, columns: &str) -> bool {
    let text = text.as_bytes();
    let mut at = 0;
    while at < text.len() && text[at] != b'(' {
        at += 1;
    }
    begins(text, at + 1, columns)
}

/// Whether an insert's values begin with these placeholders, or its `select` with these columns.
const fn gives_values(text: &str, places: &str, columns: &str) -> bool {
    let sql = text.as_bytes();
    let mut at = 0;
    while at < sql.len() {
        let values = if begins(sql, at, "values (") {
            at + "values (".len()
        } else if begins(sql, at, "select ") {
            at + "select ".len()
        } else {
            at += 1;
            continue;
        };
        return begins(sql, values, columns)
            || begins(sql, values, places) && !is_word_byte(sql, values + places.len());
    }
    false
}

/// The tables of accounts in a statement.
struct Tables {
    /// Whether it mentions a table that separates the modes.
    mode_table: bool,
    /// Whether it mentions another table of accounts.
    merchant_table: bool,
    /// How often it reads or writes a table that separates the modes.
    mode_uses: usize,
    /// How often it reads or writes another table of accounts.
    merchant_uses: usize,
}

/// Finds the tables of accounts in a statement. A name after `from`, `join`, `using`, `update` or `into`, or
/// after a comma in a list of tables, is a use. A qualified column (`people.id`) is not.
const fn tables_of(text: &str) -> Tables {
    let sql = text.as_bytes();
    let mut tables = Tables {
        mode_table: false,
        merchant_table: false,
        mode_uses: 0,
        merchant_uses: 0,
    };
    let (mut at, mut is_use, mut in_list) = (0, false, false);
    while at < sql.len() {
        if !is_word_byte(sql, at) {
            in_list = in_list && !matches!(sql[at], b'(' | b')');
            is_use = is_use && sql[at].is_ascii_whitespace() || in_list && sql[at] == b',';
            at += 1;
            continue;
        }
        let (mut word, mut length) = ([0; LONGEST_NAME], 0);
        while is_word_byte(sql, at) {
            if length < LONGEST_NAME {
                word[length] = sql[at].to_ascii_lowercase();
                length += 1;
            }
            at += 1;
        }
        let word = word.split_at(length).0;
        is_use = is_use && !(at < sql.len() && sql[at] == b'.');
        if is_mode_table(word) {
            tables.mode_table = true;
            tables.mode_uses += is_use as usize;
        } else if is_merchant_table(word) {
            tables.merchant_table = true;
            tables.merchant_uses += is_use as usize;
        }
        is_use = matches!(word, b"from" | b"join" | b"using" | b"update" | b"into");
        in_list = match word {
            b"from" | b"using" => true,
            b"where" | b"on" | b"set" | b"select" | b"group" | b"order" | b"returning" => false,
            _ => in_list,
        };
    }
    tables
}

/// Whether a statement for one account contains this restriction at least once for each of its tables with
/// that column.
const fn restricts(text: &str, restriction: &str, uses: usize) -> bool {
    count(text, restriction) + is_insert(text) as usize >= uses
}

/// How often a phrase occurs as whole words: `$1` is not in `$10`, and `id = ` is not in `merchant_id = `.
const fn count(text: &str, phrase: &str) -> usize {
    let sql = text.as_bytes();
    let (mut found, mut at) = (0, 0);
    let first = phrase.as_bytes()[0];
    while at < sql.len() {
        if sql[at].to_ascii_lowercase() == first {
            found += is_word(sql, at, phrase) as usize;
        }
        at += 1;
    }
    found
}

const fn is_word(sql: &[u8], at: usize, word: &str) -> bool {
    let end = at + word.len();
    begins(sql, at, word)
        && (at == 0 || !is_word_byte(sql, at - 1))
        && (word.as_bytes()[word.len() - 1] == b' ' || !is_word_byte(sql, end))
}

const fn is_word_byte(sql: &[u8], at: usize) -> bool {
    at < sql.len() && matches!(sql[at], b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')
}

const fn begins(sql: &[u8], from: usize, with: &str) -> bool {
    let with = with.as_bytes();
    if from + with.len() > sql.len() {
        return false;
    }
    let mut at = 0;
    while at < with.len() {
        if sql[from + at].to_ascii_lowercase() != with[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::migrations;

    /// Whether a form accepts a text. In the macros the same assertion runs at compile time.
    fn accepts<Form>(check: fn(&'static str) -> Checked<Form>, text: &'static str) -> bool {
        std::panic::catch_unwind(|| check(text)).is_ok()
    }

    #[test]
    fn a_statement_for_one_mode_names_account_and_mode() {
        for text in [
            "select id from flows where merchant_id = $1 and sandbox = $2 and id = $3",
            "SELECT id FROM flows WHERE merchant_id = $1 AND sandbox = $2",
            "update outbox set tries = 0 where merchant_id = $1 and sandbox = $2",
            "delete from people where sandbox = $2 and merchant_id = $1",
            "insert into flows (merchant_id, sandbox, id) values ($1, $2, $3)",
            "insert into flows as f (merchant_id, sandbox, id) values ($1, $2, $3)
             on conflict (merchant_id, sandbox, id) do update set id = excluded.id",
            "insert into decisions (merchant_id, sandbox, seq) select $1, $2, count(*) from decisions
             where merchant_id = $1 and sandbox = $2",
            "insert into name_words (merchant_id, sandbox, word_ref) select merchant_id, sandbox, word_ref
             from name_words where merchant_id = $1 and sandbox = $2",
            "select f.seq from faces f left join people p on p.merchant_id = f.merchant_id and p.sandbox = f.sandbox
             where f.merchant_id = $1 and f.sandbox = $2",
        ] {
            assert!(accepts(OneMode::check, text), "{text}");
        }
        for text in [
            "select id from flows",
            "select id from flows where id = $3",
            "select id from flows where merchant_id = $1",
            "select id from flows where sandbox = $2",
            "select id from flows where merchant_id = $2 and sandbox = $1",
            "select id from flows where merchant_id = $10 and sandbox = $2",
            "select id from flows where merchant_id = $1 and sandbox = $20",
            "select id from flows where merchant_id <> $1 and sandbox = $2",
            "select id from flows where merchant_id = $1 and is_sandbox = $2",
            "insert into flows (id, merchant_id, sandbox) values ($3, $1, $2)",
            "insert into flows (merchant_id, sandbox, id) values ($3, $2, $1)",
            "insert into flows (merchant_id, sandbox, id) values ($1, $20, $3)",
            "insert into flows (merchant_id, sandbox, id) select $1, $2, id from flows",
            // The second table has no restriction.
            "select id from flows where merchant_id = $1 and sandbox = $2 and id in (select flow_id from group_flows)",
            "select f.seq from faces f join people p on p.facemap_id = f.facemap_id
             where f.merchant_id = $1 and f.sandbox = $2",
            "select f.seq from faces f join people p on p.merchant_id = f.merchant_id
             where f.merchant_id = $1 and f.sandbox = $2",
            "select f.seq from faces f, people p where f.merchant_id = $1 and f.sandbox = $2",
            "select f.seq from faces f join
             people p on p.facemap_id = f.facemap_id where f.merchant_id = $1 and f.sandbox = $2",
            "delete from faces f using people p where f.merchant_id = $1 and f.sandbox = $2",
            // An assignment is no restriction.
            "update flows set merchant_id = $1, sandbox = $2 where id = $3",
        ] {
            assert!(!accepts(OneMode::check, text), "{text}");
        }
    }

    #[test]
    fn a_statement_for_one_merchant_names_the_account_and_no_table_of_a_mode() {
        for text in [
            "select bytes from merchant_logos where merchant_id = $1",
            "insert into saved_views (merchant_id, staff_id) values ($1, $2)",
            "select s.id from memberships m join staff s on s.id = m.staff_id where m.merchant_id = $1",
        ] {
            assert!(accepts(OneMerchant::check, text), "{text}");
            assert!(accepts(BothModes::check, text), "{text}");
        }
        for text in [
            "select bytes from merchant_logos",
            "select bytes from merchant_logos where merchant_id = $2",
            "insert into saved_views (staff_id, merchant_id) values ($1, $2)",
            "select 1 from memberships where merchant_id = $1 and staff_id in (select staff_id from invitations)",
        ] {
            assert!(!accepts(OneMerchant::check, text), "{text}");
            assert!(!accepts(BothModes::check, text), "{text}");
        }
        let of_both = "select key from credentials where merchant_id = $1";
        assert!(!accepts(OneMerchant::check, of_both));
        assert!(accepts(BothModes::check, of_both));
    }

    #[test]
    fn a_statement_for_the_installation_mentions_no_table_of_accounts() {
        for text in [
            "select id from nodes",
            "select id from merchants where id = $1",
            // The column's name contains a table's name.
            "select jobs_done from nodes",
        ] {
            assert!(accepts(Installation::check, text), "{text}");
        }
        for text in [
            "select id from nodes, jobs",
            "select id from nodes where id in (select id from People)",
            "delete from audit",
        ] {
            assert!(!accepts(Installation::check, text), "{text}");
        }
    }

    /// The tables that the migrations create, each with its columns.
    fn tables(migrator: &sqlx::migrate::Migrator) -> BTreeMap<String, Vec<String>> {
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for migration in migrator.iter() {
            let text: String = migration
                .sql
                .as_str()
                .lines()
                .map(|line| line.split("--").next().unwrap_or_default())
                .flat_map(|line| [line, "\n"])
                .collect();
            for statement in text.split(';').map(str::trim) {
                let words: Vec<&str> = statement.split_whitespace().collect();
                match words[..] {
                    ["create", "table", name, ..] => {
                        let columns = statement.lines().skip(1);
                        let columns = columns.filter_map(|line| line.split_whitespace().next());
                        tables.insert(name.to_owned(), columns.map(str::to_owned).collect());
                    }
                    ["alter", "table", name, "add", "column", column, ..] => {
                        tables.get_mut(name).unwrap().push(column.to_owned());
                    }
                    ["alter", "table", name, "rename", "to", new] => {
                        let columns = tables.remove(name).unwrap();
                        tables.insert(new.to_owned(), columns);
                    }
                    ["drop", "table", name] => {
                        tables.remove(name).unwrap();
                    }
                    _ => {}
                }
            }
        }
        tables
    }

    #[test]
    fn the_lists_have_every_table_of_an_account() {
        for migrator in [&migrations::SQLITE, &migrations::POSTGRES] {
            let (mut of_mode, mut of_merchant) = (Vec::new(), Vec::new());
            for (table, columns) in tables(migrator) {
                let has = |column: &str| columns.iter().any(|name| name == column);
                match (has("merchant_id"), has("sandbox")) {
                    (true, true) => of_mode.push(table.into_bytes()),
                    (true, false) => of_merchant.push(table.into_bytes()),
                    (false, false) => {}
                    (false, true) => panic!("{table} has a mode and no account"),
                }
            }
            assert_eq!(of_mode, MODE_TABLES);
            assert_eq!(of_merchant, MERCHANT_TABLES);
        }
    }

    #[test]
    fn every_statement_goes_through_the_macros() {
        // The exceptions: the macros themselves, connecting and migrating, the database's time, copies of whole
        // databases, and inserts of many rows, which begin each row with its tenant.
        const WITHOUT: [&str; 8] = [
            "sql.rs",
            "db.rs",
            "clock.rs",
            "sqlite.rs",
            "snapshots.rs",
            "transfer.rs",
            "group_commit.rs",
            "bulk/rows.rs",
        ];
        let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let (mut folders, mut read) = (vec![src.clone()], 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
                if WITHOUT.contains(&name.as_str()) || name == "tenancy.rs" || name.ends_with("tests.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                for call in ["sqlx::query", "sqlx::raw_sql", "AssertSqlSafe"] {
                    assert!(!text.contains(call), "{name} calls {call}");
                }
                read += 1;
            }
        }
        assert!(read > 40, "{read} files");
    }
}
