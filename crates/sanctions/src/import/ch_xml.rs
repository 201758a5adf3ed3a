//! Reads the whole list of Switzerland's State Secretariat for Economic Affairs (SECO, SESAM, `swiss-sanctions-list`).
//!
//! The list keeps its history: who was removed stays in it with a modification of that kind, and every modification
//! repeats what was added and removed. Only what stands now is read.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use super::input::Tally;
use super::list::{BORN_IN, ImportError, List, Use};
use super::record::{self, Element};
use crate::countries;
use crate::entity::{
    Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, add_unique, push_unique,
};

const NAME: &str = "ch_seco_sanctions";
/// Most spellings of one name that are made from the spellings of its parts.
const MAX_SPELLINGS: usize = 64;

/// A place that a subject names by its number. The list has places after subjects.
struct PlaceOf {
    entity: usize,
    place: String,
    is_birth: bool,
}

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut entities = Vec::new();
    let mut programmes: FxHashMap<String, String> = FxHashMap::default();
    let mut places: FxHashMap<String, (String, Option<String>)> = FxHashMap::default();
    let mut named_places = Vec::new();
    let wanted = ["sanctions-program", "target", "place"];
    let root = record::read(name, input, tally, &wanted, |record, tally| {
        match record.name.as_str() {
            "sanctions-program" => {
                let is_english = |name: &&Element| name.attribute("lang", Use::Kept) == "eng";
                let name = record
                    .all("program-name")
                    .find(is_english)
                    .or(record.first("program-name"));
                let name = name.map_or("", |name| name.text(Use::Kept));
                for set in record.all("sanctions-set") {
                    programmes.insert(set.attribute("ssid", Use::Kept).to_owned(), name.to_owned());
                }
            }
            "place" => {
                let text = place_text(record);
                let country = record.first("country").and_then(country);
                places.insert(record.attribute("ssid", Use::Kept).to_owned(), (text, country));
            }
            _ => {
                tally.rows += 1;
                if is_removed(record) {
                    return;
                }
                let mut own_places = Vec::new();
                match entity(record, &programmes, &mut own_places) {
                    Ok(entity) => {
                        named_places.extend(own_places.into_iter().map(|(place, is_birth)| PlaceOf {
                            entity: entities.len(),
                            place,
                            is_birth,
                        }));
                        entities.push(entity);
                    }
                    Err(reason) => tally.reject(tally.rows, reason),
                }
            }
        }
    })?;
    for named in named_places {
        let entity: &mut Entity = &mut entities[named.entity];
        let label = if named.is_birth { BORN_IN } else { "Address: " };
        let Some((text, country)) = places.get(&named.place) else {
            push_unique(
                &mut entity.remarks,
                &format!("{label}place {} is not in the list", named.place),
            );
            continue;
        };
        push_unique(&mut entity.remarks, &format!("{label}{text}"));
        if let Some(code) = country.as_ref().filter(|_| !named.is_birth) {
            push_unique(&mut entity.countries, code);
        }
    }
    Ok(List {
        name: NAME.into(),
        version: root.attribute("date", Use::Kept).to_owned(),
        entities,
    })
}

/// Whether the latest modification removed the subject. Of one day's, a removal counts.
fn is_removed(target: &Element) -> bool {
    let kinds = target.all("modification").map(|change| {
        let is_removal = change.attribute("modification-type", Use::Compared) == "de-listed";
        (change.attribute("effective-date", Use::Compared), is_removal)
    });
    kinds.max().is_some_and(|(_, is_removal)| is_removal)
}

fn entity(
    target: &Element,
    programmes: &FxHashMap<String, String>,
    places: &mut Vec<(String, bool)>,
) -> Result<Entity, &'static str> {
    let id = target.attribute("ssid", Use::Compared);
    if id.is_empty() {
        return Err("no ssid");
    }
    let kinds = [
        ("individual", Schema::Person),
        ("entity", Schema::Organization),
        ("object", Schema::Vessel),
    ];
    let subject = kinds
        .iter()
        .find_map(|(kind, schema)| Some((target.first(kind)?, *schema)));
    let (subject, mut schema) = subject.ok_or("neither individual, entity nor object")?;
    if schema == Schema::Vessel && subject.attribute("object-type", Use::Compared) != "vessel" {
        schema = Schema::Thing;
    }
    let mut entity = Entity {
        id: format!("ch-{id}"),
        schema,
        gender: Gender::parse(subject.attribute("sex", Use::Compared)),
        topics: vec!["sanction".into()],
        datasets: vec![NAME.into()],
        ..Entity::default()
    };
    let set = target.attribute("sanctions-set-id", Use::Kept);
    let sets = target
        .all("sanctions-set-id")
        .map(|set| set.text(Use::Kept))
        .chain([set]);
    for programme in sets.filter_map(|set| programmes.get(set)) {
        push_unique(&mut entity.programs, programme);
    }
    for identity in subject.all("identity") {
        read_identity(&mut entity, identity, places);
    }
    for (element, label) in [("justification", "Reasons"), ("other-information", "Information")] {
        for text in subject.all(element) {
            let text = text.text(Use::Kept);
            push_unique(&mut entity.remarks, &format!("{label}: {text}"));
            read_numbers(&mut entity, text);
        }
    }
    for text in target.all("foreign-identifier") {
        push_unique(
            &mut entity.remarks,
            &format!("Reference: {}", text.text(Use::Kept)),
        );
    }
    if entity.names.is_empty() && entity.aliases.is_empty() && entity.weak_aliases.is_empty() {
        return Err("no name");
    }
    Ok(entity)
}

fn read_identity(entity: &mut Entity, identity: &Element, places: &mut Vec<(String, bool)>) {
    for name in identity.all("name") {
        read_name(entity, name);
    }
    for birth in identity.all("day-month-year") {
        let number = |name: &str| birth.attribute(name, Use::Compared).parse::<u16>().ok();
        let small = |name: &str| {
            number(name)
                .and_then(|value| u8::try_from(value).ok())
                .unwrap_or(0)
        };
        let calendar = birth.attribute("calendar", Use::Compared);
        let date = number("year")
            .filter(|_| matches!(calendar, "" | "Gregorian"))
            .and_then(|year| {
                let (month, day) = (small("month"), small("day"));
                PartialDate::new(year, month, day).or_else(|| PartialDate::new(year, 0, 0))
            });
        match date {
            Some(date) if entity.schema == Schema::Person => add_unique(&mut entity.birth_dates, date),
            Some(date) => push_unique(&mut entity.remarks, &format!("Founded or built: {date}")),
            None => {
                let year = birth.attribute("year", Use::Kept);
                push_unique(&mut entity.remarks, &format!("Date: {calendar} {year}"));
            }
        }
    }
    for nationality in identity
        .all("nationality")
        .filter_map(|given| given.first("country"))
    {
        if let Some(code) = country(nationality) {
            push_unique(&mut entity.nationalities, &code);
        }
    }
    for (element, is_birth) in [("address", false), ("place-of-birth", true)] {
        for place in identity.all(element) {
            let number = place.attribute("place-id", Use::Kept);
            if !number.is_empty() {
                places.push((number.to_owned(), is_birth));
            }
            let text = place_text(place);
            if !text.is_empty() {
                let label = if is_birth { BORN_IN } else { "Address: " };
                push_unique(&mut entity.remarks, &format!("{label}{text}"));
            }
            if let Some(code) = place.first("country").and_then(country).filter(|_| !is_birth) {
                push_unique(&mut entity.countries, &code);
            }
        }
    }
    for document in identity.all("identification-document") {
        let kind = document.attribute("document-type", Use::Compared);
        let kind = match kind {
            "id-card" | "identity-card" => IdentifierKind::NationalId,
            kind => IdentifierKind::parse(kind),
        };
        let value = document.child("number", Use::Compared).to_owned();
        if !value.is_empty() {
            add_unique(&mut entity.identifiers, Identifier { kind, value });
        }
        for (element, label) in [
            ("issuer", "Document of"),
            ("date-of-issue", "Document issued on"),
            ("expiry-date", "Document expires on"),
            ("remark", "Document"),
        ] {
            let text = document.child(element, Use::Kept);
            if !text.is_empty() {
                push_unique(&mut entity.remarks, &format!("{label}: {text}"));
            }
        }
    }
}

/// A name of parts, each with a value and other spellings. The spellings of one language and script belong together; a
/// part without one keeps its value.
fn read_name(entity: &mut Entity, name: &Element) {
    let is_weak = name.attribute("quality", Use::Compared) == "low";
    let is_primary = name.attribute("name-type", Use::Compared) == "primary-name";
    let mut parts: Vec<&Element> = name.all("name-part").collect();
    parts.sort_by_key(|part| {
        part.attribute("order", Use::Compared)
            .parse::<u32>()
            .unwrap_or(u32::MAX)
    });
    let mut groups: Vec<(&str, &str)> = vec![("", "")];
    for part in &parts {
        for spelling in part.all("spelling-variant") {
            let group = (
                spelling.attribute("lang", Use::Compared),
                spelling.attribute("script", Use::Compared),
            );
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    for group in groups {
        let mut texts_of_parts: Vec<Vec<&str>> = Vec::new();
        for part in &parts {
            let kind = part.attribute("name-part-type", Use::Compared);
            if kind == "title" {
                let title = part.child("value", Use::Kept);
                push_unique(&mut entity.remarks, &format!("Title: {title}"));
                continue;
            }
            let value = part.child("value", Use::Compared);
            let own = part.all("spelling-variant").filter(|spelling| {
                let of = |name: &str| spelling.attribute(name, Use::Compared);
                group != ("", "") && (of("lang"), of("script")) == group
            });
            let mut texts: Vec<&str> = own.map(|spelling| spelling.text(Use::Compared)).collect();
            if texts.is_empty() {
                texts.push(value);
            }
            if entity.schema == Schema::Person && !is_weak {
                add_parts(entity, kind, &texts);
            }
            texts_of_parts.push(texts);
        }
        let spellings = combined(&texts_of_parts);
        for spelling in spellings {
            let values = match (
                is_weak,
                is_primary && group == ("", "") && entity.names.is_empty(),
            ) {
                (true, _) => &mut entity.weak_aliases,
                (false, true) => &mut entity.names,
                (false, false) => &mut entity.aliases,
            };
            push_unique(values, &spelling);
        }
    }
}

fn add_parts(entity: &mut Entity, kind: &str, texts: &[&str]) {
    let values = match kind {
        "family-name" | "maiden-name" => &mut entity.family_names,
        "given-name" | "further-given-name" | "father-name" | "grand-father-name" => &mut entity.given_names,
        _ => return,
    };
    texts.iter().for_each(|text| push_unique(values, text));
}

/// Whole names of parts with several spellings each: every combination, or, where those are more than
/// [`MAX_SPELLINGS`], each spelling with the first ones of the other parts.
fn combined(parts: &[Vec<&str>]) -> Vec<String> {
    let count = parts
        .iter()
        .try_fold(1usize, |product, texts| product.checked_mul(texts.len()));
    if count.is_some_and(|count| count <= MAX_SPELLINGS) {
        return parts.iter().fold(vec![String::new()], |starts, texts| {
            let join = |start: &String| {
                texts
                    .iter()
                    .map(|text| format!("{start} {text}"))
                    .collect::<Vec<_>>()
            };
            starts.iter().flat_map(join).collect()
        });
    }
    let first: Vec<&str> = parts.iter().filter_map(|texts| texts.first().copied()).collect();
    let with = |(at, text): (usize, &str)| {
        let mut whole = first.clone();
        whole[at] = text;
        whole.join(" ")
    };
    parts
        .iter()
        .enumerate()
        .flat_map(|(at, texts)| texts.iter().map(move |text| (at, *text)))
        .map(with)
        .collect()
}

/// Numbers that the list hides in its other information.
fn read_numbers(entity: &mut Entity, text: &str) {
    const LABELS: [(&str, IdentifierKind); 6] = [
        ("imo number", IdentifierKind::Imo),
        ("taxpayer identification number", IdentifierKind::Inn),
        ("tax registration number", IdentifierKind::Tax),
        ("state registration number", IdentifierKind::Registration),
        ("business registration number", IdentifierKind::Registration),
        ("registration number", IdentifierKind::Registration),
    ];
    let Some((label, value)) = text.split_once(':') else {
        return;
    };
    let label = label.trim().to_lowercase();
    let value = value.trim().trim_end_matches('.');
    if let Some((_, kind)) = LABELS.iter().find(|(known, _)| *known == label)
        && !value.is_empty()
        && value.bytes().all(|b| b.is_ascii_digit())
    {
        let value = value.to_owned();
        add_unique(&mut entity.identifiers, Identifier { kind: *kind, value });
    }
}

fn country(element: &Element) -> Option<String> {
    let code = element.attribute("iso-code", Use::Compared);
    let name = element.text(Use::Compared);
    countries::code(code).or_else(|| countries::code(name))
}

fn place_text(place: &Element) -> String {
    const PARTS: [&str; 8] = [
        "c-o",
        "address-details",
        "p-o-box",
        "zip-code",
        "location",
        "area",
        "country",
        "remarks",
    ];
    let parts = PARTS.map(|part| place.child(part, Use::Kept));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}
