//! Members who manage an account's staff, and which roles they may manage.

use service::permissions::Role;
use service::problem::{Kind, Problem};
use store::Tx;
use store::staff;
use uuid::Uuid;

/// A member who manages an account's staff.
#[derive(Clone, Copy, Debug)]
pub struct Manager {
    /// The member.
    pub staff_id: Uuid,
    /// The member's own role.
    pub role: Role,
    /// The account.
    pub merchant_id: Uuid,
}

/// A member's current rights. They are read under a lock, so that the member cannot lose access or role
/// before the change is made.
pub(crate) async fn lock_manager(tx: &mut Tx, merchant_id: Uuid, staff_id: Uuid) -> Result<Manager, Problem> {
    let role = staff::lock_member(tx, merchant_id, staff_id).await?;
    let lost = || Problem::new(Kind::Forbidden, "Your role does not allow this any more");
    Ok(Manager {
        staff_id,
        role: role.and_then(|role| role.parse().ok()).ok_or_else(lost)?,
        merchant_id,
    })
}

impl Manager {
    /// Refuses a change that only owners may make to this role.
    pub(crate) fn over(self, other: Role) -> Result<(), Problem> {
        check(self, other)
    }

    /// Whether the manager may change a member's role at all. Only owners may change their own.
    pub fn may_change_role_of(self, staff_id: Uuid) -> bool {
        self.role == Role::Owner || self.staff_id != staff_id
    }
}

/// Whether a member with one role may give, change or remove another role. Only owners may do so with owners
/// and compliance officers, who erase and export people.
pub fn may_manage(manager: Role, other: Role) -> bool {
    match manager {
        Role::Owner => true,
        Role::Admin => !matches!(other, Role::Owner | Role::Compliance),
        _ => false,
    }
}

pub(crate) fn check(manager: Manager, other: Role) -> Result<(), Problem> {
    if may_manage(manager.role, other) {
        return Ok(());
    }
    Err(Problem::new(
        Kind::Forbidden,
        "Only an owner may do this with owners and compliance officers",
    ))
}
