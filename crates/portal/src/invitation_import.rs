//! Creates invitations from a CSV file that a member uploads, and returns the links and statuses of such a file. The file
//! itself is not stored. [`service::invitation_file`] reads it.

use askama::Template;
use axum::extract::{Multipart, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::applicant_invitations::{self, InvitationOrder, MOST_OF_A_FILE};
use service::invitation_file::{self, FaultReason, FileFault};
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared, groups};
use store::groups::Group;
use uuid::Uuid;

use super::applicant_invitations::{of_file, shown_user};
use super::csv;
use super::page::{Page, done, html};
use super::routes::Routes;
use super::session::Member;

/// The address of the form.
const HERE: &str = "/portal/invitations/import";
/// The most faults that are listed.
const SHOWN: usize = 50;
/// The columns of the file of links.
const LINK_COLUMNS: [&str; 3] = ["userId", "url", "expiresAt"];
/// The columns of the file of statuses.
const STATUS_COLUMNS: [&str; 8] = [
    "userId",
    "status",
    "attempts",
    "maxAttempts",
    "createdAt",
    "expiresAt",
    "email",
    "reminders",
];

/// Adds this area's routes.
pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get(HERE, Action::MakeLinks, form)
        .post(HERE, Action::MakeLinks, create)
        .post(
            "/portal/invitations/links",
            Action::ReadInvitationLinks,
            download_links,
        )
        .post(
            "/portal/invitations/statuses",
            Action::MakeLinks,
            download_statuses,
        )
}

/// The uploaded form.
#[derive(Default)]
struct Upload {
    /// Group and Flow as `GROUP.FLOW`.
    place: String,
    content: Vec<u8>,
}

impl Upload {
    async fn read(mut parts: Multipart) -> Result<Upload, Problem> {
        let unreadable = |_| Problem::invalid("The form could not be read. Reload the page and try again");
        let mut upload = Upload::default();
        while let Some(part) = parts.next_field().await.map_err(unreadable)? {
            match part.name() {
                Some("place") => upload.place = part.text().await.map_err(unreadable)?,
                Some("file") => upload.content = part.bytes().await.map_err(unreadable)?.to_vec(),
                _ => {}
            }
        }
        Ok(upload)
    }
}

#[derive(Template)]
#[template(path = "portal/invitation-import.html")]
struct ImportPage {
    page: Page,
    groups: Vec<Group>,
    /// The chosen Group and Flow.
    place: String,
    /// Why the choice was refused; empty if it was not.
    wrong_place: String,
    /// The faults of the file, at most [`SHOWN`].
    faults: Vec<String>,
    /// How many further faults there are.
    more: usize,
    most: i64,
    /// Whether this server sends letters to applicants.
    sends_letters: bool,
}

impl ImportPage {
    fn new(app: &App, page: Page, groups: Vec<Group>, place: String) -> ImportPage {
        ImportPage {
            page,
            groups,
            place,
            wrong_place: String::new(),
            faults: Vec::new(),
            more: 0,
            most: MOST_OF_A_FILE,
            sends_letters: applicant_invitations::sends_letters(app),
        }
    }

    fn refuse_place(mut self) -> Result<Response, Problem> {
        self.wrong_place = self.page.t("links.fault.place");
        self.render()
    }

    fn refuse_file(mut self, faults: &[FileFault]) -> Result<Response, Problem> {
        let shown = faults.iter().take(SHOWN);
        self.faults = shown.map(|fault| fault_text(&self.page, fault)).collect();
        self.more = faults.len() - self.faults.len();
        self.render()
    }

    fn render(self) -> Result<Response, Problem> {
        let is_refused = !self.wrong_place.is_empty() || !self.faults.is_empty();
        let shown = html(self)?;
        Ok(match is_refused {
            true => (StatusCode::BAD_REQUEST, shown).into_response(),
            false => shown,
        })
    }
}

/// A fault with its line and column.
fn fault_text(page: &Page, fault: &FileFault) -> String {
    let reason = match &fault.reason {
        FaultReason::Rule(reason) => format!("{reason}."),
        reason => {
            let number = reason.number().map(|number| number.to_string());
            let key = format!("invitations.import.fault.{}", reason.as_str());
            page.tf(&key, &[("n", number.as_deref().unwrap_or_default())])
        }
    };
    let Some(line) = fault.line.map(|line| line.to_string()) else {
        return reason;
    };
    let values = [("line", line.as_str()), ("reason", reason.as_str())];
    match fault.column {
        Some(column) => {
            let values = [values[0], values[1], ("column", column.as_str())];
            page.tf("invitations.import.fault.cell", &values)
        }
        None => page.tf("invitations.import.fault.line", &values),
    }
}

/// The ids of the chosen Group and of its Flow.
fn chosen(groups: &[Group], place: &str) -> Option<(String, String)> {
    let (group_id, flow_id) = place.split_once('.')?;
    let group = groups.iter().find(|group| group.id.to_string() == group_id)?;
    let flow = group.flows.iter().find(|flow| flow.id.to_string() == flow_id)?;
    Some((group.id.to_string(), flow.id.to_string()))
}

/// `GET /portal/invitations/import`
async fn form(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let groups = groups::list(&app, member.scope()?).await?;
    Ok(ImportPage::new(&app, page, groups, String::new()).render()?)
}

/// `POST /portal/invitations/import`. All rows become invitations, or none.
async fn create(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    parts: Multipart,
) -> Result<Response, Rejection> {
    let upload = Upload::read(parts).await?;
    let caller = member.caller()?;
    service::caller::check_account_may_call(
        caller.merchant.status,
        caller.scope.sandbox,
        Family::LinkAndPoll,
    )?;
    let groups = groups::list(&app, caller.scope).await?;
    let chosen = chosen(&groups, &upload.place);
    let shown = ImportPage::new(&app, page, groups, upload.place);
    let Some((group_id, flow_id)) = chosen else {
        return Ok(shown.refuse_place()?);
    };
    let rows = match invitation_file::read(&upload.content, &group_id, &flow_id) {
        Ok(rows) => rows,
        Err(faults) => return Ok(shown.refuse_file(&faults)?),
    };
    let orders: Vec<InvitationOrder> = rows.iter().map(|row| row.order.clone()).collect();
    match applicant_invitations::create_all(&app, &caller, &orders).await {
        Ok(import_id) => {
            let list = format!("/portal/invitations?import={import_id}");
            Ok(done(&list, "applicant_invitations_imported"))
        }
        Err((position, problem)) => {
            let is_answer = matches!(problem.kind(), Kind::Invalid | Kind::NotFound);
            let Some(row) = rows.get(position).filter(|_| is_answer) else {
                return Err(problem.into());
            };
            let faults = invitation_file::faults_of(row.line, &problem);
            Ok(shown.refuse_file(&faults)?)
        }
    }
}

/// The form of a download.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FileForm {
    /// The id of the imported file.
    import: String,
}

impl FileForm {
    fn id(&self) -> Result<Uuid, Problem> {
        Uuid::parse_str(&self.import).map_err(|_| unknown_file())
    }
}

fn unknown_file() -> Problem {
    Problem::not_found("This import was not found")
}

/// `POST /portal/invitations/links`: a further link for each open invitation of a file.
async fn download_links(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<FileForm>,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    service::caller::check_account_may_call(
        caller.merchant.status,
        caller.scope.sandbox,
        Family::LinkAndPoll,
    )?;
    let links = applicant_invitations::new_links_of(&app, &caller, form.id()?).await?;
    let mut rows = vec![LINK_COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(
        links
            .into_iter()
            .map(|(invitation, url)| vec![invitation.link.user_id, url, page.iso(invitation.expires_at)]),
    );
    Ok(csv::file("invitation-links", &rows)?)
}

/// `POST /portal/invitations/statuses`: what became of the invitations of a file.
async fn download_statuses(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<FileForm>,
) -> Result<Response, Rejection> {
    let invitations = of_file(&app, member.scope()?, form.id()?).await?;
    if invitations.is_empty() {
        return Err(unknown_file().into());
    }
    let mut rows = vec![STATUS_COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(invitations.into_iter().map(|invitation| {
        let mail = invitation.mail.map(|(state, _)| state.as_str());
        vec![
            shown_user(&member, invitation.link.user_id),
            invitation.status.as_str().to_owned(),
            invitation.attempts.to_string(),
            invitation.max_attempts.to_string(),
            page.iso(invitation.created_at),
            page.iso(invitation.expires_at),
            mail.unwrap_or_default().to_owned(),
            invitation.reminders.to_string(),
        ]
    }));
    Ok(csv::file("invitation-statuses", &rows)?)
}
