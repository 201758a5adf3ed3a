//! Hosted sessions under load: link, exchange, attempts with the session's token, and the poll that reports the
//! result. A result that was read once must be the same in every later answer. It decides nothing about
//! expiry; it only waits for it.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::{Credentials, Request, key};
use crate::journal::{Ended, Failure, Group};
use crate::load::Shared;
use crate::specimens::Person;

/// A session that nobody finishes has expired after so long: its ten minutes, and a minute for the sweep.
pub(crate) const EXPIRED: Duration = Duration::from_secs(660);
/// A session may expire after so long: the time of its access token, less what the nodes' measure of the
/// database's time may be off.
const LIVES: Duration = Duration::from_secs(599);
/// The attempts of a session, unless its Flow has another number.
const ATTEMPTS: u64 = 3;

/// A session that was exchanged.
struct Session {
    id: String,
    token: String,
    left: Left,
}

/// When an exchanged session began: between these two times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// Before its link was exchanged for the first time.
    pub(crate) earliest: Instant,
    /// After the answer.
    pub(crate) latest: Instant,
}

impl Left {
    /// Whether a session that nobody finishes may have a status now.
    pub(crate) fn may_be(self, status: &str) -> bool {
        may_be(status, self.earliest.elapsed(), self.latest.elapsed())
    }
}

/// Whether a session that nobody finishes may have a status at most `longest` and at least `shortest` after it
/// began.
fn may_be(status: &str, longest: Duration, shortest: Duration) -> bool {
    match status {
        "expired" => longest >= LIVES,
        "pending" => shortest <= EXPIRED,
        _ => false,
    }
}

impl Shared {
    /// Runs one hosted session to an end, or leaves it, and reads an earlier result again.
    pub(crate) async fn hosted(&self, id: &str, group: Group, number: u64) -> anyhow::Result<()> {
        match number % 4 {
            1 => self.failing(id).await?,
            2 => self.leave(id).await?,
            _ => self.succeeding(id, group).await?,
        }
        self.read_again().await?;
        self.read_expired().await
    }

    /// An applicant who passes.
    async fn succeeding(&self, id: &str, group: Group) -> anyhow::Result<()> {
        let person = self.next_person();
        let user = format!("faults-{}", person.specimen.name);
        let session = self.open(id, &user, person).await?;
        let body = self.attempt(&session, &user, person).await?;
        if self.verified("hosted verify", id, group, user.clone(), &body) {
            self.ended(&session.id, user, "success").await?;
        }
        Ok(())
    }

    /// An applicant whose attempts all fail.
    async fn failing(&self, id: &str) -> anyhow::Result<()> {
        let user = format!("failing-{id}");
        let session = self.open(id, &user, &self.failing).await?;
        for _ in 0..ATTEMPTS {
            let body = self.attempt(&session, &user, &self.failing).await?;
            self.journal().answered("hosted verify", None);
            if body["success"] != json!(false) {
                let failure = Failure::Wrong(format!("{user} does not fail: {body}"));
                self.journal().failed("hosted verify", Instant::now(), failure);
                return Ok(());
            }
        }
        self.ended(&session.id, user, "failed").await
    }

    /// An applicant who goes away.
    async fn leave(&self, id: &str) -> anyhow::Result<()> {
        let session = self.open(id, &format!("leaving-{id}"), &self.failing).await?;
        self.journal().left(&session.id, session.left);
        Ok(())
    }

    /// Makes a link and exchanges it.
    async fn open(&self, group: &str, user: &str, person: &Person) -> anyhow::Result<Session> {
        let body = json!({"userId": user, "groupId": group, "flowId": self.flow(&person.specimen.flow)?});
        loop {
            let post = |request: RequestBuilder| request.json(&body);
            let path = "/v2/sdk/session/web-sdk-link";
            let made = self.client.send("link", Method::POST, path, post).await?;
            self.journal().answered("link", None);
            let url = made["url"].as_str().context("a link without a URL")?;
            let (_, token) = url.split_once("token=").context("a link without a token")?;
            let request = Request {
                what: "exchange",
                method: &Method::POST,
                path: "/v2/sdk/session/exchange",
                credentials: Credentials::Nothing,
            };
            // An exchange whose answer was lost has used the token up, and only a new link helps.
            let accepts = |status, is_repeated| status < 300 || (status == 410 && is_repeated);
            let body = json!({ "token": token });
            let earliest = Instant::now();
            let answered = self
                .client
                .send_until(request, accepts, |request| request.json(&body))
                .await?;
            self.journal().answered("exchange", None);
            if answered.status < 300 {
                let text = |name: &str| answered.body[name].as_str().map(str::to_owned);
                return Ok(Session {
                    id: text("session_id").context("an exchange without a session")?,
                    token: text("access_token").context("an exchange without a token")?,
                    left: Left {
                        earliest,
                        latest: Instant::now(),
                    },
                });
            }
        }
    }

    /// Sends an attempt.
    async fn attempt(&self, session: &Session, user: &str, person: &Person) -> anyhow::Result<Value> {
        let flow = self.flow(&person.specimen.flow)?;
        let own = [("externalUserId", user), ("flowId", flow)];
        let key = key();
        let request = Request {
            what: "hosted verify",
            method: &Method::POST,
            path: "/v2/idv/verify",
            credentials: Credentials::Session(&session.token),
        };
        let post = |request: RequestBuilder| {
            request
                .header("Idempotency-Key", &key)
                .multipart(person.form(&own))
        };
        let accepts = |status, _| status < 300;
        Ok(self.client.send_until(request, accepts, post).await?.body)
    }

    async fn poll(&self, session: &str) -> anyhow::Result<Value> {
        let path = format!("/v2/sdk/session/verification-result/{session}");
        let read = self.client.send("poll", Method::GET, &path, |request| request);
        let body = read.await?;
        self.journal().answered("poll", None);
        Ok(body)
    }

    /// Reads the result of a session that has just ended.
    async fn ended(&self, session: &str, user: String, status: &str) -> anyhow::Result<()> {
        let poll = self.poll(session).await?;
        if poll["status"] == json!(status) {
            self.journal().ended(session, Ended { user, poll });
        } else {
            let found = format!("the session of {user} is not {status}: {poll}");
            self.client.not_as_acknowledged("poll", found);
        }
        Ok(())
    }

    /// Reads the result of any session that ended earlier.
    async fn read_again(&self) -> anyhow::Result<()> {
        let Some((session, ended)) = self.journal().any_ended() else {
            return Ok(());
        };
        let poll = self.poll(&session).await?;
        if poll != ended.poll {
            let found = format!("session {session} changed from {} to {poll}", ended.poll);
            self.client.not_as_acknowledged("poll", found);
        }
        Ok(())
    }

    /// Reads a session that nobody finished, once its time is over.
    async fn read_expired(&self) -> anyhow::Result<()> {
        match self.journal().left_for(EXPIRED) {
            Some(session) => self.ended(&session, "leaving".to_owned(), "expired").await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_session_expires_when_its_token_does() {
        let seconds = Duration::from_secs;
        for (status, longest, shortest, is_right) in [
            ("expired", 0, 0, false),
            ("expired", 598, 590, false),
            ("expired", 600, 590, true),
            ("expired", 5_000, 5_000, true),
            ("pending", 0, 0, true),
            ("pending", 700, 660, true),
            ("pending", 700, 661, false),
            ("success", 600, 600, false),
            ("lost", 0, 0, false),
        ] {
            let found = may_be(status, seconds(longest), seconds(shortest));
            assert_eq!(found, is_right, "{status} after {longest} s to {shortest} s");
        }
    }
}
