//! Questions to Electrum servers: lines over a bare connection, with TLS where the address says so, kept for the next
//! question while it lasts. Nothing that is asked or answered is logged.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chain::ondemand::{HttpRequest, HttpResponse, LARGEST_BODY, TransportError};
use rustls::{ClientConnection, StreamOwned};

use super::chain_tls::{Address, Tls};

/// For how long a connection without a question is kept: shorter than any server waits.
const IDLE: Duration = Duration::from_secs(20);
/// Connections without a question that are kept for one address.
const KEPT: usize = 8;

fn failed(error: io::Error) -> TransportError {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => TransportError::TimedOut,
        _ => TransportError::Unreachable(error.to_string()),
    }
}

/// A connection that ends at a moment: a server that sends a byte now and then is not waited for longer than one that sends
/// nothing.
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

/// A connection, and the moment that it may be waited for.
trait Line: Read + Write + Send {
    fn wait_until(&mut self, until: Instant);
}

impl Line for Socket {
    fn wait_until(&mut self, until: Instant) {
        self.until = until;
    }
}

impl Line for StreamOwned<ClientConnection, Socket> {
    fn wait_until(&mut self, until: Instant) {
        self.sock.until = until;
    }
}

/// A connection without a question, and since when.
type Idle = (Instant, Box<dyn Line>);

/// Connections to servers that are asked in lines.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) tls: Tls,
    /// By address, the latest used last.
    idle: Mutex<HashMap<String, Vec<Idle>>>,
}

impl Lines {
    /// The SHA-256 of the certificate that a server shows, if it is believed.
    ///
    /// # Errors
    /// When it does not answer in time or is not believed.
    pub(super) fn certificate(
        &self,
        address: &Address,
        within: Duration,
    ) -> Result<Option<String>, TransportError> {
        let socket = Socket::open(&address.place, Instant::now() + within)?;
        self.tls.begin(address, socket).map_err(failed)?;
        Ok(self.tls.fingerprint(address))
    }

    /// Sends the body's lines and waits for as many.
    ///
    /// # Errors
    /// When they do not come in time, or the connection fails.
    pub(super) fn ask(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let until = Instant::now() + request.timeout;
        // Whoever left without a word is noticed only when asked: another connection is tried then.
        while let Some(mut line) = self.take(&request.url) {
            line.wait_until(until);
            match self.asked(line, request) {
                Err(TransportError::Unreachable(_)) => {}
                answer => return answer,
            }
        }
        self.asked(self.open(&request.url, until)?, request)
    }

    fn open(&self, url: &str, until: Instant) -> Result<Box<dyn Line>, TransportError> {
        let wrong = |error: anyhow::Error| TransportError::Unreachable(error.to_string());
        Ok(match Address::parse(url).map_err(wrong)? {
            Some(address) => {
                let socket = Socket::open(&address.place, until)?;
                Box::new(self.tls.begin(&address, socket).map_err(failed)?)
            }
            None => Box::new(Socket::open(url.strip_prefix("tcp://").unwrap_or(url), until)?),
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, url: &str) -> Option<Box<dyn Line>> {
        let mut idle = self.idle();
        let kept = idle.get_mut(url)?;
        kept.retain(|(since, _)| since.elapsed() < IDLE);
        kept.pop().map(|(_, line)| line)
    }

    fn asked(&self, mut line: Box<dyn Line>, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let (body, whole) = lines(&mut *line, request.body.as_deref().unwrap_or_default())?;
        if whole {
            let mut idle = self.idle();
            let kept = idle.entry(request.url.clone()).or_default();
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push((Instant::now(), line));
        }
        Ok(HttpResponse { status: 200, body })
    }
}

/// Sends lines and waits for as many; answers too whether nothing else came, so that the next question has its own answer.
fn lines(line: &mut dyn Line, sent: &str) -> Result<(Vec<u8>, bool), TransportError> {
    line.write_all(format!("{sent}\n").as_bytes())
        .and_then(|()| line.flush())
        .map_err(failed)?;
    let wanted = sent.lines().count();
    let mut body = Vec::new();
    let mut reader = BufReader::new(line);
    let mut read = 0;
    while read < wanted {
        let chunk = match reader.fill_buf() {
            // Many servers end TLS without saying so.
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
    let whole = read == wanted && body.ends_with(b"\n");
    Ok((body, whole))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Asks two lines of a server that does something with its connection.
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

    /// Answers as many questions as it is told on each connection, and says how many connections there were.
    fn played(questions: &'static [usize]) -> (HttpRequest, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("tcp://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            for (connection, count) in questions.iter().enumerate() {
                let mut stream = listener.accept().unwrap().0;
                for question in 0..*count {
                    stream.read_exact(&mut [0; 4]).unwrap();
                    stream
                        .write_all(format!("{connection}.{question}\n").as_bytes())
                        .unwrap();
                }
            }
        });
        let mut request = HttpRequest::get(url, Duration::from_secs(30));
        request.body = Some("one".to_owned());
        (request, server)
    }

    #[test]
    fn a_connection_is_kept_for_the_next_question_and_opened_again_when_it_ended() {
        let (request, server) = played(&[2, 1, 3]);
        let lines = Lines::default();
        let answers: Vec<String> = (0..6)
            .map(|_| String::from_utf8(lines.ask(&request).unwrap().body).unwrap())
            .collect();
        assert_eq!(answers.concat(), "0.0\n0.1\n1.0\n2.0\n2.1\n2.2\n");
        server.join().unwrap();
        assert!(matches!(lines.ask(&request), Err(TransportError::Unreachable(_))));
        // Somebody else's connection is not this one's.
        let (other, server) = played(&[1]);
        assert_eq!(lines.ask(&other).unwrap().body, b"0.0\n");
        server.join().unwrap();
    }

    #[test]
    fn whoever_says_more_than_was_asked_is_not_asked_there_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut request = HttpRequest::get(
            format!("tcp://{}", listener.local_addr().unwrap()),
            Duration::from_secs(30),
        );
        request.body = Some("one".to_owned());
        let server = std::thread::spawn(move || {
            // Held open, or the end would be what is noticed.
            let held: Vec<TcpStream> = (0..2)
                .map(|_| {
                    let mut stream = listener.accept().unwrap().0;
                    stream.read_exact(&mut [0; 4]).unwrap();
                    stream.write_all(b"1\nnews\n").unwrap();
                    stream
                })
                .collect();
            drop(held);
        });
        let lines = Lines::default();
        for _ in 0..2 {
            assert!(lines.ask(&request).unwrap().body.starts_with(b"1\n"));
        }
        server.join().unwrap();
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
