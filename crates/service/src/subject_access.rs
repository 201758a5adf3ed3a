//! Exports all data about one person as a ZIP file: `person.json`, and for each attempt a folder with the
//! submission, the findings, the decisions and the files. The ZIP is created while it is sent, so that only
//! one attempt and one file are in memory at a time.

use std::io::{self, Write};

use bytes::Bytes;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use store::attempts::{self, Attempt};
use store::audit::{self, Entry};
use store::objects::ObjectName;
use store::people::{self, Person};
use store::{Scope, alerts, consents, registrations, review, session_events, sessions, suppressions};
use tokio::sync::mpsc::{self, Receiver, Sender};
use uuid::Uuid;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{App, Shared, attempt_detail, dispositions};
use crate::alerts::Finding;
use crate::problem::Problem;

/// The maximum number of pieces that wait for a slow reader.
const PIECES: usize = 8;
/// The size of a piece, in bytes.
const PIECE: usize = 64 * 1024;

/// One file of the ZIP.
struct File {
    name: String,
    bytes: Vec<u8>,
}

/// Records the export in the audit trail and starts it; 404 if there is no such person, 503 if this version
/// cannot read an attempt. The stream fails if any data cannot be read, so a ZIP file that was received to its
/// end is complete.
pub async fn export(
    app: &Shared,
    scope: Scope,
    facemap_id: Uuid,
    actor: &str,
) -> Result<impl Stream<Item = io::Result<Bytes>> + use<>, Problem> {
    let person = store::transaction!(app.db, |tx| -> Result<Person, Problem> {
        let person = people::resolve(tx, scope, facemap_id)
            .await?
            .ok_or_else(|| Problem::not_found("No such person in this account"))?;
        for log_id in attempts::log_ids(tx, scope, person.facemap_id).await? {
            if let Some(attempt) = attempts::get(tx, scope, log_id).await? {
                parts(&attempt)?;
            }
        }
        let entry = Entry {
            actor,
            action: "person.exported",
            subject: &person.facemap_id.to_string(),
            detail: "{}",
        };
        audit::write(tx, scope, &entry).await?;
        Ok(person)
    })?;
    let (pieces, sent) = mpsc::channel(PIECES);
    let (files, found) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || zip(found, pieces));
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(problem) = gather(&app, scope, &person, files).await {
            tracing::error!(%problem, "an export broke off");
        }
    });
    Ok(stream::unfold(
        sent,
        |mut sent: Receiver<io::Result<Bytes>>| async { sent.recv().await.map(|piece| (piece, sent)) },
    ))
}

/// Reads all data and sends it file by file. If `files` is dropped before the end, the ZIP stream ends with
/// an error.
async fn gather(
    app: &App,
    scope: Scope,
    person: &Person,
    files: Sender<Option<File>>,
) -> Result<(), Problem> {
    let hand_over = async |name: String, bytes: Vec<u8>| {
        let file = Some(File { name, bytes });
        files
            .send(file)
            .await
            .map_err(|_| Problem::internal("the reader has gone"))
    };
    let overview = pretty(&overview(app, scope, person).await?)?;
    hand_over("person.json".into(), overview).await?;
    let log_ids = attempts::log_ids(&mut app.db.read().await?, scope, person.facemap_id).await?;
    for log_id in log_ids {
        let found = attempts::get(&mut app.db.read().await?, scope, log_id).await?;
        let Some(attempt) = found else {
            continue;
        };
        let folder = format!("attempts/{log_id}");
        hand_over(
            format!("{folder}/attempt.json"),
            pretty(&record(app, scope, &attempt).await?)?,
        )
        .await?;
        for file in app.objects.files(scope, attempt.id).await? {
            let name = ObjectName {
                scope,
                attempt_id: attempt.id,
                file: &file,
            };
            let bytes = app.objects.get(&attempt.key, &name).await?.to_vec();
            let extension = extension(&bytes);
            hand_over(format!("{folder}/{file}.{extension}"), bytes).await?;
        }
    }
    // Marks the regular end, as opposed to a failure.
    files
        .send(None)
        .await
        .map_err(|_| Problem::internal("the reader has gone"))
}

async fn overview(app: &App, scope: Scope, person: &Person) -> Result<Value, Problem> {
    let mut conn = app.db.read().await?;
    let registered = registrations::of_facemap(&mut conn, scope, person.facemap_id).await?;
    let registered: Vec<Value> = registered
        .iter()
        .map(|one| {
            json!({
                "registrationId": one.id, "groupingId": one.grouping_id, "externalUserId": one.external_user_id,
                "status": one.status, "createdAt": time(one.created_at), "lastActive": time(one.last_active),
            })
        })
        .collect();
    let suppressed = suppressions::of_person(&mut conn, scope, person.facemap_id).await?;
    let suppressed: Vec<Value> = suppressed
        .iter()
        .map(|one| json!({"list": one.list, "entityId": one.entity_id, "reason": one.reason, "at": time(one.at)}))
        .collect();
    let alerts = alerts::of_person(&mut conn, scope, person.facemap_id).await?;
    let alerts = alerts.iter().map(|one| {
        Ok(json!({
            "list": one.list, "finding": serde_json::to_value(Finding::of(one)?).map_err(Problem::internal)?,
            "state": one.state.as_str(), "openedAt": time(one.opened_at), "changedAt": time(one.changed_at),
            "reason": one.reason,
        }))
    });
    let alerts = alerts.collect::<Result<Vec<Value>, Problem>>()?;
    Ok(json!({
        "facemapId": person.facemap_id,
        "earlierFacemapIds": people::aliases(&mut conn, scope, person.facemap_id).await?,
        "faceIsKnown": person.proven,
        "createdAt": time(person.created_at),
        "isSandbox": scope.sandbox,
        "registrations": registered,
        "sanctionsListingsFoundNotToMeanThisPerson": suppressed,
        "alertsOfOngoingScreening": alerts,
    }))
}

async fn record(app: &App, scope: Scope, attempt: &Attempt) -> Result<Value, Problem> {
    let mut conn = app.db.read().await?;
    let decisions = attempts::decisions(&mut conn, scope, attempt).await?;
    let decisions: Vec<Value> = decisions
        .iter()
        .map(|one| json!({"decision": one.decision, "reason": one.reason, "at": time(one.at)}))
        .collect();
    let notes = review::notes(&mut conn, scope, attempt).await?;
    let notes: Vec<Value> = notes
        .iter()
        .map(|note| json!({"text": note.text, "at": time(note.at)}))
        .collect();
    let concluded = dispositions::of_attempt(&mut conn, scope, attempt).await?;
    let concluded: Vec<Value> = concluded
        .iter()
        .map(|one| json!({"hit": one.hit, "disposition": one.disposition, "reason": one.reason, "at": time(one.at)}))
        .collect();
    let session = match attempt.session_id {
        Some(id) => session(&mut conn, scope, id).await?,
        None => Value::Null,
    };
    let Parts {
        codes,
        document_types,
        request,
        response,
        detail,
    } = parts(attempt)?;
    Ok(json!({
        "logId": attempt.log_id, "createdAt": time(attempt.created_at),
        "decidedAt": attempt.decided_at.map(time), "status": attempt.status, "success": attempt.success,
        "flow": attempt.flow_name, "flowId": attempt.flow_id, "groupingId": attempt.grouping_id,
        "externalUserId": attempt.external_user_id, "codes": codes,
        "documentTypes": document_types, "request": request,
        "response": response, "detail": detail,
        "decisions": decisions, "notes": notes, "dispositions": concluded, "session": session,
    }))
}

async fn session(conn: &mut store::Conn, scope: Scope, id: Uuid) -> Result<Value, Problem> {
    let Some(held) = sessions::get(conn, scope, id).await? else {
        return Ok(Value::Null);
    };
    let consent = consents::of_session(conn, scope, id).await?;
    let events = session_events::of_session(conn, scope, id).await?;
    let events: Vec<Value> = events
        .iter()
        .map(|event| {
            json!({
                "step": event.step, "kind": event.kind, "ms": event.ms, "detail": event.detail,
                "device": event.device, "country": event.country, "language": event.language,
            })
        })
        .collect();
    Ok(json!({
        "sessionId": held.id, "status": held.status.as_str(), "userId": held.link.user_id,
        "createdAt": time(held.created_at), "completedAt": held.completed_at.map(time),
        "consent": consent.map(|consent| json!({
            "version": consent.version, "language": consent.language, "accepted": consent.accepted,
            "at": time(consent.at),
        })),
        "events": events,
    }))
}

fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |at| format!("{at:.3}"))
}

/// The parts of an attempt that are stored as JSON.
struct Parts {
    codes: Value,
    document_types: Value,
    request: Value,
    response: Value,
    detail: Value,
}

fn parts(attempt: &Attempt) -> Result<Parts, Problem> {
    let parsed = |name: &str, text: &str| -> Result<Value, Problem> {
        serde_json::from_str(text).map_err(|error| {
            let fault = verification::json::describe_without_values(&error);
            attempt_detail::unreadable(attempt.log_id, name, &fault)
        })
    };
    Ok(Parts {
        codes: parsed("codes", &attempt.codes)?,
        document_types: parsed("documentTypes", &attempt.document_types)?,
        request: parsed("request", &attempt.request)?,
        response: parsed("response", &attempt.response)?,
        detail: attempt_detail::for_its_person(attempt)?,
    })
}

fn pretty(value: &Value) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec_pretty(value).map_err(Problem::internal)
}

/// The extension by the first bytes. Files were accepted by their content, whatever their names.
fn extension(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xFF, 0xD8, ..] => "jpg",
        [0x89, b'P', b'N', b'G', ..] => "png",
        [b'R', b'I', b'F', b'F', ..] => "webp",
        [b'B', b'M', ..] => "bmp",
        [b'%', b'P', b'D', b'F', ..] => "pdf",
        _ => "bin",
    }
}

/// Zips the received files until `None`. If the channel closes before, the stream ends with an error, so that
/// a partial file is not taken for a complete one.
fn zip(mut found: Receiver<Option<File>>, pieces: Sender<io::Result<Bytes>>) {
    let mut archive = ZipWriter::new_stream(io::BufWriter::with_capacity(PIECE, Pieces(pieces.clone())));
    let mut add_all = || -> io::Result<()> {
        loop {
            let file = found
                .blocking_recv()
                .ok_or_else(|| io::Error::other("the export could not be finished"))?;
            let Some(file) = file else { return Ok(()) };
            archive.start_file(file.name, SimpleFileOptions::default())?;
            archive.write_all(&file.bytes)?;
        }
    };
    let added = add_all();
    // An archive writes its directory even when it is dropped, so the error is sent first.
    if let Err(error) = added {
        let _ = pieces.blocking_send(Err(error));
    } else if let Err(error) = archive
        .finish()
        .map_err(io::Error::from)
        .and_then(|mut end| end.flush())
    {
        let _ = pieces.blocking_send(Err(error));
    }
}

/// A writer that sends its bytes as pieces, as fast as they are read.
struct Pieces(Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .blocking_send(Ok(Bytes::copy_from_slice(bytes)))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn zipped(files: Vec<Option<File>>) -> io::Result<Vec<u8>> {
        let (send, found) = mpsc::channel(1);
        let (pieces, mut sent) = mpsc::channel(PIECES);
        tokio::task::spawn_blocking(move || zip(found, pieces));
        tokio::spawn(async move {
            for file in files {
                let _ = send.send(file).await;
            }
        });
        let mut all = Vec::new();
        while let Some(piece) = sent.recv().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn a_zip_is_whole_or_says_that_it_is_not() {
        let file = || {
            Some(File {
                name: "person.json".into(),
                bytes: vec![7; 3 * PIECE],
            })
        };
        let bytes = zipped(vec![file(), None]).await.unwrap();
        let mut archive = zip::ZipArchive::new(io::Cursor::new(bytes)).unwrap();
        let mut content = Vec::new();
        io::Read::read_to_end(&mut archive.by_name("person.json").unwrap(), &mut content).unwrap();
        assert_eq!(content, vec![7; 3 * PIECE]);
        zipped(vec![file()]).await.unwrap_err();
    }
}
