//! Normalises the addresses in a merchant's settings: origins, links and contacts. Pure functions.

use reqwest::Url;
use verification::submission::is_email;

/// The longest accepted address, in bytes.
const MAX_URL: usize = 2_000;

/// An origin as browsers write it, such as `https://shop.example`.
pub(super) fn origin(text: &str) -> Result<String, String> {
    let wrong = |why: &str| {
        format!(
            "allowedOrigins - `{}` {why}",
            text.chars().take(100).collect::<String>()
        )
    };
    let url = web_address(text).ok_or_else(|| {
        wrong("is not an origin: write https:// and the host (http:// for localhost only), such as https://shop.example")
    })?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a path: write only the scheme, host and port"));
    }
    Ok(url.origin().ascii_serialization())
}

/// The address to return to, if its origin is allowed.
pub fn allowed_url(address: &str, allowed_origins: &[String]) -> Option<String> {
    let url = web_address(address)?;
    allowed_origins
        .contains(&url.origin().ascii_serialization())
        .then(|| url.to_string())
}

/// The embedding page's origin, if it is allowed.
pub fn allowed_origin(text: &str, allowed_origins: &[String]) -> Option<String> {
    let origin = origin(text).ok()?;
    allowed_origins.contains(&origin).then_some(origin)
}

/// The origin of an address, such as `https://shop.example`; `null` if it has none, as browsers write it.
pub fn origin_of(address: &str) -> String {
    Url::parse(address).map_or_else(|_| "null".to_owned(), |url| url.origin().ascii_serialization())
}

/// An https address.
pub(super) fn https_address(text: &str) -> Option<String> {
    let url = web_address(text.trim())?;
    (url.scheme() == "https").then(|| url.to_string())
}

/// An https address, or an e-mail address that needs no escaping in a `mailto:` link.
pub(super) fn contact_address(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = !text.contains(['?', '&', '%', '#', '"', '/']);
    if is_plain && is_email(text) {
        return Some(text.to_owned());
    }
    https_address(text)
}

/// An `https:` address (`http:` for this machine only) without credentials. Its host contains no character
/// that could break out of a header.
fn web_address(text: &str) -> Option<Url> {
    if text.len() > MAX_URL {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&host) || host.ends_with(".localhost");
    let is_plain = host
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || ".-_[]:".contains(c));
    let is_web = url.scheme() == "https" || (url.scheme() == "http" && is_local);
    (is_web && is_plain && url.username().is_empty() && url.password().is_none()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_normalised_or_refused() {
        for (text, expected) in [
            ("https://shop.example", Some("https://shop.example")),
            ("https://SHOP.example:443/", Some("https://shop.example")),
            ("https://shop.example:8443", Some("https://shop.example:8443")),
            ("https://bücher.example", Some("https://xn--bcher-kva.example")),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://[::1]:3000", Some("http://[::1]:3000")),
            ("http://shop.example", None),
            ("https://shop.example/path", None),
            ("https://shop.example?x", None),
            ("https://user@shop.example", None),
            ("https://shop.example;script-src", None),
            ("https://*.example", None),
            ("*", None),
            ("null", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("", None),
        ] {
            assert_eq!(origin(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn only_allowed_origins_are_returned_to() {
        let allowed = ["https://shop.example".to_owned()];
        for (address, expected) in [
            (
                "https://shop.example/done?order=1#x",
                Some("https://shop.example/done?order=1#x"),
            ),
            ("https://shop.example:444/done", None),
            ("https://shop.example.evil.example/", None),
            ("https://shop.example@evil.example/", None),
            ("//shop.example/done", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(allowed_url(address, &allowed).as_deref(), expected, "{address}");
        }
        assert_eq!(allowed_url("https://shop.example/", &[]), None);
        assert!(allowed_origin("https://shop.example", &allowed).is_some());
        assert!(allowed_origin("https://other.example", &allowed).is_none());
    }

    #[test]
    fn a_contact_is_an_address() {
        for (text, expected) in [
            ("help@acme.example", Some("help@acme.example")),
            (" help+id@acme.example ", Some("help+id@acme.example")),
            (
                "https://acme.example/help?topic=id",
                Some("https://acme.example/help?topic=id"),
            ),
            ("http://acme.example/help", None),
            ("http://localhost/help", None),
            ("help@acme.example?cc=mallory@evil.example", None),
            ("help@localhost", None),
            ("mailto:help@acme.example", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("+49 30 1234567", None),
            ("https://user@acme.example/", None),
            ("", None),
        ] {
            assert_eq!(contact_address(text).as_deref(), expected, "{text}");
        }
        assert_eq!(
            https_address("https://acme.example"),
            Some("https://acme.example/".into())
        );
        assert_eq!(https_address("http://localhost/privacy"), None);
    }
}
