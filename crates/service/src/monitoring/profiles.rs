//! Each account's risk profile. The newest version counts; older ones are stored for replaying decisions.

use chain::profile::Profile;
use store::audit::{self, Entry};
use store::{Conn, Db, Error, Scope, risk_profiles};
use uuid::Uuid;

use crate::problem::Problem;

/// Why a profile was refused.
#[derive(Debug, thiserror::Error)]
pub enum SetProfileError {
    /// It is invalid; the text names the member.
    #[error("{0}")]
    Invalid(String),
    /// It was made from an older version than the newest.
    #[error("version - the newest is {0}. Review it, and change that version")]
    Outdated(u32),
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Why a profile cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadProfileError {
    /// Another version of the server wrote it.
    #[error("the risk profile cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<ReadProfileError> for Problem {
    fn from(error: ReadProfileError) -> Self {
        match error {
            ReadProfileError::Store(error) => error.into(),
            unreadable @ ReadProfileError::Unreadable(_) => Problem::internal(unreadable),
        }
    }
}

/// The newest profile of an account, or one of its versions. Version 0 is the built-in one, which counts
/// until one is set. `None` for a version that never existed.
///
/// # Errors
/// When the store fails, or contains a profile that this version cannot read.
pub async fn profile(
    conn: &mut Conn,
    merchant_id: Uuid,
    version: Option<u32>,
) -> Result<Option<Profile>, ReadProfileError> {
    let kept = match version {
        Some(0) => return Ok(Some(Profile::built_in())),
        Some(version) => risk_profiles::get(conn, merchant_id, i64::from(version)).await?,
        None => risk_profiles::newest(conn, merchant_id).await?,
    };
    match kept {
        Some(kept) => Ok(Some(serde_json::from_str(&kept.profile)?)),
        None if version.is_none() => Ok(Some(Profile::built_in())),
        None => Ok(None),
    }
}

/// Stores a file's profile as the account's newest, and returns its version. If the file states a version, it
/// must be the newest.
///
/// # Errors
/// When the file is invalid or outdated, or the store fails.
pub async fn set_profile(db: &Db, merchant_id: Uuid, text: &str) -> Result<u32, SetProfileError> {
    let profile: Profile =
        serde_json::from_str(text).map_err(|error| SetProfileError::Invalid(error.to_string()))?;
    profile
        .check()
        .map_err(|error| SetProfileError::Invalid(error.to_string()))?;
    store::transaction!(db, |tx| -> Result<u32, SetProfileError> {
        let newest = risk_profiles::newest(tx, merchant_id).await?;
        let newest = newest.map_or(0, |kept| u32::try_from(kept.version).unwrap_or(u32::MAX));
        if profile.version != 0 && profile.version != newest {
            return Err(SetProfileError::Outdated(newest));
        }
        let version = newest + 1;
        let next = Profile {
            version,
            ..profile.clone()
        };
        let text =
            serde_json::to_string(&next).map_err(|error| SetProfileError::Invalid(error.to_string()))?;
        risk_profiles::insert(tx, merchant_id, i64::from(version), &text).await?;
        let scope = Scope {
            merchant_id,
            sandbox: false,
        };
        let entry = Entry {
            actor: "command line",
            action: "risk_profile.set",
            subject: &version.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok(version)
    })
}
