//! `serve --demo`: a sandbox merchant with a Group and Flows, and a small invented sanctions list. It writes
//! `demo.json` for scripts and prints a summary for people. A second start reuses what the first one created.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use portal_accounts::joining;
use sanctions::{ListFormat, ListStore};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::caller::{Caller, NO_PERMISSIONS};
use service::list_set::CheckedSet;
use service::permissions::Role;
use service::{App, flows, groups, list_set, merchants, sessions};
use store::credentials::{self, AuthOutcome};
use store::groups::NewGroup;
use store::merchants::MerchantStatus;
use store::{Db, Scope};
use uuid::Uuid;
use verification::group::GroupStatus;

use super::output::print_line;

const GROUP: &str = "Demo group";

/// The demo Flows by name. All except the first are in the Group.
fn demo_flows() -> [(&'static str, Value); 7] {
    let documents = |types: &[&str], more: Value| {
        let mut flow = json!({
            "defaultFields": {"documentFileUpload": true, "selfie": true, "ocrMatch": true},
            "defaultDocumentTypes": types,
        });
        if let (Some(fields), Some(more)) = (flow["defaultFields"].as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        flow
    };
    let mut aged = documents(&["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"], json!({}));
    aged["minAge"] = json!(18);
    aged["maxAge"] = json!(60);
    [
        ("data-only", json!({})),
        ("passport", documents(&["PASSPORT"], json!({}))),
        (
            "any-document",
            documents(&["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"], json!({})),
        ),
        ("licence", documents(&["DRIVERS"], json!({}))),
        ("residence", documents(&["RESIDENCY_CARD"], json!({}))),
        (
            "liveness",
            documents(
                &["PASSPORT", "DRIVERS", "ID_CARD", "RESIDENCY_CARD"],
                json!({"liveness": true}),
            ),
        ),
        ("age-18-60", aged),
    ]
}

/// The content of `demo.json`. Scripts rely on its members.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Demo {
    base_url: String,
    portal_url: Option<String>,
    websdk_url: Option<String>,
    merchant_id: Uuid,
    api_key: String,
    secret: String,
    group_id: Uuid,
    flows: BTreeMap<String, Uuid>,
    specimens: Option<PathBuf>,
    owner_link: Option<String>,
}

/// Creates what is missing, writes `demo.json` and prints the summary.
pub(super) async fn seed(app: &App) -> anyhow::Result<()> {
    let file = app.config.data.data.join("demo.json");
    let known = read(&file);
    let mut demo = match known {
        Some(demo) if still_works(app, &demo).await? => demo,
        _ => make(app).await?,
    };
    demo.base_url.clone_from(&app.public_url);
    demo.websdk_url = Some(app.websdk_url.clone());
    demo.specimens = std::path::absolute(&app.config.specimens)
        .ok()
        .filter(|dir| dir.join("index.json").exists());
    demo.portal_url = Some(format!("{}/portal", app.public_url));
    demo.owner_link = Some(owner_link(app, demo.merchant_id).await?);
    let link = link(app, &demo).await?;
    write(&file, &demo)?;
    // The server goes on if nobody can read the summary, for example because stdout is on a full disk.
    let _ = print_line(&summary(&demo, &link));
    Ok(())
}

/// A new link with which a person becomes an owner of the demo merchant. It revokes unused links of earlier
/// starts.
async fn owner_link(app: &App, merchant_id: Uuid) -> anyhow::Result<String> {
    joining::revoke_owner_links(&app.db, merchant_id).await?;
    let made = joining::invite(&app.db, merchant_id, Role::Owner, None, None)
        .await
        .map_err(|problem| anyhow::anyhow!("the owner's link: {problem}"))?;
    Ok(format!("{}{}", app.public_url, made.path))
}

/// A link to the hosted page for the Flow that accepts any document.
async fn link(app: &App, demo: &Demo) -> anyhow::Result<String> {
    let merchant = store::merchants::get(&mut app.db.read().await?, demo.merchant_id)
        .await?
        .context("the demo merchant is gone")?;
    let caller = Caller {
        merchant,
        scope: Scope {
            merchant_id: demo.merchant_id,
            sandbox: true,
        },
        key: "command line".into(),
        permissions: NO_PERMISSIONS.into(),
        session: None,
    };
    let body =
        json!({"userId": "browser-1", "groupId": demo.group_id, "flowId": demo.flows.get("any-document")});
    let body = body.as_object().context("a body is an object")?;
    let link = sessions::link(app, &caller, body).await;
    link.map(|(_, url)| url)
        .map_err(|problem| anyhow::anyhow!("the demo link: {problem}"))
}

/// Activates the invented list before the lists are opened. Every start does so, so that the list never
/// becomes too old.
pub(super) async fn seed_list(db: &Db, store: &ListStore) -> anyhow::Result<()> {
    let demo = sanctions::demo_list();
    let _lock = store.lock()?;
    let checked = CheckedSet::read(db).await?;
    store
        .activate(&demo)
        .context("the demo list cannot be activated")?;
    list_set::publish(
        db,
        store,
        (&demo.name, ListFormat::FollowTheMoney),
        &checked,
        "server",
        false,
    )
    .await?;
    Ok(())
}

async fn make(app: &App) -> anyhow::Result<Demo> {
    let (merchant_id, _, key) = merchants::create(&app.db, "Demo merchant", MerchantStatus::Approved).await?;
    let scope = Scope {
        merchant_id,
        sandbox: true,
    };
    let mut made = BTreeMap::new();
    for (name, mut flow) in demo_flows() {
        flow["name"] = json!(name);
        let content = flow.as_object().context("a Flow is an object")?;
        made.insert(
            name.to_owned(),
            flows::from_file::create(&app.db, scope, content)
                .await
                .and_then(flows::SaveOutcome::flow)
                .map_err(|reason| anyhow::anyhow!(reason))?
                .id,
        );
    }
    let flow_ids = made
        .iter()
        .filter(|(name, _)| *name != "data-only")
        .map(|(_, id)| *id)
        .collect();
    let new = NewGroup {
        name: GROUP.into(),
        description: None,
        status: GroupStatus::Active,
        flow_ids,
    };
    let group = groups::create_alone(&app.db, scope, &new).await?;
    Ok(Demo {
        base_url: String::new(),
        portal_url: None,
        websdk_url: None,
        merchant_id,
        api_key: key.key,
        secret: key.secret.expose_secret().to_owned(),
        group_id: group.id,
        flows: made,
        specimens: None,
        owner_link: None,
    })
}

/// Whether the credentials and the Group of an earlier start still exist.
async fn still_works(app: &App, demo: &Demo) -> anyhow::Result<bool> {
    let mut conn = app.db.read().await?;
    let AuthOutcome::Accepted(caller) =
        credentials::authenticate(&mut conn, &demo.api_key, &demo.secret).await?
    else {
        return Ok(false);
    };
    Ok(store::groups::get(&mut conn, caller.scope, demo.group_id)
        .await?
        .is_some())
}

fn read(file: &Path) -> Option<Demo> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// Writes the file under a temporary name and moves it into place. It contains the sandbox secret, so only
/// this user can read it.
fn write(file: &Path, demo: &Demo) -> anyhow::Result<()> {
    let dir = file.parent().context("demo.json needs a folder")?;
    let mut draft = tempfile::NamedTempFile::new_in(dir)?;
    draft.write_all(&serde_json::to_vec_pretty(demo)?)?;
    draft.as_file().sync_all()?;
    draft.persist(file)?;
    Ok(())
}

fn summary(demo: &Demo, link: &str) -> String {
    let Demo {
        base_url,
        api_key,
        secret,
        flows,
        group_id,
        owner_link,
        ..
    } = demo;
    let owner_link = owner_link.as_deref().unwrap_or_default();
    let any_document = flows.get("any-document").map(Uuid::to_string).unwrap_or_default();
    let passport = flows.get("passport").map(Uuid::to_string).unwrap_or_default();
    let call = match &demo.specimens {
        Some(dir) => format!(
            "Verify a specimen passport (once; a second time, the answer is 2307: registered already):

  curl -s -u {api_key}:{secret} {base_url}/v2/idv/verify \\
    -F flowId={passport} \\
    -F externalUserId=user-1 {}",
            specimen_arguments(dir).unwrap_or_else(|| "…".into())
        ),
        None => "No specimens here yet: `make specimens` renders them.".into(),
    };
    format!(
        "
Bonafide's sandbox is ready at {base_url}

  API key   {api_key}
  Secret    {secret}
  API docs  {base_url}/docs
  Portal    {base_url}/portal

Become the owner of the demo account in the portal (once, within seven days):

  {owner_link}

{call}

Or verify yourself in a browser, within ten minutes:

  {link}

Another such link, for any Flow of the Group:

  curl -s -u {api_key}:{secret} {base_url}/v2/sdk/session/web-sdk-link \\
    -H 'Content-Type: application/json' \\
    -d '{{\"userId\": \"browser-2\", \"groupId\": \"{group_id}\", \"flowId\": \"{any_document}\"}}'
"
    )
}

/// The first specimen of a passport that passes, as arguments of `curl`.
fn specimen_arguments(dir: &Path) -> Option<String> {
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(dir.join("index.json")).ok()?).ok()?;
    let specimen = index
        .iter()
        .find(|entry| entry["expect"] == "pass" && entry["flow"] == "passport")?;
    let mut arguments = String::new();
    for (name, value) in specimen["fields"].as_object()? {
        if name != "externalUserId" && name != "flowId" {
            arguments.push_str(&format!("\\\n    -F '{name}={}' ", value.as_str()?));
        }
    }
    for (name, file) in specimen["files"].as_object()? {
        arguments.push_str(&format!(
            "\\\n    -F '{name}=@{}' ",
            dir.join(file.as_str()?).display()
        ));
    }
    Some(arguments.trim_end().to_owned())
}
