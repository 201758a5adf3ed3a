//! What the hosted page is told of a link, a session and its merchant. The shapes only; nothing is read or decided here.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::branding::Branding;
use service::flows;
use service::hosted::{Current, Preview};
use service::problem::Problem;
use service::time::iso;
use utoipa::ToSchema;
use uuid::Uuid;

/// What a link leads to.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewBody {
    /// Who asks.
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
    /// Where applicants can ask the merchant: an e-mail or https address.
    #[schema(example = "help@acme.example")]
    pub contact: Option<String>,
    /// Whether it is only a test.
    pub is_sandbox: bool,
    /// The documents of which one is needed; empty: none.
    #[schema(example = json!(["PASSPORT", "ID_CARD"]))]
    pub document_types: Vec<String>,
    /// `selfie`, `live selfie` or `liveness`.
    #[schema(example = "selfie")]
    pub biometric_type: String,
    /// `fileUpload` or `fileCapture`.
    #[schema(example = "fileCapture")]
    pub document_upload_type: String,
    /// The personal fields that are asked for, besides first and last name.
    #[schema(example = json!(["dob"]))]
    pub fields: Vec<String>,
    /// About how long it takes.
    #[schema(example = 2)]
    pub minutes: u32,
    /// Until when the link can be used (ISO 8601, UTC, milliseconds).
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
            is_sandbox: preview.sandbox,
            document_types: configuration
                .document_types
                .iter()
                .map(ToString::to_string)
                .collect(),
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

/// How a session stands, for its own applicant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentBody {
    /// The session.
    #[serde(rename = "session_id")]
    pub session_id: Uuid,
    /// `pending`, `success`, `failed` or `expired`.
    #[schema(example = "pending")]
    pub status: &'static str,
    /// `open`, `in_review` or `done`.
    #[schema(example = "open")]
    pub stage: &'static str,
    /// Attempts made.
    pub attempts: i64,
    /// Attempts allowed.
    #[schema(example = 3)]
    pub max_attempts: i64,
    /// When the access token ends.
    #[schema(example = "2026-11-21T06:10:00.000Z")]
    pub expires_at: String,
    /// Whether it is only a test.
    #[serde(rename = "is_sandbox")]
    pub is_sandbox: bool,
    /// For whom the link was made.
    pub user_id: String,
    /// The Group.
    pub group_id: Uuid,
    /// The Flow.
    pub flow_id: Uuid,
    /// The Flow's, as JSON.
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
    /// Who asks.
    pub merchant: MerchantBody,
    /// What the applicant said to the consent text; null until then.
    pub consent: Option<GivenConsentBody>,
    /// What became of the last attempt; null before the first.
    pub outcome: Option<OutcomeBody>,
    /// The second device; null without one.
    pub handoff: Option<HandoffStateBody>,
}

/// How a merchant looks to its applicants.
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
    /// Where applicants can ask: an e-mail or https address.
    #[schema(example = "help@acme.example")]
    pub contact: Option<String>,
}

impl From<Branding> for MerchantBody {
    fn from(branding: Branding) -> Self {
        MerchantBody {
            name: branding.name,
            logo_url: branding.logo_url,
            color: branding.color.map(|color| color.to_string()),
            privacy_url: branding.privacy_url,
            contact: branding.contact,
        }
    }
}

/// What the applicant said to the consent text.
#[derive(Serialize, ToSchema)]
pub struct GivenConsentBody {
    /// The text's version.
    pub version: String,
    /// Yes or no.
    pub accepted: bool,
}

/// What became of an attempt, as its applicant may know it.
#[derive(Serialize, ToSchema)]
pub struct OutcomeBody {
    /// `approved`, `pending` or `failed`.
    #[schema(example = "failed")]
    pub status: &'static str,
    /// The failure codes; nothing of sanctions.
    #[schema(example = json!([2509]))]
    pub codes: Vec<u16>,
    /// When.
    #[schema(example = "2026-11-21T06:01:42.250Z")]
    pub at: String,
}

/// How a hand-off stands.
#[derive(Serialize, ToSchema)]
pub struct HandoffStateBody {
    /// `waiting` or `claimed`.
    #[schema(example = "claimed")]
    pub state: &'static str,
    /// The step that the second device reached last.
    #[schema(example = "front")]
    pub step: Option<String>,
}

impl TryFrom<Current> for CurrentBody {
    type Error = Problem;

    fn try_from(current: Current) -> Result<Self, Problem> {
        let session = current.session;
        let content = current.flow.into();
        let defaults = flows::parse(&content)?.defaults;
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
            merchant: current.branding.into(),
            consent: current.consent.map(|consent| GivenConsentBody {
                version: consent.version,
                accepted: consent.accepted,
            }),
            outcome: current.outcome.map(|outcome| OutcomeBody {
                status: outcome.status,
                codes: outcome.codes,
                at: iso(outcome.at),
            }),
            handoff: current.handoff.map(|(handoff, step)| HandoffStateBody {
                state: if handoff.claimed { "claimed" } else { "waiting" },
                step,
            }),
        })
    }
}
