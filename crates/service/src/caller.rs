//! Callers of the API and of pages, and whether their account may call
//! (`docs/decisions/0001-accounts-and-credentials.md`). `authentication` proves who they are.

use store::Scope;
use store::audit::Entry;
use store::merchants::{Merchant, MerchantStatus};
use store::sessions::{Session, SessionStatus};

use crate::problem::{Family, Kind, Problem};

/// A caller: an account in one of its modes, or one of its hosted sessions.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The account.
    pub merchant: Merchant,
    /// The account and mode that the key works on.
    pub scope: Scope,
    /// The API key, the session's id, or `staff:ID` of a portal member, for the audit trail.
    pub key: String,
    /// What the API key may do to people, as stored; `{}`, which means nothing, for every other caller.
    pub permissions: String,
    /// The hosted session of the access token, as it was at authentication. It may have ended.
    pub session: Option<Session>,
}

/// The permissions of a caller without any.
pub const NO_PERMISSIONS: &str = "{}";

impl Caller {
    /// An audit entry: this caller did `action` to `subject`.
    pub fn audit_entry<'a>(&'a self, action: &'a str, subject: &'a str) -> Entry<'a> {
        Entry {
            actor: &self.key,
            action,
            subject,
            detail: "{}",
        }
    }

    /// Refuses a caller whose hosted session has ended.
    pub fn check_session(&self) -> Result<(), Problem> {
        match &self.session {
            Some(session) if session.status != SessionStatus::Pending => Err(session_ended()),
            _ => Ok(()),
        }
    }
}

/// 401 for a token whose session has ended.
pub fn session_ended() -> Problem {
    Problem::new(
        Kind::WrongCredentials,
        "The session of this access token has ended",
    )
}

/// Whether an account may call (`docs/decisions/0001-accounts-and-credentials.md`). A suspended account is
/// refused everywhere. Live keys, and Groups and Flows with either key, need approval.
pub fn check_account_may_call(status: MerchantStatus, sandbox: bool, family: Family) -> Result<(), Problem> {
    match status {
        MerchantStatus::Approved => Ok(()),
        MerchantStatus::Suspended => Err(Problem::new(Kind::Forbidden, "The merchant account is suspended")),
        _ if family == Family::GroupsAndFlows || !sandbox => Err(Problem::new(
            Kind::Forbidden,
            "Merchant application not completed or approved",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_decides_who_may_enter() {
        use MerchantStatus::{Approved, Draft, Suspended};
        for (status, sandbox, family, entry) in [
            (Approved, false, Family::Verify, true),
            (Draft, true, Family::Verify, true),
            (Draft, false, Family::Verify, false),
            (Draft, true, Family::GroupsAndFlows, false),
            (Suspended, true, Family::Applicants, false),
        ] {
            assert_eq!(
                check_account_may_call(status, sandbox, family).is_ok(),
                entry,
                "{status:?} {sandbox} {family:?}"
            );
        }
    }
}
