//! The shapes in which the hosted page receives a link, a session and its merchant. This module reads and
//! decides nothing.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::branding::Branding;
use service::flows;
use service::hosted::{Preview, SessionState};
use service::problem::Problem;
use service::time::iso;
use utoipa::ToSchema;
use uuid::Uuid;

/// The content of a link.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewBody {
    /// The merchant's name.
    #[schema(example = "Acme")]
    pub merchant_name: String,
    /// The merchant's logo, on this server.
    pub logo_url: Option<String>,
    /// The merchant's colour.
    #[schema(example = "#00aa77")]
    pub color: Option<String>,
    /// The merchant's privacy notice (https).
    #[schema(example = "https://acme.example/privacy")]
    pub privacy_url: Option<String>,
    /// The merchant's contact for applicants: an email or https address.
    #[schema(example = "help@acme.example")]
    pub contact: Option<String>,
    /// The merchant's website (https), to which the page leads back.
    #[schema(example = "https://acme.example/")]
    pub website_url: Option<String>,
    /// Where people who already have an account with the merchant sign in (https).
    #[schema(example = "https://acme.example/login")]
    pub sign_in_url: Option<String>,
    /// Whether the link is for the sandbox.
    pub is_sandbox: bool,
    /// The accepted documents, of which one is needed; empty if none is.
    #[schema(example = json!(["PASSPORT", "ID_CARD"]))]
    pub document_types: Vec<String>,
    /// Whether applicants of some country send a document and a selfie, which the consent then covers.
    pub asks_document: bool,
    /// `selfie`, `live selfie` or `liveness`.
    #[schema(example = "selfie")]
    pub biometric_type: String,
    /// `fileUpload` or `fileCapture`.
    #[schema(example = "fileCapture")]
    pub document_upload_type: String,
    /// The required personal fields, in addition to first and last name.
    #[schema(example = json!(["dob"]))]
    pub fields: Vec<String>,
    /// The approximate duration, in minutes.
    #[schema(example = 2)]
    pub minutes: u32,
    /// When the link expires (ISO 8601, UTC, milliseconds).
    #[schema(example = "2026-11-21T06:10:00.000Z")]
    pub expires_at: String,
}

impl From<&Preview> for PreviewBody {
    fn from(preview: &Preview) -> Self {
        let Preview {
            branding,
            configuration,
            ..
        } = preview;
        PreviewBody {
            merchant_name: branding.name.clone(),
            logo_url: branding.logo_url.clone(),
            color: branding.color.map(|color| color.to_string()),
            privacy_url: branding.privacy_url.clone(),
            contact: branding.contact.clone(),
            website_url: branding.website_url.clone(),
            sign_in_url: branding.sign_in_url.clone(),
            is_sandbox: preview.sandbox,
            document_types: configuration
                .document_types
                .iter()
                .map(ToString::to_string)
                .collect(),
            asks_document: preview.asks_document,
            biometric_type: configuration.biometric().as_str().into(),
            document_upload_type: configuration.document_upload_type().into(),
            fields: verification::hosted::personal_fields(configuration)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            minutes: preview.minutes,
            expires_at: iso(preview.expires_at),
        }
    }
}

/// The state of a session, for its own applicant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentBody {
    /// The session's ID.
    #[serde(rename = "session_id")]
    pub session_id: Uuid,
    /// `pending`, `success`, `failed` or `expired`.
    #[schema(example = "pending")]
    pub status: &'static str,
    /// `open`, `in_review` or `done`.
    #[schema(example = "open")]
    pub stage: &'static str,
    /// The number of attempts made.
    pub attempts: i64,
    /// The number of attempts allowed.
    #[schema(example = 3)]
    pub max_attempts: i64,
    /// When the access token expires.
    #[schema(example = "2026-11-21T06:10:00.000Z")]
    pub expires_at: String,
    /// Whether the session is in the sandbox.
    #[serde(rename = "is_sandbox")]
    pub is_sandbox: bool,
    /// The user for whom the link was created.
    pub user_id: String,
    /// The Group's ID.
    pub group_id: Uuid,
    /// The Flow's ID.
    pub flow_id: Uuid,
    /// The Flow's `defaultFields`.
    #[schema(value_type = Object)]
    pub default_fields: Value,
    /// The Flow's accepted document types.
    #[schema(value_type = Vec<String>)]
    pub default_document_types: Value,
    /// The Flow's customisations per country.
    #[schema(value_type = Vec<Object>)]
    pub country_overrides: Value,
    /// `selfie`, `live selfie` or `liveness`.
    #[schema(example = "selfie")]
    pub biometric_type: &'static str,
    /// `fileUpload` or `fileCapture`.
    #[schema(example = "fileCapture")]
    pub document_upload_type: &'static str,
    /// Whether the applicant types the details before photographing a document.
    pub details_first: bool,
    /// The merchant.
    pub merchant: MerchantBody,
    /// Whether the session has ended and its invitation opens another one.
    pub can_start_again: bool,
    /// The applicant's answer to the consent text; null before it is given.
    pub consent: Option<GivenConsentBody>,
    /// The outcome of the last attempt; null before the first.
    pub outcome: Option<OutcomeBody>,
    /// The hand-off to a second device; null if there is none.
    pub handoff: Option<HandoffStateBody>,
}

/// The merchant's branding.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MerchantBody {
    /// The name.
    #[schema(example = "Acme")]
    pub name: String,
    /// The logo, on this server.
    pub logo_url: Option<String>,
    /// The colour.
    #[schema(example = "#00aa77")]
    pub color: Option<String>,
    /// The privacy notice (https).
    #[schema(example = "https://acme.example/privacy")]
    pub privacy_url: Option<String>,
    /// The contact for applicants: an email or https address.
    #[schema(example = "help@acme.example")]
    pub contact: Option<String>,
    /// The website (https), to which the page leads back.
    #[schema(example = "https://acme.example/")]
    pub website_url: Option<String>,
    /// Where people who already have an account sign in (https).
    #[schema(example = "https://acme.example/login")]
    pub sign_in_url: Option<String>,
}

impl From<Branding> for MerchantBody {
    fn from(branding: Branding) -> Self {
        MerchantBody {
            name: branding.name,
            logo_url: branding.logo_url,
            color: branding.color.map(|color| color.to_string()),
            privacy_url: branding.privacy_url,
            contact: branding.contact,
            website_url: branding.website_url,
            sign_in_url: branding.sign_in_url,
        }
    }
}

/// The applicant's answer to the consent text.
#[derive(Serialize, ToSchema)]
pub struct GivenConsentBody {
    /// The version of the text.
    pub version: String,
    /// Whether the applicant consented.
    pub accepted: bool,
}

/// The outcome of an attempt, without details that the applicant must not see.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeBody {
    /// `approved`, `pending` or `failed`.
    #[schema(example = "failed")]
    pub status: &'static str,
    /// The failure codes, without those of sanctions screening.
    #[schema(example = json!([2509]))]
    pub codes: Vec<u16>,
    /// The attempt failed because the document is not the expected person's. Correcting entries does not help.
    #[schema(example = false)]
    pub is_unexpected: bool,
    /// When the attempt was decided, or when it was made if no decision exists.
    #[schema(example = "2026-11-21T06:01:42.250Z")]
    pub at: String,
}

/// The state of a hand-off.
#[derive(Serialize, ToSchema)]
pub struct HandoffStateBody {
    /// `waiting` or `claimed`.
    #[schema(example = "claimed")]
    pub state: &'static str,
    /// The step that the second device reached last.
    #[schema(example = "front")]
    pub step: Option<String>,
}

impl TryFrom<SessionState> for CurrentBody {
    type Error = Problem;

    fn try_from(current: SessionState) -> Result<Self, Problem> {
        let session = current.session;
        let content = current.flow.into();
        let rules = flows::parse(&content)?;
        let defaults = &rules.defaults;
        let json = |text: &str| serde_json::from_str(text).map_err(Problem::internal);
        Ok(CurrentBody {
            session_id: session.id,
            status: session.status.as_str(),
            stage: session.stage.as_str(),
            attempts: session.attempts,
            max_attempts: session.max_attempts,
            expires_at: iso(session.expires_at),
            is_sandbox: current.scope.sandbox,
            user_id: session.link.user_id,
            group_id: session.link.group_id,
            flow_id: session.link.flow_id,
            default_fields: json(&content.default_fields)?,
            default_document_types: json(&content.default_document_types)?,
            country_overrides: json(&content.country_overrides)?,
            biometric_type: defaults.biometric().as_str(),
            document_upload_type: defaults.document_upload_type(),
            details_first: !rules.is_document_first(),
            merchant: current.branding.into(),
            can_start_again: current.can_start_again,
            consent: current.consent.map(|consent| GivenConsentBody {
                version: consent.version,
                accepted: consent.accepted,
            }),
            outcome: current.outcome.map(|outcome| OutcomeBody {
                status: outcome.status,
                codes: outcome.codes,
                is_unexpected: outcome.is_unexpected,
                at: iso(outcome.at),
            }),
            handoff: current.handoff.map(|(handoff, step)| HandoffStateBody {
                state: if handoff.claimed { "claimed" } else { "waiting" },
                step,
            }),
        })
    }
}
