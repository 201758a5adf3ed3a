//! The pages on which members manage their own login: name, email, password, second factor, sessions. They
//! also choose the account and mode here.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use axum_extra::extract::cookie::CookieJar;
use http_server::error::Rejection;
use http_server::path::PathText;
use portal_accounts::codes::SetUp;
use portal_accounts::profile::{self, SessionRow};
use portal_accounts::{passkeys, signing_in, staff};
use secrecy::ExposeSecret;
use serde::Deserialize;
use service::mail::Letter;
use service::merchants::{ChangeOutcome, requires_second_factor};
use service::permissions::Action;
use service::problem::Problem;
use service::{App, Shared};
use store::merchants::Merchant;
use store::staff_passkeys::Passkey;
use uuid::Uuid;

use super::forms::{Faults, Hidden, ProofKind, Visitor, enter, render_rejected};
use super::letters::{browser_name, post, security_changed};
use super::staff::manager;
use crate::page::{Page, done, html};
use crate::proposal::redirect_after_proposal;
use crate::routes::{SECOND_FACTOR, safe_next};
use crate::session::{self, Member, same_site_referrer};
use crate::show_once;

pub(super) const HERE: &str = "/portal/account";
pub(super) const RECOVERY: &str = "/portal/account/recovery";

#[derive(Template)]
#[template(path = "portal/accounts/account.html")]
struct AccountPage {
    page: Page,
    faults: Faults,
    name: String,
    member: Member,
    accounts: Vec<(Merchant, String)>,
    sessions: Vec<SessionRow>,
    recovery_left: usize,
    passkeys: Vec<Passkey>,
    /// Those of a former host name, which no longer work.
    former_passkeys: Vec<Uuid>,
    /// Whether passkeys are possible at this installation's address.
    offers_passkeys: bool,
    asks: ProofKind,
    new_email: String,
    /// The link that confirms the new email address, shown only if the installation sends no mail.
    link: Option<String>,
    /// Whether the chosen account requires a second factor; `None` if the member may not decide that.
    is_required: Option<bool>,
}

impl AccountPage {
    async fn of(app: &App, page: Page, member: Member) -> Result<Self, Rejection> {
        let passkeys = passkeys::list(app, member.staff_id).await?;
        let former = passkeys
            .iter()
            .filter(|passkey| !passkeys::is_usable(app, passkey));
        Ok(AccountPage {
            page,
            faults: Faults::default(),
            name: member.name.clone(),
            accounts: store::staff::merchants_of(&mut app.db.read().await?, member.staff_id).await?,
            sessions: profile::sessions(app, member.staff_id).await?,
            recovery_left: profile::recovery_left(app, member.staff_id).await?,
            former_passkeys: former.map(|passkey| passkey.id).collect(),
            passkeys,
            offers_passkeys: passkeys::are_possible(app),
            asks: ProofKind::of(&member),
            new_email: String::new(),
            link: None,
            is_required: match &member.merchant {
                Some(merchant) if member.may(Action::RequireSecondFactor) => {
                    Some(requires_second_factor(merchant)?)
                }
                _ => None,
            },
            member,
        })
    }

    fn is_chosen(&self, id: &Uuid) -> bool {
        self.member
            .merchant
            .as_ref()
            .is_some_and(|merchant| merchant.id == *id)
    }

    /// The former host name of a passkey that no longer works.
    fn former_site<'a>(&self, passkey: &'a Passkey) -> Option<&'a str> {
        let is_former = self.former_passkeys.contains(&passkey.id);
        passkey.site.as_deref().filter(|_| is_former)
    }

    fn is_this_one(&self, session: &SessionRow) -> bool {
        session.id == self.member.session_id
    }

    fn browser(&self, session: &SessionRow) -> String {
        browser_name(&self.page, &session.device.browser, &session.device.system)
    }
}

/// The account's page again after a form with faults.
pub(super) async fn render_account(
    app: &App,
    page: Page,
    member: Member,
    faults: Faults,
) -> Result<Response, Rejection> {
    Ok(render_rejected(AccountPage {
        faults,
        ..AccountPage::of(app, page, member).await?
    })?)
}

/// `GET /portal/account`
pub(super) async fn page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    let link = show_once::take(&app, &member, HERE).await?;
    Ok(html(AccountPage {
        link,
        ..AccountPage::of(&app, page, member).await?
    })?)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NameForm {
    name: String,
}

/// `POST /portal/account/name`
pub(super) async fn rename(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<NameForm>,
) -> Result<Response, Rejection> {
    match profile::rename(&app, member.staff_id, &form.name).await? {
        Ok(()) => Ok(done(HERE, "saved")),
        Err(faults) => Ok(render_rejected(AccountPage {
            faults: Faults(faults),
            name: form.name,
            ..AccountPage::of(&app, page, member).await?
        })?),
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EmailForm {
    new_email: String,
    email_proof: Hidden,
}

/// `POST /portal/account/email`: the new address takes effect when its owner opens the link sent to it. The
/// response does not reveal whether another person uses the address.
pub(super) async fn change_email(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<EmailForm>,
) -> Result<Response, Rejection> {
    let proof = &form.email_proof.0;
    let asked = profile::ask_email(&app, member.staff_id, &form.new_email, proof, visitor.address);
    let new = match asked.await? {
        Ok(new) => new,
        Err(faults) => {
            return Ok(render_rejected(AccountPage {
                faults: Faults(faults),
                new_email: form.new_email,
                ..AccountPage::of(&app, page, member).await?
            })?);
        }
    };
    let url = format!("{}{}", app.public_url, new.link.path);
    if app.mailer.is_none() {
        show_once::set(&app, &member, HERE, &url).await?;
        return Ok(done(HERE, "email_asked"));
    }
    let key = match new.is_taken {
        true => "accounts.mail.email.taken",
        false => "accounts.mail.email.text",
    };
    let letter = Letter {
        to: new.email,
        subject: page.t("accounts.mail.email.subject"),
        text: page.tf(key, &[("link", &url)]),
    };
    post(&app, letter);
    Ok(done(HERE, "email_sent"))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PasswordForm {
    current: Hidden,
    password: Hidden,
}

/// `POST /portal/account/password`
pub(super) async fn change_password(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<PasswordForm>,
) -> Result<Response, Rejection> {
    let (staff_id, session_id) = (member.staff_id, member.session_id);
    let changed = profile::change_password(
        &app,
        staff_id,
        session_id,
        &form.current.0,
        &form.password.0,
        &visitor.browser,
        visitor.address,
    );
    match changed.await? {
        Ok(token) => {
            security_changed(&app, &page, &member.email, "password_changed");
            Ok(enter(&app, &token, "/portal/account?done=password_changed"))
        }
        Err(faults) => render_account(&app, page, member, Faults(faults)).await,
    }
}

#[derive(Template)]
#[template(path = "portal/accounts/totp.html")]
struct TotpPage {
    page: Page,
    faults: Faults,
    set_up: SetUp,
    qr: String,
    /// The chosen account's name, if it requires a second factor. The member can do nothing else until one is
    /// set up.
    required_by: Option<String>,
    /// Whether passkeys are possible at this installation's address.
    offers_passkeys: bool,
    asks: ProofKind,
}

/// Returns the name of the account that requires a second factor which the member has not set up.
pub(super) fn required_by(member: &Member) -> Result<Option<String>, Problem> {
    Ok(match &member.merchant {
        Some(merchant) if member.lacks_second_factor()? => Some(merchant.name.clone()),
        _ => None,
    })
}

/// `GET /portal/account/totp`
pub(super) async fn totp_page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    headers: HeaderMap,
    Query(query): Query<TotpQuery>,
) -> Result<Response, Rejection> {
    if member.has_totp {
        return Ok(Redirect::to(HERE).into_response());
    }
    if query.key == "new" {
        let jar = CookieJar::new().add(session::set_up_cookie(&app, Some(Uuid::new_v4())));
        return Ok((jar, Redirect::to(SECOND_FACTOR)).into_response());
    }
    // A reload shows the same key, because the first one may be in the app already.
    let nonce = session::set_up_nonce(&app, &headers).unwrap_or_else(Uuid::new_v4);
    let set_up = SetUp::pending(&app, member.staff_id, nonce.as_bytes(), &member.email).await?;
    let jar = CookieJar::new().add(session::set_up_cookie(&app, Some(nonce)));
    let shown = html(TotpPage {
        page,
        faults: Faults::default(),
        qr: set_up.qr()?,
        set_up,
        required_by: required_by(&member)?,
        offers_passkeys: passkeys::are_possible(&app),
        asks: ProofKind::of(&member),
    })?;
    Ok((jar, shown).into_response())
}

/// The address of the set-up page: `key=new` replaces the key.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TotpQuery {
    key: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TotpForm {
    key: Hidden,
    code: String,
    proof: Hidden,
}

#[derive(Template)]
#[template(path = "portal/accounts/recovery.html")]
struct RecoveryPage {
    page: Page,
    codes: Vec<String>,
}

/// `GET /portal/account/recovery`: shows new recovery codes once.
pub(super) async fn recovery_page(
    State(app): State<Shared>,
    member: Member,
    page: Page,
) -> Result<Response, Rejection> {
    match show_once::take(&app, &member, RECOVERY).await? {
        Some(codes) => Ok(html(RecoveryPage { page, codes })?),
        None => Ok(Redirect::to(HERE).into_response()),
    }
}

/// `POST /portal/account/totp`
pub(super) async fn totp_on(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<TotpForm>,
) -> Result<Response, Rejection> {
    if member.has_totp {
        return Ok(Redirect::to(HERE).into_response());
    }
    let Some(set_up) = SetUp::from_form(form.key.0.expose_secret(), &member.email) else {
        return Ok(Redirect::to(SECOND_FACTOR).into_response());
    };
    let turned = profile::turn_totp_on(
        &app,
        member.staff_id,
        member.session_id,
        &set_up,
        &form.code,
        &form.proof.0,
        visitor.address,
    );
    match turned.await? {
        Ok(on) => {
            security_changed(&app, &page, &member.email, "second_factor_on");
            show_once::set(&app, &member, RECOVERY, &on.recovery).await?;
            let jar = CookieJar::new().add(session::set_up_cookie(&app, None));
            Ok((jar, enter(&app, &on.token, RECOVERY)).into_response())
        }
        Err(faults) => Ok(render_rejected(TotpPage {
            page,
            faults: Faults(faults),
            qr: set_up.qr()?,
            set_up,
            required_by: required_by(&member)?,
            offers_passkeys: passkeys::are_possible(&app),
            asks: ProofKind::of(&member),
        })?),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ProofForm {
    proof: Hidden,
}

/// `POST /portal/account/totp/off`
pub(super) async fn totp_off(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<ProofForm>,
) -> Result<Response, Rejection> {
    match profile::turn_totp_off(&app, member.staff_id, &form.proof.0, visitor.address).await? {
        Ok(()) => {
            security_changed(&app, &page, &member.email, "second_factor_off");
            Ok(done(HERE, "totp_off"))
        }
        Err(faults) => render_account(&app, page, member, Faults(faults)).await,
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RequiredForm {
    required: String,
}

/// `POST /portal/account/second-factor`: sets whether every member of the chosen account needs one.
pub(super) async fn require_second_factor(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<RequiredForm>,
) -> Result<Response, Rejection> {
    let (required, key) = match form.required.as_str() {
        "true" => (true, "totp_required"),
        "false" => (false, "totp_optional"),
        _ => return Err(Problem::invalid("required - must be true or false").into()),
    };
    Ok(
        match staff::require_second_factor(&app, manager(&member)?, required).await? {
            ChangeOutcome::Done => done(HERE, key),
            ChangeOutcome::Proposed => {
                let confirms = (Action::ManageCompany, "change_proposed");
                redirect_after_proposal(&app, &member, HERE, confirms).await?
            }
        },
    )
}

/// `POST /portal/account/recovery`
pub(super) async fn renew_recovery(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    visitor: Visitor,
    Form(form): Form<ProofForm>,
) -> Result<Response, Rejection> {
    if !member.has_second_factor() {
        return Ok(Redirect::to(SECOND_FACTOR).into_response());
    }
    match profile::renew_recovery(&app, member.staff_id, &form.proof.0, visitor.address).await? {
        Ok(codes) => {
            show_once::set(&app, &member, RECOVERY, &codes).await?;
            Ok(Redirect::to(RECOVERY).into_response())
        }
        Err(faults) => render_account(&app, page, member, Faults(faults)).await,
    }
}

/// `POST /portal/account/sessions/end-all`: ends all of the member's sessions except this one.
pub(super) async fn end_all(
    State(app): State<Shared>,
    member: Member,
    visitor: Visitor,
) -> Result<Response, Rejection> {
    profile::end_sessions(&app, member.staff_id, member.session_id, &visitor.browser, None).await?;
    Ok(done(HERE, "sessions_ended"))
}

/// `POST /portal/account/sessions/{id}/end`
pub(super) async fn end_one(
    State(app): State<Shared>,
    member: Member,
    visitor: Visitor,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let id = id
        .parse()
        .map_err(|_| Problem::not_found("There is no such session"))?;
    profile::end_sessions(
        &app,
        member.staff_id,
        member.session_id,
        &visitor.browser,
        Some(id),
    )
    .await?;
    Ok(done(HERE, "sessions_ended"))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChooseForm {
    account: String,
}

/// `POST /portal/account/choose`
pub(super) async fn choose(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<ChooseForm>,
) -> Result<Response, Rejection> {
    let id = form.account.parse();
    let id = id.map_err(|_| Problem::not_found("There is no such account"))?;
    signing_in::choose_account(&app, member.staff_id, member.session_id, id).await?;
    Ok(Redirect::to("/portal").into_response())
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ModeForm {
    sandbox: String,
}

/// `POST /portal/mode`
pub(super) async fn mode(
    State(app): State<Shared>,
    member: Member,
    headers: axum::http::HeaderMap,
    Form(form): Form<ModeForm>,
) -> Result<Response, Rejection> {
    let sandbox = match form.sandbox.as_str() {
        "true" => true,
        "false" => false,
        _ => return Err(Problem::invalid("sandbox - must be true or false").into()),
    };
    signing_in::choose_mode(&app, member.session_id, member.merchant()?.id, sandbox).await?;
    // A record of one mode does not exist in the other, so the redirect leads to the list above it.
    let back = same_site_referrer(&headers);
    let kind: String = safe_next(back.as_deref())
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .split('/')
        .take(3)
        .collect::<Vec<_>>()
        .join("/");
    Ok(Redirect::to(if kind.is_empty() { "/portal" } else { &kind }).into_response())
}
