//! Fingerprints of submitted pictures, by which a picture is found again in another attempt of the account and mode.
//!
//! A fingerprint is sealed by its attempt's key, and so below the key of its person: retention, erasure, merging and
//! key renewal reach it with the attempt. Blind indexes find it: one of the picture's pixels, and one of each band of
//! its perceptual hash. This module compares no pictures and does not know what a fingerprint contains.

use uuid::Uuid;
use zeroize::Zeroizing;

use crate::keyring::{DataKey, SealContext};
use crate::sql::{execute, fetch};
use crate::{Conn, Error, Scope, Tx, attempts, labels, merchants};

/// The number of bands of a perceptual hash.
pub const BANDS: usize = 16;
/// The most pictures that [`find`] returns.
pub const MOST_FOUND: i64 = 40;
/// Bytes of a blind index. A coincidence only adds a candidate.
const REF_LEN: usize = 12;

/// The values by which a picture is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PictureIndex {
    /// A digest of the pixels.
    pub pixels: [u8; 32],
    /// The bands of the perceptual hash; `None` if only the same pixels are to be found.
    pub bands: Option<[u16; BANDS]>,
}

impl std::fmt::Debug for PictureIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PictureIndex(..)")
    }
}

impl PictureIndex {
    /// The blind indexes: of the pixels, and of each band.
    fn refs(&self, conn: &Conn, scope: Scope) -> (Vec<u8>, [Option<Vec<u8>>; BANDS]) {
        let blind = |purpose, value: &str| {
            let mut value = conn.keyring().blind(scope, purpose, value);
            value.truncate(REF_LEN);
            value
        };
        let bands = std::array::from_fn(|at| {
            let band = self.bands?[at];
            Some(blind("picture band", &format!("{at} {band:04x}")))
        });
        (blind("picture pixels", &hex::encode(self.pixels)), bands)
    }
}

/// A picture of another applicant's attempt.
#[derive(Clone)]
pub struct EarlierPicture {
    /// The attempt's number.
    pub log_id: i64,
    /// The form's field (`selfie`, `passportFront`, …).
    pub file: String,
    /// The fingerprint as passed to [`insert`].
    pub fingerprint: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for EarlierPicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EarlierPicture({} {})", self.log_id, self.file)
    }
}

/// Adds the fingerprint of a picture of an attempt that was inserted in the same transaction. `key` is the attempt's.
pub async fn insert(
    tx: &mut Tx,
    scope: Scope,
    (attempt_id, key): (Uuid, &DataKey),
    file: &str,
    index: &PictureIndex,
    fingerprint: &[u8],
) -> Result<(), Error> {
    let id = Uuid::now_v7();
    let sealed = key.seal(&seal_context(scope, &id), fingerprint);
    execute!(
        tx,
        scope,
        "insert into picture_fingerprints (merchant_id, sandbox, id, attempt_id, file, fingerprint_sealed)
         values ($1, $2, $3, $4, $5, $6)",
        id,
        attempt_id,
        file,
        &sealed
    )?;
    let (pixels, bands) = index.refs(tx, scope);
    execute!(
        tx,
        scope,
        "insert into picture_refs (merchant_id, sandbox, picture_id, ref) values ($1, $2, $3, $4)",
        id,
        &pixels
    )?;
    let [
        Some(b0),
        Some(b1),
        Some(b2),
        Some(b3),
        Some(b4),
        Some(b5),
        Some(b6),
        Some(b7),
        Some(b8),
        Some(b9),
        Some(b10),
        Some(b11),
        Some(b12),
        Some(b13),
        Some(b14),
        Some(b15),
    ] = bands
    else {
        return Ok(());
    };
    execute!(
        tx,
        scope,
        "insert into picture_refs (merchant_id, sandbox, picture_id, ref)
         values ($1, $2, $3, $4), ($1, $2, $3, $5), ($1, $2, $3, $6), ($1, $2, $3, $7), ($1, $2, $3, $8),
             ($1, $2, $3, $9), ($1, $2, $3, $10), ($1, $2, $3, $11), ($1, $2, $3, $12), ($1, $2, $3, $13),
             ($1, $2, $3, $14), ($1, $2, $3, $15), ($1, $2, $3, $16), ($1, $2, $3, $17), ($1, $2, $3, $18),
             ($1, $2, $3, $19)",
        id,
        b0,
        b1,
        b2,
        b3,
        b4,
        b5,
        b6,
        b7,
        b8,
        b9,
        b10,
        b11,
        b12,
        b13,
        b14,
        b15
    )
    .map(|_| ())
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    file: String,
    fingerprint_sealed: Vec<u8>,
    log_id: i64,
    attempt_id: Uuid,
    attempt_key: Vec<u8>,
    facemap_id: Uuid,
    person_key: Vec<u8>,
}

/// Pictures in attempts under another `externalUserId` that have the same pixels or a band in common: those with the
/// same pixels first, then those with the most bands in common, then the newest, at most [`MOST_FOUND`]. Of each blind
/// index, only the newest 64 pictures are considered, so that the work does not grow with the account.
///
/// # Errors
/// [`Error::Sealed`].
pub async fn find(
    conn: &mut Conn,
    scope: Scope,
    index: &PictureIndex,
    external_user_id: &str,
) -> Result<Vec<EarlierPicture>, Error> {
    /// The newest pictures with a blind index. Those with the same pixels weigh more than all bands.
    macro_rules! newest {
        ($weight:literal, $place:literal) => {
            concat!(
                "select picture_id, ",
                $weight,
                " as weight from (select picture_id from picture_refs
                     where merchant_id = $1 and sandbox = $2 and ref = ",
                $place,
                " order by picture_id desc limit 64) newest "
            )
        };
    }
    macro_rules! bands {
        ($($place:literal),*) => { concat!($("union all ", newest!("1", $place)),*) };
    }
    // SQLite keeps the order of cross joins. Otherwise it reads all fingerprints of the account.
    const SQL: &str = concat!(
        "select f.id, f.file, f.fingerprint_sealed, a.log_id, a.id as attempt_id, a.wrapped_key as attempt_key,
             a.facemap_id, p.wrapped_key as person_key
         from (select picture_id, sum(weight) as weight from (",
        newest!("100", "$5"),
        bands!(
            "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$16", "$17", "$18", "$19", "$20",
            "$21"
        ),
        ") hits group by picture_id) found
         cross join picture_fingerprints f cross join attempts a cross join people p
         where f.merchant_id = $1 and f.sandbox = $2 and f.id = found.picture_id
             and a.merchant_id = $1 and a.sandbox = $2 and a.id = f.attempt_id and a.external_ref <> $3
             and p.merchant_id = $1 and p.sandbox = $2 and p.facemap_id = a.facemap_id
         order by found.weight desc, f.id desc limit $4"
    );
    let own = labels::external_ref(conn, scope, external_user_id);
    let (
        pixels,
        [
            b0,
            b1,
            b2,
            b3,
            b4,
            b5,
            b6,
            b7,
            b8,
            b9,
            b10,
            b11,
            b12,
            b13,
            b14,
            b15,
        ],
    ) = index.refs(conn, scope);
    let rows = fetch!(
        all, conn, scope, Row, SQL, &own, MOST_FOUND, &pixels, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10,
        b11, b12, b13, b14, b15
    )?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchant_key = merchants::key(conn, scope.merchant_id).await?;
    rows.into_iter()
        .map(|row| open(&merchant_key, scope, row))
        .collect()
}

fn open(merchant_key: &DataKey, scope: Scope, row: Row) -> Result<EarlierPicture, Error> {
    let key = attempts::unwrap(
        merchant_key,
        scope,
        (&row.facemap_id, &row.person_key),
        (&row.attempt_id, &row.attempt_key),
    )?;
    Ok(EarlierPicture {
        log_id: row.log_id,
        fingerprint: key.open(&seal_context(scope, &row.id), &row.fingerprint_sealed)?,
        file: row.file,
    })
}

fn seal_context(scope: Scope, id: &Uuid) -> SealContext<'_> {
    SealContext {
        merchant_id: scope.merchant_id,
        what: "picture_fingerprints.fingerprint",
        id: id.as_bytes(),
    }
}
