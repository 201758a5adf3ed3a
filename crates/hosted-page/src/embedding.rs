//! Which websites may embed the hosted page or receive the applicant back, the headers that tell browsers so, and
//! the page for a website that may not. This module reads no database.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_server::query::Query;
use serde_json::json;
use service::settings::{allowed_origin, allowed_url, origin_of};
use sha2::{Digest, Sha256};

use super::assets;
use super::locale::Locale;
use super::template::{Value, escape, render, script_json};

/// A visit's connection to the merchant's website.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Embedding {
    /// The address to return to, if its origin is allowed.
    pub return_url: Option<String>,
    /// The embedding website's origin, if it is allowed.
    pub origin: Option<String>,
    /// The origin of `returnUrl`, if it is not allowed; `null` for an address without one.
    pub refused_return: Option<String>,
    /// The origin that embeds the page, if it is not allowed.
    pub refused_origin: Option<String>,
}

impl Embedding {
    /// Reads `returnUrl` and `origin`. `is_framed`: whether the page is requested for a frame. Only then is an
    /// origin refused, because elsewhere it has no meaning.
    pub fn new(query: &Query, allowed: &[String], is_framed: bool) -> Self {
        let (return_url, origin) = (query.get("returnUrl"), query.get("origin"));
        let allowed_return = return_url.and_then(|url| allowed_url(url, allowed));
        let allowed_origin = origin.and_then(|text| allowed_origin(text, allowed));
        Embedding {
            refused_return: return_url.filter(|_| allowed_return.is_none()).map(origin_of),
            refused_origin: origin
                .filter(|_| allowed_origin.is_none() && is_framed)
                .map(origin_of),
            return_url: allowed_return,
            origin: allowed_origin,
        }
    }
}

/// Whether the page is requested for a frame. Browsers that do not say so are recognised by the parameters of
/// `bonafide.js`, which adds `returnUrl` to redirects only.
pub fn is_framed(headers: &HeaderMap, query: &Query) -> bool {
    match headers.get("sec-fetch-dest") {
        Some(destination) => ["iframe", "frame", "fencedframe", "embed", "object"]
            .iter()
            .any(|frame| destination == frame),
        None => query.get("origin").is_some() && query.get("returnUrl").is_none(),
    }
}

/// Why the page is not shown in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// The account does not allow this origin.
    Origin(&'a str),
    /// The token belongs to no account.
    Link,
}

/// The page in a frame that may not contain it. Every website may embed this one, so that the script around it
/// learns the reason. It contains nothing of the account or the applicant.
pub fn refused(refusal: Refusal<'_>, locale: &Locale) -> Response {
    let (status, code, message) = match refusal {
        Refusal::Origin(origin) => (
            StatusCode::FORBIDDEN,
            "origin_not_allowed",
            format!(
                "{origin} is not among the account's allowed origins (https://, or http:// for localhost). Add it in \
                 the portal under Company > Branding, or with `bonafide merchant set`, as allowedOrigins"
            ),
        ),
        Refusal::Link => (
            StatusCode::NOT_FOUND,
            "link_invalid",
            "The link's token belongs to no account. Pass the url exactly as the server returned it"
                .to_owned(),
        ),
    };
    let boot = script_json(&json!({"code": code, "message": message}));
    let version = assets::version();
    let html = render(&assets::template("verify/refused.html"), |name| {
        if let Some(key) = name.strip_prefix("t:") {
            return Some(Value::Text(locale.text(key, &[])));
        }
        if let Some(path) = name.strip_prefix("asset:") {
            return Some(Value::Text(assets::address(path, &version)));
        }
        let merchant = locale.text("page.merchant", &[]);
        let own = |key| Some(Value::Text(locale.text(key, &[("merchant", &merchant)])));
        match (name, refusal) {
            ("heading", Refusal::Origin(_)) => own("refused.title"),
            ("heading", Refusal::Link) => own("end.invalid.title"),
            ("lead", Refusal::Origin(_)) => own("refused.body"),
            ("lead", Refusal::Link) => own("end.invalid.body"),
            // A window of its own would show the same.
            ("action", Refusal::Origin(_)) => Some(Value::Html(format!(
                r#"<div class="actions"><a class="primary" id="open" target="_blank" rel="noopener">{}</a></div>"#,
                escape(&locale.text("refused.open", &[]))
            ))),
            ("lang", _) => Some(Value::Text(locale.language.code.to_owned())),
            ("dir", _) => Some(Value::Text(locale.language.dir().to_owned())),
            ("boot", _) => Some(Value::Html(boot.clone())),
            _ => None,
        }
    });
    let mut response = (status, Html(html)).into_response();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; \
                  form-action 'none'; frame-ancestors *";
    secure(response.headers_mut(), policy, false);
    response
}

/// The page's Content-Security-Policy. The only inline style is the merchant's colours, which it permits by
/// hash.
pub fn policy(allowed_origins: &[String], css: Option<&str>) -> String {
    let ancestors = if allowed_origins.is_empty() {
        "'none'".to_owned()
    } else {
        allowed_origins.join(" ")
    };
    let style = css
        .map(|css| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(css))))
        .unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'{style}; img-src 'self' blob: data:; \
         media-src 'self' blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors {ancestors}"
    )
}

/// Sets the headers that every page has. `is_alone`: no website may embed it.
pub fn secure(headers: &mut HeaderMap, policy: &str, is_alone: bool) {
    let fixed = [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(self), microphone=(), geolocation=(), payment=(), usb=(), display-capture=()",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Origins were validated when they were set. If the policy still is not a valid header, no site may embed
    // the page.
    let policy = HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    if is_alone {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
}

#[cfg(test)]
mod tests {
    use http_server::query;

    use super::*;

    #[test]
    fn the_policy_names_who_may_embed() {
        let closed = policy(&[], None);
        assert!(
            closed.ends_with("frame-ancestors 'none'") && closed.contains("style-src 'self';"),
            "{closed}"
        );
        let open = policy(
            &["https://a.example".into(), "https://b.example:8443".into()],
            Some("x"),
        );
        assert!(
            open.ends_with("frame-ancestors https://a.example https://b.example:8443"),
            "{open}"
        );
        assert!(open.contains("style-src 'self' 'sha256-"), "{open}");
        for policy in [closed, open] {
            assert!(
                !policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"),
                "{policy}"
            );
        }
    }

    #[test]
    fn an_address_is_allowed_or_named_as_refused() {
        let allowed = ["https://shop.example".to_owned()];
        let visit = |text: &str, is_framed| Embedding::new(&query::parse(text).unwrap(), &allowed, is_framed);
        for is_framed in [true, false] {
            assert_eq!(visit("token=x", is_framed), Embedding::default());
            let both = visit(
                "returnUrl=https://shop.example/a&origin=https://shop.example",
                is_framed,
            );
            assert_eq!(both.return_url.as_deref(), Some("https://shop.example/a"));
            assert_eq!(both.origin.as_deref(), Some("https://shop.example"));
            assert_eq!((both.refused_return, both.refused_origin), (None, None));
        }
        for (address, refused) in [
            ("https://evil.example/a?b=c", "https://evil.example"),
            ("http://shop.example", "http://shop.example"),
            ("https://shop.example:444/", "https://shop.example:444"),
            ("myapp://done", "null"),
            ("javascript:alert(1)", "null"),
            ("/done", "null"),
            ("", "null"),
        ] {
            let text = format!("returnUrl={address}&origin={address}");
            let framed = visit(&text, true);
            assert_eq!((framed.return_url, framed.origin), (None, None), "{address}");
            assert_eq!(framed.refused_return.as_deref(), Some(refused), "{address}");
            assert_eq!(framed.refused_origin.as_deref(), Some(refused), "{address}");
            assert_eq!(visit(&text, false).refused_origin, None, "{address}");
        }
    }

    #[test]
    fn frames_are_recognised() {
        for (destination, query, expected) in [
            (Some("iframe"), "", true),
            (Some("iframe"), "returnUrl=https://a.example", true),
            (Some("document"), "origin=https://a.example", false),
            (Some("empty"), "", false),
            (None, "", false),
            (None, "origin=https://a.example", true),
            (
                None,
                "origin=https://a.example&returnUrl=https://a.example",
                false,
            ),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(destination) = destination {
                headers.insert("sec-fetch-dest", HeaderValue::from_static(destination));
            }
            assert_eq!(
                is_framed(&headers, &query::parse(query).unwrap()),
                expected,
                "{destination:?} {query}"
            );
        }
    }
}
