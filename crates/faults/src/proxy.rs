//! A TCP proxy in front of a database or an object store that can break what a network breaks: it cuts a
//! connection after a COMMIT has reached the database and before its answer has reached the client, delivers
//! nothing for a while, or refuses every connection. It never changes what it forwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A simple query with this text ends a transaction.
const COMMIT: &[u8] = b"COMMIT\0";

/// The ports of this machine that connections are forwarded to.
#[derive(Clone)]
pub(crate) enum Target {
    /// One server at a time. When it changes, connections to the former one are cut; while there is none,
    /// every connection is refused.
    Current(watch::Receiver<Option<u16>>),
    /// The first of several servers that accepts the connection.
    Any(Arc<[u16]>),
}

impl From<u16> for Target {
    fn from(port: u16) -> Self {
        Target::Any([port].into())
    }
}

/// What the proxy does to its connections.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

struct State {
    /// How many of the next COMMITs lose their answers.
    cuts: AtomicU32,
    stalled: AtomicBool,
    resumed: watch::Sender<()>,
    refuses: watch::Sender<bool>,
    /// The messages that a stall has held back, and the connections that were refused or cut.
    affected: AtomicU64,
}

impl Proxy {
    /// Listens on a free port and forwards each connection to a port of this machine.
    pub(crate) async fn start(target: impl Into<Target>) -> anyhow::Result<Proxy> {
        let target = target.into();
        let listener = TcpListener::bind(("127.0.0.1", crate::postgres::free_port()?)).await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State {
            cuts: AtomicU32::new(0),
            stalled: AtomicBool::new(false),
            resumed: watch::Sender::new(()),
            refuses: watch::Sender::new(false),
            affected: AtomicU64::new(0),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target.clone(), Arc::clone(&shared)));
            }
        });
        Ok(Proxy { port, state })
    }

    /// Cuts the next `count` connections that commit, each before the answer. Returns how many were cut within
    /// `within`.
    pub(crate) async fn cut_commits(&self, count: u32, within: Duration) -> u32 {
        self.state.cuts.store(count, Ordering::SeqCst);
        let deadline = tokio::time::Instant::now() + within;
        while self.state.cuts.load(Ordering::SeqCst) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        count - self.state.cuts.swap(0, Ordering::SeqCst)
    }

    /// Delivers nothing in either direction for a while, without closing anything. Returns how many messages it
    /// has held back.
    pub(crate) async fn stall(&self, time: Duration) -> u64 {
        self.state.affected.store(0, Ordering::SeqCst);
        self.state.stalled.store(true, Ordering::SeqCst);
        tokio::time::sleep(time).await;
        self.state.stalled.store(false, Ordering::SeqCst);
        self.state.resumed.send_replace(());
        self.state.affected.load(Ordering::SeqCst)
    }

    /// Cuts every connection, and refuses new ones for a while. Returns how many it has cut or refused.
    pub(crate) async fn refuse(&self, time: Duration) -> u64 {
        self.state.affected.store(0, Ordering::SeqCst);
        self.state.refuses.send_replace(true);
        tokio::time::sleep(time).await;
        self.state.refuses.send_replace(false);
        self.state.affected.load(Ordering::SeqCst)
    }
}

impl State {
    async fn pass(&self) {
        let mut resumed = self.resumed.subscribe();
        if self.stalled.load(Ordering::SeqCst) {
            self.affected.fetch_add(1, Ordering::SeqCst);
        }
        while self.stalled.load(Ordering::SeqCst) {
            if resumed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Takes one of the cuts that are left.
    fn take_cut(&self) -> bool {
        let take = |left: u32| left.checked_sub(1);
        self.cuts
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_ok()
    }

    /// Returns when connections are refused.
    async fn refused(&self) {
        let mut refuses = self.refuses.subscribe();
        // The sender is part of this state, so waiting cannot fail.
        let _ = refuses.wait_for(|refuses| *refuses).await;
    }
}

impl Target {
    /// Connects to the server.
    async fn connect(&mut self) -> Option<TcpStream> {
        let ports = match self {
            Target::Current(current) => current.borrow_and_update().iter().copied().collect(),
            Target::Any(ports) => Arc::clone(ports),
        };
        for port in ports.iter() {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", *port)).await {
                return Some(stream);
            }
        }
        None
    }

    /// Returns when the server is no longer the one that [`Target::connect`] found.
    async fn changed(&mut self) {
        let has_changed = match self {
            Target::Current(current) => current.changed().await.is_ok(),
            Target::Any(_) => false,
        };
        if !has_changed {
            std::future::pending::<()>().await;
        }
    }
}

/// Copies both directions until one ends or the connection is cut.
async fn forward(client: TcpStream, mut target: Target, state: Arc<State>) {
    if *state.refuses.borrow() {
        state.affected.fetch_add(1, Ordering::SeqCst);
        return;
    }
    let Some(server) = target.connect().await else {
        return;
    };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (cut, mut is_cut) = watch::channel(false);
    let up = async {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match from_client.read(&mut buffer).await {
                Ok(read) if read > 0 => {
                    state.pass().await;
                    let bytes = &buffer[..read];
                    // The answer is held back before the COMMIT is sent.
                    let commits = bytes.windows(COMMIT.len()).any(|part| part == COMMIT);
                    let cuts = commits && state.take_cut();
                    cut.send_replace(cuts);
                    if to_server.write_all(bytes).await.is_err() {
                        return;
                    }
                    if cuts {
                        // Long enough for the database to commit.
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    let down = async {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match from_server.read(&mut buffer).await {
                Ok(read) if read > 0 => {
                    state.pass().await;
                    while *is_cut.borrow_and_update() {
                        if is_cut.changed().await.is_err() {
                            return;
                        }
                    }
                    if to_client.write_all(&buffer[..read]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
        () = target.changed() => {}
        () = state.refused() => {
            state.affected.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends its number to each client.
    async fn server(number: u8) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut client, _)) = listener.accept().await {
                client.write_all(&[number]).await.unwrap();
                open.push(client);
            }
        });
        port
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(("127.0.0.1", proxy.port)).await.unwrap()
    }

    /// The next byte, or `None` if the connection was closed.
    async fn next(stream: &mut TcpStream) -> Option<u8> {
        stream.read_u8().await.ok()
    }

    #[tokio::test]
    async fn connections_follow_the_current_server() {
        let (one, two) = (server(1).await, server(2).await);
        let (current, receiver) = watch::channel(None);
        let proxy = Proxy::start(Target::Current(receiver)).await.unwrap();
        assert_eq!(next(&mut connect(&proxy).await).await, None);
        current.send_replace(Some(one));
        let mut first = connect(&proxy).await;
        assert_eq!(next(&mut first).await, Some(1));
        current.send_replace(Some(two));
        assert_eq!(
            next(&mut first).await,
            None,
            "the former server's connection is cut"
        );
        assert_eq!(next(&mut connect(&proxy).await).await, Some(2));
    }

    #[tokio::test]
    async fn a_dead_server_is_skipped_and_a_refusing_proxy_cuts() {
        let dead = crate::postgres::free_port().unwrap();
        let ports = [dead, server(2).await];
        let proxy = Proxy::start(Target::Any(ports.into())).await.unwrap();
        let mut open = connect(&proxy).await;
        assert_eq!(next(&mut open).await, Some(2));
        let (affected, ()) = tokio::join!(proxy.refuse(Duration::from_millis(300)), async {
            assert_eq!(next(&mut open).await, None);
            assert_eq!(next(&mut connect(&proxy).await).await, None);
        });
        assert_eq!(affected, 2);
        assert_eq!(next(&mut connect(&proxy).await).await, Some(2));
    }

    #[tokio::test]
    async fn a_stall_counts_the_messages_that_it_holds_back() {
        let proxy = Proxy::start(server(1).await).await.unwrap();
        let time = Duration::from_millis(300);
        assert_eq!(proxy.stall(time).await, 0);
        let (held, byte) = tokio::join!(proxy.stall(time), async {
            next(&mut connect(&proxy).await).await
        });
        assert_eq!((held, byte), (1, Some(1)));
    }
}
