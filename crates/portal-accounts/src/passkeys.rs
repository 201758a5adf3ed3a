//! Passkeys (WebAuthn level 3): adding and removing them, and checking an answer. A passkey verifies its owner by itself
//! (PIN, fingerprint or face), so it is both factors at once. The library `webauthn_rp` implements the protocol; this
//! module stores what it needs and never sees a private key.
//!
//! Between the options and the response, the browser stores the ceremony's state, authenticated by the store. So the
//! start of a ceremony writes nothing, and any node can check the response, which counts once.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use service::App;
use service::actor::of_staff;
use service::merchants::requires_second_factor;
use service::problem::Problem;
use store::staff_passkeys::{self, Credential, Passkey};
use store::{Conn, Error, Tx, portal_sessions, staff};
use uuid::Uuid;
use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::auth::AuthenticationVerificationOptions;
use webauthn_rp::request::register::{
    CredProtect, Nickname, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle16,
    Username,
};
use webauthn_rp::request::{
    AsciiDomain, DomainOrigin, ExtensionInfo, PublicKeyCredentialDescriptor, RpId, TimedCeremony,
};
use webauthn_rp::response::register::{CompressedPubKey, DynamicState, StaticState};
use webauthn_rp::response::{AuthTransports, CredentialId};
use webauthn_rp::{
    AuthenticatedCredential, DiscoverableAuthentication16, DiscoverableAuthenticationServerState,
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration,
    RegistrationServerState,
};

use crate::codes::{recovery_codes, recovery_form};
use crate::joining::Outcome;
use crate::{Fault, audit_everywhere, name_of};

/// The most passkeys of one member.
const MOST: usize = 20;
/// How long a used answer is remembered: longer than the library accepts one (five minutes).
const REMEMBERED: Duration = Duration::from_secs(10 * 60);
/// What an answer that proves a passkey is for.
const USE: &str = "use";

/// The public key of a stored credential.
type PublicKey = CompressedPubKey<[u8; 32], [u8; 32], [u8; 48], Vec<u8>>;

/// The random bytes that a browser's answer repeats. An answer is used up by them, so whatever else is in a ceremony's
/// state, its challenge counts once.
type Challenge = [u8; 16];

fn challenge_of(ceremony: &impl TimedCeremony) -> Challenge {
    ceremony.sent_challenge().0.to_le_bytes()
}

/// The site that passkeys belong to.
struct Site {
    /// Its host name.
    host: String,
    id: RpId,
    /// The origin that browsers report: scheme, host, and the port if it is not the scheme's.
    origin: String,
}

impl Site {
    /// The site of a public address. Browsers allow passkeys only for host names, over HTTPS or on `localhost`.
    fn of(public_url: &str) -> Option<Site> {
        let url = reqwest::Url::parse(public_url).ok()?;
        let host = url.domain()?.to_owned();
        let is_local = host == "localhost" || host.ends_with(".localhost");
        if url.scheme() != "https" && !is_local {
            return None;
        }
        Some(Site {
            id: RpId::Domain(AsciiDomain::try_from(host.clone()).ok()?),
            host,
            origin: url.origin().ascii_serialization(),
        })
    }

    /// Whether a passkey works here.
    fn accepts(&self, passkey: &Passkey) -> bool {
        passkey.site.as_ref().is_none_or(|site| *site == self.host)
    }

    fn origins(&self) -> Result<[DomainOrigin<'_, '_>; 1], Problem> {
        let origin = DomainOrigin::try_from(self.origin.as_str());
        Ok([origin.map_err(Problem::internal)?])
    }
}

fn site(app: &App) -> Result<Site, Problem> {
    Site::of(&app.public_url).ok_or_else(|| {
        Problem::invalid(
            "Passkeys require a public URL with a host name and HTTPS. An operator can set it with --public-url",
        )
    })
}

/// Whether browsers allow passkeys at this installation's public address.
pub fn are_possible(app: &App) -> bool {
    Site::of(&app.public_url).is_some()
}

/// Whether a passkey works at this installation's public address. After a change of the host name, it no longer does.
pub fn is_usable(app: &App, passkey: &Passkey) -> bool {
    Site::of(&app.public_url).is_some_and(|site| site.accepts(passkey))
}

/// Whether a member has a passkey that works at this installation's public address.
pub async fn is_any_usable(app: &App, staff_id: Uuid) -> Result<bool, Problem> {
    let mut conn = app.db.read().await?;
    is_any_usable_of(app, &mut conn, staff_id).await
}

/// Does the same on a connection.
pub(crate) async fn is_any_usable_of(app: &App, conn: &mut Conn, staff_id: Uuid) -> Result<bool, Problem> {
    match Site::of(&app.public_url) {
        Some(site) => Ok(staff_passkeys::is_any_of_site(conn, staff_id, &site.host).await?),
        None => Ok(false),
    }
}

/// A question for a browser, and what it sends back with the answer.
#[derive(Debug)]
pub struct CeremonyOptions {
    /// The options for the browser, as JSON: `PublicKeyCredentialCreationOptionsJSON` or
    /// `PublicKeyCredentialRequestOptionsJSON` of WebAuthn level 3.
    pub options: String,
    /// The ceremony's state.
    pub ceremony: String,
}

/// An answer to a question, as the portal's script puts it into a form.
#[derive(Deserialize)]
struct Answer<'a> {
    ceremony: String,
    #[serde(borrow)]
    credential: &'a serde_json::value::RawValue,
}

/// Whether the text of a form's field is the answer of a passkey and not a code or password.
pub(crate) fn is_answer(text: &str) -> bool {
    text.starts_with('{')
}

/// A member's passkeys, oldest first.
pub async fn list(app: &App, staff_id: Uuid) -> Result<Vec<Passkey>, Problem> {
    Ok(staff_passkeys::of_member(&mut app.db.read().await?, staff_id).await?)
}

/// The purpose of a ceremony that adds a passkey to one member, asked in one session.
fn purpose_of_adding(staff_id: Uuid, session_id: Uuid) -> String {
    format!("add {staff_id} {session_id}")
}

fn credential_id(passkey: &Passkey) -> Result<CredentialId<Vec<u8>>, Problem> {
    CredentialId::<Vec<u8>>::decode(passkey.credential.credential_id.clone()).map_err(Problem::internal)
}

/// Asks a member's browser for a new passkey. `None` if the member has no room for another.
pub async fn start_registration(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
) -> Result<Option<CeremonyOptions>, Problem> {
    let site = site(app)?;
    let mut conn = app.db.read().await?;
    let member = staff::get(&mut conn, staff_id).await?;
    let member = member.ok_or_else(|| Problem::not_found("This account no longer exists"))?;
    let passkeys = staff_passkeys::of_member(&mut conn, staff_id).await?;
    if passkeys.len() >= MOST {
        return Ok(None);
    }
    let known = passkeys.iter().map(|passkey| {
        let transports = AuthTransports::decode(passkey.credential.transports).map_err(Problem::internal)?;
        let id = credential_id(passkey)?;
        Ok::<_, Problem>(PublicKeyCredentialDescriptor { id, transports })
    });
    let known = known.collect::<Result<Vec<_>, _>>()?;
    let handle = handle_of(staff_id)?;
    let user = PublicKeyCredentialUserEntity {
        // An address or name that the protocol's profile of text refuses is left out.
        name: Username::try_from(member.email.as_str())
            .or_else(|_| Username::try_from("member"))
            .map_err(Problem::internal)?,
        id: &handle,
        display_name: Nickname::try_from(member.name.as_str()).ok(),
    };
    let mut options = PublicKeyCredentialCreationOptions::passkey(&site.id, user, known);
    // The library's default demands an extension that few phones and laptops have. Each use verifies the owner anyway.
    options.extensions.cred_protect =
        CredProtect::UserVerificationRequired(ExtensionInfo::AllowDontEnforceValue);
    let (kept, sent) = options.start_ceremony().map_err(Problem::internal)?;
    let state = kept.encode().map_err(Problem::internal)?;
    let purpose = purpose_of_adding(staff_id, session_id);
    Ok(Some(CeremonyOptions {
        options: serde_json::to_string(&sent).map_err(Problem::internal)?,
        ceremony: staff_passkeys::ceremony_text(&conn, &purpose, &state),
    }))
}

/// A passkey's user handle: the member's id. It says nothing about the person.
fn handle_of(staff_id: Uuid) -> Result<UserHandle16, Problem> {
    UserHandle16::decode(*staff_id.as_bytes()).map_err(Problem::internal)
}

/// A new passkey.
#[derive(Debug)]
pub struct NewPasskey {
    /// The session's new token.
    pub token: SecretString,
    /// Recovery codes, if the passkey is the member's first second factor. They are shown only once.
    pub recovery: Option<Vec<String>>,
}

/// Adds a passkey that answers [`start_registration`]. If it is the member's first second factor, other sessions end, because
/// they began without it.
pub async fn add(
    app: &App,
    staff_id: Uuid,
    session_id: Uuid,
    name: &str,
    answer: &str,
) -> Result<Outcome<NewPasskey>, Problem> {
    let name = match name_of("name", name) {
        Ok(name) => name,
        Err(fault) => return Ok(Err(vec![fault])),
    };
    let failed = || Ok(Err(vec![Fault::new("passkey", "accounts.fault.passkey_new")]));
    let site = site(app)?;
    let purpose = purpose_of_adding(staff_id, session_id);
    let Some((challenge, credential)) = new_credential(&app.db.read().await?, &site, &purpose, name, answer)?
    else {
        return failed();
    };
    let recovery = recovery_codes();
    let kept: Vec<String> = recovery.iter().filter_map(|code| recovery_form(code)).collect();
    let added = store::transaction!(app.db, |tx| -> Result<Option<NewPasskey>, Problem> {
        let is_first = !staff::lock(tx, staff_id).await?.has_second_factor();
        let has_room = staff_passkeys::of_member(tx, staff_id).await?.len() < MOST;
        if !has_room || !staff_passkeys::use_up(tx, &challenge, remembered_ms()).await? {
            return Ok(None);
        }
        let Credentials { fixed, state } = &credential;
        let id = staff_passkeys::add(tx, staff_id, &site.host, fixed, state).await?;
        if is_first {
            staff::set_recovery(tx, staff_id, &kept).await?;
            portal_sessions::end_all(tx, staff_id, Some(session_id)).await?;
        }
        audit_everywhere(
            tx,
            staff_id,
            &of_staff(staff_id),
            "staff.passkey_added",
            &detail(id),
        )
        .await?;
        Ok(Some(NewPasskey {
            token: portal_sessions::renew_authenticated(tx, session_id).await?,
            recovery: is_first.then(|| recovery.clone()),
        }))
    })?;
    added.map_or_else(failed, |added| Ok(Ok(added)))
}

/// The audit row's detail: which passkey. Its id says nothing about the person or the device.
fn detail(id: Uuid) -> String {
    serde_json::json!({ "passkey": id }).to_string()
}

/// A new credential in its stored form.
struct Credentials {
    fixed: Credential,
    state: Vec<u8>,
}

/// Checks the answer to [`start_registration`]. Returns the challenge and the credential; `None` if the answer is not
/// right.
fn new_credential(
    conn: &Conn,
    site: &Site,
    purpose: &str,
    name: String,
    answer: &str,
) -> Result<Option<(Challenge, Credentials)>, Problem> {
    let Ok(answer) = serde_json::from_str::<Answer<'_>>(answer) else {
        return Ok(None);
    };
    let Some(state) = staff_passkeys::ceremony_state(conn, purpose, &answer.ceremony) else {
        return Ok(None);
    };
    let asked = RegistrationServerState::<16>::decode(state.as_slice()).map_err(Problem::internal)?;
    let challenge = challenge_of(&asked);
    let Ok(registration) = Registration::from_json_relaxed(answer.credential.get().as_bytes()) else {
        return Ok(None);
    };
    let origins = site.origins()?;
    let options = RegistrationVerificationOptions::<DomainOrigin<'_, '_>, DomainOrigin<'_, '_>> {
        allowed_origins: &origins,
        // Level 3, section 7.1: a relying party must be ready for extensions that it did not ask for.
        error_on_unsolicited_extensions: false,
        ..RegistrationVerificationOptions::default()
    };
    let registered = match asked.verify(&site.id, &registration, &options) {
        Ok(registered) => registered,
        Err(why) => {
            tracing::info!("a new passkey was refused: {why}");
            return Ok(None);
        }
    };
    let fixed = Credential {
        name,
        credential_id: registered.id().encode().map_err(Problem::internal)?.to_vec(),
        transports: registered.transports().encode().map_err(Problem::internal)?,
        public_key: registered.static_state().encode().map_err(Problem::internal)?,
    };
    let new = registered.dynamic_state().encode().map_err(Problem::internal)?;
    Ok(Some((
        challenge,
        Credentials {
            fixed,
            state: new.to_vec(),
        },
    )))
}

fn remembered_ms() -> i64 {
    i64::try_from(REMEMBERED.as_millis()).unwrap_or(i64::MAX)
}

/// Removes one of a member's passkeys and ends the member's other sessions, because the device may be lost. It is
/// refused if it is the member's last second factor and one of the member's accounts requires one.
pub async fn remove(app: &App, staff_id: Uuid, session_id: Uuid, id: Uuid) -> Result<Outcome<()>, Problem> {
    let is_required = store::transaction!(app.db, |tx| -> Result<bool, Problem> {
        let has_totp = staff::lock(tx, staff_id).await?.has_totp;
        let passkeys = staff_passkeys::of_member(tx, staff_id).await?;
        let is_last = passkeys.len() == 1 && !has_totp;
        // A passkey of a former host name is no second factor that the member could use.
        let mut others = passkeys.iter().filter(|passkey| passkey.id != id);
        let leaves_none = !has_totp && !others.any(|passkey| is_usable(app, passkey));
        if leaves_none && is_second_factor_required(tx, staff_id).await? {
            return Ok(true);
        }
        if !staff_passkeys::remove(tx, staff_id, id).await? {
            return Err(Problem::not_found("There is no such passkey"));
        }
        if is_last {
            staff::set_recovery(tx, staff_id, &[]).await?;
        }
        portal_sessions::end_all(tx, staff_id, Some(session_id)).await?;
        audit_everywhere(
            tx,
            staff_id,
            &of_staff(staff_id),
            "staff.passkey_removed",
            &detail(id),
        )
        .await?;
        Ok(false)
    })?;
    Ok(match is_required {
        true => Err(vec![Fault::new("passkey", "accounts.fault.passkey_required")]),
        false => Ok(()),
    })
}

/// Whether one of a member's accounts requires a second factor.
pub(crate) async fn is_second_factor_required(tx: &mut Tx, staff_id: Uuid) -> Result<bool, Problem> {
    for (merchant, _) in staff::merchants_of(tx, staff_id).await? {
        if requires_second_factor(&merchant)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks a browser for any passkey of this site.
pub async fn start_authentication(app: &App) -> Result<CeremonyOptions, Problem> {
    let site = site(app)?;
    let conn = app.db.read().await?;
    let asked = DiscoverableCredentialRequestOptions::passkey(&site.id).start_ceremony();
    let (kept, sent) = asked.map_err(Problem::internal)?;
    let state = kept.encode().map_err(Problem::internal)?;
    Ok(CeremonyOptions {
        options: serde_json::to_string(&sent).map_err(Problem::internal)?,
        ceremony: staff_passkeys::ceremony_text(&conn, USE, &state),
    })
}

/// A passkey that answered [`start_authentication`] rightly. The answer is not used up yet.
pub(crate) struct VerifiedPasskey {
    /// The passkey.
    passkey: Passkey,
    /// Its state after this use.
    after: Vec<u8>,
    /// The challenge that it answered.
    challenge: Challenge,
}

impl VerifiedPasskey {
    /// The passkey's owner.
    pub(crate) fn staff_id(&self) -> Uuid {
        self.passkey.staff_id
    }

    /// The passkey's id.
    pub(crate) fn id(&self) -> Uuid {
        self.passkey.id
    }
}

/// What the answer to [`start_authentication`] shows.
pub(crate) enum PasskeyCheck {
    /// A member's passkey answered rightly.
    Verified(Box<VerifiedPasskey>),
    /// A member's passkey is named, but the answer is wrong: the member's id.
    Wrong(Uuid),
    /// No member's passkey is named.
    Unknown,
}

/// Checks the answer to [`start_authentication`], without using it up.
pub(crate) async fn check(app: &App, answer: &str) -> Result<PasskeyCheck, Problem> {
    let Some(site) = Site::of(&app.public_url) else {
        return Ok(PasskeyCheck::Unknown);
    };
    let Ok(answer) = serde_json::from_str::<Answer<'_>>(answer) else {
        return Ok(PasskeyCheck::Unknown);
    };
    let mut conn = app.db.read().await?;
    let json = answer.credential.get().as_bytes();
    let Ok(authentication) = DiscoverableAuthentication16::from_json_relaxed(json) else {
        return Ok(PasskeyCheck::Unknown);
    };
    let id = authentication.raw_id();
    let found = staff_passkeys::by_credential(&mut conn, id.as_ref()).await?;
    let Some(passkey) = found else {
        return Ok(PasskeyCheck::Unknown);
    };
    let Some(ceremony) = staff_passkeys::ceremony_state(&conn, USE, &answer.ceremony) else {
        return Ok(PasskeyCheck::Wrong(passkey.staff_id));
    };
    let asked =
        DiscoverableAuthenticationServerState::decode(ceremony.as_slice()).map_err(Problem::internal)?;
    let challenge = challenge_of(&asked);
    let handle = handle_of(passkey.staff_id)?;
    let state: [u8; 7] = passkey.state.as_slice().try_into().map_err(Problem::internal)?;
    let mut credential = AuthenticatedCredential::new(
        id,
        &handle,
        StaticState::<PublicKey>::decode(passkey.credential.public_key.as_slice())
            .map_err(Problem::internal)?,
        DynamicState::decode(state).map_err(Problem::internal)?,
    )
    .map_err(Problem::internal)?;
    let origins = site.origins()?;
    let options = AuthenticationVerificationOptions::<DomainOrigin<'_, '_>, DomainOrigin<'_, '_>> {
        allowed_origins: &origins,
        error_on_unsolicited_extensions: false,
        ..AuthenticationVerificationOptions::default()
    };
    if let Err(why) = asked.verify(&site.id, &authentication, &mut credential, &options) {
        tracing::info!("a passkey was refused: {why}");
        return Ok(PasskeyCheck::Wrong(passkey.staff_id));
    }
    let after = credential.dynamic_state().encode().map_err(Problem::internal)?;
    Ok(PasskeyCheck::Verified(Box::new(VerifiedPasskey {
        after: after.to_vec(),
        passkey,
        challenge,
    })))
}

/// Uses up the answer of a passkey; returns whether it was unused, and the passkey is still there.
pub(crate) async fn use_up(tx: &mut Tx, proven: &VerifiedPasskey) -> Result<bool, Error> {
    Ok(
        staff_passkeys::use_up(tx, &proven.challenge, remembered_ms()).await?
            && staff_passkeys::record_use(tx, &proven.passkey, &proven.after).await?,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_with_one_challenge_are_used_up_together() {
        let id = RpId::Domain(AsciiDomain::try_from("localhost".to_owned()).unwrap());
        let start = || {
            let asked = DiscoverableCredentialRequestOptions::passkey(&id).start_ceremony();
            asked.unwrap().0.encode().unwrap()
        };
        let decode = |state: &[u8]| DiscoverableAuthenticationServerState::decode(state).unwrap();
        let state = start();
        let mut later = state.clone();
        // The state ends with its time of expiry, of which the nanoseconds come last.
        let nanoseconds = later.len() - 4..;
        later[nanoseconds].copy_from_slice(&7_u32.to_le_bytes());
        assert_ne!(state, later);
        assert_eq!(challenge_of(&decode(&state)), challenge_of(&decode(&later)));
        assert_ne!(challenge_of(&decode(&state)), challenge_of(&decode(&start())));
    }

    #[test]
    fn passkeys_need_a_host_name_and_https() {
        for (url, origin) in [
            ("https://id.example.com", Some("https://id.example.com")),
            (
                "https://id.example.com:8443/",
                Some("https://id.example.com:8443"),
            ),
            ("http://localhost:8080", Some("http://localhost:8080")),
            ("http://shop.localhost:8080", Some("http://shop.localhost:8080")),
            ("http://id.example.com", None),
            ("http://127.0.0.1:8080", None),
            ("https://203.0.113.7", None),
            ("https://[::1]:8080", None),
            ("", None),
        ] {
            let site = Site::of(url);
            assert_eq!(site.as_ref().map(|site| site.origin.as_str()), origin, "{url}");
            assert!(site.is_none_or(|site| site.origins().is_ok()), "{url}");
        }
    }
}
