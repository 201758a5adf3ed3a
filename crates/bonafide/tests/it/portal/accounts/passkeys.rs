//! Passkeys: a software authenticator (WebAuthn level 3, ES256) adds one and signs in with it, and every answer that
//! is not exactly right is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const SITE: &str = "localhost";
const ORIGIN: &str = "http://localhost:9009";
const NEW: &str = "/portal/account/passkeys/new";
const ADD: &str = "/portal/account/passkeys";
const SIGN_IN: &str = "/portal/sign-in/passkey";

const PRESENT: u8 = 1;
const VERIFIED: u8 = 4;
const HAS_CREDENTIAL: u8 = 64;

/// An authenticator with one passkey.
struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    owner: String,
    uses: u32,
    origin: String,
    site: String,
    flags: u8,
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn client_data(kind: &str, options: &Value, origin: &str) -> Vec<u8> {
    json!({"type": kind, "challenge": options["challenge"], "origin": origin, "crossOrigin": false})
        .to_string()
        .into_bytes()
}

impl Authenticator {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        Authenticator {
            key: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap(),
            id: uuid::Uuid::new_v4().as_bytes().to_vec(),
            owner: String::new(),
            uses: 0,
            origin: ORIGIN.into(),
            site: SITE.into(),
            flags: PRESENT | VERIFIED,
        }
    }

    fn data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        let site = digest(&SHA256, self.site.as_bytes());
        [
            site.as_ref(),
            &[self.flags | flags],
            &self.uses.to_be_bytes(),
            rest,
        ]
        .concat()
    }

    /// Answers the question for a new passkey.
    fn create(&mut self, question: &Question) -> String {
        let options = &question.options;
        options["user"]["id"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.owner);
        let public = self.key.public_key().as_ref();
        // COSE: a key of type EC2 for ES256 on P-256, with both coordinates.
        let cose = [
            &[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20][..],
            &public[1..33],
            &[0x22, 0x58, 0x20],
            &public[33..],
        ]
        .concat();
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let credential = [&[0; 16][..], &length, &self.id, &cose].concat();
        let data = self.data(HAS_CREDENTIAL, &credential);
        // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
        let attestation = [
            b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58",
            &[u8::try_from(data.len()).unwrap()][..],
            &data,
        ]
        .concat();
        json!({"ceremony": question.ceremony, "credential": {
            "id": text(&self.id), "rawId": text(&self.id), "type": "public-key",
            "clientExtensionResults": {}, "authenticatorAttachment": "platform",
            "response": {
                "clientDataJSON": text(&client_data("webauthn.create", options, &self.origin)),
                "attestationObject": text(&attestation), "transports": ["internal"],
            },
        }})
        .to_string()
    }

    /// Answers a question with the passkey.
    fn answer(&mut self, question: &Question) -> String {
        self.uses += 1;
        let client_data = client_data("webauthn.get", &question.options, &self.origin);
        let data = self.data(0, &[]);
        let signed = [&data, digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({"ceremony": question.ceremony, "credential": {
            "id": text(&self.id), "rawId": text(&self.id), "type": "public-key",
            "clientExtensionResults": {}, "authenticatorAttachment": "platform",
            "response": {
                "clientDataJSON": text(&client_data), "authenticatorData": text(&data),
                "signature": text(signature.as_ref()), "userHandle": self.owner,
            },
        }})
        .to_string()
    }
}

/// A question as the page's script sees it.
struct Question {
    options: Value,
    ceremony: String,
}

/// The question of the page that adds a passkey.
async fn question_for_new(browser: &Browser) -> Question {
    let page = browser.get(NEW).await.page();
    let options = between(&page, "data-passkey-new=\"", "\"").replace("&#34;", "\"");
    Question {
        options: serde_json::from_str(&options).unwrap(),
        ceremony: between(&page, "data-ceremony=\"", "\"").to_owned(),
    }
}

async fn question(browser: &Browser) -> Question {
    let answer = browser.get("/portal/passkey/options").await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    let body: Value = serde_json::from_str(&answer.page()).unwrap();
    Question {
        options: body["options"].clone(),
        ceremony: body["ceremony"].as_str().unwrap().to_owned(),
    }
}

async fn add(browser: &Browser, name: &str) -> (Authenticator, Answer) {
    let mut authenticator = Authenticator::new();
    let answer = authenticator.create(&question_for_new(browser).await);
    let added = browser.post(ADD, &[("name", name), ("answer", &answer)]).await;
    (authenticator, added)
}

/// The recovery codes on a page.
fn codes(page: &str) -> Vec<String> {
    let codes = page.split("<li><code>").skip(1);
    codes
        .map(|rest| rest[..rest.find('<').unwrap()].to_owned())
        .collect()
}

async fn start(backend: Backend) -> Server {
    Server::start(backend, &["--rate-sign-in", "0", "--public-url", ORIGIN]).await
}

on_both!(a_passkey_signs_in_by_itself, |backend| {
    let server = start(backend).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let elsewhere = Browser::new(&server);
    sign_in(&elsewhere, "ada@example.com", PASSWORD).await.redirect();
    let (mut phone, added) = add(&ada, "Ada's phone").await;
    assert_eq!(added.redirect(), "/portal/account/recovery");
    assert_eq!(codes(&ada.get("/portal/account/recovery").await.page()).len(), 10);
    assert!(!is_in(&elsewhere).await, "it began without a second factor");
    let page = ada.get("/portal/account").await.page();
    assert!(page.contains("Ada&#39;s phone"), "{page}");
    assert!(page.contains("Not used yet"), "{page}");

    let visitor = Browser::new(&server);
    let page = visitor.get("/portal/sign-in").await.page();
    assert!(page.contains(SIGN_IN), "{page}");
    let answer = phone.answer(&question(&visitor).await);
    let form = [("answer", answer.as_str()), ("next", "/portal/account")];
    assert_eq!(visitor.post(SIGN_IN, &form).await.redirect(), "/portal/account");
    assert!(is_in(&visitor).await);
    let signed_in =
        "select count(*) from audit where action = 'staff.signed_in' and detail like '%secondFactor%'";
    assert_eq!(server.count(signed_in).await, 1);

    let thief = Browser::new(&server);
    assert_eq!(
        thief.post(SIGN_IN, &form).await.status,
        400,
        "an answer counts once"
    );
    let (mut bob, _) = {
        let bob = member(&server, &merchant, "reviewer", "bob@example.com").await;
        add(&bob, "Bob's key").await
    };
    let good = |authenticator: &mut Authenticator, question: &Question| authenticator.answer(question);
    let elsewhere = |authenticator: &mut Authenticator, question: &Question| {
        authenticator.origin = "https://localhost.example".into();
        let answer = authenticator.answer(question);
        authenticator.origin = ORIGIN.into();
        answer
    };
    let unverified = |authenticator: &mut Authenticator, question: &Question| {
        authenticator.flags = PRESENT;
        let answer = authenticator.answer(question);
        authenticator.flags = PRESENT | VERIFIED;
        answer
    };
    let copied = |authenticator: &mut Authenticator, question: &Question| {
        authenticator.uses = 0;
        let answer = authenticator.answer(question);
        authenticator.uses = 100;
        answer
    };
    let of_another = |authenticator: &mut Authenticator, question: &Question| {
        bob.owner.clone_from(&authenticator.owner);
        bob.uses = authenticator.uses;
        let answer = bob.answer(question);
        answer.replace(&text(&bob.id), &text(&authenticator.id))
    };
    let forged = |authenticator: &mut Authenticator, question: &Question| {
        let mut answer: Value = serde_json::from_str(&authenticator.answer(question)).unwrap();
        let data = &mut answer["credential"]["response"]["authenticatorData"];
        let mut bytes = URL_SAFE_NO_PAD.decode(data.as_str().unwrap()).unwrap();
        // A higher counter than the one that was signed.
        bytes[33] = 1;
        *data = text(&bytes).into();
        answer.to_string()
    };
    let other_site = |authenticator: &mut Authenticator, question: &Question| {
        authenticator.site = "example.com".into();
        let answer = authenticator.answer(question);
        authenticator.site = SITE.into();
        answer
    };
    let earlier = question(&thief).await;
    let other_question = |authenticator: &mut Authenticator, question: &Question| {
        let of_earlier = Question {
            options: earlier.options.clone(),
            ceremony: question.ceremony.clone(),
        };
        authenticator.answer(&of_earlier)
    };
    let changed = |authenticator: &mut Authenticator, question: &Question| {
        let ceremony = format!("AAAA{}", &question.ceremony[4..]);
        authenticator
            .answer(question)
            .replace(&question.ceremony, &ceremony)
    };
    type Make<'a> = Box<dyn FnMut(&mut Authenticator, &Question) -> String + Send + 'a>;
    let cases: [(&str, Make<'_>, u16); 9] = [
        ("another origin", Box::new(elsewhere), 400),
        ("an owner who was not verified", Box::new(unverified), 400),
        ("a counter that went back", Box::new(copied), 400),
        ("another key", Box::new(of_another), 400),
        ("data that was not signed", Box::new(forged), 400),
        ("another site", Box::new(other_site), 400),
        ("another question", Box::new(other_question), 400),
        ("a changed ceremony", Box::new(changed), 400),
        ("nothing wrong", Box::new(good), 303),
    ];
    for (what, mut make, status) in cases {
        let answer = make(&mut phone, &question(&thief).await);
        let answered = thief.post(SIGN_IN, &[("answer", &answer)]).await;
        assert_eq!(answered.status, status, "{what}");
    }
    for answer in ["", "{", "{}", "{\"ceremony\":\"\",\"credential\":{}}"] {
        let answered = Browser::new(&server).post(SIGN_IN, &[("answer", answer)]).await;
        assert_eq!(answered.status, 400, "{answer}");
    }
    let failed =
        "select count(*) from audit where action = 'staff.sign_in_failed' and detail like '%passkey%'";
    // The used answer, and eight wrong ones of Ada's passkey. Where no passkey is named, no account can be.
    assert_eq!(server.count(failed).await, 9);
    let named =
        "select count(*) from audit where action = 'staff.signed_in' and detail like '%\"passkey\":%'";
    assert_eq!(server.count(named).await, 2, "the trail names the passkey");

    server
        .sql("update staff set disabled_at = 1 where id in (select staff_id from staff_passkeys order by created_at limit 1)")
        .await;
    let answer = phone.answer(&question(&thief).await);
    let refused = Browser::new(&server).post(SIGN_IN, &[("answer", &answer)]).await;
    assert_eq!(refused.status, 400, "a disabled member");
    let log = server.log().await;
    assert!(
        !log.contains("Ada's phone") && !log.contains("ada@example.com"),
        "{log}"
    );
});

on_both!(a_passkey_is_a_second_factor, |backend| {
    let server = start(backend).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let (mut phone, _) = add(&ada, "Phone").await;
    let recovery = codes(&ada.get("/portal/account/recovery").await.page());
    let bob = member(&server, &merchant, "owner", "bob@example.com").await;
    let (mut of_bob, _) = add(&bob, "Bob's").await;

    // After the password.
    let browser = Browser::new(&server);
    let code_page = sign_in(&browser, "ada@example.com", PASSWORD).await.redirect();
    assert!(code_page.starts_with("/portal/sign-in/code"), "{code_page}");
    assert!(!is_in(&browser).await);
    let page = browser.get("/portal/sign-in/code").await.page();
    assert!(page.contains("data-passkey=\"code\""), "{page}");
    let wrong = of_bob.answer(&question(&browser).await);
    let refused = browser.post("/portal/sign-in/code", &[("code", &wrong)]).await;
    assert_eq!(refused.status, 400, "another member's");
    let right = phone.answer(&question(&browser).await);
    browser
        .post("/portal/sign-in/code", &[("code", &right)])
        .await
        .redirect();
    assert!(is_in(&browser).await);

    // As a proof of identity, where a password is none; recovery codes stay possible.
    server.sql("update portal_sessions set proved_at = 0").await;
    let asked = ada.get(NEW).await.redirect();
    assert!(asked.starts_with("/portal/prove"), "{asked}");
    assert_eq!(
        ada.post("/portal/prove", &[("proof", PASSWORD)]).await.status,
        400
    );
    let wrong = of_bob.answer(&question(&ada).await);
    assert_eq!(ada.post("/portal/prove", &[("proof", &wrong)]).await.status, 400);
    let right = phone.answer(&question(&ada).await);
    let form = [("proof", right.as_str()), ("next", NEW)];
    assert_eq!(ada.post("/portal/prove", &form).await.redirect(), NEW);
    server.sql("update portal_sessions set proved_at = 0").await;
    let form = [("proof", recovery[0].as_str()), ("next", NEW)];
    assert_eq!(ada.post("/portal/prove", &form).await.redirect(), NEW);

    // A second passkey leaves the recovery codes as they are; the last one to go takes them along.
    let (_, added) = add(&ada, "Key").await;
    assert_eq!(added.redirect(), "/portal/account?done=passkey_added");
    for left in [1, 0] {
        let page = ada.get("/portal/account").await.page();
        let id = between(&page, "/portal/account/passkeys/", "/remove").replace("new\"", "");
        let removed = ada
            .post(&format!("/portal/account/passkeys/{id}/remove"), &[])
            .await;
        assert_eq!(removed.redirect(), "/portal/account?done=passkey_removed");
        let has_codes = "select count(*) from staff where recovery <> '[]'";
        assert_eq!(server.count(has_codes).await, left + 1, "Bob's codes stay");
    }
    let answer = phone.answer(&question(&browser).await);
    assert_eq!(
        Browser::new(&server)
            .post(SIGN_IN, &[("answer", &answer)])
            .await
            .status,
        400
    );
    let browser = Browser::new(&server);
    assert_eq!(
        sign_in(&browser, "ada@example.com", PASSWORD).await.redirect(),
        "/portal"
    );
});

on_both!(a_required_second_factor_can_be_a_passkey, |backend| {
    let server = start(backend).await;
    let merchant = server.merchant(true);
    let set = ["merchant", "set", &merchant.id, "requireSecondFactor=true"];
    server.bonafide(&set);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    assert_eq!(ada.get("/portal").await.redirect(), "/portal/account/totp");
    let page = ada.get("/portal/account/totp").await.page();
    assert!(page.contains(NEW), "{page}");
    // The question belongs to one member's session.
    let bob = member(&server, &merchant, "owner", "bob@example.com").await;
    let answer = Authenticator::new().create(&question_for_new(&ada).await);
    let form = [("name", "Ada's"), ("answer", answer.as_str())];
    assert_eq!(bob.post(ADD, &form).await.status, 400);
    for (name, status) in [("", 400), ("Ada's", 303), ("Ada's", 400)] {
        let form = [("name", name), ("answer", answer.as_str())];
        assert_eq!(ada.post(ADD, &form).await.status, status, "{name}");
    }
    ada.get("/portal").await.page();
    let page = ada.get("/portal/account").await.page();
    let id = between(&page, "action=\"/portal/account/passkeys/", "/remove");
    let kept = ada
        .post(&format!("/portal/account/passkeys/{id}/remove"), &[])
        .await;
    assert_eq!(kept.status, 400, "it is the only one");
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 1);
    assert_eq!(
        bob.post(&format!("/portal/account/passkeys/{id}/remove"), &[])
            .await
            .status,
        303
    );
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 1);

    let lost = [
        "portal",
        "password-link",
        "--email",
        "ada@example.com",
        "--second-factor-lost",
    ];
    server.bonafide(&lost);
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 0);
    assert!(!is_in(&ada).await, "the lost device may be signed in");
});

on_both!(an_app_follows_a_passkey_and_the_last_factor_stays, |backend| {
    let server = start(backend).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let (mut phone, _) = add(&ada, "Phone").await;
    let page = ada.get("/portal/account/totp").await.page();
    assert!(page.contains("data-passkey=\"proof\""), "{page}");
    let key = between(&page, "name=\"key\" value=\"", "\"").to_owned();
    let code = code(&key, 0);
    let form = |proof: &str| {
        [
            ("key", key.clone()),
            ("code", code.clone()),
            ("proof", proof.to_owned()),
        ]
    };
    let send = async |proof: &str| {
        let form = form(proof);
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        ada.post("/portal/account/totp", &form).await
    };
    assert_eq!(send(PASSWORD).await.status, 400, "a password is no proof");
    let answer = phone.answer(&question(&ada).await);
    assert_eq!(send(&answer).await.redirect(), "/portal/account/recovery");

    // Where a second factor is required, simultaneous removals leave one.
    let (_, added) = add(&ada, "Key").await;
    assert_eq!(added.redirect(), "/portal/account?done=passkey_added");
    server.sql("update staff set totp_sealed = null").await;
    let set = ["merchant", "set", &merchant.id, "requireSecondFactor=true"];
    server.bonafide(&set);
    let page = ada.get("/portal/account").await.page();
    let removals: Vec<String> = page
        .split("action=\"")
        .filter_map(|rest| Some(rest[..rest.find('"')?].to_owned()))
        .filter(|action| action.ends_with("/remove"))
        .collect();
    assert_eq!(removals.len(), 2);
    let (first, second) = tokio::join!(ada.post(&removals[0], &[]), ada.post(&removals[1], &[]));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400]);
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 1);
});

on_both!(passkeys_are_limited_in_number_and_tries, |backend| {
    let server = Server::start(backend, &["--rate-sign-in", "3", "--public-url", ORIGIN]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let open = question_for_new(&ada).await;
    for number in 1..=20 {
        let (_, added) = add(&ada, &format!("Key {number}")).await;
        assert_eq!(added.status, 303, "{number}");
    }
    let page = ada.get(NEW).await.page();
    assert!(page.contains("reached the limit"), "{page}");
    let answer = Authenticator::new().create(&open);
    let form = [("name", "One more"), ("answer", answer.as_str())];
    assert_eq!(ada.post(ADD, &form).await.status, 400, "its page was open before");
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 20);

    let stranger = Browser::new(&server);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(stranger.post(SIGN_IN, &[("answer", "{}")]).await.status);
    }
    assert_eq!(statuses, [400, 400, 400, 429, 429]);
});

on_both!(without_a_host_name_no_passkey_is_offered, |backend| {
    let server = Server::start(backend, &[]).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let page = ada.get("/portal/account").await.page();
    assert!(!page.contains("passkey\""), "{page}");
    assert_eq!(ada.get(NEW).await.redirect(), "/portal/account");
    let visitor = Browser::new(&server);
    assert!(!visitor.get("/portal/sign-in").await.page().contains(SIGN_IN));
    assert_eq!(
        visitor.get("/portal/passkey/options").await.redirect(),
        "/portal/sign-in"
    );
    assert_eq!(visitor.post(SIGN_IN, &[("answer", "{}")]).await.status, 400);
});

on_both!(a_passkey_of_a_former_address_meets_no_requirement, |backend| {
    let server = start(backend).await;
    let merchant = server.merchant(true);
    let ada = member(&server, &merchant, "owner", "ada@example.com").await;
    let (_, added) = add(&ada, "Phone").await;
    added.redirect();
    let recovery = codes(&ada.get("/portal/account/recovery").await.page());
    let set = ["merchant", "set", &merchant.id, "requireSecondFactor=true"];
    server.bonafide(&set);
    assert!(is_in(&ada).await, "the passkey meets the requirement");
    server
        .sql("update staff_passkeys set site = 'former.example.com'")
        .await;

    // The password alone still signs nobody in.
    let browser = Browser::new(&server);
    let code_page = sign_in(&browser, "ada@example.com", PASSWORD).await.redirect();
    assert!(code_page.starts_with("/portal/sign-in/code"), "{code_page}");
    let page = browser.get("/portal/sign-in/code").await.page();
    assert!(!page.contains("data-passkey=\"code\""), "{page}");
    browser
        .post("/portal/sign-in/code", &[("code", &recovery[0])])
        .await
        .redirect();
    // But the member needs a second factor that works here.
    assert_eq!(browser.get("/portal").await.redirect(), "/portal/account/totp");
    let page = browser.get(NEW).await.page();
    assert!(page.contains("Test requires a second factor"), "{page}");
    assert!(page.contains("requires JavaScript"), "{page}");
    let (_, added) = add(&browser, "New phone").await;
    added.redirect();
    let page = browser.get("/portal/account").await.page();
    assert!(page.contains("former address former.example.com"), "{page}");
    // The new one is the last that counts.
    let of_name = |page: &str, name: &str| {
        let form = page.split("<li><form").find(|form| form.contains(name)).unwrap();
        between(form, "action=\"", "\"").to_owned()
    };
    let kept = browser.post(&of_name(&page, "New phone"), &[]).await;
    assert_eq!(kept.status, 400, "{}", kept.body);
    browser.post(&of_name(&page, "Phone<"), &[]).await.redirect();
    assert_eq!(server.count("select count(*) from staff_passkeys").await, 1);
});
