//! What must not stand in an address as it is — a name that is searched, a link that is a secret — sealed into one all the same, so that
//! the page can be reloaded and come back to. It opens in the session that sealed it and on the page it is for, and nowhere else; nothing
//! is stored, and after the session's end nobody can read it.

use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{DataKey, Place, merchants};
use uuid::Uuid;

use super::session::Member;
use crate::app::Shared;
use crate::error::Problem;

/// Longest content, in bytes: addresses have an end.
const MOST: usize = 4_000;

/// Leads to a page with something sealed in its address, as the field `sealed`; `what` it is must be told again to open it.
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
        return Err(Problem::invalid("The text is too long: shorten it"));
    }
    let (key, merchant_id) = key(app, member).await?;
    let sealed = key.seal(&place(merchant_id, what, &member.session_id), &plain);
    let (joint, sealed) = (
        if path.contains('?') { '&' } else { '?' },
        URL_SAFE_NO_PAD.encode(sealed),
    );
    Ok(Redirect::to(&format!("{path}{joint}sealed={sealed}")).into_response())
}

/// What was sealed; `None` for what was not sealed as this in this session.
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
    let (key, merchant_id) = key(app, member).await?;
    let plain = key
        .open(&place(merchant_id, what, &member.session_id), &sealed)
        .ok();
    Ok(plain.and_then(|plain| serde_json::from_slice(&plain).ok()))
}

async fn key(app: &Shared, member: &Member) -> Result<(DataKey, Uuid), Problem> {
    let merchant_id = member.merchant()?.id;
    let key = merchants::key(&mut app.db.read().await?, merchant_id).await?;
    Ok((key, merchant_id))
}

fn place<'a>(merchant_id: Uuid, what: &'a str, session_id: &'a Uuid) -> Place<'a> {
    Place {
        merchant_id,
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
