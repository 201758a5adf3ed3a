//! Hosted links and invitations made by hand: the form, the new link with its QR code, and the latest sessions.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use qrcode::{EcLevel, QrCode, render::svg};
use reference::languages::{Language, languages};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::api_log::MASK;
use service::permissions::Action;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared, applicant_invitations, flows, groups, sessions};
use store::groups::Group;
use store::sessions::{Session, SessionStatus};
use verification::dates;
use verification::invitation::LANGUAGE;

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

/// A new link or invitation for a Flow, which is shown once.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkMade {
    /// The link.
    pub url: String,
    /// The Flow's name.
    pub flow: String,
    /// Until when an invitation works (ms); `None` for a link.
    pub works_until: Option<i64>,
    /// Whether the link is a sandbox trial, whichever mode the reader has chosen.
    pub tries: bool,
    /// Whether the server also mails a link to the applicant.
    pub is_mailed: bool,
    /// Whether the invitation had links before.
    pub is_further: bool,
}

#[derive(Template)]
#[template(path = "portal/link-made.html")]
struct MadePage {
    page: Page,
    qr: String,
    link: LinkMade,
}

impl MadePage {
    fn heading(&self) -> String {
        let key = match self.link.works_until {
            _ if self.link.is_further => "links.made.further",
            Some(_) => "links.made.invitation",
            None => "links.made",
        };
        self.page.t(key)
    }
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
    faults: LinkFaults,
    /// Whether this server sends letters to applicants.
    sends_letters: bool,
    /// By their English names.
    languages: Vec<&'static Language>,
}

impl LinksPage {
    /// Whether the form has the fields of the letter. A refused address is shown in any case.
    fn has_letter(&self) -> bool {
        self.sends_letters || !self.faults.email.is_empty()
    }
}

/// The form's fields: the user, the Flow, the letter and the expected person, and which button was pressed.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LinkForm {
    user_id: String,
    /// Group and Flow as `GROUP.FLOW`, because a Flow is chosen in a Group.
    place: String,
    /// The address for letters about an invitation.
    email: String,
    /// The language of letters.
    language: String,
    first_name: String,
    last_name: String,
    /// Date of birth, `YYYY-MM-DD`.
    dob: String,
    /// `invitation`, or anything else for a link.
    kind: String,
}

impl LinkForm {
    /// Whom the merchant expects, as the API takes it; `None` if all fields are empty.
    fn expected(&self) -> Option<Value> {
        let dob = self.dob.trim();
        let dob = dates::parse_iso(dob).map_or_else(|| dob.to_owned(), dates::format_us);
        let fields = [
            ("firstName", self.first_name.trim()),
            ("lastName", self.last_name.trim()),
            ("dob", dob.as_str()),
        ];
        let filled = fields.into_iter().filter(|(_, text)| !text.is_empty());
        let members: Map<String, Value> = filled
            .map(|(name, text)| (name.to_owned(), text.into()))
            .collect();
        (!members.is_empty()).then_some(members.into())
    }

    fn is_invitation(&self) -> bool {
        self.kind == "invitation"
    }

    fn has_email(&self) -> bool {
        !self.email.trim().is_empty()
    }

    /// The chosen language of letters.
    fn language(&self) -> &str {
        match self.language.as_str() {
            "" => LANGUAGE,
            language => language,
        }
    }

    /// The body of the API's request.
    fn body(&self) -> Map<String, Value> {
        let (group_id, flow_id) = self.place.split_once('.').unwrap_or_default();
        let body = json!({"userId": self.user_id.trim(), "groupId": group_id, "flowId": flow_id});
        let mut body = body.as_object().cloned().unwrap_or_default();
        body.extend(self.expected().map(|expected| ("expected".to_owned(), expected)));
        if self.is_invitation() && self.has_email() {
            body.insert("email".to_owned(), self.email.trim().into());
            body.insert("language".to_owned(), self.language().into());
        }
        body
    }
}

/// The errors beside the form's fields. Empty: none.
#[derive(Debug, Default, PartialEq, Eq)]
struct LinkFaults {
    user: String,
    place: String,
    email: String,
    language: String,
    first_name: String,
    last_name: String,
    dob: String,
}

impl LinkFaults {
    fn of(page: &Page, problem: &Problem) -> Self {
        let mut faults = LinkFaults::default();
        for error in problem.errors() {
            let (field, reason) = error.split_once(" - ").unwrap_or((error, ""));
            let named = || {
                let label = page.word("links.expected", field.trim_start_matches("expected."));
                page.tf("links.fault.expected", &[("field", &label), ("reason", reason)])
            };
            match field {
                "userId" if reason == "cannot be empty" => faults.user = page.t("links.fault.empty"),
                "userId" => faults.user = page.t1("links.fault.user", "reason", reason),
                "email" if reason == "must be an email address" => faults.email = page.t("links.fault.email"),
                "email" => faults.email = page.t1("links.fault.email.refused", "reason", reason),
                "language" => faults.language = page.t("links.fault.language"),
                "expected.firstName" => faults.first_name = named(),
                "expected.lastName" => faults.last_name = named(),
                // The field is a date, so its format is the browser's.
                "expected.dob" => faults.dob = page.t("links.fault.dob"),
                "expected" => faults.place = page.t("links.fault.no_document"),
                _ => faults.place = page.t("links.fault.place"),
            }
        }
        if faults == LinkFaults::default() {
            faults.place = page.t("links.fault.place");
        }
        faults
    }

    fn is_empty(&self) -> bool {
        *self == LinkFaults::default()
    }
}

async fn page(
    app: &Shared,
    member: &Member,
    page: Page,
    asked: LinkForm,
    faults: LinkFaults,
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
    let is_refused = !faults.is_empty();
    let mut languages: Vec<_> = languages().iter().collect();
    languages.sort_unstable_by_key(|language| language.english_name);
    let shown = html(LinksPage {
        page,
        groups,
        rows,
        asked,
        faults,
        sends_letters: applicant_invitations::sends_letters(app),
        languages,
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
    if asked.has_email() && !asked.is_invitation() {
        let faults = LinkFaults {
            email: frame.t("links.fault.email.link"),
            ..LinkFaults::default()
        };
        return Ok(page(&app, &member, frame, asked, faults).await?);
    }
    let body = asked.body();
    let made = if asked.is_invitation() {
        let made = applicant_invitations::create(&app, &caller, &body).await;
        made.map(|(invitation, url)| (url, Some(invitation.expires_at)))
    } else {
        sessions::link(&app, &caller, &body)
            .await
            .map(|(_, url)| (url, None))
    };
    match made {
        Ok((url, works_until)) => {
            let (_, flow_id) = asked.place.split_once('.').unwrap_or_default();
            let flow = flows::get(&app, caller.scope, flow_id).await?;
            let link = LinkMade {
                url,
                flow: flow.name,
                works_until,
                is_mailed: works_until.is_some() && asked.has_email(),
                ..LinkMade::default()
            };
            Ok(link.show(&app, &member).await?)
        }
        Err(problem) if matches!(problem.kind(), Kind::Invalid | Kind::NotFound) => {
            let faults = LinkFaults::of(&frame, &problem);
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
