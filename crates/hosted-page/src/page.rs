//! `GET /verify`: the hosted page, rendered on the server up to its first screen, so that it has content
//! before any script runs.
//!
//! It validates the token but does not use it up, because mail scanners and link previews open links too. The
//! page never contains a token or personal data.

use axum::extract::{RawQuery, State};
use axum::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_server::error::Rejection;
use http_server::files::{self, File};
use http_server::path::PathText;
use http_server::query::{self, Query};
use serde_json::json;
use service::branding::{self, Branding};
use service::hosted::{self, Preview, Rehearsal};
use service::merchants::settings;
use service::problem::{Family, Problem};
use service::settings::{allowed_origin, allowed_url};
use service::theme;
use service::{App, Shared, sessions};
use sha2::{Digest, Sha256};
use store::logos;
use store::merchants::{self, Merchant};
use verification::hosted::personal_fields;

use super::assets;
use super::locale::Locale;
use super::template::{Value, escape, render, script_json};
use crate::bodies::{MerchantBody, PreviewBody};
use crate::endpoints::preview_responses;

/// What a visit's token is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    /// A one-time link, or there is no token.
    Link,
    /// A second device.
    Handoff,
    /// An invitation, which lives for days.
    Invitation,
}

/// The data that the page is rendered from.
struct Visit {
    locale: Locale,
    /// The result of looking up the token; `None` if there is none.
    found: Option<Result<Preview, Problem>>,
    kind: TokenKind,
    /// The merchant of the token or of `?m=`, which need not be valid. It determines which sites may embed
    /// the page and which colours it shows; neither is secret.
    merchant: Option<Merchant>,
    return_url: Option<String>,
    origin: Option<String>,
    /// In a preview: the API's responses, because the page sends no requests there.
    rehearsal: Option<serde_json::Value>,
}

/// The page, with the parameters `?token=`, `?handoff=`, `?invitation=`, `?m=`, `?lang=`, `?returnUrl=` and `?origin=`.
pub async fn page(State(app): State<Shared>, RawQuery(raw): RawQuery, headers: HeaderMap) -> Response {
    // An unreadable query is treated as an invalid link, which the page explains.
    let (query, is_readable) = match query::parse(raw.as_deref().unwrap_or_default()) {
        Ok(query) => (query, true),
        Err(_) => (Query::default(), false),
    };
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let mut visit = Visit {
        locale: Locale::choose(query.get("lang"), accepted),
        found: (!is_readable).then(|| Err(sessions::invalid())),
        kind: TokenKind::Link,
        merchant: None,
        return_url: None,
        origin: None,
        rehearsal: None,
    };
    if let Err(problem) = find(&app, &query, &mut visit).await {
        visit.found = Some(Err(problem));
    }
    answer(&visit)
}

/// The page as a Flow's applicants would see it, for a frame of the portal. All of its screens work, but it
/// sends no requests, creates no session and stores nothing.
pub fn preview(merchant: Merchant, rehearsal: Rehearsal, headers: &HeaderMap) -> Result<Response, Problem> {
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let Rehearsal {
        preview,
        current,
        offers,
    } = rehearsal;
    let css = preview.branding.color.map(theme::css);
    let visit = Visit {
        locale: Locale::choose(None, accepted),
        found: Some(Ok(preview)),
        kind: TokenKind::Link,
        merchant: Some(merchant),
        return_url: None,
        origin: None,
        rehearsal: Some(preview_responses(current, offers)?),
    };
    let preview = visit.found.as_ref().and_then(|found| found.as_ref().ok());
    let mut response = Html(html(&visit, "open", preview, css.as_deref())).into_response();
    let headers = response.headers_mut();
    secure(headers, &policy(&["'self'".into()], css.as_deref()), false);
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN"));
    Ok(response)
}

async fn find(app: &App, query: &Query, visit: &mut Visit) -> Result<(), Problem> {
    let (link, handoff) = (query.get("token"), query.get("handoff"));
    let invitation = query.get("invitation");
    let token = link.or(handoff).or(invitation);
    if let Some(short_id) = token.or(query.get("m")).and_then(|text| text.get(..8)) {
        visit.merchant = merchants::by_short_id(&mut app.db.read().await?, short_id).await?;
    }
    if let Some(merchant) = &visit.merchant {
        let allowed = settings(merchant)?.allowed_origins;
        visit.return_url = query.get("returnUrl").and_then(|url| allowed_url(url, &allowed));
        visit.origin = query
            .get("origin")
            .and_then(|origin| allowed_origin(origin, &allowed));
    }
    if let Some(token) = link {
        visit.found = Some(hosted::preview(app, token).await);
    } else if let Some(token) = handoff {
        visit.found = Some(hosted::handoff_preview(app, token).await);
        visit.kind = TokenKind::Handoff;
    } else if let Some(token) = invitation {
        visit.found = Some(hosted::invitation_preview(app, token).await);
        visit.kind = TokenKind::Invitation;
    }
    Ok(())
}

fn answer(visit: &Visit) -> Response {
    let (status, state, preview) = match &visit.found {
        None => (StatusCode::OK, "no_token", None),
        Some(Ok(preview)) => (StatusCode::OK, "open", Some(preview)),
        Some(Err(problem)) if problem.status(Family::Exchange).is_server_error() => {
            tracing::error!("the hosted page could not be prepared: {problem}");
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable", None)
        }
        Some(Err(problem)) => match problem.word(Family::Exchange) {
            word @ ("token_used" | "token_expired" | "invitation_finished" | "invitation_revoked") => {
                (StatusCode::GONE, word, None)
            }
            word @ "in_review" => (StatusCode::OK, word, None),
            // A deleted Flow or a closed account also counts as an invalid link for the visitor.
            _ => (StatusCode::NOT_FOUND, "invalid_token", None),
        },
    };
    let css = preview.and_then(|preview| preview.branding.color).map(theme::css);
    let html = html(visit, state, preview, css.as_deref());
    let allowed = visit
        .merchant
        .as_ref()
        // If the settings cannot be read, no site may embed this page, which then only states that it is
        // unavailable.
        .and_then(|merchant| settings(merchant).ok())
        .map(|settings| settings.allowed_origins)
        .unwrap_or_default();
    let mut response = (status, Html(html)).into_response();
    secure(
        response.headers_mut(),
        &policy(&allowed, css.as_deref()),
        allowed.is_empty(),
    );
    response
}

fn html(visit: &Visit, state: &str, preview: Option<&Preview>, css: Option<&str>) -> String {
    let locale = &visit.locale;
    let t = |key: &str| locale.text(key, &[]);
    // The merchant's name appears only after a real token. A short ID alone must not reveal it.
    let known = [
        "open",
        "token_used",
        "token_expired",
        "invitation_finished",
        "invitation_revoked",
        "in_review",
    ]
    .contains(&state);
    let branding = preview.map(|preview| preview.branding.clone()).or_else(|| {
        let merchant = visit.merchant.as_ref().filter(|_| known)?;
        branding::branding(merchant).ok()
    });
    let merchant = branding
        .as_ref()
        .map_or_else(|| t("page.merchant"), |branding| branding.name.clone());
    let (icon, heading, lead) = match state {
        "open" if visit.kind == TokenKind::Handoff => ("phone", "claim.title", "claim.lead"),
        "open" => ("shield", "open.title", "open.lead"),
        // This is most likely a reload: the browser knows the visitor's position and restores it at once.
        "no_token" if visit.merchant.is_some() => ("shield", "page.title", "page.moment"),
        "token_used" => ("link", "end.used.title", "end.used.body"),
        "token_expired" if can_renew(visit) => ("clock", "end.expiredlink.title", "end.expiredlink.renew"),
        "token_expired" => ("clock", "end.expiredlink.title", "end.expiredlink.body"),
        "invitation_finished" => ("check", "end.finished.title", "end.finished.body"),
        "invitation_revoked" => ("link", "end.revoked.title", "end.revoked.body"),
        "in_review" => ("clock", "end.inreview.title", "end.inreview.body"),
        "no_token" => ("link", "end.notoken.title", "end.notoken.body"),
        "unavailable" => ("alert", "page.title", "problem.busy"),
        _ => ("link", "end.invalid.title", "end.invalid.body"),
    };
    let version = assets::version();
    let template =
        assets::file("verify/page.html").map(|file| String::from_utf8_lossy(&file.data).into_owned());
    render(&template.unwrap_or_default(), |name| {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let html = |html: String| Some(Value::Html(html));
        if let Some(key) = name.strip_prefix("t:") {
            return text(&locale.text(key, &[("merchant", &merchant)]));
        }
        if let Some(path) = name.strip_prefix("asset:") {
            return text(&address(path, &version));
        }
        match name {
            "lang" => text(&locale.language),
            "dir" => text(locale.dir()),
            "title" => text(&t("page.title")),
            "state" => text(state),
            "icon" => text(icon),
            "heading" => text(&locale.text(heading, &[("merchant", &merchant)])),
            "lead" => text(&locale.text(lead, &[("merchant", &merchant)])),
            "merchant" => text(&merchant),
            "color" => text(
                &preview
                    .and_then(|preview| preview.branding.color)
                    .map(|color| color.to_string())
                    .unwrap_or_default(),
            ),
            "preload" => html(preload(&version)),
            "theme" => html(css.map(|css| format!("<style>{css}</style>")).unwrap_or_default()),
            "brand" => html(branding.as_ref().map(brand).unwrap_or_default()),
            "top" => html(top(locale, preview)),
            "needs" => html(
                preview
                    .filter(|_| visit.kind != TokenKind::Handoff)
                    .map(|preview| needs(locale, preview) + &terms(locale, preview))
                    .unwrap_or_default(),
            ),
            "action" => html(
                preview
                    .map(|preview| start(locale, visit.kind, &preview.branding))
                    .unwrap_or_default(),
            ),
            "v" => text(&version),
            "boot" => html(boot(visit, state, preview, branding.as_ref(), &version)),
            _ => None,
        }
    })
}

/// Whether the visitor can request a new link in place of an expired invitation.
fn can_renew(visit: &Visit) -> bool {
    matches!(&visit.found, Some(Err(problem)) if problem.can_renew() == Some(true))
}

/// A file's address. The version is a path segment, so that modules' relative imports include it.
fn address(path: &str, version: &str) -> String {
    format!("/verify/assets/@{version}/{path}")
}

/// Preloads the scripts at once. Otherwise the browser would discover imported modules only one level at a
/// time.
fn preload(version: &str) -> String {
    let link = |path: String| {
        format!(
            r#"<link rel="modulepreload" href="{}">"#,
            escape(&address(&path, version))
        )
    };
    assets::modules().into_iter().map(link).collect()
}

fn brand(Branding { name, logo_url, .. }: &Branding) -> String {
    match logo_url {
        Some(url) => format!(
            r#"<img class="logo" src="{}" alt="{}">"#,
            escape(url),
            escape(name)
        ),
        None => format!(r#"<span class="name">{}</span>"#, escape(name)),
    }
}

/// The end of the top bar: the test badge, and the placeholder for the language menu, which a script fills.
fn top(locale: &Locale, preview: Option<&Preview>) -> String {
    let test = escape(&locale.text("page.test", &[]));
    let chip = preview
        .filter(|preview| preview.sandbox)
        .map(|_| format!(r#"<span class="chip" id="sandbox">{test}</span>"#))
        .unwrap_or_default();
    let language = escape(&locale.language.to_uppercase());
    let globe = icon("globe");
    format!(
        r#"{chip}<div class="languages" id="languages">{globe}<span aria-hidden="true">{language}</span></div>"#
    )
}

fn icon(name: &str) -> String {
    format!(r##"<svg class="icon" aria-hidden="true"><use href="#i-{name}"></use></svg>"##)
}

/// The list of what the applicant needs. Its elements equal those from `web/verify/screens/open.js`, so that
/// the layout does not shift.
fn needs(locale: &Locale, preview: &Preview) -> String {
    let types = &preview.configuration.document_types;
    let names: Vec<String> = types
        .iter()
        .map(|kind| locale.text(&format!("doctype.{kind}"), &[]))
        .collect();
    let minutes = preview.minutes.to_string();
    let has_documents = !types.is_empty();
    // A document mostly states these.
    let is_entered = |field: &&str| !["middleName", "dob", "nationality"].contains(field);
    let has_entries = !has_documents || personal_fields(&preview.configuration).iter().any(is_entered);
    let items = [
        has_documents.then(|| {
            (
                "card",
                locale.text("open.need.document", &[("types", &locale.either(&names))]),
            )
        }),
        has_documents.then(|| ("face", locale.text("open.need.selfie", &[]))),
        has_entries.then(|| ("person", locale.text("open.need.details", &[]))),
        Some(("clock", locale.text("open.need.time", &[("minutes", &minutes)]))),
    ];
    let row = |(name, text): (&str, String)| format!("<li>{}<span>{}</span></li>", icon(name), escape(&text));
    let rows: String = items.into_iter().flatten().map(row).collect();
    let title = escape(&locale.text("open.need.title", &[]));
    format!(r#"<h2 class="small">{title}</h2><ul class="needs">{rows}</ul>"#)
}

/// What the applicant agrees to. Its elements equal those from `web/verify/screens/consent.js`.
fn terms(locale: &Locale, preview: &Preview) -> String {
    let text = |key: &str| escape(&locale.text(key, &[("merchant", &preview.branding.name)]));
    let points: &[&str] = match preview.asks_document {
        true => &["consent.details", "consent.face", "consent.keep"],
        false => &["consent.details.only", "consent.keep"],
    };
    let points: String = points
        .iter()
        .map(|key| format!("<li>{}</li>", text(key)))
        .collect();
    format!(
        r#"<h2 class="small">{}</h2><p>{}</p><ul class="points">{points}</ul><p class="fine">{}</p>"#,
        text("consent.title"),
        text("consent.lead"),
        text("consent.rights")
    )
}

/// The start button. If it is pressed before the scripts have run, it opens a popover that records the press
/// and tells screen readers to wait. The scripts then start at once.
fn start(locale: &Locale, kind: TokenKind, branding: &Branding) -> String {
    let text = |key| escape(&locale.text(key, &[]));
    let button = |text| {
        format!(
            r#"<button type="button" class="primary" id="start" popovertarget="starting" popovertargetaction="show">{text}</button>"#
        )
    };
    let starting = format!(
        r#"<div class="quiet" id="starting" role="status" popover="manual">{}</div>"#,
        text("page.moment")
    );
    if kind == TokenKind::Handoff {
        return format!(
            r#"<div class="actions">{}{starting}</div>"#,
            button(text("claim.start"))
        );
    }
    // The browser writes the time, because it knows the visitor's time zone. This placeholder reserves its
    // width.
    let time = if locale.language == "en" {
        "00:00 AM"
    } else {
        "00:00"
    };
    let day = match locale.language.as_str() {
        "de" => "00. September 0000 um",
        "es" => "00 de septiembre de 0000,",
        "fr" => "00 septembre 0000 à",
        "pt" => "00 de setembro de 0000 às",
        _ => "September 00, 0000 at",
    };
    let date = format!("{day} {time}");
    let until = match kind {
        TokenKind::Invitation => locale.text("open.until.date", &[("date", &date)]),
        _ => locale.text("open.until", &[("time", time)]),
    };
    let until = escape(&until);
    format!(
        r#"{}<div class="actions">{}{starting}<button type="button" class="plain" disabled>{}</button><p class="fine"><span class="ghost" aria-hidden="true">{until}</span></p></div>"#,
        links(locale, branding),
        button(text("open.start")),
        text("consent.no")
    )
}

/// Links to the merchant's privacy notice and contact. The elements equal those from
/// `web/verify/screens/links.js`.
fn links(locale: &Locale, branding: &Branding) -> String {
    let Branding {
        name,
        privacy_url,
        contact,
        ..
    } = branding;
    let link = |address: &str, key| {
        let text = escape(&locale.text(key, &[("merchant", name)]));
        let address = escape(address);
        match address.contains('@') && !address.contains("://") {
            true => format!(r#"<a href="mailto:{address}">{text}</a>"#),
            false => {
                format!(r#"<a href="{address}" target="_blank" rel="noopener noreferrer">{text}</a>"#)
            }
        }
    };
    let privacy = privacy_url
        .as_deref()
        .map(|address| link(address, "page.privacy"));
    let contact = contact.as_deref().map(|address| link(address, "page.contact"));
    match [privacy, contact] {
        [None, None] => String::new(),
        links => format!(
            r#"<p class="links">{}</p>"#,
            links.into_iter().flatten().collect::<String>()
        ),
    }
}

/// The initial data of the scripts, as JSON.
fn boot(
    visit: &Visit,
    state: &str,
    preview: Option<&Preview>,
    branding: Option<&Branding>,
    version: &str,
) -> String {
    script_json(&json!({
        "state": state,
        "lang": visit.locale.language,
        "dir": visit.locale.dir(),
        "languages": assets::languages(),
        "strings": visit.locale.texts(),
        "preview": preview.map(PreviewBody::from),
        "canRenew": can_renew(visit),
        "merchant": branding.cloned().map(MerchantBody::from),
        "rehearsal": visit.rehearsal,
        "embed": {"returnUrl": visit.return_url, "origin": visit.origin},
        // For `/verify?m=…`, the address that the page shows from now on. It preserves the sites that may
        // embed the page.
        "m": visit.merchant.as_ref().map(|merchant| &merchant.short_id),
        "assets": {
            "base": address("", version),
            "v": version,
        },
    }))
}

/// The page's Content-Security-Policy. The only inline style is the merchant's colours, which it permits by
/// hash.
fn policy(allowed_origins: &[String], css: Option<&str>) -> String {
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

fn secure(headers: &mut HeaderMap, policy: &str, is_alone: bool) {
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

/// `GET /verify/logo/{shortId}`: a merchant's logo. The address changes with the image.
pub async fn logo(
    State(app): State<Shared>,
    PathText(short_id): PathText,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    let mut conn = app.db.read().await?;
    let logo = match merchants::by_short_id(&mut conn, &short_id).await? {
        Some(merchant) => logos::get(&mut conn, merchant.id).await?,
        None => None,
    };
    let logo = logo.ok_or_else(|| Problem::not_found("No such logo"))?;
    let caching = files::cache_control(assets::version_of(&uri), &logo.version);
    let file = File::new(&logo.media_type, logo.bytes.into(), &logo.version);
    Ok(file.respond(caching, &headers))
}

#[cfg(test)]
mod tests {
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
    fn the_template_knows_its_placeholders() {
        let template = assets::file("verify/page.html").unwrap();
        let template = String::from_utf8(template.data.into_owned()).unwrap();
        for part in template.split("{{").skip(1) {
            let (name, _) = part.split_once("}}").unwrap();
            let known = name.starts_with("t:")
                || name
                    .strip_prefix("asset:")
                    .is_some_and(|path| assets::file(path).is_some())
                || [
                    "lang", "dir", "title", "state", "icon", "heading", "lead", "merchant", "color", "top",
                    "preload", "theme", "brand", "needs", "action", "v", "boot",
                ]
                .contains(&name);
            assert!(
                known,
                "page.html asks for {{{{{name}}}}}, which the server does not fill"
            );
        }
    }
}
