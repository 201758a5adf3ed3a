//! Erasing a person leaves no trace. The test searches the database with its log and dump, the objects, the
//! server's folders and logs, and the pages that open sealed data.
//!
//! [`STORES`] lists the places. For a new store of personal data, add its content to [`Person::leave_traces`]
//! and, if it is read differently, its reader to [`STORES`].

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::future::Future;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::api_log::CALLS;
use crate::harness::{Backend, Key, Server, answer, on_both, wait_until, workspace};
use crate::interruptions::attempt_folders;
use crate::portal::Browser;
use crate::verify::specimen;

const VERIFY: &str = "/v2/idv/verify";
const MONITORING: &str = "/v2/public/transaction-monitoring";
/// The person's external user ID in the merchant's system.
const LABEL: &str = "quillfeather-7f31@marker.example";
/// A wallet of the demo list that is screened under that ID.
const WALLET: &str = "0xDE00000000000000000000000000000000000DE0";
/// A wallet that is screened under that ID and listed later.
const LATER_WALLET: &str = "0x00000000000000000000000000000000000000A1";
/// A member of the account, because the sandbox sends letters only to members.
const MEMBER: &str = "robin@example.com";
const NOTE: &str = "markernote-31c7 she called twice";
const REASON: &str = "markerreason-58d2 the picture is blurred";

/// Texts that identify the person: from the request, from the document, and from what others wrote.
const MARKERS: [&str; 10] = [
    LABEL,
    "quillfeather",
    "Quillfeather",
    "QUILLFEATHER",
    "noemi@example.com",
    "07/23/1994",
    "1994-07-23",
    "D763776",
    NOTE,
    REASON,
];

/// A store's name, and the function that reads its content.
type Store = (&'static str, fn(Reader) -> StoreContent);

/// The content of a store, piece by piece, each with a name for the failure's message.
type StoreContent = Pin<Box<dyn Future<Output = Vec<(String, Vec<u8>)>> + Send>>;
/// The stores that are searched.
const STORES: [Store; 3] = [
    ("files of the data folder", |reader| Box::pin(files(reader))),
    ("rows of the database", |reader| Box::pin(rows(reader))),
    ("API log as the portal opens it", |reader| {
        Box::pin(opened(reader, "/portal/api-log"))
    }),
];

/// The access that reading a store needs.
#[derive(Clone)]
struct Reader {
    folder: PathBuf,
    rows: Vec<String>,
    browser: std::sync::Arc<Browser>,
}

/// Files: database, write-ahead log, objects, spill folder, lists, logs.
async fn files(reader: Reader) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if let Ok(bytes) = std::fs::read(&path) {
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    let mut found = Vec::new();
    walk(&reader.folder, &mut found);
    found
}

/// Every row of every table, with bytes as hexadecimal digits, as in a dump.
async fn rows(reader: Reader) -> Vec<(String, Vec<u8>)> {
    let rows = reader.rows.into_iter();
    rows.map(|row| ("row".to_owned(), row.into_bytes())).collect()
}

/// The pages that a list of the portal links to.
async fn opened(reader: Reader, list: &str) -> Vec<(String, Vec<u8>)> {
    let page = reader.browser.get(list).await.page();
    let mut links: Vec<&str> = page
        .split("href=\"")
        .filter_map(|rest| rest.split('"').next())
        .collect();
    links.retain(|link| link.starts_with(&format!("{list}/")));
    assert!(!links.is_empty(), "{list} lists nothing: {page}");
    let mut found = vec![(list.to_owned(), page.clone().into_bytes())];
    for link in links {
        let page = reader.browser.get(link).await.page();
        found.push((link.to_owned(), page.into_bytes()));
    }
    found
}

/// A text to search for: a name for the failure's message, and the bytes.
type Needle = (String, Vec<u8>);

/// The places where needles occur as they are, in hexadecimal digits or in base64: pairs of needle and place.
fn occurrences(stores: &[(String, Vec<u8>)], needles: &[Needle]) -> BTreeSet<(String, String)> {
    // Needles are indexed by their first two bytes, so that a single pass over the stores finds all.
    let mut by_beginning: Vec<Vec<(&str, Vec<u8>)>> = vec![Vec::new(); 1 << 16];
    let beginning = |bytes: &[u8]| usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
    for (name, needle) in needles {
        let hex = hex::encode(needle);
        for form in [
            needle.clone(),
            hex.to_uppercase().into_bytes(),
            hex.into_bytes(),
            BASE64.encode(&needle[..needle.len() / 3 * 3]).into_bytes(),
        ] {
            by_beginning[beginning(&form)].push((name, form));
        }
    }
    let mut found = BTreeSet::new();
    for (place, bytes) in stores {
        for (at, pair) in bytes.windows(2).enumerate() {
            for (name, form) in &by_beginning[beginning(pair)] {
                if bytes[at..].starts_with(form) {
                    found.insert(((*name).to_owned(), place.clone()));
                }
            }
        }
    }
    found
}

/// A person in an account's sandbox who leaves traces in every store.
struct Person<'a> {
    server: &'a Server,
    demo: &'a Value,
    key: Key,
    browser: std::sync::Arc<Browser>,
}

impl Person<'_> {
    fn form(&self) -> Form {
        specimen("pass-id-card-td1").form(
            self.demo,
            &json!({"externalUserId": LABEL, "groupingId": self.demo["groupId"]}),
        )
    }

    async fn verify(&self) -> (u16, Value) {
        let request = self.server.request(Method::POST, VERIFY, &self.key);
        let request = request.header("Idempotency-Key", "once").multipart(self.form());
        answer(request.send().await.unwrap()).await
    }

    async fn monitor(&self) -> (u16, Value) {
        let body = json!({"type": "address", "query": WALLET, "currency": "eth", "label": LABEL});
        let request = self.server.request(Method::POST, MONITORING, &self.key);
        let request = request.header("Idempotency-Key", "once").json(&body);
        answer(request.send().await.unwrap()).await
    }

    fn link_body(&self, flow: &str) -> Value {
        let flow = &self.demo["flows"][flow];
        let expected = json!({"firstName": "Noemi", "lastName": "Quillfeather"});
        json!({"userId": LABEL, "groupId": self.demo["groupId"], "flowId": flow, "expected": expected})
    }

    async fn link(&self, flow: &str) -> String {
        let body = self.link_body(flow);
        let (status, body) = self
            .server
            .post("/v2/sdk/session/web-sdk-link", &self.key, body)
            .await;
        assert_eq!(status, 200, "{body}");
        let url = body["url"].as_str().unwrap();
        url.split_once("token=").unwrap().1.to_owned()
    }

    /// An invitation that expects the person, with a letter, which stays queued.
    async fn invite(&self, flow: &str) {
        let mut body = self.link_body(flow);
        body["email"] = MEMBER.into();
        let path = "/v2/sdk/session/invitations";
        let (status, body) = self.server.post(path, &self.key, body).await;
        assert_eq!(status, 200, "{body}");
    }

    async fn session(&self, flow: &str) -> Value {
        let token = self.link(flow).await;
        let request = self
            .server
            .http
            .post(format!("{}/v2/sdk/session/exchange", self.server.base));
        let (status, body) = answer(request.json(&json!({"token": token})).send().await.unwrap()).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Uses every feature that records something about a person. Returns the facemap ID.
    async fn leave_traces(&self) -> String {
        let flow = self.demo["flows"]["any-document"].as_str().unwrap();
        // No receiver listens there, so the events remain pending.
        let hook = json!({"webhookUrl": "http://127.0.0.1:9/hook"});
        let (status, body) = self
            .server
            .put(&format!("/v2/public/flows/{flow}"), &self.key, hook)
            .await;
        assert_eq!(status, 200, "{body}");
        let (status, body) = self.verify().await;
        assert_eq!((status, &body["success"]), (200, &json!(true)), "{body}");
        let facemap = body["facemap_id"].as_str().unwrap().to_owned();

        let session = self.session("any-document").await;
        let mut request = self.server.http.post(format!("{}{VERIFY}", self.server.base));
        request = request.bearer_auth(session["access_token"].as_str().unwrap());
        let (status, body) = answer(request.multipart(self.form()).send().await.unwrap()).await;
        let code = &body["idvResult"]["code"];
        assert_eq!((status, code), (200, &json!(2307)), "the same face again: {body}");
        // A session without an attempt, and an unused link.
        self.session("any-document").await;
        self.link("any-document").await;
        self.invite("any-document").await;
        self.have_a_picture_read(&self.session("any-document").await)
            .await;
        // A session with a liveness challenge.
        let session = self.session("liveness").await;
        let challenge = format!("{}/v2/sdk/session/challenge", self.server.base);
        let request = self.server.http.post(challenge).json(&json!({}));
        let request = request.bearer_auth(session["access_token"].as_str().unwrap());
        let (status, body) = answer(request.send().await.unwrap()).await;
        assert_eq!((status, &body["state"]), (200, &json!("running")), "{body}");

        let (status, body) = self.monitor().await;
        assert_eq!((status, &body["label"]), (200, &json!(LABEL)), "{body}");
        let path = format!("/v2/reports/applicants/byExternalUserId/{LABEL}");
        assert_eq!(self.server.get(&path, &self.key).await.0, 200);
        let noted = self
            .browser
            .post("/portal/applicants/1/notes", &[("note", NOTE)])
            .await;
        noted.redirect();
        self.be_listed().await;
        self.server
            .bonafide(&["review", "reopen", "1", "--reason", REASON]);
        let found = self
            .browser
            .post("/portal/privacy/person", &[("person", LABEL)])
            .await
            .page();
        assert!(found.contains(&facemap), "{found}");
        let export = self
            .browser
            .form("/portal/privacy/export", &[("facemapId", &facemap)]);
        let export = export.send().await.unwrap();
        assert_eq!(export.status(), 200);
        assert!(export.bytes().await.unwrap().len() > 10_000);
        // The log is written outside the requests' path: flow, two verifications, three links, monitoring,
        // applicant.
        wait_until(async || self.server.count(CALLS).await >= 8, "the API log").await;
        facemap
    }

    /// A picture of the document is read and never submitted.
    async fn have_a_picture_read(&self, session: &Value) {
        let request = |path: &str| {
            let url = format!("{}/v2/sdk/session/{path}", self.server.base);
            let token = session["access_token"].as_str().unwrap();
            self.server.http.post(url).bearer_auth(token)
        };
        let consent = json!({"version": "2026-11", "language": "en", "accepted": true});
        assert_eq!(
            request("consent").json(&consent).send().await.unwrap().status(),
            200
        );
        let card = specimen("pass-id-card-td1");
        let file = workspace()
            .join("specimens")
            .join(card.0["files"]["idCardBack"].as_str().unwrap());
        let picture = Part::bytes(std::fs::read(file).unwrap()).file_name("x.jpg");
        let form = Form::new().part("idCardBack", picture);
        let (status, body) = answer(request("reading").multipart(form).send().await.unwrap()).await;
        assert_eq!(
            (status, &body["fields"]["lastName"]["value"]),
            (200, &json!("QUILLFEATHER")),
            "{body}"
        );
    }

    /// A list names the approved person in another spelling, which opens an alert.
    async fn be_listed(&self) {
        let file = self.server.dir.path().join("later.ftm.json");
        let entity = json!({"id": "later", "schema": "Person", "properties": {"name": ["Noemi Quilfeather"], "topics": ["sanction"]}});
        let query = json!({"type": "address", "query": LATER_WALLET, "currency": "eth", "label": LABEL});
        let (status, body) = self.server.post(MONITORING, &self.key, query).await;
        assert_eq!(status, 404, "nothing is known of it: {body}");
        let wallet = json!({"id": "w", "schema": "CryptoWallet", "caption": "A wallet", "properties":
            {"publicKey": [LATER_WALLET], "topics": ["sanction"]}});
        std::fs::write(&file, format!("{entity}\n{wallet}")).unwrap();
        self.server.bonafide(&["lists", "import", file.to_str().unwrap()]);
        wait_until(
            async || self.server.count("select count(*) from wallet_alerts").await > 0,
            "a wallet alert",
        )
        .await;
        wait_until(
            async || self.server.count("select count(*) from alerts").await > 0,
            "an alert",
        )
        .await;
    }

    async fn reader(&self) -> Reader {
        Reader {
            folder: self.server.dir.path().to_owned(),
            rows: self.server.dump().await,
            browser: self.browser.clone(),
        }
    }

    /// The content of all stores.
    async fn everything(&self) -> Vec<(String, Vec<u8>)> {
        let reader = self.reader().await;
        let mut everything = Vec::new();
        for (name, read) in STORES {
            let found = read(reader.clone()).await;
            everything.extend(
                found
                    .into_iter()
                    .map(|(piece, bytes)| (format!("{name}: {piece}"), bytes)),
            );
        }
        everything
    }
}

/// The numbers of stored fingerprints of pictures, and of their blind indexes.
async fn fingerprints(server: &Server) -> [i64; 2] {
    [
        server.count("select count(*) from picture_fingerprints").await,
        server.count("select count(*) from picture_refs").await,
    ]
}

on_both!(nothing_of_an_erased_person_is_left, |backend| {
    // No mail server listens there.
    let mail = [
        "--smtp-url",
        "smtp://127.0.0.1:9",
        "--mail-from",
        "verify@example.com",
    ];
    let (server, demo) = Server::demo(backend, &mail).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let member = Browser::sign_up_as(&server, merchant, "compliance", MEMBER).await;
    let person = Person {
        server: &server,
        demo: &demo,
        key: Key::of_demo(&demo),
        browser: std::sync::Arc::new(member),
    };
    // The demo's own link belongs to another person.
    let others = server.bytes("select user_id_sealed from link_tokens").await;
    let facemap = person.leave_traces().await;

    // The values sealed with the person's and the account's keys, and the wrapped keys themselves. All of
    // them are found before the erasure.
    let mut sealed: Vec<Needle> = Vec::new();
    for (table, column) in [
        ("people", "wrapped_key"),
        ("attempts", "wrapped_key"),
        ("attempts", "external_id_sealed"),
        ("attempts", "request_sealed"),
        ("attempts", "response_sealed"),
        ("attempts", "detail_sealed"),
        ("attempts", "names_sealed"),
        ("alerts", "hit_sealed"),
        ("alerts", "listing_ref"),
        ("wallet_alerts", "finding_sealed"),
        ("wallet_alerts", "subject_ref"),
        ("registrations", "external_id_sealed"),
        ("faces", "embedding_sealed"),
        ("review_notes", "text_sealed"),
        ("decisions", "reason_sealed"),
        ("sessions", "expected_sealed"),
        ("sessions", "user_id_sealed"),
        ("applicant_invitations", "email_sealed"),
        ("applicant_invitations", "expected_sealed"),
        ("applicant_invitations", "user_id_sealed"),
        ("link_tokens", "expected_sealed"),
        ("link_tokens", "user_id_sealed"),
        ("outbox", "body_sealed"),
        ("screenings", "query_sealed"),
        ("screenings", "label_sealed"),
        ("screenings", "response_sealed"),
        ("idempotency_keys", "answer_sealed"),
        ("idempotency_keys", "body_ref"),
        ("name_words", "word_ref"),
        ("picture_fingerprints", "fingerprint_sealed"),
        ("picture_refs", "ref"),
        ("challenges", "state_sealed"),
        ("document_readings", "wrapped_key"),
        ("document_readings", "content_sealed"),
    ] {
        let mut values = server
            .bytes(&format!(
                "select {column} from {table} where {column} is not null"
            ))
            .await;
        values.retain(|value| !others.contains(value));
        assert!(
            !values.is_empty(),
            "{table}.{column} holds nothing, so this test proves nothing of it"
        );
        // SQLite splits long values across pages.
        let beginnings = values
            .into_iter()
            .map(|value| value[..value.len().min(200)].to_vec());
        sealed.extend(
            beginnings
                .enumerate()
                .map(|(at, value)| (format!("{table}.{column} {at}"), value)),
        );
    }
    let folders: Vec<PathBuf> = attempt_folders(&server).into_keys().collect();
    assert_eq!(folders.len(), 3, "two attempts, and a picture that was read");
    for folder in &folders {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            sealed.push((
                path.display().to_string(),
                std::fs::read(&path).unwrap()[..200].to_vec(),
            ));
        }
    }
    let markers: Vec<Needle> = MARKERS
        .map(|marker| (marker.to_owned(), marker.as_bytes().to_vec()))
        .into();
    let before = person.everything().await;
    let attempts = server.count("select count(*) from attempts").await;
    let found: BTreeSet<String> = occurrences(&before, &sealed)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for (name, _) in &sealed {
        assert!(
            found.contains(name),
            "{name}: the search does not find what is there"
        );
    }
    // The portal opens sealed data. On disk, nothing is ever in clear text.
    let on_disk = |place: &str| place.starts_with("files") || place.starts_with("rows");
    let clear = occurrences(&before, &markers)
        .into_iter()
        .filter(|(_, place)| on_disk(place));
    let clear: Vec<_> = clear.collect();
    assert!(clear.is_empty(), "in the clear even before: {clear:#?}");

    let erased = server.try_bonafide(&[
        "erase",
        "--merchant",
        merchant,
        "--sandbox",
        "--facemap",
        &facemap,
    ]);
    assert!(erased.status.success(), "{erased:?}");
    let mut after = person.everything().await;
    after.push(("stdout of erase".into(), erased.stdout));
    after.push(("stderr of erase".into(), erased.stderr));
    let left = occurrences(&after, &[markers, sealed].concat());
    assert!(left.is_empty(), "{left:#?}");
    assert_eq!(attempt_folders(&server).len(), 0);

    // A repeated request neither gets the stored response nor creates the person again.
    for (status, body) in [person.verify().await, person.monitor().await] {
        assert_eq!(status, 409, "{body}");
        assert!(body["message"].as_str().unwrap().contains("was erased"), "{body}");
    }
    assert_eq!(server.count("select count(*) from people").await, 0);
    assert_eq!(fingerprints(&server).await, [0, 0]);
    // The journal names only the destroyed keys: the person's and those of the attempts.
    let entries = std::fs::read_dir(server.dir.path().join("objects/erasures")).unwrap();
    let entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1);
    let entry: Value = serde_json::from_slice(&std::fs::read(&entries[0]).unwrap()).unwrap();
    assert_eq!(
        entry["keys"].as_array().unwrap().len() as i64,
        1 + attempts,
        "{entry}"
    );
    assert!(!entry.to_string().contains(&facemap));
    // Erasing again changes nothing and succeeds.
    let again = server.bonafide(&[
        "erase",
        "--merchant",
        merchant,
        "--sandbox",
        "--facemap",
        &facemap,
    ]);
    assert_eq!(
        serde_json::from_str::<Value>(&again).unwrap()["attempts"],
        json!(0)
    );
    assert_eq!(server.count("select count(*) from erasures").await, 1);
});

on_both!(an_erasure_without_the_object_store_erases_nobody, |backend| {
    let (server, demo) = Server::demo(backend, &[]).await;
    let merchant = demo["merchantId"].as_str().unwrap();
    let form = specimen("pass-passport").form(&demo, &json!({}));
    let (status, body) = crate::verify::verify(&server, &demo, form).await;
    assert_eq!(status, 200, "{body}");
    let facemap = body["facemap_id"].as_str().unwrap().to_owned();
    let officer = Browser::sign_up(&server, merchant, "compliance").await;
    let erase = async || {
        let form = [("facemapId", facemap.as_str()), ("typed", &facemap[..8])];
        officer.post("/portal/privacy/erase", &form).await
    };
    let people = async || server.count("select count(*) from people").await;

    // A file blocks the path of the journal's folder.
    let journal = server.dir.path().join("objects/erasures");
    std::fs::write(&journal, "in the way").unwrap();
    let refused = erase().await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.body.contains("Nothing was erased"), "{}", refused.body);
    assert_eq!((people().await, attempt_folders(&server).len()), (1, 1));
    assert_eq!(server.count("select count(*) from erasures").await, 0);
    std::fs::remove_file(&journal).unwrap();

    // The rows are deleted, but the files cannot be listed.
    let (folder, _) = attempt_folders(&server).pop_first().unwrap();
    let stray = folder.join(OsStr::from_bytes(b"\xff"));
    std::fs::write(&stray, "no object has such a name").unwrap();
    let unfinished = erase().await;
    assert_eq!(unfinished.status, 503, "{}", unfinished.body);
    assert!(
        unfinished.body.contains("repeat the erasure"),
        "{}",
        unfinished.body
    );
    assert_eq!(people().await, 0, "the key is destroyed all the same");
    std::fs::remove_file(&stray).unwrap();
    let finished = erase().await;
    assert_eq!(finished.redirect(), "/portal/privacy?done=privacy.erased");
    assert_eq!(attempt_folders(&server).len(), 0);
    assert_eq!(server.count("select count(*) from object_removals").await, 0);
    assert_eq!(
        server
            .count("select count(*) from audit where action = 'person.erased'")
            .await,
        1
    );
});

#[tokio::test(flavor = "multi_thread")]
async fn retention_is_journaled_and_empties_the_log() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let form = specimen("pass-passport").form(&demo, &json!({}));
    assert_eq!(crate::verify::verify(&server, &demo, form).await.0, 200);
    let keys = server.bytes("select wrapped_key from attempts").await;
    assert_ne!(fingerprints(&server).await, [0, 0]);
    server.sql("update attempts set created_at = 0").await;
    let server = server.kill_and_restart(&["--demo", "--retention-days", "1"]);
    wait_until(
        async || {
            server.count("select count(*) from attempts").await == 0 && attempt_folders(&server).is_empty()
        },
        "retention",
    )
    .await;
    assert_eq!(fingerprints(&server).await, [0, 0]);
    let log = server.dir.path().join("bonafide.db-wal");
    let is_clean = async || {
        let files = [&log, &server.dir.path().join("bonafide.db")]
            .map(|path| std::fs::read(path).unwrap_or_default());
        let stores = files.map(|bytes| (String::new(), bytes));
        occurrences(&stores, &[(String::new(), keys[0].clone())]).is_empty()
    };
    wait_until(is_clean, "a log without the wrapped key").await;
    let entries = std::fs::read_dir(server.dir.path().join("objects/erasures")).unwrap();
    assert_eq!(entries.count(), 1);
}
