//! Mail by SMTP, where an operator has set a server. What a letter says is its caller's; no address reaches a log line.

use std::time::Duration;

use anyhow::Context;
use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret;

use crate::config::ServeConfig;

const PATIENCE: Duration = Duration::from_secs(20);

/// The way to a mail server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// A letter in plain text.
#[derive(Clone, Debug)]
pub struct Letter {
    /// To whom.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub text: String,
}

impl Mailer {
    /// The mail server that the settings name; `None` without one. It is not asked yet.
    pub fn open(config: &ServeConfig) -> anyhow::Result<Option<Self>> {
        let (Some(url), Some(from)) = (&config.smtp_url, &config.mail_from) else {
            return Ok(None);
        };
        // The address holds a password: nothing of it goes into the error.
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret())
            .map_err(|_| anyhow::anyhow!("BONAFIDE_SMTP_URL is no address like smtps://USER:PASSWORD@HOST"))?
            .timeout(Some(PATIENCE))
            .build();
        let from = from
            .parse()
            .context("BONAFIDE_MAIL_FROM is no address like `Bonafide <verify@example.com>`")?;
        Ok(Some(Mailer { transport, from }))
    }

    /// Sends a letter; whether the server took it. Why it did not is logged, without the address.
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
