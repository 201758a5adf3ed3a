//! Replaces the keys below a new master key, a batch at a time, while servers work: people get new keys, the keys of
//! their attempts are wrapped again, and rows that an account's key sealed are sealed again. Every replaced key still
//! opens what it sealed ([`DataKey`]), so an interrupted renewal loses nothing and can start again.
//!
//! Files and the columns of attempts keep their attempt's key; only that key is wrapped again. Rows that expire within
//! weeks keep the account's earlier key: invitations, stored responses of idempotent requests, and the API log.
//! [`merchants::rewrap_keys`] and [`staff::rewrap_keys`](crate::staff::rewrap_keys) start a renewal. This module
//! creates and deletes no master key.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, attempts, faces, merchants, people, registrations};

/// The people that one batch renews. Meanwhile, nobody else of the account and mode can be identified.
const PEOPLE: i64 = 50;
/// The rows that one batch seals again.
const ROWS: i64 = 200;

/// How far the renewal of one account is.
#[derive(Clone, Debug)]
pub struct Progress {
    merchant_id: Uuid,
    /// The account's newest key at the start.
    key_id: Vec<u8>,
    sandbox: bool,
    step: usize,
    /// The id of the last row of the batch before.
    after: Vec<u8>,
    /// The rows of this pass that an earlier key had sealed.
    stale: u64,
    /// People with new keys, and rows that were sealed again.
    pub renewed: u64,
    /// People and rows that their keys do not open. They stay as they are.
    pub unreadable: u64,
}

/// What a batch did, and its last row; none if no row is left.
#[derive(Default)]
struct Batch {
    last: Option<Vec<u8>>,
    /// The rows that an earlier key had sealed and that can be read.
    stale: u64,
    /// Those that have the newest key now. The others changed meanwhile.
    renewed: u64,
    unreadable: u64,
}

/// The id of a row, as its table stores it.
trait RowId {
    /// An id that comes before all ids after these bytes.
    fn after(bytes: &[u8]) -> Self;
    fn bytes(&self) -> &[u8];
}

impl RowId for Uuid {
    fn after(bytes: &[u8]) -> Self {
        // Before the first row there are no bytes.
        bytes.try_into().map_or(Uuid::nil(), Uuid::from_bytes)
    }
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl RowId for Vec<u8> {
    fn after(bytes: &[u8]) -> Self {
        bytes.to_vec()
    }
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Seals a batch of one column again: those rows that another key than the account's newest sealed. A row that changed
/// in the meantime stays as it is.
macro_rules! column {
    ($tx:expr, $scope:expr, $after:expr, $table:literal, $id:literal: $id_type:ty, $column:literal, $what:literal $(, $only:literal)?) => {{
        const STALE: &str = concat!(
            "select ", $id, ", ", $column, " from ", $table,
            " where merchant_id = $1 and sandbox = $2 and ", $id, " > $3 and substr(", $column, ", 2, 4) <> $4 ",
            $($only,)? " order by ", $id, " limit $5"
        );
        const SEAL: &str = concat!(
            "update ", $table, " set ", $column, " = $5 where merchant_id = $1 and sandbox = $2 and ", $id,
            " = $3 and ", $column, " = $4"
        );
        let (tx, scope): (&mut Tx, Scope) = ($tx, $scope);
        let key = merchants::key(tx, scope.merchant_id).await?;
        let after = <$id_type as RowId>::after($after);
        let rows = fetch!(all, tx, scope, ($id_type, Vec<u8>), STALE, after, key.id_bytes(), ROWS)?;
        let mut batch = Batch::ending_at(rows.last().map(|(id, _)| id.bytes().to_vec()));
        for (id, sealed) in &rows {
            let place = SealContext { merchant_id: scope.merchant_id, what: $what, id: id.bytes() };
            let Ok(plain) = key.open(&place, sealed) else {
                batch.unreadable += 1;
                continue;
            };
            batch.stale += 1;
            batch.renewed += execute!(tx, scope, SEAL, id, sealed, key.seal(&place, &plain))?;
        }
        batch
    }};
}

impl Progress {
    /// The renewal of an account from its beginning.
    ///
    /// # Errors
    /// As [`merchants::key`].
    pub async fn begin(conn: &mut Conn, merchant_id: Uuid) -> Result<Self, Error> {
        let key = merchants::key(conn, merchant_id).await?;
        Ok(Self {
            merchant_id,
            key_id: key.id_bytes(),
            sandbox: false,
            step: 0,
            after: Vec::new(),
            stale: 0,
            renewed: 0,
            unreadable: 0,
        })
    }

    /// Renews one batch; returns the progress after it, and whether all is done.
    ///
    /// # Errors
    /// As [`merchants::key`].
    pub async fn step(mut self, tx: &mut Tx) -> Result<(Self, bool), Error> {
        let scope = Scope {
            merchant_id: self.merchant_id,
            sandbox: self.sandbox,
        };
        let Some(batch) = batch(tx, scope, self.step, &self.after).await? else {
            if !self.sandbox {
                (self.sandbox, self.step) = (true, 0);
                return Ok((self, false));
            }
            let profile = profile(tx, self.merchant_id).await?;
            self.count(&profile);
            if self.stale > 0 {
                // A writer that had read the earlier key may have left a row behind this pass. Only a pass that
                // finds none ends the renewal.
                (self.sandbox, self.step, self.stale, self.unreadable) = (false, 0, 0, 0);
                return Ok((self, false));
            }
            self.finish(tx).await?;
            return Ok((self, true));
        };
        self.count(&batch);
        match batch.last {
            Some(last) => self.after = last,
            None => (self.step, self.after) = (self.step + 1, Vec::new()),
        }
        Ok((self, false))
    }

    fn count(&mut self, batch: &Batch) {
        self.stale += batch.stale;
        self.renewed += batch.renewed;
        self.unreadable += batch.unreadable;
    }

    async fn finish(&self, tx: &mut Tx) -> Result<(), Error> {
        // Another change of the master key during this renewal has started the next one.
        if merchants::key(tx, self.merchant_id).await?.id_bytes() == self.key_id {
            const SQL: &str = "update merchants set key_renewal_since = null where id = $1";
            execute!(tx, installation, SQL, self.merchant_id)?;
        }
        Ok(())
    }
}

impl Batch {
    fn ending_at(last: Option<Vec<u8>>) -> Self {
        Self {
            last,
            ..Self::default()
        }
    }
}

/// The accounts whose renewal has not ended, each with its start (ms).
pub async fn pending(conn: &mut Conn) -> Result<Vec<(Uuid, i64)>, Error> {
    const SQL: &str = "select id, key_renewal_since from merchants
               where key_renewal_since is not null order by key_renewal_since, id";
    fetch!(all, conn, installation, (Uuid, i64), SQL)
}

/// One batch of a step; `None` after the last step.
async fn batch(tx: &mut Tx, scope: Scope, step: usize, after: &[u8]) -> Result<Option<Batch>, Error> {
    Ok(Some(match step {
        0 => people(tx, scope, after).await?,
        1 => {
            column!(tx, scope, after, "link_tokens", "token_ref": Vec<u8>, "user_id_sealed", "link_tokens.user_id")
        }
        2 => column!(tx, scope, after, "sessions", "id": Uuid, "user_id_sealed", "sessions.user_id"),
        3 => column!(tx, scope, after, "screenings", "id": Uuid, "query_sealed", "screenings.query"),
        4 => column!(tx, scope, after, "screenings", "id": Uuid, "label_sealed", "screenings.label"),
        5 => column!(tx, scope, after, "screenings", "id": Uuid, "response_sealed", "screenings.response"),
        6 => {
            column!(tx, scope, after, "screening_evidence", "id": Uuid, "evidence_sealed", "screening_evidence.evidence")
        }
        7 => column!(tx, scope, after, "outbox", "id": Uuid, "body_sealed", "outbox.body"),
        8 => {
            column!(tx, scope, after, "webhook_endpoints", "flow_id": Uuid, "secret_sealed", "webhook_endpoints.secret")
        }
        9 => {
            column!(tx, scope, after, "webhook_endpoints", "flow_id": Uuid, "previous_sealed", "webhook_endpoints.secret")
        }
        // The key of an attempt seals the other proposals.
        10 => column!(
            tx, scope, after, "proposals", "id": Uuid, "payload_sealed", "proposals.payload", "and log_id is null"
        ),
        11 => {
            column!(tx, scope, after, "wallet_alerts", "id": Uuid, "finding_sealed", "wallet_alerts.finding")
        }
        12 => column!(tx, scope, after, "wallet_alerts", "id": Uuid, "reason_sealed", "wallet_alerts.reason"),
        13 => {
            column!(tx, scope, after, "link_tokens", "token_ref": Vec<u8>, "expected_sealed", "link_tokens.expected")
        }
        14 => column!(tx, scope, after, "sessions", "id": Uuid, "expected_sealed", "sessions.expected"),
        15 => column!(
            tx, scope, after, "applicant_invitations", "id": Uuid, "user_id_sealed", "applicant_invitations.user_id"
        ),
        16 => column!(
            tx, scope, after, "applicant_invitations", "id": Uuid, "expected_sealed", "applicant_invitations.expected"
        ),
        17 => column!(
            tx, scope, after, "applicant_invitations", "id": Uuid, "email_sealed", "applicant_invitations.email"
        ),
        _ => return Ok(None),
    }))
}

/// Gives people new keys, below which everything of theirs is wrapped or sealed again.
async fn people(tx: &mut Tx, scope: Scope, after: &[u8]) -> Result<Batch, Error> {
    const STALE: &str = "select facemap_id, wrapped_key from people
               where merchant_id = $1 and sandbox = $2 and facemap_id > $3 and substr(wrapped_key, 2, 4) <> $4
               order by facemap_id limit $5";
    const REPLACE: &str =
        "update people set wrapped_key = $4 where merchant_id = $1 and sandbox = $2 and facemap_id = $3";
    faces::lock(tx, scope).await?;
    let merchant_key = merchants::key(tx, scope.merchant_id).await?;
    let after = Uuid::after(after);
    let rows = fetch!(
        all,
        tx,
        scope,
        (Uuid, Vec<u8>),
        STALE,
        after,
        merchant_key.id_bytes(),
        PEOPLE
    )?;
    let mut batch = Batch::ending_at(rows.last().map(|(id, _)| id.as_bytes().to_vec()));
    for (facemap_id, wrapped) in &rows {
        let Ok(key) = people::unwrap_key(&merchant_key, scope, facemap_id, wrapped) else {
            batch.unreadable += 1;
            continue;
        };
        batch.stale += 1;
        let key = key.renewed();
        batch.unreadable += below_person(tx, scope, *facemap_id, &key).await?;
        let wrapped = people::wrap_key(&merchant_key, scope, facemap_id, &key);
        batch.renewed += execute!(tx, scope, REPLACE, *facemap_id, &wrapped)?;
    }
    Ok(batch)
}

/// Wraps or seals everything below a person's renewed key again; returns the number of unreadable rows.
async fn below_person(tx: &mut Tx, scope: Scope, facemap_id: Uuid, key: &DataKey) -> Result<u64, Error> {
    Ok(attempts::rewrap_keys(tx, scope, facemap_id, key).await?
        + registrations::reseal_labels(tx, scope, facemap_id, key).await?
        + faces::reseal(tx, scope, facemap_id, key).await?)
}

/// Seals the account's profile again, if an earlier key sealed it.
async fn profile(tx: &mut Tx, merchant_id: Uuid) -> Result<Batch, Error> {
    const SQL: &str = "select profile_sealed from merchant_profiles
               where merchant_id = $1 and substr(profile_sealed, 2, 4) <> $2";
    const SEAL: &str =
        "update merchant_profiles set profile_sealed = $3 where merchant_id = $1 and profile_sealed = $2";
    let mut batch = Batch::default();
    let key = merchants::key(tx, merchant_id).await?;
    let found = fetch!(
        optional,
        tx,
        merchant(merchant_id),
        (Vec<u8>,),
        SQL,
        key.id_bytes()
    )?;
    let Some((sealed,)) = found else {
        return Ok(batch);
    };
    let place = SealContext {
        merchant_id,
        what: "merchant_profiles.profile",
        id: merchant_id.as_bytes(),
    };
    match key.open(&place, &sealed) {
        Ok(plain) => {
            batch.stale = 1;
            let again = key.seal(&place, &plain);
            batch.renewed = execute!(tx, merchant(merchant_id), SEAL, &sealed, again)?;
        }
        Err(_) => batch.unreadable = 1,
    }
    Ok(batch)
}
