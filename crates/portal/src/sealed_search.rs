//! Seals a search into an address that must not reveal its text, so that the results page can be reloaded.
//!
//! A sealed search opens only in the session, account and mode that sealed it, and only as the same kind of
//! search. Nothing is stored, and the portal cannot open it after the session ends. It is never for a secret
//! that grants access by itself: that is for [`super::show_once`].

use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service::Shared;
use service::problem::Problem;
use store::{DataKey, Scope, SealContext, merchants};
use uuid::Uuid;

use super::session::Member;

/// The longest content, in bytes, because addresses have a limited length.
const MOST: usize = 4_000;

/// Redirects to a page with a search sealed in its address, as the field `sealed`. `what` names the kind of
/// search; [`open`] needs the same value.
///
/// # Errors
/// 400 if the search is too long for an address.
pub async fn redirect_to_search(
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

/// Opens a sealed search; `None` if it was not sealed as `what` in this session, account and mode.
///
/// # Errors
/// Fails if the store does.
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

/// Adds the mode to the kind, so that a search of one mode does not open in the other.
fn in_mode(scope: Scope, what: &str) -> String {
    format!("{what}, {}", if scope.sandbox { "sandbox" } else { "live" })
}

fn place<'a>(scope: Scope, what: &'a str, session_id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: session_id.as_bytes(),
    }
}

/// The query of an address with a sealed search.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Sealed {
    /// The sealed search, for [`open`]; empty if there is none.
    pub sealed: String,
}
