//! Invitations of applicants: the list, reminders, and the page that revokes one. The *Links* page creates them, and
//! [`invitation_import`](super::invitation_import) creates those of a file. This module decides about no attempt.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Redirect, Response};
use http_server::error::Rejection;
use http_server::path::PathText;
use service::api_log::MASK;
use service::applicant_invitations::MOST_OF_A_FILE;
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared, applicant_invitations, applicant_letters, flows, groups};
use store::Scope;
use store::applicant_invitations::{Invitation, InvitationFilter, InvitationSelection, InvitationStatus};
use store::applicant_letters::LetterState;
use uuid::Uuid;

use super::filters::Filters;
use super::links::LinkMade;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// The address of the list.
const HERE: &str = "/portal/invitations";
/// The filters of the list.
const FILTERS: [&str; 2] = ["status", "import"];
/// Invitations on one page.
const PAGE: u16 = 50;
/// The value of the filter *status* for invitations whose reminder is due.
const DUE: &str = "due";
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
        .post("/portal/invitations/{id}/remind", Action::MakeLinks, remind)
        .get("/portal/invitations/{id}/revoke", Action::MakeLinks, ask_revoke)
        .post("/portal/invitations/{id}/revoke", Action::MakeLinks, revoke)
}

/// An invitation in the list.
struct Row {
    invitation: Invitation,
    flow: String,
    group: String,
}

/// The newest letter about an invitation.
struct Mail {
    state: &'static str,
    /// When it was sent (ms).
    sent_at: Option<i64>,
}

impl Row {
    fn mail(&self) -> Option<Mail> {
        let (state, at) = self.invitation.mail?;
        Some(Mail {
            state: state.as_str(),
            sent_at: (state == LetterState::Sent).then_some(at),
        })
    }

    fn is_open(&self) -> bool {
        self.invitation.status == InvitationStatus::Open
    }

    /// Whether it can be revoked: also if it has expired and the applicant could request a new link.
    fn may_revoke(&self) -> bool {
        let is_renewable =
            self.invitation.status == InvitationStatus::Expired && self.invitation.recipient.is_some();
        self.is_open() || is_renewable
    }

    /// The address of an action on it, which returns to the list with the same filters.
    fn action(&self, action: &str, filters: &Filters) -> String {
        filters.address(&format!("{HERE}/{}/{action}", self.invitation.id), &[])
    }

    /// When it ended, or until when it works (ms).
    fn ends_at(&self) -> i64 {
        self.invitation.ended_at.unwrap_or(self.invitation.expires_at)
    }
}

/// The user of an invitation, or a mask for a reader who may not see applicants.
pub(super) fn shown_user(member: &Member, user_id: String) -> String {
    match member.may(Action::ViewApplicant) {
        true => user_id,
        false => MASK.to_owned(),
    }
}

/// The invitations of a file, the earliest first. One that was replaced is left out for the one that replaced it.
pub(super) async fn of_file(app: &App, scope: Scope, import_id: Uuid) -> Result<Vec<Invitation>, Problem> {
    let filter = InvitationFilter {
        only: InvitationSelection::Import(import_id),
        ..InvitationFilter::default()
    };
    let most = u16::try_from(MOST_OF_A_FILE).unwrap_or(u16::MAX);
    let found = applicant_invitations::page(app, scope, &filter, most).await?;
    let mut invitations = found.invitations;
    invitations.reverse();
    Ok(invitations)
}

/// Names the Flows and Groups of invitations. A reader who may not see applicants gets no user.
async fn rows(app: &App, member: &Member, invitations: Vec<Invitation>) -> Result<Vec<Row>, Problem> {
    let scope = member.scope()?;
    let groups = groups::list(app, scope).await?;
    let flows = flows::list(app, scope).await?;
    let row = |mut invitation: Invitation| {
        invitation.link.user_id = shown_user(member, invitation.link.user_id);
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

/// The file whose invitations are listed.
struct ListedFile {
    id: Uuid,
    /// How many invitations have a status, for those statuses that occur.
    counts: Vec<(InvitationStatus, usize)>,
    /// Whether the reader gets the file of links.
    may_read_links: bool,
}

impl ListedFile {
    async fn read(app: &App, member: &Member, id: Uuid) -> Result<ListedFile, Problem> {
        let invitations = of_file(app, member.scope()?, id).await?;
        let with = |status: InvitationStatus| invitations.iter().filter(|one| one.status == status).count();
        let counts = STATUSES.map(|status| (status, with(status)));
        Ok(ListedFile {
            id,
            counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
            may_read_links: member.may(Action::ReadInvitationLinks),
        })
    }

    fn has_open(&self) -> bool {
        let mut statuses = self.counts.iter().map(|(status, _)| *status);
        statuses.any(|status| status == InvitationStatus::Open)
    }
}

#[derive(Template)]
#[template(path = "portal/invitations.html")]
struct ListPage {
    page: Page,
    rows: Vec<Row>,
    filters: Filters,
    statuses: [InvitationStatus; 6],
    file: Option<ListedFile>,
    /// Why an invitation was not revoked, or its applicant not reminded.
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
    let filters = Filters::read(raw, &FILTERS)?;
    let file = filters.get("import").map(Uuid::parse_str).transpose();
    let file = file.map_err(|_| no_such_value("import"))?;
    let only = match (file, filters.get("status")) {
        (Some(file), _) => InvitationSelection::Import(file),
        (None, Some(DUE)) => InvitationSelection::Due,
        (None, Some(status)) => {
            InvitationSelection::Status(status.parse().map_err(|_| no_such_value("status"))?)
        }
        (None, None) => InvitationSelection::All,
    };
    let position = Filters::read(raw, &["before"])?;
    let before = position.get("before").map(Uuid::parse_str).transpose();
    let before = before.map_err(|_| no_such_value("before"))?;
    let filter = InvitationFilter {
        only,
        user_id: None,
        before,
    };
    let scope = member.scope()?;
    let found = applicant_invitations::page(app, scope, &filter, PAGE).await?;
    let file = match file {
        Some(id) if !found.invitations.is_empty() => Some(ListedFile::read(app, member, id).await?),
        _ => None,
    };
    let next = found.next.map(|next| next.to_string());
    html(ListPage {
        rows: rows(app, member, found.invitations).await?,
        statuses: STATUSES,
        file,
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

/// The list with the reason why an invitation was left as it is.
async fn refuse(
    app: &App,
    page: Page,
    member: &Member,
    raw: Option<&str>,
    problem: Problem,
) -> Result<Response, Rejection> {
    let is_answer = matches!(
        problem.kind(),
        Kind::Forbidden | Kind::NotFound | Kind::Conflict | Kind::RateLimited
    );
    if !is_answer {
        return Err(problem.into());
    }
    let key = format!("invitations.refused.{}", problem.word(Family::LinkAndPoll));
    let fault = page.text_or(&key, &page.refusal(&problem));
    let mut response = render(app, page, member, raw, Some(fault)).await?;
    *response.status_mut() = problem.status(Family::System);
    Ok(response)
}

/// The list with the filters of an action's address.
fn back(raw: Option<&str>) -> Result<String, Problem> {
    Ok(Filters::read(raw, &FILTERS)?.address(HERE, &[]))
}

/// `POST /portal/invitations/{id}/remind`. If the server sends no letter, or the last one was not delivered, the reader
/// gets a further link to send.
async fn remind(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let (caller, raw) = (member.caller()?, raw.as_deref());
    service::caller::check_account_may_call(
        caller.merchant.status,
        caller.scope.sandbox,
        Family::LinkAndPoll,
    )?;
    let invitation = match applicant_invitations::get(&app, caller.scope, &id).await {
        Ok((invitation, _)) => invitation,
        Err(problem) => return refuse(&app, page, &member, raw, problem).await,
    };
    let has_failed = matches!(invitation.mail, Some((LetterState::Failed, _)));
    let is_mailed =
        invitation.recipient.is_some() && !has_failed && applicant_invitations::sends_letters(&app);
    // The link would open another person's invitation.
    if !is_mailed && !member.may(Action::ReadInvitationLinks) {
        let text = page.t("invitations.refused.not_seen");
        let problem = Problem::new(Kind::Forbidden, text).named("not_seen");
        return refuse(&app, page, &member, raw, problem).await;
    }
    let (invitation, url) = match applicant_letters::remind(&app, &caller, &id).await {
        Ok(reminded) => reminded,
        Err(problem) => return refuse(&app, page, &member, raw, problem).await,
    };
    if is_mailed {
        return Ok(done(&back(raw)?, "applicant_invitation_reminded"));
    }
    let works_until = Some(invitation.expires_at);
    let row = rows(&app, &member, vec![invitation]).await?.pop();
    let link = LinkMade {
        url,
        flow: row.map(|row| row.flow).unwrap_or_default(),
        works_until,
        is_further: true,
        ..LinkMade::default()
    };
    Ok(link.show(&app, &member).await?)
}

#[derive(Template)]
#[template(path = "portal/invitation-revoke.html")]
struct RevokePage {
    page: Page,
    row: Row,
    /// The list from which the reader came.
    back: String,
}

/// `GET /portal/invitations/{id}/revoke`. For an invitation that has ended, the reader goes back to the list.
async fn ask_revoke(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let (invitation, _) = applicant_invitations::get(&app, member.scope()?, &id).await?;
    let row = rows(&app, &member, vec![invitation]).await?.pop();
    let back = back(raw.as_deref())?;
    match row.filter(Row::may_revoke) {
        Some(row) => Ok(html(RevokePage { page, row, back })?),
        None => Ok(Redirect::to(&back).into_response()),
    }
}

/// `POST /portal/invitations/{id}/revoke`. An account that may not create links yet may still revoke.
async fn revoke(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    match applicant_invitations::revoke(&app, &caller, &id).await {
        Ok((invitation, _)) => {
            let word = match invitation.status {
                InvitationStatus::Expired => "applicant_invitation_not_renewed",
                _ => "applicant_invitation_revoked",
            };
            Ok(done(&back(raw.as_deref())?, word))
        }
        Err(problem) => refuse(&app, page, &member, raw.as_deref(), problem).await,
    }
}
