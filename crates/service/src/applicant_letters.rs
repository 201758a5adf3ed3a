//! Letters to applicants about their invitations (`docs/decisions/0066-emails-to-applicants.md`): sends what is queued, reminds,
//! and renews expired invitations on request. A letter goes only to the address that the merchant gave. Its link has a
//! token of its own, which exists only in the letter. This module judges no attempt.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use store::applicant_invitations::{self, Invitation, InvitationStatus, NewInvitation};
use store::applicant_letters::{self, LetterKind, LetterState, QueuedLetter};
use store::audit::{self, Entry};
use store::merchants::Merchant;
use store::{Scope, Tx, admissions};
use tokio::sync::Semaphore;
use uuid::Uuid;
use verification::invitation::{
    MOST_LETTERS, MOST_RENEWALS, NoLetter, REMINDER_BEFORE_END_MS, check_letter, next_reminder,
};

use super::applicant_invitations::{self as invitations, sends_letters, times};
use super::background::Job;
use super::mail::{Letter, MailOutcome, Sender};
use super::{App, Shared, branding, sessions};
use crate::caller::{self, Caller};
use crate::letter_texts::{self, Filling};
use crate::problem::{Family, Kind, Problem};

/// When a claim expires. It begins again when the letter is handed to the mail server, which may take
/// [`SENT_WITHIN`](super::mail::SENT_WITHIN).
const LEASE_MS: i64 = 6 * 60 * 1_000;
/// The most letters that a node sends at once, so that one that hangs does not delay the others.
const AT_ONCE: usize = 8;
/// The most letters that are begun between two looks for reminders.
const A_ROUND: u64 = 100;
/// The waits between tries.
const WAITS: [Duration; 6] = [
    Duration::from_mins(1),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(8),
    Duration::from_hours(24),
];
/// How long letters wait that cannot be sent now: their account has reached its limit or is suspended, the Flow is not in
/// the Group, an attempt is in review, or a record cannot be read (ms).
const LATER_MS: i64 = 15 * 60 * 1_000;
/// The period of the limit (ms).
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// How long a reminder waits that cannot be sent now (ms).
const REMIND_LATER_MS: i64 = 60 * 60 * 1_000;
/// How many reminders are queued at once.
const REMINDERS_AT_ONCE: i64 = 50;

/// Sends letters for as long as the server runs.
pub async fn run(app: Shared) {
    if !sends_letters(&app) {
        return;
    }
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        tokio::time::sleep(Job::Letters.interval()).await;
        let reminded = remind_all(&app).await;
        let mut begun = Ok(0);
        while begun.as_ref().is_ok_and(|count| *count < A_ROUND)
            && let Ok(place) = Arc::clone(&places).acquire_owned().await
        {
            let letter = match next(&app).await {
                Ok(Some(letter)) => letter,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "letters to applicants cannot be claimed");
                    begun = Err(error.into());
                    break;
                }
            };
            begun = begun.map(|count| count + 1);
            let app = Arc::clone(&app);
            tokio::spawn(async move {
                if let Err(problem) = deliver(&app, &letter).await {
                    tracing::warn!(%problem, letter = %letter.id, "a letter to an applicant could not be sent");
                }
                drop(place);
            });
        }
        let outcome = reminded.and(begun);
        app.background.record_run(Job::Letters, &outcome);
    }
}

/// Queues the reminders that are due. One that fails does not hold up the others.
async fn remind_all(app: &App) -> Result<(), Problem> {
    let due = applicant_invitations::to_remind(&mut app.db.read().await?, REMINDERS_AT_ONCE).await?;
    let mut outcome = Ok(());
    for (scope, id) in due {
        if let Err(problem) = remind_if_due(app, scope, id).await {
            tracing::warn!(%problem, invitation = %id, "an applicant could not be reminded");
            let later = store::transaction!(app.db, |tx| -> Result<(), store::Error> {
                let at = tx.now() + REMIND_LATER_MS;
                applicant_invitations::postpone_reminder(tx, scope, id, Some(at)).await
            });
            outcome = later.map_err(Problem::from).and(Err(problem));
        }
    }
    outcome
}

async fn next(app: &App) -> Result<Option<QueuedLetter>, store::Error> {
    if !applicant_letters::is_due(&mut app.db.read().await?).await? {
        return Ok(None);
    }
    store::transaction!(app.db, |tx| -> Result<Option<QueuedLetter>, store::Error> {
        applicant_letters::claim(tx, LEASE_MS).await
    })
}

/// What is to be done with a claimed letter.
enum Plan {
    Send(Box<(Sender, Letter)>),
    /// Another node has it.
    Nothing,
    Void,
    Later,
    /// As [`Plan::Later`], for all letters of the account.
    AccountLater,
}

/// Whether an account may have letters sent.
fn may_send(merchant: &Merchant, scope: Scope) -> bool {
    caller::check_account_may_call(merchant.status, scope.sandbox, Family::Exchange).is_ok()
}

/// The value, or `None` for a refusal. A failure of the server stays one.
fn unless_refused<T>(found: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match found {
        Err(problem) if problem.status(Family::Exchange).is_server_error() => Err(problem),
        found => Ok(found.ok()),
    }
}

async fn merchant_of(tx: &mut Tx, scope: Scope) -> Result<Merchant, store::Error> {
    store::merchants::get(tx, scope.merchant_id)
        .await?
        .ok_or(store::Error::Missing("merchant"))
}

/// Decides about a claimed letter in the transaction that gives its invitation a token, so that no letter has a link to an
/// invitation that ended before.
async fn plan(app: &App, tx: &mut Tx, letter: &QueuedLetter) -> Result<Plan, Problem> {
    let (scope, id) = (letter.scope, letter.invitation_id);
    applicant_invitations::lock(tx, scope, id).await?;
    let merchant = merchant_of(tx, scope).await?;
    let Some(invitation) = applicant_invitations::get(tx, scope, id).await? else {
        return Ok(Plan::Void);
    };
    if invitation.status == InvitationStatus::InReview {
        return Ok(Plan::Later);
    }
    let Some(invitation) = unless_refused(invitations::usable(tx, scope, id).await)? else {
        return Ok(Plan::Void);
    };
    let Some(recipient) = &invitation.recipient else {
        return Ok(Plan::Void);
    };
    if !invitations::accepts(tx, scope, recipient).await? {
        return Ok(Plan::Void);
    }
    // A Flow can return to its Group, and an account can be active again.
    let is_configured = unless_refused(sessions::configuration(tx, scope, &invitation.link).await)?.is_some();
    if !is_configured || !may_send(&merchant, scope) {
        return Ok(Plan::Later);
    }
    let since = tx.now() - DAY_MS;
    let is_counted = letter.handed_at.is_some_and(|at| at >= since);
    let limit = i64::from(app.config.mail_per_day);
    if !is_counted && applicant_letters::reached(tx, scope.merchant_id, since, limit).await? {
        return Ok(Plan::AccountLater);
    }
    let branding = branding::branding(&merchant)?;
    if !applicant_letters::hand_over(tx, letter, LEASE_MS).await? {
        return Ok(Plan::Nothing);
    }
    let token = applicant_invitations::add_token(tx, scope, id).await?;
    let name = letter_texts::plain_name(&branding.name);
    let filling = Filling {
        merchant: &name,
        link: &format!("{}&lang={}", invitations::url(app, &token), recipient.language),
        until: invitation.expires_at,
    };
    let (subject, text) = letter_texts::letter(letter.kind, &recipient.language, &filling);
    let sender = Sender {
        name,
        reply_to: branding.contact.filter(|contact| !contact.contains("://")),
        id: letter.id.to_string(),
    };
    let letter = Letter {
        to: recipient.email.clone(),
        subject,
        text,
    };
    Ok(Plan::Send(Box::new((sender, letter))))
}

async fn deliver(app: &App, letter: &QueuedLetter) -> Result<(), Problem> {
    let Some(mailer) = &app.mailer else { return Ok(()) };
    let planned = store::transaction!(app.db, |tx| -> Result<Plan, Problem> {
        plan(app, tx, letter).await
    });
    let outcome = match planned {
        Ok(Plan::Send(message)) => {
            let (sender, message) = *message;
            mailer.send_as(sender, message).await
        }
        Ok(Plan::Nothing) => return Ok(()),
        Ok(Plan::Void) => return finish(app, letter, LetterState::Void).await,
        Ok(Plan::Later) => return put_back(app, letter, LATER_MS).await,
        Ok(Plan::AccountLater) => {
            store::transaction!(app.db, |tx| -> Result<(), store::Error> {
                let due_at = tx.now() + LATER_MS;
                applicant_letters::put_back_account(tx, letter, due_at).await
            })?;
            return Ok(());
        }
        Err(problem) => {
            put_back(app, letter, LATER_MS).await?;
            return Err(problem);
        }
    };
    let wait = usize::try_from(letter.tries)
        .ok()
        .and_then(|index| WAITS.get(index));
    match (outcome, wait) {
        (MailOutcome::Accepted, _) => finish(app, letter, LetterState::Sent).await,
        (MailOutcome::NotNow, Some(wait)) => {
            let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            put_back(app, letter, wait).await
        }
        (MailOutcome::NotNow, None) | (MailOutcome::Refused, _) => {
            finish(app, letter, LetterState::Failed).await
        }
    }
}

async fn put_back(app: &App, letter: &QueuedLetter, wait_ms: i64) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), store::Error> {
        let due_at = tx.now().saturating_add(wait_ms);
        applicant_letters::put_back(tx, letter, due_at).await
    })?;
    Ok(())
}

async fn finish(app: &App, letter: &QueuedLetter, state: LetterState) -> Result<(), Problem> {
    let is_counted = store::transaction!(app.db, |tx| -> Result<bool, store::Error> {
        applicant_letters::finish(tx, letter, state).await
    })?;
    if is_counted {
        metrics::counter!("bonafide_applicant_letters_total", "result" => state.as_str()).increment(1);
    }
    Ok(())
}

/// What is to be done about a reminder that is due.
enum Reminding {
    Send {
        hours: u32,
    },
    /// No further one.
    Stop,
    Later,
}

async fn reminding(tx: &mut Tx, scope: Scope, invitation: &Invitation) -> Result<Reminding, Problem> {
    let has_attempts = invitation.attempts < invitation.max_attempts;
    if invitation.expires_at - REMINDER_BEFORE_END_MS < tx.now() || !has_attempts {
        return Ok(Reminding::Stop);
    }
    let letters = applicant_letters::of_invitation(tx, scope, invitation.id).await?;
    if letters.count >= MOST_LETTERS {
        return Ok(Reminding::Stop);
    }
    let merchant = merchant_of(tx, scope).await?;
    let rules = unless_refused(sessions::rules(tx, scope, &invitation.link).await)?;
    // A person who is just verifying needs no reminder.
    let is_at_it = !applicant_invitations::open_sessions_of(tx, scope, invitation.id)
        .await?
        .is_empty();
    let Some(rules) = rules.filter(|_| may_send(&merchant, scope) && !is_at_it && !letters.has_queued) else {
        return Ok(Reminding::Later);
    };
    Ok(match rules.settings.reminder_hours {
        // They were turned off since.
        0 => Reminding::Stop,
        hours => Reminding::Send { hours },
    })
}

/// Queues the reminder of an invitation whose reminder is due, or postpones it.
async fn remind_if_due(app: &App, scope: Scope, id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        applicant_invitations::lock(tx, scope, id).await?;
        let found = applicant_invitations::get(tx, scope, id).await?;
        let now = tx.now();
        let Some(invitation) = found.filter(|invitation| invitation.remind_at.is_some_and(|at| at <= now))
        else {
            return Ok(());
        };
        match reminding(tx, scope, &invitation).await? {
            Reminding::Send { hours } => {
                applicant_letters::enqueue(tx, scope, id, LetterKind::Reminder).await?;
                count_reminder(tx, scope, &invitation, hours).await?;
            }
            Reminding::Stop => applicant_invitations::postpone_reminder(tx, scope, id, None).await?,
            Reminding::Later => {
                let later = Some(now + REMIND_LATER_MS);
                applicant_invitations::postpone_reminder(tx, scope, id, later).await?;
            }
        }
        Ok(())
    })
}

/// Counts a reminder and schedules the next one.
async fn count_reminder(
    tx: &mut Tx,
    scope: Scope,
    invitation: &Invitation,
    hours: u32,
) -> Result<(), store::Error> {
    let reminders = invitation.reminders + 1;
    let next = next_reminder(tx.now(), hours, reminders, invitation.expires_at);
    applicant_invitations::set_reminder(tx, scope, invitation.id, reminders, next).await
}

/// An invitation and a further token of it.
type WithToken = (Invitation, SecretString);

/// Reminds an applicant: sends a letter if there is an address. Returns the invitation and a further link to it, for a
/// merchant who sends the reminder.
///
/// # Errors
/// 404 for an unknown invitation; a conflict if it has ended or is reviewed, or has had enough letters; 429 soon after
/// another letter.
pub async fn remind(app: &App, caller: &Caller, id: &str) -> Result<(Invitation, String), Problem> {
    let id = invitations::parse_id(id)?;
    let (scope, subject) = (caller.scope, id.to_string());
    let (invitation, token) = store::transaction!(app.db, |tx| -> Result<WithToken, Problem> {
        let invitation = invitations::lock_known(tx, scope, id).await?;
        invitations::check_open(&invitation)?;
        let Some(invitation) = unless_refused(invitations::usable(tx, scope, id).await)? else {
            return Err(invitations::ended(InvitationStatus::Expired));
        };
        let Some(rules) = unless_refused(sessions::rules(tx, scope, &invitation.link).await)? else {
            let text = "The link does not work now, because the Flow is not in the Group. Add the Flow to the Group, or create another invitation";
            return Err(Problem::new(Kind::Conflict, text).named("flow_unavailable"));
        };
        if invitation.recipient.is_some() && sends_letters(app) && needs_letter(tx, scope, id).await? {
            applicant_letters::enqueue(tx, scope, id, LetterKind::Reminder).await?;
        }
        count_reminder(tx, scope, &invitation, rules.settings.reminder_hours).await?;
        let token = applicant_invitations::add_token(tx, scope, id).await?;
        audit::write(tx, scope, &caller.audit_entry("invitation.reminded", &subject)).await?;
        let invitation = applicant_invitations::get(tx, scope, id).await?;
        Ok((invitation.ok_or_else(invitations::unknown)?, token))
    })?;
    Ok((invitation, invitations::url(app, &token)))
}

/// Whether a request causes a letter about an invitation.
async fn needs_letter(tx: &mut Tx, scope: Scope, id: Uuid) -> Result<bool, Problem> {
    let letters = applicant_letters::of_invitation(tx, scope, id).await?;
    check_letter(tx.now(), letters.count, letters.newest_at, letters.has_queued).map_err(|why| match why {
        NoLetter::Pause(wait_ms) => {
            let wait = Duration::from_millis(wait_ms.unsigned_abs());
            let text = "An email about this invitation was queued less than ten minutes ago. Try again after the time in Retry-After, or send the link that you have";
            Problem::new(Kind::RateLimited, text).named("email_too_soon").retry_after(wait)
        }
        NoLetter::Enough => {
            let text = format!(
                "An invitation has at most {MOST_LETTERS} emails. Send the link that you have, or create another invitation"
            );
            Problem::new(Kind::Conflict, text).named("email_limit")
        }
    })
}

/// Sends a new link in place of an expired invitation, if the merchant gave an address and the Flow renews invitations.
/// The result is the same in all cases. Only the time that it takes may differ, for a caller who has a token.
///
/// # Errors
/// When the store fails.
pub async fn renew(app: &App, token: &str) -> Result<(), Problem> {
    let found = applicant_invitations::of_token(&mut app.db.read().await?, token).await?;
    let Some((merchant, scope, id)) = found.filter(|_| sends_letters(app)) else {
        return Ok(());
    };
    if !may_send(&merchant, scope) {
        return Ok(());
    }
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        renew_in(tx, scope, id).await
    })
}

async fn renew_in(tx: &mut Tx, scope: Scope, first: Uuid) -> Result<(), Problem> {
    applicant_invitations::lock(tx, scope, first).await?;
    let id = applicant_invitations::lock_newest(tx, scope, first).await?;
    let Some(invitation) = applicant_invitations::get(tx, scope, id).await? else {
        return Ok(());
    };
    let is_over = invitation.expires_at <= tx.now();
    match invitation.status {
        // The letter about the new one was lost, or the person presses again.
        InvitationStatus::Open if !is_over && id != first => {
            let needs_letter = unless_refused(needs_letter(tx, scope, id).await)?;
            if invitation.recipient.is_some() && needs_letter == Some(true) {
                applicant_letters::enqueue(tx, scope, id, LetterKind::Renewal).await?;
            }
            Ok(())
        }
        InvitationStatus::Expired => replace(tx, scope, invitation).await,
        // Housekeeping will end it within minutes. A session that it opened may still run.
        InvitationStatus::Open if is_over => {
            for session in applicant_invitations::open_sessions_of(tx, scope, id).await? {
                admissions::expire_if_due(tx, scope, session).await?;
            }
            if !applicant_invitations::open_sessions_of(tx, scope, id)
                .await?
                .is_empty()
            {
                return Ok(());
            }
            applicant_invitations::end_by_time(tx, scope, id, MOST_RENEWALS).await?;
            replace(tx, scope, invitation).await
        }
        _ => Ok(()),
    }
}

/// Replaces an expired invitation by a new one that continues its count of attempts.
async fn replace(tx: &mut Tx, scope: Scope, old: Invitation) -> Result<(), Problem> {
    let is_renewable = old.attempts < old.max_attempts && old.renewals < MOST_RENEWALS;
    let rules = unless_refused(sessions::rules(tx, scope, &old.link).await)?;
    let rules = rules.filter(|rules| rules.settings.renew_invitations && is_renewable);
    let (Some(rules), Some(recipient)) = (rules, old.recipient) else {
        return Ok(());
    };
    let (expires_at, remind_at) = times(tx.now(), &rules.settings);
    let new = NewInvitation {
        recipient: Some(recipient),
        attempts: old.attempts,
        remind_at,
        renews: Some(old.id),
        renewals: old.renewals + 1,
        import_id: old.import_id,
        ..NewInvitation::new(old.link, old.max_attempts, expires_at)
    };
    // Its first token is not used: the letter gets another one.
    let (made, _) = applicant_invitations::create(tx, scope, new).await?;
    applicant_invitations::set_renewed(tx, scope, old.id, made.id).await?;
    applicant_letters::enqueue(tx, scope, made.id, LetterKind::Renewal).await?;
    for (action, id, detail) in [
        ("invitation.renewed", old.id, json!({"by": made.id})),
        ("invitation.created", made.id, json!({"renews": old.id})),
    ] {
        let (subject, detail) = (id.to_string(), detail.to_string());
        let entry = Entry {
            actor: "hosted page",
            action,
            subject: &subject,
            detail: &detail,
        };
        audit::write(tx, scope, &entry).await?;
    }
    Ok(())
}
