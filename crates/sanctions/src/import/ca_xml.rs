//! Reads Canada's consolidated list of autonomous sanctions (SEMA and JVCFOA, Global Affairs Canada, `sema-lmes.xml`).
//!
//! The file has no date, and its records have no number: the schedule and the item of a country's regulations together
//! are what identifies one.

use std::io::BufRead;

use rustc_hash::FxHashSet;

use super::input::Tally;
use super::list::{ImportError, LISTED_ON, List, Use};
use super::record::{self, Element};
use super::slug::slug;
use crate::countries;
use crate::entity::{Entity, Identifier, IdentifierKind, PartialDate, Schema, push_unique};

const NAME: &str = "ca_dfatd_sema_sanctions";

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: NAME.into(),
        ..List::default()
    };
    let mut ids: FxHashSet<String> = FxHashSet::default();
    record::read(name, input, tally, &["record"], |record, tally| {
        tally.rows += 1;
        match entity(record) {
            Ok(mut entity) => {
                // Where a schedule has an item twice, both are listed.
                let id = entity.id.clone();
                let mut times = 1;
                while !ids.insert(entity.id.clone()) {
                    times += 1;
                    entity.id = format!("{id}-{times}");
                }
                list.entities.push(entity);
            }
            Err(reason) => tally.reject(tally.rows, reason),
        }
    })?;
    Ok(list)
}

fn entity(record: &Element) -> Result<Entity, &'static str> {
    let text = |name: &str| record.child(name, Use::Compared);
    let (family, given) = (text("LastName"), text("GivenName"));
    // `Entity` is the name of the element before 2025.
    let other = ["EntityOrShip", "Entity"]
        .map(text)
        .into_iter()
        .find(|name| !name.is_empty());
    let imo = text("ShipIMONumber");
    let schema = match other {
        None => Schema::Person,
        Some(_) if imo.is_empty() => Schema::Organization,
        Some(_) => Schema::Vessel,
    };
    let regime = record.child("Country", Use::Kept);
    let (schedule, item) = (
        record.child("Schedule", Use::Kept),
        record.child("Item", Use::Kept),
    );
    if schedule.is_empty() || item.is_empty() {
        return Err("no schedule or no item");
    }
    // `Belarus / Bélarus`
    let country = regime.split('/').next().unwrap_or_default().trim();
    let mut entity = Entity {
        id: format!("ca-{}", slug(&[country, schedule, item])),
        schema,
        topics: vec!["sanction".into()],
        datasets: vec![NAME.into()],
        ..Entity::default()
    };
    match other {
        Some(name) => push_unique(&mut entity.names, name),
        None => {
            push_unique(&mut entity.names, &format!("{given} {family}"));
            push_unique(&mut entity.given_names, given);
            push_unique(&mut entity.family_names, family);
        }
    }
    if entity.names.is_empty() {
        return Err("no name");
    }
    for alias in text("Aliases").split([',', ';']) {
        push_unique(&mut entity.aliases, alias);
    }
    push_unique(&mut entity.programs, regime);
    // The regulations' country is where an organisation or ship usually belongs, but no person's nationality.
    if let Some(code) = countries::code(country).filter(|_| schema != Schema::Person) {
        push_unique(&mut entity.countries, &code);
    }
    if !imo.is_empty() {
        let kind = IdentifierKind::Imo;
        let value = imo.to_owned();
        entity.identifiers.push(Identifier { kind, value });
    }
    let dates = ["DateOfBirthOrShipBuildDate", "DateOfBirth"].map(text);
    if let Some(date) = dates.into_iter().find(|date| !date.is_empty()) {
        match PartialDate::parse_lenient(date) {
            Some(date) if schema == Schema::Person => entity.birth_dates.push(date),
            _ => {
                let label = if schema == Schema::Person {
                    "Date of birth"
                } else {
                    "Built on"
                };
                push_unique(&mut entity.remarks, &format!("{label}: {date}"));
            }
        }
    }
    push_unique(&mut entity.remarks, &format!("Schedule {schedule}, item {item}"));
    let title = record.child("TitleOrShip", Use::Kept);
    if !title.is_empty() {
        push_unique(&mut entity.remarks, &format!("Title: {title}"));
    }
    let listed = record.child("DateOfListing", Use::Kept);
    if !listed.is_empty() {
        push_unique(&mut entity.remarks, &format!("{LISTED_ON}{listed}"));
    }
    Ok(entity)
}
