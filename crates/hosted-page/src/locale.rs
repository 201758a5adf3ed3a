//! The languages of the hosted page: chooses the visitor's language and reads its texts from `web/locales`.
//! The module itself contains no text.

use std::collections::BTreeMap;

use service::placeholders::fill;

use super::assets;

/// The language that replaces missing texts of other languages.
const FALLBACK: &str = "en";

/// A language and its texts.
pub struct Locale {
    /// The language code, such as `de`.
    pub language: String,
    texts: BTreeMap<String, String>,
}

impl Locale {
    /// The visitor's language: the requested one, else the browser's most preferred one that exists, else
    /// English.
    pub fn choose(asked: Option<&str>, accepted: Option<&str>) -> Locale {
        let known = assets::languages();
        let language = pick(asked, accepted, &known);
        let mut texts = texts(FALLBACK);
        texts.extend(self::texts(&language));
        Locale { language, texts }
    }

    /// `rtl` for languages written from right to left.
    pub fn dir(&self) -> &'static str {
        match self.language.as_str() {
            "ar" | "fa" | "he" | "ur" => "rtl",
            _ => "ltr",
        }
    }

    /// All texts by their keys.
    pub fn texts(&self) -> &BTreeMap<String, String> {
        &self.texts
    }

    /// Joins items as alternatives like `Intl.ListFormat`: `a, b, or c`.
    pub fn either(&self, items: &[String]) -> String {
        let (word, comma) = match self.language.as_str() {
            "ar" => (" أو ", " أو "),
            "de" => (" oder ", ", "),
            "es" => (" o ", ", "),
            "fr" | "pt" => (" ou ", ", "),
            _ if items.len() > 2 => (", or ", ", "),
            _ => (" or ", ", "),
        };
        match items {
            [rest @ .., last] if !rest.is_empty() => format!("{}{word}{last}", rest.join(comma)),
            _ => items.concat(),
        }
    }

    /// A text with its `{placeholders}` filled, or the key itself if there is no such text.
    pub fn text(&self, key: &str, values: &[(&str, &str)]) -> String {
        fill(self.texts.get(key).map_or(key, String::as_str), values)
    }
}

fn texts(language: &str) -> BTreeMap<String, String> {
    let file = assets::file(&format!("locales/{language}.json"));
    file.and_then(|file| serde_json::from_slice(&file.data).ok())
        .unwrap_or_default()
}

fn pick(asked: Option<&str>, accepted: Option<&str>, known: &[String]) -> String {
    let find = |tag: &str| {
        let primary = tag
            .trim()
            .split(['-', '_'])
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        known.iter().find(|language| **language == primary).cloned()
    };
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
    asked
        .and_then(find)
        .or_else(|| wanted.iter().find_map(|(_, tag)| find(tag)))
        .unwrap_or_else(|| FALLBACK.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_visitors_language_is_chosen() {
        let known = ["ar", "de", "en"].map(str::to_owned);
        for (asked, accepted, expected) in [
            (None, None, "en"),
            (Some("de"), None, "de"),
            (Some("DE-at"), Some("ar"), "de"),
            (Some("xx"), Some("ar"), "ar"),
            (Some("../de"), None, "en"),
            (None, Some("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5"), "en"),
            (None, Some("de;q=0.3, ar;q=0.9"), "ar"),
            (None, Some("de;q=0, *"), "en"),
            (None, Some(";;;,,,q=;q=x"), "en"),
            (None, Some("pt_BR,ar_EG"), "ar"),
        ] {
            assert_eq!(pick(asked, accepted, &known), expected, "{asked:?} {accepted:?}");
        }
    }
}
