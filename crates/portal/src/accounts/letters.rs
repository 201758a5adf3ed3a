//! Letters to members of staff: how they are sent, and those that report a sign-in in a new browser or a change of
//! how the member signs in. A letter has no password, code or token.

use std::sync::Arc;

use portal_accounts::devices::{Browser, SignedIn};
use service::Shared;
use service::mail::Letter;

use crate::page::Page;

/// Sends a letter in the background. If the response waited for it, its timing would reveal that the address
/// has an account.
pub(super) fn post(app: &Shared, letter: Letter) {
    let app = Arc::clone(app);
    tokio::spawn(async move {
        if let Some(mailer) = &app.mailer {
            mailer.send(letter).await;
        }
    });
}

/// Reports a sign-in to its member if the member has not used this browser before.
pub(super) fn signed_in(app: &Shared, page: &Page, signed_in: &SignedIn, browser: &Browser) {
    if !signed_in.is_new_browser {
        return;
    }
    let named = browser_name(page, &browser.device.browser, &browser.device.system);
    let url = format!("{}/portal/account", app.public_url);
    let values = [
        ("browser", named.as_str()),
        ("address", &browser.device.address),
        ("time", &page.time(page.now())),
        ("link", &url),
    ];
    let letter = Letter {
        to: signed_in.email.clone(),
        subject: page.t("accounts.mail.new_browser.subject"),
        text: page.tf("accounts.mail.new_browser.text", &values),
    };
    post(app, letter);
}

/// Reports a change of how a member signs in. `what` is part of the keys of the letter's texts.
pub(super) fn security_changed(app: &Shared, page: &Page, to: &str, what: &str) {
    let values = [
        ("time", page.time(page.now())),
        ("link", format!("{}/portal/forgot", app.public_url)),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let letter = Letter {
        to: to.to_owned(),
        subject: page.t(&format!("accounts.mail.{what}.subject")),
        text: page.tf(&format!("accounts.mail.{what}.text"), &values),
    };
    post(app, letter);
}

/// A browser with its system, as members read it.
pub(super) fn browser_name(page: &Page, browser: &str, system: &str) -> String {
    match (browser, system) {
        ("", "") => page.t("accounts.sessions.unknown"),
        (name, "") | ("", name) => name.to_owned(),
        (browser, system) => format!("{browser}, {system}"),
    }
}
