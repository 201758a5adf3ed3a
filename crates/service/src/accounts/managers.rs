//! Members who manage an account's staff, and whom they may manage.

use store::Tx;
use store::staff;
use uuid::Uuid;

use crate::permissions::Role;
use crate::problem::{Kind, Problem};

/// Who changes an account's staff.
#[derive(Clone, Copy, Debug)]
pub struct Manager {
    /// Who.
    pub staff_id: Uuid,
    /// Their own role.
    pub role: Role,
    /// The account.
    pub merchant_id: Uuid,
}

/// What somebody may do with others now: read under a lock, so that they cannot be shut out or lose their role before what they do is done.
pub(super) async fn rights(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<Manager, Problem> {
    let role = staff::lock_member(tx, merchant_id, staff_id).await?;
    let lost = || Problem::new(Kind::Forbidden, "Your role does not allow this any more");
    Ok(Manager {
        staff_id,
        role: role.and_then(|role| role.parse().ok()).ok_or_else(lost)?,
        merchant_id,
    })
}

impl Manager {
    /// Refuses what only owners may do with a role.
    pub(super) fn over(self, other: Role) -> Result<(), Problem> {
        check(self, other)
    }

    /// Whether they may change somebody's role at all: their own, owners only.
    pub fn may_change_role_of(self, staff_id: Uuid) -> bool {
        self.role == Role::Owner || self.staff_id != staff_id
    }
}

/// Whether somebody of one role may give, change or take away another: only owners make and unmake owners, and those who erase and
/// export people.
pub fn may_manage(manager: Role, other: Role) -> bool {
    match manager {
        Role::Owner => true,
        Role::Admin => !matches!(other, Role::Owner | Role::Compliance),
        _ => false,
    }
}

pub(super) fn check(manager: Manager, other: Role) -> Result<(), Problem> {
    if may_manage(manager.role, other) {
        return Ok(());
    }
    Err(Problem::new(
        Kind::Forbidden,
        "Only an owner may do this with owners and compliance officers",
    ))
}
