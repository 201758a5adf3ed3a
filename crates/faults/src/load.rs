//! The clients of a run: they write, read back and verify, on any node. Each repeats a request until it is
//! answered, with the same `Idempotency-Key`, as an integrator should. It breaks nothing;
//! [`crate::faults`] does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, LostByFailover, key};
use crate::installation::Installation;
use crate::journal::{Failure, Group, Journal, Verified};
use crate::specimens::{self, Person};

/// The running clients.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: JoinSet<()>,
}

/// What all clients share.
pub(crate) struct Shared {
    pub(crate) client: Client,
    people: Vec<Person>,
    pub(crate) failing: Person,
    next_person: AtomicUsize,
}

impl Load {
    /// Starts the clients.
    pub(crate) async fn start(
        installation: &Arc<Installation>,
        journal: &Arc<Journal>,
        clients: usize,
    ) -> anyhow::Result<Load> {
        let folder = installation.demo("specimens").as_ref();
        let shared = Arc::new(Shared {
            client: Client {
                installation: Arc::clone(installation),
                journal: Arc::clone(journal),
            },
            people: specimens::passing(folder)?,
            failing: specimens::failing(folder)?,
            next_person: AtomicUsize::new(0),
        });
        // The engines start with the first file, which no fault should meet.
        let warm = shared.new_group("warm", 0).await?;
        shared.verify(&warm, Group::new()).await?;
        let mut set = JoinSet::new();
        let stop = Arc::new(AtomicBool::new(false));
        for client in 0..clients {
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            set.spawn(async move {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    match shared.round(client, number).await {
                        Err(error) if !error.is::<LostByFailover>() => {
                            let failure = Failure::Wrong(format!("gave up: {error:#}"));
                            shared.journal().failed("round", Instant::now(), failure);
                        }
                        _ => {}
                    }
                }
            });
        }
        Ok(Load { stop, clients: set })
    }

    /// Lets every client finish what it has begun.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended?;
        }
        Ok(())
    }

    /// Ends every client at once, as if their machines had failed too.
    pub(crate) async fn abort(mut self) {
        self.clients.abort_all();
        while self.clients.join_next().await.is_some() {}
    }
}

impl Shared {
    /// Makes a Group, reads it, changes it, and sometimes verifies a person in it.
    async fn round(&self, client: usize, number: u64) -> anyhow::Result<()> {
        let id = self.new_group(&format!("client {client}"), number).await?;
        let mut group = Group::new();
        for version in 1..=3 {
            group.version = version;
            let body = json!({ "description": group.description() });
            let path = format!("/v2/public/groups/{id}");
            let put = |request: RequestBuilder| request.json(&body);
            self.client.send("change", Method::PUT, &path, put).await?;
            self.journal().answered("change", Some((&id, group.clone())));
            let read = self
                .client
                .send("read", Method::GET, &path, |request| request)
                .await?;
            self.journal().answered("read", None);
            if read["description"] != json!(group.description()) {
                let found = format!(
                    "{} instead of {} after its acknowledgement",
                    read["description"],
                    group.description()
                );
                self.client.not_as_acknowledged("read", found);
            }
        }
        match number % 8 {
            4 => self.verify(&id, group).await,
            0 => self.hosted(&id, group, number / 8).await,
            _ => Ok(()),
        }
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.client.journal
    }

    /// The ID of a demo Flow.
    pub(crate) fn flow(&self, name: &str) -> anyhow::Result<&str> {
        let flow = self.client.installation.demo["flows"][name].as_str();
        flow.with_context(|| format!("no Flow {name}"))
    }

    /// The next specimen that passes.
    pub(crate) fn next_person(&self) -> &Person {
        let next = self.next_person.fetch_add(1, Ordering::Relaxed);
        &self.people[next % self.people.len()]
    }

    /// Makes a Group with the Flows of all specimens. Returns its ID.
    async fn new_group(&self, client: &str, number: u64) -> anyhow::Result<String> {
        let flows: Vec<&Value> = self.client.installation.demo["flows"]
            .as_object()
            .context("no Flows")?
            .values()
            .collect();
        let group = Group::new();
        let body = json!({
            "name": format!("{client} number {number}"), "description": group.description(), "flowIds": flows,
        });
        let key = key();
        let post = |request: RequestBuilder| request.header("Idempotency-Key", &key).json(&body);
        let made = self
            .client
            .send("group", Method::POST, "/v2/public/groups", post)
            .await?;
        let id = made["groupId"].as_str().context("a Group without an ID")?;
        self.journal().answered("group", Some((id, group)));
        Ok(id.to_owned())
    }

    /// Verifies the next person in a Group.
    async fn verify(&self, id: &str, group: Group) -> anyhow::Result<()> {
        let person = self.next_person();
        let user = format!("faults-{}", person.specimen.name);
        let flow = self.flow(&person.specimen.flow)?;
        let key = key();
        let own = [
            ("externalUserId", user.as_str()),
            ("flowId", flow),
            ("groupingId", id),
        ];
        let post = |request: RequestBuilder| {
            request
                .header("Idempotency-Key", &key)
                .multipart(person.form(&own))
        };
        let body = self
            .client
            .send("verify", Method::POST, "/v2/idv/verify", post)
            .await?;
        self.verified("verify", id, group, user, &body);
        Ok(())
    }

    /// Records an answered verification that must have passed. Returns whether it did.
    pub(crate) fn verified(
        &self,
        request: &'static str,
        id: &str,
        mut group: Group,
        user: String,
        body: &Value,
    ) -> bool {
        let (true, Some(facemap)) = (body["success"] == json!(true), body["facemap_id"].as_str()) else {
            let failure = Failure::Wrong(format!("{user} does not pass: {body}"));
            self.journal().failed(request, Instant::now(), failure);
            return false;
        };
        group.verified = Some(Verified {
            user,
            facemap: facemap.to_owned(),
        });
        self.journal().answered(request, Some((id, group)));
        true
    }
}
