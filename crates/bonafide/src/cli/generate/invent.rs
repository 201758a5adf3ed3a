//! Invents applicants one by one: the submission, the engines' evidence, and the outcome. The real rules
//! compute the outcome; only the evidence is drawn at random.

use std::collections::BTreeMap;

use anyhow::Context as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use reference::DocumentType;
use sanctions::{Query, ScreenOptions, Screener};
use serde_json::json;
use service::applicants::name_words;
use service::screening_hits;
use store::attempts::Decision;
use store::bulk::{PastAttempt, PastPerson, PastSession};
use store::consents::Consent;
use store::sessions::{SessionStatus, Stage};
use uuid::Uuid;
use verification::dates;
use verification::flow::Flow;
use verification::identity::Identity;
use verification::judge::examine;
use verification::names::ScreenedName;
use verification::rescreening::AttemptNames;
use verification::review::Priority;
use verification::screening::Screening;
use verification::status::{self, AttemptStatus, StatusEvent, registration_status};
use verification::submission::{Submission, SubmissionContext};

use super::cast::{COUNTRIES, FAMILY, GIVEN, REASONS};
use super::findings::{Fault, Subject, detail, draw_fault, evidence, pick};

const MINUTE: i64 = 60 * 1_000;

const HOUR: i64 = 60 * MINUTE;

const DAY: i64 = 24 * HOUR;

/// Applicants are spread over this period, which ends now (ms).
const PERIOD: i64 = 730 * DAY;

/// The Group and Flows of invented applicants.
pub(super) struct Places {
    /// The Group.
    pub(super) group_id: Uuid,
    /// The Flows: any document, passport, data only.
    pub(super) flows: [(Uuid, String, Flow); 3],
}

/// Generates invented applicants from a seed.
pub(super) struct Inventor {
    places: Places,
    seed: u64,
    count: u64,
    /// The end of the period (ms).
    now: i64,
    screener: Screener,
    /// Names on the demo list.
    listed: Vec<String>,
}

/// The external user ID of an invented applicant.
pub(super) fn external_user_id(seed: u64, number: u64) -> String {
    format!("invented-{seed}-{number:08}")
}

impl Inventor {
    pub(super) fn new(places: Places, seed: u64, count: u64) -> anyhow::Result<Self> {
        let list = sanctions::demo_list();
        let listed: Vec<String> = list
            .entities
            .iter()
            .filter(|entity| entity.schema.as_str() == "Person")
            .filter_map(|entity| entity.names.iter().find(|name| name.is_ascii()).cloned())
            .collect();
        listed.first().context("the demo list names a person")?;
        Ok(Self {
            places,
            seed,
            count,
            now: Timestamp::now().as_millisecond(),
            screener: Screener::new([list]),
            listed,
        })
    }

    /// The applicant with this number, from 0. The same number always gives the same applicant.
    pub(super) fn person(&self, number: u64) -> PastPerson {
        let mut rng = StdRng::seed_from_u64(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        let share = PERIOD as f64 * (number as f64 + 1.0) / (self.count as f64 + 1.0);
        let created_at = self.now - PERIOD + share as i64;
        let subject = self.subject(&mut rng, number);
        let mut attempts = Vec::new();
        let mut events = Vec::new();
        let mut at = created_at + rng.random_range(30_000..4 * MINUTE);
        // Most applicants pass at once. The others mostly try again within minutes.
        for again in [0.85, 0.6, 0.0] {
            let fault = draw_fault(&mut rng, &subject);
            let (attempt, status) = self.attempt(&mut rng, &subject, fault, at);
            let decided = attempt.decision.as_ref().map(|made| made.at);
            events.push(StatusEvent {
                status,
                at: decided.unwrap_or(at),
            });
            attempts.push(attempt);
            if status != AttemptStatus::Failed || !rng.random_bool(again) {
                break;
            }
            at += rng.random_range(20_000..3 * MINUTE);
        }
        let status = registration_status(&events);
        let session = subject
            .session_id
            .map(|id| self.session(&mut rng, id, &subject, created_at, &attempts, status));
        PastPerson {
            facemap_id: subject.facemap_id,
            face: None,
            proven: subject.document.is_some() && status == Some(AttemptStatus::Approved),
            name_words: name_words(&format!("{} {}", subject.given, subject.family)),
            external_user_id: subject.label,
            grouping_id: Some(self.places.group_id),
            status,
            created_at,
            session,
            attempts,
        }
    }

    fn subject(&self, rng: &mut StdRng, number: u64) -> Subject {
        let flow = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2][rng.random_range(0..10)];
        let document = match flow {
            0 => Some(pick(
                rng,
                &[
                    DocumentType::Passport,
                    DocumentType::IdCard,
                    DocumentType::IdCard,
                    DocumentType::Drivers,
                    DocumentType::ResidencyCard,
                ],
            )),
            1 => Some(DocumentType::Passport),
            _ => None,
        };
        let (given, mut family) = (pick(rng, &GIVEN), pick(rng, &FAMILY).to_owned());
        // A second family name gives as many different names as a real account has.
        if rng.random_bool(0.4) {
            family = format!("{family} {}", pick(rng, &FAMILY));
        }
        let (mut given, mut family) = (given, family);
        if rng.random_bool(0.012) {
            let name = &self.listed[rng.random_range(0..self.listed.len())];
            family.clone_from(name);
            given = "Mr";
        }
        Subject {
            given,
            family,
            country: pick(rng, &COUNTRIES),
            birth: Date::constant(1945, 1, 1).saturating_add(rng.random_range(0..22_300_i64).days()),
            document,
            number: format!(
                "{}{:08}",
                char::from(rng.random_range(b'A'..=b'Z')),
                rng.random_range(0..100_000_000)
            ),
            label: external_user_id(self.seed, number),
            facemap_id: uuid::Builder::from_random_bytes(rng.random()).into_uuid(),
            session_id: rng
                .random_bool(0.5)
                .then(|| uuid::Builder::from_random_bytes(rng.random()).into_uuid()),
            flow,
        }
    }

    fn attempt(
        &self,
        rng: &mut StdRng,
        subject: &Subject,
        fault: Fault,
        at: i64,
    ) -> (PastAttempt, AttemptStatus) {
        let (flow_id, flow_name, flow) = &self.places.flows[subject.flow];
        let texts = self.texts(subject, *flow_id);
        let today = Timestamp::from_millisecond(at)
            .unwrap_or_default()
            .to_zoned(TimeZone::UTC)
            .date();
        let context = SubmissionContext {
            today,
            sandbox: true,
            bearer_session: None,
        };
        #[expect(
            clippy::expect_used,
            reason = "a test submits every kind of invented applicant"
        )]
        let submission =
            Submission::parse(&texts, BTreeMap::new(), &context).expect("invented applicants are valid");
        let evidence = evidence(rng, subject, fault, today);
        let identity = Identity {
            facemap_id: subject.facemap_id.to_string(),
            ..Identity::default()
        };
        let screening = self.screen(subject);
        let judgement = examine(flow, &submission, &evidence, today).judge(&identity, &screening, false);
        let took_ms = rng.random_range(700..3_000);
        let detail = detail(rng, &submission, &evidence, &judgement, flow, took_ms);
        let names = AttemptNames {
            names: vec![ScreenedName::submitted(&submission)],
            identified: false,
        };
        let (status, decision) = self.review(rng, judgement.status, at);
        let attempt = PastAttempt {
            id: Uuid::new_v7(uuid::Timestamp::from_unix_time(
                (at / 1_000) as u64,
                (at % 1_000) as u32 * 1_000_000,
                rng.random::<u32>().into(),
                32,
            )),
            flow_id: *flow_id,
            flow_name: flow_name.clone(),
            status,
            success: judgement.success,
            codes: json!(judgement.codes).to_string(),
            document_types: json!(submission.document_types).to_string(),
            request: json!(texts).to_string(),
            response: json!(judgement.response).to_string(),
            detail: json!(detail).to_string(),
            names: json!(names).to_string(),
            country: subject.document.map(|_| subject.country.to_owned()),
            took_ms: Some(took_ms),
            priority: Priority::of(&judgement.codes, false, !judgement.holds.is_empty()).number(),
            created_at: at,
            decision,
        };
        (attempt, status)
    }

    fn texts(&self, subject: &Subject, flow_id: Uuid) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::from([
            ("firstName", subject.given.to_owned()),
            ("lastName", subject.family.clone()),
            ("externalUserId", subject.label.clone()),
            ("flowId", flow_id.to_string()),
            ("groupingId", self.places.group_id.to_string()),
            ("dob", dates::format_us(subject.birth)),
            ("country", subject.country.to_owned()),
            ("nationality", subject.country.to_owned()),
        ]);
        if let Some(session_id) = subject.session_id {
            texts.insert("sessionId", session_id.to_string());
        }
        if let Some(document) = subject.document {
            texts.insert("documentTypes", document.as_str().to_owned());
            texts.insert("documentCountry", subject.country.to_owned());
        }
        texts
            .into_iter()
            .map(|(name, text)| (name.to_owned(), text))
            .collect()
    }

    fn screen(&self, subject: &Subject) -> Screening {
        let query = Query {
            schema: Some("Person".into()),
            name: Some(format!("{} {}", subject.given, subject.family)),
            first_name: Some(subject.given.to_owned()),
            last_name: Some(subject.family.clone()),
            dob: Some(subject.birth.to_string()),
            country: Some(subject.country.to_owned()),
            ..Query::default()
        };
        // The person is only invented, so a failed search counts as a search without hits.
        self.screener
            .screen(&query, &ScreenOptions::default())
            .map_or_else(|_| Screening::default(), screening_hits::screening)
    }

    /// The reviewers' decision. About nine of ten pending attempts older than two weeks are decided.
    fn review(&self, rng: &mut StdRng, status: AttemptStatus, at: i64) -> (AttemptStatus, Option<Decision>) {
        let waits = if self.now - at < 14 * DAY { 0.7 } else { 0.1 };
        if status != AttemptStatus::Pending || rng.random_bool(waits) {
            return (status, None);
        }
        let approve = rng.random_bool(0.7);
        let decision = Decision {
            decision: if approve {
                status::Decision::Approve
            } else {
                status::Decision::Decline
            },
            actor: "generator".into(),
            reason: (!approve).then(|| pick(rng, &REASONS).to_owned()),
            at: (at + rng.random_range(5 * MINUTE..2 * DAY)).min(self.now),
        };
        let status = if approve {
            AttemptStatus::Approved
        } else {
            AttemptStatus::Declined
        };
        (status, Some(decision))
    }

    fn session(
        &self,
        rng: &mut StdRng,
        id: Uuid,
        subject: &Subject,
        created_at: i64,
        attempts: &[PastAttempt],
        status: Option<AttemptStatus>,
    ) -> PastSession {
        let (session_status, stage) = match status {
            Some(AttemptStatus::Approved) => (SessionStatus::Success, Stage::Done),
            Some(AttemptStatus::Pending) => (SessionStatus::Pending, Stage::InReview),
            _ => (SessionStatus::Failed, Stage::Done),
        };
        let mut ms = 0;
        let steps = [
            "open", "consent", "device", "details", "document", "selfie", "upload", "outcome",
        ];
        let events = steps.map(|step| {
            let event = (step.to_owned(), "reached".to_owned(), ms);
            ms += rng.random_range(500..15_000);
            event
        });
        PastSession {
            id,
            flow_id: self.places.flows[subject.flow].0,
            group_id: self.places.group_id,
            status: session_status,
            stage,
            max_attempts: 3,
            created_at,
            expires_at: created_at + HOUR,
            completed_at: (session_status != SessionStatus::Pending)
                .then(|| {
                    attempts
                        .last()
                        .map(|last| last.decision.as_ref().map_or(last.created_at, |made| made.at))
                })
                .flatten(),
            consent: Consent {
                version: "1".into(),
                language: pick(rng, &["en", "de", "es", "fr", "pt"]).into(),
                accepted: true,
                at: created_at + 5_000,
            },
            device: pick(rng, &["phone", "phone", "phone", "desktop", "tablet"]).into(),
            events: events.into(),
        }
    }
}
