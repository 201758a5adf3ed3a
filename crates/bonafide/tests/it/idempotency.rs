//! `Idempotency-Key` and its lease (`docs/decisions/0008-idempotency.md`): one key leads to one effect,
//! however long the request takes and whether or not its process survives.

use reqwest::Method;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::engine_worker::workers_of;
use crate::harness::{Key, Server, answer, on_both, wait_until};
use crate::verify::{specimen, verify};

/// Sends a signal to all workers. While they are stopped, verifications cannot proceed.
fn signal(workers: &[Pid], signal: Signal) {
    for worker in workers {
        rustix::process::kill_process(*worker, signal).unwrap();
    }
}

/// A server whose workers are stopped, and those workers.
async fn at_a_standstill(backend: crate::harness::Backend, arguments: &[&str]) -> (Server, Value, Vec<Pid>) {
    let (server, demo) = Server::demo(backend, arguments).await;
    let form = specimen("pass-passport").form(&demo, &json!({}));
    assert_eq!(verify(&server, &demo, form).await.0, 200);
    let workers = workers_of(server.pid());
    assert!(
        !workers.is_empty(),
        "the first verification left its workers for the next"
    );
    signal(&workers, Signal::STOP);
    (server, demo, workers)
}

/// Starts a verification with the key `once`.
fn begin(server: &Server, demo: &Value) -> tokio::task::JoinHandle<(u16, Value)> {
    let form = specimen("pass-id-card-td1").form(demo, &json!({}));
    let request = server.request(Method::POST, "/v2/idv/verify", &Key::of_demo(demo));
    let sent = request.header("Idempotency-Key", "once").multipart(form).send();
    tokio::spawn(async move { answer(sent.await.unwrap()).await })
}

on_both!(a_request_that_lost_its_lease_is_rolled_back, |backend| {
    let (server, demo, workers) = at_a_standstill(backend, &[]).await;
    let first = begin(&server, &demo);
    let claimed = async || server.count("select count(*) from idempotency_keys").await == 1;
    wait_until(claimed, "the first request's lease").await;
    // Simulates that the process was stopped for longer than its lease.
    server.sql("update idempotency_keys set lease_until = 0").await;
    let second = begin(&server, &demo);
    let taken_over = async || {
        server
            .count("select count(*) from idempotency_keys where lease_until > 0")
            .await
            == 1
    };
    wait_until(taken_over, "the second request's lease").await;
    signal(&workers, Signal::CONT);
    let ((late, told), (status, body)) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((late, status), (409, 200), "{told} {body}");
    assert!(
        told["message"].as_str().unwrap().contains("has taken over"),
        "{told}"
    );
    assert_eq!(
        server.count("select count(*) from attempts").await,
        2,
        "one for the key"
    );
    // The first client gets the response when it repeats the request.
    let (status, repeated) = begin(&server, &demo).await.unwrap();
    assert_eq!((status, repeated), (200, body));
    assert_eq!(server.count("select count(*) from attempts").await, 2);
});

on_both!(a_lease_is_renewed_while_the_request_works, |backend| {
    let (server, demo, workers) = at_a_standstill(backend, &["--idempotency-lease-ms", "600"]).await;
    let first = begin(&server, &demo);
    let until = async || {
        server
            .count("select coalesce(max(lease_until), 0) from idempotency_keys")
            .await
    };
    wait_until(async || until().await > 0, "the lease").await;
    let granted = until().await;
    wait_until(
        async || until().await > granted + 600,
        "its renewal, beyond its first end",
    )
    .await;
    let (status, told) = begin(&server, &demo).await.unwrap();
    assert_eq!(status, 409, "{told}");
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("still being carried out"),
        "{told}"
    );
    signal(&workers, Signal::CONT);
    let (status, body) = first.await.unwrap();
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.count("select count(*) from attempts").await, 2);
});
