//! Reads Australia's Consolidated List (Department of Foreign Affairs and Trade, DFAT) as Excel workbook:
//! `Australian_Sanctions_Consolidated_List.xlsx`, formerly `regulation8_consolidated.xlsx`.
//!
//! Each row is a name. The rows 1234, 1234a and 1234b are names of one party, wherever they are; a further *primary*
//! name under the same number is another party, whose rows follow it. Nothing is guessed from a name's text.

use std::io::Read;

use rustc_hash::FxHashMap;

use super::input::Tally;
use super::list::{BORN_IN, ImportError, LISTED_ON, List, Use};
use super::{csv_tables, dates, xlsx};
use crate::countries;
use crate::entity::{Entity, Identifier, IdentifierKind, Schema, add_unique, push_unique};

const NAME: &str = "au_dfat_sanctions";

const REFERENCE: &str = "reference";
const FULL_NAME: &str = "name of individual or entity";
const KIND: &str = "type";
const NAME_KIND: &str = "name type";
const STRENGTH: &str = "alias strength";

/// Rows above the header, such as a title.
const MAX_ROWS_ABOVE: u32 = 20;

/// Columns that are kept as remarks, and their labels.
const REMARKS: &[(&str, &str)] = &[
    ("address", "Address: "),
    ("place of birth", BORN_IN),
    ("additional information", ""),
    ("listing information", "Listing: "),
    ("instrument of designation", "Instrument: "),
    ("control date", LISTED_ON),
];

/// Columns with TRUE or FALSE, and the measure that they state.
const MEASURES: &[(&str, &str)] = &[
    ("targeted financial sanction", "Targeted financial sanction"),
    ("travel ban", "Travel ban"),
    ("arms embargo", "Arms embargo"),
    ("maritime restriction", "Maritime restriction"),
];

#[derive(Default)]
struct Table {
    /// The columns of the current sheet in lower case; empty before its header.
    columns: Vec<String>,
    sheet: usize,
    has_header: bool,
    /// A column that the header lacks.
    missing: Option<&'static str>,
    entities: Vec<Entity>,
    /// The latest party of each number, and whether it has a primary name.
    by_number: FxHashMap<String, (usize, bool)>,
    /// How many parties have the number.
    times: FxHashMap<String, u32>,
}

pub(super) fn read(name: &str, input: impl Read, tally: &mut Tally) -> Result<List, ImportError> {
    let mut table = Table::default();
    let saved = xlsx::read(name, input, tally, |sheet, row, cells, tally| {
        table.add_row(sheet, row, cells, tally);
    })?;
    if let Some(missing) = table.missing {
        return Err(csv_tables::lacks_column(name, missing));
    }
    if !table.has_header {
        return Err(csv_tables::lacks_column(name, "Reference"));
    }
    let saved = saved.split('T').next().unwrap_or_default();
    Ok(List {
        name: NAME.into(),
        version: saved
            .parse::<jiff::civil::Date>()
            .map_or_else(|_| String::new(), |day| day.to_string()),
        entities: table.entities,
    })
}

impl Table {
    fn add_row(&mut self, sheet: usize, row: u32, cells: &[String], tally: &mut Tally) {
        if sheet != self.sheet {
            self.sheet = sheet;
            self.columns.clear();
        }
        if self.columns.is_empty() {
            return self.find_header(row, cells, tally);
        }
        let columns = std::mem::take(&mut self.columns);
        let field = |column: &str| {
            let at = columns.iter().position(|name| name == column);
            at.and_then(|at| cells.get(at)).map_or("", String::as_str)
        };
        tally.rows += 1;
        // An error in another cell hides no party.
        let has_failed = [REFERENCE, FULL_NAME, KIND, NAME_KIND]
            .iter()
            .any(|column| field(column) == xlsx::FAILED);
        let field = |column: &str| {
            Some(field(column))
                .filter(|text| *text != xlsx::FAILED)
                .unwrap_or("")
        };
        let added = match has_failed {
            true => Err("a cell with an error instead of a value"),
            false => self.add_name(&field),
        };
        match added {
            Ok(at) => add_facts(&mut self.entities[at], &field),
            Err(reason) => tally.reject(u64::from(row), reason),
        }
        for (at, value) in cells.iter().enumerate() {
            let column = columns.get(at).map_or("(no header)", String::as_str);
            tally.value(column, "", value, use_of(column, value));
        }
        self.columns = columns;
    }

    /// The header is the first row with a column for references. A sheet without one is no part of the list.
    fn find_header(&mut self, row: u32, cells: &[String], tally: &mut Tally) {
        let columns: Vec<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
        let has = |column: &str| columns.iter().any(|name| name == column);
        if row > MAX_ROWS_ABOVE || !has(REFERENCE) {
            let sheet = format!("(sheet {} without the column Reference)", self.sheet);
            cells
                .iter()
                .for_each(|value| tally.value(&sheet, "", value, Use::Unused));
            return;
        }
        let needed = [
            (FULL_NAME, "Name of Individual or Entity"),
            (KIND, "Type"),
            (NAME_KIND, "Name Type"),
        ];
        let missing = needed.iter().find(|(column, _)| !has(column));
        self.missing = self.missing.or(missing.map(|(_, written)| *written));
        self.has_header = true;
        self.columns = columns;
    }

    /// Adds a row's name to its party, and returns the party.
    fn add_name<'a>(&mut self, field: &impl Fn(&str) -> &'a str) -> Result<usize, &'static str> {
        let reference = field(REFERENCE);
        let number = reference.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c.is_whitespace());
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err("a reference that is not a number with or without a letter");
        }
        let name = field(FULL_NAME);
        if name.is_empty() {
            return Err("no name");
        }
        let schema = match field(KIND).to_lowercase().as_str() {
            "individual" | "person" => Some(Schema::Person),
            "entity" => Some(Schema::Organization),
            "vessel" | "ship" => Some(Schema::Vessel),
            // Rows of further names sometimes lack it.
            "" => None,
            _ => return Err("a type that is neither individual, entity nor vessel"),
        };
        let kind = field(NAME_KIND).to_lowercase();
        let is_primary = kind.starts_with("prim") || (kind.is_empty() && reference == number);
        let is_weak = field(STRENGTH).eq_ignore_ascii_case("weak");
        let known = self.by_number.get(number).copied();
        let at = match known {
            Some((at, had_primary))
                if !(is_primary && had_primary) || self.entities[at].names.iter().any(|n| n == name) =>
            {
                self.by_number
                    .insert(number.to_owned(), (at, had_primary || is_primary));
                at
            }
            _ => {
                let times = self.times.entry(number.to_owned()).or_default();
                *times += 1;
                let id = if *times == 1 {
                    format!("au-{number}")
                } else {
                    format!("au-{number}-{times}")
                };
                self.entities.push(Entity {
                    id,
                    schema: schema.unwrap_or(Schema::LegalEntity),
                    topics: vec!["sanction".into()],
                    datasets: vec![NAME.into()],
                    ..Entity::default()
                });
                self.by_number
                    .insert(number.to_owned(), (self.entities.len() - 1, is_primary));
                self.entities.len() - 1
            }
        };
        let entity = &mut self.entities[at];
        if let (Some(schema), true) = (schema, is_primary || entity.schema == Schema::LegalEntity) {
            entity.schema = schema;
        }
        let values = match (is_weak, is_primary) {
            (true, _) => &mut entity.weak_aliases,
            (_, true) => &mut entity.names,
            _ => &mut entity.aliases,
        };
        push_unique(values, name);
        Ok(at)
    }
}

/// Adds what a row states of its party besides the name.
fn add_facts<'a>(entity: &mut Entity, field: &impl Fn(&str) -> &'a str) {
    let (dates, is_complete) = dates::all(field("date of birth"), dates::day_first);
    dates
        .into_iter()
        .for_each(|date| add_unique(&mut entity.birth_dates, date));
    if !is_complete {
        push_unique(
            &mut entity.remarks,
            &format!("Date of birth: {}", field("date of birth")),
        );
    }
    for citizenship in field("citizenship").split([',', ';', '/']) {
        let citizenship = citizenship.trim();
        match countries::code(citizenship) {
            Some(code) if entity.schema == Schema::Person => push_unique(&mut entity.nationalities, &code),
            Some(code) => push_unique(&mut entity.countries, &code),
            // The list has adjectives, such as "Afghan".
            None if !citizenship.is_empty() => {
                push_unique(&mut entity.remarks, &format!("Citizenship: {citizenship}"));
            }
            None => {}
        }
    }
    for address in field("address").split(';') {
        let country = address.rsplit(',').next().and_then(countries::code);
        country
            .iter()
            .for_each(|code| push_unique(&mut entity.countries, code));
    }
    for number in field("imo number").split([',', ';']) {
        let value = number.trim().trim_start_matches("IMO").trim().to_owned();
        if !value.is_empty() {
            add_unique(
                &mut entity.identifiers,
                Identifier {
                    kind: IdentifierKind::Imo,
                    value,
                },
            );
        }
    }
    push_unique(&mut entity.programs, field("committees"));
    for (column, label) in REMARKS {
        if !field(column).is_empty() {
            push_unique(&mut entity.remarks, &format!("{label}{}", field(column)));
        }
    }
    for (column, measure) in MEASURES {
        if matches!(field(column).to_lowercase().as_str(), "true" | "yes" | "1") {
            push_unique(&mut entity.remarks, &format!("Measure: {measure}"));
        }
    }
}

fn use_of(column: &str, value: &str) -> Use {
    let is_code = |part: &str| countries::code(part).is_some();
    match column {
        _ if value == xlsx::FAILED => Use::Unused,
        REFERENCE | FULL_NAME | KIND | NAME_KIND | STRENGTH | "imo number" | "committees" => Use::Compared,
        "date of birth" if !dates::all(value, dates::day_first).0.is_empty() => Use::Compared,
        "citizenship" if value.split([',', ';', '/']).any(is_code) => Use::Compared,
        "date of birth" | "citizenship" => Use::Kept,
        _ if REMARKS.iter().chain(MEASURES).any(|(known, _)| *known == column) => Use::Kept,
        _ => Use::Unused,
    }
}
