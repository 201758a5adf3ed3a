//! The languages of the hosted page: chooses the visitor's language and reads its texts from `web/locales`.
//! The module itself contains no text.

use std::collections::BTreeMap;

use reference::languages::{Language, language, language_of_tag, languages};
use service::placeholders::fill;

use super::assets;

/// The language that replaces missing texts of other languages.
const FALLBACK: &str = "en";

/// A language and its texts.
pub struct Locale {
    /// The language.
    pub language: &'static Language,
    texts: BTreeMap<String, String>,
}

impl Locale {
    /// The visitor's language: the requested one, else the browser's most preferred one that exists, else
    /// English.
    pub fn choose(asked: Option<&str>, accepted: Option<&str>) -> Locale {
        let language = pick(asked, accepted);
        let mut texts = texts(FALLBACK);
        texts.extend(self::texts(language.code));
        Locale { language, texts }
    }

    /// All texts by their keys.
    pub fn texts(&self) -> &BTreeMap<String, String> {
        &self.texts
    }

    /// A text with its `{placeholders}` filled, or the key itself if there is no such text. Texts that this server
    /// writes have no plurals.
    pub fn text(&self, key: &str, values: &[(&str, &str)]) -> String {
        fill(self.texts.get(key).map_or(key, String::as_str), values)
    }
}

fn texts(language: &str) -> BTreeMap<String, String> {
    let file = assets::file(&format!("locales/{language}.json"));
    file.and_then(|file| serde_json::from_slice(&file.data).ok())
        .unwrap_or_default()
}

fn pick(asked: Option<&str>, accepted: Option<&str>) -> &'static Language {
    let mut wanted: Vec<(f32, &str)> = accepted
        .unwrap_or_default()
        .split(',')
        .take(32)
        .map(|item| match item.split_once(';') {
            Some((tag, weight)) => (
                weight
                    .trim()
                    .strip_prefix("q=")
                    .and_then(|q| q.parse().ok())
                    .unwrap_or(0.0),
                tag,
            ),
            None => (1.0, item),
        })
        .filter(|(weight, _)| *weight > 0.0)
        .collect();
    wanted.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let preferred = || wanted.iter().find_map(|(_, tag)| language_of_tag(tag));
    asked
        .and_then(language_of_tag)
        .or_else(preferred)
        .or_else(|| language(FALLBACK))
        .unwrap_or(&languages()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_visitors_language_is_chosen() {
        for (asked, accepted, expected) in [
            (None, None, "en"),
            (Some("de"), None, "de"),
            (Some("DE-at"), Some("ar"), "de"),
            (Some("xx"), Some("ar"), "ar"),
            (Some("zh-TW"), Some("ar"), "zh-Hant"),
            (Some("../de"), None, "en"),
            (None, Some("rm-CH, rm;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5"), "en"),
            (None, Some("de;q=0.3, ar;q=0.9"), "ar"),
            (None, Some("de;q=0, *"), "en"),
            (None, Some(";;;,,,q=;q=x"), "en"),
            (None, Some("pt_BR,ar_EG"), "pt"),
            (None, Some("eo,pt-PT;q=0.9,pt;q=0.8"), "pt-PT"),
        ] {
            assert_eq!(pick(asked, accepted).code, expected, "{asked:?} {accepted:?}");
        }
    }

    #[test]
    fn every_language_has_its_file() {
        let english = texts(FALLBACK);
        for one in languages() {
            assert_eq!(texts(one.code).len(), english.len(), "{}", one.code);
        }
        for name in assets::locales() {
            assert!(
                language(&name).is_some(),
                "{name}.json is not in the table of languages"
            );
        }
    }

    #[test]
    fn texts_that_the_server_writes_have_no_plural() {
        let english = texts(FALLBACK);
        let written = [
            "page.", "open.", "consent.", "claim.", "end.", "doctype.", "problem.", "refused.",
        ];
        for (key, text) in english {
            let is_written = written.iter().any(|family| key.starts_with(family));
            assert!(!is_written || !text.contains(", plural,"), "{key}");
        }
    }
}
