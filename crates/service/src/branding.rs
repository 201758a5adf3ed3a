//! A merchant's name, logo, colour and addresses on the hosted page. It is read with the
//! account for each page and cached nowhere else; browsers cache a logo by the hash of its bytes. The command
//! line reads the files, and `node::theme` adjusts the contrast.

use serde_json::Value;
use sha2::{Digest, Sha256};
use store::logos::{self, Logo};
use store::merchants::{self, Merchant};
use store::{Db, Error, Tx, audit};
use thiserror::Error;
use uuid::Uuid;

use super::Shared;
use super::actor::By;
use super::merchants::{ChangeOutcome, MerchantSettings, settings};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::theme::Rgb;

/// The largest logo, in bytes of its file.
pub const MAX_LOGO_BYTES: usize = 64 * 1024;

/// A merchant's appearance on the hosted page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branding {
    /// The name that the page shows.
    pub name: String,
    /// The logo's path on this server.
    pub logo_url: Option<String>,
    /// The colour that was set.
    pub color: Option<Rgb>,
    /// The privacy notice (https).
    pub privacy_url: Option<String>,
    /// A contact for applicants: an e-mail or https address.
    pub contact: Option<String>,
    /// The merchant's website (https), to which the page leads back.
    pub website_url: Option<String>,
    /// Where people who already have an account sign in (https).
    pub sign_in_url: Option<String>,
}

/// A merchant's branding. Without settings it consists only of the account's name. 503 if the settings cannot
/// be read.
pub fn branding(merchant: &Merchant) -> Result<Branding, Problem> {
    let MerchantSettings {
        brand_name,
        brand_logo,
        brand_color,
        privacy_url,
        contact,
        website_url,
        sign_in_url,
        ..
    } = settings(merchant)?;
    Ok(Branding {
        name: brand_name.unwrap_or_else(|| merchant.name.clone()),
        logo_url: brand_logo
            .filter(|version| is_version(version))
            .map(|version| format!("/verify/logo/{}?v={version}", merchant.short_id)),
        color: brand_color.as_deref().and_then(Rgb::parse),
        privacy_url,
        contact,
        website_url,
        sign_in_url,
    })
}

/// Whether the text is a logo's version: sixteen hex digits. Settings from before logos had a table contain
/// the picture itself, which is not shown.
fn is_version(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Why a logo, or settings changed together with it, were refused.
#[derive(Debug, Error)]
pub enum LogoError {
    /// The file or the settings are refused. The text names the setting and the fix.
    #[error("{0}")]
    Unusable(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Changes settings by the command line and, if `logo` is given, the logo (inner `None`: removes it). Returns
/// the account after the change, or `None` for an unknown account.
///
/// # Errors
/// [`LogoError`], also for settings that are refused.
pub async fn set_with_logo(
    db: &Db,
    id: Uuid,
    settings: &[String],
    logo: Option<Option<&[u8]>>,
) -> Result<Option<(Merchant, ChangeOutcome)>, LogoError> {
    store::transaction!(db, |tx| -> Result<Option<(Merchant, ChangeOutcome)>, LogoError> {
        let Some(merchant) = merchants::get_for_update(tx, id).await? else {
            return Ok(None);
        };
        let changed = set(tx, merchant, settings, logo).await?;
        Ok(merchants::get(tx, id).await?.map(|merchant| (merchant, changed)))
    })
}

async fn set(
    tx: &mut Tx,
    mut merchant: Merchant,
    settings: &[String],
    logo: Option<Option<&[u8]>>,
) -> Result<ChangeOutcome, LogoError> {
    let refused = |problem: Problem| LogoError::Unusable(problem.to_string());
    let id = merchant.id;
    let is_readable = super::merchants::faults(&merchant).is_empty();
    if let Some(logo) = logo.filter(|_| is_readable) {
        // The logo's version is one of the settings, and a proposal becomes void when the settings change on
        // which it was made. So the logo comes first.
        set_logo(tx, id, logo).await?;
        merchant = merchants::get_for_update(tx, id)
            .await?
            .ok_or(store::Error::Missing("merchant"))?;
    }
    let changed = super::merchants::repaired_settings(&merchant, settings)
        .map_err(|faults| LogoError::Unusable(faults.join("\n")))?;
    let changed = super::merchants::replace_settings(tx, &merchant, changed, By::COMMAND_LINE)
        .await
        .map_err(refused)?;
    // If the settings could not be read, the call above repaired them and proposed nothing. The logo can be
    // added only now.
    if let Some(logo) = logo.filter(|_| !is_readable) {
        set_logo(tx, id, logo).await?;
    }
    Ok(changed)
}

/// Sets a merchant's logo from a picture file (PNG, JPEG or WEBP, at most [`MAX_LOGO_BYTES`]), or removes it.
/// SVG is refused because it can contain scripts.
///
/// # Errors
/// [`LogoError`]; [`Error::Missing`] for an unknown merchant.
pub async fn set_logo(tx: &mut Tx, merchant_id: Uuid, file: Option<&[u8]>) -> Result<(), LogoError> {
    let logo = file.map(logo_of).transpose().map_err(LogoError::Unusable)?;
    let merchant = merchants::get_for_update(tx, merchant_id)
        .await?
        .ok_or(Error::Missing("merchant"))?;
    let mut settings = super::merchants::members(&merchant).map_err(LogoError::Unusable)?;
    match &logo {
        Some(logo) => settings.insert("brandLogo".into(), logo.version.clone().into()),
        None => settings.remove("brandLogo"),
    };
    merchants::set_settings(tx, merchant_id, &Value::Object(settings).to_string()).await?;
    match &logo {
        Some(logo) => logos::set(tx, merchant_id, logo).await?,
        None => logos::delete(tx, merchant_id).await?,
    }
    Ok(())
}

/// As [`set_logo`], for a member of the account. A child process decodes the picture first, so that a file
/// with only a picture's first bytes is refused.
pub async fn put_logo(app: &Shared, caller: &Caller, file: Option<Vec<u8>>) -> Result<(), Problem> {
    if let Some(file) = file.clone().filter(|file| file.len() <= MAX_LOGO_BYTES) {
        let engines = app.engines.clone();
        let checked = app
            .cpu
            .run(move |gone| {
                let gone = gone.clone();
                engines.check(&file, move || gone.is_set())
            })
            .await??;
        if checked.is_err() {
            let text = "brandLogo - cannot be read: save it as PNG, JPEG or WEBP and try again";
            return Err(Problem::validation(vec![text.into()]));
        }
    }
    let id = caller.scope.merchant_id;
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        set_logo(tx, id, file.as_deref())
            .await
            .map_err(|error| match error {
                LogoError::Unusable(text) => Problem::validation(vec![text]),
                LogoError::Store(error) => error.into(),
            })?;
        audit::write(
            tx,
            caller.scope,
            &caller.audit_entry("merchant.logo_changed", &id.to_string()),
        )
        .await?;
        Ok(())
    })
}

fn logo_of(file: &[u8]) -> Result<Logo, String> {
    if file.len() > MAX_LOGO_BYTES {
        return Err(format!(
            "brandLogo - is larger than {} kB: scale it down",
            MAX_LOGO_BYTES / 1024
        ));
    }
    Ok(Logo {
        media_type: picture_type(file)
            .ok_or("brandLogo - must be a PNG, JPEG or WEBP picture")?
            .into(),
        bytes: file.to_vec(),
        version: hex::encode(&Sha256::digest(file)[..8]),
    })
}

fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logos_are_small_pictures() {
        let png = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0];
        let logo = logo_of(&png).unwrap();
        assert_eq!(
            (logo.media_type.as_str(), &logo.bytes[..]),
            ("image/png", &png[..])
        );
        assert!(is_version(&logo.version));
        assert!(!is_version("data:image/png;base64,iVBORw0KGgoA"));
        assert!(logo_of(b"<svg onload=alert(1)>").is_err());
        assert!(logo_of(b"").is_err());
        let mut large = vec![0; MAX_LOGO_BYTES + 1];
        large[..8].copy_from_slice(&png[..8]);
        assert!(logo_of(&large).unwrap_err().contains("64 kB"));
    }
}
