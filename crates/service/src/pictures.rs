//! An attempt's files, for reviewers. Uploaded bytes are never shown in a browser as they are. An
//! engine worker decodes every picture and encodes it again, so that it can contain only pixels. The original
//! can be downloaded but not shown.

use imaging::{Format, sniff};
use store::attempts::{self, Attempt};
use store::objects::ObjectName;
use store::{Error, Scope};
use verification::submission::FileField;
use zeroize::Zeroizing;

use super::attempt_detail::Detail;
use super::{App, Shared};
use crate::problem::Problem;

/// The longest side of a shown picture, in pixels: enough for small print, and quickly sent.
const MAX_SIDE: u32 = 2_200;
const QUALITY: u8 = 85;

/// A file as it was uploaded.
pub struct Original {
    /// Its bytes.
    pub bytes: Zeroizing<Vec<u8>>,
    /// The format that its first bytes indicate.
    pub format: Option<Format>,
}

/// Whether an object of an attempt is a submitted file.
pub(crate) fn is_file(name: &str) -> bool {
    FileField::ALL.into_iter().any(|field| field.as_str() == name)
}

fn missing() -> Problem {
    Problem::not_found("There is no such file")
}

async fn read(
    app: &App,
    scope: Scope,
    log_id: i64,
    file: &str,
) -> Result<(Attempt, Zeroizing<Vec<u8>>), Problem> {
    let field = FileField::ALL
        .into_iter()
        .find(|field| field.as_str() == file)
        .ok_or_else(missing)?;
    let attempt = attempts::get(&mut app.db.read().await?, scope, log_id)
        .await?
        .ok_or_else(missing)?;
    let name = ObjectName {
        scope,
        attempt_id: attempt.id,
        file: field.as_str(),
    };
    match app.objects.get(&attempt.key, &name).await {
        Err(Error::Missing(_)) => Err(missing()),
        bytes => Ok((attempt, bytes?)),
    }
}

/// The file as it was uploaded, for download.
pub async fn original(app: &App, scope: Scope, log_id: i64, file: &str) -> Result<Original, Problem> {
    let (_, bytes) = read(app, scope, log_id, file).await?;
    Ok(Original {
        format: sniff(&bytes),
        bytes,
    })
}

/// The file as an upright JPEG; of a PDF, the page that the engines read. `None` if it cannot be decoded.
pub async fn shown(app: &Shared, scope: Scope, log_id: i64, file: &str) -> Result<Option<Vec<u8>>, Problem> {
    let (attempt, bytes) = read(app, scope, log_id, file).await?;
    // Another page than the engines read would mislead the reviewer.
    let detail = Detail::of(&attempt)?;
    let page = detail.seen.pictures.get(file).and_then(|picture| picture.page);
    let engines = app.engines.clone();
    let shown = app
        .cpu
        .run(move |gone| {
            let gone = gone.clone();
            engines.show(&bytes, page.unwrap_or(0), MAX_SIDE, QUALITY, move || {
                gone.is_set()
            })
        })
        .await??;
    Ok(shown.ok().map(|picture| picture.jpeg))
}
