//! Parses the `Authorization` header (contract §5; RFC 7617, RFC 6750; the scheme `ApiKey` of yente's clients). It is pure and looks up no account.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

/// The credentials that a caller sends.
#[derive(Debug)]
pub enum Authorization {
    /// The merchant's API key and secret.
    Basic {
        /// The API key: the user name.
        key: String,
        /// The secret: the password.
        secret: SecretString,
    },
    /// The same as clients of yente send it, which know one text only: `ApiKey <API_KEY>:<SECRET>`.
    ApiKey {
        /// The API key.
        key: String,
        /// The secret.
        secret: SecretString,
    },
    /// The short-lived token of a hosted session.
    Bearer(SecretString),
}

/// Why the header cannot be used. Each text states the fault and the fix.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    /// No header.
    #[error("Authorization header is missing: send `Basic base64(<API_KEY>:<SECRET>)`")]
    Missing,
    /// More than one header.
    #[error("Authorization header is sent more than once: send it once")]
    Doubled,
    /// A scheme other than Basic and Bearer, or nothing after it.
    #[error(
        "Authorization header is malformed: send `Basic base64(<API_KEY>:<SECRET>)` or `Bearer <ACCESS_TOKEN>`"
    )]
    Malformed,
    /// The part after `Basic` is not base64 of UTF-8 with a colon in it.
    #[error("Authorization header is malformed: what follows `Basic` must be base64 of `<API_KEY>:<SECRET>`")]
    NotKeyAndSecret,
    /// The part after `ApiKey` has no colon.
    #[error("Authorization header is malformed: what follows `ApiKey` must be `<API_KEY>:<SECRET>`")]
    NotApiKeyAndSecret,
}

/// The longest header in bytes. Keys and tokens are short, so a longer header is refused before it is parsed.
const MAX_HEADER: usize = 2_048;

/// The credentials that the headers carry.
pub fn parse(headers: &HeaderMap) -> Result<Authorization, AuthorizationError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(AuthorizationError::Missing)?;
    if values.next().is_some() {
        return Err(AuthorizationError::Doubled);
    }
    parse_value(value.as_bytes())
}

/// The credentials in one header value.
pub fn parse_value(value: &[u8]) -> Result<Authorization, AuthorizationError> {
    if value.len() > MAX_HEADER {
        return Err(AuthorizationError::Malformed);
    }
    let value = std::str::from_utf8(value)
        .map_err(|_| AuthorizationError::Malformed)?
        .trim();
    let (scheme, rest) = value.split_once(' ').ok_or(AuthorizationError::Malformed)?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Err(AuthorizationError::Malformed);
    }
    if scheme.eq_ignore_ascii_case("bearer") {
        return Ok(Authorization::Bearer(rest.to_owned().into()));
    }
    if scheme.eq_ignore_ascii_case("apikey") {
        let (key, secret) = rest
            .split_once(':')
            .ok_or(AuthorizationError::NotApiKeyAndSecret)?;
        return Ok(Authorization::ApiKey {
            key: key.to_owned(),
            secret: secret.to_owned().into(),
        });
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(AuthorizationError::Malformed);
    }
    let decoded = STANDARD
        .decode(rest)
        .map_err(|_| AuthorizationError::NotKeyAndSecret)?;
    let text = String::from_utf8(decoded).map_err(|_| AuthorizationError::NotKeyAndSecret)?;
    let (key, secret) = text.split_once(':').ok_or(AuthorizationError::NotKeyAndSecret)?;
    Ok(Authorization::Basic {
        key: key.to_owned(),
        secret: secret.to_owned().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn basic_is_split_at_the_first_colon() {
        let Ok(Authorization::Basic { key, secret }) = parse_value(b"bAsIc a2V5OnM6ZWNyZXQ=") else {
            panic!("basic")
        };
        assert_eq!((key.as_str(), secret.expose_secret()), ("key", "s:ecret"));
    }

    #[test]
    fn clients_of_yente_send_key_and_secret_as_one_text() {
        let Ok(Authorization::ApiKey { key, secret }) = parse_value(b"ApiKey key:s:ecret") else {
            panic!("an API key")
        };
        assert_eq!((key.as_str(), secret.expose_secret()), ("key", "s:ecret"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        use AuthorizationError::*;
        for (value, error) in [
            ("", Malformed),
            ("Basic", Malformed),
            ("Basic ", Malformed),
            ("Digest abc", Malformed),
            ("Basic !!!", NotKeyAndSecret),
            ("Basic bm9jb2xvbg==", NotKeyAndSecret),
            ("ApiKey nocolon", NotApiKeyAndSecret),
            ("Basic /////w==", NotKeyAndSecret),
        ] {
            assert_eq!(parse_value(value.as_bytes()).unwrap_err(), error, "{value}");
        }
        assert_eq!(parse(&HeaderMap::new()).unwrap_err(), Missing);
    }
}
