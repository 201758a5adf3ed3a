//! The transport of the chain engine to indexes, nodes and vendors: HTTP, and lines over a bare connection.
//! Requests and responses are never logged.

use std::time::Duration;

use crate::ondemand::{HttpRequest, HttpResponse, LARGEST_BODY, Transport, TransportError};
use crate::rpc::is_bare;
use tokio::runtime::Handle;

use crate::lines::Lines;
use crate::tls::Address;

/// HTTP by reqwest. Redirects are not followed, so that credentials never reach another host.
pub struct HttpTransport {
    client: reqwest::Client,
    runtime: Handle,
    lines: Lines,
}

impl HttpTransport {
    /// A transport whose requests run on a runtime.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(runtime: Handle) -> anyhow::Result<HttpTransport> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("Bonafide/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(HttpTransport {
            client,
            runtime,
            lines: Lines::default(),
        })
    }

    /// The SHA-256 of a server's certificate, if the server is trusted.
    ///
    /// # Errors
    /// When the server does not answer in time or is not trusted.
    pub fn certificate(&self, address: &Address, within: Duration) -> Result<Option<String>, TransportError> {
        self.lines.certificate(address, within)
    }

    async fn sent(&self, request: &HttpRequest) -> Result<HttpResponse, reqwest::Error> {
        let mut sending = match &request.body {
            None => self.client.get(&request.url),
            Some(body) => self
                .client
                .post(&request.url)
                .header("content-type", "application/json")
                .body(body.clone()),
        };
        for (name, value) in &request.headers {
            sending = sending.header(name, value);
        }
        let mut answer = sending.timeout(request.timeout).send().await?;
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_BODY {
                break;
            }
        }
        Ok(HttpResponse { status, body })
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let answer = if is_bare(&request.url) {
            self.lines.ask(request)?
        } else {
            // The URL contains the screened address and perhaps a credential, so the error leaves it out.
            self.runtime
                .block_on(self.sent(request))
                .map_err(|error| match error {
                    error if error.is_timeout() => TransportError::TimedOut,
                    error => TransportError::Unreachable(error.without_url().to_string()),
                })?
        };
        if answer.body.len() > LARGEST_BODY {
            return Err(TransportError::TooLarge);
        }
        Ok(answer)
    }
}
