//! Reads OFAC's legacy CSV. It has no header, writes null as `-0-`, and hides facts in remarks separated by
//! `;`. Aliases, addresses and overlong remarks are in separate files.
//!
//! What is not compared is kept as a remark. Rows of another file whose entry is not in the primary file are counted and
//! not used, because mirrors mix files of different dates.

use rustc_hash::FxHashMap;

use super::input::{FileKind, Input, Tally};
use super::list::{ImportError, List, Use};
use super::ofac_xml::{NON_SDN, SDN, identifier};
use super::{csv_tables, dates};
use crate::countries;
use crate::entity::{Entity, Gender, Schema, push_unique};

/// The columns of each file, and what becomes of their values.
const PRIMARY: &[(&str, Use)] = &[
    ("number", Use::Compared),
    ("name", Use::Compared),
    ("type", Use::Compared),
    ("program", Use::Compared),
    ("title", Use::Kept),
    ("call sign", Use::Kept),
    ("vessel type", Use::Kept),
    ("tonnage", Use::Kept),
    ("gross registered tonnage", Use::Kept),
    ("vessel flag", Use::Compared),
    ("vessel owner", Use::Kept),
    ("remarks", Use::Compared),
];
const ALIASES: &[(&str, Use)] = &[
    ("alias entry", Use::Compared),
    ("alias number", Use::Unused),
    ("alias type", Use::Unused),
    ("alias name", Use::Compared),
    ("alias remarks", Use::Kept),
];
const ADDRESSES: &[(&str, Use)] = &[
    ("address entry", Use::Compared),
    ("address number", Use::Unused),
    ("address street", Use::Kept),
    ("address city", Use::Kept),
    ("address country", Use::Compared),
    ("address remarks", Use::Kept),
];
const COMMENTS: &[(&str, Use)] = &[("comment entry", Use::Compared), ("comment", Use::Compared)];

/// The labels of the primary file's columns that are kept.
const LABELS: &[(usize, &str)] = &[
    (4, "Title"),
    (5, "Call sign"),
    (6, "Type of ship"),
    (7, "Tonnage"),
    (8, "Registered tonnage"),
    (10, "Owner"),
];

pub(super) fn read(inputs: &mut [(String, FileKind, Input)], tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List::default();
    let mut by_id: FxHashMap<String, usize> = FxHashMap::default();
    let mut remarks: Vec<String> = Vec::new();
    // The primary file must be read first, in any order of the arguments.
    inputs.sort_by_key(|(_, kind, _)| *kind != FileKind::OfacPrimary);
    let primary = inputs
        .iter()
        .filter(|(_, kind, _)| *kind == FileKind::OfacPrimary)
        .count();
    if primary != 1 {
        return Err(ImportError::Incomplete(format!(
            "OFAC's CSV needs its primary file once, not {primary} times"
        )));
    }
    let non_sdn = inputs[0].0.to_ascii_lowercase().contains("cons");
    list.name = if non_sdn { NON_SDN } else { SDN }.into();
    for (name, kind, input) in inputs {
        let kind = *kind;
        csv_tables::rows(name, input, tally, |row, line, tally| {
            let field = |i: usize| {
                row.get(i)
                    .map(String::as_str)
                    .filter(|f| *f != "-0-")
                    .unwrap_or("")
            };
            let id = field(0);
            if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
                // This is a mirror's header, or a blank row at the end.
                let header = line == 1 && kind == FileKind::OfacPrimary;
                if !header && row.iter().any(|f| !f.is_empty()) {
                    tally.reject(line, "no number of an entry");
                }
                return;
            }
            let columns = match kind {
                FileKind::OfacPrimary => PRIMARY,
                FileKind::OfacAliases => ALIASES,
                FileKind::OfacAddresses => ADDRESSES,
                _ => COMMENTS,
            };
            if kind == FileKind::OfacPrimary {
                tally.rows += 1;
                if field(1).is_empty() {
                    return tally.reject(line, "no name");
                }
                if by_id.contains_key(id) {
                    return tally.reject(line, "a second entry of this number");
                }
                by_id.insert(id.to_owned(), list.entities.len());
                list.entities.push(primary_entry(&list.name, id, &field));
                remarks.push(field(11).to_owned());
                count(columns, &field, tally);
                return;
            }
            let Some(at) = by_id.get(id).copied() else {
                let name = format!("{} that the primary file lacks", columns[0].0);
                return tally.value(&name, "", id, Use::Unused);
            };
            count(columns, &field, tally);
            let entity = &mut list.entities[at];
            match kind {
                FileKind::OfacAliases => {
                    push_unique(&mut entity.aliases, field(3));
                    push_unique(&mut entity.remarks, field(4));
                }
                FileKind::OfacAddresses => {
                    if let Some(code) = countries::code(field(4)) {
                        push_unique(&mut entity.countries, &code);
                    }
                    let parts: Vec<&str> = (2..=5).map(field).filter(|part| !part.is_empty()).collect();
                    if !parts.is_empty() {
                        push_unique(&mut entity.remarks, &format!("Address: {}", parts.join(", ")));
                    }
                }
                // Comments continue remarks that are too long for the primary file.
                _ => remarks[at].push_str(field(1)),
            }
        })?;
    }
    for (entity, remarks) in list.entities.iter_mut().zip(&remarks) {
        // The remarks come first, as before the other columns were kept.
        if !remarks.is_empty() {
            entity.remarks.insert(0, remarks.trim().to_owned());
        }
        read_remarks(entity, remarks);
    }
    Ok(list)
}

/// Counts the values of a row, by column.
fn count<'a>(columns: &[(&str, Use)], field: &impl Fn(usize) -> &'a str, tally: &mut Tally) {
    for (at, (name, used)) in columns.iter().enumerate() {
        tally.value(name, "", field(at), *used);
    }
}

fn primary_entry<'a>(list: &str, id: &str, field: &impl Fn(usize) -> &'a str) -> Entity {
    let schema = match field(2).to_ascii_lowercase().as_str() {
        "individual" => Schema::Person,
        "vessel" => Schema::Vessel,
        "aircraft" => Schema::Airplane,
        _ => Schema::Organization,
    };
    let mut entity = Entity {
        id: format!("ofac-{id}"),
        schema,
        names: vec![field(1).to_owned()],
        topics: vec!["sanction".into()],
        datasets: vec![list.to_owned()],
        ..Entity::default()
    };
    // The text "NPWMD] [IFSR" means two programmes.
    let clean = |p: &str| {
        p.trim_matches(|c: char| c == '[' || c == ']' || c.is_whitespace())
            .to_owned()
    };
    field(3)
        .split("] [")
        .for_each(|p| push_unique(&mut entity.programs, &clean(p)));
    match countries::code(field(9)) {
        Some(flag) => push_unique(&mut entity.countries, &flag),
        None if !field(9).is_empty() => push_unique(&mut entity.remarks, &format!("Flag: {}", field(9))),
        None => {}
    }
    for (at, label) in LABELS {
        if !field(*at).is_empty() {
            push_unique(&mut entity.remarks, &format!("{label}: {}", field(*at)));
        }
    }
    entity
}

/// Reads the facts in the remarks: `DOB 19 Mar 1978; POB …; nationality Iran; Gender Male; Passport X1
/// (Iran); …`.
fn read_remarks(entity: &mut Entity, remarks: &str) {
    for remark in remarks.trim_end_matches('.').split(';') {
        let remark = remark.trim();
        let remark = remark.strip_prefix("alt. ").unwrap_or(remark);
        if let Some(date) = remark.strip_prefix("DOB ") {
            entity.birth_dates.extend(dates::read_date(date));
        } else if let Some(country) = remark
            .strip_prefix("nationality ")
            .or(remark.strip_prefix("citizen "))
        {
            if let Some(code) = countries::code(country) {
                push_unique(&mut entity.nationalities, &code);
            }
        } else if let Some(country) = remark.strip_prefix("Nationality of Registration ") {
            if let Some(code) = countries::code(country) {
                push_unique(&mut entity.countries, &code);
            }
        } else if let Some(gender) = remark.strip_prefix("Gender ") {
            entity.gender = Gender::parse(gender);
        } else if let Some(wallet) = remark.strip_prefix("Digital Currency Address - ") {
            // The first word is the currency, the second the address.
            if let Some(address) = wallet.split_whitespace().nth(1) {
                push_unique(&mut entity.wallets, address);
            }
        } else if let Some(alias) = ["a.k.a. ", "f.k.a. ", "n.k.a. "]
            .iter()
            .find_map(|p| remark.strip_prefix(p))
        {
            // Aliases in the remarks are OFAC's weak aliases.
            push_unique(
                &mut entity.weak_aliases,
                alias.trim_matches(|c| c == '\'' || c == '"'),
            );
        } else if let Some((kind, value)) = numbered(remark) {
            entity.identifiers.push(identifier(kind, value));
        }
    }
}

/// OFAC's names of numbers.
const KINDS: &[&str] = &[
    "Passport",
    "Diplomatic Passport",
    "National ID No.",
    "Tax ID No.",
    "Registration Number",
    "Registration ID",
    "Identification Number",
    "Cedula No.",
    "D.N.I.",
    "R.F.C.",
    "C.U.R.P.",
    "NIT #",
    "RUC #",
    "RIF #",
    "SSN",
    "SWIFT/BIC",
    "ISIN",
    "D-U-N-S Number",
    "Commercial Registry Number",
    "Company Number",
    "Business Registration Number",
    "Economic Register Number (CBLS)",
    "Government Gazette Number",
    "Legal Entity Number",
    "UK Company Number",
    "Vessel Registration Identification",
    "MMSI",
    "Aircraft Tail Number",
    "Aircraft Mode S Transponder Code",
    "Aircraft Manufacturer's Serial Number (MSN)",
    "Unified Social Credit Code (USCC)",
    "Chinese Commercial Code",
    "Driver's License No.",
    "Personal ID Card",
    "Citizen's Card Number",
    "Birth Certificate Number",
    "Stateless Person ID Card",
    "Travel Document Number",
    "V.A.T. Number",
    "Italian Fiscal Code",
    "US FEIN",
    "Trade License No.",
    "BIK (RU)",
    "License",
    "Afghan Money Service Provider License Number",
    "Bosnian Personal ID No.",
    "Branch Unit Number",
    "British National Overseas Passport",
    "Business Number",
    "Business Registration Document #",
    "C.R. No.",
    "C.U.I.",
    "C.U.I.T.",
    "Central Registration System Number",
    "Certificate of Incorporation Number",
    "Chamber of Commerce Number",
    "Dubai Chamber of Commerce Membership No.",
    "Electoral Registry No.",
    "Enterprise Number",
    "File Number",
    "Fiscal Code",
    "Folio Mercantil No.",
    "Immigration No.",
    "Istanbul Chamber of Comm. No.",
    "Kenyan ID No.",
    "LE Number",
    "MSB Registration Number",
    "Matricula Mercantil No",
    "Moroccan Personal ID No.",
    "National Foreign ID Number",
    "Organization Code",
    "Pilot License Number",
    "Public Registration Number",
    "RTN",
    "Refugee ID Card",
    "Registered Charity No.",
    "Residency Number",
    "SRE Permit No.",
    "Seafarer's Identification Document",
    "Stateless Person Passport",
    "Tazkira National ID Card",
    "Turkish Identification Number",
    "VisaNumberID",
];

/// A Chinese commercial code encodes a character of a name, and many people share it.
const SHARED_KIND: &str = "Chinese Commercial Code";

/// Whether OFAC calls a number that identifies its holder so.
pub(super) fn is_number_kind(kind: &str) -> bool {
    KINDS.contains(&kind) && kind != SHARED_KIND
}

/// `Passport A123 (Iran) expires …` → kind and number; `None` for remarks without a number.
fn numbered(remark: &str) -> Option<(&str, &str)> {
    if remark.starts_with(SHARED_KIND) {
        return None;
    }
    let kind = KINDS
        .iter()
        .filter(|k| remark.starts_with(**k))
        .max_by_key(|k| k.len())?;
    let rest = remark[kind.len()..].trim();
    let value = rest.split(" (").next().unwrap_or("").trim();
    (value.bytes().any(|b| b.is_ascii_alphanumeric()) && value.len() <= 64).then_some((*kind, value))
}
