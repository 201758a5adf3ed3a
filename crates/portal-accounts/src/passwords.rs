//! Passwords of staff: which are refused, and hashing by argon2id with OWASP's parameters (19 MiB, 2 passes,
//! 1 lane). A pool limits how many are hashed at once. No password is stored, logged or quoted.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};
use service::App;
use service::problem::Problem;
use zxcvbn::{Score, zxcvbn};

use crate::Fault;

const SHORTEST: usize = 12;
const LONGEST: usize = 200;

/// Characters that are judged. zxcvbn tries every combination of substituted letters, so its work grows fast with
/// the length; a password whose beginning is hard to guess is hard to guess.
const JUDGED: usize = 32;

/// The fault of a new password for a member with this address and name, if it has one. 503 if too many passwords
/// are being judged or hashed.
pub async fn fault(
    app: &App,
    password: &SecretString,
    email: &str,
    name: &str,
) -> Result<Option<Fault>, Problem> {
    let (password, email, name) = (password.clone(), email.to_owned(), name.to_owned());
    app.passwords
        .run(move |_| judge(password.expose_secret(), &email, &name))
        .await
}

fn judge(password: &str, email: &str, name: &str) -> Option<Fault> {
    let text = match password.chars().count() {
        ..SHORTEST => "accounts.fault.password_short",
        LONGEST.. if password.chars().count() > LONGEST => "accounts.fault.password_long",
        _ if is_obvious(password, email, name) => "accounts.fault.password_obvious",
        _ => return None,
    };
    Some(Fault::new("password", text))
}

/// Whether an attacker who knows the member's address and name would need fewer than 10^8 guesses, as zxcvbn
/// estimates them. It knows the 30,000 most common passwords, common words and names, keyboard rows, dates,
/// repetitions and sequences.
fn is_obvious(password: &str, email: &str, name: &str) -> bool {
    let password: String = password.chars().take(JUDGED).collect();
    let local = email.split('@').next().unwrap_or_default();
    let words: Vec<&str> = [email, local, name, "bonafide"]
        .into_iter()
        .chain(email.split(['@', '.', '+', '-', '_']))
        .chain(name.split_whitespace())
        .filter(|word| (3..=JUDGED).contains(&word.chars().count()))
        .take(20)
        .collect();
    if zxcvbn(&password, &words).score() < Score::Three {
        return true;
    }
    // zxcvbn rates three words in a row as safe, even if they are the member's own. The rest must be strong enough
    // without them.
    let lower = password.to_lowercase();
    let rest = words
        .iter()
        .fold(lower.clone(), |rest, word| rest.replace(&word.to_lowercase(), ""));
    rest != lower && zxcvbn(&rest, &[]).score() < Score::Two
}

/// Hashes a password with argon2id, in PHC form. 503 if too many are being hashed.
pub async fn hash(app: &App, password: &SecretString) -> Result<String, Problem> {
    let password = password.clone();
    let hashed = app.passwords.run(move |_| hashed(&password)).await?;
    hashed.map_err(Problem::internal)
}

fn hashed(password: &SecretString) -> Result<String, argon2::password_hash::Error> {
    let hash = Argon2::default().hash_password(password.expose_secret().as_bytes())?;
    Ok(hash.to_string())
}

/// Whether a password matches a hash. Without a hash it never does, but the check takes as long.
pub async fn matches(app: &App, hash: Option<String>, password: &SecretString) -> Result<bool, Problem> {
    static DUMMY: LazyLock<String> =
        LazyLock::new(|| hashed(&SecretString::from("nobody's password")).unwrap_or_default());
    let password = password.clone();
    app.passwords
        .run(move |_| {
            let known = hash.is_some();
            let hash = hash.unwrap_or_else(|| DUMMY.clone());
            let Ok(hash) = PasswordHash::new(&hash) else {
                return false;
            };
            // No member has a longer password, and hashing one would waste work.
            let given = password.expose_secret();
            let given = if given.chars().count() > LONGEST {
                ""
            } else {
                given
            };
            Argon2::default().verify_password(given.as_bytes(), &hash).is_ok() && known
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obvious_passwords_are_refused() {
        for (password, refused) in [
            ("short", Some("accounts.fault.password_short")),
            ("elevenchars", Some("accounts.fault.password_short")),
            ("correct horse battery staple", None),
            ("tr0ub4dor&3-zebra", None),
            ("Надёжный пароль", None),
            ("8264 9173 5502", None),
            ("aaaaaaaaaaaaaaaa", Some("accounts.fault.password_obvious")),
            ("abcabcabcabcabc", Some("accounts.fault.password_obvious")),
            ("lovelovelovelove", Some("accounts.fault.password_obvious")),
            ("123456789012", Some("accounts.fault.password_obvious")),
            ("987654321098", Some("accounts.fault.password_obvious")),
            ("abcdefghijklm", Some("accounts.fault.password_obvious")),
            ("Password1234!", Some("accounts.fault.password_obvious")),
            ("P@ssw0rd!2026", Some("accounts.fault.password_obvious")),
            (
                "ada.lovelace@example.com",
                Some("accounts.fault.password_obvious"),
            ),
            ("AdaLovelace2026", Some("accounts.fault.password_obvious")),
            ("lovelace-1815", Some("accounts.fault.password_obvious")),
            ("iloveyou12345", Some("accounts.fault.password_obvious")),
            ("qwertyuiop[]", Some("accounts.fault.password_obvious")),
            ("passwort1234", Some("accounts.fault.password_obvious")),
            ("1q2w3e4r5t6y", Some("accounts.fault.password_obvious")),
            ("welcomewelcome1", Some("accounts.fault.password_obvious")),
            ("bonafide-bonafide", Some("accounts.fault.password_obvious")),
        ] {
            let fault = judge(password, "ada.lovelace@example.com", "Ada Lovelace");
            assert_eq!(fault.map(|fault| fault.text), refused, "{password}");
        }
        assert_eq!(
            judge(&"abc123".repeat(20), "", "").map(|fault| fault.text),
            Some("accounts.fault.password_obvious")
        );
        let long: String = (0..201)
            .map(|n| char::from_u32(0x4e00 + n * 7).unwrap())
            .collect();
        assert_eq!(
            judge(&long, "", "").map(|fault| fault.text),
            Some("accounts.fault.password_long")
        );
        assert_eq!(judge(&long[..600], "", ""), None, "200 characters");
    }

    #[test]
    fn hashes_are_argon2id_with_owasps_parameters() {
        let hash = hashed(&SecretString::from("correct horse battery staple")).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let parsed = PasswordHash::new(&hash).unwrap();
        let verify = |password: &str| {
            Argon2::default()
                .verify_password(password.as_bytes(), &parsed)
                .is_ok()
        };
        assert!(verify("correct horse battery staple") && !verify("correct horse battery stapl"));
    }

    /// All characters that may stand for letters: zxcvbn tries every combination.
    #[test]
    fn a_hostile_password_costs_little_processor_time() {
        let hostile = "4@8({[<3691!|70$5+7%2".repeat(9);
        let own = "4@8({[<3691 ".repeat(5_000);
        for (email, name) in [("", ""), (own.as_str(), own.as_str())] {
            let _ = judge(&hostile, email, name);
        }
    }

    #[test]
    fn any_text_is_judged() {
        for text in [
            "",
            "\u{0}",
            "ﷺﷺﷺﷺﷺﷺﷺﷺﷺﷺﷺﷺ",
            "İİİİİİİİİİİİ",
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            "@@@@@@@@@@@@@",
            "            ",
        ] {
            let _ = (
                judge(text, text, text),
                judge(text, "", ""),
                judge("", text, text),
            );
        }
        assert!(judge("            ", "", "").is_some(), "blanks are no password");
    }
}
