//! Sends email by SMTP if the operator has set a mail server. The caller writes the text. No address reaches
//! a log line.

use std::time::Duration;

use anyhow::Context;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret;

use crate::config::ServeConfig;

const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to a mail server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// An email in plain text.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The recipient's address.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
}

impl Mailer {
    /// The mail server that the settings name; `None` without one. It does not connect yet.
    pub fn open(config: &ServeConfig) -> anyhow::Result<Option<Self>> {
        let (Some(url), Some(from)) = (&config.smtp_url, &config.mail_from) else {
            return Ok(None);
        };
        // The URL contains a password, so the error repeats nothing of it.
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret())
            .map_err(|_| anyhow::anyhow!("BONAFIDE_SMTP_URL is no address like smtps://USER:PASSWORD@HOST"))?
            .timeout(Some(PATIENCE))
            .build();
        let from = from
            .parse()
            .context("BONAFIDE_MAIL_FROM is no address like `Bonafide <verify@example.com>`")?;
        Ok(Some(Mailer { transport, from }))
    }

    /// Sends an email and returns whether the server accepted it. The reason for a refusal is logged without
    /// the address.
    pub async fn send(&self, letter: Letter) -> bool {
        let Ok(to) = letter.to.parse::<lettre::Address>() else {
            return false;
        };
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(letter.subject)
            .header(ContentType::TEXT_PLAIN)
            .body(letter.text);
        let Ok(message) = message else { return false };
        match self.transport.send(message).await {
            Ok(_) => true,
            Err(error) => {
                let status = error.status().map(|code| code.to_string());
                tracing::warn!(
                    status,
                    timeout = error.is_timeout(),
                    tls = error.is_tls(),
                    "the mail server did not take a letter"
                );
                false
            }
        }
    }
}
