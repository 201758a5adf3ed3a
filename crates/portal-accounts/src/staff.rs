//! A merchant's staff: roles, access and password links. An account always has an owner. Only owners manage
//! owners and compliance officers, and only owners change their own role.

use service::App;
use service::actor::{By, of_staff};
use service::four_eyes;
use service::merchants::{ChangeOutcome, replace_settings, with_settings};
use service::permissions::Role;
use service::problem::{Kind, Problem};
use store::invitations::{self, Invitation};
use store::staff::{self, Membership};
use store::{Tx, merchants, portal_sessions};
use uuid::Uuid;

use crate::joining::{NewLink, password_link};
pub use crate::managers::{Manager, may_manage};
use crate::managers::{check, lock_manager};
use crate::{audit_at, audit_everywhere};

/// An account's staff, and the invitations that can still be used.
pub async fn list(app: &App, merchant_id: Uuid) -> Result<(Vec<Membership>, Vec<Invitation>), Problem> {
    let mut conn = app.db.read().await?;
    let members = staff::of_merchant(&mut conn, merchant_id).await?;
    Ok((members, invitations::of_merchant(&mut conn, merchant_id).await?))
}

/// The member to be changed. If `leaves` states that the member stops being an owner, a lock ensures that
/// another owner remains.
async fn lock_target(
    tx: &mut Tx,
    manager: Manager,
    staff_id: Uuid,
    leaves: bool,
) -> Result<(Membership, Role), Problem> {
    // The lock comes before the reads, so that the facts of the decision cannot change.
    let owners = staff::count_and_lock_role(tx, manager.merchant_id, Role::Owner.as_str()).await?;
    let manager = lock_manager(tx, manager.merchant_id, manager.staff_id).await?;
    let member = staff::get_membership(tx, manager.merchant_id, staff_id)
        .await?
        .ok_or_else(|| Problem::not_found("There is no such member"))?;
    let role = member
        .role
        .parse()
        .map_err(|()| Problem::internal("a member has an unknown role"))?;
    check(manager, role)?;
    let is_owner = role == Role::Owner && member.is_active();
    if leaves && is_owner && owners < 2 {
        let text = "An account must have an owner. Make another member an owner first";
        return Err(Problem::new(Kind::Conflict, text));
    }
    Ok((member, role))
}

/// Gives a member another role. Links that the member made become void.
pub async fn set_role(app: &App, manager: Manager, staff_id: Uuid, role: Role) -> Result<(), Problem> {
    check(manager, role)?;
    if !manager.may_change_role_of(staff_id) {
        let text = "Only owners may change their own role";
        return Err(Problem::new(Kind::Forbidden, text));
    }
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let (_, before) = lock_target(tx, manager, staff_id, role != Role::Owner).await?;
        if before == role {
            return Ok(());
        }
        lock_manager(tx, manager.merchant_id, manager.staff_id)
            .await?
            .over(role)?;
        staff::set_role(tx, manager.merchant_id, staff_id, role.as_str()).await?;
        four_eyes::keep_two_deciders(tx, manager.merchant_id, before).await?;
        invitations::void_made_by(tx, manager.merchant_id, staff_id).await?;
        let detail = format!(
            "{{\"from\":\"{}\",\"to\":\"{}\"}}",
            before.as_str(),
            role.as_str()
        );
        write_audit(tx, manager, "staff.role_changed", staff_id, &detail).await?;
        let by = of_staff(manager.staff_id);
        four_eyes::record_doubt(
            tx,
            manager.merchant_id,
            (staff_id, role),
            ("role", By::actor(&by)),
        )
        .await
    })
}

/// Removes or restores a member's access to the account. When access is removed, the member's sessions in it
/// end and links that the member made become void.
pub async fn set_access(app: &App, manager: Manager, staff_id: Uuid, shut_out: bool) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        lock_target(tx, manager, staff_id, shut_out).await?;
        staff::set_membership_disabled(tx, manager.merchant_id, staff_id, shut_out).await?;
        let action = if shut_out {
            portal_sessions::end_in_account(tx, manager.merchant_id, staff_id).await?;
            invitations::void_made_by(tx, manager.merchant_id, staff_id).await?;
            "staff.disabled"
        } else {
            "staff.enabled"
        };
        write_audit(tx, manager, action, staff_id, "{}").await
    })
}

/// Creates a link by which a member sets a new password. It is refused for members of other accounts and for
/// operators, because it would give access to those too.
pub async fn password_link_for(app: &App, manager: Manager, staff_id: Uuid) -> Result<NewLink, Problem> {
    store::transaction!(app.db, |tx| -> Result<NewLink, Problem> {
        let (member, role) = lock_target(tx, manager, staff_id, false).await?;
        if member.member.operator || staff::belongs_elsewhere(tx, manager.merchant_id, staff_id).await? {
            let text =
                "This member also has access outside your account, so you cannot reset the member's password";
            return Err(Problem::new(Kind::Forbidden, text));
        }
        let link = password_link(tx, staff_id, Some(manager.staff_id)).await?;
        audit_everywhere(
            tx,
            staff_id,
            &of_staff(manager.staff_id),
            "staff.password_link_made",
            "{}",
        )
        .await?;
        let by = of_staff(manager.staff_id);
        four_eyes::record_doubt(
            tx,
            manager.merchant_id,
            (staff_id, role),
            ("password", By::actor(&by)),
        )
        .await?;
        Ok(link)
    })
}

/// Revokes an invitation to a role that the manager may give.
pub async fn revoke(app: &App, manager: Manager, id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        let manager = lock_manager(tx, manager.merchant_id, manager.staff_id).await?;
        let missing = || Problem::not_found("There is no such invitation");
        let open = invitations::of_merchant(tx, manager.merchant_id).await?;
        let invitation = open.iter().find(|open| open.id == id).ok_or_else(missing)?;
        let role = invitation.role.as_deref().and_then(|role| role.parse().ok());
        check(manager, role.ok_or_else(missing)?)?;
        if !invitations::revoke(tx, manager.merchant_id, id).await? {
            return Err(missing());
        }
        write_audit(tx, manager, "staff.invitation_revoked", id, "{}").await
    })
}

/// Requires a second factor of all members, or no longer requires it; for owners only. Members without one
/// can then only set one up. With four eyes, dropping the requirement waits for a second person.
pub async fn require_second_factor(
    app: &App,
    manager: Manager,
    required: bool,
) -> Result<ChangeOutcome, Problem> {
    let id = manager.merchant_id;
    store::transaction!(app.db, |tx| -> Result<ChangeOutcome, Problem> {
        let manager = lock_manager(tx, id, manager.staff_id).await?;
        if manager.role != Role::Owner {
            return Err(Problem::new(Kind::Forbidden, "Only an owner may do this"));
        }
        let merchant = merchants::get_for_update(tx, id)
            .await?
            .ok_or_else(|| Problem::not_found("There is no such account"))?;
        let changed = with_settings(&merchant, &[format!("requireSecondFactor={required}")])
            .map_err(Problem::validation)?;
        let by = of_staff(manager.staff_id);
        replace_settings(tx, &merchant, changed, By::actor(&by)).await
    })
}

async fn write_audit(
    tx: &mut Tx,
    manager: Manager,
    action: &str,
    subject: Uuid,
    detail: &str,
) -> Result<(), Problem> {
    let by = of_staff(manager.staff_id);
    Ok(audit_at(tx, manager.merchant_id, &by, action, &subject.to_string(), detail).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_touch_owners_and_compliance_and_only_those_in_charge_anybody() {
        use Role::{Admin, Auditor, Compliance, Developer, Owner, Reviewer};
        for (manager, theirs) in [
            (Owner, &Role::ALL[..]),
            (Admin, &[Admin, Reviewer, Developer, Auditor]),
            (Compliance, &[]),
            (Reviewer, &[]),
            (Developer, &[]),
            (Auditor, &[]),
        ] {
            for other in Role::ALL {
                let expected = theirs.contains(&other);
                assert_eq!(may_manage(manager, other), expected, "{manager:?} {other:?}");
            }
        }
    }

    #[test]
    fn only_owners_change_their_own_role() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        for role in Role::ALL {
            let manager = Manager {
                staff_id: own,
                role,
                merchant_id: Uuid::nil(),
            };
            assert_eq!(manager.may_change_role_of(own), role == Role::Owner, "{role:?}");
            assert!(manager.may_change_role_of(other), "{role:?}");
        }
    }
}
