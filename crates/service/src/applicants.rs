//! Applicant look-up: what is recorded about a person (contract §2.6, §4.8). It only reads.

use std::collections::BTreeSet;

use store::applicants::{self, Applicant};
use store::attempts::{self, Attempt};
use store::registrations::{self, Registration};
use store::{Scope, people};
use uuid::Uuid;
use verification::applicant_info::ApplicantInfo;
use verification::submission::Submission;

use super::App;
use super::attempt_detail::Detail;
use crate::problem::Problem;

/// The facemaps that a label refers to.
pub struct Resolved {
    /// One per facemap and group, most recently active first; at least one.
    pub applicants: Vec<Applicant>,
    /// The most recently active facemap.
    pub facemap_id: Uuid,
}

/// Everything recorded about a person.
pub struct Record {
    /// When the person was first recorded (ms).
    pub created_at: i64,
    /// Most recently active first.
    pub registrations: Vec<RegistrationRecord>,
}

/// A registration with its attempts.
pub struct RegistrationRecord {
    /// The registration.
    pub registration: Registration,
    /// Its attempts, newest first.
    pub attempts: Vec<AttemptRecord>,
    /// Assembled from the attempts.
    pub info: ApplicantInfo,
}

/// An attempt, as reports show it.
pub struct AttemptRecord {
    /// As logged.
    pub attempt: Attempt,
    /// One reason for each stage that recorded one.
    pub reasons: Vec<String>,
    /// The submitted documents' types.
    pub document_types: Vec<String>,
    /// The document types that the Flow required.
    pub required_documents: Vec<String>,
}

/// All facemaps and groups that were recorded with a label, or 404.
pub async fn resolve(app: &App, scope: Scope, external_user_id: &str) -> Result<Resolved, Problem> {
    let applicants =
        applicants::by_external_user_id(&mut app.db.read().await?, scope, external_user_id).await?;
    let facemap_id = applicants.first().map(|applicant| applicant.facemap_id);
    let facemap_id =
        facemap_id.ok_or_else(|| Problem::not_found("No applicant found for the externalUserId"))?;
    Ok(Resolved {
        applicants,
        facemap_id,
    })
}

/// Everything recorded about a facemap (or an alias of one), or 404.
pub async fn record(app: &App, scope: Scope, facemap_id: &str) -> Result<Record, Problem> {
    let missing = || Problem::not_found("The applicant does not exist");
    let facemap_id = Uuid::parse_str(facemap_id).map_err(|_| missing())?;
    let mut conn = app.db.read().await?;
    let person = people::resolve(&mut conn, scope, facemap_id)
        .await?
        .ok_or_else(missing)?;
    let mut records = Vec::new();
    for registration in registrations::of_facemap(&mut conn, scope, person.facemap_id).await? {
        let attempts = attempts::of_registration(&mut conn, scope, registration.id).await?;
        let opened = attempts
            .into_iter()
            .map(opened)
            .collect::<Result<Vec<_>, Problem>>()?;
        let (attempts, infos): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        records.push(RegistrationRecord {
            registration,
            attempts,
            info: ApplicantInfo::assemble(infos),
        });
    }
    Ok(Record {
        created_at: person.created_at,
        registrations: records,
    })
}

/// A stored attempt that cannot be read is a server error. It proves nothing about the person.
pub(crate) fn opened(attempt: Attempt) -> Result<(AttemptRecord, ApplicantInfo), Problem> {
    let Detail {
        info,
        reasons,
        required_documents,
        ..
    } = serde_json::from_str(&attempt.detail).map_err(Problem::internal)?;
    let document_types = serde_json::from_str(&attempt.document_types).map_err(Problem::internal)?;
    Ok((
        AttemptRecord {
            attempt,
            reasons,
            document_types,
            required_documents,
        },
        info,
    ))
}

/// The words by which the person can be found, from the submitted names and those on documents.
pub fn words_of(submission: &Submission, info: &ApplicantInfo) -> BTreeSet<String> {
    let submitted = ["firstName", "middleName", "lastName"]
        .into_iter()
        .filter_map(|field| submission.get(field));
    let read = info
        .id_docs
        .iter()
        .flat_map(|doc| [doc.first_name.as_deref(), doc.last_name.as_deref()])
        .flatten();
    submitted.chain(read).flat_map(name_words).collect()
}

/// The maximum number of words of a name that are searched; further words are ignored.
const MOST_WORDS: usize = 12;

/// A name's words in their searched form: lower case, without accents and punctuation.
pub fn name_words(name: &str) -> Vec<String> {
    let normalised = reference::normalise_name(name);
    normalised
        .split(' ')
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .map(str::to_owned)
        .collect()
}
