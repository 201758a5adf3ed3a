//! Reads OFAC's legacy CSV. It has no header, writes null as `-0-`, and hides facts in remarks separated by
//! `;`. Aliases, addresses and overlong remarks are in separate files.

use rustc_hash::FxHashMap;

use super::input::{FileKind, Input, Tally};
use super::list::{ImportError, List};
use super::ofac_xml::{NON_SDN, SDN, identifier};
use super::{csv_tables, dates};
use crate::countries;
use crate::entity::{Entity, Gender, Schema, push_unique};

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
                return;
            }
            // Mirrors mix files of different dates, so rows without an entry in the primary file are ignored.
            let Some(at) = by_id.get(id).copied() else { return };
            let entity = &mut list.entities[at];
            match kind {
                FileKind::OfacAliases => push_unique(&mut entity.aliases, field(3)),
                FileKind::OfacAddresses => {
                    if let Some(code) = countries::code(field(4)) {
                        push_unique(&mut entity.countries, &code);
                    }
                }
                // Comments continue remarks that are too long for the primary file.
                _ => remarks[at].push_str(field(1)),
            }
        })?;
    }
    for (entity, remarks) in list.entities.iter_mut().zip(&remarks) {
        push_unique(&mut entity.remarks, remarks);
        read_remarks(entity, remarks);
    }
    Ok(list)
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
    if let Some(flag) = countries::code(field(9)) {
        push_unique(&mut entity.countries, &flag);
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
