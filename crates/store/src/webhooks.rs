//! The endpoint of a Flow's webhook: the secrets that sign its messages, and whether the receiver has refused
//! further messages. This module sends nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::keyring::{SealContext, random};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants};

/// The signing secrets and the state of a Flow's webhook.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The current secret: `whsec_…` (Standard Webhooks 1.0.0).
    pub secret: SecretString,
    /// The previous secret, while it also signs after a rotation.
    pub previous: Option<SecretString>,
    /// The webhook URL that answered 410 and gets no more messages.
    pub stopped_url: Option<String>,
}

#[derive(sqlx::FromRow)]
struct Row {
    secret_sealed: Vec<u8>,
    previous_sealed: Option<Vec<u8>>,
    previous_until: Option<i64>,
    stopped_url: Option<String>,
}

/// A Flow's endpoint. The first call creates its secret. `None` if there is no such Flow.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get_or_create(tx: &mut Tx, scope: Scope, flow_id: Uuid) -> Result<Option<Endpoint>, Error> {
    if let Some(endpoint) = get(tx, scope, flow_id).await? {
        return Ok(Some(endpoint));
    }
    if crate::flows::get(tx, scope, flow_id).await?.is_none() {
        return Ok(None);
    }
    let sealed = seal(tx, scope, flow_id, &new_secret()).await?;
    execute!(
        tx,
        scope,
        "insert into webhook_endpoints (merchant_id, sandbox, flow_id, secret_sealed) values ($1, $2, $3, $4)
         on conflict (merchant_id, sandbox, flow_id) do nothing",
        flow_id,
        &sealed
    )?;
    get(tx, scope, flow_id).await
}

async fn get(conn: &mut Conn, scope: Scope, flow_id: Uuid) -> Result<Option<Endpoint>, Error> {
    const SQL: &str =
        "select secret_sealed, previous_sealed, previous_until, stopped_url from webhook_endpoints
               where merchant_id = $1 and sandbox = $2 and flow_id = $3";
    let Some(row) = fetch!(optional, conn, scope, Row, SQL, flow_id)? else {
        return Ok(None);
    };
    let key = merchants::key(conn, scope.merchant_id).await?;
    let open = |sealed: &[u8]| {
        key.open_text(&seal_context(scope, &flow_id), sealed)
            .map(SecretString::from)
    };
    let still_signs = row.previous_until.is_some_and(|until| until > conn.now());
    Ok(Some(Endpoint {
        secret: open(&row.secret_sealed)?,
        previous: match row.previous_sealed {
            Some(sealed) if still_signs => Some(open(&sealed)?),
            _ => None,
        },
        stopped_url: row.stopped_url,
    }))
}

fn seal_context(scope: Scope, flow_id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "webhook_endpoints.secret",
        id: flow_id.as_bytes(),
    }
}

async fn seal(conn: &mut Conn, scope: Scope, flow_id: Uuid, secret: &SecretString) -> Result<Vec<u8>, Error> {
    let key = merchants::key(conn, scope.merchant_id).await?;
    Ok(key.seal(&seal_context(scope, &flow_id), secret.expose_secret().as_bytes()))
}

fn new_secret() -> SecretString {
    format!("whsec_{}", STANDARD.encode(random::<32>())).into()
}

/// Replaces the secret by the given one or a new one. The previous secret also signs for `overlap_ms`. `None`
/// if there is no such Flow.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn rotate(
    tx: &mut Tx,
    scope: Scope,
    flow_id: Uuid,
    secret: Option<SecretString>,
    overlap_ms: i64,
) -> Result<Option<SecretString>, Error> {
    if get_or_create(tx, scope, flow_id).await?.is_none() {
        return Ok(None);
    }
    let secret = secret.unwrap_or_else(new_secret);
    let sealed = seal(tx, scope, flow_id, &secret).await?;
    let until = tx.now() + overlap_ms;
    execute!(
        tx,
        scope,
        "update webhook_endpoints set previous_sealed = secret_sealed, previous_until = $5, secret_sealed = $4
         where merchant_id = $1 and sandbox = $2 and flow_id = $3",
        flow_id,
        &sealed,
        until,
    )?;
    Ok(Some(secret))
}

/// The Flows whose receiver refused further messages, with the webhook URL.
pub async fn stopped(conn: &mut Conn, scope: Scope) -> Result<Vec<(Uuid, String)>, Error> {
    const SQL: &str = "select flow_id, stopped_url from webhook_endpoints
               where merchant_id = $1 and sandbox = $2 and stopped_url is not null";
    fetch!(all, conn, scope, (Uuid, String), SQL)
}

/// Sets the webhook URL that refused further messages; `None` clears it.
pub async fn set_stopped(tx: &mut Tx, scope: Scope, flow_id: Uuid, url: Option<&str>) -> Result<(), Error> {
    execute!(
        tx,
        scope,
        "update webhook_endpoints set stopped_url = $4 where merchant_id = $1 and sandbox = $2 and flow_id = $3",
        flow_id,
        url,
    )
    .map(|_| ())
}
