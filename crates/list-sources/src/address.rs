//! The address of a publisher's file. Its query may contain a token, so only [`Address::url`] shows it.

use std::fmt;

use reqwest::Url;

/// An address of a file: HTTPS, or HTTP where an operator wrote it explicitly.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(Box<Url>);

/// Why an address cannot be used. The text does not repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no URL with a host.
    #[error("it must be an absolute URL, such as https://example.org/list.xml")]
    NoUrl,
    /// It has another scheme.
    #[error("it must begin with https:// (or http:// for a server of your own)")]
    Scheme,
    /// It contains a user name or a password.
    #[error("it must not contain a user name or password")]
    UserInfo,
}

impl Address {
    /// Parses an operator's or a publisher's address.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let url = Url::parse(text.trim()).map_err(|_| AddressError::NoUrl)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(AddressError::Scheme);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::NoUrl);
        }
        if has_user_info(&url) {
            return Err(AddressError::UserInfo);
        }
        Ok(Address(Box::new(url)))
    }

    /// The whole address. It may contain a token.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The last part of the path, which names the file; empty if the path has none.
    pub fn file_name(&self) -> &str {
        self.0
            .path_segments()
            .and_then(|mut parts| parts.next_back())
            .unwrap_or("")
    }
}

/// Whether a URL contains a user name or a password.
pub(crate) fn has_user_info(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Shows scheme, host and path, and never the query.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, path) = (self.0.scheme(), self.0.path());
        let host = self.0.host_str().unwrap_or("");
        match self.0.port() {
            Some(port) => write!(f, "{scheme}://{host}:{port}{path}"),
            None => write!(f, "{scheme}://{host}{path}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown, file) in [
            (
                "https://example.org/a/list.xml",
                "https://example.org/a/list.xml",
                "list.xml",
            ),
            (
                "https://example.org/content?token=secret",
                "https://example.org/content",
                "content",
            ),
            (
                "http://127.0.0.1:81/list.csv",
                "http://127.0.0.1:81/list.csv",
                "list.csv",
            ),
            (" https://example.org ", "https://example.org/", ""),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.to_string().as_str(), address.file_name()), (shown, file));
            assert!(!format!("{address:?}").contains("secret"));
        }
        for (text, error) in [
            ("", AddressError::NoUrl),
            ("list.xml", AddressError::NoUrl),
            ("https://", AddressError::NoUrl),
            ("file:///etc/passwd", AddressError::Scheme),
            ("ftp://example.org/list.xml", AddressError::Scheme),
            ("https://user:secret@example.org/list.xml", AddressError::UserInfo),
            ("https://user@example.org/list.xml", AddressError::UserInfo),
        ] {
            let refused = Address::parse(text).unwrap_err();
            assert_eq!(refused, error, "{text}");
            assert!(!refused.to_string().contains("secret"));
        }
    }
}
