//! What a form makes and its next page shows this once: a link, a secret. Between the two it lies sealed in the session, so that the form
//! ends in a redirect, and neither Back nor Reload makes another one; after five minutes it is gone, shown or not.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use service::App;
use service::accounts::sessions;
use service::problem::Problem;
use store::portal_sessions;

use super::session::Member;

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    /// The page that shows it.
    on: String,
    what: T,
}

/// Keeps something for a page, in place of what was kept before.
///
/// # Errors
/// 503 without the database.
pub async fn keep(app: &App, member: &Member, on: &str, what: &impl Serialize) -> Result<(), Problem> {
    let kept = Kept { on: on.into(), what };
    let text = serde_json::to_string(&kept).map_err(Problem::internal)?;
    Ok(sessions::keep_shown(&app.db, member.staff_id, member.session_id, &text).await?)
}

/// What was kept for a page, once and in time; what is for another page stays.
///
/// # Errors
/// 503 without the database.
pub async fn take<T: DeserializeOwned>(app: &App, member: &Member, on: &str) -> Result<Option<T>, Problem> {
    let (staff_id, session_id) = (member.staff_id, member.session_id);
    let Some(shown) = portal_sessions::shown(&mut app.db.read().await?, staff_id, session_id).await? else {
        return Ok(None);
    };
    let kept = serde_json::from_str::<Kept<serde_json::Value>>(&shown.text).ok();
    let Some(kept) = kept.filter(|kept| kept.on == on) else {
        return Ok(None);
    };
    let is_first = sessions::forget_shown(&app.db, session_id, &shown).await?;
    Ok(serde_json::from_value(kept.what).ok().filter(|_| is_first))
}
