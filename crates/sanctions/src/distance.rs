//! Similarity of two words: a weighted edit distance within a budget that grows with their length.
//!
//! Costs are whole tenths of an edit, so scores are the same on every machine.

use std::sync::LazyLock;

use crate::syllables;
use crate::text::{self, Script};
use crate::word_forms::{Spelling, WordForms};

/// The cost, in tenths, of a final s: a plural, a genitive, or the ending of names in Latvian and Greek.
const FINAL_S: u16 = 4;
/// The cost, in tenths, of two neighbours in the wrong order if all else is equal: the most frequent typing error.
const EXCHANGE: u16 = 6;

/// Words are compared by their first 48 bytes.
pub(crate) const MAX_LEN: usize = 48;

/// The budget in tenths of an edit for two words whose shorter one has `len` letters: about log₂.₃₅(len − 2).
pub(crate) fn budget(len: usize) -> u16 {
    const TENTHS: [u16; 14] = [0, 0, 0, 4, 8, 12, 16, 18, 21, 23, 24, 26, 27, 28];
    TENTHS[len.min(TENTHS.len() - 1)]
}

fn is_vowel(b: u8) -> bool {
    matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// The cost of replacing one letter by another, in tenths.
fn substitution(a: u8, b: u8) -> u16 {
    if a == b {
        return 0;
    }
    match (a.min(b), a.max(b)) {
        (b'i' | b'j', b'y') | (b'i', b'j') => 2,
        (b'c', b'k') | (b'k', b'q') | (b'v', b'w') => 2,
        (b's', b'z') | (b'S', b's') | (b'g', b'q') => 3,
        (b'e', b'i') | (b'o', b'u') | (b'a', b'e') => 4,
        (b'f', b'v') | (b'u', b'w') | (b'u', b'v') | (b'o', b'w') => 5,
        (b'd', b't')
        | (b'b', b'p')
        | (b'g', b'k')
        | (b'S', b'j')
        | (b'h', b'k')
        | (b'g', b'j')
        | (b'j', b's') => 6,
        (b'm', b'n') | (b'g', b'h') | (b'l', b'r') => 8,
        (x, y) if is_vowel(x) && is_vowel(y) => 5,
        (x, y) if x.is_ascii_digit() || y.is_ascii_digit() => 15,
        _ => 10,
    }
}

/// The cost of a letter that the other word lacks, in tenths. A doubled letter is cheap.
fn insertion(b: u8, before: Option<u8>) -> u16 {
    match b {
        _ if before == Some(b) => 3,
        b'a' | b'e' | b'i' | b'o' | b'u' | b'y' | b'h' | b'w' => 6,
        b'0'..=b'9' => 15,
        _ => 10,
    }
}

/// [`substitution`] for every pair of ASCII characters.
static SUBSTITUTIONS: LazyLock<Vec<[u8; 128]>> = LazyLock::new(|| {
    (0..128)
        .map(|a| std::array::from_fn(|b| substitution(a, b as u8) as u8))
        .collect()
});

/// A cost beyond every limit.
const TOO_MUCH: u16 = u16::MAX / 2;

/// The cheapest insertion into one of these words: only a doubled letter costs less than six tenths.
fn least_insertion(a: &[u8], b: &[u8]) -> u16 {
    let has_double = |word: &[u8]| word.windows(2).any(|pair| pair[0] == pair[1]);
    if has_double(a) || has_double(b) { 3 } else { 6 }
}

/// Optimal string alignment distance of two ASCII words in tenths, or `None` when it exceeds `limit`.
pub(crate) fn edit_cost(a: &[u8], b: &[u8], limit: u16) -> Option<u16> {
    let (a, b) = (&a[..a.len().min(MAX_LEN)], &b[..b.len().min(MAX_LEN)]);
    if a == b {
        return Some(0);
    }
    // A path that leaves the diagonal must come back to the end of both words, so it stays within a band.
    let insertions = usize::from(limit / least_insertion(a, b));
    let further = insertions.checked_sub(a.len().abs_diff(b.len()))? / 2;
    let (before, after) = (
        a.len().saturating_sub(b.len()) + further,
        b.len().saturating_sub(a.len()) + further,
    );
    let substitutions = &**SUBSTITUTIONS;
    let mut rows = [[TOO_MUCH; MAX_LEN + 1]; 3];
    let (mut letters, mut insert_b) = ([0_u8; MAX_LEN], [0_u16; MAX_LEN]);
    rows[0][0] = 0;
    for (j, letter) in b.iter().enumerate() {
        letters[j] = *letter & 127;
        insert_b[j] = insertion(*letter, j.checked_sub(1).map(|k| b[k]));
        if j < after {
            rows[0][j + 1] = rows[0][j] + insert_b[j];
        }
    }
    let mut best_before = 0;
    let [mut two_up, mut up, mut row] = rows.each_mut();
    std::mem::swap(&mut two_up, &mut up);
    for i in 0..a.len() {
        let before_a = i.checked_sub(1).map(|k| a[k]);
        let drop_a = insertion(a[i], before_a);
        let letter = a[i] & 127;
        let costs = &substitutions[usize::from(letter)];
        let (first, last) = ((i + 1).saturating_sub(before), (i + 1 + after).min(b.len()));
        let mut left = if first == 0 { up[0] + drop_a } else { TOO_MUCH };
        // What an earlier row left in this place counts no more.
        row[first.saturating_sub(1)] = left;
        let mut best = left;
        for j in first.max(1)..=last {
            let mut cost = (up[j - 1] + u16::from(costs[usize::from(letters[j - 1])]))
                .min(up[j] + drop_a)
                .min(left + insert_b[j - 1]);
            if j > 1
                && letters[j - 2] == letter
                && before_a.is_some_and(|before| before & 127 == letters[j - 1])
            {
                cost = cost.min(two_up[j - 2] + 8);
            }
            row[j] = cost;
            left = cost;
            best = best.min(cost);
        }
        // Every path to the end passes through this row or, by a transposition, through the previous one.
        if best.min(best_before) > limit {
            return None;
        }
        best_before = best;
        (two_up, up, row) = (up, row, two_up);
    }
    Some(up[b.len()]).filter(|cost| *cost <= limit)
}

fn is_east_asian(script: Script) -> bool {
    matches!(script, Script::Han | Script::Hangul)
}

/// Similarity of two words, 0–1; 0 if their distance exceeds the budget.
pub(crate) fn similarity(a: &WordForms<'_>, b: &WordForms<'_>) -> f32 {
    if a.text == b.text {
        return 1.0;
    }
    if a.script == Script::Abjad || b.script == Script::Abjad {
        return abjad_similarity(a, b);
    }
    if is_east_asian(a.script) || is_east_asian(b.script) {
        return syllables::similarity(a, b);
    }
    let longer = a.text.len().max(b.text.len());
    spelling_cost(&a.spelling(), &b.spelling()).map_or(0.0, |c| {
        (1.0 - f32::from(c) * 0.16 / longer.clamp(4, 12) as f32).max(0.0)
    })
}

/// The cost, in tenths, of the differences of two words in an alphabet, which are not equal; `None` if they are different
/// words.
fn spelling_cost(a: &Spelling<'_>, b: &Spelling<'_>) -> Option<u16> {
    let limit = budget(a.text.len().min(b.text.len()));
    if a.signature.least_cost(&b.signature) > limit {
        return None;
    }
    match sound_cost(a, b, limit) {
        _ if exchanges_neighbours(a.text, b.text) => Some(EXCHANGE),
        _ if has_other_s(a.text, b.text) => Some(FINAL_S),
        Some(cost) => Some(edit_cost(a.text, b.text, cost).unwrap_or(cost)),
        // A typing error may change the sound completely. Then the rest of the letters must be equal.
        None if one_slip(a.text, b.text) => edit_cost(a.text, b.text, limit),
        None => None,
    }
}

/// Whether two different words in an alphabet have a [`similarity`] above 0, if their signatures allow it.
pub(crate) fn may_be_one_word(a: &Spelling<'_>, b: &Spelling<'_>) -> bool {
    let limit = budget(a.text.len().min(b.text.len()));
    sound_cost(a, b, limit).is_some()
        || exchanges_neighbours(a.text, b.text)
        || has_other_s(a.text, b.text)
        || one_slip(a.text, b.text) && edit_cost(a.text, b.text, limit).is_some()
}

/// The cost, in tenths, of different sounds within a limit.
fn sound_cost(a: &Spelling<'_>, b: &Spelling<'_>, limit: u16) -> Option<u16> {
    match limit {
        _ if a.sound == b.sound => Some(2),
        0..=2 => None,
        _ => edit_cost(a.sound, b.sound, limit - 2).map(|c| c + 2),
    }
}

/// Whether two words of at least five letters differ in a final s only.
fn has_other_s(a: &[u8], b: &[u8]) -> bool {
    a.len().min(b.len()) >= 5 && (is_s_form(a, b) || is_s_form(b, a))
}

fn is_s_form(form: &[u8], word: &[u8]) -> bool {
    form.strip_suffix(b"s") == Some(word)
}

/// Whether two words of at least three letters differ only in the order of two neighbours.
fn exchanges_neighbours(a: &[u8], b: &[u8]) -> bool {
    let Some(at) = a.iter().zip(b).position(|(x, y)| x != y) else {
        return false;
    };
    a.len() == b.len()
        && a.len() >= 3
        && at + 1 < a.len()
        && (a[at], a[at + 1]) == (b[at + 1], b[at])
        && a[at + 2..] == b[at + 2..]
}

/// Whether two words of at least three letters differ by one letter that is replaced, missing or added.
pub(crate) fn differs_in_one_letter(a: &[u8], b: &[u8]) -> bool {
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[start..], &b[start..]);
    let end = rest_a
        .iter()
        .rev()
        .zip(rest_b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    a.len().min(b.len()) >= 3 && rest_a.len().max(rest_b.len()) - end == 1
}

/// Whether two words differ in only one place, by at most three letters.
fn one_slip(a: &[u8], b: &[u8]) -> bool {
    let same_start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same_start..], &b[same_start..]);
    let same_end = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    a.len().max(b.len()) - same_end <= 3
}

/// The highest [`pronunciation_cost`] of similar words whose shorter one has so many consonants.
pub(crate) fn abjad_limit(consonants: usize) -> u16 {
    [0, 0, 4, 6, 10][consonants.min(4)]
}

/// Similarity if a word is Arabic or Hebrew, which omit short vowels. Two such words compare by spelling.
/// Against another alphabet, consonants count, and long vowels, which are romanised as `y`, `w` and `a`.
fn abjad_similarity(a: &WordForms<'_>, b: &WordForms<'_>) -> f32 {
    if a.script == b.script {
        let limit = budget(a.text.len().min(b.text.len()) + 1);
        let cost = edit_cost(a.text.as_bytes(), b.text.as_bytes(), limit);
        return cost.map_or(0.0, |c| 1.0 - f32::from(c) * 0.025);
    }
    let consonants = text::skeleton(a.sound).len().min(text::skeleton(b.sound).len());
    let limit = abjad_limit(consonants);
    let (written, spoken) = if a.script == Script::Abjad { (a, b) } else { (b, a) };
    match pronunciation_cost(written.sound.as_bytes(), spoken.sound.as_bytes()) {
        cost if cost > limit => 0.0,
        _ if consonants < 2 => 0.78,
        // Few consonants fit many words.
        cost if consonants == 2 => 0.86 - f32::from(cost) * 0.03,
        cost => 0.92 - f32::from(cost) * 0.03,
    }
}

/// The cost, in tenths, of reading a word written without short vowels as a word written with them.
pub(crate) fn pronunciation_cost(written: &[u8], spoken: &[u8]) -> u16 {
    let (written, spoken) = (
        &written[..written.len().min(MAX_LEN)],
        &spoken[..spoken.len().min(MAX_LEN)],
    );
    let unwritten = |b: u8| match b {
        b'a' | b'e' | b'i' | b'o' | b'u' => 0,
        b'h' | b'v' => 4,
        _ => 10,
    };
    let unspoken = |b: u8| match b {
        b'a' | b'i' | b'u' | b'v' => 4,
        b'h' => 5,
        _ => 10,
    };
    let read_as = |w: u8, s: u8| match (w, s) {
        _ if w == s => 0,
        (b'v', b'u' | b'o') | (b'i', b'j') | (b'j', b'i') => 0,
        // Arabic has no letters for p and v.
        (b'b', b'p') | (b'f', b'v') | (b'i', b'e') => 1,
        // One letter of Hebrew is both p and f.
        (b'f', b'p') => 2,
        (b'a', b'e') | (b'v', b'a') => 2,
        _ => substitution(w, s),
    };
    let mut row = [0u16; MAX_LEN + 1];
    for (j, s) in spoken.iter().enumerate() {
        row[j + 1] = row[j] + unwritten(*s);
    }
    for w in written {
        let mut diagonal = row[0];
        row[0] += unspoken(*w);
        for (j, s) in spoken.iter().enumerate() {
            let cost = (diagonal + read_as(*w, *s))
                .min(row[j + 1] + unspoken(*w))
                .min(row[j] + unwritten(*s));
            diagonal = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[spoken.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_forms::Signature;

    fn alike(a: &str, b: &str) -> f32 {
        let side = |text: &str| (text.to_owned(), text::sound(text));
        let (a, b) = (side(a), side(b));
        similarity(
            &WordForms {
                text: &a.0,
                sound: &a.1,
                script: Script::Alphabetic,
                signature: Signature::of(&a.1),
            },
            &WordForms {
                text: &b.0,
                sound: &b.1,
                script: Script::Alphabetic,
                signature: Signature::of(&b.1),
            },
        )
    }

    #[test]
    fn typing_and_spelling_errors_are_near() {
        for (a, b) in [
            ("sergi", "sergei"),
            ("lukashnko", "lukashenko"),
            ("luakshenko", "lukashenko"),
            ("qaddafi", "gaddafi"),
            ("osama", "usama"),
            ("xi", "shi"),
            ("selenskyj", "zelenskyy"),
            ("mohammed", "muhamad"),
        ] {
            assert!(alike(a, b) > 0.6, "{a} {b} {}", alike(a, b));
        }
    }

    #[test]
    fn other_words_are_far() {
        for (a, b) in [
            ("puffin", "puccini"),
            ("snow", "snoe"),
            ("olga", "oleg"),
            ("bwi", "bae"),
            ("pol", "pot"),
        ] {
            assert!(alike(a, b) == 0.0, "{a} {b}");
        }
    }

    #[test]
    fn arabic_reads_as_its_romanisations() {
        let read = |written: &str, spoken: &str| {
            let w = &crate::text::words(written)[0];
            let (ws, ss) = (text::sound(&w.text), text::sound(spoken));
            similarity(
                &WordForms {
                    text: &w.text,
                    sound: &ws,
                    script: w.script,
                    signature: Signature::of(&ws),
                },
                &WordForms {
                    text: spoken,
                    sound: &ss,
                    script: Script::Alphabetic,
                    signature: Signature::of(&ss),
                },
            )
        };
        for (written, spoken) in [
            ("محمد", "mohammed"),
            ("محمد", "muhamad"),
            ("علي", "ali"),
            ("يوسف", "yusuf"),
            ("يوسف", "youssef"),
            ("خالد", "khaled"),
            ("شريف", "sherif"),
            ("بيريز", "perez"),
        ] {
            assert!(
                read(written, spoken) >= 0.75,
                "{written} {spoken} {}",
                read(written, spoken)
            );
        }
        for (written, spoken) in [
            ("محمد", "mahdi"),
            ("علي", "leo"),
            ("خالد", "halim"),
            ("يوسف", "asif"),
            ("سعيد", "david"),
        ] {
            assert!(
                read(written, spoken) == 0.0,
                "{written} {spoken} {}",
                read(written, spoken)
            );
        }
    }

    /// The optimal string alignment distance without any limit.
    fn whole_cost(a: &[u8], b: &[u8]) -> u16 {
        let insert =
            |word: &[u8], at: usize| insertion(word[at], at.checked_sub(1).map(|before| word[before]));
        let mut costs = vec![vec![0_u16; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                let mut ways = Vec::new();
                if i > 0 {
                    ways.push(costs[i - 1][j] + insert(a, i - 1));
                }
                if j > 0 {
                    ways.push(costs[i][j - 1] + insert(b, j - 1));
                }
                if i > 0 && j > 0 {
                    ways.push(costs[i - 1][j - 1] + substitution(a[i - 1], b[j - 1]));
                }
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    ways.push(costs[i - 2][j - 2] + 8);
                }
                costs[i][j] = ways.into_iter().min().unwrap_or(0);
            }
        }
        costs[a.len()][b.len()]
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]
        #[test]
        fn a_limit_changes_no_cost(a in "[aeiouyhwkgstdpbmnlrfvj]{0,9}", b in "[aeiouyhwkgstdpbmnlrfvj]{0,9}", limit in 0..40_u16) {
            let (x, y) = (a.as_bytes(), b.as_bytes());
            let expected = Some(whole_cost(x, y)).filter(|cost| *cost <= limit);
            proptest::prop_assert_eq!(edit_cost(x, y, limit), expected, "{} {}", a, b);
        }

        #[test]
        fn a_signature_bounds_the_cost_of_sounds(a in "[aeiouyhkgstdpbmnlrfv]{0,8}", b in "[aeiouyhkgstdpbmnlrfvj]{0,8}", c in "[aeiouhkSstpmnlrfvj1]{0,3}") {
            // Similar words, too.
            let b = if b.len() % 2 == 0 { b } else { format!("{}{c}{}", &a[..a.len() / 2], &a[a.len() / 2..]) };
            let (x, y) = (text::sound(&a), text::sound(&b));
            let (cost, with_j) = (whole_cost(x.as_bytes(), y.as_bytes()), x.contains('j') || y.contains('j'));
            let (own, other) = (Signature::of(&x), Signature::of(&y));
            let has_double = |word: &str| word.as_bytes().windows(2).any(|pair| pair[0] == pair[1]);
            if !has_double(&x) && !has_double(&y) {
                proptest::prop_assert!(own.least_edit_cost(&other, with_j) <= cost, "{} {}", x, y);
            }
        }

        #[test]
        fn similarity_is_symmetric_and_bounded(a in "[a-z]{1,12}", b in "[a-z]{1,12}") {
            let s = alike(&a, &b);
            proptest::prop_assert!((0.0..=1.0).contains(&s));
            proptest::prop_assert_eq!(s.to_bits(), alike(&b, &a).to_bits());
        }
    }
}
