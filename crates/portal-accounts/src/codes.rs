//! The second factor: codes of an authenticator app (TOTP, RFC 6238: SHA-1, six digits, 30 seconds, one step
//! to either side) and recovery codes. The store's conditional update ensures that a code counts only once.

use jiff::Timestamp;
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};
use rand::random;
use service::App;
use service::problem::Problem;
use store::{Error, Tx, staff};
use totp_rs::{Builder, Secret};
use uuid::Uuid;
use zeroize::Zeroizing;

const SECRET_BYTES: usize = 20;
const RECOVERY_CODES: usize = 10;

/// A new authenticator's secret, before a first code has proved that it works.
#[derive(Clone, Debug)]
pub struct SetUp {
    /// The key in base32, as people type it.
    pub key: String,
    /// The `otpauth:` address.
    pub url: String,
}

impl SetUp {
    /// The secret of a member's set-up. The same `nonce`, a random value that the browser stores, gives the same secret,
    /// so a reload does not replace a key that was already scanned.
    pub async fn pending(app: &App, staff_id: Uuid, nonce: &[u8], email: &str) -> Result<Self, Problem> {
        let secret = staff::pending_totp(&app.db.read().await?, staff_id, nonce);
        Self::of(&*secret, email)
    }

    /// Restores the secret that a form sent back. `None` if it has another form than ours.
    pub fn from_form(key: &str, email: &str) -> Option<Self> {
        let secret = Secret::try_from_base32(key.trim()).ok()?;
        let bytes: &[u8] = secret.as_bytes();
        (bytes.len() == SECRET_BYTES)
            .then(|| Self::of(bytes, email).ok())
            .flatten()
    }

    fn of(secret: &[u8], email: &str) -> Result<Self, Problem> {
        // In an `otpauth:` address, a colon separates the parts of the label.
        let totp = Builder::new()
            .with_secret(secret.to_vec())
            .with_account_name(email.replace(':', " "))
            .with_issuer(Some("Bonafide"))
            .build()
            .map_err(Problem::internal)?;
        Ok(SetUp {
            key: totp.secret().to_base32(),
            url: totp.to_url().map_err(Problem::internal)?,
        })
    }

    /// The `otpauth:` address as a QR code: SVG, black on white.
    pub fn qr(&self) -> Result<String, Problem> {
        qr_svg(&self.url)
    }

    /// The secret and the time step of a code that proves it; `None` if the code is wrong.
    pub fn verify_code(&self, code: &str) -> Option<(Zeroizing<Vec<u8>>, i64)> {
        let secret = Secret::try_from_base32(&self.key).ok()?;
        let bytes = Zeroizing::new(secret.as_bytes().to_vec());
        let step = step_of(&bytes, code, now())?;
        Some((bytes, step))
    }
}

/// Renders text as a QR code: SVG, black on white.
pub fn qr_svg(text: &str) -> Result<String, Problem> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).map_err(Problem::internal)?;
    let svg = code.render::<svg::Color<'_>>().min_dimensions(220, 220).build();
    // The XML declaration is not allowed inside a page.
    Ok(svg
        .find("<svg")
        .map_or_else(String::new, |at| svg[at..].to_owned()))
}

fn now() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

/// The time step of a code, at most one step away from a time (s).
fn step_of(secret: &[u8], code: &str, at: u64) -> Option<i64> {
    let code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    if code.len() != 6 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let totp = Builder::new().with_secret(secret.to_vec()).build().ok()?;
    totp.check(&code, at).and_then(|step| i64::try_from(step).ok())
}

/// Uses up a member's TOTP or recovery code, and returns whether it was valid.
pub(crate) async fn use_code(tx: &mut Tx, staff_id: Uuid, code: &str) -> Result<bool, Error> {
    if let Some(secret) = staff::totp(tx, staff_id).await?
        && let Some(step) = step_of(&secret, code, now())
    {
        return staff::use_totp_step(tx, staff_id, step).await;
    }
    match recovery_form(code) {
        Some(code) => staff::use_recovery(tx, staff_id, &code).await,
        None => Ok(false),
    }
}

/// Creates recovery codes: two groups of five letters and digits (50 bits).
pub(crate) fn recovery_codes() -> Vec<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    (0..RECOVERY_CODES)
        .map(|_| {
            let bytes = random::<[u8; 10]>();
            let mut code: String = bytes
                .iter()
                .map(|byte| char::from(ALPHABET[usize::from(byte & 31)]))
                .collect();
            code.insert(5, '-');
            code
        })
        .collect()
}

/// A recovery code in its stored form, without the separators that people add or omit.
pub(crate) fn recovery_form(code: &str) -> Option<String> {
    let code: String = code
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    (code.len() == 10).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B, SHA-1, its last six digits.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = b"12345678901234567890";
        for (at, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
        ] {
            let step = i64::try_from(at / 30).unwrap();
            assert_eq!(step_of(secret, code, at), Some(step), "{at}");
            assert_eq!(step_of(secret, code, at + 30), Some(step), "one step late");
            assert_eq!(step_of(secret, code, at - 30), Some(step), "one step early");
            assert_eq!(step_of(secret, code, at + 60), None);
            assert!(at < 90 || step_of(secret, code, at - 60).is_none());
        }
        assert_eq!(step_of(secret, " 287 082 ", 59), Some(1));
        for bad in ["", "28708", "2870821", "28708a", "２８７０８２", "-87082"] {
            assert_eq!(step_of(secret, bad, 59), None, "{bad}");
        }
    }

    #[test]
    fn a_set_up_survives_its_form() {
        let set_up = SetUp::of(&random::<[u8; SECRET_BYTES]>(), "ada:x@example.com").unwrap();
        assert!(
            set_up
                .url
                .starts_with("otpauth://totp/Bonafide:ada%20x%40example.com?secret="),
            "{}",
            set_up.url
        );
        let again = SetUp::from_form(&set_up.key, "ada:x@example.com").unwrap();
        assert_eq!(again.url, set_up.url);
        assert!(set_up.qr().unwrap().starts_with("<svg"));
        for bad in ["", "AAAA", "not base32!", &"A".repeat(1000)] {
            assert!(SetUp::from_form(bad, "a@example.com").is_none(), "{bad}");
        }
        assert!(set_up.verify_code("000000x").is_none());
    }

    #[test]
    fn recovery_codes_differ_and_forgive_how_they_are_typed() {
        let codes = recovery_codes();
        let mut unique = codes.clone();
        unique.sort();
        unique.dedup();
        assert_eq!((codes.len(), unique.len()), (10, 10));
        let typed = format!(" {} ", codes[0].to_uppercase().replace('-', " "));
        assert_eq!(recovery_form(&typed), recovery_form(&codes[0]));
        assert_eq!(recovery_form("123456"), None);
    }
}
