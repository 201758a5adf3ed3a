//! A merchant's staff: the members, their roles, and pending invitations.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use http_server::path::PathText;
use portal_accounts::email_of;
use portal_accounts::joining::{self, NewLink};
use portal_accounts::staff::{self, Manager, may_manage};
use serde::{Deserialize, Serialize};
use service::mail::Letter;
use service::permissions::Role;
use service::problem::{Family, Kind, Problem};
use service::{App, Shared};
use store::invitations::Invitation;
use store::staff::Membership;
use uuid::Uuid;

use super::forms::{Faults, render_rejected};
use crate::page::{Page, done, html};
use crate::routes::with_next;
use crate::session::Member;
use crate::show_once;

const HERE: &str = "/portal/staff";

/// A new one-time link, which the page shows once.
#[derive(Serialize, Deserialize)]
struct NewStaffLink {
    url: String,
    /// Whether the mail server accepted a letter with the link.
    mailed: bool,
    /// Whether the link is an invitation; otherwise it sets a password.
    invites: bool,
}

#[derive(Template)]
#[template(path = "portal/accounts/staff.html")]
struct StaffPage {
    page: Page,
    manager: Manager,
    members: Vec<Membership>,
    invitations: Vec<Invitation>,
    faults: Faults,
    email: String,
    role: String,
    made: Option<NewStaffLink>,
    can_mail: bool,
    /// The member whose change was refused, and why.
    refused: Option<(Uuid, String)>,
}

impl StaffPage {
    async fn of(app: &App, page: Page, member: &Member) -> Result<Self, Rejection> {
        let manager = manager(member)?;
        let (members, invitations) = staff::list(app, manager.merchant_id).await?;
        Ok(StaffPage {
            page,
            manager,
            members,
            invitations,
            faults: Faults::default(),
            email: String::new(),
            role: Role::Reviewer.as_str().into(),
            made: None,
            can_mail: app.mailer.is_some(),
            refused: None,
        })
    }

    /// The roles that the reader may assign.
    fn roles(&self) -> impl Iterator<Item = &'static str> {
        let mine = self.manager.role;
        Role::ALL
            .into_iter()
            .filter(move |role| may_manage(mine, *role))
            .map(Role::as_str)
    }

    fn is_mine_to_change(&self, role: &str) -> bool {
        role.parse().is_ok_and(|role| may_manage(self.manager.role, role))
    }

    fn has_role_to_change(&self, member: &Membership) -> bool {
        self.is_mine_to_change(&member.role) && self.manager.may_change_role_of(member.member.id)
    }

    fn is_same(&self, role: &str, other: &str) -> bool {
        role == other
    }

    /// Why a change of this member was refused; empty if it was not.
    fn refusal(&self, member: &Membership) -> &str {
        match &self.refused {
            Some((id, text)) if *id == member.member.id => text,
            _ => "",
        }
    }

    fn is_me(&self, member: &Membership) -> bool {
        member.member.id == self.manager.staff_id
    }
}

pub(super) fn manager(member: &Member) -> Result<Manager, Problem> {
    let role = member
        .role
        .ok_or_else(|| Problem::not_found("No account is chosen"))?;
    Ok(Manager {
        staff_id: member.staff_id,
        role,
        merchant_id: member.merchant()?.id,
    })
}

fn id_of(text: &str) -> Result<Uuid, Problem> {
    text.parse()
        .map_err(|_| Problem::not_found("There is no such member"))
}

/// `GET /portal/staff`
pub(super) async fn page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    let made = show_once::take(&app, &member, HERE).await?;
    Ok(html(StaffPage {
        made,
        ..StaffPage::of(&app, page, &member).await?
    })?)
}

/// Redirects to the page that shows a new link once.
async fn show(app: &App, member: &Member, made: NewStaffLink) -> Result<Response, Problem> {
    show_once::set(app, member, HERE, &made).await?;
    Ok(Redirect::to(HERE).into_response())
}

/// Responds to a change: a redirect, or the page with the refusal next to the member concerned.
async fn changed(
    app: &App,
    page: Page,
    member: &Member,
    id: Uuid,
    outcome: Result<(), Problem>,
    done_key: &str,
) -> Result<Response, Rejection> {
    let problem = match outcome {
        Ok(()) => return Ok(done(HERE, done_key)),
        Err(problem) => problem,
    };
    if !matches!(problem.kind(), Kind::Conflict | Kind::Forbidden | Kind::Invalid) {
        return Err(problem.into());
    }
    let shown = html(StaffPage {
        refused: Some((id, problem.message().to_owned())),
        ..StaffPage::of(app, page, member).await?
    })?;
    Ok((problem.status(Family::System), shown).into_response())
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InviteForm {
    email: String,
    role: String,
    mail: Option<String>,
}

/// `POST /portal/staff/invite`: the next page shows the link once.
pub(super) async fn invite(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<InviteForm>,
) -> Result<Response, Rejection> {
    let manager = manager(&member)?;
    let role = form
        .role
        .parse::<Role>()
        .ok()
        .filter(|role| may_manage(manager.role, *role));
    let mut faults = Vec::new();
    let email = match form.email.trim() {
        "" if form.mail.is_none() => None,
        email => email_of(email).map_err(|fault| faults.push(fault)).ok(),
    };
    let Some(role) = role else {
        faults.push(portal_accounts::Fault::new("role", "accounts.fault.role"));
        return render_refusal(&app, page, &member, form, faults).await;
    };
    if !faults.is_empty() {
        return render_refusal(&app, page, &member, form, faults).await;
    }
    if let Some(asked) = asked_for_proof(&member, role) {
        return Ok(asked);
    }
    let link = joining::invite(
        &app.db,
        manager.merchant_id,
        role,
        email.as_deref(),
        Some(manager.staff_id),
    )
    .await?;
    let url = url(&app, &link);
    let mut mailed = false;
    if let (Some(mailer), Some(to), true) = (&app.mailer, email, form.mail.is_some()) {
        let account = member.merchant()?.name.clone();
        let letter = Letter {
            to,
            subject: page.tf("accounts.mail.invite.subject", &[("account", &account)]),
            text: page.tf(
                "accounts.mail.invite.text",
                &[("account", &account), ("name", &member.name), ("link", &url)],
            ),
        };
        mailed = mailer.send(letter).await;
    }
    let made = NewStaffLink {
        url,
        mailed,
        invites: true,
    };
    Ok(show(&app, &member, made).await?)
}

/// An owner can do everything, so making one needs recent proof of identity. Without it, returns a redirect
/// to the page that requests the proof.
fn asked_for_proof(member: &Member, role: Role) -> Option<Response> {
    (role == Role::Owner && !member.is_proven())
        .then(|| Redirect::to(&with_next("/portal/prove", HERE)).into_response())
}

async fn render_refusal(
    app: &App,
    page: Page,
    member: &Member,
    form: InviteForm,
    faults: Vec<portal_accounts::Fault>,
) -> Result<Response, Rejection> {
    Ok(render_rejected(StaffPage {
        faults: Faults(faults),
        email: form.email,
        role: form.role,
        ..StaffPage::of(app, page, member).await?
    })?)
}

fn url(app: &App, link: &NewLink) -> String {
    format!("{}{}", app.public_url, link.path)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RoleForm {
    role: String,
}

/// `POST /portal/staff/{id}/role`
pub(super) async fn set_role(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    Form(form): Form<RoleForm>,
) -> Result<Response, Rejection> {
    let id = id_of(&id)?;
    let role = form.role.parse();
    if let Some(asked) = role.ok().and_then(|role| asked_for_proof(&member, role)) {
        return Ok(asked);
    }
    let outcome = match role {
        Ok(role) => staff::set_role(&app, manager(&member)?, id, role).await,
        Err(()) => Err(Problem::invalid("There is no such role")),
    };
    changed(&app, page, &member, id, outcome, "saved").await
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AccessForm {
    access: String,
}

/// `POST /portal/staff/{id}/access`
pub(super) async fn set_access(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
    Form(form): Form<AccessForm>,
) -> Result<Response, Rejection> {
    let id = id_of(&id)?;
    let (shut_out, key) = match form.access.as_str() {
        "off" => (true, "staff_disabled"),
        "on" => (false, "staff_enabled"),
        _ => return Err(Problem::invalid("access - must be on or off").into()),
    };
    let outcome = staff::set_access(&app, manager(&member)?, id, shut_out).await;
    changed(&app, page, &member, id, outcome, key).await
}

/// `POST /portal/staff/{id}/password`: the next page shows the link once.
pub(super) async fn password_link(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let id = id_of(&id)?;
    match staff::password_link_for(&app, manager(&member)?, id).await {
        Ok(link) => {
            let made = NewStaffLink {
                url: url(&app, &link),
                mailed: false,
                invites: false,
            };
            Ok(show(&app, &member, made).await?)
        }
        Err(problem) => changed(&app, page, &member, id, Err(problem), "").await,
    }
}

/// `POST /portal/staff/invitations/{id}/revoke`
pub(super) async fn revoke(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    staff::revoke(&app, manager(&member)?, id_of(&id)?).await?;
    Ok(done(HERE, "invitation_revoked"))
}
