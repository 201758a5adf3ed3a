//! Screenings of crypto addresses and transactions. Each one is stored, sealed under the account's key, and
//! can be found by its id, its address or transaction, and its label.

use uuid::Uuid;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, merchants};

/// A screening to store.
#[derive(Clone, Copy, Debug)]
pub struct NewScreening<'a> {
    /// The `queryId`, a UUID of version 7, so ids sort by time.
    pub id: Uuid,
    /// `address` or `transaction`.
    pub kind: &'a str,
    /// The chain's code.
    pub currency: &'a str,
    /// The screened address or transaction as it was sent (sealed).
    pub query: &'a str,
    /// The same in canonical form, stored as a blind index for searching.
    pub canonical: &'a str,
    /// The caller's label (sealed, and searchable by its blind index).
    pub label: &'a str,
    /// The HTTP status of the response.
    pub status: u16,
    /// The score, if there is one.
    pub score: Option<f64>,
    /// The response, byte for byte (sealed).
    pub response: &'a str,
    /// The evidence for the score (sealed), if there is a score.
    pub evidence: Option<&'a str>,
    /// Why the screening failed, or why its score comes from labels alone, as a code.
    pub failure: Option<&'a str>,
    /// The coverage as a code: whether the flow of money was followed, and how. With it, the highest score
    /// that the part not followed could give. `None` if the coverage is unknown.
    pub coverage: Option<(&'a str, f64)>,
}

/// A stored screening.
#[derive(Clone, Debug, PartialEq)]
pub struct Screening {
    /// See [`NewScreening::id`].
    pub id: Uuid,
    /// See [`NewScreening::kind`].
    pub kind: String,
    /// See [`NewScreening::currency`].
    pub currency: String,
    /// See [`NewScreening::query`].
    pub query: String,
    /// See [`NewScreening::label`].
    pub label: String,
    /// See [`NewScreening::status`].
    pub status: u16,
    /// The score, rounded to thousandths.
    pub score: Option<f64>,
    /// See [`NewScreening::response`].
    pub response: String,
    /// See [`NewScreening::failure`]; also `None` for screenings of earlier versions.
    pub failure: Option<String>,
    /// See [`NewScreening::coverage`], rounded to thousandths; also `None` for screenings of earlier versions.
    pub coverage: Option<(String, f64)>,
    /// When it was made (ms).
    pub created_at: i64,
}

/// Which screenings to list. `None` does not restrict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Of an address or transaction in one of these canonical forms, at most [`MOST_FORMS`]. An empty list
    /// does not restrict.
    pub canonical: &'a [String],
    /// Of this chain (its code).
    pub currency: Option<&'a str>,
    /// With this label.
    pub label: Option<&'a str>,
    /// Older than the screening with this id.
    pub before: Option<Uuid>,
}

/// The most canonical forms in a filter. One text has different forms on different chains.
pub const MOST_FORMS: usize = 4;

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    kind: String,
    currency: String,
    status: i64,
    score_millis: Option<i64>,
    failed: Option<String>,
    seen: Option<String>,
    bound_millis: Option<i64>,
    query_sealed: Vec<u8>,
    label_sealed: Vec<u8>,
    response_sealed: Vec<u8>,
    created_at: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, kind, currency, status, score_millis, failed, seen, bound_millis, query_sealed, label_sealed,
                 response_sealed, created_at
             from screenings where merchant_id = $1 and sandbox = $2 ",
            $rest
        )
    };
}

fn seal_context<'a>(scope: Scope, what: &'a str, id: &'a Uuid) -> SealContext<'a> {
    SealContext {
        merchant_id: scope.merchant_id,
        what,
        id: id.as_bytes(),
    }
}

fn query_ref(conn: &Conn, scope: Scope, canonical: &str) -> Vec<u8> {
    conn.keyring().blind(scope, "screened query", canonical)
}

fn label_ref(conn: &Conn, scope: Scope, label: &str) -> Vec<u8> {
    conn.keyring().blind(scope, "screening label", label)
}

/// A score in thousandths, as the database stores it.
#[expect(clippy::cast_possible_truncation, reason = "a score is 0 to 100")]
fn millis(points: f64) -> i64 {
    (points * 1000.0).round() as i64
}

fn points(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

fn open(key: &DataKey, scope: Scope, row: &Row) -> Result<Screening, Error> {
    let text = |what, sealed| key.open_text(&seal_context(scope, what, &row.id), sealed);
    Ok(Screening {
        query: text("screenings.query", &row.query_sealed)?,
        label: text("screenings.label", &row.label_sealed)?,
        response: text("screenings.response", &row.response_sealed)?,
        id: row.id,
        kind: row.kind.clone(),
        currency: row.currency.clone(),
        status: u16::try_from(row.status).unwrap_or_default(),
        score: row.score_millis.map(points),
        failure: row.failed.clone(),
        coverage: row.seen.clone().zip(row.bound_millis.map(points)),
        created_at: row.created_at,
    })
}

async fn open_all(conn: &mut Conn, scope: Scope, rows: Vec<Row>) -> Result<Vec<Screening>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = merchants::key(conn, scope.merchant_id).await?;
    rows.iter().map(|row| open(&key, scope, row)).collect()
}

/// Stores a screening.
///
/// # Errors
/// [`Error::Missing`] for an unknown account.
pub async fn insert(tx: &mut Tx, scope: Scope, screening: &NewScreening<'_>) -> Result<(), Error> {
    let key = merchants::key(tx, scope.merchant_id).await?;
    let seal = |what, text: &str| key.seal(&seal_context(scope, what, &screening.id), text.as_bytes());
    let query = seal("screenings.query", screening.query);
    let label = seal("screenings.label", screening.label);
    let response = seal("screenings.response", screening.response);
    let query_ref = query_ref(tx, scope, screening.canonical);
    let label_ref = label_ref(tx, scope, screening.label);
    let score_millis = screening.score.map(millis);
    let (coverage, bound_millis) = screening
        .coverage
        .map(|(name, bound)| (name, millis(bound)))
        .unzip();
    let now = tx.now();
    execute!(
        tx,
        scope,
        "insert into screenings (merchant_id, sandbox, id, kind, currency, query_ref, label_ref, status, score_millis,
             query_sealed, label_sealed, response_sealed, created_at, failed, seen, bound_millis)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        screening.id,
        screening.kind,
        screening.currency,
        &query_ref,
        &label_ref,
        i64::from(screening.status),
        score_millis,
        &query,
        &label,
        &response,
        now,
        screening.failure,
        coverage,
        bound_millis,
    )?;
    let Some(evidence) = screening.evidence else {
        return Ok(());
    };
    let evidence = seal("screening_evidence.evidence", evidence);
    execute!(
        tx,
        scope,
        "insert into screening_evidence (merchant_id, sandbox, id, evidence_sealed) values ($1, $2, $3, $4)",
        screening.id,
        &evidence
    )
    .map(|_| ())
}

/// The evidence for a screening's score; `None` if there is no such screening or it has no score.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn evidence(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<String>, Error> {
    const SQL: &str =
        "select evidence_sealed from screening_evidence where merchant_id = $1 and sandbox = $2 and id = $3";
    let found = fetch!(optional, conn, scope, (Vec<u8>,), SQL, id)?;
    let Some((sealed,)) = found else { return Ok(None) };
    let key = merchants::key(conn, scope.merchant_id).await?;
    key.open_text(&seal_context(scope, "screening_evidence.evidence", &id), &sealed)
        .map(Some)
}

/// One screening.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn get(conn: &mut Conn, scope: Scope, id: Uuid) -> Result<Option<Screening>, Error> {
    const SQL: &str = select!("and id = $3");
    let rows = fetch!(all, conn, scope, Row, SQL, id)?;
    Ok(open_all(conn, scope, rows).await?.pop())
}

/// The newest screenings that match a filter, newest first.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn list(
    conn: &mut Conn,
    scope: Scope,
    filter: Filter<'_>,
    limit: i64,
) -> Result<Vec<Screening>, Error> {
    let mut forms: Vec<Vec<u8>> = filter
        .canonical
        .iter()
        .take(MOST_FORMS)
        .map(|canonical| query_ref(conn, scope, canonical))
        .collect();
    forms.resize(MOST_FORMS, Vec::new());
    let label_ref = filter.label.map(|label| label_ref(conn, scope, label));
    const SQL: &str = select!(
        "and id < $3 and ($4 or query_ref in ($5, $6, $7, $8)) and ($9 or currency = $10) and ($11 or label_ref = $12)
         order by id desc limit $13"
    );
    let rows = fetch!(
        all,
        conn,
        scope,
        Row,
        SQL,
        filter.before.unwrap_or(Uuid::max()),
        filter.canonical.is_empty(),
        &forms[0],
        &forms[1],
        &forms[2],
        &forms[3],
        filter.currency.is_none(),
        filter.currency.unwrap_or_default(),
        label_ref.is_none(),
        label_ref.clone().unwrap_or_default(),
        limit
    )?;
    open_all(conn, scope, rows).await
}

/// What a screening is compared by when the lists change.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedScreening {
    /// See [`NewScreening::kind`].
    pub kind: String,
    /// See [`NewScreening::currency`].
    pub currency: String,
    /// See [`NewScreening::query`].
    pub query: String,
    /// See [`NewScreening::label`].
    pub label: String,
    /// See [`NewScreening::status`].
    pub status: u16,
    /// The score, rounded to thousandths.
    pub score: Option<f64>,
    /// See [`NewScreening::evidence`].
    pub evidence: Option<String>,
}

/// The screenings from one id on and before another, newest first, at most `limit`. A screening that cannot be opened
/// does not hide the others.
///
/// # Errors
/// [`Error::Sealed`] if the account's key cannot be opened.
pub async fn list_between(
    conn: &mut Conn,
    scope: Scope,
    (from, before): (Uuid, Uuid),
    limit: i64,
) -> Result<Vec<(Uuid, Result<ComparedScreening, Error>)>, Error> {
    type Row = (
        Uuid,
        String,
        String,
        i64,
        Option<i64>,
        Vec<u8>,
        Vec<u8>,
        Option<Vec<u8>>,
    );
    const SQL: &str =
        "select s.id, s.kind, s.currency, s.status, s.score_millis, s.query_sealed, s.label_sealed,
                   e.evidence_sealed
               from screenings s left join screening_evidence e
                   on e.merchant_id = s.merchant_id and e.sandbox = s.sandbox and e.id = s.id
               where s.merchant_id = $1 and s.sandbox = $2 and s.id >= $3 and s.id < $4
               order by s.id desc limit $5";
    let rows = fetch!(all, conn, scope, Row, SQL, from, before, limit)?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let key = merchants::key(conn, scope.merchant_id).await?;
    let open = |(id, kind, currency, status, score, query, label, sealed): Row| {
        let text = |what, sealed: &[u8]| key.open_text(&seal_context(scope, what, &id), sealed);
        Ok(ComparedScreening {
            query: text("screenings.query", &query)?,
            label: text("screenings.label", &label)?,
            evidence: sealed
                .map(|sealed| text("screening_evidence.evidence", &sealed))
                .transpose()?,
            kind,
            currency,
            status: u16::try_from(status).unwrap_or_default(),
            score: score.map(points),
        })
    };
    Ok(rows.into_iter().map(|row| (row.0, open(row))).collect())
}

/// Deletes the screenings with a label and the evidence for their scores.
pub(crate) async fn delete_labelled(tx: &mut Tx, scope: Scope, label: &str) -> Result<(), Error> {
    let label_ref = label_ref(tx, scope, label);
    const SQL: &str = "delete from screenings where merchant_id = $1 and sandbox = $2 and label_ref = $3";
    execute!(tx, scope, SQL, &label_ref).map(|_| ())
}
