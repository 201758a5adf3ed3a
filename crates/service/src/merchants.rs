//! Merchants: creating one with its keys, and changing the settings that only the portal and the command line
//! can change (`docs/decisions/0005-settings-outside-the-api.md`). [`settings`] reads and checks them.

use store::credentials::{self, Credential, NewCredential};
use store::merchants::{self, Merchant, MerchantStatus};
use store::{Db, Error, Scope, Tx, audit};
use uuid::Uuid;
use verification::four_eyes::{AccountRules, Act, account_weakenings, needs_second_person};

use super::actor::By;
use super::four_eyes::{self, Change, ChangedValue};
use super::operations::{COMMAND_LINE, record_for_account};
use super::{App, keys};
use crate::caller::Caller;
use crate::key_restrictions::KeyRestrictions;
use crate::keys::GraceHours;
use crate::problem::{Kind, Problem};

pub use crate::settings::{
    MerchantSettings, faults, members, repaired_settings, requires_second_factor, settings, with_settings,
};

/// The settings that decide who passes.
fn rules(settings: MerchantSettings) -> AccountRules {
    let days = settings.wallet_alert_days();
    // A new setting must be classified here before it compiles.
    let MerchantSettings {
        screening_threshold,
        screening_profile,
        screening_lists,
        wallet_alert_days: _,
        blocked_countries,
        allowed_origins: _,
        brand_name: _,
        brand_logo: _,
        brand_color: _,
        privacy_url: _,
        contact: _,
        website_url: _,
        sign_in_url: _,
        four_eyes,
        require_second_factor,
        max_groups: _,
        max_flows: _,
        rate_verify: _,
        rate_monitoring: _,
        rate_reads: _,
        rate_writes: _,
        unknown: _,
    } = settings;
    AccountRules {
        four_eyes,
        second_factor: require_second_factor,
        screening_threshold: screening_threshold.unwrap_or(sanctions::DEFAULT_THRESHOLD),
        screening_profile: screening_profile
            .and_then(sanctions::Profile::unless_standard)
            .map(sanctions::Profile::as_str),
        screening_lists,
        wallet_alert_days: days,
        blocked_countries: blocked_countries.iter().map(|code| code.to_uppercase()).collect(),
    }
}

/// The result of a change of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It is in effect.
    Done,
    /// It waits for a second person.
    Proposed,
}

/// Replaces a merchant's settings. A change that checks less is only proposed where two people are required.
pub async fn replace_settings(
    tx: &mut Tx,
    merchant: &Merchant,
    after: String,
    by: By<'_>,
) -> Result<ChangeOutcome, Problem> {
    if !faults(merchant).is_empty() && by.actor == By::COMMAND_LINE.actor {
        // Requests are refused until the settings are repaired, so only an operator on the machine can repair
        // them.
        return repair_settings(tx, merchant, &after, by).await;
    }
    let changed = Merchant {
        settings: after.clone(),
        ..merchant.clone()
    };
    let weaker = account_weakenings(&rules(settings(merchant)?), &rules(settings(&changed)?));
    let state = four_eyes::of_account(tx, merchant.id).await?;
    if weaker.is_empty() || !needs_second_person(Act::WeakenAccount, state) {
        put_settings(tx, merchant.id, &after, by.actor).await?;
        return Ok(ChangeOutcome::Done);
    }
    let id = merchant.id.to_string();
    let subject = four_eyes::Subject {
        id: &id,
        name: &merchant.name,
        attempt: None,
    };
    let change = Change::Settings {
        before: merchant.settings.clone(),
        after,
    };
    let lines = weaker.into_iter().map(ChangedValue::from).collect();
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: false,
    };
    four_eyes::propose(tx, scope, change, subject, lines, by).await?;
    Ok(ChangeOutcome::Proposed)
}

/// Replaces settings that cannot be read. No second person can confirm such a change, so the new settings
/// must not check less than the readable part of the old ones.
/// what can be read of them.
async fn repair_settings(
    tx: &mut Tx,
    merchant: &Merchant,
    after: &str,
    by: By<'_>,
) -> Result<ChangeOutcome, Problem> {
    let changed = Merchant {
        settings: after.to_owned(),
        ..merchant.clone()
    };
    let before = crate::settings::readable_settings(merchant);
    let state = four_eyes::of_flows(tx, merchant.id, before.four_eyes).await?;
    let weaker = account_weakenings(&rules(before), &rules(settings(&changed)?));
    if weaker.is_empty() || !needs_second_person(Act::WeakenAccount, state) {
        put_settings(tx, merchant.id, after, by.actor).await?;
        return Ok(ChangeOutcome::Done);
    }
    let members: Vec<String> = weaker
        .into_iter()
        .map(|one| match one.member.as_str() {
            "secondFactor" => format!("requireSecondFactor={}", one.from),
            member => format!("{member}={}", one.from),
        })
        .collect();
    let text = format!(
        "The stored settings cannot be read, and two people are required to check less. Repair them with {}; two members \
         can then change it in the portal",
        members.join(" and ")
    );
    Err(Problem::new(Kind::Conflict, text))
}

/// The audit action if a change starts or stops requiring a second factor of all members.
fn second_factor_change(before: &str, after: &str) -> Option<&'static str> {
    let is_required = |settings: &str| {
        serde_json::from_str::<serde_json::Value>(settings)
            .is_ok_and(|settings| settings["requireSecondFactor"] == true)
    };
    match (is_required(before), is_required(after)) {
        (false, true) => Some("merchant.second_factor_required"),
        (true, false) => Some("merchant.second_factor_optional"),
        _ => None,
    }
}

/// Writes a merchant's settings, with a row in its trail and the operators'. The caller has checked whether a
/// second person is needed.
pub(super) async fn put_settings(tx: &mut Tx, id: Uuid, settings: &str, actor: &str) -> Result<(), Problem> {
    let before = merchants::get(tx, id).await?;
    merchants::set_settings(tx, id, settings).await?;
    let scope = Scope {
        merchant_id: id,
        sandbox: false,
    };
    let required = before.and_then(|before| second_factor_change(&before.settings, settings));
    for action in ["merchant.settings_changed"].into_iter().chain(required) {
        let entry = audit::Entry {
            actor,
            action,
            subject: &id.to_string(),
            detail: "{}",
        };
        record_for_account(tx, scope, &entry).await?;
    }
    Ok(())
}

/// Changes a merchant's settings as a member of the account.
pub async fn change_settings(
    app: &App,
    caller: &Caller,
    changes: &[String],
) -> Result<ChangeOutcome, Problem> {
    let id = caller.scope.merchant_id;
    store::transaction!(app.db, |tx| -> Result<ChangeOutcome, Problem> {
        let merchant = merchants::get_for_update(tx, id)
            .await?
            .ok_or_else(|| Problem::not_found("No such merchant"))?;
        let changed = with_settings(&merchant, changes).map_err(Problem::validation)?;
        replace_settings(tx, &merchant, changed, By::actor(&caller.key)).await
    })
}

/// Creates a merchant with a live and a sandbox key, by the command line.
pub async fn create(
    db: &Db,
    name: &str,
    status: MerchantStatus,
) -> Result<(Uuid, NewCredential, NewCredential), Error> {
    store::transaction!(db, |tx| -> Result<(Uuid, NewCredential, NewCredential), Error> {
        let merchant = merchants::create(tx, name, status, "{}").await?;
        let live = credentials::create(tx, merchant.id, false).await?;
        let sandbox = credentials::create(tx, merchant.id, true).await?;
        let detail =
            serde_json::json!({"status": status.as_str(), "keys": [live.key, sandbox.key]}).to_string();
        let entry = audit::Entry {
            actor: COMMAND_LINE,
            action: "merchant.created",
            subject: &merchant.id.to_string(),
            detail: &detail,
        };
        record_for_account(tx, live_scope(merchant.id), &entry).await?;
        Ok((merchant.id, live, sandbox))
    })
}

/// Accounts have no mode, and rows of their audit trail count as live.
fn live_scope(merchant_id: Uuid) -> Scope {
    Scope {
        merchant_id,
        sandbox: false,
    }
}

/// Sets an account's status by the command line, and returns whether the account exists.
pub async fn set_status(db: &Db, id: Uuid, status: MerchantStatus) -> Result<bool, Error> {
    let action = format!("merchant.{}", status.as_str());
    store::transaction!(db, |tx| -> Result<bool, Error> {
        let found = merchants::set_status(tx, id, status).await?;
        if found {
            super::operations::record(tx, COMMAND_LINE, &action, &id.to_string()).await?;
        }
        Ok(found)
    })
}

/// Sets what a key may do, by the command line.
///
/// # Errors
/// 404 if the key was revoked meanwhile.
pub async fn restrict_key(
    db: &Db,
    id: Uuid,
    key: &Credential,
    restrictions: &KeyRestrictions,
) -> Result<(), Problem> {
    let scope = Scope {
        merchant_id: id,
        sandbox: key.sandbox,
    };
    store::transaction!(db, |tx| -> Result<(), Problem> {
        keys::set_restrictions(tx, scope, COMMAND_LINE, &key.key, restrictions).await
    })
}

/// Gives keys new secrets by the command line, all or none. The previous ones work for the grace period.
pub async fn rotate_keys(
    db: &Db,
    id: Uuid,
    keys: &[Credential],
    grace: GraceHours,
) -> Result<Vec<NewCredential>, Error> {
    let detail = keys::rotation_detail(grace);
    store::transaction!(db, |tx| -> Result<Vec<NewCredential>, Error> {
        let mut rotated = Vec::new();
        for key in keys {
            rotated.push(credentials::rotate(tx, id, &key.key, grace.ms()).await?);
            let scope = Scope {
                merchant_id: id,
                sandbox: key.sandbox,
            };
            let entry = audit::Entry {
                actor: COMMAND_LINE,
                action: "key.rotated",
                subject: &key.key,
                detail: &detail,
            };
            record_for_account(tx, scope, &entry).await?;
        }
        Ok(rotated)
    })
}
