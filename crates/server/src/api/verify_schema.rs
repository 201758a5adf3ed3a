//! The form and the response of verification, for the OpenAPI document only: the rules read the form, and `verification::response`
//! writes the answer (the integration tests hold the two against each other).

use utoipa::ToSchema;

/// The form.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationForm {
    /// English characters only.
    #[schema(example = "Anna Maria")]
    first_name: String,
    /// English characters only. In the sandbox, `SANDBOX-<code>` adds that failure.
    #[schema(example = "Eriksson")]
    last_name: String,
    /// The person's identifier in the merchant's system.
    #[schema(max_length = 500)]
    external_user_id: String,
    /// The Flow to verify against.
    #[schema(max_length = 36)]
    flow_id: String,
    /// A Group that the Flow belongs to.
    #[schema(max_length = 255)]
    grouping_id: Option<String>,
    /// Links the call to a hosted session.
    #[schema(max_length = 255)]
    session_id: Option<String>,
    /// English characters only.
    middle_name: Option<String>,
    /// `MM/DD/YYYY`.
    #[schema(example = "08/12/1974")]
    dob: Option<String>,
    /// International format with a leading `+`.
    phone: Option<String>,
    /// An email address.
    email: Option<String>,
    /// English characters only.
    street: Option<String>,
    /// English characters only.
    street2: Option<String>,
    /// English characters only.
    city: Option<String>,
    /// State or province code.
    state: Option<String>,
    /// Postal or ZIP code.
    postcode: Option<String>,
    /// Country of residence, ISO 3166-1 alpha-3.
    country: Option<String>,
    /// ISO 3166-1 alpha-3.
    nationality: Option<String>,
    /// Comma-separated from `PASSPORT`, `DRIVERS`, `ID_CARD`, `RESIDENCY_CARD`.
    document_types: Option<String>,
    /// Issuing country, ISO 3166-1 alpha-3; required with `documentTypes`.
    document_country: Option<String>,
    /// Required when the Flow says so.
    ssn: Option<String>,
    /// Recorded; the Flow decides whether data are compared.
    ocr_match: Option<String>,
    /// JPEG, PNG, WEBP, BMP or PDF, at most 10 MB.
    #[schema(value_type = Option<String>, format = Binary)]
    passport_front: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary)]
    drivers_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary)]
    drivers_back: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary)]
    id_card_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary)]
    id_card_back: Option<Vec<u8>>,
    /// The side with the photo.
    #[schema(value_type = Option<String>, format = Binary)]
    residency_front: Option<Vec<u8>>,
    /// The other side.
    #[schema(value_type = Option<String>, format = Binary)]
    residency_back: Option<Vec<u8>>,
    /// Required whenever a document is sent.
    #[schema(value_type = Option<String>, format = Binary)]
    selfie: Option<Vec<u8>>,
}

/// The outcome. Result objects are present as the contract's §2.5 says; a passing response carries more.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only")]
pub struct VerificationBody {
    /// Every check passed.
    success: bool,
    /// Why not, in one sentence.
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
    /// Passing only: what was submitted.
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
    /// Nothing failed here.
    success: bool,
    /// The selfie matches every document.
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
    /// Nothing failed here.
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
    /// Nothing failed here.
    success: bool,
    /// Submitted and printed data agree.
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
    /// Nothing failed here.
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
    /// Hits: `{id, caption, schema, score, match, datasets, …}`.
    #[schema(value_type = Vec<Object>)]
    results: serde_json::Value,
    /// `{value, relation}`.
    #[schema(value_type = Object)]
    total: serde_json::Value,
    /// The flattened values really used.
    #[schema(value_type = Object)]
    query_params: serde_json::Value,
    /// Versions of the lists searched.
    #[schema(value_type = Object)]
    lists: serde_json::Value,
    /// What failed.
    error: Option<String>,
    /// 2702 on a match.
    code: Option<u16>,
    /// Every failure code that applies.
    codes: Option<Vec<u16>>,
}
