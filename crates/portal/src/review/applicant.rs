//! The applicant page: one attempt with its images, checks, comparisons, hits and history, and the decision
//! bar.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_server::error::Rejection;
use serde::Deserialize;
use service::applicant_view::{self, View};
use service::attempt_detail::{FraudKind, FraudSign, PictureMeasures};
use service::four_eyes::pages::{Members, ProposalFacts};
use service::permissions::Action;
use service::problem::{Family, Problem};
use service::{Shared, four_eyes, people, suppressions};
use store::reason_templates::{self, ReasonTemplate};
use store::review::Proposal;
use verification::hits::Disposition;
use verification::judge::expected::Verdict;
use verification::reuse::{Likeness, PictureReuse};
use verification::status::{AttemptStatus, Decision};

use super::checks::{self, Check};
use super::fields::{self, ExpectedRow, Row, iso_date};
use super::forms::ReviewForm;
use super::hits::{self, Hit, PersonDetails};
use super::queue::sanitise_filters;
use super::reasons;
use super::timeline::{self, Event};
use crate::page::{Page, html};
use crate::proposal::Offer;
use crate::session::Member;
use crate::show_once;

/// The address of an attempt's page. The page also shows a new link once.
pub fn address(log_id: i64) -> String {
    format!("/portal/applicants/{log_id}")
}

/// An image with the regions found on it.
struct Picture {
    file: String,
    /// Whether browsers can show it; otherwise it can only be downloaded.
    shown: bool,
    boxes: Vec<Overlay>,
}

/// A box on an image. Its coordinates are fractions of the image's width and height, 0–1.
struct Overlay {
    /// `face`, `mrz` or `text`.
    kind: &'static str,
    left: f32,
    top: f32,
    width: f32,
    height: f32,
    /// The text that was read there.
    text: String,
}

/// The comparison table of a document.
struct Table {
    document: String,
    rows: Vec<Row>,
}

/// A person with a similar face.
struct Similar {
    facemap_id: String,
    similarity: String,
    name: String,
    /// The attempt whose selfie is shown.
    log_id: Option<i64>,
}

/// A picture that was in an earlier attempt under another user ID. It names no applicant: opening the attempt needs its
/// own permission and leaves its own trace.
struct Reuse {
    /// How the picture resembles the earlier one.
    sentence: String,
    log_id: i64,
    /// Whether the earlier attempt still exists.
    is_logged: bool,
}

#[derive(Template)]
#[template(path = "portal/applicant.html")]
struct ApplicantPage {
    page: Page,
    log_id: i64,
    facemap_id: String,
    status: AttemptStatus,
    name: String,
    facts: Vec<(String, String)>,
    codes: Vec<(u16, &'static str)>,
    /// Why it waits although no check failed.
    waits: Option<String>,
    forced: Option<u16>,
    near_duplicate: bool,
    /// Why a very similar face was not recognised.
    undecided: Option<String>,
    /// Why it is on hold without a code: keys of the texts `review.hold.…`.
    holds: Vec<&'static str>,
    pictures: Vec<Picture>,
    checks: Vec<Check>,
    tables: Vec<Table>,
    taken: String,
    /// The comparison with the person whom the account expects.
    expected: Vec<ExpectedRow>,
    hits: Vec<Hit>,
    suppressed: Vec<Hit>,
    suppress_reasons: [&'static str; 5],
    dispositions: [Disposition; 3],
    similar: Vec<Similar>,
    /// Pictures that were in earlier attempts.
    reuses: Vec<Reuse>,
    /// Whether the attempt has a selfie to compare theirs with.
    selfie: bool,
    events: Vec<Event>,
    all_numbers: String,
    version: i64,
    asks_two: bool,
    /// The proposed decision with its proposer, the reason, and what the reader may do with it.
    proposal: Option<(String, String, Offer)>,
    /// Who claimed the attempt, and whether that is the reader.
    claim: Option<(String, bool)>,
    claimed_until: i64,
    reasons: Vec<ReasonTemplate>,
    /// The form as it was sent, if it was rejected.
    sent: ReviewForm,
    /// The field at fault (empty if none in particular), and the error.
    fault: Option<(&'static str, String)>,
    link: Option<String>,
    can_link: bool,
    q: String,
    may_decide: bool,
    may_reopen: bool,
    may_suppress: bool,
    may_merge: bool,
    /// The person was once verified by a face but this attempt was not, so the person's suppressions do not
    /// apply to it.
    unproven: bool,
}

impl ApplicantPage {
    /// Whether a claim is useful to the reader. A proposer only waits for a second person.
    fn may_claim(&self) -> bool {
        let is_own = |(_, _, offer): &(String, String, Offer)| offer.is_own;
        self.may_decide
            && self.status == AttemptStatus::Pending
            && !self.proposal.as_ref().is_some_and(is_own)
    }

    /// Whether the reader may decide now, because no colleague has claimed the attempt.
    fn free(&self) -> bool {
        self.claim.as_ref().is_none_or(|(_, own)| *own)
    }

    /// A field's error, if it has one.
    fn fault(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_ref().filter(|(at, _)| *at == field);
        fault.map(|(_, text)| text.as_str())
    }

    /// The error of a field in a hit's forms, if it has one.
    fn fault_of_hit(&self, hit: &Hit, field: &str) -> Option<&str> {
        self.fault(field).filter(|_| self.sent.hit == hit.id)
    }

    /// Whether a disposition is shown as selected: the one that was sent, or else the current one.
    fn is_chosen(&self, hit: &Hit, disposition: &Disposition) -> bool {
        if self.sent.hit == hit.id && !self.sent.disposition.is_empty() {
            return self.sent.disposition == disposition.as_str();
        }
        hit.disposition
            .as_ref()
            .is_some_and(|known| known.disposition == *disposition)
    }

    /// Hits that have no disposition yet.
    fn undecided(&self) -> usize {
        self.hits.iter().filter(|hit| hit.disposition.is_none()).count()
    }

    /// Whether any hit was found not to mean the person, in this attempt or before.
    fn any_set_aside(&self) -> bool {
        !self.suppressed.is_empty() || self.hits.iter().any(|hit| hit.suppressed)
    }

    /// The account's reasons for a decision.
    fn reasons_for(&self, decision: &Decision) -> Vec<&ReasonTemplate> {
        let fits = |reason: &&ReasonTemplate| reason.decision == *decision;
        self.reasons.iter().filter(fits).collect()
    }
}

/// The queue that the reader comes from.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct QueueOrigin {
    q: String,
}

/// `GET /portal/applicants/{logId}`
pub async fn page(
    State(app): State<Shared>,
    page: Page,
    member: Member,
    Path(log_id): Path<i64>,
    Query(from): Query<QueueOrigin>,
) -> Result<Response, Rejection> {
    let link = show_once::take(&app, &member, &address(log_id)).await?;
    let sent = ReviewForm {
        q: from.q,
        ..ReviewForm::default()
    };
    render(&app, page, &member, log_id, sent, None, link).await
}

/// The same page with the rejected form and the reason, next to the field at fault if there is one.
pub async fn render_refusal(
    app: &Shared,
    page: Page,
    member: &Member,
    log_id: i64,
    problem: &Problem,
    sent: ReviewForm,
) -> Result<Response, Rejection> {
    let status = problem.status(Family::System);
    if !matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::FORBIDDEN
    ) {
        return Err(problem.clone().into());
    }
    let field = match problem.word(Family::System) {
        "reason_required" | "reason_length" => "reason",
        "note_length" => "note",
        "why_required" => "why",
        "disposition_required" => "disposition",
        "disposition_reason" => "because",
        "approval_reason" => "reason",
        _ => "",
    };
    let fault = Some((field, page.refusal(problem)));
    let mut response = render(app, page, member, log_id, sent, fault, None).await?;
    *response.status_mut() = status;
    Ok(response)
}

/// The fields whose value is that of the document's earlier reading, as the page names them. Empty if there are none.
fn taken_fields(page: &Page, fields: &[String]) -> String {
    let names = fields.iter().map(|field| page.word("review.field", field));
    names.collect::<Vec<_>>().join(", ")
}

async fn render(
    app: &Shared,
    page: Page,
    member: &Member,
    log_id: i64,
    sent: ReviewForm,
    fault: Option<(&'static str, String)>,
    link: Option<String>,
) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let view = applicant_view::open(app, scope, log_id, &member.actor()).await?;
    let reasons = reason_templates::list(&mut app.db.read().await?, scope.merchant_id).await?;
    let proposal = match &view.proposal {
        Some(proposal) => {
            let mut conn = app.db.read().await?;
            let members = Members::of(&mut conn, scope.merchant_id).await?;
            let state = four_eyes::of_attempt(&mut conn, scope, &view.attempt).await?;
            let facts = ProposalFacts::of_decision(proposal, state, view.attempt.status);
            let offer = Offer::new(&page, member, &members, &facts, None);
            let reason = proposal.reason.clone().unwrap_or_default();
            Some((proposal_sentence(&page, &view, proposal), reason, offer))
        }
        None => None,
    };
    let tables = view.detail.seen.documents.iter().map(|document| Table {
        document: page.word("review.document", &document.document_type),
        rows: fields::rows(&view.request, document, &view.detail.seen.fields),
    });
    let set_aside = view.suppressions.as_deref().unwrap_or_default();
    let (known, versions) = (PersonDetails::of(&page, &view), &view.screening.lists);
    let codes = super::queue::meanings(&view.attempt.codes);
    let near_duplicate = checks::is_near_duplicate(&view);
    let holds: Vec<&'static str> = view.detail.holds.iter().map(|hold| hold.as_str()).collect();
    let template = ApplicantPage {
        log_id,
        facemap_id: view.person.facemap_id.to_string(),
        status: view.attempt.status,
        name: people::name(&view.detail.info),
        facts: facts(&page, &view),
        waits: waiting_reason(
            &page,
            &view,
            codes.is_empty() && holds.is_empty() && !near_duplicate,
        ),
        codes,
        forced: view.detail.forced,
        near_duplicate,
        undecided: view.detail.undecided.map(|search| {
            let (faces, from) = (
                search.faces.to_string(),
                format!("{:.1}", search.deciding_similarity),
            );
            page.tf("review.near_undecided", &[("faces", &faces), ("from", &from)])
        }),
        holds,
        pictures: pictures(&view),
        checks: checks::checks(&page, &view),
        tables: tables.filter(|table| !table.rows.is_empty()).collect(),
        taken: taken_fields(&page, &view.detail.taken_from_document),
        expected: view
            .detail
            .expected
            .as_ref()
            .map(fields::expected_rows)
            .unwrap_or_default(),
        hits: hits::hits(&page, &view.screening.results, &known, set_aside, versions)
            .into_iter()
            .map(|hit| hit.concluded(&view))
            .collect(),
        suppressed: hits::hits(&page, &view.detail.suppressed, &known, set_aside, versions),
        suppress_reasons: suppressions::REASONS,
        dispositions: Disposition::ALL,
        similar: view
            .near
            .iter()
            .map(|near| Similar {
                facemap_id: near.facemap_id.to_string(),
                similarity: format!("{:.1}", near.similarity),
                name: near.name.clone(),
                log_id: near.log_id,
            })
            .collect(),
        reuses: reuses(&page, &view),
        selfie: view.detail.seen.pictures.contains_key("selfie"),
        events: timeline::of_view(&page, &view),
        all_numbers: all_numbers(&view)?,
        version: view.version,
        asks_two: view.asks_two,
        proposal,
        claim: view.claim.map(|claim| {
            (
                view.staff_name(&claim.staff_id),
                claim.staff_id == member.staff_id,
            )
        }),
        claimed_until: view.claim.map_or(0, |claim| claim.until),
        reasons,
        fault,
        link,
        can_link: view.attempt.grouping_id.is_some() && view.flow.is_some() && member.may(Action::MakeLinks),
        q: sanitise_filters(&sent.q),
        sent,
        may_decide: member.may(Action::Decide),
        may_reopen: member.may(Action::Reopen),
        may_suppress: member.may(Action::Suppress) && view.suppressions.is_some(),
        may_merge: member.may(Action::MergePeople) && view.person.proven,
        unproven: view.suppressions.is_none(),
        page,
    };
    Ok(html(template).map(IntoResponse::into_response)?)
}

/// A sentence that states the proposed decision and its proposer.
fn proposal_sentence(page: &Page, view: &View, proposal: &Proposal) -> String {
    let decision = page.word("review.decision", proposal.decision.as_str());
    let who = match (&proposal.staff_id, &proposal.key_actor) {
        (Some(staff_id), _) => view.staff_name(staff_id),
        (None, Some(key_actor)) => view.name_of(key_actor),
        (None, None) => return page.t1("review.proposal.command_line", "decision", decision),
    };
    page.tf("review.proposal", &[("who", &who), ("decision", &decision)])
}

/// Why an attempt waits for a reviewer although no check failed.
fn waiting_reason(page: &Page, view: &View, nothing_failed: bool) -> Option<String> {
    if view.attempt.status != AttemptStatus::Pending {
        return None;
    }
    match view.decisions.last() {
        Some(last) if last.decision == Decision::Reopen => {
            let text = page.t1("review.why.reopened", "who", view.name_of(&last.actor));
            let reason = last.reason.as_deref().map(|reason| format!(" “{reason}”"));
            Some(text + &reason.unwrap_or_default())
        }
        _ => nothing_failed.then(|| page.t("review.why.always")),
    }
}

fn reuses(page: &Page, view: &View) -> Vec<Reuse> {
    let reuse = |(reuse, is_logged): &(PictureReuse, bool)| {
        let (file, earlier) = (
            page.word("review.file", &reuse.file),
            page.word("review.file", &reuse.earlier_file),
        );
        let key = match reuse.likeness {
            Likeness::Exact => "review.reuse.exact",
            Likeness::Similar => "review.reuse.similar",
        };
        Reuse {
            sentence: page.tf(key, &[("file", &file), ("earlier", &earlier)]),
            log_id: reuse.log_id,
            is_logged: *is_logged,
        }
    };
    view.reuses.iter().map(reuse).collect()
}

/// The submitted data, and how it was submitted.
fn facts(page: &Page, view: &View) -> Vec<(String, String)> {
    const FIELDS: [&str; 14] = [
        "firstName",
        "middleName",
        "lastName",
        "dob",
        "nationality",
        "country",
        "documentCountry",
        "email",
        "phone",
        "street",
        "street2",
        "city",
        "state",
        "postcode",
    ];
    let submitted = FIELDS.iter().filter_map(|field| {
        let value = view.request.get(*field)?;
        let value = match *field {
            "dob" => iso_date(value),
            "nationality" | "country" | "documentCountry" => hits::country_name(value),
            _ => value.clone(),
        };
        Some((page.word("review.field", field), value))
    });
    let attempt = &view.attempt;
    let mut facts: Vec<(String, String)> = submitted.collect();
    facts.push((page.t("review.fact.user"), attempt.external_user_id.clone()));
    facts.push((page.t("review.fact.flow"), attempt.flow_name.clone()));
    facts.extend(
        attempt
            .grouping_id
            .map(|id| (page.t("review.fact.group"), view.group_name(&id))),
    );
    facts.extend(
        attempt
            .session_id
            .map(|id| (page.t("review.fact.session"), id.to_string())),
    );
    facts.push((page.t("review.fact.facemap"), view.person.facemap_id.to_string()));
    for alias in &view.aliases {
        facts.push((page.t("review.fact.alias"), alias.to_string()));
    }
    facts.extend(
        attempt
            .took_ms
            .map(|ms| (page.t("review.fact.took"), format!("{ms} ms"))),
    );
    facts
}

/// Images in the order of comparison: the document's portrait, the selfie, then backs.
fn pictures(view: &View) -> Vec<Picture> {
    let rank = |file: &str| match file {
        "selfie" => 1,
        file if file.ends_with("Front") => 0,
        _ => 2,
    };
    let mut files: Vec<_> = view.detail.seen.pictures.iter().collect();
    files.sort_by_key(|(file, _)| rank(file));
    files
        .into_iter()
        .map(|(file, seen)| picture(file, seen))
        .collect()
}

fn picture(file: &str, seen: &PictureMeasures) -> Picture {
    let overlay = |kind, [left, top, width, height]: [f32; 4], text: String| Overlay {
        kind,
        left,
        top,
        width,
        height,
        text,
    };
    let faces = seen.faces.iter().filter(|face| face.significant);
    let faces = faces.map(|face| overlay("face", face.bounds, format!("{:.2}", face.score)));
    let lines = seen.lines.iter().map(|line| {
        let kind = if line.mrz { "mrz" } else { "text" };
        overlay(
            kind,
            line.bounds,
            format!("{} ({:.2})", line.text, line.confidence),
        )
    });
    // The box of a sign without a field is the whole page, except that of an edited part.
    let has_place = |sign: &&FraudSign| sign.field.is_some() || sign.kind == FraudKind::Edited;
    let placed = seen.fraud.iter().filter(|sign| sign.raised).filter(has_place);
    let signs =
        placed.filter_map(|sign| Some(overlay("fraud", sign.bounds?, format!("{:.2}", sign.measure))));
    Picture {
        file: file.to_owned(),
        shown: seen.state == "processed",
        boxes: faces.chain(lines).chain(signs).collect(),
    }
}

/// Everything that was measured and answered, as JSON.
fn all_numbers(view: &View) -> Result<String, Problem> {
    let all = serde_json::json!({
        "response": view.response, "seen": view.detail.seen, "timingMs": view.detail.timing_ms,
        "suppressed": view.detail.suppressed, "similar": view.detail.similar, "undecided": view.detail.undecided, "reuses": view.detail.reuses,
    });
    serde_json::to_string_pretty(&all).map_err(Problem::internal)
}
