//! Renders a [`Problem`] as a page of the portal.

use std::sync::LazyLock;

use askama::Template;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use service::problem::{Family, Kind, Problem};
use tower_http::csrf::ProtectionError;

use super::page::Page;

/// Whether a response is plain text, so that no page of the portal produced it.
fn is_plain(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"))
}

#[derive(Template)]
#[template(path = "portal/error.html")]
struct ErrorPage {
    page: Page,
    title: String,
    status: u16,
    message: String,
    errors: Vec<String>,
    /// The page that the link on the error page leads to; empty for the first page.
    back: &'static str,
}

/// The page above an address that is not a page, such as `/portal/staff` for `/portal/staff/invite`.
fn page_above(path: &str) -> &'static str {
    static PAGES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let rows = super::areas::table().into_iter();
        rows.filter(|row| row.method == Method::GET && !row.path.contains('{'))
            .map(|row| row.path)
            .collect()
    });
    let is_above = |page: &&&str| {
        path.strip_prefix(**page)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    let above = PAGES.iter().filter(is_above).max_by_key(|page| page.len());
    above.copied().unwrap_or_default()
}

/// Middleware: renders errors of handlers as a page in the reader's frame.
pub async fn layer(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let page = Page::of(&parts);
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let refused = if response.extensions().get::<ProtectionError>().is_some() {
        Some(Problem::new(
            Kind::Forbidden,
            "This form was sent from another site and was not accepted",
        ))
    } else if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        Some(Problem::new(
            Kind::MethodNotAllowed,
            "There is no page at this address. It accepts only forms sent from another page",
        ))
    } else if response.status() == StatusCode::BAD_REQUEST && is_plain(&response) {
        // axum rejected a path whose ID is malformed.
        Some(Problem::not_found("There is no such page"))
    } else if response.status() == StatusCode::UNPROCESSABLE_ENTITY
        || response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
    {
        // axum rejected a form that no page of the portal sends.
        Some(Problem::invalid(
            "The form could not be read. Reload the page and try again",
        ))
    } else {
        response.extensions_mut().remove::<Problem>()
    };
    let Some(problem) = refused else { return response };
    let back = match problem.kind() {
        Kind::MethodNotAllowed => page_above(&page.path),
        _ => "",
    };
    let status = problem.status(Family::System);
    problem.log(status);
    let message = page.refusal(&problem);
    let template = ErrorPage {
        title: page.word("error.title", status.as_str()),
        page,
        status: status.as_u16(),
        message,
        errors: problem.errors().to_vec(),
        back,
    };
    let Ok(text) = template.render() else {
        return (status, problem.message().to_owned()).into_response();
    };
    let mut rendered = (status, Html(text)).into_response();
    if let Some(wait) = problem.wait() {
        rendered.headers_mut().insert(RETRY_AFTER, wait.into());
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_forms_leads_back_to_their_page() {
        for (path, page) in [
            ("/portal/staff/invite", "/portal/staff"),
            ("/portal/operator/lists/reload", "/portal/operator/lists"),
            (
                "/portal/flows/00000000-0000-0000-0000-000000000000/try",
                "/portal/flows",
            ),
            ("/portal/mode", "/portal"),
        ] {
            assert_eq!(page_above(path), page, "{path}");
        }
    }
}
