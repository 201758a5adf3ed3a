//! Actors: who did something, as the audit trail names them.

use uuid::Uuid;

/// The member of staff that an audit row's or decision's actor names, if it names one.
pub fn staff_id(actor: &str) -> Option<Uuid> {
    actor.strip_prefix("staff:")?.parse().ok()
}

/// An actor: a member of staff, or the command line, which does not count as a person.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// The member of staff; `None`: the command line or another actor.
    pub staff_id: Option<Uuid>,
    /// The actor's name in the audit trail.
    pub actor: &'a str,
}

impl<'a> By<'a> {
    /// The command line.
    pub const COMMAND_LINE: By<'static> = By {
        staff_id: None,
        actor: "command line",
    };

    /// The actor with this name in the audit trail.
    pub fn actor(actor: &'a str) -> Self {
        By {
            staff_id: staff_id(actor),
            actor,
        }
    }
}

/// A member of staff as audit rows and decisions name them.
pub fn of_staff(staff_id: Uuid) -> String {
    format!("staff:{staff_id}")
}

/// An API key as audit rows and decisions name it, with the member whom its request named as responsible.
pub fn of_key(key: &str, reviewer: Uuid) -> String {
    format!("{key} for staff:{reviewer}")
}

/// The API key and the member of [`of_key`]; `None` for other actors.
pub fn key_and_reviewer(actor: &str) -> Option<(&str, Uuid)> {
    let (key, reviewer) = actor.split_once(" for ")?;
    Some((key, staff_id(reviewer)?))
}

/// A proposer's name in the audit trail; `None`: the command line.
pub fn actor_name(staff_id: Option<Uuid>) -> String {
    staff_id.map_or_else(|| By::COMMAND_LINE.actor.to_owned(), of_staff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_is_one_person_or_a_key_that_names_one() {
        let id = Uuid::from_u128(7);
        assert_eq!(
            key_and_reviewer(&of_key("bf_test_a", id)),
            Some(("bf_test_a", id))
        );
        assert_eq!(staff_id(&of_key("bf_test_a", id)), None, "a key is not a person");
        for actor in [
            of_staff(id),
            "bf_test_a".into(),
            "command line".into(),
            "a for b".into(),
        ] {
            assert_eq!(key_and_reviewer(&actor), None, "{actor}");
        }
    }
}
