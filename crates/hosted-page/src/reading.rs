//! `/v2/sdk/session/reading`: reads a picture of a document before its submission. Only the hosted page calls it. It is
//! an addition to the contract, and its errors have the exchange's shape.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Json;
use http_server::api_log::CallContext;
use http_server::error::Rejection;
use http_server::form::{self, Fields, Form};
use http_server::gate::Authenticated;
use http_server::openapi::{ErrorAndMessageBody, HostedErrors};
use serde::Serialize;
use service::Shared;
use service::api_log::form_summary;
use service::document_readings::{self, OTHER_SIDE_FIELD, SideReading};
use service::problem::Problem;
use utoipa::ToSchema;
use uuid::Uuid;
use verification::judge::reading::ProposedValue;
use verification::known_country;
use verification::submission::FileField;

/// The field of the issuing country.
const COUNTRY: &str = "documentCountry";

/// A picture of a document's side: exactly one of the files.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct ReadingForm {
    /// The country that the applicant chose, ISO 3166-1 alpha-3.
    #[schema(min_length = 1, pattern = "^[A-Z]{3}$", nullable = false)]
    document_country: Option<String>,
    /// The reading of the picture that the applicant has of the document's other side. Both are then judged together.
    #[schema(value_type = Option<Uuid>, nullable = false)]
    other_side: Option<Uuid>,
    /// JPEG, PNG, WEBP, BMP or PDF, at most 10 MB.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    passport_front: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    drivers_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    drivers_back: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    id_card_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    id_card_back: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    residency_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    residency_back: Option<Vec<u8>>,
}

/// What a picture says. Nothing is decided by it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadingBody {
    /// The reading's ID. The submission may name it in `readings` instead of sending the picture again.
    pub reading_id: Uuid,
    /// How many more pictures of this session can be read.
    #[schema(example = 11)]
    pub left: i64,
    /// The failure codes that this picture shows, the most important first.
    #[schema(example = json!([2508]))]
    pub codes: Vec<u16>,
    /// What a better picture would avoid: `other_side`, `screen`, `photocopy`, `too_small`, `blurred`, `glare`,
    /// `too_dark` or `cut_off`.
    #[schema(example = json!(["blurred"]))]
    pub hints: Vec<String>,
    /// The issuing state (alpha-3), if it was read with certainty. Null if the Flow asks for the details first.
    #[schema(example = "UTO")]
    pub country: Option<&'static str>,
    /// The document's number, if it was read with certainty. Null if the Flow asks for the details first.
    #[schema(example = "L898902C3")]
    pub document_number: Option<String>,
    /// The values to confirm, by the submission's fields. A field that was not read with certainty is missing. Empty if
    /// the Flow asks for the details first.
    pub fields: ReadFieldsBody,
}

/// The values to confirm.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadFieldsBody {
    /// First name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<ReadFieldBody>,
    /// Middle names, if the Flow asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<ReadFieldBody>,
    /// Last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<ReadFieldBody>,
    /// Date of birth, `MM/DD/YYYY`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dob: Option<ReadFieldBody>,
    /// Nationality (alpha-3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nationality: Option<ReadFieldBody>,
}

/// A value to confirm.
#[derive(Serialize, ToSchema)]
pub struct ReadFieldBody {
    /// The value, as the submission takes it.
    #[schema(example = "ERIKSSON")]
    pub value: String,
    /// How the document prints it, if in other letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
}

impl From<ProposedValue> for ReadFieldBody {
    fn from(ProposedValue { value, printed }: ProposedValue) -> Self {
        ReadFieldBody { value, printed }
    }
}

impl From<SideReading> for ReadingBody {
    fn from(reading: SideReading) -> Self {
        let mut values = reading.proposal.0;
        let mut field = |name: &str| values.remove(name).map(ReadFieldBody::from);
        ReadingBody {
            reading_id: reading.id,
            left: reading.left,
            codes: reading.codes.iter().map(|code| code.number()).collect(),
            hints: reading.hints,
            country: reading.country,
            document_number: reading.document_number,
            fields: ReadFieldsBody {
                first_name: field("firstName"),
                middle_name: field("middleName"),
                last_name: field("lastName"),
                dob: field("dob"),
                nationality: field("nationality"),
            },
        }
    }
}

/// Read a picture of a document before the submission.
///
/// It counts no attempt and decides nothing. The picture is kept, sealed, until the session ends, and for an hour at the
/// most. A session has at most 12 readings, and needs a recorded consent.
#[utoipa::path(post, path = "/v2/sdk/session/reading", operation_id = "readDocumentPicture", tag = "Hosted page", security(("bearer" = [])),
    request_body(content = ReadingForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "What the picture says", body = ReadingBody),
        (status = 400, description = "Validation failed, or the session's Flow left its Group", body = ErrorAndMessageBody),
        (status = 404, description = "`not_found`: the session's Flow or Group was deleted", body = ErrorAndMessageBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorAndMessageBody),
        (status = 409, description = "`consent_required`: the applicant has not consented", body = ErrorAndMessageBody),
        (status = 413, description = "More than any valid request holds", body = ErrorAndMessageBody),
        HostedErrors))]
pub async fn read(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    notes: CallContext,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ReadingBody>, Rejection> {
    caller.check_session()?;
    let files: Vec<&str> = FileField::of_documents().map(FileField::as_str).collect();
    let fields = Fields {
        texts: &[COUNTRY, OTHER_SIDE_FIELD],
        files: &files,
    };
    let Form { texts, files } = form::read(&headers, body, &fields, &app.config.data.spill_dir()).await?;
    let sizes = files.iter().map(|(name, file)| (name, file.content.len()));
    notes.set_form(form_summary(&texts, sizes));
    let country = texts.get(COUNTRY).map(String::as_str);
    let other_side = texts.get(OTHER_SIDE_FIELD).map(|id| Uuid::parse_str(id));
    let mut errors = Vec::new();
    if country.is_some_and(|code| known_country(code, caller.scope.sandbox).is_none()) {
        errors.push(format!(
            "{COUNTRY} - must be an ISO 3166-1 alpha-3 code, such as DEU"
        ));
    }
    if other_side.as_ref().is_some_and(Result::is_err) {
        errors.push(format!("{OTHER_SIDE_FIELD} - must be the ID of a reading"));
    }
    if !errors.is_empty() {
        return Err(Problem::validation(errors).into());
    }
    let other_side = other_side.and_then(Result::ok);
    let reading = document_readings::read(&app, &caller, country, other_side, files).await?;
    Ok(Json(reading.into()))
}
