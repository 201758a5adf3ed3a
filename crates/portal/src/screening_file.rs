//! Screens a file of customers that a member uploads, and returns a report or a table as a download. Nothing of the file
//! is stored; the audit trail records the numbers only.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Multipart, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use http_server::error::Rejection;
use sanctions::customer_results::{COLUMNS, ScreenedCustomer};
use sanctions::customers::{Customer, CustomerFileError, CustomerReader};
use serde_json::json;
use service::permissions::Action;
use service::problem::Problem;
use service::{Shared, audit_trail, insight, merchants, rates};
use store::audit::Entry;

use super::csv;
use super::page::Page;
use super::routes::Routes;
use super::screening::Desk;
use super::screening_report::{AboutReport, ScreeningReport};
use super::session::Member;

/// The most customers of a file. The form's size has a limit too.
const MOST_CUSTOMERS: usize = 20_000;
/// Customers that are screened under one permit for heavy work, so that verifications are not held up.
const CHUNK: usize = 200;

/// Adds this area's routes.
pub(super) fn routes(routes: Routes) -> Routes {
    routes.post("/portal/screening/file", Action::Screen, screen)
}

/// The uploaded form.
#[derive(Default)]
struct Upload {
    name: String,
    content: Vec<u8>,
    /// Whether the member wants the table and not the report.
    is_table: bool,
}

impl Upload {
    async fn read(mut parts: Multipart) -> Result<Upload, Problem> {
        let unreadable = |_| Problem::invalid("The form could not be read. Reload the page and try again");
        let mut upload = Upload::default();
        while let Some(part) = parts.next_field().await.map_err(unreadable)? {
            match part.name() {
                Some("file") => {
                    let name = part.file_name().unwrap_or_default();
                    upload.name = name.chars().filter(|c| !c.is_control()).take(100).collect();
                    upload.content = part.bytes().await.map_err(unreadable)?.to_vec();
                }
                Some("result") => {
                    upload.is_table = part.text().await.map_err(unreadable)? == "table";
                }
                _ => {}
            }
        }
        Ok(upload)
    }
}

/// The customers of a file, and its columns without meaning.
struct CustomerFile {
    customers: Vec<Customer>,
    ignored: String,
}

/// Reads a file; the inner error is for the member.
fn read(page: &Page, content: &[u8]) -> Result<CustomerFile, String> {
    if content.is_empty() {
        return Err(page.t("screening.file.wrong.none"));
    }
    let text = |error: CustomerFileError| error.to_string();
    let mut reader = CustomerReader::new(content).map_err(text)?;
    let ignored = reader.ignored_columns().collect::<Vec<_>>().join(", ");
    let customers = reader.by_ref().take(MOST_CUSTOMERS + 1);
    let customers: Vec<Customer> = customers.collect::<Result<_, _>>().map_err(text)?;
    match customers.len() {
        0 => Err(page.t("screening.file.wrong.empty")),
        count if count > MOST_CUSTOMERS => {
            let most = MOST_CUSTOMERS.to_string();
            Err(page.tf("screening.file.wrong.many", &[("most", &most)]))
        }
        _ => Ok(CustomerFile { customers, ignored }),
    }
}

async fn screen(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    parts: Multipart,
) -> Result<Response, Rejection> {
    let upload = Upload::read(parts).await?;
    let file = match read(&page, &upload.content) {
        Ok(file) => file,
        Err(wrong) => return Desk::refuse_file(&app, page, &member, wrong).await,
    };
    rates::check_screening_rate(&app, &member.caller()?, member.may(Action::Decide)).await?;
    let (scope, settings) = (member.scope()?, merchants::settings(member.merchant()?)?);
    let confirmed = app.lists.confirm(&app.db).await;
    let lists = match confirmed.and_then(|()| app.lists.for_merchant(scope.sandbox, &settings)) {
        Ok(lists) => lists,
        Err(reason) => {
            audit(&app, &member, &json!({"failed": "lists"}).to_string()).await?;
            return Desk::refuse_lists(&app, page, &member, reason.to_string()).await;
        }
    };
    let options = Arc::new(lists.options(&settings));
    let mut report = ScreeningReport::default();
    let mut rows: Vec<Vec<String>> = vec![COLUMNS.map(str::to_owned).to_vec()];
    for chunk in file.customers.chunks(CHUNK) {
        let (chunk, screener, options) = (chunk.to_vec(), Arc::clone(&lists.screener), Arc::clone(&options));
        let screen = move |customer| ScreenedCustomer::new(&screener, &options, customer);
        let screened = app
            .cpu
            .run(move |_| chunk.into_iter().map(screen).collect::<Vec<_>>());
        for customer in screened.await? {
            if upload.is_table {
                rows.push(customer.row().to_vec());
            }
            report.add(customer);
        }
    }
    let counts = report.counts();
    let versions = lists.screener.lists().iter();
    let versions: HashMap<&String, &String> =
        versions.filter(|(name, _)| lists.names.contains(name)).collect();
    let detail = json!({
        "customers": counts.all, "matches": counts.matches, "hits": counts.hits, "notScreened": counts.not_screened,
        "lists": versions,
    });
    audit(&app, &member, &detail.to_string()).await?;
    let name = format!("screening-{}", jiff::Timestamp::now().strftime("%Y-%m-%d-%H%M"));
    if upload.is_table {
        return Ok(csv::file(&name, &rows)?);
    }
    let mut searched = insight::lists(&app, scope.sandbox).await?;
    searched.retain(|list| lists.names.contains(&list.list));
    for list in &mut searched {
        // Another version may have become active during the screening.
        if let Some(version) = lists.screener.lists().get(&list.list) {
            list.version.clone_from(version);
        }
    }
    let html = report.render(&AboutReport {
        file: &upload.name,
        threshold: options.threshold,
        profile: options.profile,
        lists: &searched,
        ignored: &file.ignored,
    });
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}.html\""),
        ),
    ];
    Ok((headers, html.map_err(Problem::internal)?).into_response())
}

async fn audit(app: &Shared, member: &Member, detail: &str) -> Result<(), Problem> {
    let entry = Entry {
        actor: &member.actor(),
        action: "screening.searched",
        subject: "by file",
        detail,
    };
    audit_trail::write(&app.db, member.scope()?, &entry).await
}
