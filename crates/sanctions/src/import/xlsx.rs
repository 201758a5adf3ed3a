//! Reads the rows of an Excel workbook (`.xlsx`) in bounded memory, for lists that are published as nothing else.
//!
//! A workbook is a ZIP archive, so a small file may unpack to gigabytes: everything in it is unpacked and counted once
//! before it is parsed. No formula is evaluated; a cell with one has the value that the publisher's program stored.

use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{DataRef, Reader, Xlsx};

use super::input::Tally;
use super::list::ImportError;

/// Largest file in bytes. Australia's list has 1.3 MB.
const MAX_FILE: u64 = 32 << 20;
/// Largest sum of what is in the archive, in bytes. The parser needs up to ten times as much memory.
const MAX_UNPACKED: u64 = 64 << 20;
/// Largest table of cell formats in bytes, because the parser makes about 300 bytes of five.
const MAX_STYLES: u64 = 2 << 20;
/// Largest number of texts that the table of texts may announce, because the parser reserves memory for them.
const MAX_TEXTS: u64 = 2_000_000;
const MAX_PARTS: usize = 1_000;
/// Largest sheet. Australia's has 11,163 rows of 19 columns.
const MAX_ROWS: u32 = 200_000;
const MAX_COLUMNS: u32 = 256;
/// Largest sum of all cells' texts in bytes. Many cells may share one text of the archive.
const MAX_TEXT: usize = 64 << 20;

/// The text of a cell whose formula failed, such as `#REF!`.
pub(super) const FAILED: &str = "#ERROR";

/// Calls `each` with the number of the sheet, that of the row (both from 1) and the cells of every row that has some.
/// Whole numbers have no point, and dates are `YYYY-MM-DD`. Returns when the workbook was saved, as its program wrote it.
pub(super) fn read(
    name: &str,
    input: impl Read,
    tally: &mut Tally,
    mut each: impl FnMut(usize, u32, &[String], &mut Tally),
) -> Result<String, ImportError> {
    let mut bytes = Vec::new();
    input
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ImportError::Read {
            name: name.into(),
            source,
        })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(tally.damaged(name, format!("larger than {} MiB", MAX_FILE >> 20)));
    }
    check_archive(&bytes).map_err(|reason| tally.damaged(name, reason))?;
    // The parser's arithmetic overflows on some damaged cell names in builds that check it.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        read_sheets(bytes, |sheet, row, cells| each(sheet, row, cells, tally))
    }));
    let parsed = parsed.unwrap_or_else(|_| Err("not readable as an Excel workbook".into()));
    parsed.map_err(|reason| tally.damaged(name, reason))
}

/// Unpacks everything once, and checks what the parser relies on.
fn check_archive(bytes: &[u8]) -> Result<(), String> {
    let unreadable = || "not an Excel workbook (.xlsx), or not all of it; download it again".to_owned();
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|_| unreadable())?;
    if archive.len() > MAX_PARTS {
        return Err(format!("more than {MAX_PARTS} files in the workbook"));
    }
    let mut left = MAX_UNPACKED;
    let mut unpacked = Vec::new();
    for at in 0..archive.len() {
        let part = archive.by_index(at).map_err(|_| unreadable())?;
        let part_name = part.name().map_err(|_| unreadable())?.to_ascii_lowercase();
        unpacked.clear();
        part.take(left + 1)
            .read_to_end(&mut unpacked)
            .map_err(|_| unreadable())?;
        let size = unpacked.len() as u64;
        left = left
            .checked_sub(size)
            .ok_or_else(|| format!("the workbook unpacks to more than {} MiB", MAX_UNPACKED >> 20))?;
        if part_name.ends_with("styles.xml") && size > MAX_STYLES {
            return Err(format!("more than {} MiB of cell formats", MAX_STYLES >> 20));
        }
        // Excel writes UTF-8. In another encoding, the next check could miss what the parser sees.
        let is_xml = part_name.ends_with(".xml") || part_name.ends_with(".rels");
        if is_xml && unpacked.iter().any(|byte| matches!(byte, 0 | 0x1B)) {
            return Err("a part of the workbook is not in UTF-8".into());
        }
        if part_name.ends_with("sharedstrings.xml") && announced_texts(&unpacked) > MAX_TEXTS {
            return Err(format!("more than {MAX_TEXTS} texts"));
        }
    }
    Ok(())
}

/// The largest number that a table of texts announces as its size.
fn announced_texts(xml: &[u8]) -> u64 {
    const MARK: &[u8] = b"uniqueCount";
    let after = xml
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, found)| *found == MARK);
    let numbers = after.map(|(at, _)| {
        let rest = xml[at + MARK.len()..].iter();
        let digits =
            rest.skip_while(|byte| matches!(byte, b'=' | b'"' | b'\'' | b'+') || byte.is_ascii_whitespace());
        digits
            .take_while(|byte| byte.is_ascii_digit())
            .fold(0u64, |number, byte| {
                number.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
            })
    });
    numbers.max().unwrap_or(0)
}

fn read_sheets(bytes: Vec<u8>, mut each: impl FnMut(usize, u32, &[String])) -> Result<String, String> {
    let unreadable = |_| "not readable as an Excel workbook".to_owned();
    let mut workbook: Xlsx<Cursor<Vec<u8>>> = Xlsx::new(Cursor::new(bytes)).map_err(unreadable)?;
    let saved = workbook.workbook_properties().map_err(unreadable)?.modified;
    let mut text = 0;
    for (at, sheet) in workbook.sheet_names().iter().enumerate() {
        let mut cells = workbook.worksheet_cells_reader(sheet).map_err(unreadable)?;
        let mut row: Vec<String> = Vec::new();
        let mut number = 0;
        while let Some(cell) = cells.next_cell().map_err(unreadable)? {
            let (line, column) = cell.get_position();
            if line >= MAX_ROWS || column >= MAX_COLUMNS {
                return Err(format!("more than {MAX_ROWS} rows or {MAX_COLUMNS} columns"));
            }
            let value = written(cell.get_value());
            text += value.len();
            if text > MAX_TEXT {
                return Err(format!("more than {} MiB of text", MAX_TEXT >> 20));
            }
            if line != number && !row.is_empty() {
                each(at + 1, number + 1, &row);
                row.clear();
            }
            number = line;
            if value.is_empty() {
                continue;
            }
            let column = column as usize;
            if row.len() <= column {
                row.resize(column + 1, String::new());
            }
            row[column] = value;
        }
        if !row.is_empty() {
            each(at + 1, number + 1, &row);
        }
    }
    Ok(saved.unwrap_or_default())
}

/// A cell as text. Line breaks and repeated spaces, which lists have inside cells, become one space.
fn written(value: &DataRef<'_>) -> String {
    let text = match value {
        DataRef::String(text) => text.as_str(),
        DataRef::SharedString(text) => text,
        DataRef::DateTimeIso(text) => text.split('T').next().unwrap_or_default(),
        DataRef::DurationIso(text) => text,
        DataRef::Int(number) => return number.to_string(),
        // Displays 1958 without a point.
        DataRef::Float(number) => return number.to_string(),
        DataRef::Bool(true) => "TRUE",
        DataRef::Bool(false) => "FALSE",
        DataRef::DateTime(date) => {
            let (year, month, day, ..) = date.to_ymd_hms_milli();
            return format!("{year:04}-{month:02}-{day:02}");
        }
        DataRef::Error(_) => FAILED,
        DataRef::Empty => "",
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
