//! Merchants: making one with its keys, and the settings that only the portal and the command line know (`decisions.md` §2).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::credentials::{self, NewCredential};
use store::merchants::{self, Merchant, MerchantStatus};
use store::{Db, Error};
use uuid::Uuid;

/// What is set per merchant; everything has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MerchantSettings {
    /// Score from which a list entry matches, 0–1; by default the engine's 0.70.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening_threshold: Option<f64>,
    /// Lists to screen against; by default all that are active.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub screening_lists: Vec<String>,
    /// Countries (alpha-2) whose visitors cannot exchange a link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_countries: Vec<String>,
    /// Origins that may embed the hosted page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_origins: Vec<String>,
    /// How many Groups the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<i64>,
    /// How many Flows the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<i64>,
}

/// A merchant's settings. What an older or newer version wrote and this one cannot read counts as unset.
pub fn settings(merchant: &Merchant) -> MerchantSettings {
    serde_json::from_str(&merchant.settings).unwrap_or_default()
}

/// The settings after `KEY=VALUE` changes, as JSON; the error names the setting and the fix.
pub fn with_settings(merchant: &Merchant, changes: &[String]) -> Result<String, String> {
    let mut object: Map<String, Value> = serde_json::from_str(&merchant.settings).unwrap_or_default();
    for change in changes {
        let (key, value) = change
            .split_once('=')
            .ok_or_else(|| format!("`{change}` is not KEY=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        object.insert(key.to_owned(), value);
    }
    let settings: MerchantSettings =
        serde_json::from_value(Value::Object(object)).map_err(|error| format!("settings: {error}"))?;
    if settings
        .screening_threshold
        .is_some_and(|threshold| !(0.0..=1.0).contains(&threshold))
    {
        return Err("screeningThreshold must be between 0 and 1".into());
    }
    serde_json::to_string(&settings).map_err(|error| error.to_string())
}

/// Makes a merchant with a live and a sandbox key.
pub async fn create(
    db: &Db,
    name: &str,
    status: MerchantStatus,
) -> Result<(Uuid, NewCredential, NewCredential), Error> {
    store::transaction!(db, |tx| -> Result<(Uuid, NewCredential, NewCredential), Error> {
        let merchant = merchants::create(tx, name, status, "{}").await?;
        let live = credentials::create(tx, merchant.id, false).await?;
        let sandbox = credentials::create(tx, merchant.id, true).await?;
        Ok((merchant.id, live, sandbox))
    })
}
