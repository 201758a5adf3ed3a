//! Sends every form of the portal twice, by one person of each role, with values that would let an applicant
//! pass. Where two people are required, nothing that decides about an applicant may change. The forms come
//! from the code's table (`portal::table`).

use portal::table;
use reqwest::Method;
use serde_json::json;
use service::permissions::{Action, Role, may};

use super::four_eyes::{answer, set_flow};
use super::review::{conclude, decide, listed, merchant, newest};
use super::second::shown_version;
use super::setup::send;
use super::{Answer, Browser};
use crate::harness::{Backend, Server};

/// Forms that end the tester's session.
const ENDS_THE_SESSION: [&str; 2] = ["/portal/sign-out", "/portal/account/sessions/end-all"];

/// Measures of how easily applicants pass. Each number may fall, and none may rise.
async fn laxity(server: &Server) -> [i64; 6] {
    [
        server
            .count("select count(*) from attempts where status = 'approved'")
            .await,
        server.count("select count(*) from suppressions").await,
        server
            .count(
                "select count(*) from flows where not (settings like '%\"fourEyes\":true%'
                 and settings like '%\"reviewPolicy\":\"always\"%' and settings like '%\"matchThreshold\":85%'
                 and settings like '%\"retentionDays\":300%')",
            )
            .await,
        server
            .count("select count(*) from merchants where not settings like '%\"fourEyes\":true%'")
            .await,
        server
            .count("select count(*) from merchants where not settings like '%\"screeningThreshold\":0.7%'")
            .await,
        // Members who may decide, without unconfirmed ones.
        server
            .count(
                "select (select count(*) from memberships where disabled_at is null
                     and role in ('owner', 'admin', 'compliance', 'reviewer'))
                 - (select count(*) from proposals where kind = 'member')",
            )
            .await,
    ]
}

/// The data with which one person tries every form.
struct Attack<'a> {
    browser: &'a Browser,
    flow: &'a str,
    attempt: i64,
    hit: &'a str,
    colleague: &'a str,
    /// Proposals of other people, which this person could confirm.
    others: Vec<String>,
}

impl Attack<'_> {
    /// A form's path, filled with existing IDs.
    fn path(&self, form: &str, proposal: Option<&str>) -> String {
        let nobody = uuid::Uuid::nil().to_string();
        let part = |part: &str| match part {
            "{logId}" => self.attempt.to_string(),
            "{flowId}" => self.flow.to_owned(),
            "{proposalId}" => proposal.unwrap_or(&nobody).to_owned(),
            "{id}" if form.starts_with("/portal/staff/") => self.colleague.to_owned(),
            part if part.starts_with('{') => nobody.clone(),
            part => part.to_owned(),
        };
        form.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    async fn send(&self, form: &str) -> Answer {
        let proposals = match form.contains("{proposalId}") {
            true => self.proposals().await,
            false => Vec::new(),
        };
        let mut proposals = proposals.into_iter();
        let own = proposals.find(|id| !self.others.contains(id));
        let path = self.path(form, own.as_deref());
        let lax = [
            ("name", Some("Lax")),
            ("fourEyes", None),
            ("reviewPolicy", Some("never")),
            ("matchThreshold", Some("10")),
            ("retentionDays", Some("1")),
            ("screeningThreshold", Some("0.99")),
            ("requireSecondFactor", None),
            ("do", Some("save")),
        ];
        if ["/portal/flows/new", "/portal/flows/{flowId}", "/portal/branding"].contains(&form) {
            let shown = self.browser.get(&path).await;
            if shown.status == 200 {
                return send(self.browser, &path, &shown.body, &lax).await;
            }
        }
        let version = match (form.contains("{logId}"), &own) {
            (true, _) => shown_version(&self.attempt_page().await, ""),
            (_, Some(id)) => shown_version(&self.browser.get("/portal/second").await.body, id),
            _ => "0".to_owned(),
        };
        let fields = [
            ("version", version.as_str()),
            ("reason", "it fits"),
            ("hit", self.hit),
            ("why", "name"),
            ("flowId", self.flow),
            ("days", "1"),
            ("role", "owner"),
            ("required", "false"),
            ("do", "save"),
        ];
        self.browser.post(&path, &fields).await
    }

    /// The attempt's page, or the refusal to show it.
    async fn attempt_page(&self) -> String {
        let path = format!("/portal/applicants/{}", self.attempt);
        self.browser.get(&path).await.body
    }

    /// The proposals that the person sees.
    async fn proposals(&self) -> Vec<String> {
        let page = self.browser.get("/portal/second").await.body;
        let mut ids: Vec<String> = page
            .split("/portal/second/")
            .skip(1)
            .filter_map(|part| part.split('/').next())
            .filter(|id| uuid::Uuid::parse_str(id).is_ok())
            .map(str::to_owned)
            .collect();
        ids.dedup();
        ids
    }

    /// Withdraws this person's proposals, so that the next person cannot confirm them.
    async fn withdraw(&self) {
        for id in self.proposals().await {
            answer(self.browser, &id, "reject").await;
        }
        decide(self.browser, self.attempt, "reject", &[]).await;
    }
}

// One database is enough: the rules do not differ, and the sweep takes long.
#[tokio::test(flavor = "multi_thread")]
async fn no_form_lets_an_applicant_pass_alone() {
    let (server, demo) = Server::demo(Backend::Sqlite, &[]).await;
    let id = merchant(&demo).to_owned();
    let flow = demo["flows"]["data-only"].as_str().unwrap();
    // Members from before two people are required count as confirmed.
    let mut people = Vec::new();
    for role in Role::ALL {
        people.push((role, Browser::sign_up(&server, &id, role.as_str()).await));
    }
    let colleague = Browser::sign_up(&server, &id, "developer").await;
    let page = people[0].1.get("/portal/staff").await.page();
    let colleague_id = page
        .split("/portal/staff/")
        .filter_map(|part| part.split('/').next())
        .filter(|id| uuid::Uuid::parse_str(id).is_ok())
        .last()
        .expect("a member")
        .to_owned();
    drop(colleague);
    let strict =
        json!({"fourEyes": true, "reviewPolicy": "always", "matchThreshold": 85, "retentionDays": 300});
    set_flow(&server, &demo, strict);
    server.bonafide(&["merchant", "set", &id, "fourEyes=true", "screeningThreshold=0.7"]);
    let body = listed(&server, &demo, "waits").await;
    let attempt = newest(&server).await;
    let hit = body["kycResults"]["results"][0]["id"].as_str().unwrap();
    conclude(&people[0].1, attempt).await;
    let before = laxity(&server).await;

    let mut forms = table();
    forms.retain(|row| row.method == Method::POST && !ENDS_THE_SESSION.contains(&row.path));
    // Forms that delete are omitted, because later people could not change what was deleted.
    forms.retain(|row| !row.path.ends_with("/delete"));
    for (role, browser) in &people {
        let mut attack = Attack {
            browser,
            flow,
            attempt,
            hit,
            colleague: &colleague_id,
            others: Vec::new(),
        };
        attack.others = attack.proposals().await;
        let mut proposed = 0;
        for row in &forms {
            // The second time, the proposer may try to be the second person.
            for _ in 0..2 {
                let answer = attack.send(row.path).await;
                let what = format!("{} as {role:?}: {} {}", row.path, answer.status, answer.body);
                assert_ne!(answer.status, 500, "{what}");
                if answer.status == 403 {
                    break;
                }
                proposed += usize::from(answer.location.is_some_and(|to| to.contains("proposed")));
            }
            let after = laxity(&server).await;
            let lax = before.iter().zip(after).any(|(before, after)| after > *before);
            assert!(!lax, "{} as {role:?}: {before:?} {after:?}", row.path);
        }
        if may(Some(*role), false, Action::ManageRules) {
            assert!(
                proposed >= 6,
                "{role:?} tried what lets applicants pass: {proposed}"
            );
        }
        attack.withdraw().await;
    }
}
