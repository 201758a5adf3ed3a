//! Requests to Electrum servers: lines over a bare connection, with TLS where the address demands it.
//! Requests and responses are never logged.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::ondemand::{HttpRequest, HttpResponse, LARGEST_BODY, TransportError};

use crate::tls::{Address, Tls};

fn failed(error: io::Error) -> TransportError {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => TransportError::TimedOut,
        _ => TransportError::Unreachable(error.to_string()),
    }
}

/// A connection with a deadline. A server that sends a byte now and then gets no more time than one that
/// sends nothing.
struct Socket {
    stream: TcpStream,
    until: Instant,
}

impl Socket {
    fn open(place: &str, until: Instant) -> Result<Socket, TransportError> {
        let mut addresses = place.to_socket_addrs().map_err(failed)?;
        let address = addresses
            .next()
            .ok_or_else(|| TransportError::Unreachable("its name has no address".to_owned()))?;
        let stream = TcpStream::connect_timeout(&address, left(until).map_err(failed)?).map_err(failed)?;
        Ok(Socket { stream, until })
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A client for servers that answer lines with lines.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) tls: Tls,
}

impl Lines {
    /// The SHA-256 of a server's certificate, if the server is trusted.
    ///
    /// # Errors
    /// When the server does not answer in time or is not trusted.
    pub(super) fn certificate(
        &self,
        address: &Address,
        within: Duration,
    ) -> Result<Option<String>, TransportError> {
        let socket = Socket::open(&address.host_and_port, Instant::now() + within)?;
        self.tls.begin(address, socket).map_err(failed)?;
        Ok(self.tls.fingerprint(address))
    }

    /// Sends the body's lines over a new connection, and waits for the same number of lines. A connection is
    /// never reused, because a server also announces new blocks on a subscribed one. Such a line could be
    /// taken for an answer.
    ///
    /// # Errors
    /// When the lines do not arrive in time, or the connection fails.
    pub(super) fn ask(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let until = Instant::now() + request.timeout;
        let wrong = |error: anyhow::Error| TransportError::Unreachable(error.to_string());
        match Address::parse(&request.url).map_err(wrong)? {
            Some(address) => {
                let socket = Socket::open(&address.host_and_port, until)?;
                lines(self.tls.begin(&address, socket).map_err(failed)?, request)
            }
            None => {
                let place = request.url.strip_prefix("tcp://").unwrap_or(&request.url);
                lines(Socket::open(place, until)?, request)
            }
        }
    }
}

/// Sends the body's lines and waits for the same number of lines.
fn lines(mut stream: impl Read + Write, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
    let sent = request.body.as_deref().unwrap_or_default();
    stream
        .write_all(format!("{sent}\n").as_bytes())
        .and_then(|()| stream.flush())
        .map_err(failed)?;
    let wanted = sent.lines().count();
    let mut body = Vec::new();
    let mut reader = BufReader::new(stream);
    let mut read = 0;
    while read < wanted {
        let chunk = match reader.fill_buf() {
            // Many servers close the connection without TLS's closing alert.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => &[],
            chunk => chunk.map_err(failed)?,
        };
        if chunk.is_empty() {
            return Err(TransportError::Unreachable(
                "the connection was closed (a server that wants TLS is ssl://HOST:PORT)".to_owned(),
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
    use std::net::TcpListener;

    use super::*;

    /// Sends two lines to a server that handles its connection with `serve`.
    fn asked(serve: impl FnOnce(TcpStream) + Send + 'static) -> Result<Vec<u8>, TransportError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        let mut request = HttpRequest::get(format!("tcp://{place}"), Duration::from_millis(400));
        request.body = Some("one\ntwo".to_owned());
        let answer = Lines::default().ask(&request).map(|answer| answer.body);
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
        let request = HttpRequest::get(format!("tcp://{nobody}"), Duration::from_millis(400));
        assert!(matches!(
            Lines::default().ask(&request),
            Err(TransportError::Unreachable(_))
        ));
    }
}
