//! Names the browser and system of a portal session, so that its owner recognises them, and recognises browsers in
//! which a member has signed in before. A sign-in in another browser is reported to the member; nothing else is
//! decided here.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use store::{Error, Tx, staff_devices};
use uuid::Uuid;

/// The device on which a session was begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The browser's name; empty: unknown.
    pub browser: String,
    /// The system's name; empty: unknown.
    pub system: String,
    /// The IP address.
    pub address: String,
}

/// The browser of a request.
#[derive(Debug)]
pub struct Browser {
    /// Its names and address.
    pub device: Device,
    /// The token in its cookie, if it has one.
    pub token: Option<SecretString>,
}

impl Browser {
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(ExposeSecret::expose_secret)
    }
}

/// A new session, and what the browser keeps of it.
#[derive(Debug)]
pub struct SignedIn {
    /// The session's token.
    pub session: SecretString,
    /// The token by which this browser is recognised from now on.
    pub browser: SecretString,
    /// Whether the member has not signed in here before.
    pub is_new_browser: bool,
    /// The member's email address.
    pub email: String,
}

/// Recognises the browser in which a member signs in now, or registers it. Returns its token, and whether it is new.
/// Members who share a browser share its token, so that none of them is a stranger there.
pub(crate) async fn recognise(
    tx: &mut Tx,
    staff_id: Uuid,
    browser: &Browser,
) -> Result<(SecretString, bool), Error> {
    let presented = browser.token.clone();
    let token = presented
        .filter(|token| staff_devices::is_token(token.expose_secret()))
        .unwrap_or_else(staff_devices::new_token);
    let is_new = !staff_devices::recognise(tx, staff_id, token.expose_secret()).await?;
    if is_new {
        staff_devices::register(tx, staff_id, token.expose_secret()).await?;
    }
    Ok((token, is_new))
}

/// Parts of `User-Agent` with the browser's name. Of several, the first in this table is correct.
const BROWSERS: [(&str, &str); 7] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

impl Device {
    /// Reads the device from a request's `User-Agent` and address.
    pub fn of(user_agent: Option<&str>, address: IpAddr) -> Self {
        let agent = user_agent.unwrap_or_default();
        let name = |table: &[(&str, &'static str)]| {
            let found = table.iter().find(|(part, _)| agent.contains(part));
            found.map_or("", |(_, name)| name).to_owned()
        };
        Device {
            browser: name(&BROWSERS),
            system: name(&SYSTEMS),
            address: address.to_string(),
        }
    }

    /// The device in its stored form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".into())
    }

    /// Reads the stored form.
    pub fn from_json(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_named() {
        for (agent, browser, system) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
                "Firefox",
                "Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0 Safari/537.36 Edg/128.0",
                "Edge",
                "Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1",
                "Safari",
                "iOS",
            ),
            ("curl/8.9", "", ""),
        ] {
            let device = Device::of(Some(agent), [203, 0, 113, 9].into());
            assert_eq!(
                (device.browser.as_str(), device.system.as_str()),
                (browser, system),
                "{agent}"
            );
            assert_eq!(Device::from_json(&device.to_json()), device);
        }
    }
}
