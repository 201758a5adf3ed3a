//! The scenario `registrations`: many faces register for the first time over all nodes, each twice at the same
//! moment under two `externalUserId`s, while one node dies. Afterwards each face is one person with one
//! registration, and its other request was refused as a duplicate. It needs many different faces, which the
//! project does not have: it never runs without `--faces`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use reqwest::{Method, RequestBuilder};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, Credentials, Request, key};
use crate::effect::Effect;
use crate::faults::Fault;
use crate::installation::Installation;
use crate::journal::Journal;
use crate::process::{self, ended_by};
use crate::specimens::{self, Person};

/// The faces that register, if as many are fit.
const FACES: usize = 100;
/// Faces at once; each sends two requests.
const AT_ONCE: usize = 4;
/// How long `xtask` may take to make all passports.
const RENDERS: Duration = Duration::from_secs(3_600);
/// How long a query of the database may take.
const QUERY: Duration = Duration::from_secs(60);
/// How long the killed node is away.
const AWAY: Duration = Duration::from_secs(5);

/// An account of this scenario, with one Flow and one Group.
#[derive(Clone)]
struct Account {
    id: String,
    key: String,
    secret: String,
    flow: String,
    group: String,
}

/// The answer to a user's request.
type Answer = (String, Value);
/// The two answers to one face.
type Answers = [Answer; 2];

/// Runs the scenario.
pub(crate) async fn run(
    installation: &Arc<Installation>,
    journal: &Arc<Journal>,
    faces: Option<&Path>,
) -> anyhow::Result<()> {
    let pictures = faces.context(
        "the scenario registrations needs --faces FOLDER: pictures of 100 different people, or passports and \
         selfies that `xtask specimens --faces` has made of them. The project has no such pictures",
    )?;
    let people = specimens::faces(&rendered(installation, pictures).await?)?;
    let client = Arc::new(Client {
        installation: Arc::clone(installation),
        journal: Arc::clone(journal),
    });
    let fit = Arc::new(fit(&client, people).await?);
    let account = Arc::new(Account::make(&client, "Registrations").await?);

    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let mut set: JoinSet<anyhow::Result<Vec<Answers>>> = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, account) = (Arc::clone(&client), Arc::clone(&account));
        let (fit, next) = (Arc::clone(&fit), Arc::clone(&next));
        set.spawn(async move {
            let mut answers = Vec::new();
            while let Some(person) = fit.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push(register(&client, &account, person).await?);
            }
            Ok(answers)
        });
    }
    // Both nodes are ready and work.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (node, from) = (installation.nodes.len() - 1, Instant::now());
    let status = installation.end(node, Signal::KILL).await?;
    tokio::time::sleep(AWAY).await;
    installation.start_node(node).await?;
    installation.wait_until_ready().await?;
    let effect = Effect::once(ended_by(status, Signal::KILL), "process killed");
    journal.window(Fault::KilledNode, from, Instant::now(), effect);

    let mut answers = Vec::new();
    while let Some(ended) = set.join_next().await {
        answers.extend(ended??);
    }
    println!(
        "{} registrations of {} faces in {:.0} s",
        answers.len() * 2,
        answers.len(),
        started.elapsed().as_secs_f64()
    );
    let mut wrong = journal.violations();
    for node in 0..installation.nodes.len() {
        let found = check(installation, &account, node, &answers).await?;
        wrong.extend(found.into_iter().map(|found| format!("node {node}: {found}")));
    }
    let counts = count(installation, &account).await?;
    wrong.extend(judge_counts(&counts, answers.len()));
    println!("{}", journal.summary());
    for wrong in &wrong {
        println!("WRONG  {wrong}");
    }
    ensure!(wrong.is_empty(), "{} violations", wrong.len());
    println!("exactly {} people, each face once", answers.len());
    Ok(())
}

/// The folder with passports and selfies: the given one, or what `xtask` makes of its pictures.
async fn rendered(installation: &Installation, pictures: &Path) -> anyhow::Result<PathBuf> {
    if pictures.join("index.json").exists() {
        return Ok(pictures.to_owned());
    }
    let xtask = std::env::current_exe()?.with_file_name("xtask");
    ensure!(
        xtask.exists(),
        "{} has no index.json, and {} is missing: run `cargo build -p xtask`",
        pictures.display(),
        xtask.display()
    );
    let out = installation.folder().join("faces");
    let mut make = process::command(xtask);
    make.args(["specimens", "--faces"])
        .arg(pictures)
        .arg("--out")
        .arg(&out);
    let made = process::within(RENDERS, "xtask specimens", make.status()).await?;
    ensure!(made.success(), "the passports could not be made");
    Ok(out)
}

/// The people whom the server accepts, each as a new one: they register once in another account before. Not
/// every picture is fit for a passport and a selfie.
async fn fit(client: &Arc<Client>, people: Vec<Person>) -> anyhow::Result<Vec<Person>> {
    let count = people.len();
    let account = Account::make(client, "Trial").await?;
    let (mut fit, mut faces) = (Vec::new(), BTreeSet::new());
    for person in people {
        if fit.len() == FACES {
            break;
        }
        let user = format!("trial-{}", person.specimen.name);
        let body = verify(client, &account, &person, &user).await?;
        let facemap = body["facemap_id"].as_str().unwrap_or_default().to_owned();
        if body["success"] == json!(true) && faces.insert(facemap) {
            fit.push(person);
        }
    }
    println!("{} of {count} people in the pictures are fit", fit.len());
    if fit.len() < FACES {
        println!("for {FACES} faces, --faces needs a folder with more people");
    }
    ensure!(!fit.is_empty(), "no face is fit");
    Ok(fit)
}

impl Account {
    /// Makes an account on the command line, and its Group by the API.
    async fn make(client: &Client, name: &str) -> anyhow::Result<Account> {
        let installation = &client.installation;
        let create = ["merchant", "create", "--name", name, "--approved", "--json"];
        let made: Value = serde_json::from_str(&installation.bonafide(&create).await?)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (key, secret) = (text(&made["sandbox"]["apiKey"]), text(&made["sandbox"]["secret"]));
        let file = installation.folder().join("flow.json");
        let fields = json!({"documentFileUpload": true, "selfie": true, "ocrMatch": true});
        let flow = json!({"name": "Passport", "defaultFields": fields, "defaultDocumentTypes": ["PASSPORT"]});
        std::fs::write(&file, flow.to_string())?;
        let (id, file) = (text(&made["merchantId"]), file.display().to_string());
        let create = [
            "flow",
            "create",
            "--sandbox",
            "--json",
            "--merchant",
            &id,
            "--file",
            &file,
        ];
        let made: Value = serde_json::from_str(&installation.bonafide(&create).await?)?;
        let flow = text(&made["flowId"]);
        let request = Request {
            what: "group",
            method: &Method::POST,
            path: "/v2/public/groups",
            credentials: Credentials::Key(&key, &secret),
        };
        let body = json!({"name": "Everyone", "flowIds": [flow]});
        let with = |request: RequestBuilder| request.json(&body);
        let made = client.send_until(request, |status, _| status < 300, with).await?;
        let group = text(&made.body["groupId"]);
        Ok(Account {
            id,
            key,
            secret,
            flow,
            group,
        })
    }
}

/// Verifies a person under a name. Returns the answer.
async fn verify(client: &Client, account: &Account, person: &Person, user: &str) -> anyhow::Result<Value> {
    let key = key();
    let own = [
        ("externalUserId", user),
        ("flowId", &account.flow),
        ("groupingId", &account.group),
    ];
    let request = Request {
        what: "verify",
        method: &Method::POST,
        path: "/v2/idv/verify",
        credentials: Credentials::Key(&account.key, &account.secret),
    };
    let with = |request: RequestBuilder| {
        request
            .header("Idempotency-Key", &key)
            .multipart(person.form(&own))
    };
    let answered = client.send_until(request, |status, _| status < 300, with).await?;
    client.journal.answered("verify", None);
    Ok(answered.body)
}

/// Registers a face under two names at the same moment.
async fn register(client: &Client, account: &Account, person: &Person) -> anyhow::Result<Answers> {
    let [one, other] = ["a", "b"].map(|name| format!("{}-{name}", person.specimen.name));
    let (first, second) = tokio::join!(
        verify(client, account, person, &one),
        verify(client, account, person, &other)
    );
    Ok([(one, first?), (other, second?)])
}

/// The violations that a node's answers show.
async fn check(
    installation: &Installation,
    account: &Account,
    node: usize,
    answers: &[Answers],
) -> anyhow::Result<Vec<String>> {
    let (mut wrong, mut people) = (Vec::new(), BTreeSet::new());
    for pair in answers {
        let (winner, loser) = match judge(pair) {
            Ok(pair) => pair,
            Err(found) => {
                wrong.push(found);
                continue;
            }
        };
        let facemap = winner.1["facemap_id"].as_str().unwrap_or_default();
        if !people.insert(facemap) {
            wrong.push(format!("{} has the face of another person", winner.0));
        }
        for ((user, _), registered) in [(winner, true), (loser, false)] {
            let url = format!(
                "{}/v2/reports/applicants/byExternalUserId/{user}",
                installation.nodes[node].base()
            );
            let request = installation.http.get(url);
            let answer = request.basic_auth(&account.key, Some(&account.secret));
            let found: Value = serde_json::from_str(&answer.send().await?.text().await?)?;
            let applicants = found["applicants"].as_array().map_or(0, Vec::len);
            let first = &found["applicants"][0];
            if found["facemapId"] != json!(facemap)
                || applicants != 1
                || first["registered"] != json!(registered)
            {
                wrong.push(format!("{user} (registered: {registered}) is found as {found}"));
            }
        }
    }
    if people.len() != answers.len() {
        wrong.push(format!("{} people instead of {}", people.len(), answers.len()));
    }
    Ok(wrong)
}

/// The account's people and different faces, as the database counts them. The answers cannot show a person whom
/// nobody was told about.
async fn count(installation: &Installation, account: &Account) -> anyhow::Result<String> {
    let sql = |id: &str| {
        format!(
            "select (select count(*) from people where merchant_id = {id} and sandbox),
                    (select count(distinct facemap_id) from faces where merchant_id = {id} and sandbox)"
        )
    };
    if let Some(server) = &installation.database {
        return server.sql(&sql(&format!("'{}'", account.id))).await;
    }
    // SQLite stores a UUID as its bytes.
    let sql = sql(&format!("X'{}'", account.id.replace('-', "")));
    let mut query = process::command("sqlite3");
    query
        .arg("-readonly")
        .arg(installation.data(0).join("bonafide.db"))
        .arg(sql);
    let output = process::output(&mut query, QUERY, "sqlite3 (Debian's package sqlite3)").await?;
    ensure!(
        output.status.success(),
        "sqlite3: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The violation that the counts of people and of faces show, if each face must be one person.
fn judge_counts(counts: &str, expected: usize) -> Option<String> {
    let counts = counts.trim();
    (counts != format!("{expected}|{expected}"))
        .then(|| format!("the account has {counts} people|faces instead of {expected}"))
}

/// The request that registered the face, and the one that was refused with 2307.
fn judge(pair: &Answers) -> Result<(&Answer, &Answer), String> {
    let passed = |answer: &Value| answer["success"] == json!(true);
    let refused =
        |answer: &Value| answer["success"] == json!(false) && answer["idvResult"]["code"] == json!(2307);
    let [one, other] = pair;
    match () {
        () if passed(&one.1) && refused(&other.1) => Ok((one, other)),
        () if passed(&other.1) && refused(&one.1) => Ok((other, one)),
        () => Err(format!("{} and {}: {} and {}", one.0, other.0, one.1, other.1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_requests_registers_and_the_other_is_a_duplicate() {
        let passes = json!({"success": true, "facemap_id": "f"});
        let refused = json!({"success": false, "idvResult": {"code": 2307}});
        let other = json!({"success": false, "idvResult": {"code": 2306}});
        for (one, two, is_right) in [
            (&passes, &refused, true),
            (&refused, &passes, true),
            (&passes, &passes, false),
            (&refused, &refused, false),
            (&passes, &other, false),
        ] {
            let pair = [("a".to_owned(), one.clone()), ("b".to_owned(), two.clone())];
            assert_eq!(judge(&pair).is_ok(), is_right, "{one} {two}");
        }
    }

    #[test]
    fn a_person_whom_no_answer_names_is_counted() {
        assert_eq!(judge_counts("3|3\n", 3), None);
        for wrong in ["4|3", "3|4", "2|3", ""] {
            assert!(judge_counts(wrong, 3).is_some(), "{wrong}");
        }
    }
}
