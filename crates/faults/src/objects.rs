//! The check of the files: every file of every acknowledged verification can be read and unsealed, and it is byte
//! for byte what was sent. No command reads every object, so a member exports each person in the portal: the
//! export opens all files of all of the person's attempts. It never reads the object store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;
use zip::ZipArchive;

use crate::check::{Expected, Report};
use crate::installation::Installation;
use crate::portal::Member;
use crate::specimens::{self, Person};

/// A member's sign-in counts as recent for ten minutes, and an export needs a recent one.
const RECENT: Duration = Duration::from_secs(240);

/// The files that an applicant has sent, once per attempt.
struct Sent<'a> {
    person: &'a Person,
    /// The Groups of the attempts that must be there.
    must: BTreeSet<&'a str>,
    attempts_each: usize,
}

/// Exports every person with an acknowledged verification. The nodes take turns.
pub(crate) async fn check(
    installation: &Installation,
    expected: &Expected,
    report: &mut Report,
) -> anyhow::Result<()> {
    let folder = installation.demo("specimens").as_ref();
    let (passing, failing) = (specimens::passing(folder)?, specimens::failing(folder)?);
    let sent = sent(expected, &passing, &failing);
    let mut member = Member::join(installation).await?;
    let mut joined = Instant::now();
    for (place, (user, sent)) in sent.iter().enumerate() {
        if joined.elapsed() > RECENT {
            (member, joined) = (Member::join(installation).await?, Instant::now());
        }
        let node = &installation.nodes[place % installation.nodes.len()];
        let Some(facemap) = facemap(installation, &node.base(), user).await? else {
            if !sent.must.is_empty() {
                report.wrong.push(format!("{user} is lost, and so are the files"));
            }
            continue;
        };
        let exported = async { read(member.export(&node.base(), &facemap).await?) };
        match exported.await {
            Ok(attempts) => compare(user, sent, &attempts, report),
            Err(error) => report.wrong.push(format!("{user} cannot be exported: {error:#}")),
        }
    }
    Ok(())
}

/// What must be found, by `externalUserId`.
fn sent<'a>(
    expected: &'a Expected,
    passing: &'a [Person],
    failing: &'a Person,
) -> BTreeMap<&'a str, Sent<'a>> {
    let mut all = BTreeMap::new();
    for (id, group) in &expected.before.groups {
        let Some(verified) = &group.verified else { continue };
        let name = verified.user.strip_prefix("faults-").unwrap_or_default();
        let Some(person) = passing.iter().find(|person| person.specimen.name == name) else {
            continue;
        };
        let sent: &mut Sent<'_> = all.entry(verified.user.as_str()).or_insert_with(|| Sent {
            person,
            must: BTreeSet::new(),
            attempts_each: 1,
        });
        sent.must.insert(id);
    }
    for ended in expected.before.ended.values() {
        let (Some(group), Some(attempts)) = (
            ended.user.strip_prefix("failing-"),
            ended.poll["metadata"]["attempts"].as_u64(),
        ) else {
            continue;
        };
        let sent = Sent {
            person: failing,
            must: BTreeSet::from([group]),
            attempts_each: usize::try_from(attempts).unwrap_or_default(),
        };
        all.insert(ended.user.as_str(), sent);
    }
    all
}

/// The person's `facemapId`; `None` if there is no such person.
async fn facemap(installation: &Installation, base: &str, user: &str) -> anyhow::Result<Option<String>> {
    let answer = installation
        .http
        .get(format!("{base}/v2/reports/applicants/byExternalUserId/{user}"))
        .basic_auth(installation.demo("apiKey"), Some(installation.demo("secret")))
        .send()
        .await?;
    let body: Value = serde_json::from_str(&answer.text().await?)?;
    Ok(body["facemapId"].as_str().map(str::to_owned))
}

/// An exported attempt: its Group, and the bytes of its files by form field.
struct Exported {
    group: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// Reads a whole export.
fn read(file: File) -> anyhow::Result<Vec<Exported>> {
    let mut archive = ZipArchive::new(file)?;
    let mut attempts: BTreeMap<String, Exported> = BTreeMap::new();
    for place in 0..archive.len() {
        let mut entry = archive.by_index(place)?;
        let name = entry.name()?.into_owned();
        let mut bytes = Vec::new();
        // The checksum is compared at the end.
        entry.read_to_end(&mut bytes).context(name.clone())?;
        let Some((folder, file)) = name.rsplit_once('/') else {
            continue;
        };
        let attempt = attempts.entry(folder.to_owned()).or_insert_with(|| Exported {
            group: String::new(),
            files: BTreeMap::new(),
        });
        if file == "attempt.json" {
            let record: Value = serde_json::from_slice(&bytes)?;
            record["groupingId"]
                .as_str()
                .unwrap_or_default()
                .clone_into(&mut attempt.group);
        } else {
            let field = file.split_once('.').map_or(file, |(field, _)| field);
            attempt.files.insert(field.to_owned(), bytes);
        }
    }
    Ok(attempts.into_values().collect())
}

/// Compares a person's exported attempts with what was sent.
fn compare(user: &str, sent: &Sent<'_>, attempts: &[Exported], report: &mut Report) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in attempts {
        *seen.entry(attempt.group.as_str()).or_default() += 1;
        for (field, bytes) in &sent.person.files {
            match attempt.files.get(field) {
                Some(stored) if stored == bytes => report.found("files as they were sent"),
                Some(_) => report.wrong.push(format!(
                    "{user}: {field} in Group {} is not what was sent",
                    attempt.group
                )),
                None => report
                    .wrong
                    .push(format!("{user}: {field} in Group {} is missing", attempt.group)),
            }
        }
    }
    for group in &sent.must {
        let count = seen.get(group).copied().unwrap_or_default();
        if count != sent.attempts_each {
            report.wrong.push(format!(
                "{user}: the export has {count} attempts in Group {group} instead of {}",
                sent.attempts_each
            ));
        }
    }
}
