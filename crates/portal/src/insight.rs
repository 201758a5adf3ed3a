//! Figures: volume, outcomes, reasons, the funnel of hosted sessions, response times, and list ages. Each is
//! a chart or a table, and can be exported.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http_server::error::Rejection;
use sanctions::store::ListStatus;
use service::Shared;
use service::hosted::DEVICES;
use service::insight::{self, Figures, Row, percent};
use service::permissions::Action;
use service::problem::Problem;
use store::flows;
use store::insight::{Range, Tally};
use store::session_events::{DropOff, FunnelFilter, FunnelStep, Split};
use uuid::Uuid;
use verification::codes::Code;

use super::chart::{self, Chart};
use super::csv;
use super::filters::{DAY_MS, Filters, day_text};
use super::page::{self, Page};
use super::routes::Routes;
use super::session::Member;

/// The longest range, in days.
const MOST_DAYS: i64 = 366;
const USUAL_DAYS: i64 = 30;
const FILTERS: [&str; 6] = ["from", "until", "flow", "device", "language", "split"];

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
}

impl FiguresQuery {
    /// The filters and the split of the events of hosted sessions.
    fn sessions(&self) -> FunnelFilter<'_> {
        FunnelFilter {
            device: self.filters.get("device"),
            language: self.filters.get("language"),
            split: match self.filters.text("split") {
                "device" => Split::Device,
                "country" => Split::Country,
                "language" => Split::Language,
                _ => Split::Nothing,
            },
            ..FunnelFilter::default()
        }
    }
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
    let is_device = filters.get("device").is_none_or(|word| DEVICES.contains(&word));
    if !is_device {
        let text = format!("device - must be one of {}", DEVICES.join(", "));
        return Err(Problem::validation(vec![text]));
    }
    let mut codes = reference::languages::languages()
        .iter()
        .map(|language| language.code);
    if filters
        .get("language")
        .is_some_and(|code| codes.all(|known| known != code))
    {
        let text = "language - must be the code of a language of the hosted page, such as de";
        return Err(Problem::validation(vec![text.to_owned()]));
    }
    Ok(FiguresQuery {
        range: Range { from, until, flow_id },
        filters,
    })
}

/// A share in whole percent, or 0 if the total is 0.
fn percent_of(count: i64, all: i64) -> i64 {
    if all == 0 {
        0
    } else {
        (count * 100 + all / 2) / all
    }
}

#[derive(Template)]
#[template(path = "portal/insight.html")]
struct InsightPage {
    page: Page,
    filters: Filters,
    from: String,
    until: String,
    flows: Vec<(String, String)>,
    /// The languages of the hosted page: code and English name.
    languages: Vec<(&'static str, &'static str)>,
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
        percent_of(*count, self.figures.total.total())
    }

    /// Milliseconds as seconds.
    fn seconds(&self, ms: &Option<i64>) -> String {
        ms.map_or_else(|| "–".to_owned(), |ms| format!("{:.2} s", ms as f64 / 1_000.0))
    }

    fn day(&self, day: &i64) -> String {
        day_text(day * DAY_MS)
    }

    /// The label of a part of the funnel: a class of devices, a country or a language.
    fn part(&self, part: &Option<String>) -> String {
        let Some(part) = part else {
            return self.page.t("common.unknown");
        };
        match self.filters.text("split") {
            "country" => insight::country(part),
            "language" => reference::languages::language(part)
                .map_or(part.as_str(), |language| language.english_name)
                .to_owned(),
            _ => self.page.word("insight.device", part),
        }
    }

    /// The rows of the same part as this step.
    fn rows_of_part(&self, step: &FunnelStep) -> impl Iterator<Item = &FunnelStep> {
        self.figures.funnel.iter().filter(|row| row.part == step.part)
    }

    /// The sessions that reached a step, in percent of the step that most sessions of its part reached. Usually
    /// that step is `open`, but sessions on a second device begin at a later step.
    fn reach(&self, step: &FunnelStep) -> i64 {
        let most = self.rows_of_part(step).map(|row| row.reached).max();
        percent_of(step.reached, most.unwrap_or_default())
    }

    /// Whether more sessions dropped off at this step than at any other of its part.
    fn loses_most(&self, step: &FunnelStep) -> bool {
        let mut others = self.rows_of_part(step).filter(|row| row.step != step.step);
        step.dropped > 0 && others.all(|row| row.dropped < step.dropped)
    }

    /// The sessions of a reason in percent of all that dropped off.
    fn drop_off_share(&self, row: &DropOff) -> i64 {
        let all: i64 = self.figures.drop_offs.iter().map(|row| row.sessions).sum();
        percent_of(row.sessions, all)
    }

    /// The label of a reason for dropping off: a failure code's meaning, or the text of a word.
    fn drop_off_reason(&self, reason: &str) -> String {
        match reason.parse().ok().and_then(Code::from_number) {
            Some(code) => format!("{} ({reason})", code.info().meaning),
            None => self.page.word("insight.detail", reason),
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
    let figures = insight::figures(&app, scope, asked.range, asked.sessions()).await?;
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
    let mut languages: Vec<(&str, &str)> = reference::languages::languages()
        .iter()
        .map(|language| (language.code, language.english_name))
        .collect();
    languages.sort_by_key(|(_, name)| *name);
    Ok(page::html(InsightPage {
        from: day_text(asked.range.from),
        until: day_text(asked.range.until - DAY_MS),
        flows: flows
            .into_iter()
            .map(|flow| (flow.id.to_string(), flow.name))
            .collect(),
        languages,
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
    let figures = insight::figures(&app, scope, asked.range, asked.sessions()).await?;
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
                "median_ms",
                "timed",
            ])];
            rows.extend(figures.funnel.iter().map(|step| {
                let counts =
                    [step.reached, step.completed, step.dropped, step.retried].map(|count| count.to_string());
                let mut row = vec![step.step.clone(), step.part.clone().unwrap_or_default()];
                row.extend(counts);
                row.extend([number(step.median_ms), step.timed.to_string()]);
                row
            }));
            rows
        }
        "dropoff" => {
            let mut rows = vec![head(&["step", "reason", "sessions"])];
            rows.extend(
                figures
                    .drop_offs
                    .iter()
                    .map(|row| vec![row.step.clone(), row.reason.clone(), row.sessions.to_string()]),
            );
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

#[cfg(test)]
mod tests {
    use store::session_events::OTHER_REASONS;
    use verification::hosted::{EVENT_DETAILS, PAGE_STEPS};

    use super::super::texts::Texts;
    use super::*;

    #[test]
    fn every_reason_for_dropping_off_has_its_label() {
        let texts = Texts::choose(None, None);
        for reason in EVENT_DETAILS.into_iter().chain(OTHER_REASONS) {
            assert!(texts.has(&format!("insight.detail.{reason}")), "{reason}");
            assert_eq!(
                reason.parse::<u16>().ok(),
                None,
                "{reason} reads like a failure code"
            );
        }
        for reason in OTHER_REASONS {
            assert!(!EVENT_DETAILS.contains(&reason), "{reason} has two meanings");
        }
        for step in PAGE_STEPS {
            assert!(texts.has(&format!("insight.step.{step}")), "{step}");
        }
        for device in DEVICES {
            assert!(texts.has(&format!("insight.device.{device}")), "{device}");
        }
    }

    #[test]
    fn shares_are_rounded() {
        for (count, all, expected) in [(0, 0, 0), (1, 3, 33), (2, 3, 67), (1, 200, 1), (5, 5, 100)] {
            assert_eq!(percent_of(count, all), expected, "{count} of {all}");
        }
    }
}
