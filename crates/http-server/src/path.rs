//! The variable part of a path as text. A path that is not UTF-8 gets an error in the shape of the endpoint's
//! family.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use service::problem::Problem;

use crate::error::Rejection;

/// The two variable segments of a path.
pub struct PathTexts(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathTexts {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        match Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(Path((first, second))) => Ok(PathTexts(first, second)),
            Err(_) => {
                Err(Problem::validation(vec!["path - is not valid percent-encoded UTF-8".into()]).into())
            }
        }
    }
}

/// The one variable segment of a path.
pub struct PathText(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathText(text)),
            Err(_) => {
                Err(Problem::validation(vec!["path - is not valid percent-encoded UTF-8".into()]).into())
            }
        }
    }
}
