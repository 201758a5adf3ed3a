//! A verification, from the form to the response (contract §4.6; ARCHITECTURE.md describes its steps).
//!
//! `verification` has all rules. This module determines the order of the steps, and the one transaction that
//! records them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::json;
use store::attempts::{self, NewAttempt};
use store::idempotency::ResponseSubject;
use store::objects::ObjectName;
use store::registrations::{self, Registration};
use store::{DataKey, Scope, Tx, audit, people};
use tracing::Instrument;
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;
use verification::codes::Code;
use verification::expected::ExpectedPerson;
use verification::flow::Flow;
use verification::identity::SubmissionScope;
use verification::judge::{Examination, Judgement, examine};
use verification::names::{ScreenedName, of_documents};
use verification::requirements;
use verification::reuse::judge_reuse;
use verification::review::Priority;
use verification::status::AttemptStatus;
use verification::submission::{FileField, Submission, SubmissionContext, SubmittedFile};
use verification::suppression;

use super::admissions::Admission;
use super::attempt_detail::{Detail, HeldFace};
use super::document_readings::{self, SessionReadings};
use super::evidence::{GatheredEvidence, gather_evidence, record_stage};
use super::identify::{Applicant, identify};
use super::merchants::MerchantSettings;
use super::names::{self, EarlierNames, NameCheck, NamesByAttempt, ScreenedNames};
use super::{
    App, Shared, applicants, challenge, cpu, events, flows, merchants, reuse, reviews, sessions, suppressions,
};
use crate::caller::Caller;
use crate::idempotency::{Answer, Claim};
use crate::problem::Problem;
use crate::upload::File;

/// Validates, screens, reads, judges and records.
pub async fn run(
    app: &Shared,
    caller: Caller,
    mut texts: BTreeMap<String, String>,
    mut submitted: BTreeMap<FileField, SubmittedFile>,
    mut files: BTreeMap<String, File>,
    claim: Claim,
) -> Result<Answer, Problem> {
    let started = Instant::now();
    caller.check_session()?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let bearer_session = caller.session.as_ref().map(sessions::binding);
    let context = SubmissionContext {
        today,
        sandbox: caller.scope.sandbox,
        bearer_session: bearer_session.as_ref(),
    };
    let named = texts.remove(document_readings::FIELD);
    let readings = SessionReadings::find(app, &caller, named.as_deref(), &mut submitted).await?;
    let mut submission = readings.check(Submission::parse(&texts, submitted, &context))?;
    let against = load_target(app, &caller, &mut submission).await?;
    let submission = Arc::new(submission);
    requirements::check(&against.flow, &submission)?;
    readings.load(app, caller.scope, &mut files).await?;
    let admission = match against.session_id {
        Some(id) => Some(
            Admission::of(app, caller.scope, id)
                .await?
                .ok_or_else(|| sessions::ended(&caller))?,
        ),
        None => None,
    };

    let settings = merchants::settings(&caller.merchant)?.for_flow(&against.flow.settings.screening_lists);
    let (mut gathered, screened, files) =
        gather_and_screen(app, &submission, &against, settings.clone(), files).await?;
    let taken_from_document = readings.mark_taken(&submission, &mut gathered.evidence)?;
    if let Some(session_id) = against.session_id.filter(|_| submission.via_bearer) {
        let wanted = submission.document_configuration(&against.flow).biometric();
        let proof = challenge::proof(app, caller.scope, session_id).await?;
        challenge::add_to(&mut gathered, wanted, proof);
    }
    metrics::counter!("bonafide_verifications_total").increment(1);
    let recording = Recording {
        app: Arc::clone(app),
        caller,
        submission,
        against,
        gathered,
        screened,
        texts,
        taken_from_document,
        today,
        settings,
        started,
        admission,
    };
    // A separate task finishes even if the client hangs up.
    let recorded = record(recording, files, claim).in_current_span();
    app.recordings
        .spawn(recorded)
        .await
        .map_err(|_| Problem::internal("recording panicked; the log says where"))?
}

/// The configuration that a submission is verified against.
struct VerificationTarget {
    flow_id: Uuid,
    flow_name: String,
    has_webhook: bool,
    flow: Flow,
    grouping_id: Option<Uuid>,
    session_id: Option<Uuid>,
    /// Whom the merchant expects in the session.
    expected: Option<ExpectedPerson>,
}

/// Reads the Flow, the Group and, if one is named, the session, and checks that they belong together.
async fn load_target(
    app: &App,
    caller: &Caller,
    submission: &mut Submission,
) -> Result<VerificationTarget, Problem> {
    let scope = caller.scope;
    let mut conn = app.db.read().await?;
    let missing = |what: &str| Problem::not_found(format!("{what} not found"));
    let flow_id = Uuid::parse_str(submission.flow_id()).map_err(|_| missing("Flow"))?;
    let stored = store::flows::get(&mut conn, scope, flow_id)
        .await?
        .ok_or_else(|| missing("Flow"))?;
    let session = match (&caller.session, submission.session_id()) {
        (Some(session), _) => {
            sessions::check_attempts(session)?;
            Some(session.clone())
        }
        (None, None) => None,
        (None, Some(id)) => {
            let session = sessions::find_open(&mut conn, scope, id).await?;
            sessions::check_attempts(&session)?;
            submission.bind_to_session(&sessions::binding(&session))?;
            Some(session)
        }
    };
    let grouping_id = match submission.grouping_id() {
        None => None,
        Some(id) => {
            let id = Uuid::parse_str(id).map_err(|_| missing("Group"))?;
            let group = store::groups::get(&mut conn, scope, id)
                .await?
                .ok_or_else(|| missing("Group"))?;
            if !group.flows.iter().any(|flow| flow.id == flow_id) {
                return Err(Problem::invalid("Flow does not belong to the specified group"));
            }
            Some(id)
        }
    };
    let (flow_name, has_webhook) = (stored.name.clone(), stored.webhook_url.is_some());
    Ok(VerificationTarget {
        flow_id,
        flow_name,
        has_webhook,
        flow: flows::parse(&stored.into())?,
        grouping_id,
        session_id: session.as_ref().map(|session| session.id),
        expected: session.as_ref().map(sessions::expected).transpose()?.flatten(),
    })
}

/// Screens the submitted name, runs the engines, and screens the names on the documents, on the CPU pool. It
/// returns the files for the log.
async fn gather_and_screen(
    app: &Shared,
    submission: &Arc<Submission>,
    against: &VerificationTarget,
    settings: MerchantSettings,
    mut files: BTreeMap<String, File>,
) -> Result<(GatheredEvidence, ScreenedNames, BTreeMap<String, File>), Problem> {
    let (shared, submission) = (Arc::clone(app), Arc::clone(submission));
    let (flow_settings, expected) = (against.flow.settings.clone(), against.expected.clone());
    // Only the lists that the installation uses now may be used.
    app.lists
        .confirm(&app.db)
        .await
        .map_err(|reason| names::unavailable(reason.to_string()))?;
    app.cpu
        .run(move |gone| {
            let (lists, sandbox) = (&shared.lists, submission.sandbox);
            let submitted = vec![ScreenedName::submitted(&submission)];
            let mut screening = Duration::ZERO;
            let since = Instant::now();
            let submitted = ScreenedNames::new(submitted, lists, sandbox, &settings)?;
            screening += since.elapsed();
            let against = (&flow_settings, expected.as_ref());
            let gathered = gather_evidence(&shared, &submission, against, &mut files, gone)?;
            let on_documents = of_documents(&gathered.evidence.documents);
            let since = Instant::now();
            let screened = submitted.with(on_documents, lists, sandbox, &settings)?;
            screening += since.elapsed();
            record_stage("screening", screening);
            Ok((gathered, screened, files))
        })
        .await?
}

/// All data for recording a verification.
struct Recording {
    app: Shared,
    caller: Caller,
    submission: Arc<Submission>,
    against: VerificationTarget,
    gathered: GatheredEvidence,
    screened: ScreenedNames,
    texts: BTreeMap<String, String>,
    taken_from_document: Vec<&'static str>,
    today: Date,
    settings: MerchantSettings,
    started: Instant,
    /// The admission, if the attempt belongs to a hosted session.
    admission: Option<Admission>,
}

/// Stores the objects first, and then records in one transaction: person, registration, session, attempt,
/// audit row, outbox, idempotency response. If the attempt is not recorded, its objects are unreadable,
/// because their key was never stored; `housekeeping` removes them.
async fn record(
    mut recording: Recording,
    files: BTreeMap<String, File>,
    claim: Claim,
) -> Result<Answer, Problem> {
    let scope = recording.caller.scope;
    let (attempt_id, key) = (Uuid::now_v7(), DataKey::generate());
    let since = Instant::now();
    for (name, mut file) in files {
        let key = key.clone();
        let (name, sealed) = cpu::blocking(move || {
            let bytes = file.content.read()?;
            let object = ObjectName {
                scope,
                attempt_id,
                file: &name,
            };
            let sealed = store::objects::seal(&key, &object, &bytes);
            Ok((name, sealed))
        })
        .await?;
        let object = ObjectName {
            scope,
            attempt_id,
            file: &name,
        };
        recording.app.objects.put_sealed(&object, sealed).await?;
    }
    let recorded = examine_and_record(&recording, attempt_id, &key, &claim).await;
    record_stage("recording", since.elapsed());
    if let (Ok(_), Some(admission)) = (&recorded, recording.admission.take()) {
        admission.recorded();
    }
    claim.settle(recorded)
}

/// Why a recording was rolled back.
enum Stop {
    /// The person is known by these names, under which the attempt was not screened: screen them, then record
    /// again.
    ScreenFirst(NamesByAttempt),
    Problem(Problem),
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Self {
        Stop::Problem(error.into())
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

/// How often a recording starts again because other attempts of the same person are recorded meanwhile.
const MOST_RECORDINGS: usize = 5;

/// Examines once, then records. The person's names are screened outside the transaction, so that no other
/// writer waits for the screening. If the attempt turns out to belong to another person, or that person has
/// new names, the transaction is rolled back and recording starts again.
async fn examine_and_record(
    recording: &Recording,
    attempt_id: Uuid,
    key: &DataKey,
    claim: &Claim,
) -> Result<Answer, Problem> {
    let examination = examine(
        &recording.against.flow,
        &recording.submission,
        &recording.gathered.evidence,
        recording.today,
    );
    let mut earlier = None;
    for _ in 0..MOST_RECORDINGS {
        let attempt = (attempt_id, key);
        match record_in_one_transaction(recording, &examination, earlier, attempt, claim).await {
            Ok((answer, status, codes)) => {
                count(recording.caller.scope, status, &codes);
                return Ok(answer);
            }
            Err(Stop::ScreenFirst(found)) => earlier = Some(found),
            Err(Stop::Problem(problem)) => return Err(problem),
        }
    }
    Err(Problem::unavailable(
        "Other attempts of this person are being recorded; please try again shortly",
    ))
}

async fn record_in_one_transaction(
    recording: &Recording,
    examination: &Examination<'_>,
    earlier: Option<NamesByAttempt>,
    (attempt_id, key): (Uuid, &DataKey),
    claim: &Claim,
) -> Result<(Answer, AttemptStatus, Vec<Code>), Stop> {
    let Recording {
        app,
        caller,
        submission,
        against,
        gathered,
        screened,
        texts,
        taken_from_document,
        today,
        settings,
        started,
        admission: _,
    } = recording;
    let scope = caller.scope;
    let replica = app.faces.of(scope);
    let face = gathered.face.as_ref().filter(|_| examination.face_is_proven());
    let mut ahead = EarlierNames::default();
    if let Some(earlier) = earlier {
        ahead = names::screen_earlier_names(app, scope, earlier, screened, settings).await?;
    } else if let Some(face) = face {
        // Catches up without the account's lock. Inside the lock, only later changes must be read.
        let mut replica = replica.lock().await;
        replica
            .catch_up(&mut app.db.read().await?, scope, face.version())
            .await?;
        let nearest = replica.search(face)?.first().map(|hit| hit.facemap);
        drop(replica);
        if let Some(nearest) = nearest {
            ahead = names::load_earlier_names(app, scope, nearest, screened, settings).await?;
        }
    }
    let mut replica = replica.lock().await;
    let place = SubmissionScope {
        grouping_id: against.grouping_id,
        external_user_id: submission.external_user_id(),
    };
    let biometric = submission.document_configuration(&against.flow).biometric();
    store::transaction!(app.db, |tx| -> Result<(Answer, AttemptStatus, Vec<Code>), Stop> {
        // Reuse is found inside the account's serial step, so that the later of two simultaneous attempts is held.
        store::faces::lock(tx, scope).await?;
        let reuses = reuse::find(tx, scope, submission.external_user_id(), &gathered.pictures).await?;
        let doubted = judge_reuse(biometric, &reuses).map(|doubt| gathered.evidence.with_doubt(doubt));
        let examined_again = doubted
            .as_ref()
            .map(|evidence| examine(&against.flow, submission, evidence, *today));
        let examination = examined_again.as_ref().unwrap_or(examination);
        let face = face.filter(|_| examination.face_is_proven());
        let Applicant {
            identity,
            facemap_id,
            registration,
            similar,
            undecided,
        } = identify(tx, scope, &mut replica, face, place).await?;
        // Only now are the person's earlier names known, and the listings that a reviewer set aside for this
        // person.
        let screening = match face {
            Some(_) => match names::check_names_in_step(tx, scope, facemap_id, screened, &ahead).await? {
                NameCheck::Screened(screening) => screening,
                NameCheck::Unscreened(earlier) => return Err(Stop::ScreenFirst(earlier)),
            },
            None => screened.screening().clone(),
        };
        let face_proven = face.is_some() && !identity.near_duplicate;
        let four_eyes = against.flow.settings.four_eyes || settings.four_eyes;
        // Nothing is set aside for an attempt that does not prove its person: every hit counts.
        let known = suppressions::of_attempt(tx, scope, facemap_id, face_proven).await?;
        let cleared = known.map_or_else(Vec::new, |known| suppressions::cleared(&known));
        let (screening, suppressed) =
            suppression::suppress_hits(&suppression::effective_listings(cleared, four_eyes), &screening);
        let session = match against.session_id {
            Some(id) => Some(
                store::admissions::use_attempt(tx, scope, id)
                    .await?
                    .ok_or_else(|| sessions::ended(caller))?,
            ),
            None => None,
        };
        let may_repeat = submission.via_bearer
            && session
                .as_ref()
                .is_some_and(|session| session.attempts < session.max_attempts);
        let judgement = examination.judge(&identity, &screening, may_repeat);
        let response = serde_json::to_string(&judgement.response).map_err(Problem::internal)?;
        let info = ApplicantInfo::of_attempt(submission, &gathered.evidence);
        let words = applicants::words_of(submission, &info);
        people::index_name(tx, scope, facemap_id, words.iter().map(String::as_str)).await?;
        let detail = Detail {
            info,
            reasons: judgement.reasons.clone(),
            holds: judgement.holds.clone(),
            forced: judgement.forced.map(|code| code.number()),
            required_documents: against.required_documents(submission),
            timing_ms: gathered.timings.clone(),
            seen: gathered.seen.clone(),
            suppressed,
            screening_threshold: Some(
                settings
                    .screening_threshold
                    .unwrap_or(sanctions::DEFAULT_THRESHOLD),
            ),
            screening_profile: settings
                .screening_profile
                .and_then(sanctions::Profile::unless_standard)
                .map(|profile| profile.as_str().to_owned()),
            names: screened.names().to_vec(),
            face_identified: face.is_some(),
            face_proven,
            bound_face: None,
            held_face: gathered
                .face
                .as_ref()
                .filter(|_| examination.face_awaits_approval())
                .map(HeldFace::from),
            four_eyes,
            similar,
            undecided,
            reuses,
            expected: gathered.evidence.expected.clone(),
            taken_from_document: taken_from_document
                .iter()
                .map(|field| (*field).to_owned())
                .collect(),
        };
        let names = detail.names_record()?;
        let detail = serde_json::to_string(&detail).map_err(Problem::internal)?;
        let new = NewAttempt {
            id: attempt_id,
            key,
            facemap_id,
            registration_id: registration.as_ref().map(|registration| registration.id),
            grouping_id: against.grouping_id,
            external_user_id: submission.external_user_id(),
            session_id: against.session_id,
            flow_id: against.flow_id,
            flow_name: &against.flow_name,
            status: judgement.status,
            success: judgement.success,
            codes: &json!(judgement.codes).to_string(),
            document_types: &json!(submission.document_types).to_string(),
            request: &json!(texts).to_string(),
            response: &response,
            detail: &detail,
            names: &names,
            country: submission.document_country(),
            priority: Priority::of(
                &judgement.codes,
                identity.near_duplicate,
                !judgement.holds.is_empty(),
            )
            .number(),
            took_ms: i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX),
        };
        let log_id = attempts::insert(tx, scope, &new).await?;
        reuse::record(tx, scope, (attempt_id, key), &gathered.pictures).await?;
        if screened
            .is_outdated(tx, scope, (against.flow_id, facemap_id))
            .await?
        {
            store::rescreenings::request(tx, scope, facemap_id).await?;
        }
        if let Some(session) = &session {
            sessions::apply_attempt(tx, scope, session, log_id, judgement.status).await?;
        }
        if let Some(registration) = &registration {
            reviews::refresh_status(tx, scope, registration.id).await?;
        }
        audit::write(
            tx,
            scope,
            &caller.audit_entry("verification.recorded", &log_id.to_string()),
        )
        .await?;
        if against.has_webhook {
            announce(
                tx,
                scope,
                against,
                submission,
                &judgement,
                facemap_id,
                registration.as_ref(),
                log_id,
            )
            .await?;
        }
        let hides_hits = against.flow.settings.hide_sanctions_detail;
        let answer = match &caller.session {
            Some(_) => Answer::json(StatusCode::OK, &judgement.response.for_applicant(hides_hits))?,
            None => Answer::json(StatusCode::OK, &judgement.response)?,
        };
        let describes = ResponseSubject::Attempt { id: attempt_id, key };
        claim.complete(tx, &answer, describes).await?;
        Ok((answer.of_attempt(log_id), judgement.status, judgement.codes))
    })
}

/// Counts a recorded attempt.
fn count(scope: Scope, status: AttemptStatus, codes: &[Code]) {
    let mode = if scope.sandbox { "sandbox" } else { "live" };
    metrics::counter!("bonafide_attempts_total", "status" => status.as_str(), "mode" => mode).increment(1);
    for code in codes {
        let code = code.number().to_string();
        metrics::counter!("bonafide_attempt_codes_total", "code" => code, "mode" => mode).increment(1);
    }
}

impl VerificationTarget {
    fn required_documents(&self, submission: &Submission) -> Vec<String> {
        let types = submission.document_configuration(&self.flow).document_types;
        types.iter().map(|name| name.as_str().to_owned()).collect()
    }
}

/// The webhook event, without personal data (`docs/decisions/0017-webhooks.md`).
#[expect(clippy::too_many_arguments, reason = "one event's members, each used once")]
async fn announce(
    tx: &mut Tx,
    scope: Scope,
    against: &VerificationTarget,
    submission: &Submission,
    judgement: &Judgement,
    facemap_id: Uuid,
    registration: Option<&Registration>,
    log_id: i64,
) -> Result<(), Problem> {
    let sequence = match registration {
        Some(registration) => registrations::next_event(tx, scope, registration.id).await?,
        None => 1,
    };
    let pending = judgement.status == AttemptStatus::Pending;
    let kind = if pending {
        events::REVIEW_REQUIRED
    } else {
        events::COMPLETED
    };
    let data = json!({
        "externalUserId": submission.external_user_id(),
        "groupingId": against.grouping_id,
        "flowId": against.flow_id,
        "sessionId": against.session_id,
        "facemapId": facemap_id,
        "logId": log_id,
        "sequence": sequence,
        "status": judgement.status,
        "success": judgement.success,
        "codes": judgement.codes,
        "isSandbox": scope.sandbox,
    });
    events::enqueue(tx, scope, against.flow_id, kind, &data).await?;
    Ok(())
}
