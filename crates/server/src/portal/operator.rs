//! The operator console: the processes and what they found, merchants and their applications, lists and models, jobs and deliveries, and
//! who else is an operator. Nothing of any applicant is shown here.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum_extra::extract::Form;
use inference::{Manifest, find_models_dir};
use sanctions::ListStatus;
use serde::Deserialize;
use store::jobs::JobState;
use store::merchants::{self, Merchant, MerchantStatus};
use store::nodes::Node;
use store::outbox::Backlog;
use store::staff::{self, StaffMember};
use uuid::Uuid;

use super::page::{Page, done, html};
use super::permissions::Action;
use super::routes::Routes;
use super::session::Member;
use crate::app::accounts::joining;
use crate::app::applications::{self, Application, Verdict};
use crate::app::merchants::settings;
use crate::app::nodes::{Report, SILENT_MS};
use crate::app::{App, Shared, checks, operations};
use crate::error::{Kind, Problem};

/// Accounts of a page.
const PAGE: i64 = 50;
/// Jobs that are shown.
const JOBS: i64 = 200;
/// Counted at most.
const MOST: i64 = 10_000;

/// This area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/operator", Action::Operate, health)
        .get("/portal/operator/merchants", Action::Operate, list_merchants)
        .get(
            "/portal/operator/merchants/{merchantId}",
            Action::Operate,
            merchant,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/decide",
            Action::Operate,
            decide,
        )
        .post(
            "/portal/operator/merchants/{merchantId}/limits",
            Action::Operate,
            limits,
        )
        .get("/portal/operator/lists", Action::Operate, lists)
        .post("/portal/operator/lists/reload", Action::Operate, reload)
        .get("/portal/operator/jobs", Action::Operate, jobs)
        .post("/portal/operator/jobs/{jobId}/run", Action::Operate, run_job)
        .get("/portal/operator/operators", Action::Operate, operators)
        .post(
            "/portal/operator/operators/invite",
            Action::ManageOperators,
            invite,
        )
        .post(
            "/portal/operator/operators/{staffId}/access",
            Action::ManageOperators,
            set_access,
        )
}

/// A process as the page shows it.
struct NodeRow {
    node: Node,
    report: Report,
    silent: bool,
}

#[derive(Template)]
#[template(path = "portal/operator/health.html")]
struct HealthPage {
    page: Page,
    parts: Vec<(&'static str, Option<String>)>,
    nodes: Vec<NodeRow>,
    backlog: Backlog,
    failed_jobs: usize,
    database: &'static str,
    database_mib: i64,
    objects: String,
    disk: checks::Check,
}

async fn health(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    let mut conn = app.db.read().await?;
    let now = conn.now();
    let nodes = store::nodes::list(&mut conn).await?;
    let nodes = nodes.into_iter().map(|node| NodeRow {
        report: serde_json::from_str(&node.report).unwrap_or_default(),
        silent: node.seen_at < now - SILENT_MS,
        node,
    });
    let jobs = store::jobs::list(&mut conn, JOBS).await?;
    let backlog = store::outbox::backlog(&mut conn, MOST).await?;
    drop(conn);
    let parts = app.readiness().await;
    html(HealthPage {
        parts: parts
            .into_iter()
            .map(|(name, found)| (name, found.err()))
            .collect(),
        nodes: nodes.collect(),
        backlog,
        failed_jobs: jobs.iter().filter(|job| job.last_error.is_some()).count(),
        database: checks::database_kind(&app.db),
        database_mib: app.db.size().await? / (1 << 20),
        objects: app.config.data.objects_url(),
        disk: checks::disk(&app.config.data.data),
        page,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wanted {
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
    /// Where earlier and later accounts begin.
    newer: Option<i64>,
    older: Option<i64>,
}

async fn list_merchants(
    State(app): State<Shared>,
    page: Page,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
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
    html(MerchantsPage {
        q: wanted.q,
        status: status.map_or("", MerchantStatus::as_str).to_owned(),
        statuses: statuses.map(MerchantStatus::as_str),
        merchants: found,
        newer: (skip > 0).then_some((skip - PAGE).max(0)),
        older: more.then_some(skip + PAGE),
        page,
    })
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
    max_flows: String,
    max_groups: String,
    error: String,
}

fn merchant_page(page: Page, application: Application) -> MerchantPage {
    let status = application.merchant.status;
    let may = |verdict| applications::after(status, verdict).is_some();
    let set = settings(&application.merchant);
    let text = |limit: Option<i64>| limit.map(|limit| limit.to_string()).unwrap_or_default();
    MerchantPage {
        may_approve: may(Verdict::Approve),
        may_reject: may(Verdict::Reject),
        may_suspend: may(Verdict::Suspend),
        reason: String::new(),
        max_flows: text(set.max_flows),
        max_groups: text(set.max_groups),
        error: String::new(),
        application,
        page,
    }
}

async fn merchant(
    State(app): State<Shared>,
    page: Page,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let application = applications::profile(&app, parse_id(&id)?).await?;
    html(merchant_page(page, application))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DecideForm {
    verdict: String,
    reason: String,
}

async fn decide(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<String>,
    Form(form): Form<DecideForm>,
) -> Result<Response, Problem> {
    let id = parse_id(&id)?;
    // The account first: whose verdict it would be.
    let application = applications::profile(&app, id).await?;
    let verdict = match form.verdict.as_str() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        "suspend" => Verdict::Suspend,
        _ => return Err(Problem::invalid("verdict - must be approve, reject or suspend")),
    };
    if verdict != Verdict::Approve && form.reason.trim().is_empty() {
        let error = page.t("operator.merchant.reason_missing");
        let shown = MerchantPage {
            error,
            ..merchant_page(page, application)
        };
        return refused(shown);
    }
    applications::decide(&app, id, verdict, Some(&form.reason), &member.actor()).await?;
    Ok(done(&format!("/portal/operator/merchants/{id}"), "saved"))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LimitsForm {
    max_flows: String,
    max_groups: String,
}

async fn limits(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(id): Path<String>,
    Form(form): Form<LimitsForm>,
) -> Result<Response, Problem> {
    let id = parse_id(&id)?;
    let application = applications::profile(&app, id).await?;
    let is_limit = |text: &str| text.is_empty() || text.parse().is_ok_and(|limit: u32| limit <= 1_000_000);
    let (flows, groups) = (
        form.max_flows.trim().to_owned(),
        form.max_groups.trim().to_owned(),
    );
    if !is_limit(&flows) || !is_limit(&groups) {
        let error = page.t("operator.merchant.limit_wrong");
        let shown = MerchantPage {
            error,
            max_flows: flows,
            max_groups: groups,
            ..merchant_page(page, application)
        };
        return refused(shown);
    }
    operations::set_limits(&app, id, &flows, &groups, &member.actor()).await?;
    Ok(done(&format!("/portal/operator/merchants/{id}"), "saved"))
}

/// A form's page once more, with what is wrong.
fn refused(page: impl Template) -> Result<Response, Problem> {
    let mut response = html(page)?;
    *response.status_mut() = axum::http::StatusCode::BAD_REQUEST;
    Ok(response)
}

struct Model {
    name: String,
    version: String,
    sha256: String,
    present: bool,
}

#[derive(Template)]
#[template(path = "portal/operator/lists.html")]
struct ListsPage {
    page: Page,
    lists: Vec<ListStatus>,
    broken: Option<String>,
    models: Vec<Model>,
    models_broken: Option<String>,
}

async fn lists(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    let (lists, models) = {
        let app = Arc::clone(&app);
        tokio::task::spawn_blocking(move || (app.lists.store().status(), models(&app)))
            .await
            .map_err(Problem::internal)?
    };
    let (lists, unreadable) = match lists {
        Ok(lists) => (lists, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let (models, missing) = match models {
        Ok(models) => (models, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    html(ListsPage {
        lists,
        broken: unreadable.or_else(|| app.lists.screener().err()),
        models,
        models_broken: missing.or_else(|| app.engines.get().err().map(str::to_owned)),
        page,
    })
}

/// The models that the manifest names; whether they are what it says, the engines found out when they loaded them.
fn models(app: &App) -> Result<Vec<Model>, String> {
    let folder = find_models_dir(app.config.models.as_deref()).ok_or("no model folder")?;
    let manifest = Manifest::read(&folder).map_err(|error| error.to_string())?;
    let model = |entry: inference::ManifestEntry| Model {
        present: folder.join(&entry.file).is_file(),
        name: entry.name,
        version: entry.version,
        sha256: entry.sha256,
    };
    let models = manifest
        .files
        .into_iter()
        .filter(|entry| !entry.name.starts_with("sample"));
    Ok(models.map(model).collect())
}

async fn reload(State(app): State<Shared>, member: Member) -> Result<Response, Problem> {
    tokio::task::spawn_blocking(move || app.lists.reload())
        .await
        .map_err(Problem::internal)?;
    acted(&member, "reloaded the lists");
    Ok(done("/portal/operator/lists", "operator.reloaded"))
}

#[derive(Template)]
#[template(path = "portal/operator/jobs.html")]
struct JobsPage {
    page: Page,
    jobs: Vec<JobState>,
    backlog: Backlog,
}

async fn jobs(State(app): State<Shared>, page: Page) -> Result<Response, Problem> {
    let mut conn = app.db.read().await?;
    html(JobsPage {
        jobs: store::jobs::list(&mut conn, JOBS).await?,
        backlog: store::outbox::backlog(&mut conn, MOST).await?,
        page,
    })
}

async fn run_job(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = parse_id(&id)?;
    let found = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        Ok(store::jobs::run_now(tx, id).await?)
    })?;
    if !found {
        return Err(Problem::not_found("This job is done, or being done"));
    }
    acted(&member, "made a job due");
    Ok(done("/portal/operator/jobs", "operator.job_due"))
}

#[derive(Template)]
#[template(path = "portal/operator/operators.html")]
struct OperatorsPage {
    page: Page,
    me: Uuid,
    operators: Vec<StaffMember>,
    link: Option<String>,
}

async fn operators_page(app: &App, page: Page, me: Uuid, link: Option<String>) -> Result<Response, Problem> {
    html(OperatorsPage {
        operators: staff::operators(&mut app.db.read().await?).await?,
        me,
        link,
        page,
    })
}

async fn operators(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Problem> {
    operators_page(&app, page, member.staff_id, None).await
}

/// The link is shown this once, so the answer is the page itself.
async fn invite(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Problem> {
    let made = joining::operator_link(&app.db, Some(member.staff_id)).await?;
    acted(&member, "made a link to become an operator");
    let link = format!("{}{}", app.public_url, made.path);
    operators_page(&app, page, member.staff_id, Some(link)).await
}

async fn set_access(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = parse_id(&id)?;
    if id == member.staff_id {
        return Err(Problem::new(
            Kind::Conflict,
            "Another operator must do this to you",
        ));
    }
    operations::dismiss_operator(&app, id).await?;
    acted(&member, "dismissed an operator");
    Ok(done("/portal/operator/operators", "saved"))
}

/// Operators act for the installation, which has no audit trail of its own: the log says who did what.
fn acted(member: &Member, what: &str) {
    tracing::warn!(operator = %member.staff_id, "an operator {what}");
}

fn parse_id(id: &str) -> Result<Uuid, Problem> {
    Uuid::parse_str(id).map_err(|_| Problem::not_found("There is no such page"))
}
