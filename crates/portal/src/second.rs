//! "Needs second approval": everything that waits for a second person, with the information for the decision.
//! The rules are in `service::{four_eyes, reviews}`.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use axum_extra::extract::Form;
use http_server::error::Rejection;
use service::four_eyes::pages::{self, Members, ProposalFacts};
use service::four_eyes::{self, AnswerOutcome, Change, PendingProposal};
use service::permissions::Action;
use service::problem::{Kind, Problem};
use service::{Shared, applicant_view};
use store::review::{self, Filter, QueueOrder, QueuePosition};
use uuid::Uuid;

use super::page::{Page, done, html};
use super::proposal::{AnswerForm, Offer};
use super::routes::Routes;
use super::session::Member;

const HERE: &str = "/portal/second";
/// The most attempts with a proposed decision that are listed; the queue lists all of them.
const MOST_ATTEMPTS: i64 = 100;

/// Adds this area's routes.
pub fn routes(routes: Routes) -> Routes {
    routes
        .get(HERE, Action::SecondApproval, page)
        .post(
            "/portal/second/{proposalId}/confirm",
            Action::SecondApproval,
            confirm,
        )
        .post(
            "/portal/second/{proposalId}/reject",
            Action::SecondApproval,
            reject,
        )
}

struct Row {
    waiting: PendingProposal,
    kind: &'static str,
    who: String,
    /// The subject's name: a Flow, a listing, or a member.
    name: String,
    /// The page that shows the subject.
    link: Option<String>,
    /// What the reader may do with the proposal.
    offer: Offer,
    /// Why the act needs a second approval, if there are several possible reasons.
    because: String,
}

struct Decision {
    log_id: i64,
    user: String,
    flow: String,
    who: String,
    is_own: bool,
}

#[derive(Template)]
#[template(path = "portal/second.html")]
struct SecondPage {
    page: Page,
    rows: Vec<Row>,
    decisions: Vec<Decision>,
}

async fn page(State(app): State<Shared>, member: Member, page: Page) -> Result<Response, Rejection> {
    let scope = member.scope()?;
    let mut conn = app.db.read().await?;
    let waiting = four_eyes::pending_proposals(&mut conn, scope).await?;
    let filter = Filter {
        proposed: true,
        ..Filter::default()
    };
    let attempts = review::queue(
        &mut conn,
        scope,
        &filter,
        QueueOrder::Oldest,
        QueuePosition::default(),
        MOST_ATTEMPTS,
    )
    .await?;
    let members: Vec<Option<Uuid>> = waiting.iter().map(|one| ProposalFacts::from(one).about).collect();
    let mentioned = waiting
        .iter()
        .map(|waiting| waiting.staff_id)
        .chain(members.iter().copied())
        .chain(attempts.iter().map(|attempt| attempt.proposed_by));
    let names = applicant_view::staff_names(&mut conn, mentioned.flatten().collect()).await?;
    let colleagues = Members::of(&mut conn, scope.merchant_id).await?;
    let mut offers = Vec::with_capacity(waiting.len());
    for one in &waiting {
        let outdated = pages::outdated(&mut conn, scope.merchant_id, one).await?;
        offers.push(Offer::new(&page, &member, &colleagues, &one.into(), outdated));
    }
    drop(conn);
    let who = |staff_id: Option<Uuid>| named(&page, &names, staff_id);
    let rows = waiting
        .into_iter()
        .zip(members)
        .zip(offers)
        .map(|((waiting, about), offer)| Row {
            kind: waiting.change.kind(),
            who: who(waiting.staff_id),
            name: about.map_or_else(|| waiting.name.clone(), |id| who(Some(id))),
            link: link(&waiting),
            offer,
            because: change_reason(&page, &waiting.change),
            waiting,
        })
        .collect();
    let decisions: Vec<Decision> = attempts
        .iter()
        .map(|attempt| Decision {
            log_id: attempt.log_id,
            user: attempt.external_user_id.clone(),
            flow: attempt.flow_name.clone(),
            who: match attempt.proposed_by {
                None if attempt.proposed_by_key => page.t("second.api_key"),
                proposer => who(proposer),
            },
            is_own: attempt.proposed_by == Some(member.staff_id),
        })
        .collect();
    let seen: Vec<i64> = decisions.iter().map(|decision| decision.log_id).collect();
    applicant_view::record_queue_view(&app, scope, &member.actor(), &seen).await?;
    Ok(html(SecondPage {
        page,
        rows,
        decisions,
    })?)
}

fn named(page: &Page, names: &BTreeMap<Uuid, String>, staff_id: Option<Uuid>) -> String {
    match staff_id {
        Some(id) => names.get(&id).cloned().unwrap_or_else(|| id.to_string()),
        None => page.t("second.command_line"),
    }
}

fn link(waiting: &PendingProposal) -> Option<String> {
    match &waiting.change {
        Change::SetAside { .. } => waiting
            .log_id
            .map(|log_id| format!("/portal/applicants/{log_id}#sanctions")),
        Change::CloseAlert { alert, .. } => Some(format!("/portal/alerts/{alert}")),
        Change::MergePeople { kept, merged, .. } => {
            Some(format!("/portal/people/{kept}/merge?with={merged}"))
        }
        Change::SplitPerson { person, .. } => Some(format!("/portal/people/{person}/split")),
        Change::Flow { flow_id, .. } => Some(format!("/portal/flows/{flow_id}")),
        Change::NewFlow { .. } | Change::Settings { .. } | Change::Member { .. } => None,
    }
}

fn change_reason(page: &Page, change: &Change) -> String {
    match change {
        Change::SetAside { why, .. } => page.word("review.suppress", why),
        Change::CloseAlert { why, reason, .. } => {
            format!("{}: {reason}", page.word("review.suppress", why))
        }
        Change::MergePeople { reason, .. } | Change::SplitPerson { reason, .. } => reason.clone(),
        Change::Member { doubt } => page.word("second.doubt", doubt),
        Change::Flow { .. } | Change::NewFlow { .. } | Change::Settings { .. } => String::new(),
    }
}

async fn confirm(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AnswerForm>,
) -> Result<Response, Rejection> {
    Ok(answer(&app, &member, id, true, &form).await?)
}

async fn reject(
    State(app): State<Shared>,
    member: Member,
    Path(id): Path<Uuid>,
    Form(form): Form<AnswerForm>,
) -> Result<Response, Rejection> {
    Ok(answer(&app, &member, id, false, &form).await?)
}

async fn answer(
    app: &Shared,
    member: &Member,
    id: Uuid,
    agrees: bool,
    form: &AnswerForm,
) -> Result<Response, Problem> {
    let scope = member.scope()?;
    let (_, waiting) = four_eyes::get(&mut app.db.read().await?, scope, id).await?;
    let is_own = waiting.staff_id == Some(member.staff_id);
    let withdraws = is_own && !agrees;
    if !member.may(waiting.change.action()) && !withdraws {
        return Err(Problem::new(Kind::Forbidden, "Your role does not allow this"));
    }
    let by = (member.staff_id, member.actor());
    let answer = (agrees, form.version()?);
    let answered = four_eyes::answer(&app.db, scope, id, answer, (by.0, &by.1)).await?;
    let key = match answered {
        AnswerOutcome::Done => "change_confirmed",
        AnswerOutcome::Adopted => "adopted",
        AnswerOutcome::Dropped => "change_rejected",
    };
    Ok(done(HERE, key))
}
