//! The screening desk: searches the active lists for a name.
//!
//! The form is posted and then sealed into the address of the results. The audit trail records that a search
//! was made, never the name. Only the form counts against the limit and is recorded; reloading the results is
//! neither.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query as Fields, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use reference::Country;
use sanctions::Query;
use sanctions::store::ListStatus;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::lists::Lists;
use service::merchants::MerchantSettings;
use service::permissions::Action;
use service::problem::Problem;
use service::rates;
use service::{Shared, audit_trail, insight, merchants, screening_hits};
use store::audit::Entry;
use verification::screening::ScreeningHit;

use super::page::{self, Page};
use super::review::hits::{self, Hit, PersonDetails};
use super::routes::Routes;
use super::screening_profiles::ProfileTable;
use super::sealed_search::{self, Sealed};
use super::session::Member;

/// The longest name, in characters.
const MAX_NAME: usize = 300;
/// The kinds of entity that can be searched; empty means any.
const KINDS: [&str; 6] = ["", "Person", "Organization", "Company", "Vessel", "Airplane"];

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/screening", Action::Screen, desk)
        .post("/portal/screening", Action::Screen, search)
}

/// The search form.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct NameQuery {
    name: String,
    dob: String,
    nationality: String,
    kind: String,
}

/// The form's errors by field; an empty text means no error.
#[derive(Default)]
struct FormErrors {
    name: String,
    dob: String,
}

/// The lists' results.
struct SearchResults {
    hits: Vec<Hit>,
    /// The total number of hits, including those not shown.
    total: usize,
    /// What each profile finds; `None`: no profile finds anything.
    profiles: Option<ProfileTable>,
}

#[derive(Template)]
#[template(path = "portal/screening.html")]
pub(super) struct Desk {
    page: Page,
    asked: NameQuery,
    wrong: FormErrors,
    kinds: [&'static str; 6],
    countries: Vec<&'static Country>,
    lists: Vec<ListStatus>,
    found: Option<SearchResults>,
    /// Why the lists are unavailable.
    unavailable: Option<String>,
    /// What is wrong with the uploaded file; empty: nothing.
    wrong_file: String,
}

impl Desk {
    async fn new(app: &Shared, page: Page, member: &Member, asked: NameQuery) -> Result<Desk, Rejection> {
        let mut countries: Vec<&Country> = reference::countries().iter().collect();
        countries.sort_by_key(|country| country.name);
        Ok(Desk {
            page,
            asked,
            wrong: FormErrors::default(),
            kinds: KINDS,
            countries,
            lists: insight::lists(app, member.scope()?.sandbox).await?,
            found: None,
            unavailable: None,
            wrong_file: String::new(),
        })
    }

    /// The page after a file that cannot be screened.
    ///
    /// # Errors
    /// When the lists' state cannot be read or the page cannot be rendered.
    pub(super) async fn refuse_file(
        app: &Shared,
        page: Page,
        member: &Member,
        wrong: String,
    ) -> Result<Response, Rejection> {
        let mut desk = Desk::new(app, page, member, NameQuery::default()).await?;
        desk.wrong_file = wrong;
        Ok((StatusCode::BAD_REQUEST, page::html(desk)?).into_response())
    }

    /// The page while the lists cannot be searched.
    ///
    /// # Errors
    /// As [`Desk::refuse_file`].
    pub(super) async fn refuse_lists(
        app: &Shared,
        page: Page,
        member: &Member,
        reason: String,
    ) -> Result<Response, Rejection> {
        let mut desk = Desk::new(app, page, member, NameQuery::default()).await?;
        desk.unavailable = Some(reason);
        Ok((StatusCode::SERVICE_UNAVAILABLE, page::html(desk)?).into_response())
    }
}

/// The kind of sealed search; see [`sealed_search`](super::sealed_search).
const SEARCH: &str = "names screened";

async fn search(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(asked): Form<NameQuery>,
) -> Result<Response, Rejection> {
    let onward =
        sealed_search::redirect_to_search(&app, &member, "/portal/screening", SEARCH, &asked).await?;
    rates::check_screening_rate(&app, &member.caller()?, member.may(Action::Decide)).await?;
    // The results page shows form errors and the reason why lists are unavailable.
    if check(&page, &asked).is_none() {
        let detail = match search_lists(&app, &member, &asked, Lists::screen).await? {
            Ok(found) => json!({"hits": found.total.value, "lists": found.lists}).to_string(),
            Err(_) => json!({"failed": "lists"}).to_string(),
        };
        let entry = Entry {
            actor: &member.actor(),
            action: "screening.searched",
            subject: "by hand",
            detail: &detail,
        };
        audit_trail::write(&app.db, member.scope()?, &entry).await?;
    }
    Ok(onward)
}

/// What a search of the lists finds, or why they are unavailable.
async fn search_lists<T: Send + 'static>(
    app: &Shared,
    member: &Member,
    asked: &NameQuery,
    search: impl FnOnce(&Lists, &Query, bool, &MerchantSettings) -> Result<T, String> + Send + 'static,
) -> Result<Result<T, String>, Problem> {
    let (sandbox, settings) = (member.scope()?.sandbox, merchants::settings(member.merchant()?)?);
    if let Err(reason) = app.lists.confirm(&app.db).await {
        return Ok(Err(reason.to_string()));
    }
    let (shared, query) = (Arc::clone(app), query(asked));
    app.cpu
        .run(move |_| search(&shared.lists, &query, sandbox, &settings))
        .await
}

async fn desk(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Fields(fields): Fields<Sealed>,
) -> Result<Response, Rejection> {
    let Some(asked) = sealed_search::open::<NameQuery>(&app, &member, SEARCH, &fields.sealed).await? else {
        return Ok(page::html(
            Desk::new(&app, page, &member, NameQuery::default()).await?,
        )?);
    };
    let mut desk = Desk::new(&app, page, &member, asked).await?;
    if let Some(wrong) = check(&desk.page, &desk.asked) {
        desk.wrong = wrong;
        return Ok((StatusCode::BAD_REQUEST, page::html(desk)?).into_response());
    }
    let own = merchants::settings(member.merchant()?)?.screening_profile;
    let (found, compared) = match search_lists(&app, &member, &desk.asked, Lists::compare_profiles).await? {
        Ok(found) => found,
        Err(reason) => {
            desk.unavailable = Some(reason);
            return Ok((StatusCode::SERVICE_UNAVAILABLE, page::html(desk)?).into_response());
        }
    };
    let results: Vec<ScreeningHit> = found.results.into_iter().map(screening_hits::hit).collect();
    let known = person_details(&desk.asked);
    desk.found = Some(SearchResults {
        hits: hits::hits(&desk.page, &results, &known, &[], &found.lists),
        total: found.total.value,
        profiles: (compared.total > 0).then(|| ProfileTable::new(own.unwrap_or_default(), compared)),
    });
    Ok(page::html(desk)?)
}

/// The form's errors, if there are any.
fn check(page: &Page, asked: &NameQuery) -> Option<FormErrors> {
    let name = asked.name.trim();
    let name_is_wrong = !name.chars().any(char::is_alphanumeric) || name.chars().count() > MAX_NAME;
    let wrong = FormErrors {
        name: if name_is_wrong {
            page.t("screening.wrong.name")
        } else {
            String::new()
        },
        dob: if is_date(asked.dob.trim()) {
            String::new()
        } else {
            page.t("screening.wrong.dob")
        },
    };
    Some(wrong).filter(|wrong| !wrong.name.is_empty() || !wrong.dob.is_empty())
}

/// Whether the text is empty, `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let whole = match text.len() {
        0 => return true,
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    // The date must exist in the calendar, and the lists must support it.
    text.len() <= 10
        && whole.parse::<jiff::civil::Date>().is_ok()
        && sanctions::PartialDate::parse_lenient(text).is_some()
}

fn person_details(asked: &NameQuery) -> PersonDetails {
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    PersonDetails {
        names: some(&asked.name).into_iter().collect(),
        birth_dates: some(&asked.dob).into_iter().collect(),
        nationalities: some(&asked.nationality).into_iter().collect(),
        ..PersonDetails::default()
    }
}

fn query(asked: &NameQuery) -> Query {
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Query {
        schema: some(&asked.kind).filter(|kind| KINDS.contains(&kind.as_str())),
        name: some(&asked.name),
        dob: some(&asked.dob),
        nationality: some(&asked.nationality),
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_may_be_partial() {
        for right in ["", "1962", "1962-11", "1962-11-23"] {
            assert!(is_date(right), "{right}");
        }
        for wrong in ["62", "1962-13", "1962-02-30", "23.11.1962", "1962-11-23T00:00"] {
            assert!(!is_date(wrong), "{wrong}");
        }
    }

    #[test]
    fn empty_fields_ask_nothing() {
        let asked = NameQuery {
            name: " Anna ".into(),
            kind: "Nonsense".into(),
            ..NameQuery::default()
        };
        let query = query(&asked);
        assert_eq!(
            (query.name.as_deref(), query.schema, query.dob),
            (Some("Anna"), None, None)
        );
    }
}
