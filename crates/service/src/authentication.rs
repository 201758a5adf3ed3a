//! Authenticates callers of the API: an API key with its secret, or the access token of a hosted session
//! (contract §5).
//!
//! A failed attempt counts against the key and the IP address. This module reads no headers.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use store::credentials::{self, AuthOutcome};
use store::sessions;
use uuid::Uuid;

use crate::App;
use crate::caller::{Caller, NO_PERMISSIONS, check_account_may_call};
use crate::config::RateClass;
use crate::key_restrictions::KeyRestrictions;
use crate::problem::{Family, Kind, Problem};
use crate::rates::{hashed, take, too_many};
use crate::visitor::visitor;

/// Authenticates a caller by API key and secret. Also returns the key's restrictions. The gate checks them
/// after it has recorded the caller for the API log, so the log shows refused calls.
///
/// # Errors
/// Wrong credentials, with the family's text and status; 403 if the account may not call.
pub async fn with_key(
    app: &App,
    key: String,
    secret: &SecretString,
    family: Family,
    address: IpAddr,
) -> Result<(Caller, String), Problem> {
    let outcome = credentials::authenticate(&mut app.db.read().await?, &key, secret.expose_secret()).await?;
    let AuthOutcome::Accepted(found) = outcome else {
        let text = match family {
            Family::GroupsAndFlows | Family::LinkAndPoll => "Invalid API key/secret combination",
            Family::Monitoring => "Invalid credentials",
            _ => "Invalid merchant key or secret",
        };
        return Err(failed(app, &key, address, text).await);
    };
    check_account_may_call(found.merchant.status, found.scope.sandbox, family)?;
    let caller = Caller {
        merchant: found.merchant,
        scope: found.scope,
        key,
        permissions: found.permissions,
        session: None,
    };
    Ok((caller, found.restrictions))
}

/// Checks that a key may make a call. `restrictions` are those that [`with_key`] returned.
///
/// # Errors
/// 403 if it may not, which counts as a failed authentication: 429 after too many. 503 if the restrictions cannot be
/// read.
pub async fn check_restrictions(
    app: &App,
    key: &str,
    restrictions: &str,
    family: Family,
    address: IpAddr,
) -> Result<(), Problem> {
    let refusal = match KeyRestrictions::from_json(restrictions)?.check(family, address) {
        Ok(()) => return Ok(()),
        Err(refusal) => refusal,
    };
    Err(count_failure(app, key, address, refusal).await)
}

/// Authenticates a caller by the access token of a hosted session.
///
/// # Errors
/// The token is not valid; 403 if the account may not call.
pub async fn with_token(
    app: &App,
    token: &SecretString,
    family: Family,
    address: IpAddr,
) -> Result<Caller, Problem> {
    let found = sessions::by_access_token(&mut app.db.read().await?, token.expose_secret()).await?;
    let Some((merchant, scope, session)) = found else {
        let text = "The access token is not valid or has expired";
        return Err(failed(app, "bearer", address, text).await);
    };
    check_account_may_call(merchant.status, scope.sandbox, family)?;
    Ok(Caller {
        merchant,
        scope,
        key: format!("session {}", session.id),
        permissions: NO_PERMISSIONS.into(),
        session: Some(session),
    })
}

/// The problem of a failed authentication.
async fn failed(app: &App, key: &str, address: IpAddr, text: &str) -> Problem {
    count_failure(app, key, address, Problem::new(Kind::WrongCredentials, text)).await
}

/// Counts a failed authentication against the key and the IP address; 429 instead of `problem` after too many.
async fn count_failure(app: &App, key: &str, address: IpAddr, problem: Problem) -> Problem {
    let who = hashed(&format!("{key}@{}", visitor(address)));
    let class = RateClass::FailedAuth;
    match take(app, class, app.config.rate(class), Uuid::nil(), &who).await {
        Ok(Some(verdict)) if !verdict.allowed => too_many(&verdict),
        Ok(_) => problem,
        Err(problem) => problem,
    }
}
