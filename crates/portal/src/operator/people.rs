//! The operators, and sign-ups of strangers where the installation sends no mail.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http_server::error::Rejection;
use portal_accounts::joining;
use portal_accounts::sign_up::{self, PendingSignUp};
use service::installation_acts::{self, InstallationAct, Operators, PendingAct};
use service::problem::{Kind, Problem};
use service::{App, Shared, operations};
use store::staff::{self, StaffMember};
use uuid::Uuid;

use super::params::parse_id;
use crate::page::{Page, done, html};
use crate::session::Member;
use crate::show_once;

const OPERATORS: &str = "/portal/operator/operators";
const SIGN_UPS: &str = "/portal/operator/sign-ups";

/// An operator who does not count as a separate person yet.
struct UnconfirmedOperator {
    id: Uuid,
    name: String,
    /// The operator who let this one in; `None` if it was the command line.
    let_in_by: Option<String>,
    at: i64,
    may_confirm: bool,
}

/// The unconfirmed operators, as the reader `me` sees them.
fn doubts(
    waiting: Vec<PendingAct>,
    operators: &[StaffMember],
    confirming: &Operators,
    me: Uuid,
) -> Vec<UnconfirmedOperator> {
    let of = |id: Uuid| operators.iter().find(|operator| operator.id == id);
    let doubt = |one: PendingAct| {
        let InstallationAct::Operator { staff_id, let_in_by } = one.act else {
            return None;
        };
        Some(UnconfirmedOperator {
            id: one.id,
            // An operator whose access was removed needs no confirmation.
            name: of(staff_id)?.name.clone(),
            let_in_by: let_in_by.map(|by| of(by).map_or_else(|| by.to_string(), |by| by.name.clone())),
            at: one.at,
            may_confirm: confirming.obstacle(&one, me).is_none(),
        })
    };
    waiting.into_iter().filter_map(doubt).collect()
}

#[derive(Template)]
#[template(path = "portal/operator/operators.html")]
struct OperatorsPage {
    page: Page,
    me: Uuid,
    operators: Vec<StaffMember>,
    doubts: Vec<UnconfirmedOperator>,
    link: Option<String>,
}

pub(super) async fn operators(
    State(app): State<Shared>,
    page: Page,
    member: Member,
) -> Result<Response, Rejection> {
    let link = show_once::take(&app, &member, OPERATORS).await?;
    let mut conn = app.db.read().await?;
    let operators = staff::operators(&mut conn).await?;
    let waiting = installation_acts::pending_acts(&mut conn).await?;
    let confirming = Operators::of(&mut conn).await?;
    Ok(html(OperatorsPage {
        link,
        doubts: doubts(waiting, &operators, &confirming, member.staff_id),
        operators,
        me: member.staff_id,
        page,
    })?)
}

/// Redirects to a page that shows a new link once.
async fn show(app: &App, member: &Member, on: &str, path: &str) -> Result<Response, Problem> {
    show_once::set(app, member, on, &format!("{}{path}", app.public_url)).await?;
    Ok(Redirect::to(on).into_response())
}

pub(super) async fn invite(State(app): State<Shared>, member: Member) -> Result<Response, Rejection> {
    let made = joining::operator_link(&app.db, Some(member.staff_id)).await?;
    Ok(show(&app, &member, OPERATORS, &made.path).await?)
}

pub(super) async fn set_access(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Rejection> {
    let id = parse_id(&id)?;
    if id == member.staff_id {
        let text = "You cannot do this to yourself. Another operator must do it";
        return Err(Problem::new(Kind::Conflict, text).into());
    }
    operations::dismiss_operator(&app, member.staff_id, id).await?;
    Ok(done(OPERATORS, "saved"))
}

#[derive(Template)]
#[template(path = "portal/operator/sign-ups.html")]
struct SignUpsPage {
    page: Page,
    allowed: bool,
    can_mail: bool,
    waiting: Vec<PendingSignUp>,
    link: Option<String>,
}

pub(super) async fn sign_ups(
    State(app): State<Shared>,
    page: Page,
    member: Member,
) -> Result<Response, Rejection> {
    Ok(html(SignUpsPage {
        allowed: app.config.sign_up_allowed(),
        can_mail: app.mailer.is_some(),
        waiting: sign_up::pending_sign_ups(&app).await?,
        link: show_once::take(&app, &member, SIGN_UPS).await?,
        page,
    })?)
}

pub(super) async fn answer(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Rejection> {
    let path = sign_up::make_link(&app, member.staff_id, parse_id(&id)?).await?;
    Ok(show(&app, &member, SIGN_UPS, &path).await?)
}

pub(super) async fn dismiss(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<String>,
) -> Result<Response, Rejection> {
    sign_up::dismiss(&app, member.staff_id, parse_id(&id)?).await?;
    Ok(done(SIGN_UPS, "saved"))
}
