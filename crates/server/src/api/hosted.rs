//! `/v2/sdk/session/…`: what only the hosted page calls (additions to the contract).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::iso;
use crate::app::hosted::{self, Preview};

/// What a link leads to.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreviewBody {
    /// Who asks.
    pub merchant_name: String,
    /// The merchant's logo, on this server.
    pub logo_url: Option<String>,
    /// The merchant's colour, such as `#00aa77`.
    pub color: Option<String>,
    /// Whether it is only a test.
    pub is_sandbox: bool,
    /// The documents of which one is needed; empty: none.
    pub document_types: Vec<String>,
    /// `selfie`, `live selfie` or `liveness`.
    pub biometric_type: String,
    /// `fileUpload` or `fileCapture`.
    pub document_upload_type: String,
    /// The personal fields that are asked for, besides first and last name.
    pub fields: Vec<String>,
    /// About how long it takes.
    pub minutes: u32,
    /// Until when the link can be used.
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
            is_sandbox: preview.sandbox,
            document_types: configuration
                .document_types
                .iter()
                .map(ToString::to_string)
                .collect(),
            biometric_type: configuration.biometric().as_str().into(),
            document_upload_type: configuration.document_upload_type().into(),
            fields: hosted::personal_fields(configuration)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            minutes: preview.minutes,
            expires_at: iso(preview.expires_at),
        }
    }
}
