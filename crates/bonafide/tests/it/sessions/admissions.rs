//! An attempt that was admitted in time while its session expires: the status that a poller reads at each
//! moment.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::harness::wait_until;
use crate::verify::specimen;

/// Waits until a query of the database counts this many.
async fn until(server: &Server, sql: &'static str, count: i64) {
    wait_until(
        async || server.count(sql).await == count,
        &format!("{sql} = {count}"),
    )
    .await;
}

const IN_FLIGHT: &str = "select cast(coalesce(sum(in_flight), 0) as bigint) from sessions";

impl Session<'_> {
    /// The form of an applicant with a passport, which takes a while to read.
    pub(super) fn passport(&self) -> Form {
        let demo = json!({"flows": self.account.flows});
        specimen("pass-passport").form(&demo, &json!({"externalUserId": self.user, "flowId": self.flow}))
    }
}

on_both!(a_poller_reads_pending_until_the_attempt_is_settled, |backend| {
    let account = Account::demo(backend, &[]).await;
    let server = &account.server;
    server.engines().await;
    let session = account.session("passport", "ada").await;
    let time_is_up = async {
        until(server, IN_FLIGHT, 1).await;
        session.expire_sessions().await;
    };
    let is_answered = AtomicBool::new(false);
    let attempt = async {
        let answer = session.send(session.passport()).await;
        is_answered.store(true, Ordering::SeqCst);
        answer
    };
    let poller = async {
        let mut read: Vec<String> = Vec::new();
        let mut last_look = false;
        while !last_look {
            last_look = is_answered.load(Ordering::SeqCst);
            let (status, ..) = session.state().await;
            if read.last() != Some(&status) {
                read.push(status);
            }
        }
        read
    };
    let ((status, body), read, ()) = tokio::join!(attempt, poller, time_is_up);
    assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
    assert_eq!(read, ["pending", "success"]);
    session.assert_state("success", 1, "done").await;
    assert_eq!(server.count(IN_FLIGHT).await, 0);
});

on_both!(
    an_attempt_that_is_refused_holds_its_session_no_longer,
    |backend| {
        let account = Account::demo(backend, &[]).await;
        let session = account.session("passport", "ada").await;
        let hangs_up = async {
            tokio::select! {
                answer = session.send(session.passport()) => panic!("answered before it was admitted: {answer:?}"),
                () = until(&account.server, IN_FLIGHT, 1) => {}
            }
        };
        hangs_up.await;
        session.expire_sessions().await;
        until(&account.server, IN_FLIGHT, 0).await;
        let (status, attempts, stage) = session.state().await;
        // A recording that has begun is completed, although the client disconnected.
        let recorded = account.server.count("select count(*) from attempts").await;
        let expected = if recorded == 1 {
            ("success", 1)
        } else {
            ("expired", 0)
        };
        assert_eq!(
            (status.as_str(), attempts, stage.as_str()),
            (expected.0, expected.1, "done")
        );
    }
);

on_both!(a_dead_nodes_attempt_is_settled_when_its_lease_ends, |backend| {
    let mut account = Account::demo(backend, &[]).await;
    account.server.engines().await;
    let (first, second) = (
        account.session("passport", "ada").await,
        account.session("passport", "bob").await,
    );
    let dies = async {
        until(&account.server, IN_FLIGHT, 2).await;
        let pid = rustix::process::Pid::from_raw(account.server.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let send = async |session: &Session<'_>| {
        session
            .request(Method::POST, VERIFY)
            .multipart(session.passport())
            .send()
            .await
            .is_err()
    };
    let (gone, also_gone, ()) = tokio::join!(send(&first), send(&second), dies);
    assert!(gone && also_gone, "the node died in the middle");
    let ids = [first.id.clone(), second.id.clone()];
    // The session has expired, but the attempt's lease has not.
    let server = &account.server;
    let time_is_up = "update sessions set created_at = created_at - 600000, expires_at = expires_at - 600000,
                          admitted_until = admitted_until + 600000";
    server.sql(time_is_up).await;
    account.server = account.server.kill_and_restart(&["--demo"]);
    let status = async |account: &Account, id: &str| account.poll(id).await["status"].clone();
    assert_eq!(status(&account, &ids[0]).await, "pending");

    let lease_ends = "update sessions set admitted_until = admitted_until - 1200000";
    account.server.sql(lease_ends).await;
    let settled = account.poll(&ids[0]).await;
    assert_eq!(settled["status"], "expired", "settled by reading");
    // The sweep at the server's start may have settled the other one, too, if the machine is slow.
    let unread = "select count(*) from sessions where status = 'pending'";
    assert!(account.server.count(unread).await <= 1);
    // No request reads the other session.
    account.server = account.server.kill_and_restart(&["--demo"]);
    until(&account.server, unread, 0).await;
    assert_eq!(status(&account, &ids[1]).await, "expired");
    assert_eq!(account.poll(&ids[0]).await, settled);
    assert_eq!(account.server.count("select count(*) from attempts").await, 0);
});
