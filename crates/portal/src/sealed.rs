//! A search whose words must not stand in an address, sealed into one all the same, so that the page can be reloaded and come back to. It
//! opens in the session, the account and the mode that sealed it and as the kind of search it is, and nowhere else; nothing is stored, and
//! after the session's end the portal opens it no more. Never a secret that counts by itself: that is [`super::shown`]'s.

use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service::Shared;
use service::problem::Problem;
use store::{DataKey, Place, Scope, merchants};
use uuid::Uuid;

use super::session::Member;

/// Longest content, in bytes: addresses have an end.
const MOST: usize = 4_000;

/// Leads to a page with a search sealed in its address, as the field `sealed`; `what` it is must be told again to open it.
///
/// # Errors
/// 400 when it is too long for an address.
pub async fn lead(
    app: &Shared,
    member: &Member,
    path: &str,
    what: &str,
    content: &impl Serialize,
) -> Result<Response, Problem> {
    let plain = serde_json::to_vec(content).map_err(Problem::internal)?;
    if plain.len() > MOST {
        return Err(Problem::invalid("The text is too long. Shorten it"));
    }
    let (key, scope) = key(app, member).await?;
    let what = in_mode(scope, what);
    let sealed = key.seal(&place(scope, &what, &member.session_id), &plain);
    let sealed = URL_SAFE_NO_PAD.encode(sealed);
    Ok(Redirect::to(&format!("{path}?sealed={sealed}")).into_response())
}

/// What was sealed; `None` for what was not sealed as this in this session, account and mode.
///
/// # Errors
/// When the store fails.
pub async fn open<T: DeserializeOwned>(
    app: &Shared,
    member: &Member,
    what: &str,
    sealed: &str,
) -> Result<Option<T>, Problem> {
    if sealed.is_empty() {
        return Ok(None);
    }
    let Ok(sealed) = URL_SAFE_NO_PAD.decode(sealed) else {
        return Ok(None);
    };
    let (key, scope) = key(app, member).await?;
    let what = in_mode(scope, what);
    let plain = key.open(&place(scope, &what, &member.session_id), &sealed).ok();
    Ok(plain.and_then(|plain| serde_json::from_slice(&plain).ok()))
}

async fn key(app: &Shared, member: &Member) -> Result<(DataKey, Scope), Problem> {
    let scope = member.scope()?;
    let key = merchants::key(&mut app.db.read().await?, scope.merchant_id).await?;
    Ok((key, scope))
}

/// Live and sandbox are two worlds: a search of one is not the other's.
fn in_mode(scope: Scope, what: &str) -> String {
    format!("{what}, {}", if scope.sandbox { "sandbox" } else { "live" })
}

fn place<'a>(scope: Scope, what: &'a str, session_id: &'a Uuid) -> Place<'a> {
    Place {
        merchant_id: scope.merchant_id,
        what,
        id: session_id.as_bytes(),
    }
}

/// The field of an address.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Sealed {
    /// What [`open`] opens.
    pub sealed: String,
}
