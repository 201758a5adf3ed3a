//! Removing a sanctions list where any account or Flow requires two people: the command line proposes, and
//! two operators agree in the console. A list concerns every account, so its removal is an act on the whole
//! installation.

use store::proposals::{self, InstallationProposal};
use store::{Conn, Db, audit, operator_audit, staff};
use uuid::Uuid;
use verification::four_eyes::{Act, needs_second};

use super::four_eyes::{self, Answered, By};
use crate::error::{Kind, Problem};

const KIND: &str = "remove_list";

/// Whether removing a list needs a second person.
pub async fn needs_two(conn: &mut Conn) -> Result<bool, Problem> {
    for merchant in store::merchants::list(conn).await? {
        let state = four_eyes::of_account(conn, merchant.id).await?;
        if needs_second(Act::RemoveList, state) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Records on the command line that a list is to be removed.
pub async fn propose(db: &Db, list: &str) -> Result<(), Problem> {
    store::transaction!(db, |tx| -> Result<(), Problem> {
        proposals::put_installation(tx, KIND, list).await?;
        note(tx, By::COMMAND_LINE.actor, "lists.removal_proposed", list).await
    })
}

async fn note(tx: &mut store::Tx, actor: &str, action: &str, list: &str) -> Result<(), Problem> {
    let entry = audit::Entry {
        actor,
        action,
        subject: list,
        detail: "{}",
    };
    Ok(operator_audit::write(tx, &entry).await?)
}

/// The removals that wait for an operator.
pub async fn waiting(conn: &mut Conn) -> Result<Vec<InstallationProposal>, Problem> {
    let mut all = proposals::installation(conn).await?;
    all.retain(|one| one.kind == KIND);
    Ok(all)
}

/// An operator's answer to a removal, and the list. The first operator who agrees is the proposer; a second one confirms, and the
/// caller then removes the list.
pub async fn answer(db: &Db, id: Uuid, agrees: bool, staff_id: Uuid) -> Result<(Answered, String), Problem> {
    store::transaction!(db, |tx| -> Result<(Answered, String), Problem> {
        if !staff::lock_operator(tx, staff_id).await? {
            return Err(Problem::new(Kind::Forbidden, "You are no operator any more"));
        }
        let gone = || Problem::not_found("This removal is no longer pending").named("proposal_gone");
        let waiting = waiting(tx).await?.into_iter().find(|one| one.id == id);
        let waiting = waiting.ok_or_else(gone)?;
        let (actor, list) = (four_eyes::named(Some(staff_id)), waiting.subject);
        if agrees {
            let Some(proposer) = waiting.staff_id else {
                proposals::adopt_installation(tx, id, staff_id).await?;
                note(tx, &actor, "lists.removal_adopted", &list).await?;
                return Ok((Answered::Adopted, list));
            };
            let me = staff::get(tx, staff_id).await?;
            let is_new = me.is_none_or(|me| me.created_at > waiting.at);
            if proposer == staff_id || is_new || !staff::lock_operator(tx, proposer).await? {
                let text = "Another operator, who had access when this was proposed, must confirm it";
                return Err(Problem::new(Kind::Forbidden, text).named("proposal_own"));
            }
        }
        if !proposals::take_installation(tx, id).await? {
            return Err(gone());
        }
        let (answered, action) = match agrees {
            true => (Answered::Done, "lists.removal_confirmed"),
            false => (Answered::Dropped, "lists.removal_rejected"),
        };
        note(tx, &actor, action, &list).await?;
        Ok((answered, list))
    })
}
