//! Merchants: making one with its keys, and the settings that only the portal and the command line know (`decisions.md` §2).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::credentials::{self, NewCredential};
use store::merchants::{self, Merchant, MerchantStatus};
use store::{Db, Error, Scope, Tx, audit};
use uuid::Uuid;
use verification::four_eyes::{AccountRules, Act, account_weakenings, needs_second};

use super::four_eyes::{self, By, Change, Line};
use super::{App, branding};
use crate::config::RateClass;
use crate::error::Problem;
use crate::http::gate::Caller;

/// What is set per merchant; everything has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MerchantSettings {
    /// Score from which a list entry matches, 0–1; by default the engine's 0.70.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening_threshold: Option<f64>,
    /// Lists to screen against; by default all that are active.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub screening_lists: Vec<String>,
    /// Countries (alpha-2) whose visitors cannot exchange a link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_countries: Vec<String>,
    /// Origins that may embed the hosted page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_origins: Vec<String>,
    /// The name that the hosted page shows; by default the account's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_name: Option<String>,
    /// The version of the hosted page's logo, which `branding::set_logo` keeps; the picture has a table of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_logo: Option<String>,
    /// The hosted page's colour, such as `#00aa77`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_color: Option<String>,
    /// The merchant's privacy notice (https), linked from the hosted page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy_url: Option<String>,
    /// Where applicants can ask, an e-mail or https address; linked from the hosted page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// A reviewer's decision counts when a second one confirms it, whatever the Flow says.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
    /// How many Groups the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<i64>,
    /// How many Flows the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<i64>,
    /// Verifications a minute and key; 0 is off, and absent is the server's setting. So are the three that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_verify: Option<u32>,
    /// Transaction queries a minute and key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_monitoring: Option<u32>,
    /// Reading requests a minute and key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reads: Option<u32>,
    /// Writing and link requests a minute and key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_writes: Option<u32>,
}

impl MerchantSettings {
    /// Requests a minute and key of a class, where the account has a limit of its own; 0 is off.
    pub fn rate(&self, class: RateClass) -> Option<u32> {
        match class {
            RateClass::Verify => self.rate_verify,
            RateClass::Monitoring => self.rate_monitoring,
            RateClass::Reads => self.rate_reads,
            RateClass::Writes => self.rate_writes,
            RateClass::Exchange | RateClass::Page | RateClass::FailedAuth | RateClass::SignIn => None,
        }
    }
}

/// A merchant's settings. What an older or newer version wrote and this one cannot read counts as unset.
pub fn settings(merchant: &Merchant) -> MerchantSettings {
    serde_json::from_str(&merchant.settings).unwrap_or_default()
}

/// The settings after `KEY=VALUE` changes, as JSON; or every fault, each naming the setting and the fix.
pub fn with_settings(merchant: &Merchant, changes: &[String]) -> Result<String, Vec<String>> {
    let mut object: Map<String, Value> = serde_json::from_str(&merchant.settings).unwrap_or_default();
    for change in changes {
        let (key, value) = change
            .split_once('=')
            .ok_or_else(|| vec![format!("`{change}` is not KEY=VALUE")])?;
        if key == "brandLogo" {
            let text = "brandLogo - give the picture's file: brandLogo=@logo.png";
            return Err(vec![text.into()]);
        }
        object.insert(key.to_owned(), value_of(key, value));
    }
    let settings: MerchantSettings =
        serde_json::from_value(Value::Object(object)).map_err(|error| vec![format!("settings: {error}")])?;
    let mut faults = Vec::new();
    if settings
        .screening_threshold
        .is_some_and(|threshold| !(0.0..=1.0).contains(&threshold))
    {
        faults.push("screeningThreshold must be between 0 and 1".to_owned());
    }
    if let Some(code) = settings.blocked_countries.iter().find(|code| {
        reference::country(code).is_none_or(|country| !country.alpha2.eq_ignore_ascii_case(code))
    }) {
        faults.push(format!(
            "blockedCountries: `{code}` is not a country's alpha-2 code"
        ));
    }
    let settings = branding::checked(settings, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    serde_json::to_string(&settings).map_err(|error| vec![error.to_string()])
}

/// A setting's value: JSON, or plain text; lists may be written `a,b`, and nothing at all unsets.
fn value_of(key: &str, text: &str) -> Value {
    const LISTS: [&str; 3] = ["screeningLists", "blockedCountries", "allowedOrigins"];
    const TEXTS: [&str; 4] = ["brandName", "brandColor", "privacyUrl", "contact"];
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match serde_json::from_str(text) {
        _ if TEXTS.contains(&key) && !text.is_empty() => Value::from(text),
        Ok(value) => value,
        Err(_) if LISTS.contains(&key) => items().collect(),
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => Value::from(text),
    }
}

/// What of the settings decides about who passes.
fn rules(settings: MerchantSettings) -> AccountRules {
    // A new setting must be classified here before it compiles.
    let MerchantSettings {
        screening_threshold,
        screening_lists,
        blocked_countries,
        allowed_origins: _,
        brand_name: _,
        brand_logo: _,
        brand_color: _,
        privacy_url: _,
        contact: _,
        four_eyes,
        max_groups: _,
        max_flows: _,
        rate_verify: _,
        rate_monitoring: _,
        rate_reads: _,
        rate_writes: _,
    } = settings;
    AccountRules {
        four_eyes,
        second_factor: false,
        screening_threshold: screening_threshold.unwrap_or(sanctions::DEFAULT_THRESHOLD),
        screening_lists,
        blocked_countries: blocked_countries.iter().map(|code| code.to_uppercase()).collect(),
    }
}

/// What became of a change of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It holds.
    Done,
    /// It waits for a second person.
    Proposed,
}

/// Puts settings in place of a merchant's, or proposes them where they check less and two people are required.
pub async fn replace_settings(
    tx: &mut Tx,
    merchant: &Merchant,
    after: String,
    by: By<'_>,
) -> Result<Changed, Problem> {
    let read = |text: &str| serde_json::from_str(text).map_err(Problem::internal);
    let weaker = account_weakenings(&rules(read(&merchant.settings)?), &rules(read(&after)?));
    let state = four_eyes::of_account(tx, merchant.id).await?;
    if weaker.is_empty() || !needs_second(Act::WeakenAccount, state) {
        put_settings(tx, merchant.id, &after, by.actor).await?;
        return Ok(Changed::Done);
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
    let lines = weaker.into_iter().map(Line::from).collect();
    let scope = Scope {
        merchant_id: merchant.id,
        sandbox: false,
    };
    four_eyes::propose(tx, scope, change, subject, lines, by).await?;
    Ok(Changed::Proposed)
}

/// Writes a merchant's settings, with an audit row. Whether a second person is needed was asked before.
pub(super) async fn put_settings(tx: &mut Tx, id: Uuid, settings: &str, actor: &str) -> Result<(), Problem> {
    merchants::set_settings(tx, id, settings).await?;
    let scope = Scope {
        merchant_id: id,
        sandbox: false,
    };
    let entry = audit::Entry {
        actor,
        action: "merchant.settings_changed",
        subject: &id.to_string(),
        detail: "{}",
    };
    Ok(audit::write(tx, scope, &entry).await?)
}

/// Changes a merchant's settings for a member of the account.
pub async fn change_settings(app: &App, caller: &Caller, changes: &[String]) -> Result<Changed, Problem> {
    let id = caller.scope.merchant_id;
    store::transaction!(app.db, |tx| -> Result<Changed, Problem> {
        let merchant = merchants::get_for_update(tx, id)
            .await?
            .ok_or_else(|| Problem::not_found("No such merchant"))?;
        let changed = with_settings(&merchant, changes).map_err(Problem::validation)?;
        replace_settings(tx, &merchant, changed, By::actor(&caller.key)).await
    })
}

/// Makes a merchant with a live and a sandbox key.
pub async fn create(
    db: &Db,
    name: &str,
    status: MerchantStatus,
) -> Result<(Uuid, NewCredential, NewCredential), Error> {
    store::transaction!(db, |tx| -> Result<(Uuid, NewCredential, NewCredential), Error> {
        let merchant = merchants::create(tx, name, status, "{}").await?;
        let live = credentials::create(tx, merchant.id, false).await?;
        let sandbox = credentials::create(tx, merchant.id, true).await?;
        Ok((merchant.id, live, sandbox))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(changes: &[&str]) -> Result<String, Vec<String>> {
        let merchant = Merchant {
            id: Uuid::nil(),
            short_id: "abcdefgh".into(),
            name: "Acme".into(),
            status: MerchantStatus::Approved,
            settings: r##"{"brandColor":"#112233"}"##.into(),
            created_at: 0,
            updated_at: 0,
        };
        with_settings(
            &merchant,
            &changes
                .iter()
                .map(|change| (*change).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn settings_are_checked_and_named() {
        let list = r##"{"allowedOrigins":["https://a.example","https://b.example"],"brandColor":"#112233"}"##;
        for (change, expected) in [
            ("allowedOrigins=https://a.example, https://B.example/", list),
            (
                r#"allowedOrigins=["https://a.example","https://b.example"]"#,
                list,
            ),
            ("brandColor=#0a7", r##"{"brandColor":"#00aa77"}"##),
            ("brandColor=", "{}"),
            (
                "brandName= Acme & Sons ",
                r##"{"brandName":"Acme & Sons","brandColor":"#112233"}"##,
            ),
            (
                "privacyUrl=https://acme.example/privacy",
                r##"{"brandColor":"#112233","privacyUrl":"https://acme.example/privacy"}"##,
            ),
            (
                "contact=help@acme.example",
                r##"{"brandColor":"#112233","contact":"help@acme.example"}"##,
            ),
        ] {
            assert_eq!(set(&[change]), Ok(expected.to_owned()), "{change}");
        }
        for (change, error) in [
            (
                "allowedOrigins=http://a.example",
                "allowedOrigins - `http://a.example`",
            ),
            ("allowedOrigins=https://a.example/x", "has a path"),
            ("brandColor=green", "brandColor - "),
            ("brandLogo=logo.png", "brandLogo=@logo.png"),
            ("brandName=\u{7}", "brandName - "),
            (
                "privacyUrl=http://acme.example/privacy",
                "privacyUrl - must be an https address",
            ),
            ("privacyUrl=javascript:alert(1)", "privacyUrl - "),
            ("contact=call me", "contact - must be an e-mail address"),
            ("screeningThreshold=2", "screeningThreshold"),
            ("colour=#fff", "settings: unknown field"),
            ("brandColor", "is not KEY=VALUE"),
        ] {
            let text = set(&[change]).unwrap_err().concat();
            assert!(text.contains(error), "{change}: {text}");
        }
        let all = set(&[
            "brandColor=green",
            "contact=call me",
            "allowedOrigins=ftp://a,http://b",
        ]);
        assert_eq!(all.unwrap_err().len(), 4, "all at once");
    }
}
