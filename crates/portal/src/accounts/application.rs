//! A merchant's application for live access.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use portal_accounts::applications::{self, Application, Profile, is_editable};
use serde::Deserialize;
use service::Shared;

use super::forms::{Faults, render_rejected};
use crate::page::{Page, done, html};
use crate::session::Member;

const HERE: &str = "/portal/application";

#[derive(Template)]
#[template(path = "portal/accounts/application.html")]
struct ApplicationPage {
    page: Page,
    application: Application,
    profile: Profile,
    faults: Faults,
}

impl ApplicationPage {
    fn is_open(&self) -> bool {
        is_editable(self.application.merchant.status)
    }

    fn status(&self) -> &'static str {
        self.application.merchant.status.as_str()
    }

    /// The rows of an application that can no longer be edited.
    fn rows(&self) -> [(&'static str, &str); 9] {
        let Profile {
            legal_name,
            registration_number,
            country,
            address,
            website,
            contact_name,
            contact_email,
            purpose,
            volume,
        } = &self.profile;
        [
            ("accounts.application.legal_name", legal_name),
            ("accounts.application.registration_number", registration_number),
            ("accounts.application.country", country),
            ("accounts.application.address", address),
            ("accounts.application.website", website),
            ("accounts.application.contact_name", contact_name),
            ("accounts.application.contact_email", contact_email),
            ("accounts.application.purpose", purpose),
            ("accounts.application.volume", volume),
        ]
    }
}

/// `GET /portal/application`
pub(super) async fn page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    let application = applications::profile(&app, member.merchant()?.id).await?;
    Ok(html(ApplicationPage {
        page,
        profile: application.profile.clone(),
        application,
        faults: Faults::default(),
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ApplicationForm {
    #[serde(flatten)]
    profile: Profile,
    then: String,
}

/// `POST /portal/application`
pub(super) async fn submit(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<ApplicationForm>,
) -> Result<Response, Rejection> {
    let (merchant_id, actor) = (member.merchant()?.id, member.actor());
    let hand_in = form.then == "submit";
    let outcome = if hand_in {
        applications::submit(&app, merchant_id, form.profile.clone(), &actor).await?
    } else {
        applications::save(&app, merchant_id, form.profile.clone(), &actor).await?
    };
    match outcome {
        Ok(()) => Ok(done(
            HERE,
            if hand_in { "application_submitted" } else { "saved" },
        )),
        Err(faults) => Ok(render_rejected(ApplicationPage {
            page,
            application: applications::profile(&app, merchant_id).await?,
            profile: form.profile,
            faults: Faults(faults),
        })?),
    }
}
