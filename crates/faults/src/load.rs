//! Clients that write, read back and verify, on any node. Each repeats a request until it is answered, with
//! the same `Idempotency-Key`, as an integrator should.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rand::RngExt as _;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::installation::Installation;
use crate::journal::{Failure, Group, Journal, Verified};

/// A request that was not answered for so long is a fault of the installation.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(300);

/// The running clients.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: JoinSet<anyhow::Result<()>>,
}

/// One of the specimens that pass.
#[derive(Clone, Deserialize)]
struct Specimen {
    name: String,
    expect: String,
    flow: String,
    fields: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

/// What all clients share.
struct Shared {
    installation: Arc<Installation>,
    journal: Arc<Journal>,
    stop: Arc<AtomicBool>,
    people: Vec<Person>,
    next_person: AtomicUsize,
}

/// A specimen with its files.
struct Person {
    specimen: Specimen,
    files: BTreeMap<String, Vec<u8>>,
}

impl Load {
    /// Starts the clients.
    pub(crate) async fn start(
        installation: &Arc<Installation>,
        journal: &Arc<Journal>,
        clients: usize,
    ) -> anyhow::Result<Load> {
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared {
            installation: Arc::clone(installation),
            journal: Arc::clone(journal),
            stop: Arc::clone(&stop),
            people: people(installation.demo("specimens").as_ref())?,
            next_person: AtomicUsize::new(0),
        });
        // The engines start with the first file, which no fault should meet.
        let warm = shared.new_group("warm", 0).await?;
        shared
            .verify(
                &warm,
                Group {
                    description: "v0".into(),
                    verified: None,
                },
            )
            .await?;
        let mut set = JoinSet::new();
        for client in 0..clients {
            let shared = Arc::clone(&shared);
            set.spawn(async move {
                let mut number = 0;
                while !shared.stop.load(Ordering::Relaxed) {
                    number += 1;
                    shared.round(client, number).await?;
                }
                Ok(())
            });
        }
        Ok(Load { stop, clients: set })
    }

    /// Lets every client finish what it has begun.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended??;
        }
        Ok(())
    }
}

/// The specimens that pass, one for each face.
fn people(folder: &Path) -> anyhow::Result<Vec<Person>> {
    let index =
        std::fs::read(folder.join("index.json")).context("specimens are missing: run `make specimens`")?;
    let all: Vec<Specimen> = serde_json::from_slice(&index)?;
    let mut people = Vec::new();
    for specimen in all {
        // Flows with live capture accept no files.
        if specimen.expect != "pass" || specimen.flow == "liveness" {
            continue;
        }
        let files = specimen
            .files
            .iter()
            .map(|(field, file)| Ok((field.clone(), std::fs::read(folder.join(file))?)))
            .collect::<anyhow::Result<_>>()?;
        people.push(Person { specimen, files });
    }
    ensure!(!people.is_empty(), "no specimen passes");
    Ok(people)
}

impl Shared {
    /// Makes a Group, reads it, changes it, and sometimes verifies a person in it.
    async fn round(&self, client: usize, number: u64) -> anyhow::Result<()> {
        let id = self.new_group(&format!("client {client}"), number).await?;
        let mut group = Group {
            description: "v0".into(),
            verified: None,
        };
        for version in 1..=3 {
            let description = format!("v{version}");
            let body = json!({ "description": description });
            let path = format!("/v2/public/groups/{id}");
            let put = |request: RequestBuilder| request.json(&body);
            self.send("change", Method::PUT, &path, put).await?;
            group.description = description;
            self.journal.answered("change", Some((&id, group.clone())));
            let read = self.send("read", Method::GET, &path, |request| request).await?;
            self.journal.answered("read", None);
            if read["description"] != json!(group.description) {
                let found = format!(
                    "{} instead of {} after its acknowledgement",
                    read["description"], group.description
                );
                self.journal.failed("read", Instant::now(), Failure::Wrong(found));
            }
        }
        if number.is_multiple_of(4) {
            self.verify(&id, group).await?;
        }
        Ok(())
    }

    /// Makes a Group with the Flows of all specimens. Returns its ID.
    async fn new_group(&self, client: &str, number: u64) -> anyhow::Result<String> {
        let flows: Vec<&Value> = self.installation.demo["flows"]
            .as_object()
            .context("no Flows")?
            .values()
            .collect();
        let body =
            json!({"name": format!("{client} number {number}"), "description": "v0", "flowIds": flows});
        let key = key();
        let post = |request: RequestBuilder| request.header("Idempotency-Key", &key).json(&body);
        let made = self
            .send("group", Method::POST, "/v2/public/groups", post)
            .await?;
        let id = made["groupId"].as_str().context("a Group without an ID")?;
        let group = Group {
            description: "v0".into(),
            verified: None,
        };
        self.journal.answered("group", Some((id, group)));
        Ok(id.to_owned())
    }

    /// Verifies the next person in a Group.
    async fn verify(&self, id: &str, mut group: Group) -> anyhow::Result<()> {
        let next = self.next_person.fetch_add(1, Ordering::Relaxed) % self.people.len();
        let Person { specimen, files } = &self.people[next];
        let user = format!("faults-{}", specimen.name);
        let flow = self.installation.demo["flows"][&specimen.flow]
            .as_str()
            .context("no such Flow")?;
        let key = key();
        let post = |request: RequestBuilder| {
            let mut form = Form::new();
            let own = [
                ("externalUserId", user.as_str()),
                ("flowId", flow),
                ("groupingId", id),
            ];
            let fields = specimen
                .fields
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()));
            let fields: BTreeMap<&str, &str> = fields.chain(own).collect();
            for (name, value) in fields {
                form = form.text(name.to_owned(), value.to_owned());
            }
            for (name, file) in files {
                form = form.part(name.clone(), Part::bytes(file.clone()).file_name("x.jpg"));
            }
            request.header("Idempotency-Key", &key).multipart(form)
        };
        let body = self.send("verify", Method::POST, "/v2/idv/verify", post).await?;
        match (&body["success"], body["facemap_id"].as_str()) {
            (Value::Bool(true), Some(facemap)) => {
                group.verified = Some(Verified {
                    user,
                    facemap: facemap.to_owned(),
                });
                self.journal.answered("verify", Some((id, group)));
            }
            _ => self.journal.failed(
                "verify",
                Instant::now(),
                Failure::Wrong(format!("{user} does not pass: {body}")),
            ),
        }
        Ok(())
    }

    /// Sends a request to any node until it is answered.
    async fn send(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        with: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> anyhow::Result<Value> {
        let begun = Instant::now();
        let Installation { nodes, http, .. } = &*self.installation;
        loop {
            let node = &nodes[rand::rng().random_range(0..nodes.len())];
            let from = Instant::now();
            let request = http
                .request(method.clone(), format!("{}{path}", node.base()))
                .basic_auth(
                    self.installation.demo("apiKey"),
                    Some(self.installation.demo("secret")),
                );
            let answer = async {
                let answer = with(request).send().await?;
                Ok::<_, reqwest::Error>((answer.status().as_u16(), answer.text().await?))
            };
            let failure = match answer.await {
                Ok((200..=299, text)) => return Ok(serde_json::from_str(&text)?),
                Ok((503, _)) => Failure::Unavailable,
                Ok((409, text))
                    if text.contains("still being carried out") || text.contains("has taken over") =>
                {
                    Failure::Leased
                }
                Ok((status, text)) => Failure::Wrong(format!("{status} {text}")),
                Err(_) => Failure::Broken,
            };
            let is_wrong = matches!(failure, Failure::Wrong(_));
            self.journal.failed(what, from, failure);
            ensure!(!is_wrong, "{what}: a wrong answer");
            ensure!(begun.elapsed() < PATIENCE, "{what}: no answer for {PATIENCE:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// An `Idempotency-Key` that no other request has.
fn key() -> String {
    format!("{:032x}", rand::rng().random::<u128>())
}
