//! `bonafide merchant …`: manages accounts and their keys.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use secrecy::ExposeSecret;
use serde_json::json;
use service;
use service::branding::{self, LogoError};
use service::config::DataConfig;
use service::key_restrictions::{Endpoints, KeyRestrictions};
use service::keys::GraceHours;
use service::merchants::ChangeOutcome;
use store::credentials::{self, Credential, NewCredential};
use store::merchants::{self, Merchant, MerchantStatus};
use uuid::Uuid;

use super::data;
use super::errors::Unusable;
use super::output::{print_line, print_proposed};
use super::runtime::block_on;

/// `bonafide merchant`.
#[derive(Args)]
pub(crate) struct MerchantCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    data: DataConfig,
}

#[derive(Subcommand)]
enum Action {
    /// Create an account with a live and a sandbox key. Their secrets are shown only once.
    Create {
        #[arg(long)]
        name: String,
        /// Approve the account immediately.
        #[arg(long)]
        approved: bool,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Approve an account for live access.
    Approve {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
    },
    /// Suspend an account.
    Suspend {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
    },
    /// Manage the API keys of an account.
    Keys {
        #[command(subcommand)]
        action: KeysAction,
    },
    /// Change settings: `KEY=VALUE …`. A value is JSON, plain text, a list `a,b`, or for `brandLogo` a file
    /// `@logo.png`. An empty value removes the setting. Example: `brandColor=#0a7
    /// allowedOrigins=https://shop.example`.
    Set {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
        #[arg(required = true)]
        settings: Vec<String>,
    },
    /// Show an account with its settings as JSON, including the names of settings that cannot be read.
    Show {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
    },
    /// List all accounts.
    List,
}

#[derive(Subcommand)]
enum KeysAction {
    /// List an account's keys and their restrictions as JSON, one key per line.
    List {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
    },
    /// Create new secrets for an account's live and sandbox keys, or for one key.
    Rotate {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
        /// Rotate only this key. Required if the account has several keys of one mode.
        #[arg(long)]
        key: Option<String>,
        /// The grace period in hours (0 to 168), during which the previous secrets still work. With 0, they stop
        /// working immediately.
        #[arg(long, default_value_t = 24, allow_negative_numbers = true)]
        #[arg(value_parser = clap::value_parser!(u16).range(0..=i64::from(GraceHours::MOST)))]
        grace_hours: u16,
    },
    /// Restrict a key to endpoints and IP addresses. An omitted option keeps its part of the earlier restrictions.
    Restrict {
        /// The merchant's id.
        #[arg(value_parser = merchant_id)]
        id: Uuid,
        /// The API key (`bf_live_…` or `bf_test_…`), not its secret.
        key: String,
        /// Allow only these endpoints: `groups-and-flows`, `hosted-sessions`, `verification`, `applicants`,
        /// `monitoring`, `list-search`. Separate several by commas.
        #[arg(long, value_delimiter = ',')]
        endpoints: Vec<String>,
        /// Allow only requests from these IP addresses and networks, such as `203.0.113.7,2001:db8::/32`.
        #[arg(long, value_delimiter = ',')]
        addresses: Vec<String>,
        /// Lift all restrictions.
        #[arg(long, conflicts_with_all = ["endpoints", "addresses"])]
        none: bool,
    },
}

pub(super) fn run(command: MerchantCommand) -> anyhow::Result<()> {
    block_on(async {
        let data = match command.action {
            Action::Create { .. } => data::open(&command.data).await?,
            _ => data::open_existing(&command.data).await?,
        };
        let db = data.db;
        match command.action {
            Action::Create { name, approved, json } => {
                let name = name.trim();
                if name.is_empty() || name.chars().count() > 100 {
                    return Err(Unusable("--name must have 1 to 100 characters".into()).into());
                }
                let status = if approved {
                    MerchantStatus::Approved
                } else {
                    MerchantStatus::Draft
                };
                let (id, live, sandbox) = service::merchants::create(&db, name, status).await?;
                if json {
                    let shown =
                        json!({"merchantId": id, "live": key_json(&live), "sandbox": key_json(&sandbox)});
                    return print_line(&shown.to_string());
                }
                print_line(&format!("merchant {id}"))?;
                for (mode, key) in [("live", live), ("sandbox", sandbox)] {
                    print_line(&format!(
                        "{mode:8} key {}  secret {}",
                        key.key,
                        key.secret.expose_secret()
                    ))?;
                }
                print_line("The secrets are not shown again.")
            }
            Action::Approve { id } => set_status(&db, id, MerchantStatus::Approved).await,
            Action::Suspend { id } => set_status(&db, id, MerchantStatus::Suspended).await,
            Action::Keys { action } => keys(&db, action).await,
            Action::Set { id, settings } => {
                let (logos, settings): (Vec<_>, Vec<_>) =
                    settings.into_iter().partition(|setting| is_logo(setting));
                let logo = logos.last().map(|setting| read_logo(setting)).transpose()?;
                let logo = logo.as_ref().map(Option::as_deref);
                match branding::set_with_logo(&db, id, &settings, logo).await {
                    Ok(Some((merchant, ChangeOutcome::Done))) => print_line(&merchant.settings),
                    Ok(Some((_, ChangeOutcome::Proposed))) => print_proposed(false),
                    Ok(None) => bail!("no such merchant: {id}"),
                    Err(LogoError::Unusable(text)) => Err(Unusable(text).into()),
                    Err(error) => Err(error.into()),
                }
            }
            Action::Show { id } => match merchants::get(&mut db.read().await?, id).await? {
                Some(merchant) => print_line(&described(&merchant).to_string()),
                None => bail!("no such merchant: {id}"),
            },
            Action::List => {
                for merchant in merchants::list(&mut db.read().await?).await? {
                    print_line(&format!(
                        "{}  {:9}  {}",
                        merchant.id,
                        merchant.status.as_str(),
                        merchant.name
                    ))?;
                }
                Ok(())
            }
        }
    })
}

/// `bonafide merchant keys`.
async fn keys(db: &store::Db, action: KeysAction) -> anyhow::Result<()> {
    match action {
        KeysAction::List { id } => {
            if merchants::get(&mut db.read().await?, id).await?.is_none() {
                bail!("no such merchant: {id}");
            }
            for key in credentials::list(&mut db.read().await?, id).await? {
                print_line(&described_key(&key).to_string())?;
            }
            Ok(())
        }
        KeysAction::Rotate { id, key, grace_hours } => {
            let most = GraceHours::MOST;
            let grace = GraceHours::new(grace_hours)
                .ok_or_else(|| Unusable(format!("--grace-hours must be at most {most}")))?;
            let keys = match &key {
                Some(key) => vec![active_key(db, id, key).await?],
                None => active_keys(db, id).await?,
            };
            if keys.is_empty() {
                bail!("the merchant {id} has no active keys; the portal creates them under API keys");
            }
            let of_mode = |sandbox| keys.iter().filter(|key| key.sandbox == sandbox).count();
            if of_mode(false) > 1 || of_mode(true) > 1 {
                let text = "the account has several keys of one mode; choose one with --key (`merchant keys list ID` lists them)";
                return Err(Unusable(text.into()).into());
            }
            let rotated = service::merchants::rotate_keys(db, id, &keys, grace).await?;
            let shown: serde_json::Map<_, _> = keys
                .iter()
                .zip(&rotated)
                .map(|(key, new)| (mode(key).to_owned(), key_json(new)))
                .collect();
            print_line(&serde_json::Value::Object(shown).to_string())
        }
        KeysAction::Restrict {
            id,
            key,
            endpoints,
            addresses,
            none,
        } => {
            let key = active_key(db, id, &key).await?;
            let restrictions = match none {
                true => KeyRestrictions::default(),
                false => changed_restrictions(&key, &endpoints, &addresses)?,
            };
            let restricted = service::merchants::restrict_key(db, id, &key, &restrictions).await;
            restricted.map_err(|problem| anyhow::anyhow!("{problem}"))?;
            print_line(&restrictions_json(&restrictions).to_string())
        }
    }
}

/// Parses a merchant's id.
fn merchant_id(text: &str) -> Result<Uuid, String> {
    text.parse()
        .map_err(|_| "it is not a merchant's id; `bonafide merchant list` shows them".to_owned())
}

/// The keys of an account that work.
async fn active_keys(db: &store::Db, id: Uuid) -> anyhow::Result<Vec<Credential>> {
    if merchants::get(&mut db.read().await?, id).await?.is_none() {
        bail!("no such merchant: {id}");
    }
    let mut keys = credentials::list(&mut db.read().await?, id).await?;
    keys.retain(|key| key.revoked_at.is_none());
    Ok(keys)
}

/// A key of an account that works.
async fn active_key(db: &store::Db, id: Uuid, key: &str) -> anyhow::Result<Credential> {
    let found = active_keys(db, id)
        .await?
        .into_iter()
        .find(|each| each.key == key);
    found.with_context(|| {
        format!("the merchant {id} has no active key {key}; `merchant keys list {id}` lists its keys")
    })
}

/// The restrictions of `merchant keys restrict`. An empty option keeps that part of the stored restrictions.
fn changed_restrictions(
    key: &Credential,
    endpoints: &[String],
    addresses: &[String],
) -> anyhow::Result<KeyRestrictions> {
    if endpoints.is_empty() && addresses.is_empty() {
        let text = "give --endpoints, --addresses or both, or --none to lift all restrictions";
        return Err(Unusable(text.into()).into());
    }
    let stored = match KeyRestrictions::from_json(&key.restrictions) {
        Ok(stored) => stored,
        Err(_) if !endpoints.is_empty() && !addresses.is_empty() => KeyRestrictions::default(),
        Err(_) => {
            let text =
                "the stored restrictions cannot be read; give both --endpoints and --addresses, or --none";
            return Err(Unusable(text.into()).into());
        }
    };
    let endpoints = match endpoints {
        [] => Endpoints::ALL
            .into_iter()
            .filter(|group| stored.allows(*group))
            .map(|group| group.as_str().to_owned())
            .collect(),
        given => given.to_vec(),
    };
    let addresses = match addresses {
        [] => stored.networks(),
        given => given.to_vec(),
    };
    let restrictions = KeyRestrictions::new(
        endpoints.iter().map(String::as_str),
        addresses.iter().map(String::as_str),
    );
    Ok(restrictions.map_err(|error| Unusable(format!("--{error}")))?)
}

fn mode(key: &Credential) -> &'static str {
    if key.sandbox { "sandbox" } else { "live" }
}

/// A key as `merchant keys list` prints it.
fn described_key(key: &Credential) -> serde_json::Value {
    let restrictions = KeyRestrictions::from_json(&key.restrictions).ok();
    let mut described = json!({
        "apiKey": key.key, "mode": mode(key), "active": key.revoked_at.is_none(), "hasSecret": key.has_secret,
        "restrictions": restrictions.as_ref().map(restrictions_json),
    });
    if restrictions.is_none() {
        described["fault"] = "the restrictions cannot be read; set them with `merchant keys restrict`".into();
    }
    described
}

/// Restrictions as they are printed. `null` means everything.
fn restrictions_json(restrictions: &KeyRestrictions) -> serde_json::Value {
    let networks = restrictions.networks();
    json!({
        "endpoints": restrictions.endpoints(),
        "addresses": (!networks.is_empty()).then_some(networks),
    })
}

/// The account as `merchant show` prints it.
fn described(merchant: &Merchant) -> serde_json::Value {
    let mut described = json!({
        "merchantId": merchant.id, "name": merchant.name, "status": merchant.status.as_str(),
        "settings": service::merchants::members(merchant).ok(),
        "unreadable": service::merchants::faults(merchant),
    });
    if described["settings"].is_null() {
        // The settings cannot be parsed as a whole. The stored text lets the operator copy the values and set
        // them again.
        described["storedSettings"] = merchant.settings.as_str().into();
    }
    described
}

/// Whether a setting takes a file: `brandLogo=@FILE`, or `brandLogo=` to remove it.
fn is_logo(setting: &str) -> bool {
    setting == "brandLogo=" || setting.starts_with("brandLogo=@")
}

/// The file's bytes, or `None` to remove the logo.
fn read_logo(setting: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(path) = setting.strip_prefix("brandLogo=@") else {
        return Ok(None);
    };
    // Reads only as much as is needed to detect that the file is too large.
    let mut file = Vec::new();
    File::open(path)
        .and_then(|opened| {
            opened
                .take(branding::MAX_LOGO_BYTES as u64 + 1)
                .read_to_end(&mut file)
        })
        .with_context(|| format!("brandLogo - cannot read {path}"))?;
    Ok(Some(file))
}

async fn set_status(db: &store::Db, id: Uuid, status: MerchantStatus) -> anyhow::Result<()> {
    let found = service::merchants::set_status(db, id, status).await?;
    if !found {
        bail!("no such merchant: {id}");
    }
    print_line(status.as_str())
}

fn key_json(key: &NewCredential) -> serde_json::Value {
    json!({"apiKey": key.key, "secret": key.secret.expose_secret()})
}
