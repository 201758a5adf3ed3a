//! `bonafide generate`: fills an account's sandbox with invented applicants, so that the portal and hardware
//! can be measured with an account of realistic size. It never changes live data and sends no webhook.
//!
//! The same seed generates the same people. An interrupted run continues where it stopped.

mod cast;
mod findings;
mod invent;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::{Value, json};
use service;
use service::config::DataConfig;
use store::{Scope, bulk, flows, groups};
use uuid::Uuid;
use verification::group::GroupStatus;

use self::invent::{Inventor, Places, external_user_id};
use super::data;
use super::output::print_line;
use super::runtime::block_on;

/// Applicants written in one transaction.
const BATCH: u64 = 500;
/// The name of the Group of invented applicants, and the prefix of its Flows' names.
const NAME: &str = "Invented applicants";

/// `bonafide generate`.
#[derive(Args)]
pub(crate) struct Generate {
    /// The account whose sandbox to fill.
    #[arg(long)]
    merchant: Uuid,
    /// The number of applicants.
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// The seed; a different seed generates different people.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    data: DataConfig,
}

/// Generates the applicants. It seals them on other threads and writes them batch by batch.
pub(super) fn run(command: &Generate) -> anyhow::Result<()> {
    block_on(async {
        let db = data::open(&command.data).await?.db;
        let scope = Scope {
            merchant_id: command.merchant,
            sandbox: true,
        };
        let account = bulk::account(&mut db.read().await?, scope)
            .await
            .context("no such merchant")?;
        let inventor = Arc::new(Inventor::new(
            places(&db, scope).await?,
            command.seed,
            command.count,
        )?);
        let begun = Instant::now();
        let mut written = 0;
        let mut ahead = None;
        let mut first = written_before(&db, &account, command).await?;
        while first < command.count || ahead.is_some() {
            // The next batch is generated while this one is written.
            let next = (first < command.count).then(|| {
                let (account, inventor) = (account.clone(), Arc::clone(&inventor));
                let numbers = first..(first + BATCH).min(command.count);
                first = numbers.end;
                let seal = move || {
                    numbers
                        .map(|number| account.seal(inventor.person(number)))
                        .collect::<Vec<_>>()
                };
                (first, tokio::task::spawn_blocking(seal))
            });
            if let Some((end, sealing)) = std::mem::replace(&mut ahead, next) {
                let sealed = sealing.await?;
                service::operations::write_invented(&db, &account, &sealed).await?;
                written += BATCH;
                if written % 50_000 == 0 {
                    print_line(&format!(
                        "{end} applicants, {:.0} s",
                        begun.elapsed().as_secs_f32()
                    ))?;
                }
            }
        }
        bulk::vacuum_analyze(&db).await?;
        print_line(&format!(
            "{} applicants in the sandbox of {}, {:.0} s",
            command.count,
            command.merchant,
            begun.elapsed().as_secs_f32()
        ))
    })
}

/// The number of applicants that an earlier run with this seed wrote. They are written in the order of their
/// numbers.
async fn written_before(db: &store::Db, account: &bulk::Account, command: &Generate) -> anyhow::Result<u64> {
    let mut conn = db.read().await?;
    let mut first = 0;
    for step in [BATCH, 1] {
        while first + step <= command.count {
            let label = external_user_id(command.seed, first + step - 1);
            if !account.is_registered(&mut conn, &label).await? {
                break;
            }
            first += step;
        }
    }
    Ok(first)
}

/// The Group and its Flows, which the first run creates.
async fn places(db: &store::Db, scope: Scope) -> anyhow::Result<Places> {
    let wanted: [(&str, Value); 3] = [
        (
            "any document",
            json!({
                "defaultFields": {"documentFileUpload": true, "selfie": true, "ocrMatch": true},
                "defaultDocumentTypes": ["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"],
                "minAge": 18,
            }),
        ),
        (
            "passport",
            json!({
                "defaultFields": {"documentCapture": true, "liveSelfie": true, "ocrMatch": true},
                "defaultDocumentTypes": ["PASSPORT"],
            }),
        ),
        ("data only", json!({})),
    ];
    let known = flows::list(&mut db.read().await?, scope).await?;
    let mut found = Vec::new();
    for (name, mut file) in wanted {
        let name = format!("{NAME}: {name}");
        let flow = match known.iter().find(|flow| flow.name == name) {
            Some(flow) => flow.clone(),
            None => {
                file["name"] = json!(name);
                let file = file.as_object().context("a Flow is an object")?;
                service::flows::from_file::create(db, scope, file)
                    .await
                    .and_then(service::flows::SaveOutcome::flow)
                    .map_err(|reason| anyhow!(reason))?
            }
        };
        let rules = service::flows::parse(&flow.clone().into()).map_err(|problem| anyhow!("{problem}"))?;
        found.push((flow.id, flow.name, rules));
    }
    let Ok(flows) = found.try_into() else {
        bail!("three Flows were asked for");
    };
    Ok(Places {
        group_id: group(db, scope, &flows).await?,
        flows,
    })
}

async fn group(
    db: &store::Db,
    scope: Scope,
    flows: &[(Uuid, String, verification::flow::Flow); 3],
) -> anyhow::Result<Uuid> {
    let known = groups::list(&mut db.read().await?, scope).await?;
    if let Some(group) = known.iter().find(|group| group.name == NAME) {
        return Ok(group.id);
    }
    let new = groups::NewGroup {
        name: NAME.into(),
        description: None,
        status: GroupStatus::Active,
        flow_ids: flows.iter().map(|(id, ..)| *id).collect(),
    };
    let group = service::groups::create_alone(db, scope, &new).await?;
    Ok(group.id)
}
