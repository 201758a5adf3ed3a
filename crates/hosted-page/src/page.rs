//! `GET /verify`: the hosted page, rendered on the server up to its first screen, so that it has content
//! before any script runs.
//!
//! It validates the token but does not use it up, because mail scanners and link previews open links too. The
//! page never contains a token or personal data.

use axum::extract::{RawQuery, State};
use axum::http::header::{ACCEPT_LANGUAGE, X_FRAME_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use http_server::error::Rejection;
use http_server::files::{self, File};
use http_server::path::PathText;
use http_server::query::{self, Query};
use reference::languages::{Language, languages};
use serde_json::json;
use service::branding::{self, Branding};
use service::hosted::{self, Preview, Rehearsal};
use service::merchants::settings;
use service::problem::{Family, Problem};
use service::refused_origins::{self, RefusedUse};
use service::theme;
use service::{App, Shared, sessions};
use store::logos;
use store::merchants::{self, Merchant};
use verification::hosted::personal_fields;

use super::assets::{self, address};
use super::embedding::{Embedding, Refusal, is_framed, policy, refused, secure};
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
    embedding: Embedding,
    /// Whether the page is requested for a frame, where it has a close button.
    is_framed: bool,
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
        embedding: Embedding::default(),
        is_framed: is_framed(&headers, &query),
        rehearsal: None,
    };
    if let Err(problem) = find(&app, &query, &mut visit).await {
        visit.found = Some(Err(problem));
    }
    record_refusals(&app, &visit).await;
    if let Some(origin) = &visit.embedding.refused_origin {
        return refused(Refusal::Origin(origin), &visit.locale);
    }
    let is_unavailable = state_of(&visit).1 == "unavailable";
    if visit.is_framed && visit.merchant.is_none() && query.get("origin").is_some() && !is_unavailable {
        return refused(Refusal::Link, &visit.locale);
    }
    answer(&visit)
}

/// Tells the merchant which origin its settings lack. Only a visitor with one of its links can cause this.
async fn record_refusals(app: &App, visit: &Visit) {
    let Some(merchant) = visit.merchant.as_ref().filter(|_| is_known(visit)) else {
        return;
    };
    let Embedding {
        refused_return,
        refused_origin,
        ..
    } = &visit.embedding;
    for (refused, origin) in [
        (RefusedUse::Embedding, refused_origin),
        (RefusedUse::Return, refused_return),
    ] {
        let Some(origin) = origin else { continue };
        // The visitor gets the page all the same.
        if let Err(problem) = refused_origins::record(app, merchant.id, refused, origin).await {
            tracing::warn!("a refused origin could not be recorded: {problem}");
        }
    }
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
        embedding: Embedding::default(),
        is_framed: false,
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
        visit.embedding = Embedding::new(query, &allowed, visit.is_framed);
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

/// The status and the state of a visit.
fn state_of(visit: &Visit) -> (StatusCode, &'static str) {
    match &visit.found {
        None => (StatusCode::OK, "no_token"),
        Some(Ok(_)) => (StatusCode::OK, "open"),
        Some(Err(problem)) if problem.status(Family::Exchange).is_server_error() => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
        }
        Some(Err(problem)) => match problem.word(Family::Exchange) {
            word @ ("token_used" | "token_expired" | "invitation_finished" | "invitation_revoked") => {
                (StatusCode::GONE, word)
            }
            word @ "in_review" => (StatusCode::OK, word),
            // A deleted Flow or a closed account also counts as an invalid link for the visitor.
            _ => (StatusCode::NOT_FOUND, "invalid_token"),
        },
    }
}

/// Whether the visit has a real token of the merchant, also one that can no longer be used.
fn is_known(visit: &Visit) -> bool {
    !["no_token", "unavailable", "invalid_token"].contains(&state_of(visit).1)
}

fn answer(visit: &Visit) -> Response {
    let (status, state) = state_of(visit);
    let preview = match &visit.found {
        Some(Ok(preview)) => Some(preview),
        Some(Err(problem)) if state == "unavailable" => {
            tracing::error!("the hosted page could not be prepared: {problem}");
            None
        }
        _ => None,
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
    let branding = preview.map(|preview| preview.branding.clone()).or_else(|| {
        // A short ID alone must not reveal the merchant's name.
        let merchant = visit.merchant.as_ref().filter(|_| is_known(visit))?;
        branding::branding(merchant).ok()
    });
    let merchant = branding
        .as_ref()
        .map_or_else(|| t("page.merchant"), |branding| branding.name.clone());
    let (icon, heading, lead) = match state {
        "open" if visit.kind == TokenKind::Handoff => ("phone", "claim.title", "claim.lead"),
        "open" => ("welcome", "open.title", "open.lead"),
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
    render(&assets::template("verify/page.html"), |name| {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let html = |html: String| Some(Value::Html(html));
        if let Some(key) = name.strip_prefix("t:") {
            return text(&locale.text(key, &[("merchant", &merchant)]));
        }
        if let Some(path) = name.strip_prefix("asset:") {
            return text(&address(path, &version));
        }
        match name {
            "lang" => text(locale.language.code),
            "dir" => text(locale.language.dir()),
            "title" => text(&t("page.title")),
            "state" => text(state),
            "icon" => text(icon),
            // The drawing of the first screen is wider than an icon.
            "tone" => text(if icon == "welcome" { "wide" } else { "" }),
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
            // A script fills it. Its place is reserved, so that nothing moves.
            "close" if has_close_button(visit) => html(r#"<span class="close" id="close"></span>"#.into()),
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

/// Whether the page is in a merchant's page. A reload there has no token, and no `origin`.
fn has_close_button(visit: &Visit) -> bool {
    visit.is_framed && (visit.embedding.origin.is_some() || visit.found.is_none())
}

/// Whether the visitor can request a new link in place of an expired invitation.
fn can_renew(visit: &Visit) -> bool {
    matches!(&visit.found, Some(Err(problem)) if problem.can_renew() == Some(true))
}

/// Preloads the scripts that the first screen needs.
fn preload(version: &str) -> String {
    let link = |path: String| {
        format!(
            r#"<link rel="modulepreload" href="{}">"#,
            escape(&address(&path, version))
        )
    };
    assets::modules().first.into_iter().map(link).collect()
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
    // The part before the script or country, such as ZH.
    let language = locale.language.code.split('-').next().unwrap_or_default();
    let language = escape(&language.to_uppercase());
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
                locale.text(
                    "open.need.document",
                    &[("types", &locale.language.either(&names))],
                ),
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
        r#"<h2 class="small">{}</h2><div class="terms"><p>{}</p><ul class="points">{points}</ul><p class="fine">{}</p></div>"#,
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
    let until = match kind {
        TokenKind::Invitation => locale.text("open.until.date", &[("date", locale.language.longest_date)]),
        _ => locale.text("open.until", &[("time", locale.language.longest_time)]),
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
    let is_same = privacy_url == contact;
    let privacy = privacy_url
        .as_deref()
        .map(|address| link(address, "page.privacy"));
    let contact = contact.as_deref().map(|address| link(address, "page.contact"));
    match [privacy, contact] {
        [None, None] => String::new(),
        // The same address once, as in the script.
        [Some(link), Some(_)] if is_same => format!(r#"<p class="links">{link}</p>"#),
        links => format!(
            r#"<p class="links">{}</p>"#,
            links.into_iter().flatten().collect::<String>()
        ),
    }
}

/// A language as the page's menu needs it.
fn offered(language: &Language) -> serde_json::Value {
    json!({
        "code": language.code,
        "name": language.own_name,
        "dir": language.dir(),
        "or": language.alternatives,
    })
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
        "lang": visit.locale.language.code,
        // Scripts of earlier versions read only the codes.
        "languages": languages().iter().map(|language| language.code).collect::<Vec<_>>(),
        "offered": languages().iter().map(offered).collect::<Vec<_>>(),
        "strings": visit.locale.texts(),
        "preview": preview.map(PreviewBody::from),
        "canRenew": can_renew(visit),
        "merchant": branding.cloned().map(MerchantBody::from),
        "rehearsal": visit.rehearsal,
        "embed": {
            "returnUrl": visit.embedding.return_url,
            "origin": visit.embedding.origin,
            "refusedReturn": visit.embedding.refused_return,
        },
        // For `/verify?m=…`, the address that the page shows from now on. It preserves the sites that may
        // embed the page.
        "m": visit.merchant.as_ref().map(|merchant| &merchant.short_id),
        "assets": {
            "base": address("", version),
            "v": version,
            "later": assets::modules().later.iter().map(|path| address(path, version)).collect::<Vec<_>>(),
        },
    }))
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
    fn the_template_knows_its_placeholders() {
        // The refused page has some of the same.
        let templates = assets::template("verify/page.html") + &assets::template("verify/refused.html");
        assert!(templates.matches("</html>").count() == 2);
        for part in templates.split("{{").skip(1) {
            let (name, _) = part.split_once("}}").unwrap();
            let known = name.starts_with("t:")
                || name
                    .strip_prefix("asset:")
                    .is_some_and(|path| assets::file(path).is_some())
                || [
                    "lang", "dir", "title", "state", "icon", "tone", "heading", "lead", "merchant", "color",
                    "top", "close", "preload", "theme", "brand", "needs", "action", "v", "boot",
                ]
                .contains(&name);
            assert!(
                known,
                "a template asks for {{{{{name}}}}}, which the server does not fill"
            );
        }
    }
}
