//! The signed-in member: the session cookie, and the [`Member`] that handlers take. `portal_accounts`
//! implements sign-in and sign-out.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::http::header::REFERER;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::cookie::{Cookie, CookieJar, SameSite};
use http_server::error::Rejection;
use jiff::Timestamp;
use portal_accounts::{passkeys, sessions};
use secrecy::SecretString;
use service::actor::of_staff;
use service::caller::{Caller, NO_PERMISSIONS};
use service::merchants::requires_second_factor;
use service::permissions::{Action, Role, may};
use service::problem::Problem;
use service::{App, Shared};
use store::Scope;
use store::merchants::Merchant;
use store::portal_sessions::{self, ActiveSession, Stage};
use time::Duration;
use uuid::Uuid;

/// How long a proof of identity counts as recent, in milliseconds.
const PROOF_LASTS: i64 = 10 * 60 * 1_000;

/// A signed-in person, whose second factor was checked if one is set up.
#[derive(Clone, Debug)]
pub struct Member {
    /// The ID of the member's login.
    pub staff_id: Uuid,
    /// The name that colleagues see.
    pub name: String,
    /// The email address for signing in.
    pub email: String,
    /// The member's language, if chosen.
    pub language: Option<String>,
    /// Whether an authenticator app is set up.
    pub has_totp: bool,
    /// Whether a passkey was added.
    pub has_passkey: bool,
    /// Whether one of the passkeys works at this installation's public address.
    pub has_usable_passkey: bool,
    /// The member's role in the chosen account.
    pub role: Option<Role>,
    /// Whether the member is an operator of this installation.
    pub operator: bool,
    /// The chosen account.
    pub merchant: Option<Merchant>,
    /// Whether the member views the account's sandbox.
    pub sandbox: bool,
    /// The ID of this session.
    pub session_id: Uuid,
    /// When the member last proved their identity (ms): with a code or passkey if a second factor is set up, otherwise
    /// with the password.
    pub proved_at: i64,
}

impl Member {
    /// The chosen account and mode.
    ///
    /// # Errors
    /// 404 without a chosen account; the guard prevents this on pages of an account.
    pub fn scope(&self) -> Result<Scope, Problem> {
        Ok(Scope {
            merchant_id: self.merchant()?.id,
            sandbox: self.sandbox,
        })
    }

    /// The chosen account.
    ///
    /// # Errors
    /// 404 if none is chosen.
    pub fn merchant(&self) -> Result<&Merchant, Problem> {
        self.merchant
            .as_ref()
            .ok_or_else(|| Problem::not_found("No account is chosen"))
    }

    /// The member as a caller of `service`, whose use cases also serve the API.
    ///
    /// # Errors
    /// 404 if no account is chosen.
    pub fn caller(&self) -> Result<Caller, Problem> {
        Ok(Caller {
            merchant: self.merchant()?.clone(),
            scope: self.scope()?,
            key: self.actor(),
            permissions: NO_PERMISSIONS.into(),
            session: None,
        })
    }

    /// Whether the member may perform an action in the chosen account.
    pub fn may(&self, action: Action) -> bool {
        may(self.role, self.operator, action)
    }

    /// The actor in the audit trail and in decisions: `staff:ID`.
    pub fn actor(&self) -> String {
        of_staff(self.staff_id)
    }

    /// Whether a second factor is set up: an authenticator app or a passkey.
    pub fn has_second_factor(&self) -> bool {
        self.has_totp || self.has_passkey
    }

    /// Whether the chosen account requires a second factor and the member has none that works here. A passkey of a former
    /// host name still protects the sign-in, where a recovery code replaces it, but does not meet the requirement.
    ///
    /// # Errors
    /// Fails if the account's settings cannot be parsed.
    pub fn lacks_second_factor(&self) -> Result<bool, Problem> {
        match &self.merchant {
            Some(merchant) if !self.has_totp && !self.has_usable_passkey => requires_second_factor(merchant),
            _ => Ok(false),
        }
    }

    /// Whether the member proved their identity recently, within [`PROOF_LASTS`].
    pub fn is_proven(&self) -> bool {
        Timestamp::now().as_millisecond() - self.proved_at < PROOF_LASTS
    }
}

impl From<ActiveSession> for Member {
    fn from(found: ActiveSession) -> Self {
        let role = found.role.as_deref().and_then(|role| role.parse().ok());
        Member {
            staff_id: found.staff.id,
            name: found.staff.name,
            email: found.staff.email,
            language: found.staff.language,
            has_totp: found.staff.has_totp,
            has_passkey: found.staff.has_passkey,
            has_usable_passkey: false,
            role,
            operator: found.staff.operator,
            // A member who has lost the role no longer has access to the account.
            merchant: found.merchant.filter(|_| role.is_some()),
            sandbox: found.sandbox,
            session_id: found.session_id,
            proved_at: found.authenticated_at,
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Member {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let missing = || Problem::internal("a handler takes a Member but its route is public");
        let member = parts.extensions.get::<Member>().cloned();
        Ok(member.ok_or_else(missing)?)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Member {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get::<Member>().cloned())
    }
}

/// The number at which the side bar's count of pending attempts stops.
const WAITING_COUNTED: i64 = 100;

/// The number of attempts that wait for a decision, for the side bar.
#[derive(Clone, Copy, Debug)]
pub struct PendingCount(pub i64);

/// Counts the pending attempts of the chosen account for a page, if the reader may see the queue.
async fn count_pending(
    app: &App,
    is_page: bool,
    member: &Member,
) -> Result<Option<PendingCount>, store::Error> {
    let Some(merchant) = member
        .merchant
        .as_ref()
        .filter(|_| is_page && member.may(Action::ViewQueue))
    else {
        return Ok(None);
    };
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: member.sandbox,
    };
    let count = store::review::count_pending(&mut app.db.read().await?, scope, WAITING_COUNTED).await?;
    Ok(Some(PendingCount(count)))
}

/// Middleware: finds the signed-in member.
pub async fn layer(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    if let Some(token) = token(&app, request.headers()) {
        let found = async { portal_sessions::find(&mut app.db.read().await?, &token).await }.await;
        match found {
            Ok(Some(found)) if found.stage == Stage::Full => {
                if found.touch_due(Timestamp::now().as_millisecond())
                    && let Err(error) = sessions::touch(&app.db, found.session_id).await
                {
                    tracing::warn!("a session could not be touched: {error}");
                }
                let mut member = Member::from(found);
                if member.has_passkey {
                    match passkeys::is_any_usable(&app, member.staff_id).await {
                        Ok(is_usable) => member.has_usable_passkey = is_usable,
                        Err(problem) => return Rejection::from(problem).into_response(),
                    }
                }
                let is_page = request.method() == Method::GET && !request.uri().path().contains("/files/");
                match count_pending(&app, is_page, &member).await {
                    Ok(Some(count)) => _ = request.extensions_mut().insert(count),
                    Ok(None) => {}
                    Err(error) => tracing::warn!("waiting attempts could not be counted: {error}"),
                }
                request.extensions_mut().insert(member);
            }
            Ok(_) => {}
            Err(error) => return Rejection::from(error).into_response(),
        }
    }
    let is_member = request.extensions().get::<Member>().is_some();
    let mut response = next.run(request).await;
    if is_member {
        response.extensions_mut().insert(ForMember);
    }
    response
}

/// Marks a response to a signed-in member.
#[derive(Clone, Copy, Debug)]
pub struct ForMember;

/// The session's token in the request's cookie.
pub fn token(app: &App, headers: &HeaderMap) -> Option<String> {
    CookieJar::from_headers(headers)
        .get(cookie_name(app))
        .map(|cookie| cookie.value().to_owned())
}

/// The cookie's name. The prefix `__Host-` binds it to this exact host and requires HTTPS.
fn cookie_name(app: &App) -> &'static str {
    if is_https(app) {
        "__Host-bonafide"
    } else {
        "bonafide"
    }
}

fn is_https(app: &App) -> bool {
    app.public_url.starts_with("https:")
}

/// A cookie with a session's token, which the browser deletes when it closes. The server ends the session
/// earlier by its own timeouts.
pub fn cookie(app: &App, token: String) -> Cookie<'static> {
    Cookie::build((cookie_name(app), token))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_https(app))
        .build()
}

/// The name of the cookie by which a browser is recognised at the next sign-in.
fn browser_cookie_name(app: &App) -> &'static str {
    if is_https(app) {
        "__Host-bonafide-browser"
    } else {
        "bonafide-browser"
    }
}

/// The token by which a request's browser is recognised, if it has one. It grants no access.
pub fn browser_token(app: &App, headers: &HeaderMap) -> Option<SecretString> {
    let jar = CookieJar::from_headers(headers);
    let cookie = jar.get(browser_cookie_name(app))?;
    Some(cookie.value().to_owned().into())
}

/// The cookie by which a browser is recognised. It remains after sign-out, as long as the store's row.
pub fn browser_cookie(app: &App, token: String) -> Cookie<'static> {
    let mut cookie = cookie(app, token);
    cookie.set_name(browser_cookie_name(app));
    cookie.set_max_age(Duration::milliseconds(store::staff_devices::LIFE_MS));
    cookie
}

/// The name of the cookie that identifies a set-up of an authenticator app.
fn set_up_cookie_name(app: &App) -> &'static str {
    if is_https(app) {
        "__Host-bonafide-totp"
    } else {
        "bonafide-totp"
    }
}

/// The value that identifies a browser's set-up of an authenticator app, from which the key is derived.
pub fn set_up_nonce(app: &App, headers: &HeaderMap) -> Option<Uuid> {
    let jar = CookieJar::from_headers(headers);
    Uuid::parse_str(jar.get(set_up_cookie_name(app))?.value()).ok()
}

/// The cookie of a set-up, which the browser deletes when it closes. Without a value, it is deleted at once.
pub fn set_up_cookie(app: &App, nonce: Option<Uuid>) -> Cookie<'static> {
    let value = nonce.map(|nonce| nonce.simple().to_string());
    let mut cookie = cookie(app, value.unwrap_or_default());
    cookie.set_name(set_up_cookie_name(app));
    if nonce.is_none() {
        cookie.make_removal();
    }
    cookie
}

/// A cookie that removes the token.
pub fn no_cookie(app: &App) -> Cookie<'static> {
    let mut cookie = cookie(app, String::new());
    cookie.make_removal();
    cookie
}

/// The path of the page that a form was sent from, if that page is of this site.
pub fn same_site_referrer(headers: &HeaderMap) -> Option<String> {
    let referrer: Uri = headers.get(REFERER)?.to_str().ok()?.parse().ok()?;
    let host = headers.get(axum::http::header::HOST)?.to_str().ok()?;
    if referrer.authority()?.as_str() != host {
        return None;
    }
    Some(referrer.path_and_query()?.as_str().to_owned())
}
