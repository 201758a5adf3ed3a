//! Reads the United States' Consolidated Screening List as CSV (`consolidated.csv`, International Trade Administration,
//! <https://www.trade.gov/consolidated-screening-list>): OFAC's lists together with those of export control.
//!
//! Only subjects of sanctions get the topic `sanction`. Who may not receive certain goods, or is debarred from trade in
//! arms, gets another topic and is no match. A source that is not known here counts as one of sanctions, because a
//! missed subject is worse than a needless hit.

use std::io::BufRead;

use rustc_hash::FxHashSet;

use super::csv_tables::{lacks_column, rows_below_header};
use super::dates;
use super::input::Tally;
use super::list::{BORN_IN, ImportError, LISTED_ON, List, Use};
use super::ofac_csv::is_number_kind;
use super::ofac_xml::identifier;
use super::slug::slug;
use crate::countries;
use crate::entity::{Entity, Gender, Schema, add_unique, push_unique};

const NAME: &str = "us_trade_csl";

/// The sources that are not lists of sanctions, by their mark in the source's name, and OpenSanctions' topic for them.
const OTHER_TOPICS: &[(&str, &str)] = &[
    ("(EL)", "export.control"),
    ("(MEU)", "export.control"),
    ("(DPL)", "export.control"),
    ("(UVL)", "export.risk"),
    ("(DTC)", "debarment"),
    ("AECA Debarred", "debarment"),
];

/// What names of the State Department end with, in place of further names.
const SUCCESSORS: &str = "any successor, sub-unit, or subsidiary thereof";

/// What becomes of a column's values.
#[derive(Clone, Copy)]
enum Target {
    /// Compared, or decides how others are; has a rule of its own.
    Own,
    /// Kept as a remark with this label.
    Remark(&'static str),
    /// An address of the publisher that says nothing of the subject.
    Link,
}

use Target::{Link, Own, Remark};

const COLUMNS: &[(&str, Target)] = &[
    ("_id", Own),
    ("source", Own),
    ("entity_number", Own),
    ("type", Own),
    ("programs", Own),
    ("name", Own),
    ("title", Remark("Title")),
    ("addresses", Own),
    ("federal_register_notice", Remark("Federal Register notice")),
    ("start_date", Own),
    ("end_date", Remark("Ends on")),
    ("standard_order", Remark("Standard order")),
    ("license_requirement", Remark("Licence requirement")),
    ("license_policy", Remark("Licence policy")),
    ("call_sign", Remark("Call sign")),
    ("vessel_type", Remark("Type of ship")),
    ("gross_tonnage", Remark("Tonnage")),
    ("gross_registered_tonnage", Remark("Registered tonnage")),
    ("vessel_flag", Own),
    ("vessel_owner", Remark("Owner")),
    ("remarks", Remark("Remarks")),
    ("source_list_url", Link),
    ("alt_names", Own),
    ("citizenships", Own),
    ("dates_of_birth", Own),
    ("nationalities", Own),
    ("places_of_birth", Own),
    ("source_information_url", Link),
    ("ids", Own),
];

/// Whether the names of a first row's columns are this format's.
pub(super) fn is_header(has: impl Fn(&str) -> bool) -> bool {
    has("source") && has("alt_names") && (has("federal_register_notice") || has("source_list_url"))
}

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: NAME.into(),
        ..List::default()
    };
    let mut ids: FxHashSet<String> = FxHashSet::default();
    let header = |header: &[String]| {
        let clean = |column: &String| column.trim_start_matches('\u{feff}').to_ascii_lowercase();
        let columns: Vec<String> = header.iter().map(clean).collect();
        let missing = ["source", "name", "type"]
            .into_iter()
            .find(|needed| !columns.iter().any(|c| c == needed));
        missing.map_or(Ok(columns), |missing| Err(lacks_column(name, missing)))
    };
    rows_below_header(b',', name, input, tally, header, |columns, row, line, tally| {
        tally.rows += 1;
        let field = |column: &str| {
            let at = columns.iter().position(|name| name == column);
            at.and_then(|at| row.get(at)).map_or("", String::as_str)
        };
        match entity(&field) {
            Ok(mut entity) => {
                let id = entity.id.clone();
                let mut times = 1;
                while !ids.insert(entity.id.clone()) {
                    times += 1;
                    entity.id = format!("{id}-{times}");
                }
                list.entities.push(entity);
            }
            Err(reason) => return tally.reject(line, reason),
        }
        for (column, value) in columns.iter().zip(row) {
            let known = COLUMNS.iter().find(|(known, _)| known == column);
            let used = match known {
                Some((_, Own)) => Use::Compared,
                Some((_, Remark(_))) => Use::Kept,
                Some((_, Link)) | None => Use::Unused,
            };
            tally.value(column, "", value, used);
        }
    })?;
    Ok(list)
}

fn entity<'a>(field: &impl Fn(&str) -> &'a str) -> Result<Entity, &'static str> {
    let schema = match field("type").to_ascii_lowercase().as_str() {
        "individual" => Schema::Person,
        "entity" => Schema::Organization,
        "vessel" => Schema::Vessel,
        "aircraft" => Schema::Airplane,
        // The lists of export control do not state it.
        "" => Schema::LegalEntity,
        _ => return Err("a type that is neither individual, entity, vessel nor aircraft"),
    };
    let source = field("source");
    if source.is_empty() {
        return Err("no source");
    }
    let other = OTHER_TOPICS.iter().find(|(mark, _)| source.contains(mark));
    let mut entity = Entity {
        schema,
        topics: vec![other.map_or("sanction", |(_, topic)| topic).to_owned()],
        datasets: vec![NAME.into()],
        ..Entity::default()
    };
    read_names(&mut entity, field("name"), field("alt_names"));
    let Some(first) = entity.names.first() else {
        return Err("no name");
    };
    // Files before 2020 have no `_id`.
    let own = [field("_id"), field("entity_number")]
        .into_iter()
        .find(|id| !id.is_empty());
    entity.id = match own {
        Some(id) => format!("csl-{id}"),
        None => format!("csl-{}", slug(&[source, first])),
    };
    push_unique(&mut entity.programs, source);
    parts(field("programs")).for_each(|program| push_unique(&mut entity.programs, program));
    for address in parts(field("addresses")) {
        let country = address.rsplit(',').next().and_then(countries::code);
        country
            .iter()
            .for_each(|code| push_unique(&mut entity.countries, code));
        push_unique(&mut entity.remarks, &format!("Address: {address}"));
    }
    for country in parts(field("citizenships")).chain(parts(field("nationalities"))) {
        match countries::code(country) {
            Some(code) => push_unique(&mut entity.nationalities, &code),
            None => push_unique(&mut entity.remarks, &format!("Nationality: {country}")),
        }
    }
    let flag = field("vessel_flag");
    match countries::code(flag) {
        Some(code) => push_unique(&mut entity.countries, &code),
        None if !flag.is_empty() => push_unique(&mut entity.remarks, &format!("Flag: {flag}")),
        None => {}
    }
    let written = field("dates_of_birth");
    let (dates, is_complete) = dates::all(written, dates::read_date);
    dates
        .into_iter()
        .for_each(|date| add_unique(&mut entity.birth_dates, date));
    if !is_complete {
        push_unique(&mut entity.remarks, &format!("Date of birth: {written}"));
    }
    for place in parts(field("places_of_birth")) {
        push_unique(&mut entity.remarks, &format!("{BORN_IN}{place}"));
    }
    parts(field("ids")).for_each(|id| read_id(&mut entity, id));
    if !field("start_date").is_empty() {
        push_unique(
            &mut entity.remarks,
            &format!("{LISTED_ON}{}", field("start_date")),
        );
    }
    for (column, target) in COLUMNS {
        if let (Remark(label), false) = (target, field(column).is_empty()) {
            push_unique(&mut entity.remarks, &format!("{label}: {}", field(column)));
        }
    }
    Ok(entity)
}

/// The values of a field with several.
fn parts(field: &str) -> impl Iterator<Item = &str> {
    let parts = field.split(';').map(str::trim);
    let parts = parts.map(|part| part.strip_prefix("and ").unwrap_or(part).trim());
    parts.filter(|part| !part.is_empty())
}

/// The name and the further names. The State Department's names extend to successors, which are no names.
fn read_names(entity: &mut Entity, name: &str, others: &str) {
    let own = name
        .strip_suffix(SUCCESSORS)
        .map(|rest| rest.trim_end().trim_end_matches("and"));
    let own = own.map(|rest| rest.trim_end_matches([' ', ',', ';']));
    push_unique(&mut entity.names, own.unwrap_or(name));
    if own.is_some() {
        push_unique(&mut entity.remarks, &format!("Name: {name}"));
    }
    parts(others).for_each(|other| push_unique(&mut entity.aliases, other));
    if entity.names.is_empty() && !entity.aliases.is_empty() {
        entity.names.push(entity.aliases.remove(0));
    }
}

/// A number with its kind, in the order of 2020 (`TR, U1, Passport`) or today's (`Passport, U1, TR`). Others are facts.
fn read_id(entity: &mut Entity, id: &str) {
    let parts: Vec<&str> = id.split(", ").map(str::trim).collect();
    let pair = match parts[..] {
        [kind, value, ..] if is_number_kind(kind) || is_fact(kind) => Some((kind, value)),
        [.., value, kind] if is_number_kind(kind) || is_fact(kind) => Some((kind, value)),
        _ => None,
    };
    match pair {
        Some(("Gender", value)) => entity.gender = entity.gender.or(Gender::parse(value)),
        Some((kind, value)) if is_fact(kind) => push_unique(&mut entity.wallets, value),
        Some((kind, value)) if value.bytes().any(|b| b.is_ascii_alphanumeric()) && value.len() <= 64 => {
            add_unique(&mut entity.identifiers, identifier(kind, value));
            if parts.len() > 2 {
                push_unique(&mut entity.remarks, &format!("Number: {id}"));
            }
        }
        _ => push_unique(&mut entity.remarks, id),
    }
}

/// The kinds of `ids` that are compared and are no numbers.
fn is_fact(kind: &str) -> bool {
    kind == "Gender" || kind.starts_with("Digital Currency Address")
}
