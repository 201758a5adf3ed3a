//! The page of one screening: its query, the evidence for its score with every part, and the result of a
//! replay.

use askama::Template;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use chain::picture::Picture;
use chain::profile::Profile;
use http_server::error::Rejection;
use http_server::path::PathText;
use serde_json::Value;
use service::Shared;
use service::monitoring::{self, AddressLabel, Evidence, ReadProfileError, ReplayError};
use service::problem::Problem;
use store::monitoring::Screening;
use verification::risk_assessment::RiskAssessment;

use super::super::page::{self, Page};
use super::super::session::Member;
use super::super::show_once;
use super::formatting::{one_digit, outcome, plain, score, three_digits};
use super::lookup::find;
use super::replay::{self, Difference, ReplayResult};

#[derive(Template)]
#[template(path = "portal/monitoring-query.html")]
struct QueryPage {
    page: Page,
    screening: Screening,
    /// The stored API response.
    answer: Value,
    /// The exposures behind the score, also if the response omitted them; null if unknown.
    exposures: Value,
    /// The conclusion that the score permits.
    verdict: RiskAssessment,
    /// The exposures as JSON text, if the response omitted them.
    pretty_exposures: String,
    pretty: String,
    evidence: Option<Evidence>,
    /// The weights of the scoring profile.
    profile: Option<Profile>,
    /// Why the decision cannot be replayed; empty if it can.
    why_not: String,
    /// The result of a replay just made.
    again: Option<ReplayResult>,
}

/// How much of the incoming or outgoing money was traced.
struct CoverageSide<'a> {
    direction: &'static str,
    of: &'a Value,
    /// Why the rest was not traced, with the share for each reason.
    cuts: Vec<(String, String)>,
}

/// A flow of money between two parties of the picture.
struct Flow<'a> {
    from: &'a str,
    to: &'a str,
    percentage: String,
}

impl QueryPage {
    /// The labels behind the score; `None` if they were not stored.
    fn labels(&self) -> Option<&[AddressLabel]> {
        self.evidence.as_ref()?.labels.as_deref()
    }

    /// A sentence that states the conclusion.
    fn conclusion(&self) -> String {
        let bound = self.exact(self.coverage(), "scoreUpperBound");
        let key = format!("monitoring.conclusion.{}", self.verdict.as_str());
        self.page.tf(&key, &[("bound", &bound)])
    }

    /// A sentence that states why the source failed; empty if it did not, or if no reason was recorded.
    fn why(&self) -> String {
        let why = self.screening.failure.as_ref();
        why.map_or_else(String::new, |why| self.page.t(&format!("monitoring.why.{why}")))
    }

    /// Whether the last traced block was already old at the time of the screening.
    fn is_stale(&self) -> bool {
        self.coverage()["stale"] == true
    }

    fn picture(&self) -> Option<&Picture> {
        self.evidence.as_ref().map(|evidence| &evidence.picture)
    }

    /// The picture's links as table rows.
    fn flows(&self) -> Vec<Flow<'_>> {
        let Some(picture) = self.picture() else {
            return Vec::new();
        };
        let name = |place: usize| picture.nodes.get(place).map_or("", |node| node.name.as_str());
        let flows = picture.links.iter().map(|link| Flow {
            from: name(link.from),
            to: name(link.to),
            percentage: one_digit(link.percentage),
        });
        flows.collect()
    }

    /// The sources and versions behind the decision.
    fn basis(&self) -> Vec<(String, String)> {
        let of = |name: &str| {
            (
                self.page.word("monitoring.member", name),
                self.text(&self.exposures, name),
            )
        };
        let word = |name: &str| {
            let (what, word) = of(name);
            (what, self.page.word(&format!("monitoring.{name}"), &word))
        };
        let mut basis = vec![word("source")];
        if self.is_traced() {
            basis.push(of("asOfBlock"));
            if self.exposures["asOfTime"].is_string() {
                basis.push(of("asOfTime"));
            }
            basis.push(word("method"));
        }
        if let Some(evidence) = &self.evidence {
            let at = (self.page.t("monitoring.labels_at"), self.page.time(evidence.at));
            basis.extend([at, of("labelSetVersion"), of("profileVersion")]);
        }
        basis
    }

    /// Coverage by direction; empty if no money was traced.
    fn seen(&self) -> Vec<CoverageSide<'_>> {
        let coverage = self.coverage();
        let sides = [("incoming", coverage), ("outgoing", &coverage["outgoing"])];
        let seen = sides.into_iter().filter(|(_, of)| of.is_object());
        let seen = seen.map(|(direction, of)| {
            let cuts = of["cuts"].as_object().into_iter().flatten();
            let cuts = cuts.map(|(why, part)| {
                let part = part.as_f64().map_or_else(String::new, one_digit);
                (self.page.word("monitoring.cut", why), part)
            });
            CoverageSide {
                direction,
                of,
                cuts: cuts.collect(),
            }
        });
        seen.collect()
    }

    /// A difference as the page shows it.
    fn told(&self, change: &monitoring::Change) -> Difference {
        Difference::of(&self.page, change)
    }

    /// Whether a source traced the chain.
    fn is_traced(&self) -> bool {
        self.exposures["asOfBlock"].is_u64()
    }

    fn is_truncated(&self) -> bool {
        self.coverage()["truncated"] == true
    }

    /// The items of a list in `exposures`.
    fn exposures(&self, name: &str) -> &[Value] {
        self.exposures[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// A member as text.
    fn text(&self, item: &Value, name: &str) -> String {
        plain(&item[name])
    }

    /// A member with a fixed set of words, translated.
    fn word(&self, item: &Value, name: &str) -> String {
        self.page.word("monitoring.word", &plain(&item[name]))
    }

    /// A number with one decimal digit.
    fn number(&self, item: &Value, name: &str) -> String {
        item[name].as_f64().map_or_else(|| "–".to_owned(), one_digit)
    }

    /// A number with at most three decimal digits, so that the displayed parts add up.
    fn exact(&self, item: &Value, name: &str) -> String {
        item[name].as_f64().map_or_else(|| "–".to_owned(), three_digits)
    }

    /// The sum of the parts, which equals the score.
    fn sum(&self) -> String {
        let points = self.exposures("contributions").iter();
        three_digits(points.filter_map(|item| item["points"].as_f64()).sum())
    }

    fn coverage(&self) -> &Value {
        &self.exposures["coverage"]
    }

    /// The text shown if the score has no parts to list.
    fn no_contributions(&self) -> String {
        self.page.t(match self.screening.score {
            _ if self.exposures.is_null() => "monitoring.not_kept",
            Some(score) if score > 0.0 => "monitoring.no_parts",
            _ => "monitoring.no_contributions",
        })
    }

    /// The remaining simple members of the response, shown next to the exposures.
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

/// `GET /portal/monitoring/{id}`
pub(super) async fn detail(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let screening = find(&app, &member, &id).await?;
    let scope = member.scope()?;
    let (evidence, profile) = {
        let conn = &mut app.db.read().await?;
        let evidence = Evidence::read(conn, scope, &screening).await?;
        let version = evidence.as_ref().ok().and_then(Evidence::profile_version);
        let profile = match version {
            Some(_) => match monitoring::profile(conn, scope.merchant_id, version).await {
                Ok(Some(profile)) => Ok(profile),
                Ok(None) => Err(ReplayError::ProfileGone),
                Err(ReadProfileError::Unreadable(_)) => Err(ReplayError::ProfileUnreadable),
                Err(ReadProfileError::Store(error)) => return Err(error.into()),
            },
            None => Err(ReplayError::ProfileGone),
        };
        (evidence, profile)
    };
    let reason = evidence.as_ref().err().or(profile.as_ref().err());
    let why_not = reason.map_or_else(String::new, |reason| replay::obstacle_text(&page, reason));
    let on = format!("/portal/monitoring/{}", screening.id);
    let again = show_once::take::<ReplayResult>(&app, &member, &on).await?;
    let answer: Value = serde_json::from_str(&screening.response).unwrap_or_default();
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let evidence = evidence.ok();
    let kept = evidence.as_ref().map(|evidence| &evidence.exposures);
    let (exposures, pretty_exposures) = match (&answer["exposures"], kept) {
        (Value::Null, Some(kept)) => (kept.clone(), pretty(kept)),
        (answered, _) => (answered.clone(), String::new()),
    };
    let verdict = monitoring::assess(&screening, &exposures);
    Ok(page::html(QueryPage {
        exposures,
        verdict,
        pretty_exposures,
        pretty: pretty(&answer),
        evidence,
        profile: profile.ok(),
        why_not,
        again,
        page,
        screening,
        answer,
    })?)
}

/// The flow of money as an SVG image.
pub(super) async fn picture(
    State(app): State<Shared>,
    member: Member,
    PathText(id): PathText,
) -> Result<Response, Rejection> {
    let screening = find(&app, &member, &id).await?;
    let missing = || Problem::not_found("There is no picture of this screening");
    let picture = monitoring::picture(&app, member.scope()?, screening.id).await?;
    let headers = [
        (CONTENT_TYPE, "image/svg+xml"),
        // If the image is opened alone, it runs and fetches nothing, even if a label contains markup.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    Ok((headers, picture.ok_or_else(missing)?.svg()).into_response())
}
