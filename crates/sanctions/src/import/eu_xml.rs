//! Reads the European Union's consolidated list of financial sanctions: the FSF export, XML 1.1
//! (<https://webgate.ec.europa.eu/fsd/fsf>).
//!
//! Values are in attributes. A name, date, address or number may stand several times, once for each regulation.

use std::io::BufRead;

use super::input::Tally;
use super::list::{BORN_IN, ImportError, LISTED_ON, List, Use};
use super::record::{self, Element};
use crate::countries;
use crate::entity::{
    Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, add_unique, push_unique,
};

pub(super) const NAME: &str = "eu_fsf";

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut entities = Vec::new();
    let root = record::read(name, input, tally, &["sanctionEntity"], |subject, tally| {
        tally.rows += 1;
        match entity(subject) {
            Ok(entity) => entities.push(entity),
            Err(reason) => tally.reject(tally.rows, reason),
        }
    })?;
    let date = root.attribute("generationDate", Use::Kept);
    Ok(List {
        name: NAME.into(),
        version: date.split('T').next().unwrap_or_default().to_owned(),
        entities,
    })
}

/// The entity of a `sanctionEntity`, which the CSV's rows are made into as well.
pub(super) fn entity(subject: &Element) -> Result<Entity, &'static str> {
    let id = subject.attribute("logicalId", Use::Compared);
    if id.is_empty() {
        return Err("no logicalId");
    }
    let kind = subject.first("subjectType").ok_or("no subjectType")?;
    kind.attribute("code", Use::Compared);
    let schema = match kind.attribute("classificationCode", Use::Compared) {
        "P" => Schema::Person,
        "E" => Schema::Organization,
        _ => return Err("a subjectType that is neither person nor enterprise"),
    };
    let mut entity = Entity {
        id: format!("eu-{id}"),
        schema,
        topics: vec!["sanction".into()],
        datasets: vec![NAME.into()],
        ..Entity::default()
    };
    for name in subject.all("nameAlias") {
        read_name(&mut entity, name);
    }
    if entity.names.is_empty() && entity.aliases.is_empty() && entity.weak_aliases.is_empty() {
        return Err("no name");
    }
    for birth in subject.all("birthdate") {
        read_birth(&mut entity, birth);
    }
    for citizenship in subject.all("citizenship") {
        if let Some(code) = country(citizenship, Use::Compared) {
            push_unique(&mut entity.nationalities, &code);
        }
        remark(
            &mut entity,
            "Region of citizenship",
            citizenship.attribute("region", Use::Kept),
        );
        texts(&mut entity, citizenship);
    }
    for address in subject.all("address") {
        read_address(&mut entity, address);
    }
    for number in subject.all("identification") {
        read_number(&mut entity, number);
    }
    for regulation in subject.all("regulation") {
        push_unique(&mut entity.programs, regulation.attribute("programme", Use::Kept));
        let title = regulation.attribute("numberTitle", Use::Kept);
        remark(&mut entity, "Regulation", title);
        let published = regulation.attribute("publicationDate", Use::Kept);
        if !published.is_empty() {
            push_unique(&mut entity.remarks, &format!("{LISTED_ON}{published}"));
        }
    }
    let unspecific = [
        "euReferenceNumber",
        "unitedNationId",
        "designationDate",
        "designationDetails",
    ];
    for (label, attribute) in ["EU reference", "UN reference", "Designated on", "Designation"]
        .iter()
        .zip(unspecific)
    {
        remark(&mut entity, label, subject.attribute(attribute, Use::Kept));
    }
    texts(&mut entity, subject);
    Ok(entity)
}

/// A name. The first strong one is the subject's; a name is weak if the list says so in an attribute or, for names from
/// the United Nations, in words.
fn read_name(entity: &mut Entity, name: &Element) {
    let parts = ["firstName", "middleName", "lastName"].map(|part| name.attribute(part, Use::Compared));
    let whole = name.attribute("wholeName", Use::Compared);
    let joined = parts
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let full = if whole.is_empty() { joined.as_str() } else { whole };
    let says_low = |text: &str| text.to_lowercase().contains("low quality");
    let is_low = name.all("remark").any(|text| says_low(text.text(Use::Kept)));
    let is_weak = name.attribute("strong", Use::Compared) == "false" || is_low;
    let values = match is_weak {
        true => &mut entity.weak_aliases,
        false if entity.names.is_empty() => &mut entity.names,
        false => &mut entity.aliases,
    };
    push_unique(values, full);
    if entity.schema == Schema::Person && !is_weak {
        let [first, middle, last] = parts;
        push_unique(&mut entity.given_names, first);
        push_unique(&mut entity.given_names, middle);
        push_unique(&mut entity.family_names, last);
    }
    let gender = Gender::parse(name.attribute("gender", Use::Compared));
    entity.gender = entity.gender.or(gender);
    remark(entity, "Title", name.attribute("title", Use::Kept));
    remark(entity, "Function", name.attribute("function", Use::Kept));
    texts(entity, name);
}

/// A date of birth: a day, a year, or a span of years. A date of another calendar is only kept as a remark.
fn read_birth(entity: &mut Entity, birth: &Element) {
    let attribute = |name: &str| birth.attribute(name, Use::Compared);
    let year = |name: &str| attribute(name).parse::<u16>().ok();
    let part = |name: &str| attribute(name).parse::<u8>().unwrap_or(0);
    let (calendar, written) = (attribute("calendarType"), attribute("birthdate"));
    let is_about = attribute("circa") == "true";
    let (from, to) = (year("yearRangeFrom"), year("yearRangeTo"));
    let (known, month, day) = (year("year"), part("monthOfYear"), part("dayOfMonth"));
    let date = match (
        written.parse::<PartialDate>().ok(),
        known,
        from.or(to),
        to.or(from),
    ) {
        _ if !matches!(calendar, "" | "GREGORIAN") => None,
        (Some(date), ..) if !is_about => Some(date),
        (_, Some(year), ..) if is_about => PartialDate::about(year),
        (_, Some(year), ..) => PartialDate::new(year, month, day).or_else(|| PartialDate::new(year, 0, 0)),
        (_, None, Some(from), Some(to)) => PartialDate::span(from, to),
        (date, ..) => date,
    };
    match date {
        Some(date) => add_unique(&mut entity.birth_dates, date),
        None if !calendar.is_empty() || !written.is_empty() => {
            let parts = [
                calendar,
                attribute("year"),
                attribute("monthOfYear"),
                attribute("dayOfMonth"),
            ];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            remark(entity, "Date of birth", &parts.join(" "));
        }
        None => {}
    }
    let place = place(birth, &["place", "city", "zipCode", "region"]);
    if !place.is_empty() {
        push_unique(&mut entity.remarks, &format!("{BORN_IN}{place}"));
    }
    texts(entity, birth);
}

fn read_address(entity: &mut Entity, address: &Element) {
    if let Some(code) = country(address, Use::Compared) {
        push_unique(&mut entity.countries, &code);
    }
    remark(
        entity,
        "Address",
        &place(
            address,
            &["street", "poBox", "zipCode", "city", "place", "region"],
        ),
    );
    for contact in address.all("contactInfo") {
        let key = contact.attribute("key", Use::Kept);
        remark(entity, key, contact.attribute("value", Use::Kept));
    }
    texts(entity, address);
}

/// A number, as printed and in Latin letters. One that the list calls false or lost still belongs to the subject.
fn read_number(entity: &mut Entity, number: &Element) {
    let code = number.attribute("identificationTypeCode", Use::Compared);
    let described = number.attribute("identificationTypeDescription", Use::Compared);
    let kind = match code {
        "id" | "ssn" => IdentifierKind::NationalId,
        "fiscalcode" => IdentifierKind::Tax,
        "regnumber" => IdentifierKind::Registration,
        "swiftbic" => IdentifierKind::Bic,
        _ => match IdentifierKind::parse(code) {
            IdentifierKind::Other => IdentifierKind::parse(described),
            kind => kind,
        },
    };
    for value in ["number", "latinNumber"].map(|name| number.attribute(name, Use::Compared)) {
        if !value.is_empty() {
            add_unique(
                &mut entity.identifiers,
                Identifier {
                    kind,
                    value: value.to_owned(),
                },
            );
        }
    }
    country(number, Use::Kept);
    for (mark, attribute) in [
        ("expired", "knownExpired"),
        ("false", "knownFalse"),
        ("reported lost", "reportedLost"),
        ("revoked by its issuer", "revokedByIssuer"),
    ] {
        if number.attribute(attribute, Use::Kept) == "true" {
            push_unique(&mut entity.remarks, &format!("A number is {mark}: {described}"));
        }
    }
    for (label, attribute) in [
        ("Name on the document", "nameOnDocument"),
        ("Issued by", "issuedBy"),
        ("Issued on", "issuedDate"),
        ("Valid from", "validFrom"),
        ("Valid to", "validTo"),
        ("Diplomatic document", "diplomatic"),
    ] {
        let value = number.attribute(attribute, Use::Kept);
        if value != "false" {
            remark(entity, label, value);
        }
    }
    texts(entity, number);
}

/// The country's code. `00` stands for an unknown one.
fn country(element: &Element, used: Use) -> Option<String> {
    let code = element.attribute("countryIso2Code", used);
    let described = element.attribute("countryDescription", used);
    countries::code(code).or_else(|| countries::code(described))
}

fn place(element: &Element, parts: &[&str]) -> String {
    let country = element.attribute("countryDescription", Use::Kept);
    element.attribute("countryIso2Code", Use::Kept);
    let parts = parts.iter().map(|part| element.attribute(part, Use::Kept));
    let parts = parts.chain([country].into_iter().filter(|country| *country != "UNKNOWN"));
    parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The remarks directly in an element.
fn texts(entity: &mut Entity, element: &Element) {
    for text in element.all("remark") {
        push_unique(&mut entity.remarks, text.text(Use::Kept));
    }
}

fn remark(entity: &mut Entity, label: &str, value: &str) {
    if !value.is_empty() {
        push_unique(&mut entity.remarks, &format!("{label}: {value}"));
    }
}
