//! Invitations of applicants: the list, and the page that revokes one. The *Links* page creates them. This module
//! sends no message and decides about no attempt.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http_server::error::Rejection;
use http_server::path::PathText;
use service::api_log::MASK;
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared, applicant_invitations, flows, groups};
use store::applicant_invitations::{Invitation, InvitationFilter, InvitationStatus};
use uuid::Uuid;

use super::filters::Filters;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// The address of the list.
const HERE: &str = "/portal/invitations";
/// Invitations on one page.
const PAGE: u16 = 50;
const STATUSES: [InvitationStatus; 6] = [
    InvitationStatus::Open,
    InvitationStatus::InReview,
    InvitationStatus::Success,
    InvitationStatus::Failed,
    InvitationStatus::Expired,
    InvitationStatus::Revoked,
];

/// Adds this area's routes.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get(HERE, Action::MakeLinks, list)
        .get("/portal/invitations/{id}/revoke", Action::MakeLinks, ask_revoke)
        .post("/portal/invitations/{id}/revoke", Action::MakeLinks, revoke)
}

/// An invitation in the list.
struct Row {
    invitation: Invitation,
    flow: String,
    group: String,
}

impl Row {
    fn is_open(&self) -> bool {
        self.invitation.status == InvitationStatus::Open
    }

    /// When it ended, or until when it works (ms).
    fn ends_at(&self) -> i64 {
        self.invitation.ended_at.unwrap_or(self.invitation.expires_at)
    }
}

/// Names the Flows and Groups of invitations. A reader who may not see applicants gets no user.
async fn rows(app: &App, member: &Member, invitations: Vec<Invitation>) -> Result<Vec<Row>, Problem> {
    let scope = member.scope()?;
    let groups = groups::list(app, scope).await?;
    let flows = flows::list(app, scope).await?;
    let row = |mut invitation: Invitation| {
        if !member.may(Action::ViewApplicant) {
            invitation.link.user_id = MASK.to_owned();
        }
        let flow = flows.iter().find(|flow| flow.id == invitation.link.flow_id);
        let group = groups.iter().find(|group| group.id == invitation.link.group_id);
        Row {
            flow: flow.map(|flow| flow.name.clone()).unwrap_or_default(),
            group: group.map(|group| group.name.clone()).unwrap_or_default(),
            invitation,
        }
    };
    Ok(invitations.into_iter().map(row).collect())
}

#[derive(Template)]
#[template(path = "portal/invitations.html")]
struct ListPage {
    page: Page,
    rows: Vec<Row>,
    filters: Filters,
    statuses: [InvitationStatus; 6],
    /// Why an invitation was not revoked.
    fault: Option<String>,
    older: Option<String>,
    newest: Option<String>,
}

fn no_such_value(field: &str) -> Problem {
    Problem::invalid(format!("{field} - this filter has no such value"))
}

async fn render(
    app: &App,
    page: Page,
    member: &Member,
    raw: Option<&str>,
    fault: Option<String>,
) -> Result<Response, Problem> {
    let filters = Filters::read(raw, &["status"])?;
    let status = filters.get("status").map(str::parse::<InvitationStatus>);
    let status = status.transpose().map_err(|_| no_such_value("status"))?;
    let position = Filters::read(raw, &["before"])?;
    let before = position.get("before").map(Uuid::parse_str).transpose();
    let before = before.map_err(|_| no_such_value("before"))?;
    let filter = InvitationFilter {
        status,
        user_id: None,
        before,
    };
    let found = applicant_invitations::page(app, member.scope()?, &filter, PAGE).await?;
    let next = found.next.map(|next| next.to_string());
    html(ListPage {
        rows: rows(app, member, found.invitations).await?,
        statuses: STATUSES,
        fault,
        older: next.map(|next| filters.address(HERE, &[("before", &next)])),
        newest: before.map(|_| filters.address(HERE, &[])),
        filters,
        page,
    })
}

/// `GET /portal/invitations`
async fn list(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    Ok(render(&app, page, &member, raw.as_deref(), None).await?)
}

#[derive(Template)]
#[template(path = "portal/invitation-revoke.html")]
struct RevokePage {
    page: Page,
    row: Row,
}

/// `GET /portal/invitations/{id}/revoke`. For an invitation that is not open, the reader goes back to the list.
async fn ask_revoke(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let (invitation, _) = applicant_invitations::get(&app, member.scope()?, &id).await?;
    let row = rows(&app, &member, vec![invitation]).await?.pop();
    match row.filter(Row::is_open) {
        Some(row) => Ok(html(RevokePage { page, row })?),
        None => Ok(Redirect::to(HERE).into_response()),
    }
}

/// `POST /portal/invitations/{id}/revoke`. An account that may not create links yet may still revoke.
async fn revoke(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    let Err(problem) = applicant_invitations::revoke(&app, &caller, &id).await else {
        return Ok(done(HERE, "applicant_invitation_revoked"));
    };
    if !matches!(problem.kind(), Kind::NotFound | Kind::Conflict) {
        return Err(problem.into());
    }
    let key = format!("invitations.refused.{}", problem.word(Family::LinkAndPoll));
    let fault = page.text_or(&key, &page.refusal(&problem));
    let mut response = render(&app, page, &member, None, Some(fault)).await?;
    *response.status_mut() = problem.status(Family::System);
    Ok(response)
}
