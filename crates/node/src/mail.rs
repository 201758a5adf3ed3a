//! Sends email by SMTP if the operator has set a mail server. The caller writes the text. No address reaches
//! a log line.

use std::time::Duration;

use anyhow::Context;
use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::message::{Mailbox, MessageBuilder};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret;

use crate::config::ServeConfig;

/// How long a connection may take to open.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a letter may take; the server may look at its content. The transport's own limit is only for the connection.
pub const SENT_WITHIN: Duration = Duration::from_mins(5);

/// A connection to a mail server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// The result of sending an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// The server accepted it.
    Accepted,
    /// The server or the address refuses it for good.
    Refused,
    /// The server did not take it now.
    NotNow,
}

/// The header of a letter that a merchant causes.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The name beside the operator's address.
    pub name: String,
    /// Where answers go; the operator's address if absent.
    pub reply_to: Option<String>,
    /// The letter's id, the same for each try.
    pub id: String,
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
        let Some(message) = message(letter, MessageBuilder::new().from(self.from.clone())) else {
            return false;
        };
        self.deliver(message).await == MailOutcome::Accepted
    }

    /// As [`Mailer::send`], from the operator's address under another name, marked as an automatic letter (RFC 3834 §5).
    pub async fn send_as(&self, sender: Sender, letter: Letter) -> MailOutcome {
        let address = self.from.email.clone();
        let id = format!("<{}@{}>", sender.id, address.domain());
        let automatic = HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".into(),
        );
        let mut header = MessageBuilder::new()
            .from(Mailbox::new(Some(sender.name), address))
            .message_id(Some(id))
            .raw_header(automatic);
        if let Some(reply_to) = sender.reply_to.and_then(|address| address.parse().ok()) {
            header = header.reply_to(reply_to);
        }
        match message(letter, header) {
            Some(message) => self.deliver(message).await,
            None => MailOutcome::Refused,
        }
    }

    async fn deliver(&self, message: Message) -> MailOutcome {
        let Ok(sent) = tokio::time::timeout(SENT_WITHIN, self.transport.send(message)).await else {
            tracing::warn!("the mail server did not take a letter in time");
            return MailOutcome::NotNow;
        };
        let Err(error) = sent else {
            return MailOutcome::Accepted;
        };
        let status = error.status().map(|code| code.to_string());
        let is_refused = is_of_address(status.as_deref(), &error.to_string());
        tracing::warn!(
            status,
            timeout = error.is_timeout(),
            tls = error.is_tls(),
            "the mail server did not take a letter"
        );
        match is_refused {
            true => MailOutcome::Refused,
            false => MailOutcome::NotNow,
        }
    }
}

/// A letter with its header; `None` if its address is invalid.
fn message(letter: Letter, header: MessageBuilder) -> Option<Message> {
    let to = letter.to.parse::<lettre::Address>().ok()?;
    header
        .to(Mailbox::new(None, to))
        .subject(letter.subject)
        // Without it, readers may ignore the encoding (RFC 2045 §4).
        .header(MIME_VERSION_1_0)
        .header(ContentType::TEXT_PLAIN)
        .body(letter.text)
        .ok()
}

/// Whether a refusal is permanent and about the recipient's address (RFC 5321 §4.2.3; enhanced code 5.1.x of RFC 3463
/// §3.2), or the server takes no address like it (RFC 6531). Others, such as a blocked sender or wrong credentials, can be
/// fixed by the operator.
fn is_of_address(status: Option<&str>, text: &str) -> bool {
    if text.contains("does not support SMTPUTF8") {
        return true;
    }
    let is_enhanced = |word: &&str| word.starts_with("5.") && word.matches('.').count() == 2;
    match text.split_whitespace().find(is_enhanced) {
        // 5.1.7 and 5.1.8 are about the sender.
        Some(code) => code.starts_with("5.1.") && !code.starts_with("5.1.7") && !code.starts_with("5.1.8"),
        None => matches!(status, Some("550" | "551" | "553")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unknown_address_is_refused_for_good() {
        for (status, text, expected) in [
            (Some("550"), "permanent error (550): no such user", true),
            (Some("550"), "permanent error (550): 5.1.1 no such user", true),
            (Some("553"), "permanent error (553): 5.1.3 bad address", true),
            (Some("550"), "permanent error (550): 5.7.1 blocked", false),
            (
                Some("553"),
                "permanent error (553): 5.1.8 Sender address rejected",
                false,
            ),
            (Some("552"), "permanent error (552): mailbox full", false),
            (Some("451"), "transient error (451): later", false),
            (None, "network error", false),
            (
                None,
                "internal client error: Envelope contains non-ascii chars but server does not support SMTPUTF8",
                true,
            ),
            (
                None,
                "internal client error: No compatible authentication mechanism was found",
                false,
            ),
            (
                None,
                "internal client error: STARTTLS is not supported on this server",
                false,
            ),
        ] {
            assert_eq!(is_of_address(status, text), expected, "{text}");
        }
    }
}
