//! The accept loop with slow, silent and many clients (`http_server::listener`).

use std::time::{Duration, Instant};

use base64::Engine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::harness::{Backend, Server, wait_until};

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

pub(crate) async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.base.trim_start_matches("http://"))
        .await
        .unwrap()
}

/// Sends a request and reads its (short) response.
async fn ask(stream: &mut TcpStream, request: &[u8]) -> String {
    stream.write_all(request).await.unwrap();
    let mut answer = vec![0; 4_096];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

async fn metrics(server: &Server) -> String {
    let metrics = server.http.get(format!("{}/metrics", server.base));
    let metrics = metrics.bearer_auth("secret").send().await.unwrap();
    metrics.text().await.unwrap()
}

/// A request whose body lacks its last byte, `}`.
fn half_a_post(server: &Server) -> Vec<u8> {
    let key = server.merchant(true).sandbox;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{}:{}", key.key, key.secret));
    format!(
        "POST /v2/public/groups HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {basic}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{"
    )
    .into_bytes()
}

/// Whether the server closes the connection within this time. Earlier bytes are ignored.
async fn is_closed_within(stream: &mut TcpStream, seconds: u64) -> bool {
    let mut rest = Vec::new();
    timeout(Duration::from_secs(seconds), stream.read_to_end(&mut rest))
        .await
        .is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_trickles_in_is_cut_off() {
    let server = Server::start(Backend::Sqlite, &["--header-seconds", "2"]).await;
    let mut slow = connect(&server).await;
    let begun = Instant::now();
    // At one byte at a time, the header would take ten seconds.
    for byte in GET.iter().cycle() {
        if slow.write_all(&[*byte]).await.is_err() || begun.elapsed() > Duration::from_secs(10) {
            break;
        }
        sleep(Duration::from_millis(300)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let mut silent = connect(&server).await;
    assert!(
        is_closed_within(&mut silent, 4).await,
        "a silent connection is closed too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_kept_between_requests_and_closed_when_idle() {
    let server = Server::start(Backend::Sqlite, &["--header-seconds", "1", "--idle-seconds", "5"]).await;
    let post = half_a_post(&server);
    let mut kept = connect(&server).await;
    for _ in 0..3 {
        assert!(ask(&mut kept, GET).await.starts_with("HTTP/1.1 200"));
    }
    sleep(Duration::from_millis(1_800)).await;
    assert!(
        ask(&mut kept, GET).await.starts_with("HTTP/1.1 200"),
        "a rest is no slow header"
    );
    // A body may take longer than a header.
    kept.write_all(&post).await.unwrap();
    sleep(Duration::from_millis(1_800)).await;
    assert!(ask(&mut kept, b"}").await.starts_with("HTTP/1.1 400"));
    let begun = Instant::now();
    assert!(is_closed_within(&mut kept, 60).await);
    assert!(begun.elapsed() > Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let server = Server::start(Backend::Sqlite, &["--connections", "3", "--header-seconds", "3"]).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(connect(&server).await);
    }
    // Connections are accepted in order, so the earlier ones have their places.
    let mut waiting = connect(&server).await;
    waiting.write_all(GET).await.unwrap();
    let mut answer = [0; 12];
    assert!(
        timeout(Duration::from_secs(1), waiting.read_exact(&mut answer))
            .await
            .is_err(),
        "the limit holds"
    );
    timeout(Duration::from_secs(6), waiting.read_exact(&mut answer))
        .await
        .expect("a silent connection gives its place back")
        .unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

/// A connection from another address of this machine.
async fn connect_from(address: &str, server: &Server) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    let server = server.base.trim_start_matches("http://").parse().unwrap();
    socket.connect(server).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_host_holds_all_places() {
    let limits = ["--connections", "20", "--connections-per-host", "3"];
    let patience = ["--header-seconds", "60", "--metrics-token", "secret"];
    let server = Server::start(Backend::Sqlite, &[limits, patience].concat()).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(connect_from("127.0.0.2", &server).await);
    }
    // Connections are accepted in order, so the earlier ones have their places.
    let mut fourth = connect_from("127.0.0.2", &server).await;
    assert!(is_closed_within(&mut fourth, 20).await, "it has its share");
    assert!(
        ask(&mut connect(&server).await, GET)
            .await
            .starts_with("HTTP/1.1 200"),
        "others are served"
    );
    let metrics = metrics(&server).await;
    assert!(
        metrics.contains("bonafide_connections_refused_total 1"),
        "{metrics}"
    );
    silent.pop();
    let is_served = async || {
        let mut again = connect_from("127.0.0.2", &server).await;
        let mut answer = [0; 12];
        let asked = again.write_all(GET).await.is_ok() && again.read_exact(&mut answer).await.is_ok();
        asked && &answer == b"HTTP/1.1 200"
    };
    wait_until(is_served, "a place given back is used again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_stop_others() {
    // Many clients' connections can come from one proxy.
    let server = Server::start(Backend::Sqlite, &["--trusted-proxies", "127.0.0.1"]).await;
    let mut silent = Vec::new();
    for _ in 0..500 {
        silent.push(connect(&server).await);
    }
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(
            ask(&mut connect(&server).await, GET)
                .await
                .starts_with("HTTP/1.1 200")
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_given_up() {
    let patience = ["--header-seconds", "1", "--metrics-token", "secret"];
    let server = Server::start(Backend::Sqlite, &patience).await;
    let mut greedy = connect(&server).await;
    let request = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    // The responses exceed every socket buffer. The client reads none until the server's timeout has passed.
    let _ = timeout(Duration::from_secs(1), greedy.write_all(&request)).await;
    // One open connection is that of the request for the metrics.
    let open = async |count: u32| {
        let line = format!("bonafide_open_connections {count}\n");
        metrics(&server).await.contains(&line)
    };
    wait_until(async || open(2).await, "the server accepts it").await;
    wait_until(async || open(1).await, "the server gives it up").await;
    let mut read = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(some @ 1..) = timeout(Duration::from_secs(5), greedy.read(&mut buffer))
        .await
        .expect("the connection is closed")
    {
        read += some;
    }
    assert!(read < 100_000_000, "{read} bytes came all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_requests_are_finished_and_idle_connections_closed_when_asked_to_stop() {
    let mut server = Server::start(Backend::Sqlite, &[]).await;
    let mut idle = connect(&server).await;
    assert!(ask(&mut idle, GET).await.starts_with("HTTP/1.1 200"));
    let _silent = connect(&server).await;
    let mut running = connect(&server).await;
    let post = String::from_utf8(half_a_post(&server)).unwrap();
    let head = post
        .trim_end_matches('{')
        .replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    assert!(
        ask(&mut running, head.as_bytes())
            .await
            .starts_with("HTTP/1.1 100"),
        "the request is running: its body is wanted"
    );
    running.write_all(b"{").await.unwrap();
    server.ask_to_stop();
    assert!(is_closed_within(&mut idle, 3).await);
    assert!(
        ask(&mut running, b"}").await.starts_with("HTTP/1.1 400"),
        "the running request got its answer"
    );
    let begun = Instant::now();
    assert!(server.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
