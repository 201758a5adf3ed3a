//! The buttons that a page offers on a proposal, which are those that the server accepts, and the reasons for
//! missing ones. The rules are in `service::four_eyes`.

use axum::response::Response;
use serde::Deserialize;
use service::Shared;
use service::four_eyes::pages::{Members, Obstacle, Outdated, ProposalFacts};
use service::permissions::{Action, Grantee};
use service::problem::Problem;

use super::flows::sentences;
use super::page::{Page, done};
use super::session::Member;

/// What the reader may do with a proposal.
pub struct Offer {
    /// Whether the reader may agree to the proposal.
    pub may_confirm: bool,
    /// Whether agreement only makes the reader the proposer.
    pub is_support: bool,
    /// Whether the reader may reject the proposal, or withdraw it if it is the reader's own.
    pub may_drop: bool,
    /// Whether the reader made the proposal.
    pub is_own: bool,
    /// Sentences that state why a button is missing and what happens next.
    pub notes: Vec<String>,
}

impl Offer {
    /// Determines what a member may do with a proposal.
    pub fn new(
        page: &Page,
        member: &Member,
        members: &Members,
        proposed: &ProposalFacts,
        outdated: Option<Outdated>,
    ) -> Offer {
        let obstacle = members.obstacle(proposed, member.staff_id);
        let may_confirm = outdated.is_none() && obstacle.is_none();
        let is_support = members.is_support(proposed);
        let roles = roles(page, proposed.action);
        let say = |key: &str| page.t1(key, "roles", &roles);
        let mut notes = Vec::new();
        if let Some(outdated) = outdated {
            notes.push(page.t(match outdated {
                Outdated::Changed => "second.outdated",
                Outdated::NameTaken => "second.name_taken",
            }));
        } else {
            notes.extend(obstacle.map(|obstacle| say(obstacle_text_key(obstacle, proposed))));
            if may_confirm && is_support {
                notes.push(page.t("second.support_hint"));
            }
            if members.is_stuck(proposed) && obstacle != Some(Obstacle::ProposerGone) {
                notes.push(say(match (proposed.about, proposed.by) {
                    (Some(_), _) => "second.nobody.member",
                    (None, None) => "second.nobody.command_line",
                    (None, Some(_)) => "second.nobody",
                }));
            }
        }
        Offer {
            may_confirm,
            is_support,
            may_drop: members.may_drop(proposed, member.staff_id),
            is_own: proposed.by == Some(member.staff_id),
            notes,
        }
    }
}

/// The text key that states why a member may not confirm.
fn obstacle_text_key(obstacle: Obstacle, proposed: &ProposalFacts) -> &'static str {
    match obstacle {
        Obstacle::Own if proposed.about.is_some() => "second.why.let_in",
        Obstacle::Own => "second.why.own",
        Obstacle::Subject => "second.why.subject",
        Obstacle::Role => "second.why.role",
        Obstacle::NotCounted => "second.why.not_counted",
        Obstacle::InviterNotCounted => "second.why.inviter_not_counted",
        Obstacle::TooNew => "second.why.too_new",
        Obstacle::ProposerGone => "second.why.proposer_gone",
        Obstacle::ProposerNotCounted => "second.why.proposer_not_counted",
    }
}

/// The names of the roles that may perform an action.
fn roles(page: &Page, action: Action) -> String {
    let Grantee::Roles(roles) = action.who() else {
        return String::new();
    };
    let names: Vec<String> = roles
        .iter()
        .map(|role| page.word("role", role.as_str()))
        .collect();
    sentences::list(page, &names, "or")
}

/// Redirects after a form that made a proposal. The status message also states what to do if no other member
/// may confirm it.
pub async fn redirect_after_proposal(
    app: &Shared,
    member: &Member,
    path: &str,
    (action, key): (Action, &str),
) -> Result<Response, Problem> {
    let members = Members::of(&mut app.db.read().await?, member.scope()?.merchant_id).await?;
    if !members.is_alone(member.staff_id, action) {
        return Ok(done(path, key));
    }
    let role = match action {
        Action::ManageCompany => "company",
        Action::Decide => "decide",
        _ => "rules",
    };
    Ok(done(path, &format!("proposed_alone_{role}")))
}

/// A form that answers a proposal.
#[derive(Deserialize)]
pub struct AnswerForm {
    version: Option<i64>,
}

impl AnswerForm {
    /// When the proposal was made or supported (ms), as the page showed it.
    ///
    /// # Errors
    /// 400 if the field is missing.
    pub fn version(&self) -> Result<i64, Problem> {
        self.version.ok_or_else(version_missing)
    }
}

/// The error for a form without the version of the state that was reviewed.
pub fn version_missing() -> Problem {
    let text = "version - is required: reload the page and try again";
    Problem::invalid(text).named("version_required")
}
