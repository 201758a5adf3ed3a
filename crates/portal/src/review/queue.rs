//! The review queue: filters in the address (no personal data), keyset pagination, saved views, and the next
//! attempt to review.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum_extra::extract::Form;
use http_server::error::Rejection;
use serde::Deserialize;
use service::permissions::Action;
use service::problem::{Kind, Problem};
use service::{Shared, applicant_view, review_tools, reviews};
use store::merchants::Merchant;
use store::review::{self, Filter, PendingAttempt, QueueOrder, QueuePosition};
use store::saved_views::{self, SavedView};
use store::{Scope, flows};
use uuid::Uuid;
use verification::codes::{CODES, Code};
use verification::review::Priority;

use crate::page::{Page, done, html};
use crate::session::Member;

/// Attempts on one page.
const PAGE: i64 = 50;
/// The number at which the count of pending attempts stops.
const COUNTED: i64 = 1_000;
const HOUR_MS: i64 = 3_600_000;

/// The filters of the address, as typed. Empty ones do not apply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueQuery {
    flow: String,
    code: String,
    document: String,
    country: String,
    /// The minimum waiting time, in hours.
    age: String,
    /// `free`, `mine` or `second`.
    claim: String,
    /// `oldest`; otherwise the order is by priority.
    order: String,
    /// The last attempt of the previous page: `PRIORITY-NUMBER`.
    after: String,
}

/// Parses a filter that is set. `field` names it in the error.
fn parse_filter<T>(
    text: &str,
    field: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, NoSuchValue> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    parse(text).map(Some).ok_or(NoSuchValue(field))
}

/// The field of a filter whose value does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoSuchValue(&'static str);

impl From<NoSuchValue> for Problem {
    fn from(NoSuchValue(field): NoSuchValue) -> Self {
        Problem::invalid(format!("{field} - this filter has no such value"))
    }
}

impl QueueQuery {
    fn filter(&self, staff_id: Uuid, now: i64) -> Result<Filter, NoSuchValue> {
        let hours = parse_filter(&self.age, "age", |text| {
            text.parse::<i64>()
                .ok()
                .filter(|hours| (0..=100_000).contains(hours))
        })?;
        let claim = parse_filter(&self.claim, "claim", |text| {
            ["free", "mine", "second"]
                .iter()
                .find(|known| **known == text)
                .copied()
        })?;
        Ok(Filter {
            flow_id: parse_filter(&self.flow, "flow", |text| Uuid::parse_str(text).ok())?,
            code: parse_filter(&self.code, "code", |text| {
                Code::from_number(text.parse().ok()?).map(|code| i64::from(code.number()))
            })?,
            document_type: parse_filter(&self.document, "document", |text| {
                text.parse::<reference::DocumentType>()
                    .ok()
                    .map(|found| found.as_str().to_owned())
            })?,
            country: parse_filter(&self.country, "country", |text| {
                verification::known_country(&text.to_ascii_uppercase(), true)
                    .map(|found| found.alpha3.to_owned())
            })?,
            created_until: hours.map(|hours| now - hours * HOUR_MS),
            claimed_by: (claim == Some("mine")).then_some(staff_id),
            unclaimed: claim == Some("free"),
            proposed: claim == Some("second"),
            not_proposed_by: None,
        })
    }

    fn order(&self) -> QueueOrder {
        if self.order == "oldest" {
            QueueOrder::Oldest
        } else {
            QueueOrder::Priority
        }
    }

    fn after(&self) -> Result<QueuePosition, NoSuchValue> {
        let after = parse_filter(&self.after, "after", |text| {
            let (priority, log_id) = text.split_once('-')?;
            Some(QueuePosition {
                priority: priority.parse().ok()?,
                log_id: log_id.parse().ok()?,
            })
        })?;
        Ok(after.unwrap_or_default())
    }

    /// The filters as a query string, without the position.
    fn text(&self) -> String {
        let fields = [
            ("flow", &self.flow),
            ("code", &self.code),
            ("document", &self.document),
            ("country", &self.country),
            ("age", &self.age),
            ("claim", &self.claim),
            ("order", &self.order),
        ];
        let plain = |text: &str| {
            text.chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
                .collect::<String>()
        };
        let pairs = fields
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty())
            .map(|(name, value)| format!("{name}={}", plain(value)));
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Parses a query string; unknown fields are ignored.
    fn parse(text: &str) -> QueueQuery {
        let mut query = QueueQuery::default();
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let field = match name {
                "flow" => &mut query.flow,
                "code" => &mut query.code,
                "document" => &mut query.document,
                "country" => &mut query.country,
                "age" => &mut query.age,
                "claim" => &mut query.claim,
                "order" => &mut query.order,
                _ => continue,
            };
            *field = value.to_owned();
        }
        query
    }
}

#[derive(Template)]
#[template(path = "portal/queue.html")]
struct QueuePage {
    page: Page,
    rows: Vec<Row>,
    query: QueueQuery,
    here: String,
    older: Option<String>,
    count: String,
    filtered: bool,
    flows: Vec<(String, String)>,
    codes: Vec<(u16, &'static str)>,
    documents: Vec<&'static str>,
    views: Vec<SavedView>,
    may_decide: bool,
    may_reasons: bool,
    first_page: bool,
    /// The filter whose value does not exist. Nothing is listed then.
    wrong: Option<&'static str>,
}

impl QueuePage {
    fn is_wrong(&self, field: &str) -> bool {
        self.wrong == Some(field)
    }
}

/// A pending attempt as the page shows it.
struct Row {
    log_id: i64,
    priority: &'static str,
    created_at: i64,
    flow_name: String,
    country: String,
    documents: Vec<String>,
    reasons: Vec<(u16, &'static str)>,
    /// Why it waits although no code states it: `reopened` or `always`. Empty if a code or the priority does.
    waits: &'static str,
    external_user_id: String,
    /// The claim's owner, and whether that is the reader.
    claim: Option<(String, bool)>,
    /// Who proposed a decision.
    proposed_by: Option<String>,
}

/// `GET /portal/queue`
pub async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Query(query): Query<QueueQuery>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let read = query
        .filter(member.staff_id, page.now())
        .and_then(|filter| Ok((filter, query.after()?)));
    let wrong = read.as_ref().err().map(|NoSuchValue(field)| *field);
    let (filter, after) = read.unwrap_or_default();
    let mut conn = app.db.read().await?;
    let mut rows = match wrong {
        None => review::queue(&mut conn, scope, &filter, query.order(), after, PAGE + 1).await?,
        Some(_) => Vec::new(),
    };
    let more = rows.len() as i64 > PAGE;
    rows.truncate(PAGE as usize);
    let older = rows.last().filter(|_| more).map(|last| {
        let here = query.text();
        let joint = if here.is_empty() { "" } else { "&" };
        format!(
            "/portal/queue?{here}{joint}after={}-{}",
            last.priority, last.log_id
        )
    });
    let counted = match wrong {
        None => review::count(&mut conn, scope, &filter, COUNTED).await?,
        Some(_) => 0,
    };
    let mentioned = rows.iter().flat_map(|row| {
        row.claim
            .iter()
            .map(|claim| claim.staff_id)
            .chain(row.proposed_by)
    });
    let names = applicant_view::staff_names(&mut conn, mentioned.collect()).await?;
    let name = |id: &Uuid| names.get(id).cloned().unwrap_or_else(|| id.to_string());
    let all_flows = flows::list(&mut conn, scope).await?;
    let merchant: &Merchant = member.merchant()?;
    let views = saved_views::list(&mut conn, merchant.id, member.staff_id).await?;
    drop(conn);
    let shown: Vec<i64> = rows.iter().map(|row| row.log_id).collect();
    applicant_view::record_queue_view(&app, scope, &member.actor(), &shown).await?;
    let rows = rows
        .into_iter()
        .map(|waiting: PendingAttempt| Row {
            log_id: waiting.log_id,
            priority: Priority::from_number(waiting.priority).as_str(),
            created_at: waiting.created_at,
            country: waiting.country.unwrap_or_default(),
            documents: serde_json::from_str(&waiting.document_types).unwrap_or_default(),
            waits: match (Priority::from_number(waiting.priority), waiting.decided_at) {
                (_, Some(_)) => "reopened",
                (Priority::Other, None) => "always",
                _ => "",
            },
            reasons: meanings(&waiting.codes),
            external_user_id: waiting.external_user_id,
            claim: waiting
                .claim
                .map(|claim| (name(&claim.staff_id), claim.staff_id == member.staff_id)),
            proposed_by: waiting.is_proposed.then(|| match &waiting.proposed_by {
                Some(staff_id) => name(staff_id),
                None if waiting.proposed_by_key => page.t("second.api_key"),
                None => page.t("second.command_line"),
            }),
            flow_name: waiting.flow_name,
        })
        .collect();
    let count = if counted >= COUNTED {
        format!("{COUNTED}+")
    } else {
        counted.to_string()
    };
    let mut response = html(QueuePage {
        rows,
        here: query.text(),
        older,
        count,
        filtered: wrong.is_some() || filter != Filter::default(),
        wrong,
        flows: all_flows
            .into_iter()
            .map(|flow| (flow.id.to_string(), flow.name))
            .collect(),
        codes: CODES
            .iter()
            .map(|(_, info)| (info.number, info.meaning))
            .collect(),
        documents: reference::DocumentType::ALL
            .iter()
            .map(|found| found.as_str())
            .collect(),
        views,
        may_decide: member.may(Action::Decide),
        may_reasons: member.may(Action::ManageReasons),
        first_page: query.after.is_empty(),
        query,
        page,
    })?;
    if wrong.is_some() {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(response)
}

/// The codes in a JSON column, with the contract's wording.
pub fn meanings(codes: &str) -> Vec<(u16, &'static str)> {
    let codes: Vec<u16> = serde_json::from_str(codes).unwrap_or_default();
    codes
        .into_iter()
        .filter_map(Code::from_number)
        .map(|code| (code.number(), code.info().meaning))
        .collect()
}

/// The form of the "next" button.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct NextForm {
    /// The queue's filters, as its address contains them.
    q: String,
    /// The attempt that the reader leaves.
    not: Option<i64>,
}

/// `POST /portal/queue/next`: claims the first attempt that no colleague reviews, and redirects to it.
pub async fn next(
    State(app): State<Shared>,
    member: Member,
    page: Page,
    Form(form): Form<NextForm>,
) -> Result<Response, Rejection> {
    let query = QueueQuery::parse(&form.q);
    let filter = query.filter(member.staff_id, page.now())?;
    let actor = member.actor();
    let by = (member.staff_id, actor.as_str());
    let claimed = reviews::claim_next(&app.db, member.scope()?, &filter, query.order(), by, form.not).await?;
    let text = query.text();
    Ok(match claimed {
        Some(log_id) if text.is_empty() => {
            Redirect::to(&format!("/portal/applicants/{log_id}")).into_response()
        }
        Some(log_id) => {
            Redirect::to(&format!("/portal/applicants/{log_id}?q={}", escaped(&text))).into_response()
        }
        None => done(&format!("/portal/queue?{text}"), "queue_empty"),
    })
}

/// Escapes a query string for use as a value in another one.
pub fn escaped(query: &str) -> String {
    query.replace('=', "%3D").replace('&', "%26")
}

/// Parses filters that came as one value and writes them again, so that nothing else passes.
pub fn sanitise_filters(query: &str) -> String {
    QueueQuery::parse(query).text()
}

/// A view to save or to delete.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ViewForm {
    name: String,
    query: String,
}

/// `POST /portal/queue/views`
pub async fn keep_view(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<ViewForm>,
) -> Result<Response, Rejection> {
    let name = form.name.trim();
    if name.is_empty() || name.chars().count() > 60 {
        let text = "name - must have 1 to 60 characters";
        return Err(Problem::invalid(text).named("view_name").into());
    }
    let view = SavedView {
        name: name.to_owned(),
        query: sanitise_filters(&form.query),
    };
    let Scope { merchant_id, .. } = member.scope()?;
    match review_tools::save_view(&app.db, merchant_id, member.staff_id, &view).await {
        Err(store::Error::LimitReached) => {
            let text = format!(
                "You already have {} saved views. Delete one first",
                review_tools::MOST_VIEWS
            );
            Err(Problem::new(Kind::Conflict, text).named("views_most").into())
        }
        kept => {
            kept?;
            Ok(done(&format!("/portal/queue?{}", view.query), "saved"))
        }
    }
}

/// `POST /portal/queue/views/delete`
pub async fn forget_view(
    State(app): State<Shared>,
    member: Member,
    Form(form): Form<ViewForm>,
) -> Result<Response, Rejection> {
    let Scope { merchant_id, .. } = member.scope()?;
    review_tools::delete_view(&app.db, merchant_id, member.staff_id, &form.name).await?;
    Ok(done("/portal/queue", "deleted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_and_written() {
        let text = "code=2702&document=PASSPORT&country=DEU&age=4&claim=mine&order=oldest";
        let query = QueueQuery::parse(text);
        assert_eq!(query.text(), text);
        let staff_id = Uuid::from_u128(1);
        let filter = query.filter(staff_id, 10 * HOUR_MS).unwrap();
        assert_eq!(
            filter,
            Filter {
                code: Some(2702),
                document_type: Some("PASSPORT".into()),
                country: Some("DEU".into()),
                created_until: Some(6 * HOUR_MS),
                claimed_by: Some(staff_id),
                ..Filter::default()
            }
        );
        assert_eq!(query.order(), QueueOrder::Oldest);
        for bad in [
            "flow=x",
            "code=1",
            "document=VISA",
            "country=XXX",
            "age=-1",
            "age=x",
            "claim=all",
        ] {
            assert!(QueueQuery::parse(bad).filter(staff_id, 0).is_err(), "{bad}");
        }
        assert_eq!(
            sanitise_filters("code=2702\"><script>&x=1&flow=a/../b"),
            "flow=ab&code=2702script"
        );
        assert_eq!(sanitise_filters(""), "");
        let after = QueueQuery {
            after: "2-17".into(),
            ..QueueQuery::default()
        };
        assert_eq!(
            after.after().unwrap(),
            QueuePosition {
                priority: 2,
                log_id: 17
            }
        );
    }
}
