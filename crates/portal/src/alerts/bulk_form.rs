//! The form that decides on several alerts, and what became of them. It decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use service::problem::Problem;
use uuid::Uuid;

use crate::filters::Filters;

/// The most alerts that one form decides on: those of one page.
const MOST: usize = 50;

/// The form below the list.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct BulkForm {
    /// The chosen alerts: `ID:VERSION`, the version as the page showed it.
    pub(super) ids: Vec<String>,
    /// `same_person` or `other_person`.
    pub(super) conclusion: String,
    /// The detail that does not match, for `other_person`.
    pub(super) why: String,
    /// The reason.
    pub(super) reason: String,
    /// The list's filters and position.
    pub(super) state: String,
    /// See [`BulkForm::state`].
    pub(super) list: String,
    /// See [`BulkForm::state`].
    pub(super) before: String,
}

/// What became of the chosen alerts.
#[derive(Serialize, Deserialize)]
pub(super) struct BulkOutcome {
    /// How many were decided.
    pub(super) decided: usize,
    /// How many decisions wait for a second person.
    pub(super) proposed: usize,
    /// How many were refused.
    pub(super) refused: usize,
    /// Why, and how often.
    pub(super) reasons: BTreeMap<String, usize>,
    /// Whether nobody else in the account can confirm the proposals now.
    pub(super) is_alone: bool,
}

/// An alert and the version of it that the page showed.
pub(super) type Choice = (Uuid, i64);

impl BulkForm {
    /// The list's filters and position as a query.
    pub(super) fn query(&self) -> String {
        let fields = [
            ("state", self.state.as_str()),
            ("list", self.list.as_str()),
            ("before", self.before.as_str()),
        ];
        let address = Filters::default().address("", &fields);
        address.trim_start_matches('?').to_owned()
    }

    pub(super) fn choices(&self) -> Result<Vec<Choice>, Problem> {
        if self.ids.is_empty() {
            let text = "ids - choose at least one alert";
            return Err(Problem::invalid(text).named("alerts_none_chosen"));
        }
        if self.ids.len() > MOST {
            return Err(Problem::invalid(format!("ids - must name at most {MOST} alerts")));
        }
        // Without the version a decision could apply to a hit that the reviewer never saw.
        let wrong = || Problem::invalid("ids - must be ID:VERSION of alerts");
        let choice = |text: &String| {
            let (id, version) = text.split_once(':').ok_or_else(wrong)?;
            let id = Uuid::parse_str(id).map_err(|_| wrong())?;
            Ok((id, version.parse().map_err(|_| wrong())?))
        };
        self.ids.iter().map(choice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::parts::{FILTERS, HERE, parse_before};

    #[test]
    fn choices_are_ids_with_versions() {
        let id = Uuid::from_u128(7);
        let choices = |ids: &[String]| {
            let form = BulkForm {
                ids: ids.to_vec(),
                ..BulkForm::default()
            };
            form.choices()
        };
        assert_eq!(choices(&[format!("{id}:12")]).unwrap(), [(id, 12)]);
        for wrong in [
            id.to_string(),
            format!("{id}:"),
            format!("{id}:x"),
            "x:1".to_owned(),
            String::new(),
        ] {
            assert!(choices(std::slice::from_ref(&wrong)).is_err(), "{wrong}");
        }
        assert!(choices(&[]).is_err());
        assert!(choices(&vec![format!("{id}:12"); MOST + 1]).is_err());
    }

    #[test]
    fn the_list_returns_to_its_position() {
        let form = BulkForm {
            list: "a b".to_owned(),
            ..BulkForm::default()
        };
        let query = form.query();
        let filters = Filters::read(Some(&query), &FILTERS).unwrap();
        assert_eq!(filters.address(HERE, &[]), "/portal/alerts?list=a%20b");
        assert_eq!(parse_before(Some(&query)).unwrap(), None);
    }
}
