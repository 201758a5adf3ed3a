//! A member of the account in the portal: joins by a link that an operator makes, and exports people. It uses the
//! forms that a browser uses, and nothing else.

use std::fs::File;
use std::io::Write as _;

use anyhow::{Context as _, ensure};
use rand::RngExt as _;
use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use serde_json::Value;

use crate::installation::Installation;

/// A signed-in member.
pub(crate) struct Member {
    http: Client,
    cookie: String,
}

impl Member {
    /// Makes a link on the command line and joins with it as an owner, in the sandbox.
    pub(crate) async fn join(installation: &Installation) -> anyhow::Result<Member> {
        let account = installation.demo("merchantId");
        let made = [
            "portal",
            "--json",
            "invite",
            "--merchant",
            account,
            "--role",
            "owner",
        ];
        let made: Value = serde_json::from_str(&installation.bonafide(&made).await?)?;
        let link = made["link"].as_str().context("an invitation without a link")?;
        let path = link.find("/portal/").map(|at| &link[at..]);
        let mut member = Member {
            // An export may take long; every wait below is for the next piece.
            http: Client::builder()
                .redirect(Policy::none())
                .read_timeout(std::time::Duration::from_secs(60))
                .build()?,
            cookie: String::new(),
        };
        let number: u64 = rand::rng().random();
        let email = format!("faults-{number}@example.com");
        let form = [
            ("name", "Fault check"),
            ("email", &email),
            ("password", "a check that breaks nothing 7"),
        ];
        let base = installation.nodes[0].base();
        let joined = member
            .post(&base, path.context("an invitation of another page")?, &form)
            .await?;
        let cookie = joined
            .headers()
            .get(SET_COOKIE)
            .context("no session after joining")?;
        let (cookie, _) = cookie
            .to_str()?
            .split_once(';')
            .context("a cookie without an end")?;
        member.cookie = cookie.to_owned();
        member.post(&base, "/portal/mode", &[("sandbox", "true")]).await?;
        Ok(member)
    }

    /// Sends a form. The answer is a redirect to a page, or a file.
    async fn post(&self, base: &str, path: &str, form: &[(&str, &str)]) -> anyhow::Result<Response> {
        let answer = self
            .http
            .post(format!("{base}{path}"))
            .header(ORIGIN, base)
            .header("Sec-Fetch-Site", "same-origin")
            .header(COOKIE, &self.cookie)
            .form(form)
            .send()
            .await?;
        let status = answer.status();
        let target = answer.headers().get(LOCATION).cloned();
        ensure!(
            status.is_success() || target.is_some(),
            "{path}: {status} {}",
            answer.text().await?
        );
        Ok(answer)
    }

    /// Exports everything about a person by a node, as a ZIP file in a temporary file.
    pub(crate) async fn export(&self, base: &str, facemap: &str) -> anyhow::Result<File> {
        let form = [("facemapId", facemap)];
        let mut answer = self.post(base, "/portal/privacy/export", &form).await?;
        ensure!(answer.status().is_success(), "the export was redirected");
        let mut file = tempfile::tempfile()?;
        while let Some(piece) = answer.chunk().await? {
            file.write_all(&piece)?;
        }
        Ok(file)
    }
}
