//! HTTP, and lines over a bare connection, for the chain engine: indexes, nodes and vendors are asked through it. Nothing
//! that is asked or answered is logged.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Instant;

use chain::ondemand::{HttpRequest, HttpResponse, LARGEST_BODY, Transport, TransportError};
use tokio::runtime::Handle;

/// HTTP by reqwest; redirects are not followed, so credentials stay where they were meant for.
pub struct HttpTransport {
    client: reqwest::Client,
    runtime: Handle,
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
        Ok(HttpTransport { client, runtime })
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
        let answer = match request.url.strip_prefix("tcp://") {
            Some(place) => lines(place, request)?,
            // The URL holds the address asked about, perhaps a credential.
            None => self
                .runtime
                .block_on(self.sent(request))
                .map_err(|error| match error {
                    error if error.is_timeout() => TransportError::TimedOut,
                    error => TransportError::Unreachable(error.without_url().to_string()),
                })?,
        };
        if answer.body.len() > LARGEST_BODY {
            return Err(TransportError::TooLarge);
        }
        Ok(answer)
    }
}

/// Sends the body's lines and waits for as many.
fn lines(place: &str, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    let unreachable = |error: io::Error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => TransportError::TimedOut,
        _ => TransportError::Unreachable(error.to_string()),
    };
    let until = Instant::now() + request.timeout;
    let left = || {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(TransportError::TimedOut)
        } else {
            Ok(left)
        }
    };
    let mut addresses = place.to_socket_addrs().map_err(unreachable)?;
    let address = addresses
        .next()
        .ok_or_else(|| TransportError::Unreachable("its name has no address".to_owned()))?;
    let mut stream = TcpStream::connect_timeout(&address, left()?).map_err(unreachable)?;
    stream.set_write_timeout(Some(left()?)).map_err(unreachable)?;
    let sent = request.body.as_deref().unwrap_or_default();
    stream
        .write_all(format!("{sent}\n").as_bytes())
        .map_err(unreachable)?;
    let wanted = sent.lines().count();
    let mut body = Vec::new();
    let mut reader = BufReader::new(stream);
    let mut read = 0;
    while read < wanted {
        // A server that sends a byte now and then is not waited for longer than one that sends nothing.
        reader
            .get_ref()
            .set_read_timeout(Some(left()?))
            .map_err(unreachable)?;
        let chunk = reader.fill_buf().map_err(unreachable)?;
        if chunk.is_empty() {
            return Err(TransportError::Unreachable(
                "the connection was closed".to_owned(),
            ));
        }
        let length = chunk.len();
        read += chunk.iter().filter(|byte| **byte == b'\n').count();
        body.extend_from_slice(chunk);
        reader.consume(length);
        if body.len() > LARGEST_BODY {
            return Err(TransportError::TooLarge);
        }
    }
    Ok(HttpResponse { status: 200, body })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    /// Asks two lines of a server that does something with its connection.
    fn asked(serve: impl FnOnce(TcpStream) + Send + 'static) -> Result<Vec<u8>, TransportError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        let mut request = HttpRequest::get("", Duration::from_millis(400));
        request.body = Some("one\ntwo".to_owned());
        let answer = lines(&place, &request).map(|answer| answer.body);
        server.join().unwrap();
        answer
    }

    #[test]
    fn lines_are_answered_by_as_many() {
        let good = asked(|mut stream| {
            let mut read = [0; 8];
            stream.read_exact(&mut read).unwrap();
            assert_eq!(&read, b"one\ntwo\n");
            stream.write_all(b"1\n").unwrap();
            std::thread::sleep(Duration::from_millis(50));
            stream.write_all(b"2\n").unwrap();
        });
        assert_eq!(good, Ok(b"1\n2\n".to_vec()));
        let closed = asked(|mut stream| {
            let _ = stream.read_exact(&mut [0; 8]);
            stream.write_all(b"1\n2").unwrap();
        });
        assert!(
            matches!(closed, Err(TransportError::Unreachable(_))),
            "{closed:?}"
        );
        let silent = asked(|_stream| std::thread::sleep(Duration::from_millis(700)));
        assert_eq!(silent, Err(TransportError::TimedOut));
        let dripping = asked(|mut stream| {
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(50));
                if stream.write_all(b".").is_err() {
                    break;
                }
            }
        });
        assert_eq!(dripping, Err(TransportError::TimedOut));
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let request = HttpRequest::get("", Duration::from_millis(400));
        assert!(matches!(
            lines(&nobody.to_string(), &request),
            Err(TransportError::Unreachable(_))
        ));
    }
}
