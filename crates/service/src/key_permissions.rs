//! What an API key may do to people beyond the contract: read the evidence of an attempt, decide, erase, export. A new
//! key may do none of this, and neither may any key of an earlier version. Only an owner grants it, in the portal.
//!
//! This module only decides. Beside [`crate::key_restrictions`], which take endpoints away, permissions add some.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Conn, staff};
use uuid::Uuid;

use crate::caller::Caller;
use crate::permissions::{Action, Role, may};
use crate::problem::{Kind, Problem};

/// The most members whom a key may name.
pub const MAX_REVIEWERS: usize = 50;

/// Something that a key may do to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyAct {
    /// Reading an attempt's pictures, measures and notes.
    ReadEvidence,
    /// Declining attempts, proposing decisions, and writing notes.
    Decide,
    /// Erasing people.
    Erase,
    /// Exporting all data about people.
    Export,
}

impl KeyAct {
    /// Every act.
    pub const ALL: [KeyAct; 4] = [
        KeyAct::ReadEvidence,
        KeyAct::Decide,
        KeyAct::Erase,
        KeyAct::Export,
    ];

    /// The name in forms and in the stored permissions.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyAct::ReadEvidence => "read-evidence",
            KeyAct::Decide => "decide",
            KeyAct::Erase => "erase",
            KeyAct::Export => "export",
        }
    }

    /// The action of the portal whose permission the named member needs; `None`: the act names nobody.
    pub fn action(self) -> Option<Action> {
        match self {
            KeyAct::ReadEvidence => None,
            KeyAct::Decide => Some(Action::Decide),
            KeyAct::Erase => Some(Action::ErasePerson),
            KeyAct::Export => Some(Action::ExportPerson),
        }
    }
}

/// The permissions of a key. [`Default`] has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPermissions {
    /// What the key may do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acts: Vec<KeyAct>,
    /// The members whom a request may name as responsible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reviewers: Vec<Uuid>,
}

/// Why permissions are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PermissionError {
    /// An act that does not exist.
    #[error("acts - {0:?} is unknown; use read-evidence, decide, erase or export")]
    UnknownAct(String),
    /// A member who does not exist, or whose role allows none of the acts.
    #[error("reviewers - choose members whose role permits at least one of the chosen acts")]
    UnfitReviewer,
    /// An act that needs a responsible member, without any who may perform it.
    #[error("reviewers - choose at least one member whose role permits {}", .0.as_str())]
    NoReviewer(KeyAct),
    /// Too many members.
    #[error("reviewers - at most {MAX_REVIEWERS} per key")]
    TooMany,
}

/// A member whom a key may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The member.
    pub id: Uuid,
    /// The member's role; `None`: one that this version does not know.
    pub role: Option<Role>,
}

impl KeyPermissions {
    /// Permissions by the names of acts and the members of the account.
    ///
    /// # Errors
    /// What is wrong.
    pub fn new<'a>(
        acts: impl IntoIterator<Item = &'a str>,
        reviewers: impl IntoIterator<Item = Uuid>,
        candidates: &[Candidate],
    ) -> Result<Self, PermissionError> {
        let named = acts.into_iter().map(|name| {
            let act = KeyAct::ALL.into_iter().find(|act| act.as_str() == name);
            act.ok_or_else(|| PermissionError::UnknownAct(name.to_owned()))
        });
        let mut acts = named.collect::<Result<Vec<_>, _>>()?;
        acts.sort_unstable();
        acts.dedup();
        let mut reviewers: Vec<Uuid> = reviewers.into_iter().collect();
        reviewers.sort_unstable();
        reviewers.dedup();
        if acts.iter().all(|act| act.action().is_none()) {
            // Nobody is responsible for anything.
            reviewers.clear();
        }
        if reviewers.len() > MAX_REVIEWERS {
            return Err(PermissionError::TooMany);
        }
        let can = |id: &Uuid, act: KeyAct| {
            let candidate = candidates.iter().find(|candidate| candidate.id == *id);
            let action = act.action();
            candidate
                .zip(action)
                .is_some_and(|(candidate, action)| may(candidate.role, false, action))
        };
        if !reviewers.iter().all(|id| acts.iter().any(|act| can(id, *act))) {
            return Err(PermissionError::UnfitReviewer);
        }
        let lacks = |act: &&KeyAct| act.action().is_some() && !reviewers.iter().any(|id| can(id, **act));
        if let Some(act) = acts.iter().find(lacks) {
            return Err(PermissionError::NoReviewer(*act));
        }
        Ok(KeyPermissions { acts, reviewers })
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] if it cannot be read. The key must not be used for any act then.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        serde_json::from_str::<Map<String, Value>>(text)
            .and_then(|members| serde_json::from_value(Value::Object(members)))
            .map_err(|_| store::Error::Unreadable("permissions of an API key").into())
    }

    /// The stored form.
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// What the key may do.
    pub fn acts(&self) -> &[KeyAct] {
        &self.acts
    }

    /// The members whom a request may name.
    pub fn reviewers(&self) -> &[Uuid] {
        &self.reviewers
    }
}

/// Refuses a key without the permission for an act.
///
/// # Errors
/// [`Kind::Forbidden`], naming the permission and who grants it.
pub fn check(caller: &Caller, act: KeyAct) -> Result<KeyPermissions, Problem> {
    let permissions = KeyPermissions::from_json(&caller.permissions)?;
    if permissions.acts.contains(&act) {
        return Ok(permissions);
    }
    let text = format!(
        "This API key lacks the permission {}. An owner can grant it in the portal, under API keys",
        act.as_str()
    );
    Err(Problem::new(Kind::Forbidden, text).named("permission_missing"))
}

/// Refuses the member whom a request names as responsible for an act, unless the member is in the key's list, still
/// active, and has a role that permits the act.
///
/// # Errors
/// [`Kind::Forbidden`] if the key lacks the permission or may not name this member.
pub async fn responsible(
    conn: &mut Conn,
    caller: &Caller,
    act: KeyAct,
    reviewer: Uuid,
) -> Result<(), Problem> {
    let permissions = check(caller, act)?;
    let refused = |text: &str| Problem::new(Kind::Forbidden, text.to_owned()).named("reviewer_refused");
    if !permissions.reviewers.contains(&reviewer) {
        return Err(refused("reviewerId - this API key may not name that member"));
    }
    let member = staff::get_membership(conn, caller.scope.merchant_id, reviewer).await?;
    let role = member
        .filter(staff::Membership::is_active)
        .and_then(|member| member.role.parse::<Role>().ok());
    let is_permitted = act.action().is_some_and(|action| may(role, false, action));
    match is_permitted {
        true => Ok(()),
        false => Err(refused(
            "reviewerId - that member is no longer active, or has a role that does not permit this",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Uuid = Uuid::from_u128(1);
    const REVIEWER: Uuid = Uuid::from_u128(2);
    const AUDITOR: Uuid = Uuid::from_u128(3);

    fn candidates() -> [Candidate; 3] {
        let one = |id, role| Candidate { id, role: Some(role) };
        [
            one(OWNER, Role::Owner),
            one(REVIEWER, Role::Reviewer),
            one(AUDITOR, Role::Auditor),
        ]
    }

    #[test]
    fn every_act_of_a_person_needs_somebody_who_may_do_it() {
        let error = |acts: &[&str], reviewers: &[Uuid]| {
            KeyPermissions::new(acts.iter().copied(), reviewers.iter().copied(), &candidates()).err()
        };
        assert_eq!(error(&[], &[]), None);
        assert_eq!(error(&["read-evidence"], &[]), None);
        let evidence = KeyPermissions::new(["read-evidence"], [AUDITOR], &candidates()).unwrap();
        assert!(evidence.reviewers().is_empty());
        assert_eq!(error(&["decide", "read-evidence"], &[REVIEWER]), None);
        assert_eq!(error(&["decide", "erase", "export"], &[OWNER, REVIEWER]), None);
        assert_eq!(
            error(&["decide", "erase"], &[REVIEWER]),
            Some(PermissionError::NoReviewer(KeyAct::Erase))
        );
        assert_eq!(
            error(&["decide"], &[]),
            Some(PermissionError::NoReviewer(KeyAct::Decide))
        );
        for unfit in [AUDITOR, Uuid::from_u128(9)] {
            assert_eq!(
                error(&["decide"], &[OWNER, unfit]),
                Some(PermissionError::UnfitReviewer)
            );
        }
        assert_eq!(
            error(&["approve"], &[OWNER]),
            Some(PermissionError::UnknownAct("approve".into()))
        );
        let many: Vec<Uuid> = (0..=MAX_REVIEWERS as u128).map(Uuid::from_u128).collect();
        assert_eq!(error(&["decide"], &many), Some(PermissionError::TooMany));
    }

    #[test]
    fn the_stored_form_is_read_again() {
        let granted = KeyPermissions::new(["export", "decide"], [OWNER, OWNER], &candidates()).unwrap();
        let stored = format!(r#"{{"acts":["decide","export"],"reviewers":["{OWNER}"]}}"#);
        assert_eq!(granted.to_json(), stored);
        for (permissions, stored) in [(KeyPermissions::default(), "{}"), (granted, &stored)] {
            assert_eq!(KeyPermissions::from_json(stored).unwrap(), permissions);
        }
        for damaged in ["", "[]", r#"{"acts":["all"]}"#, r#"{"act":["decide"]}"#] {
            assert!(KeyPermissions::from_json(damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn every_act_has_one_name() {
        for act in KeyAct::ALL {
            assert_eq!(serde_json::json!(act), act.as_str());
        }
    }
}
