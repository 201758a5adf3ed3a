//! Australia's workbook: its reader on a small workbook in the publisher's form, and on damaged and hostile ones. All
//! parties are invented.

use std::io::{Cursor, Write};

use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::entity::{Entity, IdentifierKind, Schema};

const COLUMNS: [&str; 19] = [
    "Reference",
    "Name of Individual or Entity",
    "Type",
    "Name Type",
    "Alias Strength",
    "Date of Birth",
    "Place of Birth",
    "Citizenship",
    "Address",
    "Additional Information",
    "Listing Information",
    "IMO Number",
    "Committees",
    "Control Date",
    "Instrument of Designation",
    "Targeted Financial Sanction",
    "Travel Ban",
    "Arms Embargo",
    "Maritime Restriction",
];

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const SHEETS: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

/// A cell: a number with a format (0 for none, 1 for a date), a truth value, or a text.
fn cell(value: &str) -> String {
    match value.split_once(':') {
        Some(("number", number)) => format!("<c><v>{number}</v></c>"),
        Some(("date", number)) => format!("<c s=\"1\"><v>{number}</v></c>"),
        Some(("bool", value)) => format!("<c t=\"b\"><v>{value}</v></c>"),
        Some(("shared", at)) => format!("<c t=\"s\"><v>{at}</v></c>"),
        Some(("failed", _)) => "<c t=\"e\"><v>#REF!</v></c>".into(),
        _ => format!("<c t=\"inlineStr\"><is><t>{value}</t></is></c>"),
    }
}

fn sheet(rows: &[Vec<&str>]) -> String {
    let rows = rows.iter().map(|row| {
        format!(
            "<row>{}</row>",
            row.iter().map(|value| cell(value)).collect::<String>()
        )
    });
    format!(
        "<worksheet xmlns=\"{SHEETS}\"><sheetData>{}</sheetData></worksheet>",
        rows.collect::<String>()
    )
}

/// A workbook of one sheet, with the texts that cells may share.
fn workbook(sheet: &str, texts: &str) -> Vec<u8> {
    let parts = [
        ("_rels/.rels", format!("<Relationships><Relationship Id=\"r1\" Type=\"{RELATIONS}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>")),
        ("docProps/core.xml", "<cp:coreProperties xmlns:cp=\"c\" xmlns:dcterms=\"d\"><dcterms:modified>2026-09-04T05:37:12Z</dcterms:modified></cp:coreProperties>".into()),
        ("xl/workbook.xml", format!("<workbook xmlns=\"{SHEETS}\" xmlns:r=\"{RELATIONS}\"><sheets><sheet name=\"List\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>")),
        ("xl/_rels/workbook.xml.rels", format!("<Relationships><Relationship Id=\"r1\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>")),
        ("xl/styles.xml", format!("<styleSheet xmlns=\"{SHEETS}\"><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>")),
        ("xl/sharedStrings.xml", texts.to_owned()),
        ("xl/worksheets/sheet1.xml", sheet.to_owned()),
    ];
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const TEXTS: &str = "<sst uniqueCount=\"1\"><si><t>Lamp 1, Uto, Norway; Lamp 2,&#10; Uto</t></si></sst>";

fn rows() -> Vec<Vec<&'static str>> {
    vec![
        vec!["Consolidated List"],
        COLUMNS.to_vec(),
        vec![
            "number:1234",
            "Anders LINDQVIST",
            "Individual",
            "Primary Name",
            "",
            "date:22882",
            "Uto, Utopia",
            "Norwegian, SE",
            "shared:0",
            "A smuggler of lanterns. Passport X123456",
            "2022 Instrument",
            "",
            "Autonomous (Utopia)",
            "date:44628",
            "Autonomous Sanctions 1",
            "bool:1",
            "bool:1",
            "bool:0",
            "bool:0",
        ],
        vec!["1234a", "Андерс Линдквист", "Individual", "Original Script"],
        vec![
            "1235",
            "Lantern Front",
            "Entity",
            "Primary Name",
            "",
            "",
            "",
            "Norway",
        ],
        vec!["1234b", "The Bear", "Individual", "Alias", "Weak", "number:1958"],
        vec![
            "1234c",
            "Anders Lindkvist",
            "Individual",
            "Formerly known as",
            "Strong",
            "approximately 1959 (a false passport)",
        ],
        vec![
            "1236",
            "LAMP STAR",
            "Vessel",
            "Primary Name",
            "",
            "",
            "",
            "",
            "",
            "",
            "",
            "number:9123456",
        ],
        vec!["1235", "Another Party", "Entity", "Primary Name"],
        vec!["1235a", "Another Name", "Entity", "Alias"],
        vec!["x", "No Number", "Entity", "Primary Name"],
        vec!["1237", "", "Entity", "Primary Name"],
        vec!["1238", "failed:", "Entity", "Primary Name"],
        vec!["1239", "Strange", "Planet", "Primary Name"],
        vec!["1240", "Kept Party", "Entity", "Primary Name", "", "failed:"],
    ]
}

fn read(bytes: Vec<u8>) -> Result<(List, ImportReport), ImportError> {
    import(
        vec![Source::new(
            "Australian_Sanctions_Consolidated_List.xlsx",
            Cursor::new(bytes),
        )],
        None,
    )
}

fn refused(bytes: Vec<u8>) -> String {
    match read(bytes) {
        Ok((_, report)) => panic!("{} entities", report.entities),
        Err(error) => error.to_string(),
    }
}

fn dates(entity: &Entity) -> Vec<String> {
    entity.birth_dates.iter().map(ToString::to_string).collect()
}

#[test]
fn au_xlsx() {
    let (list, report) = read(workbook(&sheet(&rows()), TEXTS)).unwrap();
    assert_eq!(report.format, ListFormat::AuXlsx);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("au_dfat_sanctions", "2026-09-04")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (13, 5, 4));
    let lines: Vec<u64> = report.rejects.iter().map(|reject| reject.line).collect();
    assert_eq!(lines, [11, 12, 13, 14]);
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("au-1234", Schema::Person));
    assert_eq!(person.names, ["Anders LINDQVIST"]);
    assert_eq!(person.aliases, ["Андерс Линдквист", "Anders Lindkvist"]);
    assert_eq!(person.weak_aliases, ["The Bear"]);
    assert_eq!(dates(person), ["1962-08-24", "1958", "1957/1961"]);
    assert_eq!(
        (&person.nationalities[..], &person.countries[..]),
        (&["se".to_owned()][..], &["no".to_owned()][..])
    );
    assert_eq!(person.programs, ["Autonomous (Utopia)"]);
    assert_eq!(
        person.remarks,
        [
            "Citizenship: Norwegian",
            "Address: Lamp 1, Uto, Norway; Lamp 2, Uto",
            "Place of birth: Uto, Utopia",
            "A smuggler of lanterns. Passport X123456",
            "Listing: 2022 Instrument",
            "Instrument: Autonomous Sanctions 1",
            "Listed on 2022-03-08",
            "Measure: Targeted financial sanction",
            "Measure: Travel ban",
            "Date of birth: approximately 1959 (a false passport)",
        ]
    );
    assert_eq!(
        (
            list.entities[1].names[0].as_str(),
            list.entities[1].countries[0].as_str()
        ),
        ("Lantern Front", "no")
    );
    let ship = &list.entities[2];
    assert_eq!(
        (
            ship.schema,
            ship.identifiers[0].kind,
            ship.identifiers[0].value.as_str()
        ),
        (Schema::Vessel, IdentifierKind::Imo, "9123456")
    );
    // A second primary name under a number is another party.
    let another = &list.entities[3];
    assert_eq!(
        (another.id.as_str(), &another.names[..], &another.aliases[..]),
        (
            "au-1235-2",
            &["Another Party".to_owned()][..],
            &["Another Name".to_owned()][..]
        )
    );
    let use_of = |column: &str| {
        let values = report.values.iter().filter(|value| value.name == column);
        values.map(|value| (value.used, value.count)).collect::<Vec<_>>()
    };
    // A cell with an error hides no party.
    assert_eq!(list.entities[4].names, ["Kept Party"]);
    assert_eq!(use_of("date of birth"), [(Use::Unused, 1), (Use::Compared, 3)]);
    assert_eq!(use_of("additional information"), [(Use::Kept, 1)]);
    assert_eq!(
        use_of("(sheet 1 without the column Reference)"),
        [(Use::Unused, 1)]
    );
}

#[test]
fn shuffled_columns_of_a_workbook_change_nothing() {
    let padded = rows().into_iter().skip(1).map(|mut row| {
        row.resize(COLUMNS.len(), "");
        row.reverse();
        row
    });
    let (before, _) = read(workbook(&sheet(&rows()), TEXTS)).unwrap();
    let (after, _) = read(workbook(&sheet(&padded.collect::<Vec<_>>()), TEXTS)).unwrap();
    assert_eq!(before.entities, after.entities);
}

#[test]
fn damaged_workbooks_are_refused_with_the_reason() {
    let good = workbook(&sheet(&rows()), TEXTS);
    let without = |column: &'static str| {
        let mut rows = rows();
        rows[1]
            .iter_mut()
            .filter(|name| **name == column)
            .for_each(|name| *name = "Other");
        workbook(&sheet(&rows), TEXTS)
    };
    let text = sheet(&rows());
    for (bytes, reason) in [
        (without("Reference"), "lacks the column Reference"),
        (without("Name Type"), "lacks the column Name Type"),
        (good[..good.len() / 2].to_vec(), "not all of it"),
        (
            workbook(&text[..text.len() / 2], TEXTS),
            "not readable as an Excel workbook",
        ),
        (
            workbook("<html></html>", TEXTS),
            "not readable as an Excel workbook",
        ),
        (b"PK\x03\x04 and nothing else".to_vec(), "not an Excel workbook"),
    ] {
        let error = refused(bytes);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn hostile_workbooks_are_refused() {
    let far = format!(
        "<worksheet xmlns=\"{SHEETS}\"><sheetData><row><c r=\"A1\"><v>1</v></c><c r=\"ZZZ9999999\"><v>1</v></c></row></sheetData></worksheet>"
    );
    let overflowing = far.replace("ZZZ9999999", "ZZZZZZZZZZZZ1");
    let rows = format!(
        "<worksheet><sheetData>{}</sheetData></worksheet>",
        "<row><c><v>1</v></c></row>".repeat(200_001)
    );
    let texts = "<sst uniqueCount = \"18446744073709551615\"><si><t>x</t></si></sst>";
    let long = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let shared = sheet(&vec![vec!["shared:0"]; 100]);
    let wide_text = "<\0s\0s\0t\0".to_owned();
    for (bytes, reason) in [
        (
            workbook(&" ".repeat(65 << 20), TEXTS),
            "unpacks to more than 64 MiB",
        ),
        (workbook(&far, TEXTS), "more than 200000 rows or 256 columns"),
        (workbook(&rows, TEXTS), "more than 200000 rows or 256 columns"),
        (workbook(&overflowing, TEXTS), ""),
        (workbook("", texts), "more than 2000000 texts"),
        (workbook(&shared, &long), "more than 64 MiB of text"),
        (workbook("", &wide_text), "not in UTF-8"),
        (
            [b"PK\x03\x04".to_vec(), vec![0; 33 << 20]].concat(),
            "larger than 32 MiB",
        ),
    ] {
        let error = refused(bytes);
        assert!(error.contains(reason), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_workbooks_are_an_answer(at in 0usize..20_000, byte in proptest::num::u8::ANY, cut in 0usize..20_000, inside in proptest::bool::ANY) {
        let mut text = sheet(&rows()).into_bytes();
        let mut bytes = Vec::new();
        if !inside {
            bytes = workbook(&sheet(&rows()), TEXTS);
        }
        let damaged = if inside { &mut text } else { &mut bytes };
        let len = damaged.len();
        damaged[at % len] = byte;
        damaged.truncate(cut.max(1_000));
        if inside {
            bytes = workbook(&String::from_utf8_lossy(&text), TEXTS);
        }
        let _ = import(vec![Source::new("x", Cursor::new(bytes))], Some(ListFormat::AuXlsx));
    }
}
