//! The portal's texts from `web/portal/locales/LANGUAGE/*.json`, with one folder per language and one file
//! per area. English replaces texts that a language lacks. The module itself contains no text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use service::placeholders::fill;

use super::assets;
use super::file_cache::FileCache;

const FALLBACK: &str = "en";

/// The texts of one language.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The language code, such as `en`.
    pub language: String,
    texts: Arc<BTreeMap<String, String>>,
}

impl Texts {
    /// The requested language if the portal has it, else the first of the browser's languages that it has,
    /// else English.
    pub fn choose(asked: Option<&str>, accepted: Option<&str>) -> Texts {
        let known = languages();
        let primary = |tag: &str| {
            let primary = tag.split(['-', ';', '_']).next().unwrap_or_default().trim();
            known
                .keys()
                .find(|language| language.eq_ignore_ascii_case(primary))
                .cloned()
        };
        let language = asked
            .and_then(primary)
            .or_else(|| accepted?.split(',').take(16).find_map(primary))
            .unwrap_or_else(|| FALLBACK.into());
        Texts {
            texts: known.get(&language).cloned().unwrap_or_default(),
            language,
        }
    }

    /// A text, or the key itself if there is no such text.
    pub fn get(&self, key: &str) -> String {
        self.texts.get(key).map_or(key, String::as_str).to_owned()
    }

    /// Whether there is such a text.
    pub fn has(&self, key: &str) -> bool {
        self.texts.contains_key(key)
    }

    /// A text with its `{placeholders}` filled.
    pub fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        fill(self.texts.get(key).map_or(key, String::as_str), values)
    }

    /// `rtl` for languages written from right to left.
    pub fn dir(&self) -> &'static str {
        match self.language.as_str() {
            "ar" | "fa" | "he" | "ur" => "rtl",
            _ => "ltr",
        }
    }
}

/// The texts of every language, by language code.
type Languages = Arc<BTreeMap<String, Arc<BTreeMap<String, String>>>>;

fn languages() -> Languages {
    static LOADED: FileCache<Languages> = FileCache::new(load_all);
    LOADED.get()
}

fn load_all() -> Languages {
    let codes: BTreeSet<String> = assets::names()
        .filter_map(|name| Some(name.strip_prefix("locales/")?.split_once('/')?.0.to_owned()))
        .collect();
    let loaded = codes.into_iter().map(|language| {
        let texts = Arc::new(load(&language));
        (language, texts)
    });
    Arc::new(loaded.collect())
}

fn load(language: &str) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for language in [FALLBACK, language] {
        let folder = format!("locales/{language}/");
        for name in assets::names().filter(|name| name.starts_with(&folder)) {
            let file = assets::file(&name);
            let area: BTreeMap<String, String> = file
                .and_then(|file| serde_json::from_slice(&file.data).ok())
                .unwrap_or_default();
            texts.extend(area);
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_texts_is_flat_json_and_no_key_stands_twice() {
        let mut seen: BTreeMap<(String, String), String> = BTreeMap::new();
        for name in assets::names().filter(|name| name.starts_with("locales/")) {
            let file = assets::file(&name).unwrap();
            let area: BTreeMap<String, String> =
                serde_json::from_slice(&file.data).unwrap_or_else(|error| panic!("{name}: {error}"));
            let language = name.split('/').nth(1).unwrap().to_owned();
            for (key, text) in area {
                assert!(!text.trim().is_empty(), "{name}: {key} is empty");
                let before = seen.insert((language.clone(), key.clone()), name.clone());
                assert_eq!(before, None, "{key} stands twice");
            }
        }
        assert!(!seen.is_empty());
    }

    #[test]
    fn every_hold_has_its_text() {
        let texts = load(FALLBACK);
        for hold in verification::hold::Hold::ALL {
            let key = format!("review.hold.{}", hold.as_str());
            assert!(texts.contains_key(&key), "{key}");
        }
    }

    #[test]
    fn english_stands_in() {
        assert_eq!(Texts::choose(Some("xx"), Some("yy, en-GB;q=0.5")).language, "en");
        assert_eq!(Texts::choose(None, None).get("no.such.key"), "no.such.key");
    }
}
