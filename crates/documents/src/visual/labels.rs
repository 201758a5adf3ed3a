//! Finds the labels that documents print at their fields, in the languages of `labels.tsv`.
//!
//! A field with an unknown label is not read here, but the machine-readable zone may contain it. This module never
//! decides which text is a label's value.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::text::{Word, edit_distance, words};

/// A field of the visual zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Label {
    /// Family name.
    Surname,
    /// The second of two family names, where each has its own field.
    SecondSurname,
    /// Given names.
    GivenNames,
    /// A word that labels the family name on some documents and the given names or the whole name on others: `Name`,
    /// `Nom`, `Nome`.
    Name,
    /// Family name and given names in one field.
    WholeName,
    /// Date of birth.
    Birth,
    /// Date of expiry.
    Expiry,
    /// Date of issue.
    Issue,
    /// Number of the document.
    Number,
    /// A word such as *ID No*, which labels the number of an identity card, and on other documents the holder's personal
    /// number.
    IdNumber,
    /// Nationality.
    Nationality,
    /// Sex.
    Sex,
    /// Issuing state's code.
    IssuerCode,
    /// Any other label or title: it ends the previous value and has no value here.
    Other,
}

impl Label {
    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "surname" => Self::Surname,
            "second surname" => Self::SecondSurname,
            "given names" => Self::GivenNames,
            "name" => Self::Name,
            "whole name" => Self::WholeName,
            "birth" => Self::Birth,
            "expiry" => Self::Expiry,
            "issue" => Self::Issue,
            "number" => Self::Number,
            "id number" => Self::IdNumber,
            "nationality" => Self::Nationality,
            "sex" => Self::Sex,
            "issuer" => Self::IssuerCode,
            "other" => Self::Other,
            _ => return None,
        })
    }

    /// Whether its value is a person's name.
    pub(super) fn is_name(self) -> bool {
        matches!(
            self,
            Self::Surname | Self::SecondSurname | Self::GivenNames | Self::Name | Self::WholeName
        )
    }

    /// Whether its value is a date.
    pub(super) fn is_date(self) -> bool {
        matches!(self, Self::Birth | Self::Expiry | Self::Issue)
    }
}

/// Columns: label, language (ISO 639), phrases in their usual spelling. Sources: specimens in PRADO (the EU's public
/// register of identity documents), ICAO 9303-3 §3, Directive 2006/126/EC annex I, AAMVA DL/ID Card Design Standard.
const TABLE: &str = include_str!("labels.tsv");

/// A label's phrase.
struct Phrase {
    label: Label,
    /// Of the languages that have the phrase with this meaning, in the table's order.
    languages: Vec<&'static str>,
    folded: String,
    key: String,
    letters: u32,
}

/// The phrases, by the length of their keys.
static PHRASES: LazyLock<Vec<Vec<Phrase>>> = LazyLock::new(|| {
    let mut by_length: Vec<Vec<Phrase>> = Vec::new();
    let mut labels: HashMap<String, (usize, usize)> = HashMap::new();
    for (label, language, phrase) in rows() {
        let words = words(phrase);
        let folded: String = words.iter().map(|w| w.folded.as_str()).collect();
        let key: String = words.iter().map(|w| w.key.as_str()).collect();
        if let Some(&(length, at)) = labels.get(&folded) {
            // A phrase that means several fields has no value.
            let other: &mut Phrase = &mut by_length[length][at];
            if other.label != label {
                other.label = Label::Other;
            }
            other.languages.push(language);
            continue;
        }
        let length = key.len();
        if by_length.len() <= length {
            by_length.resize_with(length + 1, Vec::new);
        }
        labels.insert(folded.clone(), (length, by_length[length].len()));
        by_length[length].push(Phrase {
            label,
            languages: vec![language],
            letters: letters(&key),
            folded,
            key,
        });
    }
    by_length
});

fn rows() -> impl Iterator<Item = (Label, &'static str, &'static str)> {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut columns = line.splitn(3, '\t');
            let label = Label::by_name(columns.next()?)?;
            Some((label, columns.next()?, columns.next()?))
        })
        .flat_map(|(label, language, phrases)| {
            phrases.split(", ").map(move |phrase| (label, language, phrase))
        })
}

/// The letters of a key, as bits.
fn letters(key: &str) -> u32 {
    key.bytes()
        .filter(u8::is_ascii_uppercase)
        .fold(0, |bits, b| bits | 1 << (b - b'A'))
}

/// A label in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelMatch {
    /// The label.
    pub(super) label: Label,
    /// The languages that have the phrase (ISO 639).
    pub(super) languages: &'static [&'static str],
    /// The words that it covers.
    pub(super) words: Range<usize>,
    /// Edits between the printed phrase and the label's.
    pub(super) edits: usize,
    /// Letters of the phrase.
    pub(super) length: usize,
}

/// The most words of a phrase, with a few that recognition divided.
const MAX_WORDS: usize = 9;
/// Shorter words are a label only next to another one or to a slash, because many are also names.
const CERTAIN_LENGTH: usize = 4;
/// Words of fewer letters must be printed exactly.
const EXACT_LENGTH: usize = 5;
/// Words of fewer letters with a misread letter are a label only next to another one or to a slash: `VARGAS` is a
/// family name, and `Vardas` a label.
const TOLERANT_LENGTH: usize = 8;
/// Short labels that are often printed alone.
const ALONE: &[&str] = &[
    "NOM", "SEX", "DOB", "EXP", "ISS", "LN", "FN", "DL", "DLN", "DD", "LIC", "HGT", "WGT",
];

/// Finds all labels in the words of a text, in order and without overlaps.
pub(super) fn labels_in(text: &str, words: &[Word]) -> Vec<LabelMatch> {
    let mut found: Vec<LabelMatch> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match best_at(words, at) {
            Some(label) => {
                at = label.words.end;
                found.push(label);
            }
            None => at += 1,
        }
    }
    let has_slash = text.contains(['/', '|', '／']);
    let is_certain = |label: &LabelMatch| {
        let short =
            label.length < CERTAIN_LENGTH && !ALONE.contains(&words[label.words.start].folded.as_str());
        let misread = label.edits > 0 && label.length < TOLERANT_LENGTH && label.words.len() == 1;
        !short && !misread
    };
    if !has_slash && !found.iter().any(is_certain) {
        found.clear();
    }
    // Inside a text, a short word is a label only after a sign or another label.
    let starts: Vec<usize> = found.iter().map(|label| label.words.end).collect();
    found.retain(|label| {
        let start = label.words.start;
        let is_first = words[..start]
            .iter()
            .all(|w| w.folded.bytes().all(|b| b.is_ascii_digit()) || w.folded.len() <= 2);
        label.length > CERTAIN_LENGTH || is_first || !words[start].follows_blank || starts.contains(&start)
    });
    found
}

/// The label at a word: the one that covers most letters, less those that differ.
fn best_at(words: &[Word], start: usize) -> Option<LabelMatch> {
    let mut best: Option<(usize, LabelMatch)> = None;
    let (mut key, mut folded) = (String::new(), String::new());
    for (end, word) in words.iter().enumerate().skip(start).take(MAX_WORDS) {
        key.push_str(&word.key);
        folded.push_str(&word.folded);
        let Some((phrase, edits)) = nearest(&key, &folded) else {
            continue;
        };
        let score = key.len().saturating_sub(3 * edits);
        if best.as_ref().is_none_or(|(most, _)| score > *most) {
            let found = LabelMatch {
                label: phrase.label,
                languages: &phrase.languages,
                words: start..end + 1,
                edits,
                length: phrase.folded.chars().count(),
            };
            best = Some((score, found));
        }
    }
    best.map(|(_, label)| label)
}

/// The phrase nearest to a text; `None` if two of different labels are equally near.
fn nearest(key: &str, folded: &str) -> Option<(&'static Phrase, usize)> {
    let phrases: &'static [Vec<Phrase>] = &PHRASES;
    let exact = phrases.get(key.len()).and_then(|same| {
        same.iter()
            .find(|p| p.key == key && (p.key.len() >= EXACT_LENGTH || p.folded == folded))
    });
    if let Some(phrase) = exact {
        return Some((phrase, 0));
    }
    // A slash after a short label is often read as a letter: `Sexl Sexo`.
    if let Some(short) = folded.strip_suffix(['L', 'I', '1'])
        && (3..=EXACT_LENGTH).contains(&short.len())
        && let Some(phrase) = phrases.iter().flatten().find(|p| p.folded == short)
    {
        return Some((phrase, 1));
    }
    let most = match key.len() {
        0..=5 => return None,
        6..=9 => 1,
        10..=15 => 2,
        _ => 3,
    };
    let bits = letters(key);
    let mut best: Option<(&'static Phrase, usize)> = None;
    let mut is_ambiguous = false;
    for phrase in phrases
        .iter()
        .take(key.len() + most + 1)
        .skip(key.len().saturating_sub(most))
        .flatten()
        .filter(|p| p.key.len() > EXACT_LENGTH && (p.letters ^ bits).count_ones() as usize <= 2 * most)
        .filter(|p| p.key.len() >= TOLERANT_LENGTH || p.key.as_bytes()[0] == key.as_bytes()[0])
    {
        let Some(edits) = edit_distance(&phrase.key, key, most) else {
            continue;
        };
        match best {
            Some((_, least)) if edits > least => {}
            Some((other, least)) if edits == least => is_ambiguous |= other.label != phrase.label,
            _ => {
                best = Some((phrase, edits));
                is_ambiguous = false;
            }
        }
    }
    best.filter(|_| !is_ambiguous)
}

/// Whether a text is one label or more, perhaps badly read, and not a value.
pub(super) fn is_like_label(text: &str) -> bool {
    label_share(text) >= 0.5
}

/// Whether a text is labels and hardly anything else, so that no value is on the same line.
pub(crate) fn is_only_labels(text: &str) -> bool {
    label_share(text) >= 0.8
}

/// The share of a text's letters that belong to labels and titles.
fn label_share(text: &str) -> f32 {
    let words = words(text);
    let letters = |words: &[Word]| words.iter().map(|w| w.folded.len()).sum::<usize>();
    let covered: usize = labels_in(text, &words)
        .iter()
        .map(|label| letters(&words[label.words.clone()]))
        .sum();
    let vocabulary = words
        .iter()
        .filter(|w| VOCABULARY.contains(&w.folded.as_str()))
        .map(|w| w.folded.len())
        .sum::<usize>();
    covered.max(vocabulary) as f32 / letters(&words).max(1) as f32
}

/// Words of labels and titles that are no names in any language of `labels.tsv`.
const VOCABULARY: &[&str] = &[
    "ADDRESS",
    "AUTHORITY",
    "AUTORITE",
    "BIRTH",
    "CARD",
    "CARTE",
    "CODE",
    "COUNTRY",
    "DATA",
    "DATE",
    "DATUM",
    "DELIVRANCE",
    "DEPARTMENT",
    "DOCUMENT",
    "EXPIRATION",
    "EXPIRY",
    "FECHA",
    "GIVEN",
    "HOLDER",
    "HOLDERS",
    "IDENTITY",
    "ISSUE",
    "LICENCE",
    "LICENSE",
    "LIEU",
    "MINISTERE",
    "MINISTERIO",
    "MINISTRY",
    "NACIMIENTO",
    "NAISSANCE",
    "NAMES",
    "NASCIMENTO",
    "NASCITA",
    "NATIONALITE",
    "NATIONALITY",
    "NUMBER",
    "NUMERO",
    "OFFICE",
    "PASSEPORT",
    "PASSPORT",
    "PASAPORTE",
    "PERMIT",
    "PLACE",
    "POLICE",
    "PRENOM",
    "PRENOMS",
    "REPUBLIC",
    "REPUBLIK",
    "REPUBLIKA",
    "REPUBLIQUE",
    "REPUBLICA",
    "REPUBBLICA",
    "SEXE",
    "SIGNATURE",
    "STATE",
    "SURNAME",
    "TITULAIRE",
    "UNION",
    "EUROPEAN",
    "KINGDOM",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<(Label, String)> {
        let words = words(text);
        labels_in(text, &words)
            .iter()
            .map(|found| {
                let printed: Vec<&str> = words[found.words.clone()]
                    .iter()
                    .map(|w| w.folded.as_str())
                    .collect();
                (found.label, printed.join(" "))
            })
            .collect()
    }

    #[test]
    fn the_table_has_only_phrases_that_can_be_found() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(columns.len(), 3, "{line}");
            assert!(Label::by_name(columns[0]).is_some(), "{line}");
        }
        for (label, _, phrase) in rows() {
            let words = words(phrase);
            let folded: String = words.iter().map(|w| w.folded.as_str()).collect();
            assert!(folded.len() >= 3 || ALONE.contains(&folded.as_str()), "{phrase}");
            // Some phrases are the same word in two languages, with two meanings.
            let nearest = nearest(&words.iter().map(|w| w.key.as_str()).collect::<String>(), &folded);
            assert!(
                nearest.is_some_and(|(p, edits)| edits == 0 && (p.label == label || p.label == Label::Other)),
                "{phrase}"
            );
        }
    }

    #[test]
    fn labels_are_found_as_documents_print_them() {
        use Label::*;
        let rows: &[(&str, &[(Label, &str)])] = &[
            (
                "Surname / Nom / Apellidos",
                &[(Surname, "SURNAME"), (Name, "NOM"), (Surname, "APELLIDOS")],
            ),
            (
                "Date of birth / Date de naissance",
                &[(Birth, "DATE OF BIRTH"), (Birth, "DATE DE NAISSANCE")],
            ),
            // Misread, joined and divided words.
            (
                "Date of Bith/ Fecha de nacimíento",
                &[(Birth, "DATE OF BITH"), (Birth, "FECHA DE NACIMIENTO")],
            ),
            ("Sumame", &[(Surname, "SUMAME")]),
            (
                "DateofbirthDatedenaissance",
                &[(Birth, "DATEOFBIRTH"), (Birth, "DATEDENAISSANCE")],
            ),
            ("Sex/SexeM", &[(Sex, "SEX"), (Sex, "SEXE")]),
            ("Place af birt", &[(Other, "PLACE AF BIRT")]),
            ("Given names", &[(GivenNames, "GIVEN NAMES")]),
            ("(1) Name / Surname", &[(Name, "NAME"), (Surname, "SURNAME")]),
            ("NOM", &[(Name, "NOM")]),
            ("3 DOB 01/02/1990", &[(Birth, "DOB")]),
            (
                "Фамилия / Surname",
                &[(Surname, "FAMILIYA"), (Surname, "SURNAME")],
            ),
            (
                "Dzimums/Sex/Sexe",
                &[(Sex, "DZIMUMS"), (Sex, "SEX"), (Sex, "SEXE")],
            ),
            ("生年月日", &[(Birth, "生 年 月 日")]),
            // Names that resemble labels.
            ("VARGAS", &[]),
            ("Kön/Sea", &[(Sex, "KON")]),
            ("Sexl Sexo", &[(Sex, "SEXL"), (Sex, "SEXO")]),
            ("NEML", &[]),
            ("ADI", &[]),
            ("KON", &[]),
            ("ANDRESA", &[]),
            ("MARTIN", &[]),
            ("BENDER", &[]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            let expected: Vec<(Label, String)> = expected
                .iter()
                .map(|(label, printed)| (*label, (*printed).to_owned()))
                .collect();
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn labels_are_told_from_values() {
        for text in [
            "Givn names / Prénoms",
            "Place of birth",
            "MINISTRY OF INTERIOR OFFICE",
        ] {
            assert!(is_like_label(text), "{text}");
        }
        for text in ["ANNA MARIA", "VARGAS", "VON DER LEYEN", "L898902C3"] {
            assert!(!is_like_label(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}") {
            let words = words(&text);
            for label in labels_in(&text, &words) {
                prop_assert!(label.words.end <= words.len());
            }
            let _ = is_like_label(&text);
        }
    }
}
