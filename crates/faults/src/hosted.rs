//! Hosted sessions under load: link, exchange, attempts with the session's token, and the poll that reports the
//! result. A result that was read once must be the same in every later answer. It decides nothing about
//! expiry; it only waits for it.

use std::time::Instant;

use anyhow::Context as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::{Credentials, Request, key};
use crate::journal::{Ended, Failure, Group};
use crate::load::Shared;
use crate::specimens::Person;
use crate::unfinished::{EXPIRED, Left};

/// The attempts of a session, unless its Flow has another number.
const ATTEMPTS: u64 = 3;

/// A session that was exchanged.
struct Session {
    id: String,
    token: String,
    left: Left,
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
