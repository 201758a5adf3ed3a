//! The dashboard: today's figures, pending work, and a new account's next steps.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http_server::error::Rejection;
use sanctions::store::ListStatus;
use service::permissions::Action;
use service::{Shared, insight as figures};
use store::insight::{self, Range, Tally};
use store::merchants::MerchantStatus;
use store::{alerts, credentials, flows};

use super::filters::DAY_MS;
use super::page::{self, Page};
use super::routes::Routes;
use super::session::Member;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes.get("/portal", Action::ViewDashboard, dashboard)
}

/// A step of setting up a new account.
struct Step {
    key: &'static str,
    done: bool,
    href: &'static str,
    may: bool,
}

#[derive(Template)]
#[template(path = "portal/dashboard.html")]
struct Dashboard {
    page: Page,
    today: Tally,
    week: Tally,
    pass_rate: String,
    waiting: i64,
    oldest: Option<i64>,
    /// How many alerts somebody must act on; `None` if the reader may not see the queue.
    open_alerts: Option<i64>,
    retrying: i64,
    given_up: i64,
    lists: Vec<ListStatus>,
    steps: Vec<Step>,
    sees_queue: bool,
    manages_webhooks: bool,
}

impl Dashboard {
    /// Whether a setup step is still open.
    fn is_new(&self) -> bool {
        self.steps.iter().any(|step| !step.done)
    }
}

async fn dashboard(State(app): State<Shared>, page: Page, member: Member) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let mut conn = app.db.read().await?;
    let today = page.now() / DAY_MS * DAY_MS;
    let week = Range {
        from: today - 6 * DAY_MS,
        until: today + DAY_MS,
        flow_id: None,
    };
    let by_day = insight::by_day(&mut conn, scope, week).await?;
    let (waiting, oldest) = insight::pending_backlog(&mut conn, scope).await?;
    let open_alerts = match member.may(Action::ViewQueue) {
        true => Some(alerts::count_waiting(&mut conn, scope).await?),
        false => None,
    };
    let (retrying, given_up) = insight::webhook_failures(&mut conn, scope, today - 6 * DAY_MS).await?;
    let flows = flows::list(&mut conn, scope).await?;
    let keys = credentials::list(&mut conn, scope.merchant_id).await?;
    let has_key = keys
        .iter()
        .any(|key| key.sandbox == scope.sandbox && key.has_secret && key.revoked_at.is_none());
    let steps = vec![
        ("flow", !flows.is_empty(), "/portal/flows", Action::ViewFlows),
        (
            "try",
            insight::any(&mut conn, scope).await?,
            "/portal/links",
            Action::MakeLinks,
        ),
        ("keys", has_key, "/portal/keys", Action::ViewKeys),
        (
            "webhook",
            flows.iter().any(|flow| flow.webhook_url.is_some()),
            "/portal/webhooks",
            Action::ManageWebhooks,
        ),
        (
            "live",
            member.merchant()?.status == MerchantStatus::Approved,
            "/portal/application",
            Action::Apply,
        ),
    ];
    drop(conn);
    let total = figures::sum(by_day.iter().map(|(_, tally)| *tally));
    Ok(page::html(Dashboard {
        today: by_day
            .iter()
            .find(|(day, _)| *day == today / DAY_MS)
            .map(|(_, tally)| *tally)
            .unwrap_or_default(),
        week: total,
        pass_rate: figures::percent(total.pass_rate()),
        waiting,
        oldest,
        open_alerts,
        retrying,
        given_up,
        lists: figures::lists(&app, scope.sandbox).await?,
        steps: steps
            .into_iter()
            .map(|(key, done, href, action)| Step {
                key,
                done,
                href,
                may: member.may(action),
            })
            .collect(),
        sees_queue: member.may(Action::ViewQueue),
        manages_webhooks: member.may(Action::ManageWebhooks),
        page,
    })?)
}
