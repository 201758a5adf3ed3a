//! Merchants: search, the decision on an application, and the plan's limits.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use portal_accounts::applications::{self, Application, ApplicationDecision};
use serde::Deserialize;
use service::config::RateClass;
use service::merchants as accounts;
use service::operations::{self, LIMITS};
use service::problem::Problem;
use service::{App, Shared};
use store::merchants::{self, Merchant, MerchantStatus};

use super::params::{MOST, parse_id};
use crate::page::{Page, done, html};
use crate::session::Member;

/// Accounts on one page.
const PAGE: i64 = 50;
/// The highest limit that can be set.
const HIGHEST: u32 = 1_000_000;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MerchantFilter {
    q: String,
    status: String,
    skip: i64,
}

#[derive(Template)]
#[template(path = "portal/operator/merchants.html")]
struct MerchantsPage {
    page: Page,
    q: String,
    status: String,
    statuses: [&'static str; 5],
    merchants: Vec<Merchant>,
    /// The offsets of the pages with newer and older accounts.
    newer: Option<i64>,
    older: Option<i64>,
}

pub(super) async fn list(
    State(app): State<Shared>,
    page: Page,
    Query(wanted): Query<MerchantFilter>,
) -> Result<Response, Rejection> {
    let statuses = [
        MerchantStatus::Submitted,
        MerchantStatus::Approved,
        MerchantStatus::Draft,
        MerchantStatus::Rejected,
        MerchantStatus::Suspended,
    ];
    let status = statuses
        .into_iter()
        .find(|status| status.as_str() == wanted.status);
    let skip = wanted.skip.clamp(0, MOST);
    let mut conn = app.db.read().await?;
    let mut found = merchants::search(&mut conn, &wanted.q, status, skip, PAGE + 1).await?;
    let more = found.len() as i64 > PAGE;
    found.truncate(PAGE as usize);
    Ok(html(MerchantsPage {
        q: wanted.q,
        status: status.map_or("", MerchantStatus::as_str).to_owned(),
        statuses: statuses.map(MerchantStatus::as_str),
        merchants: found,
        newer: (skip > 0).then_some((skip - PAGE).max(0)),
        older: more.then_some(skip + PAGE),
        page,
    })?)
}

#[derive(Template)]
#[template(path = "portal/operator/merchant.html")]
struct MerchantPage {
    page: Page,
    application: Application,
    may_approve: bool,
    may_reject: bool,
    may_suspend: bool,
    reason: String,
    limits: BTreeMap<&'static str, String>,
    /// Default requests per minute and key, for accounts without their own limit; 0 means no limit.
    defaults: BTreeMap<&'static str, u32>,
    faults: BTreeMap<&'static str, String>,
    /// Settings that cannot be parsed. The account's API requests are refused until they are repaired.
    unreadable: Vec<String>,
}

impl MerchantPage {
    fn new(app: &App, page: Page, application: Application) -> Self {
        let status = application.merchant.status;
        let may = |verdict| applications::status_after(status, verdict).is_some();
        // The stored members, so that one that cannot be parsed does not hide the others.
        let set = accounts::members(&application.merchant).unwrap_or_default();
        let limit = |name| set.get(name).map(ToString::to_string).unwrap_or_default();
        let default = |class| app.config.rate(class).unwrap_or_default();
        MerchantPage {
            may_approve: may(ApplicationDecision::Approve),
            may_reject: may(ApplicationDecision::Reject),
            may_suspend: may(ApplicationDecision::Suspend),
            reason: String::new(),
            limits: LIMITS.map(|name| (name, limit(name))).into(),
            defaults: [
                ("rateVerify", default(RateClass::Verify)),
                ("rateMonitoring", default(RateClass::Monitoring)),
                ("rateReads", default(RateClass::Reads)),
                ("rateWrites", default(RateClass::Writes)),
            ]
            .into(),
            faults: BTreeMap::new(),
            unreadable: accounts::faults(&application.merchant),
            application,
            page,
        }
    }

    fn limit(&self, name: &str) -> &str {
        self.limits.get(name).map_or("", String::as_str)
    }

    /// The hint that states what an empty field means.
    fn hint(&self, name: &str) -> String {
        match self.defaults.get(name) {
            Some(0) => self.page.t("operator.merchant.rate_default_off"),
            Some(rate) => self.page.t1("operator.merchant.rate_default", "n", rate),
            None => self.page.t("operator.merchant.limits_hint"),
        }
    }

    fn fault(&self, name: &str) -> &str {
        self.faults.get(name).map_or("", String::as_str)
    }

    /// The page again with its errors: status 400.
    fn refused(self) -> Result<Response, Problem> {
        Ok((StatusCode::BAD_REQUEST, html(self)?).into_response())
    }
}

pub(super) async fn merchant(
    State(app): State<Shared>,
    page: Page,
    Path(id): Path<String>,
) -> Result<Response, Rejection> {
    let application = applications::profile(&app, parse_id(&id)?).await?;
    Ok(html(MerchantPage::new(&app, page, application))?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct DecideForm {
    verdict: String,
    reason: String,
}

pub(super) async fn decide(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<String>,
    Form(form): Form<DecideForm>,
) -> Result<Response, Rejection> {
    let id = parse_id(&id)?;
    // The account is read first, so that an unknown one gives 404 before the form is checked.
    let application = applications::profile(&app, id).await?;
    let verdict = match form.verdict.as_str() {
        "approve" => ApplicationDecision::Approve,
        "reject" => ApplicationDecision::Reject,
        "suspend" => ApplicationDecision::Suspend,
        _ => return Err(Problem::invalid("verdict - must be approve, reject or suspend").into()),
    };
    if verdict != ApplicationDecision::Approve && form.reason.trim().is_empty() {
        let mut shown = MerchantPage::new(&app, page, application);
        let missing = shown.page.t("operator.merchant.reason_missing");
        shown.faults.insert("reason", missing);
        return Ok(shown.refused()?);
    }
    applications::decide(&app, id, verdict, Some(&form.reason), &member.actor()).await?;
    Ok(done(&format!("/portal/operator/merchants/{id}"), "saved"))
}

pub(super) async fn limits(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<String>,
    Form(sent): Form<BTreeMap<String, String>>,
) -> Result<Response, Rejection> {
    let id = parse_id(&id)?;
    let application = applications::profile(&app, id).await?;
    let number = |name: &str| sent.get(name).map_or("", |text| text.trim()).to_owned();
    let limits = LIMITS.map(|name| (name, number(name)));
    let is_limit = |text: &str| text.is_empty() || text.parse().is_ok_and(|limit: u32| limit <= HIGHEST);
    if limits.iter().any(|(_, text)| !is_limit(text)) {
        let mut shown = MerchantPage::new(&app, page, application);
        let wrong = shown.page.t("operator.merchant.limit_wrong");
        let faults = limits.iter().filter(|(_, text)| !is_limit(text));
        shown.faults = faults.map(|(name, _)| (*name, wrong.clone())).collect();
        shown.limits = limits.into();
        return Ok(shown.refused()?);
    }
    operations::set_limits(&app, id, &limits, &member.actor()).await?;
    Ok(done(&format!("/portal/operator/merchants/{id}"), "saved"))
}
