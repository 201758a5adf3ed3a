//! Figures: volume, outcomes, reasons, the funnel of hosted sessions, response times, and list ages. Each is
//! a chart or a table, and can be exported.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http_server::error::Rejection;
use sanctions::store::ListStatus;
use service::Shared;
use service::insight::{self, Figures, Row, percent};
use service::permissions::Action;
use service::problem::Problem;
use store::flows;
use store::insight::{Range, Tally};
use store::session_events::Split;
use uuid::Uuid;

use super::chart::{self, Chart};
use super::csv;
use super::filters::{DAY_MS, Filters, day_text};
use super::page::{self, Page};
use super::routes::Routes;
use super::session::Member;

/// The longest range, in days.
const MOST_DAYS: i64 = 366;
const USUAL_DAYS: i64 = 30;
const FILTERS: [&str; 4] = ["from", "until", "flow", "split"];

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes.get("/portal/insight", Action::ViewInsight, figures).get(
        "/portal/insight/export",
        Action::ExportCsv,
        export,
    )
}

/// The requested figures, with defaults filled in.
struct FiguresQuery {
    filters: Filters,
    range: Range,
    split: Split,
}

fn asked(page: &Page, raw: Option<&str>) -> Result<FiguresQuery, Problem> {
    let filters = Filters::read(raw, &FILTERS)?;
    let today = page.now() / DAY_MS * DAY_MS;
    let until = filters.day("until")?.unwrap_or(today) + DAY_MS;
    let from = filters.day("from")?.unwrap_or(until - USUAL_DAYS * DAY_MS);
    if from >= until || until - from > MOST_DAYS * DAY_MS {
        let text = format!("until - must be the first day or at most {MOST_DAYS} days after it");
        return Err(Problem::validation(vec![text]));
    }
    let flow_id = match filters.get("flow") {
        Some(id) => Some(
            Uuid::parse_str(id).map_err(|_| Problem::not_found("There is no such Flow in this account"))?,
        ),
        None => None,
    };
    let split = match filters.text("split") {
        "device" => Split::Device,
        "country" => Split::Country,
        _ => Split::Nothing,
    };
    Ok(FiguresQuery {
        range: Range { from, until, flow_id },
        filters,
        split,
    })
}

#[derive(Template)]
#[template(path = "portal/insight.html")]
struct InsightPage {
    page: Page,
    filters: Filters,
    from: String,
    until: String,
    flows: Vec<(String, String)>,
    presets: Vec<(i64, String)>,
    figures: Figures,
    volume: Chart,
    speed: Chart,
    lists: Vec<ListStatus>,
    exports: Option<String>,
}

impl InsightPage {
    fn percent(&self, tally: &Tally) -> String {
        percent(tally.pass_rate())
    }

    fn share(&self, count: &i64) -> i64 {
        let all = self.figures.total.total();
        if all == 0 {
            0
        } else {
            (count * 100 + all / 2) / all
        }
    }

    /// Milliseconds as seconds.
    fn seconds(&self, ms: &Option<i64>) -> String {
        ms.map_or_else(|| "–".to_owned(), |ms| format!("{:.2} s", ms as f64 / 1_000.0))
    }

    fn day(&self, day: &i64) -> String {
        day_text(day * DAY_MS)
    }

    /// The label of a part of the funnel: a class of devices, or a country.
    fn part(&self, part: &Option<String>) -> String {
        match part.as_deref() {
            None => self.page.t("common.unknown"),
            Some(part) if part.len() == 2 => insight::country(part),
            Some(part) => self.page.word("insight.device", part),
        }
    }

    /// The label of a set of document types.
    fn documents(&self, name: &str) -> String {
        if name.is_empty() {
            return self.page.t("insight.documents.none");
        }
        let words = name
            .split(" + ")
            .map(|word| self.page.word("insight.document", word));
        words.collect::<Vec<_>>().join(" + ")
    }

    fn known(&self, name: &str) -> String {
        if name.is_empty() {
            self.page.t("common.unknown")
        } else {
            name.to_owned()
        }
    }

    fn export(&self, what: &str) -> Option<String> {
        self.exports
            .as_ref()
            .map(|_| self.filters.address("/portal/insight/export", &[("what", what)]))
    }
}

async fn figures(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let asked = asked(&page, raw.as_deref())?;
    let flows = flows::list(&mut app.db.read().await?, scope).await?;
    if asked
        .range
        .flow_id
        .is_some_and(|id| flows.iter().all(|flow| flow.id != id))
    {
        return Err(Problem::not_found("There is no such Flow in this account").into());
    }
    let figures = insight::figures(&app, scope, asked.range, asked.split).await?;
    let days: Vec<String> = figures
        .days
        .iter()
        .map(|(day, ..)| day_text(day * DAY_MS)[5..].to_owned())
        .collect();
    let parts = |tally: &Tally| {
        vec![
            tally.pending as f64,
            tally.approved as f64,
            (tally.failed + tally.declined) as f64,
        ]
    };
    let columns: Vec<Vec<f64>> = figures.days.iter().map(|(_, tally, _)| parts(tally)).collect();
    let time = |ms: Option<i64>| ms.map(|ms| ms as f64 / 1_000.0);
    let p50 = figures.days.iter().map(|(_, _, times)| time(times.p50)).collect();
    let p95 = figures.days.iter().map(|(_, _, times)| time(times.p95)).collect();
    let today = page.now() / DAY_MS * DAY_MS;
    let preset = |days: i64| {
        let from = day_text(today - (days - 1) * DAY_MS);
        (
            days,
            format!("/portal/insight?from={from}&until={}", day_text(today)),
        )
    };
    Ok(page::html(InsightPage {
        from: day_text(asked.range.from),
        until: day_text(asked.range.until - DAY_MS),
        flows: flows
            .into_iter()
            .map(|flow| (flow.id.to_string(), flow.name))
            .collect(),
        presets: [7, 30, 90, 365].map(preset).to_vec(),
        volume: chart::columns(&days, &columns),
        speed: chart::lines(&days, &[p50, p95], |seconds| format!("{seconds} s")),
        lists: insight::lists(&app, scope.sandbox).await?,
        exports: member.may(Action::ExportCsv).then(String::new),
        figures,
        filters: asked.filters,
        page,
    })?)
}

async fn export(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    RawQuery(raw): RawQuery,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let asked = asked(&page, raw.as_deref())?;
    let what = Filters::read(raw.as_deref(), &["what"])?;
    let what = what.get("what").unwrap_or("days");
    let figures = insight::figures(&app, scope, asked.range, asked.split).await?;
    let head = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let number = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
    let rows = match what {
        "days" => {
            let mut rows = vec![head(&[
                "day", "attempts", "approved", "declined", "failed", "pending", "p50_ms", "p95_ms",
            ])];
            rows.extend(figures.days.iter().map(|(day, tally, times)| {
                let mut row = vec![day_text(day * DAY_MS)];
                row.extend(counts(tally));
                row.extend([number(times.p50), number(times.p95)]);
                row
            }));
            rows
        }
        "flows" => tallies("flow", &figures.flows),
        "countries" => tallies("country", &figures.countries),
        "documents" => tallies("documents", &figures.documents),
        "reasons" => {
            let mut rows = vec![head(&["code", "meaning", "attempts"])];
            rows.extend(figures.reasons.iter().map(|reason| {
                vec![
                    reason.code.to_string(),
                    reason.meaning.to_owned(),
                    reason.count.to_string(),
                ]
            }));
            rows
        }
        "funnel" => {
            let mut rows = vec![head(&[
                "step",
                "part",
                "reached",
                "completed",
                "dropped",
                "retried",
                "mean_ms",
            ])];
            rows.extend(figures.funnel.iter().map(|step| {
                let counts =
                    [step.reached, step.completed, step.dropped, step.retried].map(|count| count.to_string());
                let mut row = vec![step.step.clone(), step.part.clone().unwrap_or_default()];
                row.extend(counts);
                row.push(number(step.mean_ms));
                row
            }));
            rows
        }
        "lists" => {
            let mut rows = vec![head(&[
                "list",
                "version",
                "entities",
                "imported_at",
                "age_seconds",
                "active",
            ])];
            rows.extend(
                insight::lists(&app, scope.sandbox)
                    .await?
                    .into_iter()
                    .map(|list| {
                        let (entities, age) = (list.entities.to_string(), list.age_seconds.to_string());
                        vec![
                            list.list,
                            list.version,
                            entities,
                            list.imported_at,
                            age,
                            list.active.to_string(),
                        ]
                    }),
            );
            rows
        }
        _ => return Err(Problem::not_found("There is no such table").into()),
    };
    Ok(csv::file(what, &rows)?)
}

fn counts(tally: &Tally) -> [String; 5] {
    [
        tally.total(),
        tally.approved,
        tally.declined,
        tally.failed,
        tally.pending,
    ]
    .map(|count| count.to_string())
}

fn tallies(name: &str, rows: &[Row]) -> Vec<Vec<String>> {
    let head = [name, "attempts", "approved", "declined", "failed", "pending"]
        .map(str::to_owned)
        .to_vec();
    let mut table = vec![head];
    table.extend(rows.iter().map(|row| {
        let mut cells = vec![row.name.clone()];
        cells.extend(counts(&row.tally));
        cells
    }));
    table
}
