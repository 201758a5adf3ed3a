//! Reads OpenSanctions' `targets.simple.csv`: one subject per row, with `;` between several values of a
//! field.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use super::input::Tally;
use super::list::{ImportError, List};
use super::{csv_tables, ftm};
use crate::countries;
use crate::entity::{Entity, Identifier, IdentifierKind, PartialDate, Schema, push_unique};

pub(super) fn read(name: &str, input: impl BufRead, tally: &mut Tally) -> Result<List, ImportError> {
    let mut list = List {
        name: ftm::list_name(name),
        ..List::default()
    };
    let mut columns: FxHashMap<String, usize> = FxHashMap::default();
    csv_tables::rows(name, input, tally, |row, line, tally| {
        if columns.is_empty() {
            let clean = |c: &String| c.trim_start_matches('\u{feff}').to_ascii_lowercase();
            columns = row.iter().enumerate().map(|(i, c)| (clean(c), i)).collect();
            return;
        }
        tally.rows += 1;
        let field = |column: &str| {
            columns
                .get(column)
                .and_then(|i| row.get(*i))
                .map_or("", String::as_str)
        };
        let Some(schema) = Schema::from_ftm(field("schema")) else {
            return tally.reject(line, "no known schema");
        };
        if field("id").is_empty() || field("name").is_empty() {
            return tally.reject(line, "no id or no name");
        }
        let mut entity = Entity {
            id: field("id").to_owned(),
            schema,
            names: vec![field("name").to_owned()],
            datasets: vec![list.name.clone()],
            ..Entity::default()
        };
        field("aliases")
            .split(';')
            .for_each(|a| push_unique(&mut entity.aliases, a));
        entity.birth_dates.extend(
            field("birth_date")
                .split(';')
                .filter_map(|d| d.parse::<PartialDate>().ok()),
        );
        for code in field("countries").split(';').filter_map(countries::code) {
            push_unique(&mut entity.countries, &code);
        }
        for value in field("identifiers")
            .split(';')
            .map(str::trim)
            .filter(|v| !v.is_empty())
        {
            entity.identifiers.push(Identifier {
                kind: IdentifierKind::Other,
                value: value.to_owned(),
            });
        }
        // Collections also contain subjects without sanctions, which are only of interest.
        if !field("sanctions").is_empty() {
            entity.topics.push("sanction".into());
            push_unique(&mut entity.remarks, field("sanctions"));
        }
        field("program_ids")
            .split(';')
            .for_each(|p| push_unique(&mut entity.programs, p));
        let seen = field("last_seen");
        if seen > list.version.as_str() {
            list.version = seen.to_owned();
        }
        list.entities.push(entity);
    })?;
    Ok(list)
}
