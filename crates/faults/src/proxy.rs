//! A TCP proxy in front of PostgreSQL that can break what a network breaks: it cuts a connection after a
//! COMMIT has reached the database and before its answer has reached the client, or it delivers nothing for
//! a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A simple query with this text ends a transaction.
const COMMIT: &[u8] = b"COMMIT\0";

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
}

impl Proxy {
    /// Listens on a free port and forwards each connection to a port of this machine.
    pub(crate) async fn start(target: u16) -> anyhow::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State {
            cuts: AtomicU32::new(0),
            stalled: AtomicBool::new(false),
            resumed: watch::Sender::new(()),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target, Arc::clone(&shared)));
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

    /// Delivers nothing in either direction for a while, without closing anything.
    pub(crate) async fn stall(&self, time: Duration) {
        self.state.stalled.store(true, Ordering::SeqCst);
        tokio::time::sleep(time).await;
        self.state.stalled.store(false, Ordering::SeqCst);
        self.state.resumed.send_replace(());
    }
}

impl State {
    async fn pass(&self) {
        let mut resumed = self.resumed.subscribe();
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
}

/// Copies both directions until one ends or the connection is cut.
async fn forward(client: TcpStream, target: u16, state: Arc<State>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else {
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
    }
}
