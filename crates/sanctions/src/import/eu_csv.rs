//! Reads the European Union's consolidated list of financial sanctions as CSV: the FSF export, CSV 1.1
//! (`csvFullSanctionsList_1_1`), separated by `;`.
//!
//! The rows of an entity repeat its own columns (`Entity_…`), and each has one or more of its names, addresses, dates of
//! birth, numbers and citizenships (`NameAlias_…`, `Address_…`). The columns are the XML's attributes under other names,
//! so the rows of an entity are made into its element, and [`eu_xml`] reads that. The CSV never states which names are
//! weak, so all of them are strong except those that a remark calls low quality.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use super::csv_tables::{lacks_column, rows_below_header};
use super::eu_xml;
use super::input::Tally;
use super::list::{ImportError, List, Use};
use super::record::Element;

const ID: &str = "Entity_LogicalId";
const DATE: &str = "fileGenerationDate";
const KIND: &str = "Entity_SubjectType";
const KIND_NAME: &str = "Entity_SubjectType_ClassificationCode";
const WHOLE_NAME: &str = "NameAlias_WholeName";

/// Maximum number of names, addresses, dates and numbers of an entity. The list's largest has about a hundred.
const MAX_PARTS: usize = 20_000;

/// The prefixes of columns that belong to a part of an entity, and the XML's name of the part.
const PARTS: &[(&str, &str)] = &[
    ("NameAlias", "nameAlias"),
    ("Address", "address"),
    ("BirthDate", "birthdate"),
    ("Identification", "identification"),
    ("Citizenship", "citizenship"),
];

/// Columns whose attribute is not the column's name after its prefix with a small first letter.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("Entity_EU_ReferenceNumber", "euReferenceNumber"),
    ("BirthDate_BirthDate", "birthdate"),
    ("BirthDate_Day", "dayOfMonth"),
    ("BirthDate_Month", "monthOfYear"),
    ("Identification_TypeCode", "identificationTypeCode"),
    ("Identification_TypeDescription", "identificationTypeDescription"),
];

/// Whether a first line is this format's header.
pub(super) fn is_header(line: &str) -> bool {
    let names = line.trim_start_matches('\u{feff}').split(';').map(clean);
    let known = |name: &&str| name.starts_with("Entity_") || name.starts_with("NameAlias_");
    names.filter(known).count() >= 2
}

fn clean(name: &str) -> &str {
    name.trim_matches(|c: char| c == '\u{feff}' || c == '"' || c.is_whitespace())
}

/// Where a column's values belong in the XML: the element in the entity's (or the entity itself), and its attribute.
struct Column {
    name: String,
    part: &'static str,
    attribute: String,
}

impl Column {
    fn of(name: &str) -> Column {
        let name = clean(name);
        let (part, rest) = match name.strip_prefix("Entity_Regulation_") {
            Some(rest) => ("regulation", rest),
            None => match name.split_once('_') {
                Some(("Entity", rest)) => ("", rest),
                Some((prefix, rest)) => {
                    let part = PARTS.iter().find(|(known, _)| *known == prefix);
                    part.map_or(("", name), |(_, part)| (*part, rest))
                }
                None => ("", name),
            },
        };
        let mut letters = rest.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
        let own = ATTRIBUTES.iter().find(|(column, _)| *column == name);
        Column {
            part,
            attribute: own.map_or_else(
                || format!("{first}{}", letters.as_str()),
                |(_, own)| (*own).to_owned(),
            ),
            name: name.to_owned(),
        }
    }
}

/// The list while it is read.
struct Table {
    columns: Vec<Column>,
    /// The entities' elements in the order of the file, each with the line of its first row.
    subjects: Vec<(Element, u64)>,
    by_id: FxHashMap<String, usize>,
    version: String,
    /// An entity with more parts than any list has.
    is_endless: bool,
}

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let table = rows_below_header(
        b';',
        name,
        input,
        tally,
        |header| Table::of(name, header),
        Table::add_row,
    )?;
    if table.is_endless {
        return Err(tally.damaged(name, format!("an entity with more than {MAX_PARTS} parts")));
    }
    let mut list = List {
        name: eu_xml::NAME.into(),
        version: table.version.clone(),
        entities: Vec::with_capacity(table.subjects.len()),
    };
    for (subject, line) in &table.subjects {
        match eu_xml::entity(subject) {
            Ok(entity) => list.entities.push(entity),
            Err(reason) => tally.reject(*line, reason),
        }
        table.count(subject, tally);
    }
    Ok(list)
}

impl Table {
    fn of(name: &str, header: &[String]) -> Result<Table, ImportError> {
        let columns: Vec<Column> = header.iter().map(|column| Column::of(column)).collect();
        let has = |wanted: &str| columns.iter().any(|column| column.name == wanted);
        for (wanted, alternative) in [(ID, ID), (KIND, KIND_NAME), (WHOLE_NAME, "NameAlias_LastName")] {
            if !has(wanted) && !has(alternative) {
                return Err(lacks_column(name, wanted));
            }
        }
        Ok(Table {
            columns,
            subjects: Vec::new(),
            by_id: FxHashMap::default(),
            version: String::new(),
            is_endless: false,
        })
    }

    fn add_row(&mut self, row: &[String], line: u64, tally: &mut Tally) {
        let field = |wanted: &str| {
            let at = self.columns.iter().position(|column| column.name == wanted);
            at.and_then(|at| row.get(at)).map_or("", String::as_str)
        };
        let id = field(ID);
        if self.version.is_empty() {
            self.version = day(field(DATE)).unwrap_or_default();
        }
        let known = self.by_id.get(id).copied();
        let at = match known {
            Some(at) => at,
            None => {
                tally.rows += 1;
                if id.is_empty() {
                    return tally.reject(line, "no Entity_LogicalId");
                }
                let subject = opened(id, [field(KIND), field(KIND_NAME)]);
                self.by_id.insert(id.to_owned(), self.subjects.len());
                self.subjects.push((subject, line));
                self.subjects.len() - 1
            }
        };
        let Some((subject, _)) = self.subjects.get_mut(at) else {
            return;
        };
        if subject.len() > MAX_PARTS {
            self.is_endless = true;
            return;
        }
        let mut parts: Vec<Element> = Vec::new();
        let mut remarks: Vec<String> = Vec::new();
        for (column, value) in self
            .columns
            .iter()
            .zip(row)
            .filter(|(_, value)| !value.is_empty())
        {
            match (column.part, column.attribute.as_str()) {
                ("", "remark") => remarks.push(value.clone()),
                ("", _) if matches!(column.name.as_str(), ID | KIND | KIND_NAME | DATE) => {}
                ("", attribute) if known.is_none() => subject.add_attribute(attribute, value),
                // Later rows repeat the entity's own values.
                ("", attribute) if subject.attribute(attribute, Use::Unused) == value => {}
                ("", _) => remarks.push(format!("{}: {value}", column.name)),
                (part, attribute) => {
                    let at = parts.iter().position(|known| known.name == part);
                    let at = at.unwrap_or(parts.len());
                    if at == parts.len() {
                        parts.push(Element::with_text(part, ""));
                    }
                    let element = &mut parts[at];
                    match attribute {
                        "remark" => element.add_child(Element::with_text("remark", value)),
                        "contactInfo" => {
                            let mut contact = Element::with_text("contactInfo", "");
                            contact.add_attribute("key", "Contact");
                            contact.add_attribute("value", value);
                            element.add_child(contact);
                        }
                        attribute => element.add_attribute(attribute, value),
                    }
                }
            }
        }
        for remark in remarks {
            subject.add_child(Element::with_text("remark", &remark));
        }
        for part in parts {
            subject.add_child(part);
        }
    }

    /// Counts what became of an entity's values, by column.
    fn count(&self, subject: &Element, tally: &mut Tally) {
        subject.each_value("", &mut |parent, element, attribute, value, used| {
            let (part, attribute) = match (parent, element) {
                ("", _) => ("", attribute),
                (_, "subjectType") => return tally.value(KIND, "", value, used),
                (_, "contactInfo") if attribute == "key" => return,
                ("sanctionEntity", "remark") => ("", "remark"),
                (_, "remark" | "contactInfo") => (parent, element),
                _ => (element, attribute),
            };
            let own = |column: &&Column| column.part == part && column.attribute == attribute;
            let name = self.columns.iter().find(own).map(|column| column.name.as_str());
            tally.value(name.unwrap_or(ID), "", value, used);
        });
        tally.value(DATE, "", &self.version, Use::Kept);
    }
}

/// The element of an entity. The two columns of its kind have `P` and `person`, or `E` and `enterprise`, in either order.
fn opened(id: &str, kinds: [&str; 2]) -> Element {
    let mut subject = Element::with_text("sanctionEntity", "");
    subject.add_attribute("logicalId", id);
    let is = |words: [&str; 2]| {
        kinds
            .iter()
            .any(|kind| words.iter().any(|word| kind.eq_ignore_ascii_case(word)))
    };
    let code = match () {
        () if is(["P", "person"]) => "P",
        () if is(["E", "enterprise"]) => "E",
        () => "",
    };
    let mut kind = Element::with_text("subjectType", "");
    kind.add_attribute("classificationCode", code);
    subject.add_child(kind);
    subject
}

/// A day as `YYYY-MM-DD`, from `05/08/2026` (the fifth of August) or `2026-08-05`.
fn day(text: &str) -> Option<String> {
    let text = text.split('T').next().unwrap_or_default();
    let parsed = ["%d/%m/%Y", "%Y-%m-%d"]
        .iter()
        .find_map(|form| jiff::civil::Date::strptime(form, text).ok());
    parsed.map(|day| day.to_string())
}
