//! The accept loop. It limits the number of connections, in total and per host, and how long each may be
//! silent. It never parses a request or a path; bodies are limited where they are read ([`crate::form`],
//! [`crate::body`]).
//!
//! Above the total limit a new connection waits in the kernel's queue, so a crowd of clients costs no memory.
//! A silent connection is closed after its timeout. A connection above its host's limit is closed at once.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Sleep;
use tower::Service;

use super::hosts::HostConnections;

/// The most bytes that hyper buffers of one connection's input, headers included. Longer headers get 431.
const MAX_BUFFER: usize = 64 * 1024;
/// The most open files that the process requests.
const MAX_OPEN_FILES: u64 = 65_536;
/// The pause after the system refused a new socket.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most open connections. Further ones wait to be accepted.
    pub connections: usize,
    /// The time for a request's headers, from the opening of the connection or the first byte of a later
    /// request.
    pub header: Duration,
    /// The time between two requests.
    pub idle: Duration,
    /// How long a client may read nothing of a response.
    pub write: Duration,
}

/// Serves until `stop`. Then idle connections are closed, and running requests get `grace` to finish. Returns
/// whether all of them finished.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    hosts: Arc<HostConnections>,
    stop: impl Future<Output = ()>,
    grace: Duration,
) -> bool {
    let places = Arc::new(Semaphore::new(limits.connections));
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_buf_size(MAX_BUFFER);
    let accept_all = async {
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let Some((stream, peer)) = accept(&listener).await else {
                continue;
            };
            let Some(held) = hosts.admit(peer.ip()) else {
                continue;
            };
            let (http, router, watcher) = (http.clone(), router.clone(), connections.watcher());
            tokio::spawn(async move {
                metrics::gauge!("bonafide_open_connections").increment(1.0);
                serve_one(&http, stream, peer, router, limits, watcher).await;
                metrics::gauge!("bonafide_open_connections").decrement(1.0);
                drop((place, held));
            });
        }
    };
    tokio::select! {
        () = accept_all => {}
        () = stop => {}
    }
    drop(listener);
    tokio::time::timeout(grace, connections.shutdown()).await.is_ok()
}

/// The next connection. `None` if accepting failed; the caller tries again.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::ConnectionReset
            ) =>
        {
            None
        }
        Err(error) => {
            tracing::warn!(%error, "no connection can be accepted");
            tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
            None
        }
    }
}

/// Serves one connection's requests, one after the other.
async fn serve_one(
    http: &http1::Builder,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    watcher: Watcher,
) {
    // Send a response at once instead of waiting for a full packet.
    let _ = stream.set_nodelay(true);
    let requests = Arc::new(Requests::default());
    let stream = TimedStream::new(stream, limits, Arc::clone(&requests));
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        requests.begun.fetch_add(1, Ordering::Relaxed);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        let (mut router, requests) = (router.clone(), Arc::clone(&requests));
        async move {
            let answer = router.call(request).await;
            requests.answered.fetch_add(1, Ordering::Relaxed);
            answer
        }
    });
    // It is not an error of the server if a client closes the connection early.
    let _ = watcher
        .watch(http.serve_connection(TokioIo::new(stream), service))
        .await;
}

/// Raises the limit of open files to what the system allows, at most [`MAX_OPEN_FILES`]. Each connection is a
/// file, and most systems start with 1,024. Returns the limit in effect.
pub fn raise_open_files() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit
        .maximum
        .map_or(MAX_OPEN_FILES, |most| most.min(MAX_OPEN_FILES));
    if limit.current.is_some_and(|current| current < most) {
        limit.current = Some(most);
        let _ = setrlimit(Resource::Nofile, limit);
    }
    getrlimit(Resource::Nofile).current.unwrap_or(MAX_OPEN_FILES)
}

/// The number of requests of one connection.
#[derive(Default)]
struct Requests {
    begun: AtomicU64,
    answered: AtomicU64,
}

/// A stream with two timeouts: for the headers of a request, and for a client that reads nothing.
struct TimedStream {
    stream: TcpStream,
    limits: Limits,
    requests: Arc<Requests>,
    /// The number of begun requests at the last read.
    requests_seen: u64,
    /// Runs while headers are incomplete: from the opening of the connection, later from the first byte of a
    /// request.
    header: Option<Pin<Box<Sleep>>>,
    /// Runs while the client reads nothing.
    write: Option<Pin<Box<Sleep>>>,
}

impl TimedStream {
    fn new(stream: TcpStream, limits: Limits, requests: Arc<Requests>) -> Self {
        TimedStream {
            stream,
            limits,
            requests,
            requests_seen: 0,
            header: Some(Box::pin(tokio::time::sleep(limits.header))),
            write: None,
        }
    }

    /// Applies the write timeout. Each completed write resets it.
    fn apply_write_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.write = None;
            return result;
        }
        let patience = self.limits.write;
        let sleep = self
            .write
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let begun = this.requests.begun.load(Ordering::Relaxed);
        if begun != this.requests_seen {
            // The headers are complete.
            (this.requests_seen, this.header) = (begun, None);
        }
        if begun != this.requests.answered.load(Ordering::Relaxed) {
            // These bytes are a body. Its readers limit the pauses.
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_ready() {
            if buffer.filled().len() > before && this.header.is_none() {
                this.header = Some(Box::pin(tokio::time::sleep(this.limits.header)));
            }
            return read;
        }
        match &mut this.header {
            Some(header) => {
                ready!(header.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.apply_write_timeout(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.apply_write_timeout(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
