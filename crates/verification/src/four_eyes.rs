//! Four eyes: which acts need a second person, and which changes of a Flow or an account weaken its checks
//! (`docs/decisions/0025-four-eyes.md`).
//!
//! Tables and a rule without side effects. The server reads who proposes and confirms, and executes the acts.

mod confirmation;

use std::collections::BTreeSet;

use crate::flow::{Biometric, Configuration, Flow, KNOWN_FIELDS};
use crate::settings::{FraudSigns, ReviewPolicy, Settings};
use crate::status::Decision;

pub use self::confirmation::{Confirmer, Obstacle, Proposer, obstacle};

macro_rules! acts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// An act of a member that may let an applicant pass.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Act {
            $($(#[$doc])* $name,)*
        }

        impl Act {
            /// Every act.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

acts! {
    /// Approving an attempt.
    Approve,
    /// Declining an attempt.
    Decline,
    /// Reopening a declined attempt, after which an earlier approval of the registration counts again.
    ReopenDeclined,
    /// Reopening any other attempt. It returns to the review queue, and its approval no longer counts.
    Reopen,
    /// Recording that a hit means another person ("Not this person").
    SetAside,
    /// Merging two people.
    MergePeople,
    /// Splitting a person in two. The second one can register where the first one is registered.
    SplitPerson,
    /// Deciding several attempts at once.
    BulkDecision,
    /// Changing a Flow so that it checks less.
    WeakenFlow,
    /// Creating a Flow, which may check less than the existing ones.
    MakeFlow,
    /// Changing the account's settings so that less is checked. Switching four eyes off is such a change.
    WeakenAccount,
    /// Removing a sanctions list from use.
    RemoveList,
    /// Counting a member as a separate person: a new member, or one whose password a colleague can set.
    CountMember,
}

impl Act {
    /// The act of a decision on an attempt; `is_declined` is the attempt's status before the decision.
    pub fn of_decision(decision: Decision, is_declined: bool) -> Self {
        match (decision, is_declined) {
            (Decision::Approve, _) => Self::Approve,
            (Decision::Decline, _) => Self::Decline,
            (Decision::Reopen, true) => Self::ReopenDeclined,
            (Decision::Reopen, false) => Self::Reopen,
        }
    }

    /// Whether the act can let an applicant pass who would not have passed otherwise.
    pub fn lets_pass(self) -> bool {
        match self {
            Self::Approve
            | Self::ReopenDeclined
            | Self::SetAside
            | Self::MergePeople
            | Self::SplitPerson
            | Self::BulkDecision
            | Self::WeakenFlow
            | Self::MakeFlow
            | Self::WeakenAccount
            | Self::RemoveList
            | Self::CountMember => true,
            Self::Decline | Self::Reopen => false,
        }
    }
}

/// Where a second person is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FourEyesScope {
    /// The account requires it for everything.
    pub account: bool,
    /// The Flow of the act requires it now, or required it when the attempt was made.
    pub flow: bool,
    /// Any Flow that the act may concern requires it.
    pub any_flow: bool,
}

/// Whether an act needs a second person.
pub fn needs_second_person(act: Act, state: FourEyesScope) -> bool {
    match act {
        Act::Approve
        | Act::Decline
        | Act::ReopenDeclined
        | Act::SetAside
        | Act::BulkDecision
        | Act::WeakenFlow => state.account || state.flow,
        // A less strict new Flow could otherwise replace one that requires two people. A person may be registered by
        // several Flows.
        Act::MakeFlow
        | Act::WeakenAccount
        | Act::RemoveList
        | Act::CountMember
        | Act::MergePeople
        | Act::SplitPerson => state.account || state.flow || state.any_flow,
        Act::Reopen => false,
    }
}

/// What becomes of an act that an API key performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyEffect {
    /// It is carried out.
    CarryOut,
    /// It waits until people agree, as many as would have to without the key.
    Propose,
    /// Only a person may perform it.
    Refuse,
}

/// What becomes of an act of an API key. A key is not a person: nobody passes by its act alone, and it is never one of
/// the two who must agree.
pub fn effect_by_key(act: Act, state: FourEyesScope) -> KeyEffect {
    match act {
        Act::Approve => KeyEffect::Propose,
        Act::Decline if needs_second_person(act, state) => KeyEffect::Propose,
        Act::Decline => KeyEffect::CarryOut,
        Act::Reopen
        | Act::ReopenDeclined
        | Act::SetAside
        | Act::MergePeople
        | Act::SplitPerson
        | Act::BulkDecision
        | Act::WeakenFlow
        | Act::MakeFlow
        | Act::WeakenAccount
        | Act::RemoveList
        | Act::CountMember => KeyEffect::Refuse,
    }
}

/// A member of a Flow or account whose change lets more people pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weakening {
    /// The member's name, such as `settings.matchThreshold` or `countryOverrides.DEU.ocrMatch`.
    pub member: String,
    /// Its value before.
    pub from: String,
    /// Its value after.
    pub to: String,
}

/// The server's values for settings that a Flow leaves unset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defaults {
    /// Similarity (0–100) from which faces match.
    pub match_threshold: f64,
    /// Similarity (0–100) from which, up to the match threshold, an attempt is reviewed.
    pub review_band: f64,
    /// Days that attempts are retained; `None`: indefinitely.
    pub retention_days: Option<u32>,
}

#[derive(Default)]
struct Weakenings(Vec<Weakening>);

impl Weakenings {
    fn note(&mut self, weaker: bool, member: String, from: impl ToString, to: impl ToString) {
        if weaker {
            let (from, to) = (from.to_string(), to.to_string());
            self.0.push(Weakening { member, from, to });
        }
    }
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// The members of a Flow in which `to` checks less than `from`; empty if there are none.
pub fn flow_weakenings(from: &Flow, to: &Flow, defaults: Defaults) -> Vec<Weakening> {
    let mut found = Weakenings::default();
    // The pattern is complete, so a new member of a Flow does not compile until it is classified here.
    let Flow {
        defaults: configuration,
        overrides,
        geo_blocked,
        min_age,
        max_age,
        settings,
    } = to;
    configuration_weakenings(&mut found, "", &from.defaults, configuration);
    let countries: BTreeSet<&str> = from
        .overrides
        .iter()
        .chain(overrides)
        .map(|element| element.country.alpha3)
        .collect();
    for alpha3 in countries {
        let prefix = format!("countryOverrides.{alpha3}.");
        let (before, after) = (from.restricts(alpha3), to.restricts(alpha3));
        found.note(before && !after, format!("{prefix}restricted"), before, after);
        let of = |flow: &Flow| flow.configuration(Some(alpha3));
        configuration_weakenings(&mut found, &prefix, &of(from), &of(to));
    }
    let unblocked: Vec<&str> = from
        .geo_blocked
        .iter()
        .filter(|code| !geo_blocked.contains(code))
        .map(String::as_str)
        .collect();
    found.note(
        !unblocked.is_empty(),
        "geoBlockedCountries".into(),
        unblocked.join(", "),
        "–",
    );
    let younger = from
        .min_age
        .is_some_and(|old| min_age.is_none_or(|new| new < old));
    found.note(younger, "minAge".into(), or_none(from.min_age), or_none(*min_age));
    let older = from
        .max_age
        .is_some_and(|old| max_age.is_none_or(|new| new > old));
    found.note(older, "maxAge".into(), or_none(from.max_age), or_none(*max_age));
    settings_weakenings(&mut found, &from.settings, settings, defaults);
    found.0
}

fn strength(biometric: Biometric) -> u8 {
    match biometric {
        Biometric::Selfie => 0,
        Biometric::LiveSelfie => 1,
        Biometric::Liveness => 2,
    }
}

fn configuration_weakenings(found: &mut Weakenings, prefix: &str, from: &Configuration, to: &Configuration) {
    let Configuration {
        fields,
        document_types,
    } = to;
    for field in KNOWN_FIELDS {
        let name = format!("{prefix}{field}");
        match field {
            // The arm for "liveness" below compares all three, because together they state how the selfie is
            // taken.
            "selfie" | "liveSelfie" => {}
            "liveness" => {
                let (old, new) = (from.biometric(), to.biometric());
                let weaker = strength(new) < strength(old);
                found.note(weaker, format!("{prefix}biometric"), old.as_str(), new.as_str());
            }
            "documentFileUpload" => {}
            "documentCapture" => {
                let (old, new) = (from.requests(field), to.requests(field));
                found.note(old && !new, name, old, new);
            }
            "driversBack" | "idCardBack" => {
                let (old, new) = (from.fields.get(field).copied(), fields.get(field).copied());
                // If the member is absent, the document table decides. That ranks between required and not
                // required.
                let rank = |back: Option<bool>| back.map_or(1, |is_required| if is_required { 2 } else { 0 });
                found.note(rank(new) < rank(old), name, or_none(old), or_none(new));
            }
            _ => {
                let (old, new) = (from.requests(field), to.requests(field));
                found.note(old && !new, name, old, new);
            }
        }
    }
    let types = |all: &[reference::DocumentType]| {
        let names: Vec<&str> = all.iter().map(|each| each.as_str()).collect();
        or_none(Some(names.join(", ")).filter(|names| !names.is_empty()))
    };
    let old = &from.document_types;
    let accepts_more = document_types.is_empty() || document_types.iter().any(|each| !old.contains(each));
    found.note(
        !old.is_empty() && accepts_more,
        format!("{prefix}defaultDocumentTypes"),
        types(old),
        types(document_types),
    );
}

fn policy_rank(policy: ReviewPolicy) -> (u8, &'static str) {
    match policy {
        ReviewPolicy::Never => (0, "never"),
        ReviewPolicy::OnMatch => (1, "on_match"),
        ReviewPolicy::Always => (2, "always"),
    }
}

fn fraud_rank(choice: FraudSigns) -> (u8, &'static str) {
    match choice {
        FraudSigns::Off => (0, "off"),
        FraudSigns::Show => (1, "show"),
        FraudSigns::Review => (2, "review"),
    }
}

fn settings_weakenings(found: &mut Weakenings, from: &Settings, to: &Settings, defaults: Defaults) {
    // The pattern is complete, so a new setting does not compile until it is classified here.
    let Settings {
        match_threshold,
        review_band,
        review_policy,
        attempts_per_link,
        // Whoever may create invitations may create another one when one has expired.
        invitation_hours: _,
        reminder_hours: _,
        renew_invitations: _,
        retention_days,
        webhook_secret: _,
        hide_sanctions_detail: _,
        details_first,
        four_eyes,
        fraud_signs,
        ongoing_screening,
        screening_lists,
    } = to;
    let name = |member: &str| format!("settings.{member}");
    let (old, new) = (
        from.match_threshold.unwrap_or(defaults.match_threshold),
        match_threshold.unwrap_or(defaults.match_threshold),
    );
    found.note(new < old, name("matchThreshold"), old, new);
    let (old, new) = (
        from.review_band.unwrap_or(defaults.review_band),
        review_band.unwrap_or(defaults.review_band),
    );
    found.note(new < old, name("reviewBand"), old, new);
    let ((old, before), (new, after)) = (policy_rank(from.review_policy), policy_rank(*review_policy));
    found.note(new < old, name("reviewPolicy"), before, after);
    let (old, new) = (from.attempts_per_link, *attempts_per_link);
    found.note(new > old, name("attemptsPerLink"), old, new);
    // A decline no longer counts once retention has deleted it.
    let (old, new) = (
        from.retention_days.or(defaults.retention_days),
        retention_days.or(defaults.retention_days),
    );
    let sooner = new.is_some_and(|new| old.is_none_or(|old| new < old));
    found.note(sooner, name("retentionDays"), or_none(old), or_none(new));
    // What a document says about a person cannot differ from what the person took from it.
    found.note(
        from.details_first && !details_first,
        name("detailsFirst"),
        from.details_first,
        details_first,
    );
    found.note(
        from.four_eyes && !four_eyes,
        name("fourEyes"),
        from.four_eyes,
        four_eyes,
    );
    let ((old, before), (new, after)) = (fraud_rank(from.fraud_signs), fraud_rank(*fraud_signs));
    found.note(new < old, name("fraudSigns"), before, after);
    found.note(
        from.ongoing_screening && !ongoing_screening,
        name("ongoingScreening"),
        from.ongoing_screening,
        ongoing_screening,
    );
    list_weakening(
        found,
        name("screeningLists"),
        &from.screening_lists,
        screening_lists,
    );
}

fn has_fewer(old: &[String], new: &[String]) -> bool {
    old.iter().any(|each| !new.contains(each))
}

fn joined(all: &[String]) -> String {
    or_none(Some(all.join(", ")).filter(|names| !names.is_empty()))
}

/// Notes a choice of sanctions lists that may screen against fewer of them. An empty choice of an account means all
/// lists that need no choice, including those imported later, and that of a Flow means the account's. Either may
/// contain lists that the other choice lacks.
fn list_weakening(found: &mut Weakenings, member: String, from: &[String], to: &[String]) {
    let is_weaker = match (from.is_empty(), to.is_empty()) {
        (true, true) => false,
        (true, false) | (false, true) => true,
        (false, false) => has_fewer(from, to),
    };
    found.note(is_weaker, member, joined(from), joined(to));
}

/// The name of the profile of which every other one finds all hits.
const STANDARD_PROFILE: &str = "standard";

/// The account's settings that affect who passes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AccountRules {
    /// Every decision needs a second person.
    pub four_eyes: bool,
    /// Every member needs a second factor to sign in.
    pub second_factor: bool,
    /// Score (0–1) from which a list entry is a match.
    pub screening_threshold: f64,
    /// The profile that finds more than the standard, if there is one.
    pub screening_profile: Option<&'static str>,
    /// Lists that are screened. If empty, all lists are screened that need no choice.
    pub screening_lists: Vec<String>,
    /// Wallet screenings of how many days are compared again when the listed wallets change; 0: none.
    pub wallet_alert_days: u32,
    /// Countries whose visitors cannot use a link.
    pub blocked_countries: Vec<String>,
}

/// The settings in which `to` checks less than `from`; empty if there are none.
pub fn account_weakenings(from: &AccountRules, to: &AccountRules) -> Vec<Weakening> {
    let mut found = Weakenings::default();
    let AccountRules {
        four_eyes,
        second_factor,
        screening_threshold,
        screening_profile,
        screening_lists,
        wallet_alert_days,
        blocked_countries,
    } = to;
    let off = |old: bool, new: bool| old && !new;
    found.note(
        off(from.four_eyes, *four_eyes),
        "fourEyes".into(),
        from.four_eyes,
        four_eyes,
    );
    found.note(
        off(from.second_factor, *second_factor),
        "secondFactor".into(),
        from.second_factor,
        second_factor,
    );
    found.note(
        *screening_threshold > from.screening_threshold,
        "screeningThreshold".into(),
        from.screening_threshold,
        screening_threshold,
    );
    // No other profile finds all that this one does.
    found.note(
        from.screening_profile.is_some() && *screening_profile != from.screening_profile,
        "screeningProfile".into(),
        from.screening_profile.unwrap_or(STANDARD_PROFILE),
        screening_profile.unwrap_or(STANDARD_PROFILE),
    );
    list_weakening(
        &mut found,
        "screeningLists".into(),
        &from.screening_lists,
        screening_lists,
    );
    found.note(
        *wallet_alert_days < from.wallet_alert_days,
        "walletAlertDays".into(),
        from.wallet_alert_days,
        wallet_alert_days,
    );
    found.note(
        has_fewer(&from.blocked_countries, blocked_countries),
        "blockedCountries".into(),
        joined(&from.blocked_countries),
        joined(blocked_countries),
    );
    found.0
}

#[cfg(test)]
mod tests;
