//! Passes a new link or secret from the form that creates it to the next page, which shows it once.
//!
//! In between, the value is sealed in the session for at most five minutes. The form can thus end in a
//! redirect, and neither Back nor Reload creates another value.

use portal_accounts::sessions;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service::App;
use service::problem::Problem;
use store::portal_sessions;

use super::session::Member;

#[derive(Serialize, Deserialize)]
struct Flash<T> {
    /// The path of the page that shows it.
    on: String,
    what: T,
}

/// Stores a value for a page. It replaces the one stored before.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn set(app: &App, member: &Member, on: &str, what: &impl Serialize) -> Result<(), Problem> {
    let kept = Flash { on: on.into(), what };
    let text = serde_json::to_string(&kept).map_err(Problem::internal)?;
    Ok(sessions::store_page_result(&app.db, member.staff_id, member.session_id, &text).await?)
}

/// Takes the value stored for a page, once and before it expires. A value for another page remains.
///
/// # Errors
/// 503 if the database is unavailable.
pub async fn take<T: DeserializeOwned>(app: &App, member: &Member, on: &str) -> Result<Option<T>, Problem> {
    let (staff_id, session_id) = (member.staff_id, member.session_id);
    let Some(shown) = portal_sessions::page_result(&mut app.db.read().await?, staff_id, session_id).await?
    else {
        return Ok(None);
    };
    let kept = serde_json::from_str::<Flash<serde_json::Value>>(&shown.text).ok();
    let Some(kept) = kept.filter(|kept| kept.on == on) else {
        return Ok(None);
    };
    let is_first = sessions::take_page_result(&app.db, session_id, &shown).await?;
    Ok(serde_json::from_value(kept.what).ok().filter(|_| is_first))
}
