//! Invitations in a CSV file: reads each row as a request for an invitation, by the names of the columns, and reports
//! every fault with its line. This module creates nothing. The values of a file are personal data, so no fault contains
//! one.

use std::collections::HashMap;

use serde_json::{Map, Value};
use verification::dates;

use crate::applicant_invitations::{InvitationOrder, MOST_OF_A_FILE, read_order};
use crate::problem::Problem;

/// The largest file, in bytes.
pub const MOST_BYTES: usize = 1_000_000;

/// The most columns whose names are looked at.
const MOST_COLUMNS: usize = 50;

/// A column of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The merchant's label for the applicant; the only required column.
    UserId,
    /// The applicant's address for letters.
    Email,
    /// The language of letters.
    Language,
    /// The expected person's given names.
    FirstName,
    /// The expected person's family name.
    LastName,
    /// The expected person's date of birth, `YYYY-MM-DD`.
    Dob,
}

impl Column {
    /// Every column.
    pub const ALL: [Column; 6] = [
        Column::UserId,
        Column::Email,
        Column::Language,
        Column::FirstName,
        Column::LastName,
        Column::Dob,
    ];

    /// The name in the first row, which is also the name in the API's body.
    pub fn as_str(self) -> &'static str {
        match self {
            Column::UserId => "userId",
            Column::Email => "email",
            Column::Language => "language",
            Column::FirstName => "firstName",
            Column::LastName => "lastName",
            Column::Dob => "dob",
        }
    }

    /// The column with a name, in any case.
    fn named(name: &str) -> Option<Column> {
        let is_same = |column: &Column| column.as_str().eq_ignore_ascii_case(name);
        Column::ALL.into_iter().find(is_same)
    }

    /// The column that a field of the API's body is read from.
    fn of_field(field: &str) -> Option<Column> {
        match field {
            "expected" => Some(Column::FirstName),
            _ => Column::named(field.strip_prefix("expected.").unwrap_or(field)),
        }
    }
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultReason {
    /// The file has more than [`MOST_BYTES`].
    TooLarge,
    /// The text is not UTF-8.
    NotUtf8,
    /// No row follows the names of the columns.
    NoRows,
    /// The file has more than [`MOST_OF_A_FILE`] rows.
    TooManyRows,
    /// A column, by its number from 1, has an unknown name. The name is withheld: in a file without names of columns, it
    /// is the data of a person.
    UnknownColumn(usize),
    /// Two columns have the same name.
    RepeatedColumn,
    /// A required column is missing.
    MissingColumn,
    /// The row has this number of cells, which is not the number of columns.
    CellCount(usize),
    /// The cell has several lines, perhaps because a quotation mark is not closed.
    LineBreak,
    /// The date of birth is not one.
    Date,
    /// The row on this line has the same `userId`.
    RepeatedUser(u64),
    /// The cell breaks a rule of the API, whose reason this is.
    Rule(String),
}

impl FaultReason {
    /// The word by which pages find the text.
    pub fn as_str(&self) -> &'static str {
        match self {
            FaultReason::TooLarge => "too_large",
            FaultReason::NotUtf8 => "not_utf8",
            FaultReason::NoRows => "no_rows",
            FaultReason::TooManyRows => "too_many_rows",
            FaultReason::UnknownColumn(_) => "unknown_column",
            FaultReason::RepeatedColumn => "repeated_column",
            FaultReason::MissingColumn => "missing_column",
            FaultReason::CellCount(_) => "cell_count",
            FaultReason::LineBreak => "line_break",
            FaultReason::Date => "date",
            FaultReason::RepeatedUser(_) => "repeated_user",
            FaultReason::Rule(_) => "rule",
        }
    }

    /// The number in the text, if it has one.
    pub fn number(&self) -> Option<u64> {
        match self {
            FaultReason::TooManyRows => u64::try_from(MOST_OF_A_FILE).ok(),
            FaultReason::UnknownColumn(number) | FaultReason::CellCount(number) => {
                u64::try_from(*number).ok()
            }
            FaultReason::RepeatedUser(line) => Some(*line),
            _ => None,
        }
    }
}

/// A fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// The line on which its row begins, from 1; `None` for a fault of the whole file.
    pub line: Option<u64>,
    /// Its column, if it has one.
    pub column: Option<Column>,
    /// What is wrong.
    pub reason: FaultReason,
}

impl FileFault {
    fn of_file(reason: FaultReason) -> Self {
        FileFault {
            line: None,
            column: None,
            reason,
        }
    }

    fn of_line(line: u64, column: Option<Column>, reason: FaultReason) -> Self {
        FileFault {
            line: Some(line),
            column,
            reason,
        }
    }
}

/// A row without faults.
#[derive(Clone, Debug)]
pub struct FileRow {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The invitation that it requests.
    pub order: InvitationOrder,
}

/// Reads the rows of a file as requests for invitations to one Flow in a Group.
///
/// # Errors
/// Every fault, in the order of the lines. Faults of the first row hide those of the others.
pub fn read(content: &[u8], group_id: &str, flow_id: &str) -> Result<Vec<FileRow>, Vec<FileFault>> {
    let text = text_of(content).map_err(|fault| vec![fault])?;
    let rows = rows_of(text).map_err(|fault| vec![fault])?;
    let Some(((line, names), rows)) = rows.split_first().filter(|(_, rows)| !rows.is_empty()) else {
        return Err(vec![FileFault::of_file(FaultReason::NoRows)]);
    };
    let columns = columns_of(*line, names)?;
    if rows.len() > most_rows() {
        return Err(vec![FileFault::of_file(FaultReason::TooManyRows)]);
    }
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    let mut lines: HashMap<&str, u64> = HashMap::new();
    for (line, cells) in rows {
        let line = *line;
        let cells = match Cells::new(line, &columns, cells) {
            Ok(cells) => cells,
            Err(wrong) => {
                faults.extend(wrong);
                continue;
            }
        };
        let user_id = cells.get(Column::UserId);
        if let Some(first) = user_id.and_then(|user_id| lines.get(user_id)) {
            let reason = FaultReason::RepeatedUser(*first);
            faults.push(FileFault::of_line(line, Some(Column::UserId), reason));
        } else if let Some(user_id) = user_id {
            lines.insert(user_id, line);
        }
        match read_order(&cells.body(group_id, flow_id)) {
            Ok(order) => read.push(FileRow { line, order }),
            Err(problem) => faults.extend(faults_of(line, &problem)),
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

fn most_rows() -> usize {
    usize::try_from(MOST_OF_A_FILE).unwrap_or(usize::MAX)
}

/// The faults of a row that was refused.
pub fn faults_of(line: u64, problem: &Problem) -> Vec<FileFault> {
    let fault = |error: &str| {
        let (field, reason) = error.split_once(" - ").unwrap_or(("", error));
        let column = Column::of_field(field);
        let reason = match column {
            // The API's reason describes the format of its own field.
            Some(Column::Dob) => FaultReason::Date,
            _ => FaultReason::Rule(reason.to_owned()),
        };
        FileFault::of_line(line, column, reason)
    };
    if problem.errors().is_empty() {
        return vec![fault(problem.message())];
    }
    problem.errors().iter().map(|error| fault(error)).collect()
}

/// The file as text, without its byte order mark.
fn text_of(content: &[u8]) -> Result<&str, FileFault> {
    if content.len() > MOST_BYTES {
        return Err(FileFault::of_file(FaultReason::TooLarge));
    }
    let not_utf8 = |offset: usize| {
        let line = LineCounter::new(content).line_of(offset);
        FileFault::of_line(line, None, FaultReason::NotUtf8)
    };
    let text = std::str::from_utf8(content).map_err(|error| not_utf8(error.valid_up_to()))?;
    // A file in UTF-16 has zeros in every cell.
    match text.find('\0') {
        Some(offset) => Err(not_utf8(offset)),
        None => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
    }
}

/// The rows that are not blank, each with the line on which it begins. The cells are trimmed.
fn rows_of(text: &str) -> Result<Vec<(u64, Vec<String>)>, FileFault> {
    let reader = csv::ReaderBuilder::new()
        .delimiter(separator(text))
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut counter = LineCounter::new(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.into_records() {
        let record = record.map_err(|_| FileFault::of_file(FaultReason::NotUtf8))?;
        let offset = record.position().map_or(0, csv::Position::byte);
        let line = counter.line_of_row(usize::try_from(offset).unwrap_or(usize::MAX));
        let cells: Vec<String> = record.iter().map(|cell| cell.trim().to_owned()).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push((line, cells));
        }
        // One more than a file may have, and the names.
        if rows.len() > most_rows() + 1 {
            break;
        }
    }
    Ok(rows)
}

/// The separator of the columns: the one that the first row has more often.
fn separator(text: &str) -> u8 {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let count = |separator: char| first.map_or(0, |line| line.matches(separator).count());
    if count(';') > count(',') { b';' } else { b',' }
}

/// Counts the lines of a file up to growing offsets.
struct LineCounter<'a> {
    content: &'a [u8],
    offset: usize,
    line: u64,
}

impl<'a> LineCounter<'a> {
    fn new(content: &'a [u8]) -> Self {
        LineCounter {
            content,
            offset: 0,
            line: 1,
        }
    }

    /// The line of an offset, from 1. A line ends with `\n`, `\r\n` or `\r`.
    fn line_of(&mut self, offset: usize) -> u64 {
        while self.offset < offset {
            let next = self.content.get(self.offset + 1);
            match self.content.get(self.offset) {
                Some(b'\n') => self.line += 1,
                Some(b'\r') if next != Some(&b'\n') => self.line += 1,
                Some(_) => {}
                None => break,
            }
            self.offset += 1;
        }
        self.line
    }

    /// The line of the row that the CSV reader found from an offset on. It reads the ends of blank lines with the row.
    fn line_of_row(&mut self, offset: usize) -> u64 {
        let bytes = self.content.iter().skip(offset);
        let ends = bytes.take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.line_of(offset.saturating_add(ends))
    }
}

/// The columns that the first row names.
fn columns_of(line: u64, names: &[String]) -> Result<Vec<Column>, Vec<FileFault>> {
    let (mut columns, mut faults) = (Vec::new(), Vec::new());
    // One unknown column is enough to refuse the file.
    for (position, name) in names.iter().enumerate().take(MOST_COLUMNS) {
        match Column::named(name) {
            Some(column) if columns.contains(&column) => {
                faults.push(FileFault::of_line(
                    line,
                    Some(column),
                    FaultReason::RepeatedColumn,
                ));
            }
            Some(column) => columns.push(column),
            None => {
                let reason = FaultReason::UnknownColumn(position + 1);
                faults.push(FileFault::of_line(line, None, reason));
            }
        }
    }
    if !columns.contains(&Column::UserId) {
        let column = Some(Column::UserId);
        faults.push(FileFault::of_line(line, column, FaultReason::MissingColumn));
    }
    if faults.is_empty() {
        Ok(columns)
    } else {
        Err(faults)
    }
}

/// The cells of a row that are not empty.
struct Cells<'a>(Vec<(Column, &'a str)>);

impl<'a> Cells<'a> {
    fn new(line: u64, columns: &[Column], cells: &'a [String]) -> Result<Self, Vec<FileFault>> {
        if cells.len() != columns.len() {
            let reason = FaultReason::CellCount(cells.len());
            return Err(vec![FileFault::of_line(line, None, reason)]);
        }
        let filled = columns.iter().copied().zip(cells.iter().map(String::as_str));
        let filled: Vec<(Column, &str)> = filled.filter(|(_, cell)| !cell.is_empty()).collect();
        let broken = filled.iter().filter(|(_, cell)| cell.contains(['\n', '\r']));
        let faults: Vec<FileFault> = broken
            .map(|(column, _)| FileFault::of_line(line, Some(*column), FaultReason::LineBreak))
            .collect();
        if faults.is_empty() {
            Ok(Cells(filled))
        } else {
            Err(faults)
        }
    }

    fn get(&self, column: Column) -> Option<&'a str> {
        let found = self.0.iter().find(|(filled, _)| *filled == column);
        found.map(|(_, cell)| *cell)
    }

    /// The API's body for this row. A date of birth in another format becomes empty, which the API refuses: it must not be
    /// read as `MM/DD/YYYY`.
    fn body(&self, group_id: &str, flow_id: &str) -> Map<String, Value> {
        let text = |column: Column| {
            let cell = self.get(column)?;
            let value = match column {
                Column::Dob => dates::parse_iso(cell).map(dates::format_us).unwrap_or_default(),
                _ => cell.to_owned(),
            };
            Some((column.as_str().to_owned(), Value::from(value)))
        };
        let user_id = self.get(Column::UserId).unwrap_or_default();
        let fixed = [("userId", user_id), ("groupId", group_id), ("flowId", flow_id)];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), Value::from(value)));
        let letter = [Column::Email, Column::Language].into_iter().filter_map(text);
        let mut body: Map<String, Value> = fixed.into_iter().chain(letter).collect();
        let expected = [Column::FirstName, Column::LastName, Column::Dob];
        let expected: Map<String, Value> = expected.into_iter().filter_map(text).collect();
        if !expected.is_empty() {
            body.insert("expected".to_owned(), expected.into());
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::letter_texts::LANGUAGES;

    const GROUP: &str = "00000000-0000-0000-0000-000000000001";
    const FLOW: &str = "00000000-0000-0000-0000-000000000002";

    fn lines(content: impl AsRef<[u8]>) -> Vec<u64> {
        let rows = read(content.as_ref(), GROUP, FLOW).expect("a file without faults");
        rows.iter().map(|row| row.line).collect()
    }

    /// The faults as texts: `line column reason number`.
    fn faults(content: impl AsRef<[u8]>) -> Vec<String> {
        let faults = read(content.as_ref(), GROUP, FLOW).expect_err("a file with faults");
        let text = |fault: &FileFault| {
            let line = fault.line.map_or("-".to_owned(), |line| line.to_string());
            let column = fault.column.map_or("-", Column::as_str);
            let reason = match &fault.reason {
                FaultReason::Rule(reason) => reason.clone(),
                reason => reason.as_str().to_owned(),
            };
            let number = fault.reason.number().map(|number| format!(" {number}"));
            format!("{line} {column} {reason}{}", number.unwrap_or_default())
        };
        faults.iter().map(text).collect()
    }

    #[test]
    fn good_files_are_read() {
        for (content, expected) in [
            ("userId\nuser-1\nuser-2", vec![2, 3]),
            (
                "\u{feff}USERID;Email\r\nuser-1;\r\n\r\n ; \r\nuser-2;ada@example.org\r\n",
                vec![2, 5],
            ),
            ("\n\nlanguage, userid\n\n,user-1\n", vec![5]),
            ("userId\ruser-1\r\ruser-2\r", vec![2, 4]),
            ("userId,email\n\"a, b\",\n\"say \"\"x\"\"\",\n", vec![2, 3]),
            (
                "dob,lastName,firstName,userId\n1990-12-31,Байрон,Ada,user-1\n",
                vec![2],
            ),
        ] {
            assert_eq!(lines(content), expected, "{content:?}");
        }
    }

    #[test]
    fn every_fault_has_its_line_and_column() {
        let unknown = format!("2 language must be one of {}", LANGUAGES.join(", "));
        let names = "userId,email,language,firstName,lastName,dob\n";
        for (content, expected) in [
            (String::new(), vec!["- - no_rows"]),
            ("userId\n\n".into(), vec!["- - no_rows"]),
            (
                "user-1,Ada\nuser-2,Bob\n".into(),
                vec![
                    "1 - unknown_column 1",
                    "1 - unknown_column 2",
                    "1 userId missing_column",
                ],
            ),
            (
                "\nemail,Email\na,b\n".into(),
                vec!["2 email repeated_column", "2 userId missing_column"],
            ),
            (
                "userId,email\nuser-1\nuser-2,,\n".into(),
                vec!["2 - cell_count 1", "3 - cell_count 3"],
            ),
            (
                "userId,firstName\nuser-1,\"A\nB\"\n,\n\n,Ada\n".into(),
                vec![
                    "2 firstName line_break",
                    "6 userId cannot be empty",
                    "6 lastName is required",
                ],
            ),
            (
                "userId\r\nuser-1\r\nuser-2\r\n user-1\r\n".into(),
                vec!["4 userId repeated_user 2"],
            ),
            (
                format!("{names}user-1,ada,xx,Ada,,\n"),
                vec![
                    "2 lastName is required",
                    "2 email must be an email address",
                    &unknown,
                ],
            ),
            (
                format!("{names}user-1,,,Ada,Byron,12/31/1990\nuser-2,,,Ada,Byron,2990-12-31\n"),
                vec!["2 dob date", "3 dob date"],
            ),
            (
                format!("userId\n{}", "\u{1}\n".repeat(2)),
                vec![
                    "2 userId must not contain control characters",
                    "3 userId repeated_user 2",
                    "3 userId must not contain control characters",
                ],
            ),
        ] {
            assert_eq!(faults(&content), expected, "{content:?}");
        }
        assert_eq!(faults(b"userId\nuser-1\nM\xfcller\n"), ["3 - not_utf8"]);
        assert_eq!(faults(b"\xff\xfeu\0s\0"), ["1 - not_utf8"]);
        assert_eq!(faults("u\0s\0e\0r\0I\0d\0"), ["1 - not_utf8"]);
    }

    #[test]
    fn files_have_a_limit() {
        let of = |rows: usize| {
            let rows = (0..rows).map(|row| format!("user-{row}\n"));
            format!("userId\n{}", rows.collect::<String>())
        };
        assert_eq!(lines(of(1_000)).len(), 1_000);
        assert_eq!(faults(of(1_001)), ["- - too_many_rows 1000"]);
        assert_eq!(faults(vec![b'\n'; MOST_BYTES + 1]), ["- - too_large"]);
    }

    #[test]
    fn a_row_becomes_the_bodys_members() {
        let columns = Column::ALL;
        let cells = ["user-1", "ada@example.org", "de", "Ada", "Byron", "1990-12-31"].map(str::to_owned);
        let Ok(whole) = Cells::new(2, &columns, &cells) else {
            panic!("the row has no faults");
        };
        let body = whole.body(GROUP, FLOW);
        let expected = json!({
            "userId": "user-1", "groupId": GROUP, "flowId": FLOW, "email": "ada@example.org", "language": "de",
            "expected": {"firstName": "Ada", "lastName": "Byron", "dob": "12/31/1990"},
        });
        assert_eq!(Value::from(body), expected);
        let cells = ["user-1", "", "", "", "", ""].map(str::to_owned);
        let Ok(sparse) = Cells::new(2, &columns, &cells) else {
            panic!("the row has no faults");
        };
        let expected = json!({"userId": "user-1", "groupId": GROUP, "flowId": FLOW});
        assert_eq!(Value::from(sparse.body(GROUP, FLOW)), expected);
    }

    #[test]
    fn refusals_name_their_line() {
        let refused = Problem::invalid("email - is used; expected - must be absent").with_errors(vec![
            "email - cannot be used".to_owned(),
            "expected - must be absent".to_owned(),
        ]);
        let rule = |column, reason: &str| FileFault::of_line(7, column, FaultReason::Rule(reason.to_owned()));
        let faults = [
            rule(Some(Column::Email), "cannot be used"),
            rule(Some(Column::FirstName), "must be absent"),
        ];
        assert_eq!(faults_of(7, &refused), faults);
        let gone = Problem::not_found("Flow not found");
        assert_eq!(faults_of(7, &gone), [rule(None, "Flow not found")]);
    }
}
