//! How the tables of registrations, attempts and sessions represent a merchant's label for a person and the
//! group: the label's blind index, and the nil UUID for "no group". This module reads no table.

use uuid::Uuid;

use crate::keyring::Keyring;
use crate::{Conn, Scope};

/// The value of a UUID column that names nothing. Unique keys do not compare nulls.
pub(crate) const NO_ID: Uuid = Uuid::nil();

/// A group as a column value.
pub(crate) fn group_to_column(grouping_id: Option<Uuid>) -> Uuid {
    grouping_id.unwrap_or(NO_ID)
}

/// The group of a column value.
pub(crate) fn group_from_column(grouping_id: Uuid) -> Option<Uuid> {
    Some(grouping_id).filter(|id| !id.is_nil())
}

/// The blind index of an externalUserId.
pub(crate) fn external_ref(conn: &Conn, scope: Scope, external_user_id: &str) -> Vec<u8> {
    label_ref(conn.keyring(), scope, external_user_id)
}

/// [`external_ref`] with a keyring instead of a connection.
pub(crate) fn label_ref(keyring: &Keyring, scope: Scope, external_user_id: &str) -> Vec<u8> {
    keyring.blind(scope, "external user id", external_user_id)
}
