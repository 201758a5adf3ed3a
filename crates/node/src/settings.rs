//! Reads, checks and changes a merchant's settings. If a member cannot be read, everything that depends on
//! the settings is refused. A default would otherwise switch off four eyes, blocked countries or a threshold.
//!
//! Members that this version does not know are retained and refuse nothing. No fault text repeats a stored
//! value.

mod web_address;

use sanctions::Profile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::merchants::Merchant;

pub use self::web_address::{allowed_origin, allowed_url, origin_of};
use self::web_address::{contact_address, https_address, origin};
use crate::config::RateClass;
use crate::problem::Problem;
use crate::theme::Rgb;

/// The members that this version reads.
const MEMBERS: [&str; 21] = [
    "screeningThreshold",
    "screeningProfile",
    "screeningLists",
    "walletAlertDays",
    "blockedCountries",
    "allowedOrigins",
    "brandName",
    "brandLogo",
    "brandColor",
    "privacyUrl",
    "contact",
    "websiteUrl",
    "signInUrl",
    "fourEyes",
    "requireSecondFactor",
    "maxGroups",
    "maxFlows",
    "rateVerify",
    "rateMonitoring",
    "rateReads",
    "rateWrites",
];

/// The members that decide who passes. They are those that `rules` in `service::merchants` uses.
const DECIDING_MEMBERS: [&str; 7] = [
    "screeningThreshold",
    "screeningProfile",
    "screeningLists",
    "walletAlertDays",
    "blockedCountries",
    "fourEyes",
    "requireSecondFactor",
];

/// A merchant's settings. Every member has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MerchantSettings {
    /// Score from which a list entry matches, 0–1; by default the engine's 0.70.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening_threshold: Option<f64>,
    /// Which entries are hits; by default those of the standard profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screening_profile: Option<Profile>,
    /// Lists to screen against; by default all that are active and need no choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub screening_lists: Vec<String>,
    /// Wallet screenings of how many days are compared again when the listed wallets change; 0: none; by default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wallet_alert_days: Option<u32>,
    /// Countries (alpha-2) whose visitors cannot exchange a link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_countries: Vec<String>,
    /// Origins that may embed the hosted page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_origins: Vec<String>,
    /// The name that the hosted page shows; by default the account's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_name: Option<String>,
    /// The version of the hosted page's logo, which `branding::set_logo` writes. The picture is in a separate
    /// table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_logo: Option<String>,
    /// The hosted page's colour, such as `#00aa77`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brand_color: Option<String>,
    /// The merchant's privacy notice (https), linked from the hosted page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy_url: Option<String>,
    /// A contact for applicants, an e-mail or https address; linked from the hosted page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// The merchant's website (https). The hosted page links back to it when there is no return URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Where people who already have an account sign in (https), linked from outcomes that say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in_url: Option<String>,
    /// A reviewer's decision takes effect only when a second one confirms it, whatever the Flow requires.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub four_eyes: bool,
    /// Every member of the account must sign in with a second factor. Members without one can only set one
    /// up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_second_factor: bool,
    /// How many Groups the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<i64>,
    /// How many Flows the plan allows; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_flows: Option<i64>,
    /// Verifications per minute and key; 0: no limit; absent: the server's limit. The same applies to the
    /// three members below.
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
    /// Members that a newer version wrote. This version ignores them and writes them back unchanged.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// The value of [`MerchantSettings::wallet_alert_days`] if it is absent.
const WALLET_ALERT_DAYS: u32 = 30;
/// The highest one.
const MOST_WALLET_ALERT_DAYS: u32 = 365;

impl MerchantSettings {
    /// The settings with which the people of a Flow are screened: `lists` is the Flow's choice, which replaces the
    /// account's unless it is empty.
    pub fn for_flow(mut self, lists: &[String]) -> Self {
        if !lists.is_empty() {
            self.screening_lists = lists.to_vec();
        }
        self
    }

    /// Wallet screenings of how many days are compared again when the listed wallets change; 0: none.
    pub fn wallet_alert_days(&self) -> u32 {
        self.wallet_alert_days.unwrap_or(WALLET_ALERT_DAYS)
    }

    /// The account's own limit of requests per minute and key for a class, if it has one; 0: no limit.
    pub fn rate(&self, class: RateClass) -> Option<u32> {
        match class {
            RateClass::Verify => self.rate_verify,
            RateClass::Monitoring => self.rate_monitoring,
            RateClass::Reads => self.rate_reads,
            RateClass::Writes => self.rate_writes,
            RateClass::Challenge
            | RateClass::Exchange
            | RateClass::Page
            | RateClass::FailedAuth
            | RateClass::SignIn => None,
        }
    }
}

/// A merchant's settings, or 503. The log and `bonafide doctor` name the merchant and the members that cannot
/// be read.
pub fn settings(merchant: &Merchant) -> Result<MerchantSettings, Problem> {
    read(&merchant.settings).map_err(|faults| {
        let text = "The account's settings cannot be read, so nothing was done. The operator finds the setting with `bonafide doctor`";
        let cause = format!("settings of merchant {}: {}", merchant.id, faults.join("; "));
        Problem::unavailable(text).because(cause)
    })
}

/// Whether the account requires a second factor of all its members.
///
/// # Errors
/// As [`settings`].
pub fn requires_second_factor(merchant: &Merchant) -> Result<bool, Problem> {
    Ok(settings(merchant)?.require_second_factor)
}

/// The faults of a merchant's settings, each as `MEMBER - REASON`; empty if they can be read.
pub fn faults(merchant: &Merchant) -> Vec<String> {
    read(&merchant.settings).err().unwrap_or_default()
}

/// Reads settings as they are stored, or returns every fault.
fn read(text: &str) -> Result<MerchantSettings, Vec<String>> {
    let object = object(text).map_err(|fault| vec![fault])?;
    let settings = match serde_json::from_str::<MerchantSettings>(text) {
        Ok(settings) => settings,
        Err(error) => return Err(wrong_members(&object, &error)),
    };
    let faults = deciding_faults(&settings);
    match faults.is_empty() {
        true => Ok(settings),
        false => Err(faults),
    }
}

/// The readable members of settings that cannot be read as a whole. A requirement for members (four eyes,
/// second factor) that cannot be read counts as set.
pub fn readable_settings(merchant: &Merchant) -> MerchantSettings {
    let strict = MerchantSettings {
        four_eyes: true,
        require_second_factor: true,
        ..MerchantSettings::default()
    };
    let object = match object(&merchant.settings) {
        Ok(object) if !is_ambiguous(merchant) => object,
        _ => return strict,
    };
    let is_fine = |name: &str, value: &Value| {
        let alone = Map::from_iter([(name.to_owned(), value.clone())]);
        serde_json::from_value::<MerchantSettings>(Value::Object(alone))
            .is_ok_and(|alone| deciding_faults(&alone).is_empty())
    };
    let mut readable = Map::new();
    for (name, value) in object {
        if is_fine(&name, &value) {
            readable.insert(name, value);
        } else if name == "fourEyes" || name == "requireSecondFactor" {
            readable.insert(name, Value::Bool(true));
        }
    }
    serde_json::from_value(Value::Object(readable)).unwrap_or(strict)
}

/// The stored members unchanged, including those that this version does not know.
pub fn members(merchant: &Merchant) -> Result<Map<String, Value>, String> {
    object(&merchant.settings)
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| {
        let fault = verification::json::describe_without_values(&error);
        format!("settings - are not a JSON object ({fault}); {}", how_to_replace())
    })
}

/// The fix for settings that cannot be read at all.
fn how_to_replace() -> String {
    format!(
        "restore them from a backup, or set all of these in one `bonafide merchant set` (an empty value is the default): {}",
        DECIDING_MEMBERS.join(", ")
    )
}

/// Whether each member of the settings is valid alone, but not all together: one occurs twice, so its value
/// is ambiguous.
fn is_ambiguous(merchant: &Merchant) -> bool {
    let Ok(object) = object(&merchant.settings) else {
        return false;
    };
    serde_json::from_str::<MerchantSettings>(&merchant.settings).is_err() && wrong_types(&object).is_empty()
}

/// The members with a wrong type. Each one is read separately, because serde's error names none.
fn wrong_members(object: &Map<String, Value>, error: &serde_json::Error) -> Vec<String> {
    let mut faults: Vec<String> = wrong_types(object)
        .iter()
        .map(|name| match *name {
            "screeningProfile" => {
                let profiles = Profile::ALL.map(Profile::as_str).join(", ");
                format!("{name} - must be one of {profiles}")
            }
            name => format!("{name} - has a type that this version cannot read"),
        })
        .collect();
    if faults.is_empty() {
        // For example, a member that occurs twice.
        let fault = verification::json::describe_without_values(error);
        faults.push(format!("settings - {fault}; {}", how_to_replace()));
    }
    faults
}

fn wrong_types(object: &Map<String, Value>) -> Vec<&'static str> {
    let is_wrong = |name: &str| {
        object.get(name).is_some_and(|value| {
            let alone = Map::from_iter([(name.to_owned(), value.clone())]);
            serde_json::from_value::<MerchantSettings>(Value::Object(alone)).is_err()
        })
    };
    MEMBERS.into_iter().filter(|name| is_wrong(name)).collect()
}

/// Values of the right type that must not take effect, such as a threshold that no score reaches or a country
/// that does not exist.
fn deciding_faults(settings: &MerchantSettings) -> Vec<String> {
    let mut faults = Vec::new();
    if settings
        .screening_threshold
        .is_some_and(|threshold| !(0.0..=1.0).contains(&threshold))
    {
        faults.push("screeningThreshold - must be between 0 and 1".to_owned());
    }
    let is_country = |code: &String| {
        reference::country(code).is_some_and(|country| country.alpha2.eq_ignore_ascii_case(code))
    };
    if !settings.blocked_countries.iter().all(is_country) {
        faults.push("blockedCountries - must be a list of alpha-2 country codes".to_owned());
    }
    if settings.screening_lists.iter().any(String::is_empty) {
        faults.push("screeningLists - must be a list of list names".to_owned());
    }
    if settings.wallet_alert_days() > MOST_WALLET_ALERT_DAYS {
        faults.push(format!(
            "walletAlertDays - must be between 0 and {MOST_WALLET_ALERT_DAYS}"
        ));
    }
    for (name, limit) in [
        ("maxGroups", settings.max_groups),
        ("maxFlows", settings.max_flows),
    ] {
        if limit.is_some_and(|limit| limit < 0) {
            faults.push(format!("{name} - must not be negative"));
        }
    }
    faults
}

/// The settings after `KEY=VALUE` changes, as JSON; or every fault, each with the setting and the fix. A
/// change may replace a member that cannot be read. Members that this version does not know stay unchanged.
pub fn with_settings(merchant: &Merchant, changes: &[String]) -> Result<String, Vec<String>> {
    let object = object(&merchant.settings).map_err(|fault| vec![fault])?;
    if is_ambiguous(merchant) {
        return Err(faults(merchant));
    }
    apply_changes(object, changes)
}

/// As [`with_settings`], for a repair by the command line. Settings that are no object, or name a member
/// twice, are replaced as a whole. The changes must then name every member of `DECIDING_MEMBERS`, because no
/// default may replace a lost one.
pub fn repaired_settings(merchant: &Merchant, changes: &[String]) -> Result<String, Vec<String>> {
    let stored = match object(&merchant.settings) {
        Ok(object) if !is_ambiguous(merchant) => return apply_changes(object, changes),
        stored => stored.unwrap_or_default(),
    };
    let is_set = |name: &&str| {
        changes
            .iter()
            .any(|change| change.split_once('=').is_some_and(|(key, _)| key == *name))
    };
    if !DECIDING_MEMBERS.iter().all(is_set) {
        return Err(faults(merchant));
    }
    apply_changes(stored, changes)
}

/// An object of settings after `KEY=VALUE` changes.
fn apply_changes(mut object: Map<String, Value>, changes: &[String]) -> Result<String, Vec<String>> {
    for change in changes {
        let (key, value) = change
            .split_once('=')
            .ok_or_else(|| vec![format!("`{change}` is not KEY=VALUE")])?;
        if key == "brandLogo" {
            let text = "brandLogo - give the picture's file: brandLogo=@logo.png";
            return Err(vec![text.into()]);
        }
        if !MEMBERS.contains(&key) {
            return Err(vec![format!(
                "settings: unknown field `{key}`, expected one of {}",
                MEMBERS.join(", ")
            )]);
        }
        match value_of(key, value) {
            Value::Null => object.remove(key),
            value => object.insert(key.to_owned(), value),
        };
    }
    let mut settings: MerchantSettings = serde_json::from_value(Value::Object(object.clone()))
        .map_err(|error| wrong_members(&object, &error))?;
    settings.screening_profile = settings.screening_profile.and_then(Profile::unless_standard);
    let mut faults = deciding_faults(&settings);
    let settings = checked_brand(settings, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    serde_json::to_string(&settings).map_err(|error| vec![error.to_string()])
}

/// A setting's value: JSON or plain text. Lists may be written `a,b`, and an empty text removes the setting.
fn value_of(key: &str, text: &str) -> Value {
    const LISTS: [&str; 3] = ["screeningLists", "blockedCountries", "allowedOrigins"];
    const TEXTS: [&str; 6] = [
        "brandName",
        "brandColor",
        "privacyUrl",
        "contact",
        "websiteUrl",
        "signInUrl",
    ];
    let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match serde_json::from_str(text) {
        _ if TEXTS.contains(&key) && !text.is_empty() => Value::from(text),
        Ok(value) => value,
        Err(_) if LISTS.contains(&key) => items().collect(),
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => Value::from(text),
    }
}

/// The hosted page's settings in a normal form. Every fault names its setting and the fix.
fn checked_brand(mut settings: MerchantSettings, faults: &mut Vec<String>) -> MerchantSettings {
    if let Some(name) = &mut settings.brand_name {
        *name = name.trim().to_owned();
        if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
            faults.push("brandName - must have 1 to 100 characters, none of them control characters".into());
        }
    }
    if let Some(color) = &mut settings.brand_color {
        match Rgb::parse(color) {
            Some(parsed) => *color = parsed.to_string(),
            None => faults.push("brandColor - must be a colour such as #0a7 or #00aa77".into()),
        }
    }
    let addresses = [
        ("privacyUrl", &mut settings.privacy_url, "privacy"),
        ("websiteUrl", &mut settings.website_url, ""),
        ("signInUrl", &mut settings.sign_in_url, "login"),
    ];
    for (name, address, path) in addresses {
        let Some(address) = address else { continue };
        match https_address(address) {
            Some(parsed) => *address = parsed,
            None => faults.push(format!(
                "{name} - must be an https address, such as https://acme.example/{path}"
            )),
        }
    }
    if let Some(contact) = &mut settings.contact {
        match contact_address(contact) {
            Some(parsed) => *contact = parsed,
            None => faults.push(
                "contact - must be an e-mail address or an https address, such as help@acme.example".into(),
            ),
        }
    }
    for allowed in &mut settings.allowed_origins {
        match origin(allowed) {
            Ok(parsed) => *allowed = parsed,
            Err(fault) => faults.push(fault),
        }
    }
    settings.allowed_origins.dedup();
    settings
}

#[cfg(test)]
mod tests;
