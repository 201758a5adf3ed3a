//! The languages of the hosted page and of emails to applicants, from `data/languages.tsv`. Their texts are elsewhere.

use std::sync::LazyLock;

static TABLE: &str = include_str!("../data/languages.tsv");

/// A language of texts for applicants.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its code (BCP 47), such as `de` or `zh-Hans`.
    pub code: &'static str,
    /// Its English name.
    pub english_name: &'static str,
    /// Its own name.
    pub own_name: &'static str,
    /// Whether it is written from right to left.
    pub is_rtl: bool,
    /// Whether a fluent reader has reviewed its texts. If not, they are machine-translated.
    pub is_reviewed: bool,
    /// What stands between two alternatives, between more, and before the last of more, as CLDR has it.
    pub alternatives: [&'static str; 3],
    /// A time of day, as wide as they get.
    pub longest_time: &'static str,
    /// A date with its time, as wide as they get.
    pub longest_date: &'static str,
    /// Further tags of browsers for this language.
    tags: Vec<&'static str>,
}

impl Language {
    /// `rtl` or `ltr`, as HTML writes it.
    pub fn dir(&self) -> &'static str {
        if self.is_rtl { "rtl" } else { "ltr" }
    }

    /// Joins items as alternatives, such as `a, b, or c`.
    pub fn either(&self, items: &[String]) -> String {
        let [pair, comma, last] = self.alternatives;
        match items {
            [first, second] => format!("{first}{pair}{second}"),
            [rest @ .., end] if !rest.is_empty() => format!("{}{last}{end}", rest.join(comma)),
            _ => items.concat(),
        }
    }
}

/// Every language, in the order in which they are offered.
pub fn languages() -> &'static [Language] {
    static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(parse).collect()
    });
    &LANGUAGES
}

fn parse(line: &'static str) -> Option<Language> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    Some(Language {
        code: next()?,
        english_name: next()?,
        own_name: next()?,
        is_rtl: next()? == "rtl",
        is_reviewed: next()? == "reviewed",
        tags: next()?.split(',').filter(|tag| *tag != "-").collect(),
        alternatives: [next()?, next()?, next()?],
        longest_time: next()?,
        longest_date: next()?,
    })
}

/// The language with this code; case does not matter.
pub fn language(code: &str) -> Option<&'static Language> {
    languages().iter().find(|one| one.code.eq_ignore_ascii_case(code))
}

/// The language for a browser's tag, such as `de-AT`, `pt_BR` or `zh-TW`: the one with the longest code or tag that
/// the tag equals or begins with.
pub fn language_of_tag(tag: &str) -> Option<&'static Language> {
    let tag = tag.trim().replace('_', "-").to_ascii_lowercase();
    let fits = |known: &str| {
        let rest = tag.strip_prefix(&known.to_ascii_lowercase())?;
        (rest.is_empty() || rest.starts_with('-')).then_some(known.len())
    };
    let length = |one: &Language| {
        let known = std::iter::once(one.code).chain(one.tags.iter().copied());
        known.filter_map(fits).max()
    };
    let found = languages().iter().filter_map(|one| Some((length(one)?, one)));
    found.max_by_key(|(length, _)| *length).map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_a_language() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(languages().len(), lines);
        let codes: BTreeSet<_> = languages().iter().map(|one| one.code).collect();
        assert_eq!(codes.len(), lines, "a code stands once");
        // Regulation 1/58: the official languages of the European Union.
        for code in "bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt-PT ro sk sl sv".split(' ') {
            assert!(codes.contains(code), "{code}");
        }
        let rtl: Vec<_> = languages()
            .iter()
            .filter(|one| one.is_rtl)
            .map(|one| one.code)
            .collect();
        assert_eq!(rtl, ["ar", "fa"]);
        for one in languages() {
            let texts = [one.english_name, one.own_name, one.longest_time, one.longest_date];
            assert!(texts.iter().all(|text| !text.trim().is_empty()), "{one:?}");
            assert!(
                one.alternatives.iter().all(|text| !text.trim().is_empty()),
                "{one:?}"
            );
        }
    }

    #[test]
    fn a_browsers_tag_has_a_language() {
        for (tag, code) in [
            ("de", Some("de")),
            ("DE-at", Some("de")),
            ("pt", Some("pt")),
            ("pt-BR", Some("pt")),
            ("pt_PT", Some("pt-PT")),
            ("pt-AO", Some("pt-PT")),
            ("zh", Some("zh-Hans")),
            ("zh-CN", Some("zh-Hans")),
            ("zh-SG", Some("zh-Hans")),
            ("zh-TW", Some("zh-Hant")),
            ("zh-Hant-HK", Some("zh-Hant")),
            ("zh-HK", Some("zh-Hant")),
            ("fil", None),
            ("den", None),
            ("xx", None),
            ("../de", None),
            ("", None),
        ] {
            assert_eq!(language_of_tag(tag).map(|one| one.code), code, "{tag}");
        }
        assert_eq!(language("ZH-hant").map(|one| one.code), Some("zh-Hant"));
        assert_eq!(language("zh"), None);
    }

    #[test]
    fn alternatives_are_joined_as_the_language_does() {
        let items = ["A", "B", "C"].map(str::to_owned);
        for (code, two, three) in [
            ("en", "A or B", "A, B, or C"),
            ("de", "A oder B", "A, B oder C"),
            ("ar", "A أو B", "A أو B أو C"),
            ("zh-Hans", "A或B", "A、B或C"),
        ] {
            let language = language(code).unwrap();
            assert_eq!(language.either(&items[..2]), two);
            assert_eq!(language.either(&items), three);
            assert_eq!(language.either(&items[..1]), "A");
            assert_eq!(language.either(&[]), "");
        }
    }
}
