//! Reads the UK Sanctions List of the Foreign, Commonwealth and Development Office, as XML and as CSV
//! (<https://www.gov.uk/government/publications/the-uk-sanctions-list>).
//!
//! The XML has one element per designation. The CSV has one row per name and address of a designation. Both have the same
//! data under other names, so one table says what becomes of each.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use super::csv_tables;
use super::input::Tally;
use super::list::{BORN_IN, ImportError, LISTED_ON, List, Use};
use super::record::{self, Element};
use crate::countries;
use crate::entity::{
    Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, add_unique, push_unique,
};

const NAME: &str = "gb_fcdo_sanctions";
const UPDATED_ON: &str = "Updated on ";

/// What becomes of a value.
#[derive(Clone, Copy)]
enum Target {
    Country,
    Nationality,
    Number(IdentifierKind),
    Birth,
    Gender,
    Programme,
    /// Kept as a remark with this label.
    Remark(&'static str),
}

use Target::{Birth, Country, Nationality, Number, Programme, Remark};

/// Elements of the XML, columns of the CSV (in lower case), and what becomes of their values. Names, kinds, dates of
/// designation, addresses and places of birth have rules of their own.
const VALUES: &[(&str, &str, Target)] = &[
    ("AddressCountry", "address country", Country),
    (
        "CurrentBelievedFlagOfShip",
        "current believed flag of ship",
        Country,
    ),
    ("Nationality", "nationality(/ies)", Nationality),
    (
        "PassportNumber",
        "passport number",
        Number(IdentifierKind::Passport),
    ),
    (
        "NationalIdentifierNumber",
        "national identifier number",
        Number(IdentifierKind::NationalId),
    ),
    (
        "BusinessRegistrationNumber",
        "business registration number (s)",
        Number(IdentifierKind::Registration),
    ),
    ("IMONumber", "imo number", Number(IdentifierKind::Imo)),
    (
        "HullIdentificationNumber",
        "hull identification number (hin)",
        Number(IdentifierKind::Other),
    ),
    ("DOB", "d.o.b", Birth),
    ("Gender", "gender", Target::Gender),
    ("RegimeName", "regime name", Programme),
    ("Title", "title", Remark("Title")),
    ("Position", "position", Remark("Position")),
    ("UNReferenceNumber", "un reference number", Remark("UN reference")),
    ("OFSIGroupID", "ofsi group id", Remark("OFSI group")),
    ("DesignationSource", "designation source", Remark("Designated by")),
    ("SanctionsImposed", "sanctions imposed", Remark("Sanctions")),
    ("OtherInformation", "other information", Remark("Information")),
    (
        "UKStatementofReasons",
        "uk statement of reasons",
        Remark("Reasons"),
    ),
    (
        "PassportAdditionalInformation",
        "passport additional information",
        Remark("Passport"),
    ),
    (
        "NationalIdentifierAdditionalInformation",
        "national identifier additional information",
        Remark("National identifier"),
    ),
    ("PhoneNumber", "phone number", Remark("Telephone")),
    ("Website", "website", Remark("Website")),
    ("EmailAddress", "email address", Remark("Email")),
    ("TypeOfEntity", "type of entity", Remark("Type of entity")),
    ("Subsidiary", "subsidiaries", Remark("Subsidiary")),
    ("ParentCompany", "parent company", Remark("Parent company")),
    (
        "CurrentOwnerOperator",
        "current owner/operator (s)",
        Remark("Owner or operator"),
    ),
    (
        "PreviousOwnerOperator",
        "previous owner/operator (s)",
        Remark("Former owner or operator"),
    ),
    ("PreviousFlag", "previous flags", Remark("Former flag")),
    ("TypeOfShip", "type of ship", Remark("Type of ship")),
    ("TonnageOfShip", "tonnage of ship", Remark("Tonnage")),
    ("LengthOfShip", "length of ship", Remark("Length")),
    ("YearBuilt", "year built", Remark("Built in")),
];

/// Reads the XML.
pub(super) fn read_xml(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: NAME.into(),
        ..List::default()
    };
    record::read(
        name,
        input,
        tally,
        &["Designation", "DateGenerated"],
        |record, tally| {
            if record.name == "DateGenerated" {
                list.version = day(record.text(Use::Kept)).unwrap_or_default();
                return;
            }
            tally.rows += 1;
            match designation(record) {
                Ok(entity) => list.entities.push(entity),
                Err(reason) => tally.reject(tally.rows, reason),
            }
        },
    )?;
    Ok(list)
}

fn designation(record: &Element) -> Result<Entity, &'static str> {
    let mut entity = opened(
        record.child("UniqueID", Use::Compared),
        record.child("IndividualEntityShip", Use::Compared),
    )?;
    for name in record
        .within("Name")
        .into_iter()
        .filter(|name| name.first("NameType").is_some())
    {
        let part = |part: &str| name.child(part, Use::Compared);
        let given = ["Name1", "Name2", "Name3", "Name4", "Name5"].map(part);
        let (kind, strength) = (part("NameType"), part("AliasStrength"));
        add_name(&mut entity, &given, part("Name6"), kind, strength);
    }
    for name in record.within("NameNonLatinScript") {
        push_unique(&mut entity.aliases, name.text(Use::Compared));
    }
    for (element, _, target) in VALUES {
        for value in record.within(element) {
            let used = if matches!(target, Remark(_)) {
                Use::Kept
            } else {
                Use::Compared
            };
            add_value(&mut entity, *target, value.text(used));
        }
    }
    for address in record.within("Address") {
        let lines = (1..=6).map(|line| format!("AddressLine{line}"));
        let lines = lines.chain(["AddressPostalCode".into(), "AddressCountry".into()]);
        let lines: Vec<&str> = lines
            .filter_map(|line| address.first(&line))
            .map(|line| line.text(Use::Kept))
            .collect();
        add_place(&mut entity, "Address: ", &lines);
    }
    for place in record.within("Location") {
        let parts = ["TownOfBirth", "CountryOfBirth"].map(|part| place.child(part, Use::Kept));
        add_place(&mut entity, BORN_IN, &parts);
    }
    for (element, label) in [("DateDesignated", LISTED_ON), ("LastUpdated", UPDATED_ON)] {
        add_day(&mut entity, label, record.child(element, Use::Kept));
    }
    named(entity)
}

/// Reads the CSV. Its first row has the date, its second the names of the columns.
pub(super) fn read_csv(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: NAME.into(),
        ..List::default()
    };
    let mut columns: Vec<String> = Vec::new();
    let mut by_id: FxHashMap<String, usize> = FxHashMap::default();
    csv_tables::rows(name, input, tally, |row, line, tally| {
        if columns.is_empty() {
            let clean = |name: &String| name.trim_start_matches('\u{feff}').trim().to_lowercase();
            let names: Vec<String> = row.iter().map(clean).collect();
            if let Some(date) = names.first().and_then(|first| first.strip_prefix("report date:")) {
                list.version = day(date).unwrap_or_default();
            } else if names.iter().any(|name| name == "unique id") {
                columns = names;
            }
            return;
        }
        tally.rows += 1;
        let field = |column: &str| {
            let at = columns.iter().position(|name| name == column);
            at.and_then(|at| row.get(at)).map_or("", String::as_str)
        };
        let id = field("unique id");
        let at = match by_id.get(id) {
            Some(at) => *at,
            None => match opened(id, field("designation type")) {
                Ok(entity) => {
                    by_id.insert(id.to_owned(), list.entities.len());
                    list.entities.push(entity);
                    list.entities.len() - 1
                }
                Err(reason) => return tally.reject(line, reason),
            },
        };
        add_row(&mut list.entities[at], &field);
        for (column, value) in columns.iter().zip(row) {
            tally.value(column, "", value, use_of_column(column));
        }
    })?;
    let (named, nameless): (Vec<Entity>, Vec<Entity>) = list.entities.into_iter().partition(has_name);
    nameless.iter().for_each(|_| tally.reject(0, "no name"));
    list.entities = named;
    Ok(list)
}

/// Adds what a row says of its designation.
fn add_row<'a>(entity: &mut Entity, field: &impl Fn(&str) -> &'a str) {
    let given = ["name 1", "name 2", "name 3", "name 4", "name 5"].map(field);
    add_name(
        entity,
        &given,
        field("name 6"),
        field("name type"),
        field("alias strength"),
    );
    push_unique(&mut entity.aliases, field("name non-latin script"));
    for (_, column, target) in VALUES {
        add_value(entity, *target, field(column));
    }
    let lines = (1..=6).map(|line| format!("address line {line}"));
    let lines = lines.chain(["address postal code".into(), "address country".into()]);
    let lines: Vec<&str> = lines.map(|line| field(&line)).collect();
    add_place(entity, "Address: ", &lines);
    add_place(
        entity,
        BORN_IN,
        &[field("town of birth"), field("country of birth")],
    );
    add_day(entity, LISTED_ON, field("date designated"));
    add_day(entity, UPDATED_ON, field("last updated"));
}

fn use_of_column(column: &str) -> Use {
    let own = |name: &str| name.starts_with("name ") && name != "name non-latin script";
    match VALUES.iter().find(|(_, name, _)| *name == column) {
        Some((_, _, Remark(_))) => Use::Kept,
        Some(_) => Use::Compared,
        None if matches!(
            column,
            "unique id" | "designation type" | "alias strength" | "name non-latin script"
        ) =>
        {
            Use::Compared
        }
        None if own(column) => Use::Compared,
        None if column.starts_with("address ") || column.ends_with(" of birth") => Use::Kept,
        None if matches!(column, "date designated" | "last updated") => Use::Kept,
        None => Use::Unused,
    }
}

fn opened(id: &str, kind: &str) -> Result<Entity, &'static str> {
    if id.is_empty() {
        return Err("no Unique ID");
    }
    let schema = match kind.to_lowercase().as_str() {
        "individual" => Schema::Person,
        "entity" => Schema::Organization,
        "ship" => Schema::Vessel,
        _ => return Err("neither individual, entity nor ship"),
    };
    Ok(Entity {
        id: format!("gb-{id}"),
        schema,
        topics: vec!["sanction".into()],
        datasets: vec![NAME.into()],
        ..Entity::default()
    })
}

fn named(entity: Entity) -> Result<Entity, &'static str> {
    if has_name(&entity) {
        Ok(entity)
    } else {
        Err("no name")
    }
}

fn has_name(entity: &Entity) -> bool {
    [&entity.names, &entity.aliases, &entity.weak_aliases]
        .iter()
        .any(|names| !names.is_empty())
}

/// A name of up to five given names and a family name. Entities and ships have all of theirs as the last.
fn add_name(entity: &mut Entity, given: &[&str], family: &str, kind: &str, strength: &str) {
    let parts: Vec<&str> = given
        .iter()
        .chain([&family])
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    let (kind, is_weak) = (kind.to_lowercase(), strength.to_lowercase().contains("low"));
    let values = match is_weak {
        true => &mut entity.weak_aliases,
        false if kind == "primary name" => &mut entity.names,
        false => &mut entity.aliases,
    };
    push_unique(values, &parts.join(" "));
    if entity.schema == Schema::Person && !is_weak && parts.len() > 1 {
        for name in given {
            push_unique(&mut entity.given_names, name);
        }
        push_unique(&mut entity.family_names, family);
    }
}

fn add_value(entity: &mut Entity, target: Target, value: &str) {
    let value = value.trim();
    if value.is_empty() {
        return;
    }
    match target {
        Country | Nationality => {
            let values = match target {
                Country => &mut entity.countries,
                _ => &mut entity.nationalities,
            };
            match countries::code(value) {
                Some(code) => push_unique(values, &code),
                None => push_unique(&mut entity.remarks, &format!("Country: {value}")),
            }
        }
        Number(kind) => {
            let value = value.to_owned();
            add_unique(&mut entity.identifiers, Identifier { kind, value });
        }
        Birth => match birth(value) {
            Some(date) => add_unique(&mut entity.birth_dates, date),
            None => push_unique(&mut entity.remarks, &format!("Date of birth: {value}")),
        },
        Target::Gender => entity.gender = entity.gender.or_else(|| Gender::parse(value)),
        Programme => push_unique(&mut entity.programs, value),
        Remark(label) => push_unique(&mut entity.remarks, &format!("{label}: {value}")),
    }
}

fn add_place(entity: &mut Entity, label: &str, parts: &[&str]) {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        push_unique(&mut entity.remarks, &format!("{label}{}", parts.join(", ")));
    }
}

fn add_day(entity: &mut Entity, label: &str, value: &str) {
    if let Some(day) = day(value) {
        push_unique(&mut entity.remarks, &format!("{label}{day}"));
    }
}

/// `24/10/1972`. Unknown parts are `dd` and `mm`, or zeros.
fn birth(text: &str) -> Option<PartialDate> {
    let parts: Vec<&str> = text.split('/').map(str::trim).collect();
    let [day, month, year] = parts[..] else {
        return text.parse().ok();
    };
    let small = |part: &str| part.parse::<u8>().unwrap_or(0);
    let year = year.parse().ok().filter(|_| year.len() == 4)?;
    let (month, day) = (small(month), small(day));
    PartialDate::new(year, month, if month == 0 { 0 } else { day }).or_else(|| PartialDate::new(year, 0, 0))
}

/// A day as `YYYY-MM-DD`, from `04/08/2026` or `08-Oct-2026`.
fn day(text: &str) -> Option<String> {
    const FORMS: [&str; 3] = ["%d/%m/%Y", "%d-%b-%Y", "%Y-%m-%d"];
    let text = text.trim();
    let parsed = FORMS
        .iter()
        .find_map(|form| jiff::civil::Date::strptime(form, text).ok());
    parsed.map(|day| day.to_string())
}
