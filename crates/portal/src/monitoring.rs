//! Wallets and transactions: screening by hand, stored like the API's screenings. Readers search them,
//! inspect the evidence for a score, and replay the decision.

mod formatting;
mod lookup;
mod query;
mod replay;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use chain::currency::Currency;
use chain::secret;
use http_server::error::Rejection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::caller::Caller;
use service::idempotency::{self, ClaimOutcome};
use service::monitoring::{self, ScreeningFilter};
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::rates;
use service::{Shared, audit_trail};
use store::audit::Entry;
use store::monitoring::Screening;
use uuid::Uuid;
use verification::risk_assessment::RiskAssessment;

use self::formatting::{outcome, score};
use super::filters::Filters;
use super::page::{self, Page};
use super::routes::Routes;
use super::sealed_search;
use super::session::Member;

const PAGE: u16 = 30;
/// The label of a manual screening without one.
const LABEL: &str = "Portal query";
/// The kind of sealed search; see [`sealed_search`](super::sealed_search).
const SEARCH: &str = "screenings search";

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/monitoring", Action::Screen, list)
        .post("/portal/monitoring-search", Action::Screen, search)
        .post("/portal/monitoring", Action::ScreenWallet, screen)
        .get("/portal/monitoring/{id}", Action::Screen, query::detail)
        .get("/portal/monitoring/{id}/picture", Action::Screen, query::picture)
        .post(
            "/portal/monitoring/{id}/again",
            Action::Screen,
            replay::replay_decision,
        )
}

/// The form of a new screening.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ScreeningForm {
    kind: String,
    currency: String,
    query: String,
    label: String,
}

/// The filters of the list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ScreeningSearch {
    text: String,
    currency: String,
    label: String,
}

/// The form's errors; an empty text means no error.
#[derive(Default)]
struct FormErrors {
    query: String,
    label: String,
    /// An error of no particular field.
    other: String,
}

#[derive(Template)]
#[template(path = "portal/monitoring.html")]
struct ListPage {
    page: Page,
    asked: ScreeningForm,
    wrong: FormErrors,
    sought: ScreeningSearch,
    /// The sealed search, as the address contains it.
    sealed: String,
    currencies: Vec<&'static str>,
    screenings: Vec<Screening>,
    next: Option<String>,
}

impl ListPage {
    /// The page for an address's filters.
    async fn new(
        app: &Shared,
        page: Page,
        member: &Member,
        filters: &Filters,
    ) -> Result<ListPage, Rejection> {
        let sealed = filters.text("sealed");
        let sought: ScreeningSearch = sealed_search::open(app, member, SEARCH, sealed)
            .await?
            .unwrap_or_default();
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (query, label) = (text(&sought.text), text(&sought.label));
        let wanted = ScreeningFilter {
            text: query.as_deref(),
            currency: Currency::ALL
                .into_iter()
                .find(|currency| currency.code() == sought.currency),
            label: label.as_deref(),
            before: Uuid::parse_str(filters.text("before")).ok(),
        };
        let found = monitoring::list(app, member.scope()?, &wanted, PAGE).await?;
        Ok(ListPage {
            page,
            asked: ScreeningForm::default(),
            wrong: FormErrors::default(),
            sealed: sealed.to_owned(),
            sought,
            currencies: Currency::ALL.into_iter().map(Currency::code).collect(),
            screenings: found.screenings,
            next: found.next.map(|next| next.to_string()),
        })
    }

    fn is_filtered(&self) -> bool {
        let ScreeningSearch {
            text,
            currency,
            label,
        } = &self.sought;
        !(text.is_empty() && currency.is_empty() && label.is_empty())
    }
}

/// The conclusion that a row of the list may show.
fn verdict(screening: &Screening) -> RiskAssessment {
    let answer: Value = serde_json::from_str(&screening.response).unwrap_or_default();
    monitoring::assess(screening, &answer["exposures"])
}

async fn list(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let filters = Filters::read(raw.as_deref(), &["before", "sealed"])?;
    Ok(page::html(ListPage::new(&app, page, &member, &filters).await?)?)
}

async fn search(
    State(app): State<Shared>,
    member: Member,
    Form(sought): Form<ScreeningSearch>,
) -> Result<Response, Rejection> {
    Ok(sealed_search::redirect_to_search(&app, &member, "/portal/monitoring", SEARCH, &sought).await?)
}

async fn screen(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(asked): Form<ScreeningForm>,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let id = Uuid::now_v7();
    let screened = run_screening(&app, &caller, id, &asked).await;
    note(&app, &caller, id, &screened).await?;
    match screened {
        Ok(()) => Ok(Redirect::to(&format!("/portal/monitoring/{id}")).into_response()),
        Err(why) => render_refusal(&app, page, &member, asked, why).await,
    }
}

/// Writes the outcome of a screening into the audit trail. It never writes the query, which may be an
/// unrecognised secret.
async fn note(
    app: &Shared,
    caller: &Caller,
    id: Uuid,
    screened: &Result<(), Refused>,
) -> Result<(), Problem> {
    let (subject, detail) = match screened {
        Ok(()) => (id.to_string(), json!({})),
        Err(Refused { why: Some(why), .. }) => (id.to_string(), json!({"failed": why})),
        // Rate-limited requests write no row. Otherwise they could flood the trail.
        Err(Refused { problem, .. }) if problem.kind() == Kind::RateLimited => return Ok(()),
        Err(Refused { problem, .. }) => {
            let status = problem.status(Family::Monitoring).as_u16();
            ("by hand".to_owned(), json!({"refused": status}))
        }
    };
    let entry = Entry {
        actor: &caller.key,
        action: "screening.wallet",
        subject: &subject,
        detail: &detail.to_string(),
    };
    audit_trail::write(&app.db, caller.scope, &entry).await
}

/// Why there is no score. `why` is a fixed word if the query was stored nevertheless.
struct Refused {
    why: Option<&'static str>,
    problem: Problem,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Refused { why: None, problem }
    }
}

async fn run_screening(
    app: &Shared,
    caller: &Caller,
    id: Uuid,
    asked: &ScreeningForm,
) -> Result<(), Refused> {
    // Every member who may do this decides, so the limit for deciders applies.
    rates::check_screening_rate(app, caller, true).await?;
    let query = monitoring::read(&body(asked))?;
    // Without an idempotency key, every press of the button starts a new screening.
    let ClaimOutcome::Fresh(claim) = idempotency::start(app, caller.scope, None, "portal", b"").await? else {
        return Err(Problem::internal("a screening without a key was answered before").into());
    };
    let answer = monitoring::screen(app, caller, id, query, claim).await;
    answer.map(|_| ()).map_err(|none| Refused {
        why: Some(none.why),
        problem: none.problem,
    })
}

/// The page again, with the errors.
async fn render_refusal(
    app: &Shared,
    page: Page,
    member: &Member,
    asked: ScreeningForm,
    refused: Refused,
) -> Result<Response, Rejection> {
    let Refused { why, problem } = refused;
    let status = problem.status(Family::Monitoring);
    if matches!(
        status,
        StatusCode::INTERNAL_SERVER_ERROR | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    ) {
        return Err(problem.into());
    }
    problem.log(status);
    let wrong = wrong(&page, &asked, &problem, why);
    let asked = without_secrets(asked);
    let list = ListPage::new(app, page, member, &Filters::default()).await?;
    let again = ListPage { asked, wrong, ..list };
    Ok((status, page::html(again)?).into_response())
}

/// The refusal as texts of the portal, next to the field at fault.
fn wrong(page: &Page, asked: &ScreeningForm, problem: &Problem, why: Option<&str>) -> FormErrors {
    let fault = |field: &str| {
        let mut errors = problem.errors().iter();
        errors.find_map(|error| error.split_once(" - ").filter(|(of, _)| *of == field))
    };
    let mut wrong = FormErrors::default();
    if secret::recognise(&asked.query).is_some() {
        wrong.query = page.t("monitoring.wrong.secret");
    } else if let Some((of, why)) = fault("query") {
        let kind = page.word("monitoring.kind", &asked.kind).to_lowercase();
        let chain = asked.currency.to_uppercase();
        // Some reasons begin with the field's name.
        let why = why.strip_prefix(of).map_or(why, str::trim_start);
        let values = [("kind", kind.as_str()), ("chain", &chain), ("why", why)];
        wrong.query = page.tf("monitoring.wrong.query", &values);
    }
    if secret::find_in_free_text(&asked.label).is_some() {
        wrong.label = page.t("monitoring.wrong.label_secret");
    } else if fault("label").is_some() {
        wrong.label = page.t("monitoring.wrong.label");
    }
    if wrong.query.is_empty() && wrong.label.is_empty() {
        wrong.other = match why {
            Some(why) => format!(
                "{} {}",
                page.t("monitoring.no_score"),
                page.t(&format!("monitoring.why.{why}"))
            ),
            None => problem.message().to_owned(),
        };
    }
    wrong
}

/// Removes recognised secrets from the form, because a key pasted by mistake must not be shown again.
fn without_secrets(asked: ScreeningForm) -> ScreeningForm {
    let shown = |text: String, secret: Option<&str>| secret.map_or(text, |_| String::new());
    let (query, label) = (
        secret::recognise(&asked.query),
        secret::find_in_free_text(&asked.label),
    );
    ScreeningForm {
        query: shown(asked.query, query),
        label: shown(asked.label, label),
        ..asked
    }
}

fn body(asked: &ScreeningForm) -> Map<String, Value> {
    let label = match asked.label.trim() {
        "" => LABEL,
        label => label,
    };
    let members = [
        ("type", asked.kind.trim()),
        ("currency", asked.currency.trim()),
        ("query", asked.query.trim()),
        ("label", label),
        ("report", "detailed"),
    ];
    let members = members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)));
    members.collect()
}
