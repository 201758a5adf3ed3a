//! Compares names. It allows for differences of spelling, order, division and truncation between a form and a
//! document.

use reference::icao::transliterate;

use super::values::{SourceData, SubmittedData};
use super::verdict::{Agreement, NEAR_MATCH_SCORE};

const SWAPPED: &str = "Given and family names seem to be swapped";
const CUT: &str = "A name on the document may be cut short";
const PART: &str = "Only a part of a name agrees";
const INITIAL: &str = "A name is only an initial";
const NO_MIDDLE: &str = "The document holds no middle name";
const SPELLING: &str = "A name is spelled differently";
const UNDIVIDED: &str = "The document does not divide given from family names";

/// How the submitted names agree with a source's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NameAgreement {
    pub(super) first: Agreement,
    pub(super) middle: Agreement,
    pub(super) last: Agreement,
}

/// The words of a name in MRZ transliteration, without titles and generational suffixes.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let all: Vec<String> = transliterate(name)
        .split(' ')
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect();
    let extra = |w: &String| ["JR", "SR", "II", "III", "IV", "MR", "MRS", "MS", "DR"].contains(&w.as_str());
    let kept: Vec<String> = all.iter().filter(|w| !extra(w)).cloned().collect();
    if kept.is_empty() { all } else { kept }
}

/// Compares the submitted names with a source's.
pub(super) fn compare(claimed: &SubmittedData, said: &SourceData) -> NameAgreement {
    let of = |name: &Option<String>| name_words(name.as_deref().unwrap_or_default());
    let (first, middle, last) = (
        of(&claimed.first_name),
        of(&claimed.middle_name),
        of(&claimed.last_name),
    );
    let (given, surname) = (of(&said.given_names), of(&said.surname));
    let context = NameComparer {
        truncated: said.truncated,
        certain: said.certain,
    };

    // Some zones have all names in one part, and some people have only one name.
    if given.is_empty() || surname.is_empty() {
        let all: Vec<String> = surname.iter().chain(&given).cloned().collect();
        let part = |name: &[String]| match context.match_part_of_name(name, &all) {
            Some(verdict) => Agreement {
                note: Some(UNDIVIDED),
                ..verdict
            },
            // A form may require a first name, so people with only one name submit `FNU` or `LNU`, or repeat
            // their name.
            None if all == last && (name == ["FNU"] || name == ["LNU"] || name == all) => {
                Agreement::unclear(UNDIVIDED)
            }
            None => Agreement::different(closest(name, &all)),
        };
        return NameAgreement {
            first: part(&first),
            middle: part(&middle),
            last: part(&last),
        };
    }

    let mut names = NameAgreement {
        first: context.compare_given_names(&first, &given),
        middle: context.compare_middle_names(&middle, &first, &given),
        last: context.compare_surnames(&last, &surname),
    };
    let contradicts = |v: Agreement| v.matches == Some(false);
    if contradicts(names.first) && contradicts(names.last) {
        let (first_as_last, last_as_first) = (
            context.compare_surnames(&first, &surname),
            context.compare_given_names(&last, &given),
        );
        if !contradicts(first_as_last) && !contradicts(last_as_first) {
            names.first = Agreement::same(80.0, Some(SWAPPED));
            names.last = Agreement::same(80.0, Some(SWAPPED));
        }
    } else if contradicts(names.middle) {
        // The document may print a middle name as part of the family name.
        if let Some(verdict) = context.match_part_of_name(&middle, &surname) {
            names.middle = Agreement {
                note: Some(PART),
                ..verdict
            };
        }
    }
    names
}

/// How reliable the names of a source are.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameComparer {
    pub(super) truncated: bool,
    pub(super) certain: bool,
}

impl NameComparer {
    /// Compares family names. They agree if they are equal or one is part of the other.
    pub(super) fn compare_surnames(self, claimed: &[String], read: &[String]) -> Agreement {
        self.match_whole_name(claimed, read)
            .or_else(|| self.match_part_of_name(claimed, read))
            .or_else(|| self.match_part_of_name(read, claimed))
            .unwrap_or_else(|| Agreement::different(similarity(&claimed.concat(), &read.concat())))
    }

    /// Compares given names. The document may have more of them than were submitted.
    pub(super) fn compare_given_names(self, claimed: &[String], read: &[String]) -> Agreement {
        if let Some(verdict) = self.match_whole_name(claimed, read) {
            return verdict;
        }
        // A prefix of the document's given names is a full match; a submitted name may be written as one word
        // or several.
        for count in 1..read.len() {
            if let Some(verdict) = self.match_whole_name(claimed, &read[..count]) {
                return verdict;
            }
        }
        self.match_part_of_name(claimed, read)
            .or_else(|| self.match_part_of_name(read, claimed))
            .unwrap_or_else(|| Agreement::different(closest(claimed, read)))
    }

    /// Compares middle names with the given names after the first. Without such names the result is unclear.
    fn compare_middle_names(self, claimed: &[String], first: &[String], read: &[String]) -> Agreement {
        let after_first = read.get(1..).unwrap_or_default();
        if after_first.is_empty() || read.len() <= first.len() {
            return Agreement::unclear(NO_MIDDLE);
        }
        let one_by_one = claimed.len() == 1
            && after_first
                .iter()
                .any(|w| self.match_whole_name(claimed, std::slice::from_ref(w)).is_some());
        match self.match_whole_name(claimed, after_first) {
            Some(verdict) => verdict,
            None if one_by_one => Agreement::same(90.0, Some(PART)),
            None => self.compare_given_names(claimed, read),
        }
    }

    /// Compares two names apart from blanks, spelling, initials, truncation and misreadings. Returns `None`
    /// if they differ.
    fn match_whole_name(self, claimed: &[String], read: &[String]) -> Option<Agreement> {
        if claimed.is_empty() || read.is_empty() {
            return None;
        }
        let (a, b) = (claimed.concat(), read.concat());
        if a == b {
            return Some(Agreement::same(100.0, None));
        }
        if fold_spelling(&a) == fold_spelling(&b) {
            return Some(Agreement::same(97.0, Some(SPELLING)));
        }
        let initial = |a: &str, b: &str| a.len() == 1 && b.starts_with(a);
        if initial(&a, &b) || initial(&b, &a) {
            return Some(Agreement::same(80.0, Some(INITIAL)));
        }
        if self.truncated && b.len() >= 3 && a.starts_with(&b) {
            return Some(Agreement::same(95.0, Some(CUT)));
        }
        // In a long name, the visual zone may have one or two letters misread.
        if !self.certain && similarity(&a, &b) >= 84.0 && a.len() >= 5 {
            return Some(Agreement::same(90.0, Some(SPELLING)));
        }
        None
    }

    /// Whether every word of one name is a word of the other, in any order.
    fn match_part_of_name(self, few: &[String], many: &[String]) -> Option<Agreement> {
        if few.is_empty() {
            return None;
        }
        let mut free: Vec<&String> = many.iter().collect();
        let mut worst = 100.0_f64;
        for word in few {
            let at = free.iter().position(|w| {
                self.match_whole_name(std::slice::from_ref(word), std::slice::from_ref(*w))
                    .is_some()
            })?;
            let verdict =
                self.match_whole_name(std::slice::from_ref(word), std::slice::from_ref(free.remove(at)))?;
            worst = worst.min(verdict.score);
        }
        // If only initials agree, that is too little evidence.
        if few.iter().all(|w| w.len() == 1) && many.len() > few.len() {
            return None;
        }
        Some(Agreement::same(
            worst.min(85.0),
            (!free.is_empty()).then_some(PART),
        ))
    }
}

/// Replaces the ways to write umlauts and similar letters by one letter: ICAO's `UE`, `AA`, `SS` and the
/// older `UXX`, `NXX`.
fn fold_spelling(name: &str) -> String {
    let mut folded = name.to_owned();
    for (letters, letter) in [
        ("NXX", "N"),
        ("UXX", "U"),
        ("AE", "A"),
        ("OE", "O"),
        ("UE", "U"),
        ("AA", "A"),
        ("SS", "S"),
        ("IJ", "Y"),
    ] {
        folded = folded.replace(letters, letter);
    }
    folded
}

/// The highest similarity between a name and any word, or all words, of another. It is always below the score
/// of a match.
fn closest(name: &[String], words: &[String]) -> f64 {
    let name = name.concat();
    let whole = similarity(&name, &words.concat());
    words
        .iter()
        .map(|word| similarity(&name, word))
        .fold(whole, f64::max)
}

/// The similarity of two texts, 0–99: one minus the edit distance over the longer length, as a percentage.
/// The edits are insert, delete, replace and swap of neighbours. One edit in a text of four letters or more
/// gives at least the score of a near match.
pub(super) fn similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(100).collect(), b.chars().take(100).collect());
    let longest = a.len().max(b.len());
    if longest == 0 {
        return 0.0;
    }
    let mut rows = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    let edits = rows[a.len()][b.len()];
    let share = 100.0 * (1.0 - edits as f64 / longest as f64);
    let share = if edits == 1 && longest >= 4 {
        share.max(NEAR_MATCH_SCORE)
    } else {
        share
    };
    share.min(99.0)
}
