//! Translates errors of a Flow into plain sentences for the editor, next to the fields that they concern.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use service::flows::CHANGED_MEANWHILE;
use service::problem::{Family, Kind, Problem};

use super::form::{FlowForm, Object};
use crate::page::Page;

/// Errors by field. The key `form` is for errors of the whole form.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Faults {
    by_field: BTreeMap<String, Vec<String>>,
    status: StatusCode,
}

impl Faults {
    /// Converts a refusal into errors of the form.
    ///
    /// # Errors
    /// Returns a problem unchanged if the form did not cause it.
    pub fn refused(page: &Page, problem: Problem, body: &Object) -> Result<Faults, Problem> {
        match problem.kind() {
            Kind::Invalid | Kind::Conflict | Kind::Forbidden => Ok(Faults::of(page, &problem, body)),
            _ => Err(problem),
        }
    }

    /// Converts a refusal of the Flow rules.
    pub fn of(page: &Page, problem: &Problem, body: &Object) -> Faults {
        let mut faults = Faults {
            by_field: BTreeMap::new(),
            status: problem.status(Family::System),
        };
        if problem.errors().is_empty() {
            let (field, text) = match (problem.kind(), problem.message()) {
                (Kind::Conflict, CHANGED_MEANWHILE) => ("form", page.t("flows.fault.changed")),
                (Kind::Conflict, _) => ("name", page.t("flows.fault.name_taken")),
                (Kind::Forbidden, _) => ("form", page.t("flows.fault.limit")),
                _ => ("upload", page.t("flows.fault.upload")),
            };
            faults.add(field.to_owned(), text);
        }
        for error in problem.errors() {
            let (field, reason) = error.split_once(" - ").unwrap_or(("form", error));
            faults.add(form_field(field, reason, body), plain_reason(page, field, reason));
        }
        faults
    }

    fn add(&mut self, field: String, text: String) {
        self.by_field.entry(field).or_default().push(text);
    }

    /// A field's errors as one text; empty if it has none.
    pub fn at(&self, field: &str) -> String {
        self.by_field
            .get(field)
            .map(|texts| texts.join(" "))
            .unwrap_or_default()
    }

    /// Whether there is any error.
    pub fn any(&self) -> bool {
        !self.by_field.is_empty()
    }

    /// The errors of fields as links: the anchor in the page, the field's name, and the text. Errors of the
    /// whole form have no anchor and are omitted.
    pub fn wrong(&self, page: &Page) -> Vec<(String, String, String)> {
        let named = self.by_field.iter().filter(|(field, _)| *field != "form");
        named
            .map(|(field, texts)| {
                let (place, name) = link(page, field);
                (place, name, texts.join(" "))
            })
            .collect()
    }

    /// All errors' texts.
    pub fn all(self) -> Vec<String> {
        self.by_field.into_values().flatten().collect()
    }

    /// The response's status: 200 if there is no error.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

/// A field's anchor in the page, and its name.
fn link(page: &Page, field: &str) -> (String, String) {
    if let Some(code) = field.strip_prefix("override.") {
        let country = reference::country(code).map_or(code, |country| country.name);
        return (field.to_owned(), country.to_owned());
    }
    let (place, key) = match field {
        "name" => ("f-name", "flows.name"),
        "defaultDocumentTypes" => ("types", "flows.types"),
        "upload" => ("upload", "flows.upload"),
        "biometric" => ("biometric", "flows.biometric"),
        "minAge" => ("f-minAge", "flows.min_age"),
        "maxAge" => ("f-maxAge", "flows.max_age"),
        "geoBlockedCountries" => ("geo", "flows.geo"),
        "overrides" => ("overrides", "flows.overrides"),
        "settings.reviewPolicy" => ("policy", "flows.policy"),
        "settings.ongoingScreening" => ("ongoing-screening", "flows.ongoing_screening"),
        "settings.screeningLists" => ("screening-lists", "flows.screening_lists"),
        "settings.fraudSigns" => ("fraud-signs", "flows.fraud_signs"),
        "settings.matchThreshold" => ("f-matchThreshold", "flows.match_threshold"),
        "settings.reviewBand" => ("f-reviewBand", "flows.review_band"),
        "settings.attemptsPerLink" => ("f-attemptsPerLink", "flows.attempts"),
        "settings.invitationHours" => ("f-invitationHours", "flows.invitation_hours"),
        "settings.reminderHours" => ("f-reminderHours", "flows.reminder_hours"),
        "settings.renewInvitations" => ("renew-invitations", "flows.renew_invitations"),
        "settings.retentionDays" => ("f-retentionDays", "flows.retention"),
        "webhookUrl" => ("f-webhookUrl", "flows.webhook.url"),
        _ => ("flow-form", "flows.details"),
    };
    (place.to_owned(), page.t(key))
}

/// The form's field for an error in the body.
fn form_field(field: &str, reason: &str, body: &Object) -> String {
    if field == "defaultFields" {
        return "biometric".into();
    }
    if let Some(index) = field.strip_prefix("countryOverrides") {
        let overrides = FlowForm::new(body.clone()).overrides;
        let index = index
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        let found = match index {
            Some(index) => overrides.get(index),
            None => overrides
                .iter()
                .find(|each| reason.starts_with(&format!("{}:", each.country.name))),
        };
        return found.map_or_else(
            || "overrides".into(),
            |each| format!("override.{}", each.country.alpha3),
        );
    }
    field.split('[').next().unwrap_or(field).to_owned()
}

/// The rules' reason in plain words, without hints that apply only to API calls.
fn plain_reason(page: &Page, field: &str, reason: &str) -> String {
    if reason.contains("a selfie cannot be asked for") {
        return page.t("flows.fault.selfie");
    }
    let reason = reason
        .replace(", or null", "")
        .replace(", or empty to clear it", "");
    let reason = match field {
        "minAge" => reason.replace("maxAge", &page.t("flows.max_age").to_lowercase()),
        "settings.reviewBand" => {
            reason.replace("matchThreshold", &page.t("flows.match_threshold").to_lowercase())
        }
        _ => reason,
    };
    let mut letters = reason.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}
