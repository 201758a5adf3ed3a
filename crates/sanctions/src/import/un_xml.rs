//! Reads the consolidated list of the United Nations Security Council
//! (<https://www.un.org/securitycouncil/content/un-sc-consolidated-list>): one element per subject.

use std::io::BufRead;

use super::input::Tally;
use super::list::{BORN_IN, ImportError, LISTED_ON, List};
use super::xml::{Step, Walker};
use crate::countries;
use crate::entity::{Entity, Gender, Identifier, IdentifierKind, PartialDate, Schema, push_unique};

const NAME: &str = "un_sc_sanctions";

/// The data of the subject that is being read, until its element closes.
#[derive(Default)]
struct Subject {
    entity: Entity,
    name_parts: Vec<String>,
    alias_quality: String,
    alias_name: String,
    date: DateParts,
    document_kind: String,
    document_number: String,
    /// Place of birth: city, province, country.
    place: Vec<String>,
}

#[derive(Default)]
struct DateParts {
    approximate: bool,
    full: String,
    year: String,
    from: String,
    to: String,
}

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: NAME.into(),
        ..List::default()
    };
    let mut walker = Walker::new(input);
    let mut path: Vec<String> = Vec::new();
    let mut subject: Option<Subject> = None;
    loop {
        match walker.step().map_err(|reason| tally.damaged(name, reason))? {
            Step::End => break,
            Step::Open => {
                if walker.name == "CONSOLIDATED_LIST" {
                    let date = walker.attribute("dateGenerated").unwrap_or("");
                    list.version = date.split('T').next().unwrap_or("").to_owned();
                }
                if matches!(walker.name.as_str(), "INDIVIDUAL" | "ENTITY") {
                    let person = walker.name == "INDIVIDUAL";
                    tally.rows += 1;
                    let schema = if person {
                        Schema::Person
                    } else {
                        Schema::Organization
                    };
                    let entity = Entity {
                        schema,
                        topics: vec!["sanction".into()],
                        datasets: vec![NAME.into()],
                        ..Entity::default()
                    };
                    subject = Some(Subject {
                        entity,
                        ..Subject::default()
                    });
                }
                path.push(walker.name.clone());
            }
            Step::Close => {
                path.pop();
                let ends = matches!(walker.name.as_str(), "INDIVIDUAL" | "ENTITY");
                if let Some(open) = &mut subject {
                    let parent = path.last().map_or("", String::as_str);
                    open.close(parent, &walker.name, &walker.text);
                }
                if let Some(done) = subject.take_if(|_| ends) {
                    match done.finish() {
                        Ok(entity) => list.entities.push(entity),
                        Err(reason) => tally.reject(tally.rows, reason),
                    }
                }
            }
        }
    }
    Ok(list)
}

impl Subject {
    /// Handles the end of an element within the subject. `text` is empty for an element with children.
    fn close(&mut self, parent: &str, name: &str, text: &str) {
        let entity = &mut self.entity;
        // Document numbers and names in the list contain line breaks.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let country = |values: &mut Vec<String>| {
            if let Some(code) = countries::code(&text) {
                push_unique(values, &code);
            }
        };
        match (parent, name) {
            (_, "INDIVIDUAL_ALIAS" | "ENTITY_ALIAS") => self.finish_alias(),
            (_, "INDIVIDUAL_DATE_OF_BIRTH") => self.finish_date(),
            (_, "INDIVIDUAL_DOCUMENT") => self.finish_document(),
            (_, "INDIVIDUAL_PLACE_OF_BIRTH") => self.finish_place(),
            _ if text.is_empty() => {}
            (_, "DATAID") => entity.id = format!("un-{text}"),
            (_, "FIRST_NAME" | "SECOND_NAME" | "THIRD_NAME" | "FOURTH_NAME") => self.name_parts.push(text),
            (_, "NAME_ORIGINAL_SCRIPT") => push_unique(&mut entity.aliases, &text),
            (_, "UN_LIST_TYPE") => push_unique(&mut entity.programs, &text),
            (_, "COMMENTS1") | ("DESIGNATION" | "TITLE", "VALUE") => push_unique(&mut entity.remarks, &text),
            (_, "LISTED_ON") => push_unique(&mut entity.remarks, &format!("{LISTED_ON}{text}")),
            ("INDIVIDUAL_PLACE_OF_BIRTH", "CITY" | "STATE_PROVINCE" | "COUNTRY") => self.place.push(text),
            (_, "GENDER") => entity.gender = Gender::parse(&text),
            ("NATIONALITY", "VALUE") => country(&mut entity.nationalities),
            ("INDIVIDUAL_ADDRESS" | "ENTITY_ADDRESS", "COUNTRY") => country(&mut entity.countries),
            (_, "QUALITY") => self.alias_quality = text,
            (_, "ALIAS_NAME") => self.alias_name = text,
            (_, "TYPE_OF_DATE") => self.date.approximate = text == "APPROXIMATELY",
            ("INDIVIDUAL_DATE_OF_BIRTH", "DATE") => self.date.full = text,
            (_, "YEAR") => self.date.year = text,
            (_, "FROM_YEAR") => self.date.from = text,
            (_, "TO_YEAR") => self.date.to = text,
            (_, "TYPE_OF_DOCUMENT") => self.document_kind = text,
            (_, "NUMBER") => self.document_number = text,
            _ => {}
        }
    }

    fn finish_alias(&mut self) {
        let alias = std::mem::take(&mut self.alias_name);
        let weak = std::mem::take(&mut self.alias_quality) == "Low";
        let aliases = if weak {
            &mut self.entity.weak_aliases
        } else {
            &mut self.entity.aliases
        };
        // Some alias elements contain several aliases, separated by semicolons.
        alias.split(';').for_each(|a| push_unique(aliases, a));
    }

    fn finish_date(&mut self) {
        let parts = std::mem::take(&mut self.date);
        let year = |text: &str| text.parse::<u16>().ok();
        let date = match (year(&parts.from), year(&parts.to), year(&parts.year)) {
            (Some(from), Some(to), _) => PartialDate::span(from, to),
            _ if !parts.full.is_empty() => parts.full.parse().ok(),
            (_, _, Some(y)) if parts.approximate => PartialDate::about(y),
            (_, _, Some(y)) => PartialDate::new(y, 0, 0),
            _ => None,
        };
        self.entity.birth_dates.extend(date);
    }

    fn finish_document(&mut self) {
        let kind = IdentifierKind::parse(&std::mem::take(&mut self.document_kind));
        let value = std::mem::take(&mut self.document_number);
        if !value.is_empty() {
            self.entity.identifiers.push(Identifier { kind, value });
        }
    }

    fn finish_place(&mut self) {
        let place = std::mem::take(&mut self.place).join(", ");
        if !place.is_empty() {
            push_unique(&mut self.entity.remarks, &format!("{BORN_IN}{place}"));
        }
    }

    fn finish(mut self) -> Result<Entity, &'static str> {
        push_unique(&mut self.entity.names, &self.name_parts.join(" "));
        if self.entity.id.is_empty() {
            return Err("no DATAID");
        }
        if self.entity.names.is_empty() {
            return Err("no name");
        }
        Ok(self.entity)
    }
}
