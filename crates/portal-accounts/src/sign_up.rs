//! Self-service sign-up, where the operator allows it. Applicants for an account first prove their email
//! address by a link: it is sent by email or, if no mail server is set, made by an operator. The response
//! never depends on whether the address has an account.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use service::actor::of_staff;
use service::permissions::Role;
use service::problem::Problem;
use service::visitor::visitor;
use service::{App, operations};
use store::merchants::MerchantStatus;
use store::sign_ups::{self, SignUp};
use store::{Error, credentials, merchants, staff};
use uuid::Uuid;

use crate::devices::{Browser, SignedIn};
use crate::joining::{DAY_MS, INVITATION_MS, Newcomer, Outcome, Stop, create, outcome};
use crate::{audit_at, email_of, name_of, sign_in, throttle};

/// How long an emailed link can be used.
const LETTER_MS: i64 = DAY_MS;
/// How long a request is open for an operator.
const WAITING_MS: i64 = 30 * DAY_MS;
/// The maximum number of open requests.
const MOST: i64 = 10_000;
/// The maximum number of requests that an operator sees at once.
const SHOWN: i64 = 200;

/// 404 if sign-up is not allowed, also for links that were made while it was.
pub fn only_where_allowed(app: &App) -> Result<(), Problem> {
    if app.config.sign_up_allowed() {
        return Ok(());
    }
    Err(Problem::not_found(
        "Accounts are by invitation only. Contact the operator of this installation",
    ))
}

/// The email that answers a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignUpEmail {
    /// A link that opens the account, as a path.
    Link(String),
    /// The address already has an account; the email informs its owner.
    AccountExists,
}

/// Requests an account. With a mail server, returns the address and the email to send; otherwise `None`, and
/// an operator answers the request.
pub async fn request_account(
    app: &App,
    company: &str,
    email: &str,
    address: IpAddr,
) -> Result<Outcome<Option<(String, SignUpEmail)>>, Problem> {
    only_where_allowed(app)?;
    throttle::count(app, &format!("sign-up {}", visitor(address)), address).await?;
    let (company, email) = match (name_of("company", company), email_of(email)) {
        (Ok(company), Ok(email)) => (company, email),
        (company, email) => return Ok(Err(company.err().into_iter().chain(email.err()).collect())),
    };
    let (whom, is_known) = {
        let mut conn = app.db.read().await?;
        let whom = staff::pseudonym(&conn, &email);
        (whom, staff::by_email(&mut conn, &email).await?.is_some())
    };
    // This limit prevents flooding one mailbox from many IP addresses.
    throttle::count(app, &format!("sign-up {whom}"), address).await?;
    let mails = app.mailer.is_some();
    let life = if mails { LETTER_MS } else { WAITING_MS };
    let token = store::transaction!(app.db, |tx| -> Result<Option<SecretString>, Problem> {
        let asked = match sign_ups::create(tx, &email, &company, life, MOST).await {
            Err(Error::LimitReached) => {
                let text = "There are too many pending account requests. Try again tomorrow";
                return Err(Problem::unavailable(text));
            }
            asked => asked?,
        };
        // A link is also made for an address that has an account, so that the response takes as long.
        match mails {
            true => Ok(sign_ups::make_link(tx, asked.id, life).await?),
            false => Ok(None),
        }
    })?;
    Ok(Ok(token.map(|token| match is_known {
        true => (email, SignUpEmail::AccountExists),
        false => (email, SignUpEmail::Link(path(&token))),
    })))
}

fn path(token: &SecretString) -> String {
    format!("/portal/sign-up/{}", token.expose_secret())
}

/// A request as an operator sees it.
#[derive(Clone, Debug)]
pub struct PendingSignUp {
    /// The request.
    pub asked: SignUp,
    /// Whether the address has an account already.
    pub is_known: bool,
}

/// The open requests, oldest first.
pub async fn pending_sign_ups(app: &App) -> Result<Vec<PendingSignUp>, Problem> {
    let mut conn = app.db.read().await?;
    let mut all = Vec::new();
    for asked in sign_ups::list_unanswered(&mut conn, SHOWN).await? {
        let is_known = staff::by_email(&mut conn, &asked.email).await?.is_some();
        all.push(PendingSignUp { asked, is_known });
    }
    Ok(all)
}

/// Creates the link that opens an account and returns its path. The operator must know who owns the address.
/// 404 without such a request.
pub async fn make_link(app: &App, by: Uuid, id: Uuid) -> Result<String, Problem> {
    only_where_allowed(app)?;
    store::transaction!(app.db, |tx| -> Result<String, Problem> {
        let token = sign_ups::make_link(tx, id, INVITATION_MS).await?;
        let token = token.ok_or_else(no_request)?;
        operations::record(tx, &of_staff(by), "sign_up.answered", &id.to_string()).await?;
        Ok(path(&token))
    })
}

/// Deletes a request; 404 if there is none.
pub async fn dismiss(app: &App, by: Uuid, id: Uuid) -> Result<(), Problem> {
    store::transaction!(app.db, |tx| -> Result<(), Problem> {
        if !sign_ups::delete(tx, id).await? {
            return Err(no_request());
        }
        Ok(operations::record(tx, &of_staff(by), "sign_up.dismissed", &id.to_string()).await?)
    })
}

fn no_request() -> Problem {
    Problem::not_found("There is no such request, or it has already been answered")
}

/// The request behind a link, without using it up. 404 if the link is no longer valid.
pub async fn read_request(app: &App, token: &str) -> Result<SignUp, Problem> {
    only_where_allowed(app)?;
    let found = sign_ups::by_token(&mut app.db.read().await?, token).await?;
    found.ok_or_else(bad_link)
}

fn bad_link() -> Problem {
    Problem::not_found(
        "This link is no longer valid. If you created an account with it, sign in. If not, request an account again.",
    )
}

/// Opens an account by a link: a draft with reserved API keys, and its owner, who is signed in.
pub async fn open_account(
    app: &App,
    token: &str,
    name: &str,
    password: &SecretString,
    browser: &Browser,
) -> Result<Outcome<SignedIn>, Problem> {
    let asked = read_request(app, token).await?;
    let newcomer = Newcomer {
        email: asked.email,
        name: name.to_owned(),
        password: password.clone(),
    };
    let newcomer = match newcomer.checked(app).await? {
        Ok(newcomer) => newcomer,
        Err(faults) => return Ok(Err(faults)),
    };
    let hash = newcomer.hashed(app).await?;
    let made = store::transaction!(app.db, |tx| -> Result<SignedIn, Stop> {
        if !sign_ups::delete(tx, asked.id).await? {
            return Err(bad_link().into());
        }
        let member = create(tx, &newcomer, &hash, false).await?;
        let merchant = merchants::create(tx, &asked.company, MerchantStatus::Draft, "{}").await?;
        // The keys' secrets are created and shown on the page that manages keys.
        for sandbox in [false, true] {
            credentials::reserve(tx, merchant.id, sandbox).await?;
        }
        staff::join(tx, merchant.id, member.id, Role::Owner.as_str()).await?;
        let (by, subject) = (of_staff(member.id), merchant.id.to_string());
        audit_at(tx, merchant.id, &by, "merchant.signed_up", &subject, "{}").await?;
        operations::record(tx, &by, "merchant.signed_up", &subject).await?;
        Ok(sign_in(app, tx, &member, browser).await?)
    });
    outcome(made)
}
