//! The score that OFAC's *Sanctions List Search* would show for a name. It searches nothing.
//!
//! OFAC states the method (its frequently asked questions 249 and 250), but not its details: the Jaro-Winkler similarity
//! of the whole names, and that of each part of the name that was entered to the parts of the listed one; the greater of
//! the two counts. The details here were found from 164 published scores of that search: the whole names' prefix counts
//! up to five characters, parts of one or two letters count only if there are no longer ones, a part that resembles
//! none with the same first letter counts nothing, and the average is rounded up. Soundex, which OFAC names too,
//! explained none of the scores. Names are compared as they are written, in capitals, "FAMILY, Given"; letters of other
//! scripts are not compared at all.

use smallvec::SmallVec;
use unicode_normalization::UnicodeNormalization as _;

use crate::entity::Entity;
use crate::subject::full_names;

/// The most characters of a name that are compared.
const MOST_CHARACTERS: usize = 200;
/// The most parts of a name that are compared.
const MOST_PARTS: usize = 30;
/// The most equal first characters that raise the similarity of whole names, and of parts.
pub(crate) const WHOLE_PREFIX: usize = 5;
const PART_PREFIX: usize = 4;
/// What each of them adds, of what is missing to 1.
const PREFIX_GAIN: f32 = 0.1;
/// Parts that are less similar are different.
const LEAST_PART: f32 = 0.75;
/// Parts that are no longer than this count only if none is longer.
const SHORT_PART: usize = 2;

/// A name as OFAC's search compares it: capitals of A–Z, digits, spaces, commas, hyphens and apostrophes.
pub(crate) fn written_form(name: &str) -> String {
    let mut form = String::new();
    let mut chars = capitals(name).peekable();
    while let Some(c) = chars.next() {
        if form.len() >= MOST_CHARACTERS {
            break;
        }
        match c {
            'A'..='Z' | '0'..='9' | ',' | '-' | '\'' => form.push(c),
            // "J.P." has two parts, "Dr." has one.
            '.' if chars.peek().is_some_and(|next| next.is_alphanumeric()) => push_space(&mut form),
            c if c.is_whitespace() || matches!(c, '/' | '(' | ')' | ':' | ';' | '&' | '+') => {
                push_space(&mut form);
            }
            c => form.push_str(without_decomposition(c)),
        }
    }
    form.truncate(form.trim_end().len());
    form
}

/// A name in capitals, letters apart from their accents, with one kind of apostrophe.
fn capitals(name: &str) -> impl Iterator<Item = char> {
    let apostrophe = |c| match c {
        '`' | '´' | '‘' | '’' | 'ʼ' | 'ʻ' | 'ʿ' | 'ʾ' => '\'',
        c => c,
    };
    name.chars().map(apostrophe).nfkd().flat_map(char::to_uppercase)
}

/// A Latin letter that is no other letter with an accent; empty: any other character.
fn without_decomposition(c: char) -> &'static str {
    match c {
        'Ł' => "L",
        'Ø' => "O",
        'Đ' | 'Ð' => "D",
        'Æ' => "AE",
        'Œ' => "OE",
        'Þ' => "TH",
        _ => "",
    }
}

/// Whether a name has letters that its written form lacks.
fn has_other_letters(name: &str) -> bool {
    capitals(name).any(|c| c.is_alphabetic() && !c.is_ascii() && without_decomposition(c).is_empty())
}

fn push_space(form: &mut String) {
    if !form.is_empty() && !form.ends_with(' ') {
        form.push(' ');
    }
}

/// "Given Family" as "Family, Given", if the name ends with a known family name; else the name itself.
fn family_first(name: &str, family_names: &[String]) -> String {
    let name = name.trim();
    let given = family_names.iter().filter_map(|family| {
        let given = name.strip_suffix(family.trim())?;
        (!family.trim().is_empty() && given.ends_with(char::is_whitespace))
            .then(|| (given.trim(), family.trim()))
    });
    match given.max_by_key(|(_, family)| family.len()) {
        Some((given, family)) if !name.contains(',') && !given.is_empty() => format!("{family}, {given}"),
        _ => name.to_owned(),
    }
}

/// The names of an entity in their written forms, weak aliases too.
pub(crate) fn written_names(entity: &Entity) -> Vec<String> {
    let names = full_names(entity);
    let names = names.iter().chain(&entity.weak_aliases);
    let forms = names.map(|name| written_form(&family_first(name, &entity.family_names)));
    let mut forms: Vec<String> = forms.filter(|form| !form.is_empty()).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// What a search knows of a written name before it reads the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// The number of characters.
    pub(crate) len: usize,
    /// The first characters; zeros after the end.
    pub(crate) start: [u8; WHOLE_PREFIX],
    /// A bit for each kind of character.
    pub(crate) used: u32,
    /// A bit for each kind of character with which a part begins.
    pub(crate) initials: u32,
}

impl Sketch {
    pub(crate) fn of(form: &str) -> Sketch {
        let bits = |bits: u32, byte: &u8| bits | 1 << kind_of_character(*byte);
        let mut start = [0; WHOLE_PREFIX];
        start
            .iter_mut()
            .zip(form.bytes())
            .for_each(|(to, byte)| *to = byte);
        let initials = parts(form).filter_map(|part| part.first().copied());
        Sketch {
            len: form.len(),
            start,
            used: form.as_bytes().iter().fold(0, bits),
            initials: initials.fold(0, |all, byte| bits(all, &byte)),
        }
    }
}

/// Which of the two techniques may reach a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promising {
    whole: bool,
    parts: bool,
}

/// The kinds of characters of a written name.
const KINDS: usize = 31;

fn kind_of_character(byte: u8) -> usize {
    match byte {
        b'A'..=b'Z' => usize::from(byte - b'A'),
        b'0'..=b'9' => 26,
        b' ' => 27,
        b',' => 28,
        b'-' => 29,
        _ => 30,
    }
}

/// The parts of a written name, without apostrophes.
fn parts(form: &str) -> impl Iterator<Item = SmallVec<[u8; 16]>> {
    form.split([' ', ',', '-'])
        .map(|part| part.bytes().filter(|byte| *byte != b'\'').collect())
        .filter(|part: &SmallVec<[u8; 16]>| !part.is_empty())
        .take(MOST_PARTS)
}

/// A name that is searched as OFAC's search would.
pub(crate) struct OfacQuery {
    form: String,
    sketch: Sketch,
    /// How often each kind of character occurs.
    counts: [u8; KINDS],
    /// The parts that count.
    parts: Vec<SmallVec<[u8; 16]>>,
}

impl OfacQuery {
    /// `None`: nothing of the name can be compared.
    pub(crate) fn new(name: &str) -> Option<OfacQuery> {
        let form = written_form(name);
        let all: Vec<SmallVec<[u8; 16]>> = parts(&form).collect();
        let is_long = |part: &&SmallVec<[u8; 16]>| part.len() > SHORT_PART;
        let long: Vec<SmallVec<[u8; 16]>> = all.iter().filter(is_long).cloned().collect();
        let parts = match long.is_empty() {
            // One Latin letter in a name of another script says nothing.
            true if has_other_letters(name) => return None,
            true => all,
            false => long,
        };
        let mut counts = [0_u8; KINDS];
        // A form has fewer characters than a byte counts.
        form.bytes().for_each(|byte| counts[kind_of_character(byte)] += 1);
        (!parts.is_empty()).then(|| OfacQuery {
            sketch: Sketch::of(&form),
            form,
            counts,
            parts,
        })
    }

    /// The written form of the name.
    pub(crate) fn form(&self) -> &str {
        &self.form
    }

    /// What may score so much with a written name; `None`: nothing. It reads no letters but the first ones: characters
    /// that only one of two names has match nothing, and a part matches only one with the same first letter.
    pub(crate) fn may_reach(&self, listed: Sketch, least: u8) -> Option<Promising> {
        let begins_alike = |part: &&SmallVec<[u8; 16]>| {
            let initial = part.first().map_or(0, |byte| 1 << kind_of_character(*byte));
            listed.initials & initial != 0
        };
        let alike = self.parts.iter().filter(begins_alike).count();
        let promising = Promising {
            parts: as_score(alike as f32, self.parts.len()) >= least,
            whole: self.best_whole(listed) * 100.0 + 0.5 + ROUNDING >= f32::from(least),
        };
        (promising.parts || promising.whole).then_some(promising)
    }

    /// An upper bound of the similarity of the whole names.
    fn best_whole(&self, listed: Sketch) -> f32 {
        let mut only_here = self.sketch.used & !listed.used;
        let mut missing = 0;
        while only_here != 0 {
            missing += usize::from(self.counts[only_here.trailing_zeros() as usize % KINDS]);
            only_here &= only_here - 1;
        }
        let only_there = (listed.used & !self.sketch.used).count_ones() as usize;
        let matching = (self.form.len() - missing).min(listed.len.saturating_sub(only_there));
        if matching == 0 {
            return 0.0;
        }
        let shares = matching as f32 / self.form.len() as f32 + matching as f32 / listed.len as f32;
        let equal = self.sketch.start.iter().zip(listed.start);
        let equal = equal.take_while(|(here, there)| **here == *there).count();
        with_prefix((shares + 1.0) / 3.0, equal)
    }

    /// The score of a listed name in its written form, 0–100.
    pub(crate) fn score(&self, listed: &str) -> u8 {
        self.score_of(
            listed,
            Promising {
                whole: true,
                parts: true,
            },
        )
    }

    /// The score of a listed name by what is promising of it.
    pub(crate) fn score_of(&self, listed: &str, promising: Promising) -> u8 {
        let whole = match promising.whole {
            true => similarity(self.form.as_bytes(), listed.as_bytes(), WHOLE_PREFIX),
            false => 0.0,
        };
        let whole = (whole * 100.0).round() as u8;
        match promising.parts {
            true => whole.max(self.score_of_parts(listed)),
            false => whole,
        }
    }

    fn score_of_parts(&self, listed: &str) -> u8 {
        let listed: SmallVec<[SmallVec<[u8; 16]>; 8]> = parts(listed).collect();
        let best_of = |part: &SmallVec<[u8; 16]>| {
            let alike = listed.iter().filter(|other| other.first() == part.first());
            let best = alike.map(|other| similarity(part, other, PART_PREFIX));
            let best = best.fold(0.0, f32::max);
            if best < LEAST_PART { 0.0 } else { best }
        };
        let sum: f32 = self.parts.iter().map(best_of).sum();
        as_score(sum, self.parts.len())
    }
}

/// Sums of floats differ in their last digits.
const ROUNDING: f32 = 0.001;

/// The average of so many parts, rounded up to whole percent.
fn as_score(sum: f32, parts: usize) -> u8 {
    (sum / parts.max(1) as f32 * 100.0 - ROUNDING)
        .ceil()
        .clamp(0.0, 100.0) as u8
}

/// The score (0–100) that OFAC's search would show for a listed name, "FAMILY, Given".
pub fn ofac_score(query: &str, listed: &str) -> u8 {
    OfacQuery::new(query).map_or(0, |query| query.score(&written_form(listed)))
}

/// A Jaro similarity, raised for equal first characters (Winkler 1990).
fn with_prefix(jaro: f32, equal: usize) -> f32 {
    jaro + equal as f32 * PREFIX_GAIN * (1.0 - jaro)
}

/// The Jaro-Winkler similarity, 0–1.
fn similarity(a: &[u8], b: &[u8], prefix: usize) -> f32 {
    let equal = a.iter().zip(b).take(prefix).take_while(|(a, b)| a == b).count();
    with_prefix(jaro(a, b), equal)
}

/// The Jaro similarity (1989), 0–1.
fn jaro(a: &[u8], b: &[u8]) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let window = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut is_used: SmallVec<[bool; 128]> = SmallVec::from_elem(false, b.len());
    let mut matched: SmallVec<[u8; 128]> = SmallVec::new();
    for (at, byte) in a.iter().enumerate() {
        let near = at.saturating_sub(window)..(at + window + 1).min(b.len());
        if let Some(found) = near
            .into_iter()
            .find(|place| !is_used[*place] && b[*place] == *byte)
        {
            is_used[found] = true;
            matched.push(*byte);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let in_order = b
        .iter()
        .zip(&is_used)
        .filter(|(_, is_used)| **is_used)
        .map(|(byte, _)| byte);
    let moved = matched.iter().zip(in_order).filter(|(a, b)| a != b).count() / 2;
    let matching = matched.len() as f32;
    (matching / a.len() as f32 + matching / b.len() as f32 + (matching - moved as f32) / matching) / 3.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Invented names; the scores follow from the rules that the module states.
    #[test]
    fn the_greater_of_whole_and_parts_counts() {
        for (query, listed, score) in [
            ("ANDERS LINDQVIST", "LINDQVIST, Anders", 100),
            // Further parts of the listed name cost nothing.
            ("Anders Lindqvist", "LINDQVIST, Anders Erik Johan", 100),
            // LINDQUIST/LINDQVIST are similar by .956: the average .978 is rounded up.
            ("Anders Lindquist", "LINDQVIST, Anders", 98),
            // "Xi" is too short to count beside a longer part; alone, it counts.
            ("Xi Lindqvist", "LINDQVIST, Anders", 100),
            ("Xi", "XI, Mingzhu", 100),
            // A part must begin with the same letter.
            ("Ossian", "USSIAN, Anders", 0),
            ("J.P. Lindqvist", "LINDQVIST, Anders", 100),
            ("O'Keefe", "OKEEFE, Anders", 100),
            ("O´Keefe", "OKEEFE, Anders", 100),
            ("Łódź Øst", "LODZ OST", 100),
            ("Андерс A.", "A, B", 0),
            ("公司 2", "GROUP 2", 0),
            ("Андерс", "Андерс", 0),
        ] {
            let found = ofac_score(query, listed);
            match score {
                0 => assert!(found < 80, "{query} {listed}: {found}"),
                _ => assert_eq!(found, score, "{query} {listed}"),
            }
        }
    }

    #[test]
    fn known_family_names_are_put_first() {
        let families = ["Lindqvist".to_owned(), "Lindqvist Ek".to_owned(), String::new()];
        for (name, form) in [
            ("Anders Lindqvist", "Lindqvist, Anders"),
            ("Anders Lindqvist Ek", "Lindqvist Ek, Anders"),
            ("LINDQVIST, Anders", "LINDQVIST, Anders"),
            ("Lindqvist", "Lindqvist"),
            ("Anders Berglindqvist", "Anders Berglindqvist"),
        ] {
            assert_eq!(family_first(name, &families), form);
        }
    }

    proptest! {
        /// The bound discards nothing that reaches the score.
        #[test]
        fn the_bound_is_never_below_the_score(
            query in "[A-F0-3 ,'-]{1,24}",
            listed in "[A-F0-3 ,'-]{1,24}",
        ) {
            let listed = written_form(&listed);
            if let Some(query) = OfacQuery::new(&query) {
                let score = query.score(&listed);
                let promising = query.may_reach(Sketch::of(&listed), score);
                prop_assert_eq!(promising.map(|promising| query.score_of(&listed, promising)), Some(score));
            }
        }

        /// Any text is read.
        #[test]
        fn any_name_is_scored(query in ".{0,300}", listed in ".{0,300}") {
            prop_assert!(ofac_score(&query, &listed) <= 100);
            prop_assert!(written_form(&query).len() <= MOST_CHARACTERS + 2);
        }
    }
}
