//! Flows: verification configurations. Their JSON members are stored as text and not interpreted.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, counters};

/// A Flow (interface §2.2) with its private settings.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Flow {
    /// The Flow.
    pub id: Uuid,
    /// Unique in the account and mode.
    pub name: String,
    /// JSON object.
    pub default_fields: String,
    /// JSON array of document types.
    pub default_document_types: String,
    /// JSON array.
    pub country_overrides: String,
    /// JSON array of `{countryAlpha2, countryName}`.
    pub geo_blocked_countries: String,
    /// The webhook URL of verification events.
    pub webhook_url: Option<String>,
    /// The youngest accepted age.
    pub min_age: Option<i64>,
    /// The oldest accepted age.
    pub max_age: Option<i64>,
    /// A JSON object that only the portal and the command line use (thresholds, review policy, webhook
    /// secrets).
    pub settings: String,
    /// When it was created (ms).
    pub created_at: i64,
    /// When it last changed (ms).
    pub updated_at: i64,
}

/// The part of a Flow that the account sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowContent {
    /// See [`Flow::name`].
    pub name: String,
    /// See [`Flow::default_fields`].
    pub default_fields: String,
    /// See [`Flow::default_document_types`].
    pub default_document_types: String,
    /// See [`Flow::country_overrides`].
    pub country_overrides: String,
    /// See [`Flow::geo_blocked_countries`].
    pub geo_blocked_countries: String,
    /// See [`Flow::webhook_url`].
    pub webhook_url: Option<String>,
    /// See [`Flow::min_age`].
    pub min_age: Option<i64>,
    /// See [`Flow::max_age`].
    pub max_age: Option<i64>,
    /// See [`Flow::settings`].
    pub settings: String,
}

impl From<Flow> for FlowContent {
    fn from(flow: Flow) -> Self {
        Self {
            name: flow.name,
            default_fields: flow.default_fields,
            default_document_types: flow.default_document_types,
            country_overrides: flow.country_overrides,
            geo_blocked_countries: flow.geo_blocked_countries,
            webhook_url: flow.webhook_url,
            min_age: flow.min_age,
            max_age: flow.max_age,
            settings: flow.settings,
        }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, name, default_fields, default_document_types, country_overrides, geo_blocked_countries,
                    webhook_url, min_age, max_age, settings, created_at, updated_at
             from flows where merchant_id = $1 and sandbox = $2 ",
            $rest
        )
    };
}

/// All Flows, newest first.
pub async fn list(conn: &mut Conn, scope: Scope) -> Result<Vec<Flow>, Error> {
    const SQL: &str = select!("order by created_at desc, id desc");
    fetch!(all, conn, scope, Flow, SQL)
}

/// One Flow.
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Flow>, Error> {
    fetch!(optional, conn, scope, Flow, select!("and id = $3"), id)
}

/// Creates a Flow. `limit` is the number of Flows in the account's plan; `None` for no limit.
///
/// # Errors
/// [`Error::Conflict`] when the name is taken; [`Error::LimitReached`].
pub async fn create(
    tx: &mut Tx,
    scope: Scope,
    content: &FlowContent,
    limit: Option<i64>,
) -> Result<Flow, Error> {
    if let Some(limit) = limit {
        counters::lock(tx, scope).await?;
        const SQL: &str = "select count(*) from flows where merchant_id = $1 and sandbox = $2";
        let (count,) = fetch!(one, tx, scope, (i64,), SQL)?;
        if count >= limit {
            return Err(Error::LimitReached);
        }
    }
    let id = Uuid::now_v7();
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into flows (merchant_id, sandbox, id, name, default_fields, default_document_types,
             country_overrides, geo_blocked_countries, webhook_url, min_age, max_age, settings, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        id,
        &content.name,
        &content.default_fields,
        &content.default_document_types,
        &content.country_overrides,
        &content.geo_blocked_countries,
        &content.webhook_url,
        content.min_age,
        content.max_age,
        &content.settings,
        now,
        now,
    )?;
    get(tx, scope, id).await?.ok_or(Error::Missing("flow"))
}

/// [`get`] that also locks the Flow until the transaction ends. Call it before an [`update`] that depends on
/// the current content.
pub async fn get_for_update(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<Option<Flow>, Error> {
    const SQL: &str =
        "update flows set updated_at = updated_at where merchant_id = $1 and sandbox = $2 and id = $3";
    execute!(tx, scope, SQL, id)?;
    get(tx, scope, id).await
}

/// Replaces a Flow's content; `None` if there is no such Flow.
///
/// # Errors
/// [`Error::Conflict`] when the name is taken.
pub async fn update(
    tx: &mut Tx,
    scope: Scope,
    id: Uuid,
    content: &FlowContent,
) -> Result<Option<Flow>, Error> {
    let now = tx.now();
    execute!(
        tx,
        scope,
        "update flows set name = $4, default_fields = $5, default_document_types = $6, country_overrides = $7,
             geo_blocked_countries = $8, webhook_url = $9, min_age = $10, max_age = $11, settings = $12,
             updated_at = $13
         where merchant_id = $1 and sandbox = $2 and id = $3",
        id,
        &content.name,
        &content.default_fields,
        &content.default_document_types,
        &content.country_overrides,
        &content.geo_blocked_countries,
        &content.webhook_url,
        content.min_age,
        content.max_age,
        &content.settings,
        now,
    )?;
    get(tx, scope, id).await
}

/// Deletes a Flow and removes it from every Group; returns whether there was one.
pub async fn delete(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Error> {
    // The Groups that contain it have changed. The memberships are deleted by `on delete cascade`.
    let now = tx.now();
    execute!(
        tx,
        scope,
        "update groups set updated_at = $4 where merchant_id = $1 and sandbox = $2 and id in
             (select group_id from group_flows where merchant_id = $1 and sandbox = $2 and flow_id = $3)",
        id,
        now
    )?;
    const SQL: &str = "delete from flows where merchant_id = $1 and sandbox = $2 and id = $3";
    Ok(execute!(tx, scope, SQL, id)? == 1)
}

/// A Flow whose settings may be about the screening of its people.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ScreeningSettings {
    /// The account.
    pub merchant_id: Uuid,
    /// The mode.
    pub sandbox: bool,
    /// The Flow.
    pub id: Uuid,
    /// See [`Flow::settings`].
    pub settings: String,
}

macro_rules! select_screening_settings {
    ($which:literal) => {
        concat!(
            "select merchant_id, sandbox, id, settings from flows where ",
            $which,
            "settings like '%\"screeningLists\"%'
             union all
             select merchant_id, sandbox, flow_id, settings from deleted_flow_lists where ",
            $which,
            "true"
        )
    };
}

/// Every Flow, also a deleted one, whose settings contain `screeningLists`, in all accounts. Few do.
pub async fn screening_settings(conn: &mut Conn) -> Result<Vec<ScreeningSettings>, Error> {
    fetch!(
        all,
        conn,
        across_accounts("every node looks for accounts whose people must be looked at again"),
        ScreeningSettings,
        select_screening_settings!("")
    )
}

/// [`screening_settings`] of one account and mode.
pub async fn screening_settings_of(conn: &mut Conn, scope: Scope) -> Result<Vec<ScreeningSettings>, Error> {
    const SQL: &str = select_screening_settings!("merchant_id = $1 and sandbox = $2 and ");
    fetch!(all, conn, scope, ScreeningSettings, SQL)
}

/// Records the lists that a deleted Flow had chosen: an object with the member `screeningLists` of its settings.
pub async fn record_deleted_lists(tx: &mut Tx, scope: Scope, id: Uuid, settings: &str) -> Result<(), Error> {
    const SQL: &str =
        "insert into deleted_flow_lists (merchant_id, sandbox, flow_id, settings) values ($1, $2, $3, $4)
               on conflict do nothing";
    execute!(tx, scope, SQL, id, settings).map(|_| ())
}

/// Records that a deleted Flow required two people for a decision.
pub async fn record_deleted_four_eyes(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "insert into deleted_four_eyes_flows (merchant_id, sandbox, flow_id) values ($1, $2, $3)
               on conflict do nothing";
    execute!(tx, scope, SQL, id).map(|_| ())
}

/// Whether a deleted Flow required two people for a decision.
pub async fn had_four_eyes(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<bool, Error> {
    const SQL: &str = "select count(*) from deleted_four_eyes_flows
               where merchant_id = $1 and sandbox = $2 and flow_id = $3";
    let (count,) = fetch!(one, conn, scope, (i64,), SQL, id)?;
    Ok(count > 0)
}
