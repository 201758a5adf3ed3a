//! The texts of letters to applicants, in the languages of the hosted page. A letter names the merchant and contains its
//! link and nothing about the applicant.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use store::applicant_letters::LetterKind;

use crate::placeholders::fill;

macro_rules! languages {
    ($($code:literal)*) => {
        /// The languages, by their codes.
        pub const LANGUAGES: [&str; [$($code),*].len()] = [$($code),*];

        const FILES: [(&str, &str); LANGUAGES.len()] =
            [$(($code, include_str!(concat!("../letters/", $code, ".json")))),*];
    };
}

languages! {
    "ar" "bg" "bn" "cs" "da" "de" "el" "en" "es" "et" "fa" "fi"
    "fr" "ga" "hi" "hr" "hu" "id" "it" "ja" "ko" "lt" "lv" "mt"
    "nl" "pl" "pt" "pt-PT" "ro" "sk" "sl" "sv" "tr" "uk" "vi" "zh-Hans"
    "zh-Hant"
}

type Texts = BTreeMap<String, String>;

static TEXTS: LazyLock<BTreeMap<&'static str, Texts>> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the files are part of the program; a test reads all of them"
    )]
    let parse = |(language, json)| (language, serde_json::from_str(json).expect("texts of letters"));
    FILES.into_iter().map(parse).collect()
});

/// What a letter is filled with.
pub(crate) struct Filling<'a> {
    /// The merchant's name.
    pub(crate) merchant: &'a str,
    /// The link.
    pub(crate) link: &'a str,
    /// Until when the link works (ms).
    pub(crate) until: i64,
}

/// The subject and the text of a letter. An unknown language has the English texts.
pub(crate) fn letter(kind: LetterKind, language: &str, filling: &Filling<'_>) -> (String, String) {
    let text = |key: &str| {
        let of = |language: &str| TEXTS.get(language).and_then(|texts| texts.get(key));
        of(language).or_else(|| of("en")).map_or("", String::as_str)
    };
    let until = date(text("date"), text("months"), filling.until);
    let values = [
        ("merchant", filling.merchant),
        ("link", filling.link),
        ("until", &until),
    ];
    let part = |part: &str| fill(text(&format!("{}.{part}", kind.as_str())), &values);
    (part("subject"), part("text"))
}

/// A time in UTC by a language's pattern and names of months.
fn date(pattern: &str, months: &str, at: i64) -> String {
    let at = Timestamp::from_millisecond(at)
        .unwrap_or_default()
        .to_zoned(TimeZone::UTC);
    let month = usize::try_from(at.month() - 1)
        .ok()
        .and_then(|index| months.split(',').nth(index));
    let values = [
        ("day", &*at.day().to_string()),
        ("month", month.unwrap_or_default()),
        ("year", &*at.year().to_string()),
        ("time", &*at.strftime("%H:%M").to_string()),
    ];
    fill(pattern, &values)
}

/// A merchant's name without what could change how a letter is read: marks of direction (UAX #9) and the beginning of
/// addresses.
pub(crate) fn plain_name(name: &str) -> String {
    let is_mark =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = |c: &char| !c.is_control() && !is_mark(*c);
    name.chars().filter(kept).collect::<String>().replace("://", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [LetterKind; 3] = [LetterKind::Invitation, LetterKind::Reminder, LetterKind::Renewal];

    #[test]
    fn a_name_is_plain() {
        for (name, plain) in [
            ("Acme Bank", "Acme Bank"),
            ("https://evil.example", "https evil.example"),
            ("A\u{202e}B\nC", "ABC"),
            ("شركة", "شركة"),
        ] {
            assert_eq!(plain_name(name), plain);
        }
    }

    #[test]
    fn every_language_has_every_text() {
        let mut known: Vec<_> = reference::languages::languages()
            .iter()
            .map(|language| language.code)
            .collect();
        known.sort_unstable();
        assert_eq!(LANGUAGES.to_vec(), known);
        let filling = Filling {
            merchant: "{link}",
            link: "https://verify.example.com/verify?invitation=x",
            until: 1_764_547_200_000,
        };
        let dates = [
            ("ar", "1 ديسمبر 2025"),
            ("de", "1. Dezember 2025"),
            ("en", "1 December 2025"),
            ("es", "1 de diciembre de 2025"),
            ("fr", "1 décembre 2025"),
            ("pt", "1 de dezembro de 2025"),
        ];
        for (language, until) in dates {
            let texts = &TEXTS[language];
            assert_eq!(texts.len(), 2 + 2 * KINDS.len(), "{language}");
            assert_eq!(texts["months"].split(',').count(), 12, "{language}");
            for kind in KINDS {
                for part in ["subject", "text"] {
                    assert!(
                        texts.contains_key(&format!("{}.{part}", kind.as_str())),
                        "{language} {kind:?}"
                    );
                }
                let (subject, text) = letter(kind, language, &filling);
                // The merchant's name is not read as a placeholder.
                assert!(subject.contains("{link}") && !subject.contains('\n'), "{subject}");
                assert_eq!(text.matches(filling.link).count(), 1, "{text}");
                assert!(text.contains("{link}") && !text.contains("{until}"), "{text}");
                assert!(text.contains(until) && text.contains("00:00"), "{text}");
            }
        }
        assert_eq!(letter(KINDS[0], "xx", &filling), letter(KINDS[0], "en", &filling));
    }
}
