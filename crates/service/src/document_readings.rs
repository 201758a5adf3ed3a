//! Reads pictures of documents in a hosted session before its submission. The person confirms what a document says
//! instead of typing it, and learns of a useless picture before it costs an attempt.
//!
//! A reading counts no attempt, decides nothing and embeds no face. Its picture is stored sealed for the submission,
//! which may name it instead of sending it again ([`SessionReadings`]). It goes when the session ends, and an hour after
//! it was read at the latest ([`store::document_readings`]).

mod stored;
mod submission;

use std::collections::BTreeMap;
use std::sync::Arc;

use documents::fraud_signs::FraudKind;
use documents::reading::DocumentReading;
use engine_process::FaceWish;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reference::DocumentType;
use store::document_readings::{self, NewReading, Reading};
use store::objects::ObjectName;
use store::sessions::Session;
use store::{Conn, DataKey, Scope, consents};
use tracing::Instrument;
use uuid::Uuid;
use verification::codes::Code;
use verification::evidence::DocumentEvidence;
use verification::flow::Flow;
use verification::judge::reading::{
    Proposal, document_number, issuing_country, seems_other_side, told_codes,
};
use verification::settings::FraudSigns;
use verification::submission::{FileField, Side};
use zeroize::Zeroizing;

use self::stored::{Content, Shown, StoredSide};
pub(crate) use self::submission::SessionReadings;
use super::document_side::{self, ProcessedSide, SideWish};
use super::{Shared, cpu, evidence, flows, sessions};
use crate::caller::{self, Caller};
use crate::problem::{Kind, Problem};
use crate::upload::{File, MAX_FILE_BYTES};

/// The most readings of a session.
pub const MOST_READINGS: i64 = 12;

/// The text field of a submission that names pictures which were read before: their ids, separated by commas.
pub const FIELD: &str = "readings";

/// The text field that names the reading of the document's other side.
pub const OTHER_SIDE_FIELD: &str = "otherSide";

/// What a picture says. It contains personal data.
pub struct SideReading {
    /// Its id, by which the submission may name it.
    pub id: Uuid,
    /// The readings that the session has left.
    pub left: i64,
    /// The failure codes that this picture shows, in order of precedence.
    pub codes: Vec<Code>,
    /// What a better picture avoids: codes of [`documents::reading::QualityIssue`], `other_side`, `screen` or
    /// `photocopy`.
    pub hints: Vec<String>,
    /// The issuing state (alpha-3), by an accepted reading.
    pub country: Option<&'static str>,
    /// The document's number, by an accepted reading.
    pub document_number: Option<String>,
    /// The values to confirm. These three are empty in a Flow whose applicants type their details first.
    pub proposal: Proposal,
}

/// Reads a picture of a document's side. `other_side` is the reading of the picture that the person has of the other side.
///
/// # Errors
/// 400 naming the field; 409 without a consent; 429 after [`MOST_READINGS`].
pub async fn read(
    app: &Shared,
    caller: &Caller,
    document_country: Option<&str>,
    other_side: Option<Uuid>,
    files: BTreeMap<String, File>,
) -> Result<SideReading, Problem> {
    let session = open_session(caller)?;
    let (field, file) = only_picture(files)?;
    let (document_type, side) = field
        .document()
        .ok_or_else(|| Problem::internal("a selfie among documents"))?;
    let mut conn = app.db.read().await?;
    if !has_consented(&mut conn, caller.scope, session.id).await? {
        let text = "Record the applicant's consent first: POST /v2/sdk/session/consent";
        return Err(Problem::new(Kind::Conflict, text).named("consent_required"));
    }
    let flow = sessions::configuration(&mut conn, caller.scope, &session.link).await?;
    drop(conn);
    let flow = flows::parse(&flow.into())?;
    let accepted = flow.configuration(document_country).document_types;
    if !accepted.contains(&document_type) {
        let types: Vec<&str> = accepted.iter().map(|each| each.as_str()).collect();
        let types = if types.is_empty() {
            "no document".to_owned()
        } else {
            types.join(", ")
        };
        let text = format!("{} - the Flow accepts {types}", field.as_str());
        return Err(Problem::validation(vec![text]));
    }
    let request = Request {
        app: Arc::clone(app),
        scope: caller.scope,
        session_id: session.id,
        flow,
        field,
        document_type,
        side,
        document_country: document_country.map(str::to_owned),
        other_side: match other_side {
            None => None,
            Some(id) => Some(other_reading(app, caller.scope, session.id, (document_type, side), id).await?),
        },
    };
    let left = count(app, caller.scope, session.id).await?;
    // A separate task finishes even if the client hangs up, so that no picture is left without its row.
    let reading = async move {
        let answer = request.answer(file, left).await;
        if answer.is_err() {
            request.count_back().await;
        }
        answer
    };
    app.recordings
        .spawn(reading.in_current_span())
        .await
        .map_err(|_| Problem::internal("a reading panicked; the log says where"))?
}

/// Counts a reading, and returns how many are left.
async fn count(app: &Shared, scope: Scope, session_id: Uuid) -> Result<i64, Problem> {
    store::transaction!(app.db, |tx| -> Result<i64, Problem> {
        if let Some(left) = document_readings::count(tx, scope, session_id, MOST_READINGS).await? {
            return Ok(left);
        }
        let now = tx.now();
        let session = store::sessions::get(tx, scope, session_id).await?;
        if session.is_none_or(|session| !session.is_open(now) || session.expires_at <= now) {
            return Err(caller::session_ended());
        }
        let text = format!(
            "A session may have {MOST_READINGS} pictures read before its submission; submit the details that the applicant types"
        );
        Err(Problem::new(Kind::RateLimited, text).named("no_readings_left"))
    })
}

/// The named reading of a document's other side.
async fn other_reading(
    app: &Shared,
    scope: Scope,
    session_id: Uuid,
    (document_type, side): (DocumentType, Side),
    id: Uuid,
) -> Result<Reading, Problem> {
    let other = match side {
        Side::Front => Side::Back,
        Side::Back => Side::Front,
    };
    let field = FileField::of(document_type, other).map(FileField::as_str);
    let mut conn = app.db.read().await?;
    let stored = document_readings::of_session(&mut conn, scope, session_id).await?;
    let is_named = |each: &Reading| each.id == id && Some(each.file.as_str()) == field;
    stored.into_iter().find(is_named).ok_or_else(|| {
        let text =
            format!("{OTHER_SIDE_FIELD} - the session has no such reading of the document's other side");
        Problem::validation(vec![text])
    })
}

/// The only file of the form, and its field.
fn only_picture(mut files: BTreeMap<String, File>) -> Result<(FileField, File), Problem> {
    let fields: Vec<&str> = FileField::of_documents().map(FileField::as_str).collect();
    let (Some((name, mut file)), true) = (files.pop_first(), files.is_empty()) else {
        let text = format!(
            "body - must have exactly one picture, named {}",
            fields.join(", ")
        );
        return Err(Problem::validation(vec![text]));
    };
    let field: FileField = name
        .parse()
        .map_err(|()| Problem::internal("a file under an unknown name"))?;
    let fault = if file.content.is_empty() {
        Some("must not be empty")
    } else if file.too_large || file.content.len() > MAX_FILE_BYTES {
        Some("must have at most 10 MB")
    } else if imaging::sniff(&file.content.first(64).map_err(Problem::internal)?).is_none() {
        Some("must be JPEG, PNG, WEBP, BMP or PDF")
    } else {
        None
    };
    match fault {
        None => Ok((field, file)),
        Some(fault) => Err(Problem::validation(vec![format!("{name} - {fault}")])),
    }
}

async fn has_consented(conn: &mut Conn, scope: Scope, session_id: Uuid) -> Result<bool, Problem> {
    let consent = consents::of_session(conn, scope, session_id).await?;
    Ok(consent.is_some_and(|consent| consent.accepted))
}

fn open_session(caller: &Caller) -> Result<&Session, Problem> {
    caller.check_session()?;
    let session = caller
        .session
        .as_ref()
        .ok_or_else(|| Problem::internal("a route of the hosted page let a key in"))?;
    sessions::check_attempts(session)?;
    Ok(session)
}

/// A counted reading.
struct Request {
    app: Shared,
    scope: Scope,
    session_id: Uuid,
    flow: Flow,
    field: FileField,
    document_type: DocumentType,
    side: Side,
    document_country: Option<String>,
    other_side: Option<Reading>,
}

impl Request {
    async fn answer(&self, mut file: File, left: i64) -> Result<SideReading, Problem> {
        let wish = SideWish {
            document_type: self.document_type,
            side: self.side,
            faces: FaceWish::Find,
            // What a Flow sends to reviewers cannot be tried out here.
            fraud_signs: self.flow.settings.fraud_signs != FraudSigns::Review,
        };
        let engines = self.app.engines.clone();
        let (looked, picture) = self
            .app
            .cpu
            .run(move |gone| -> Result<_, Problem> {
                let picture = Zeroizing::new(file.content.read().map_err(Problem::internal)?);
                let looked = match document_side::read(&engines, &picture, wish, gone, |_| {})? {
                    Ok(read) => ProcessedSide::of(read, wish.document_type, wish.side),
                    Err(_) => ProcessedSide::undecoded(),
                };
                Ok((looked, picture))
            })
            .await??;
        metrics::counter!("bonafide_document_readings_total").increment(1);
        let other = self.other_side.as_ref().and_then(StoredSide::read);
        let document = self.document(Some(&looked), other.as_ref());
        let hints = self.hints(&looked);
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        let alone = other.is_some().then(|| self.document(None, other.as_ref()));
        let is_other_side = hints.iter().any(|hint| hint == OTHER_SIDE);
        let codes = told_codes(
            &document,
            alone.as_ref(),
            is_other_side,
            self.document_country.as_deref(),
            today,
        );
        let is_proposed = self.flow.is_document_first();
        let shown = Shown {
            proposal: match is_proposed {
                true => self.proposal(&document),
                false => Proposal::default(),
            },
            bytes: picture.len() as u64,
        };
        let id = Uuid::now_v7();
        self.store(id, &shown, &looked.into(), picture).await?;
        Ok(SideReading {
            id,
            left,
            codes,
            hints,
            country: issuing_country(&document).filter(|_| is_proposed),
            document_number: document_number(&document).filter(|_| is_proposed),
            proposal: shown.proposal,
        })
    }

    /// The values that the Flow asks for, by what is known of the person's country.
    fn proposal(&self, document: &DocumentEvidence) -> Proposal {
        let country = self
            .document_country
            .as_deref()
            .or_else(|| issuing_country(document));
        let configuration = self.flow.configuration(country);
        Proposal::of(document, |field| {
            configuration.requests(field) || self.flow.defaults.requests(field)
        })
    }

    /// The document, by its pictures.
    fn document(&self, looked: Option<&ProcessedSide>, other: Option<&StoredSide>) -> DocumentEvidence {
        let this = looked.map(|looked| (looked.side, &looked.reading));
        let other = other.map(|other| (other.evidence(), &other.reading));
        let [front, back] = match self.side {
            Side::Front => [this, other],
            Side::Back => [other, this],
        };
        let readings: Vec<&DocumentReading> = [front, back]
            .into_iter()
            .flatten()
            .map(|(_, reading)| reading)
            .collect();
        let shown = [front, back].map(|side| side.map(|(evidence, _)| evidence));
        evidence::of_readings(self.document_type, &readings, shown)
    }

    /// What a better picture avoids. Other signs of fraud are for reviewers only.
    fn hints(&self, looked: &ProcessedSide) -> Vec<String> {
        let reading = &looked.reading;
        let has_code = reading.mrz.is_some() || !reading.barcodes.is_empty();
        let is_other_side = seems_other_side(self.document_type, self.side, &looked.side, has_code);
        let copies = reading
            .fraud
            .iter()
            .filter(|sign| sign.raised && matches!(sign.kind, FraudKind::Screen | FraudKind::Photocopy))
            .map(|sign| sign.kind.as_str().to_owned());
        let quality = reading.quality.iter().map(|issue| issue.code.clone());
        is_other_side
            .then(|| OTHER_SIDE.to_owned())
            .into_iter()
            .chain(copies)
            .chain(quality)
            .collect()
    }

    /// Stores the picture, and then what was read.
    async fn store(
        &self,
        id: Uuid,
        shown: &Shown,
        side: &StoredSide,
        picture: Zeroizing<Vec<u8>>,
    ) -> Result<(), Problem> {
        let content = serde_json::to_vec(&Content { shown, side }).map_err(Problem::internal)?;
        let content = Zeroizing::new(content);
        let (scope, key, field) = (self.scope, DataKey::generate(), self.field.as_str());
        let object = ObjectName {
            scope,
            attempt_id: id,
            file: field,
        };
        let sealing = key.clone();
        let sealed = cpu::blocking(move || Ok(store::objects::seal(&sealing, &object, &picture))).await?;
        self.app.objects.put_sealed(&object, sealed).await?;
        let new = NewReading {
            id,
            file: field,
            key: &key,
            content: &content,
        };
        let stored = store::transaction!(self.app.db, |tx| -> Result<bool, Problem> {
            Ok(document_readings::insert(tx, scope, self.session_id, &new).await?)
        });
        match stored {
            Ok(true) => Ok(()),
            Ok(false) => Err(caller::session_ended()),
            Err(problem) => {
                // Nobody has its key. What this cannot delete, the sweep of unused objects does.
                if let Err(error) = self.app.objects.delete_attempt(scope, id).await {
                    tracing::warn!(%error, "the picture of a failed reading could not be deleted");
                }
                Err(problem)
            }
        }
    }

    async fn count_back(&self) {
        let counted_back = store::transaction!(self.app.db, |tx| -> Result<(), store::Error> {
            document_readings::count_back(tx, self.scope, self.session_id).await
        });
        if let Err(error) = counted_back {
            tracing::warn!(%error, "a reading without an answer stays counted");
        }
    }
}

/// The hint that a picture shows the document's other side.
const OTHER_SIDE: &str = "other_side";
