//! Hosted links made by hand: the form, the new link with its QR code, and the latest sessions.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use qrcode::{EcLevel, QrCode, render::svg};
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::api_log::MASK;
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared, flows, groups, sessions};
use store::groups::Group;
use store::sessions::{Session, SessionStatus};

use super::page::{Page, html};
use super::routes::Routes;
use super::session::Member;
use super::show_once;

/// The number of sessions shown.
const SHOWN: i64 = 50;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/links", Action::MakeLinks, list)
        .post("/portal/links", Action::MakeLinks, make)
        .get(NEW_LINK_PATH, Action::MakeLinks, new_link_page)
}

/// The page that shows a new link.
const NEW_LINK_PATH: &str = "/portal/links/made";

/// A new link for a Flow, which is shown once.
#[derive(Serialize, Deserialize)]
pub struct LinkMade {
    /// The link.
    pub url: String,
    /// The Flow's name.
    pub flow: String,
    /// Whether the link is a sandbox trial, whichever mode the reader has chosen.
    pub tries: bool,
}

#[derive(Template)]
#[template(path = "portal/link-made.html")]
struct MadePage {
    page: Page,
    qr: String,
    link: LinkMade,
}

impl LinkMade {
    /// Stores the link and redirects to the page that shows it.
    pub async fn show(self, app: &App, member: &Member) -> Result<Response, Problem> {
        show_once::set(app, member, NEW_LINK_PATH, &self).await?;
        Ok(Redirect::to(NEW_LINK_PATH).into_response())
    }
}

/// Shows the new link. If it was shown before, the reader goes back to the list.
async fn new_link_page(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let Some(link) = show_once::take::<LinkMade>(&app, &member, NEW_LINK_PATH).await? else {
        return Ok(Redirect::to("/portal/links").into_response());
    };
    let code = QrCode::with_error_correction_level(&link.url, EcLevel::M);
    let qr = code.map(|code| code.render::<svg::Color<'_>>().min_dimensions(240, 240).build());
    Ok(html(MadePage {
        page,
        qr: qr.unwrap_or_default(),
        link,
    })?)
}

struct Row {
    session: Session,
    flow: String,
    group: String,
}

#[derive(Template)]
#[template(path = "portal/links.html")]
struct LinksPage {
    page: Page,
    groups: Vec<Group>,
    rows: Vec<Row>,
    asked: LinkForm,
    user_fault: String,
    place_fault: String,
}

/// The form's fields: the user and the Flow.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LinkForm {
    #[serde(rename = "userId")]
    user_id: String,
    /// Group and Flow as `GROUP.FLOW`, because a Flow is chosen in a Group.
    place: String,
}

async fn page(
    app: &Shared,
    member: &Member,
    page: Page,
    asked: LinkForm,
    [user_fault, place_fault]: [String; 2],
) -> Result<Response, Problem> {
    let scope = member.scope()?;
    let groups = groups::list(app, scope).await?;
    let flows = flows::list(app, scope).await?;
    let recent = store::sessions::recent(&mut app.db.read().await?, scope, SHOWN).await?;
    let rows = recent
        .into_iter()
        .map(|mut session| {
            if !member.may(Action::ViewApplicant) {
                session.link.user_id = MASK.to_owned();
            }
            let flow = flows.iter().find(|flow| flow.id == session.link.flow_id);
            let group = groups.iter().find(|group| group.id == session.link.group_id);
            Row {
                flow: flow.map(|flow| flow.name.clone()).unwrap_or_default(),
                group: group.map(|group| group.name.clone()).unwrap_or_default(),
                session,
            }
        })
        .collect();
    let is_refused = !user_fault.is_empty() || !place_fault.is_empty();
    let shown = html(LinksPage {
        page,
        groups,
        rows,
        asked,
        user_fault,
        place_fault,
    })?;
    Ok(match is_refused {
        true => (axum::http::StatusCode::BAD_REQUEST, shown).into_response(),
        false => shown,
    })
}

async fn list(State(app): State<Shared>, member: Member, frame: Page) -> Result<Response, Rejection> {
    Ok(page(&app, &member, frame, LinkForm::default(), Default::default()).await?)
}

async fn make(
    State(app): State<Shared>,
    member: Member,
    frame: Page,
    Form(asked): Form<LinkForm>,
) -> Result<Response, Rejection> {
    let caller = member.caller()?;
    service::caller::check_account_may_call(
        caller.merchant.status,
        caller.scope.sandbox,
        Family::LinkAndPoll,
    )?;
    let (group_id, flow_id) = asked.place.split_once('.').unwrap_or_default();
    let body = json!({"userId": asked.user_id.trim(), "groupId": group_id, "flowId": flow_id});
    let body = body.as_object().cloned().unwrap_or_default();
    match sessions::link(&app, &caller, &body).await {
        Ok(url) => {
            let flow = flows::get(&app, caller.scope, flow_id).await?;
            let link = LinkMade {
                url,
                flow: flow.name,
                tries: false,
            };
            Ok(link.show(&app, &member).await?)
        }
        Err(problem) if matches!(problem.kind(), Kind::Invalid | Kind::NotFound) => {
            let about_user = problem
                .errors()
                .iter()
                .find_map(|error| error.strip_prefix("userId - "));
            let faults = match about_user {
                Some("cannot be empty") => [frame.t("links.fault.empty"), String::new()],
                Some(reason) => [frame.t1("links.fault.user", "reason", reason), String::new()],
                None => [String::new(), frame.t("links.fault.place")],
            };
            Ok(page(&app, &member, frame, asked, faults).await?)
        }
        Err(problem) => Err(problem.into()),
    }
}

impl Row {
    fn is_over(&self) -> bool {
        self.session.status != SessionStatus::Pending
    }
}
