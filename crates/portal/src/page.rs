//! The frame of every page: the reader, texts, times, and navigation. It also turns templates into responses.

use std::convert::Infallible;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Redirect, Response};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use service::permissions::Action;
use service::problem::{Family, Problem};

use super::assets;
use super::nav::{self, Group};
use super::session::{Member, PendingCount, same_site_referrer};
use super::texts::Texts;

/// The frame of a page. Templates know it by the name `page`.
#[derive(Clone, Debug)]
pub struct Page {
    /// The reader, if signed in.
    pub member: Option<Member>,
    /// The path of the request.
    pub path: String,
    /// The status message after a form, such as "Saved".
    pub done: Option<String>,
    /// On the response to a form: the page that the form was sent from. Reload and Back lead there.
    pub from: Option<String>,
    /// The number of attempts that wait for a decision; `None` if the reader may not see the queue.
    pub waiting: Option<i64>,
    texts: Texts,
    now: i64,
}

impl<S: Sync> FromRequestParts<S> for Page {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Page::of(parts))
    }
}

impl Page {
    /// Builds the frame for a request.
    pub fn of(parts: &Parts) -> Page {
        let member = parts.extensions.get::<Member>().cloned();
        let accepted = parts
            .headers
            .get(ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        let asked = member.as_ref().and_then(|member| member.language.as_deref());
        let texts = Texts::choose(asked, accepted);
        let query = parts.uri.query().unwrap_or_default();
        let done = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("done="))
            .map(|key| format!("done.{key}"))
            .filter(|key| texts.has(key))
            .map(|key| texts.get(&key));
        Page {
            member,
            path: parts.uri.path().to_owned(),
            done,
            from: (parts.method == Method::POST)
                .then(|| same_site_referrer(&parts.headers))
                .flatten()
                .filter(|from| from.starts_with("/portal")),
            waiting: parts.extensions.get::<PendingCount>().map(|waiting| waiting.0),
            texts,
            now: Timestamp::now().as_millisecond(),
        }
    }

    /// A text by its key.
    pub fn t(&self, key: &str) -> String {
        self.texts.get(key)
    }

    /// A text with its `{placeholders}` filled.
    pub fn tf(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.texts.fill(key, values)
    }

    /// A text with its `{name}` filled, for templates.
    pub fn t1(&self, key: &str, name: &str, value: impl std::fmt::Display) -> String {
        self.texts.fill(key, &[(name, &value.to_string())])
    }

    /// A text for a word of a fixed list, such as a status; the word itself where there is none.
    pub fn word(&self, prefix: &str, word: &str) -> String {
        self.text_or(&format!("{prefix}.{word}"), word)
    }

    /// A text by its key, or `otherwise` if the texts do not have it.
    pub fn text_or(&self, key: &str, otherwise: &str) -> String {
        if self.texts.has(key) {
            self.texts.get(key)
        } else {
            otherwise.to_owned()
        }
    }

    /// Why something was refused, in the reader's language, or the problem's own message if the texts have
    /// none for it.
    pub fn refusal(&self, problem: &Problem) -> String {
        let key = format!("refused.{}", problem.word(Family::System));
        self.text_or(&key, problem.message())
    }

    /// The code of the page's language.
    pub fn language(&self) -> &str {
        &self.texts.language
    }

    /// The direction of writing, `ltr` or `rtl`.
    pub fn dir(&self) -> &'static str {
        self.texts.dir()
    }

    /// The address of a file of `web/portal/`.
    pub fn asset(&self, path: &str) -> String {
        format!("/portal/assets/{path}?v={}", assets::version())
    }

    /// The address of an icon.
    pub fn icon(&self, name: &str) -> String {
        format!("{}#{name}", self.asset("icons.svg"))
    }

    /// Whether the reader may perform an action.
    pub fn may(&self, action: Action) -> bool {
        self.member.as_ref().is_some_and(|member| member.may(action))
    }

    /// The side bar, with the pages that the reader may open.
    pub fn nav(&self) -> Vec<Group> {
        nav::groups(self.member.as_ref(), &self.path)
    }

    /// Whether the reader views the sandbox.
    pub fn is_sandbox(&self) -> bool {
        self.member
            .as_ref()
            .is_some_and(|member| member.merchant.is_some() && member.sandbox)
    }

    /// The chosen account's name.
    pub fn merchant_name(&self) -> Option<&str> {
        self.member
            .as_ref()?
            .merchant
            .as_ref()
            .map(|merchant| merchant.name.as_str())
    }

    /// The time at which the page is rendered (ms).
    pub fn now(&self) -> i64 {
        self.now
    }

    /// A time for people, in UTC.
    pub fn time(&self, ms: impl Ms) -> String {
        zoned(ms.ms()).map_or_else(String::new, |time| time.strftime("%-d %b %Y, %H:%M").to_string())
    }

    /// A time for programs: ISO 8601, UTC, seconds.
    pub fn iso(&self, ms: impl Ms) -> String {
        zoned(ms.ms()).map_or_else(String::new, |time| {
            time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
        })
    }

    /// How long ago a time was, in one unit.
    pub fn age(&self, ms: impl Ms) -> String {
        let seconds = (self.now - ms.ms()).max(0) / 1_000;
        let (key, count) = match seconds {
            0..60 => ("common.age.seconds", seconds),
            60..3_600 => ("common.age.minutes", seconds / 60),
            3_600..172_800 => ("common.age.hours", seconds / 3_600),
            _ => ("common.age.days", seconds / 86_400),
        };
        self.t1(key, "n", count)
    }
}

/// A time in milliseconds. Templates contain both owned and borrowed ones.
pub trait Ms {
    /// The time in milliseconds since 1970.
    fn ms(&self) -> i64;
}

impl Ms for i64 {
    fn ms(&self) -> i64 {
        *self
    }
}

impl<T: Ms> Ms for &T {
    fn ms(&self) -> i64 {
        (**self).ms()
    }
}

/// A time in milliseconds since 1970 as UTC; `None` if no calendar has it.
pub(crate) fn zoned(ms: i64) -> Option<jiff::Zoned> {
    Timestamp::from_millisecond(ms)
        .ok()
        .map(|time| time.to_zoned(TimeZone::UTC))
}

/// Renders a template as a response.
///
/// # Errors
/// 500 if the template fails.
pub fn html(template: impl Template) -> Result<Response, Problem> {
    let text = template.render().map_err(Problem::internal)?;
    Ok(Html(text).into_response())
}

/// Redirects to a page after a form. The page shows the text `done.KEY` as its status message.
pub fn done(path: &str, key: &str) -> Response {
    let separator = if path.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{path}{separator}done={key}")).into_response()
}
