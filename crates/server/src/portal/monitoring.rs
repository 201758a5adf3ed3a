//! Wallets and transactions: screened by hand, stored like those of the API, found again, and shown with what led to their score.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use chain::currency::Currency;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::audit::{self, Entry};
use store::monitoring::Screening;
use uuid::Uuid;

use super::filters::Filters;
use super::page::{self, Page};
use super::permissions::Action;
use super::routes::Routes;
use super::session::Member;
use crate::app::Shared;
use crate::app::monitoring::{self, Wanted};
use crate::error::{Family, Problem};
use crate::http::gate;
use crate::http::idempotency::{self, Start};
use crate::http::path::PathText;

const PAGE: u16 = 30;

/// The area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get("/portal/monitoring", Action::Screen, list)
        .post("/portal/monitoring-search", Action::Screen, search)
        .post("/portal/monitoring", Action::ScreenWallet, screen)
        .get("/portal/monitoring/{id}", Action::Screen, detail)
        .get("/portal/monitoring/{id}/picture", Action::Screen, picture)
}

/// What is to be screened.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    kind: String,
    currency: String,
    query: String,
    label: String,
}

/// Which screenings are looked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Sought {
    text: String,
    currency: String,
    label: String,
    before: String,
}

#[derive(Template)]
#[template(path = "portal/monitoring.html")]
struct ListPage {
    page: Page,
    asked: Asked,
    faults: Vec<String>,
    sought: Sought,
    currencies: Vec<&'static str>,
    screenings: Vec<Screening>,
    next: Option<String>,
}

impl ListPage {
    async fn new(app: &Shared, page: Page, member: &Member, sought: Sought) -> Result<ListPage, Problem> {
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (query, label) = (text(&sought.text), text(&sought.label));
        let before = text(&sought.before);
        let wanted = Wanted {
            text: query.as_deref(),
            currency: Currency::ALL
                .into_iter()
                .find(|currency| currency.code() == sought.currency),
            label: label.as_deref(),
            before: before.and_then(|before| Uuid::parse_str(&before).ok()),
        };
        let found = monitoring::list(app, member.scope()?, &wanted, PAGE).await?;
        Ok(ListPage {
            page,
            asked: Asked::default(),
            faults: Vec::new(),
            sought,
            currencies: Currency::ALL.into_iter().map(Currency::code).collect(),
            screenings: found.screenings,
            next: found.next.map(|next| next.to_string()),
        })
    }

    fn is_filtered(&self) -> bool {
        let Sought {
            text,
            currency,
            label,
            ..
        } = &self.sought;
        !(text.is_empty() && currency.is_empty() && label.is_empty())
    }
}

/// A score as people read it.
fn score(score: &Option<f64>) -> String {
    score.map_or_else(|| "–".to_owned(), |score| format!("{score:.1}"))
}

/// A score's colour: from 25 on it is of note, from 60 on grave.
fn band(score: &Option<f64>) -> &'static str {
    match score {
        None => "",
        Some(score) if *score < 25.0 => "good",
        Some(score) if *score < 60.0 => "warn",
        Some(_) => "bad",
    }
}

async fn list(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Problem> {
    let filters = Filters::read(raw.as_deref(), &["before"])?;
    let sought = Sought {
        before: filters.text("before").to_owned(),
        ..Sought::default()
    };
    page::html(ListPage::new(&app, page, &member, sought).await?)
}

async fn search(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(sought): Form<Sought>,
) -> Result<Response, Problem> {
    page::html(ListPage::new(&app, page, &member, sought).await?)
}

async fn screen(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Form(asked): Form<Asked>,
) -> Result<Response, Problem> {
    let caller = member.caller()?;
    gate::screens(&app, &caller).await?;
    let screened = async {
        let query = monitoring::read(&body(&asked))?;
        // Without a key of its own every press of the button is a screening.
        let Start::Fresh(claim) =
            idempotency::start(&app, caller.scope, &HeaderMap::new(), "portal", b"").await?
        else {
            return Err(Problem::internal("a screening without a key was answered before"));
        };
        let answer = monitoring::screen(&app, &caller, query, &claim).await?;
        let answer: Value = serde_json::from_slice(answer.body()).map_err(Problem::internal)?;
        let id = answer["queryId"].as_str().unwrap_or_default().to_owned();
        let entry = Entry {
            actor: &caller.key,
            action: "screening.wallet",
            subject: &id,
            detail: "{}",
        };
        store::transaction!(app.db, |tx| -> Result<(), Problem> {
            Ok(audit::write(tx, caller.scope, &entry).await?)
        })?;
        Ok(id)
    };
    match screened.await {
        Ok(id) => Ok(Redirect::to(&format!("/portal/monitoring/{id}")).into_response()),
        Err(problem) => {
            let status = problem.status(Family::Monitoring);
            if status == StatusCode::INTERNAL_SERVER_ERROR {
                return Err(problem);
            }
            let faults = match problem.errors() {
                [] => vec![problem.message().to_owned()],
                errors => errors.to_vec(),
            };
            let list = ListPage::new(&app, page, &member, Sought::default()).await?;
            let again = ListPage {
                asked,
                faults,
                ..list
            };
            Ok((status, page::html(again)?).into_response())
        }
    }
}

fn body(asked: &Asked) -> Map<String, Value> {
    let mut body = Map::new();
    for (name, value) in [
        ("type", asked.kind.trim()),
        ("currency", asked.currency.trim()),
        ("query", asked.query.trim()),
        ("label", asked.label.trim()),
        ("report", "detailed"),
    ] {
        if !(value.is_empty() && name == "label") {
            body.insert(name.into(), json!(value));
        }
    }
    body
}

#[derive(Template)]
#[template(path = "portal/monitoring-query.html")]
struct QueryPage {
    page: Page,
    screening: Screening,
    /// The stored answer.
    answer: Value,
    pretty: String,
    has_picture: bool,
}

impl QueryPage {
    /// The items of a member of `exposures`.
    fn exposures(&self, name: &str) -> &[Value] {
        self.answer["exposures"][name]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }

    /// A member as text.
    fn text(&self, item: &Value, name: &str) -> String {
        plain(&item[name])
    }

    /// A word of a fixed list.
    fn word(&self, item: &Value, name: &str) -> String {
        self.page.word("monitoring.word", &plain(&item[name]))
    }

    /// A number with one digit behind the point.
    fn number(&self, item: &Value, name: &str) -> String {
        item[name]
            .as_f64()
            .map_or_else(|| "–".to_owned(), |number| format!("{number:.1}"))
    }

    fn coverage(&self) -> &Value {
        &self.answer["exposures"]["coverage"]
    }

    /// The answer's own facts: what stands beside the exposures.
    fn facts(&self) -> Vec<(String, String)> {
        const ELSEWHERE: [&str; 8] = [
            "queryId",
            "type",
            "query",
            "currency",
            "score",
            "label",
            "exposures",
            "report",
        ];
        let Some(members) = self.answer.as_object() else {
            return Vec::new();
        };
        let shown = |(name, value): (&String, &Value)| match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) if !ELSEWHERE.contains(&name.as_str()) => {
                Some((self.page.word("monitoring.fact", name), plain(value)))
            }
            _ => None,
        };
        members.iter().filter_map(shown).collect()
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

async fn detail(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Problem> {
    let scope = member.scope()?;
    let missing = || Problem::not_found("There is no such screening in this account");
    let id = Uuid::parse_str(&id).map_err(|_| missing())?;
    let screening = monitoring::find(&app, scope, id).await?.ok_or_else(missing)?;
    let answer: Value = serde_json::from_str(&screening.response).unwrap_or_default();
    page::html(QueryPage {
        has_picture: monitoring::picture(&app, scope, id).await?.is_some(),
        pretty: serde_json::to_string_pretty(&answer).unwrap_or_default(),
        page,
        screening,
        answer,
    })
}

async fn picture(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("There is no such screening in this account");
    let id = Uuid::parse_str(&id).map_err(|_| missing())?;
    let picture = monitoring::picture(&app, member.scope()?, id)
        .await?
        .ok_or_else(missing)?;
    let headers = [
        (CONTENT_TYPE, "image/svg+xml"),
        // Opened by itself it runs nothing and fetches nothing, whatever a label was called.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    Ok((headers, picture.svg()).into_response())
}
