//! The form and the response of verification, for the OpenAPI document only. The rules read the form, and
//! `verification::response` builds the response. `scripts/test-live` checks a running server against the
//! document.

use utoipa::ToSchema;

/// The form.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationForm {
    /// English characters only.
    #[schema(
        example = "Anna Maria",
        min_length = 1,
        max_length = 255,
        pattern = "^[ -~]*[A-Za-z][ -~]*$"
    )]
    first_name: String,
    /// English characters only. In the sandbox, `SANDBOX-<code>` adds that failure.
    #[schema(
        example = "Eriksson",
        min_length = 1,
        max_length = 255,
        pattern = "^[ -~]*[A-Za-z][ -~]*$"
    )]
    last_name: String,
    /// The person's identifier in the merchant's system.
    #[schema(max_length = 500, min_length = 1)]
    external_user_id: String,
    /// The Flow to verify against.
    #[schema(max_length = 36, min_length = 1)]
    flow_id: String,
    /// A Group that the Flow belongs to.
    #[schema(max_length = 255, min_length = 1, nullable = false)]
    grouping_id: Option<String>,
    /// Links the call to a hosted session.
    #[schema(max_length = 255, min_length = 1, nullable = false)]
    session_id: Option<String>,
    /// English characters only.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = "^[ -~]*[A-Za-z][ -~]*$",
        nullable = false
    )]
    middle_name: Option<String>,
    /// `MM/DD/YYYY`.
    #[schema(
        example = "08/12/1974",
        min_length = 1,
        pattern = r"^\d{2}/\d{2}/\d{4}$",
        nullable = false
    )]
    dob: Option<String>,
    /// International format with a leading `+`.
    #[schema(
        min_length = 1,
        pattern = r"^\+[0-9 ().-]+$",
        example = "+15550100123",
        nullable = false
    )]
    phone: Option<String>,
    /// An email address.
    #[schema(
        min_length = 1,
        max_length = 254,
        example = "anna@example.com",
        nullable = false
    )]
    email: Option<String>,
    /// English characters only.
    #[schema(min_length = 1, max_length = 255, pattern = "^[ -~]+$", nullable = false)]
    street: Option<String>,
    /// English characters only.
    #[schema(min_length = 1, max_length = 255, pattern = "^[ -~]+$", nullable = false)]
    street2: Option<String>,
    /// English characters only.
    #[schema(min_length = 1, max_length = 255, pattern = "^[ -~]+$", nullable = false)]
    city: Option<String>,
    /// State or province code.
    #[schema(min_length = 1, max_length = 255, pattern = "^[ -~]+$", nullable = false)]
    state: Option<String>,
    /// Postal or ZIP code.
    #[schema(min_length = 1, max_length = 255, nullable = false)]
    postcode: Option<String>,
    /// Country of residence, ISO 3166-1 alpha-3.
    #[schema(min_length = 1, pattern = "^[A-Z]{3}$", nullable = false)]
    country: Option<String>,
    /// ISO 3166-1 alpha-3.
    #[schema(min_length = 1, pattern = "^[A-Z]{3}$", nullable = false)]
    nationality: Option<String>,
    /// Comma-separated from `PASSPORT`, `DRIVERS`, `ID_CARD`, `RESIDENCY_CARD`.
    #[schema(min_length = 1, example = "PASSPORT", nullable = false)]
    document_types: Option<String>,
    /// Issuing country, ISO 3166-1 alpha-3; required with `documentTypes`.
    #[schema(min_length = 1, pattern = "^[A-Z]{3}$", nullable = false)]
    document_country: Option<String>,
    /// Required if the Flow requires it.
    #[schema(min_length = 1, max_length = 255, nullable = false)]
    ssn: Option<String>,
    /// Recorded; the Flow decides whether data are compared.
    #[schema(min_length = 1, example = "true", nullable = false)]
    ocr_match: Option<String>,
    /// With an access token: IDs of pictures that were read in the session, separated by commas. Each takes the place
    /// of its file.
    #[schema(min_length = 1, nullable = false)]
    readings: Option<String>,
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
    /// Required whenever a document is sent.
    #[schema(value_type = Option<String>, format = Binary, nullable = false)]
    selfie: Option<Vec<u8>>,
}

/// The outcome. The contract's §2.5 defines the result objects; a passing response has more members.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationBody {
    /// Whether every check passed.
    success: bool,
    /// The reason for a failure, in one sentence.
    message: Option<String>,
    /// Pictures, faces and identity.
    idv_result: IdvResultBody,
    /// Present when a document was submitted.
    document_result: Option<DocumentResultBody>,
    /// Present when the Flow compares data.
    ocr_result: Option<OcrResultBody>,
    /// Present when the Flow has an age bound.
    minimum_age_result: Option<AgeResultBody>,
    /// Sanctions screening.
    kyc_results: KycResultsBody,
    /// Passing only: the submitted data.
    #[schema(value_type = Option<Object>)]
    metadata: Option<serde_json::Value>,
    /// Passing only: documents, not files.
    #[schema(rename = "documents_processed")]
    documents_processed: Option<u32>,
    /// Passing only: the person.
    #[schema(rename = "facemap_id")]
    facemap_id: Option<String>,
    /// Passing only: one per document.
    #[schema(rename = "document_results", value_type = Option<Vec<Object>>)]
    document_results: Option<serde_json::Value>,
    /// Passing only: the machine-readable zone, or null.
    #[schema(rename = "mrz_data", value_type = Option<Object>)]
    mrz_data: Option<serde_json::Value>,
    /// Passing only: the comparison, or null.
    #[schema(rename = "ocr_comparison", value_type = Option<Object>)]
    ocr_comparison: Option<serde_json::Value>,
}

/// `idvResult`
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct IdvResultBody {
    /// Whether no check of this part failed.
    success: bool,
    /// Whether the selfie matches every document.
    facematch: bool,
    /// 0–100, calibrated.
    similarity_score: f64,
    /// What failed.
    error: Option<String>,
    /// The failure code that takes precedence.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
    /// `approved`, `declined` or `pending`, for hosted sessions.
    sdk_status: Option<String>,
    /// The hosted session.
    session_id: Option<String>,
}

/// `documentResult`
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct DocumentResultBody {
    /// Whether no check of this part failed.
    success: bool,
    /// What failed.
    error: Option<String>,
    /// The failure code that takes precedence.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
    /// `MRZ`, `PDF417` or `OCR`.
    source: Option<String>,
}

/// `ocrResult`
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct OcrResultBody {
    /// Whether no check of this part failed.
    success: bool,
    /// Whether submitted and printed data agree.
    #[schema(rename = "match")]
    matches: bool,
    /// What failed.
    error: Option<String>,
    /// The failure code that takes precedence.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
}

/// `minimumAgeResult`
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct AgeResultBody {
    /// Whether no check of this part failed.
    success: bool,
    /// What failed.
    error: Option<String>,
    /// The failure code that takes precedence.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
}

/// `kycResults`
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct KycResultsBody {
    /// `clear` or `match`.
    status: String,
    /// Hits: `{id, caption, schema, score, match, datasets, matchedNames, …}`.
    #[schema(value_type = Vec<Object>)]
    results: serde_json::Value,
    /// `{value, relation}`.
    #[schema(value_type = Object)]
    total: serde_json::Value,
    /// The values that the search used, flattened.
    #[schema(value_type = Object)]
    query_params: serde_json::Value,
    /// Versions of the lists searched.
    #[schema(value_type = Object)]
    lists: serde_json::Value,
    /// Further searched names, in addition to the submitted one: `{source, name, queryParams}`; absent if
    /// none.
    #[schema(value_type = Option<Vec<Object>>)]
    further_names: serde_json::Value,
    /// What failed.
    error: Option<String>,
    /// 2702 on a match.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
}
