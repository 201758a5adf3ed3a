//! Reads dates of birth that authorities write as text: `19 Mar 1978`, `circa 1978`, `24/08/1962`, `1960 to 1962`.
//!
//! A text that can be read in two ways is read in none: only lists that write the day first may call [`day_first`].

use crate::entity::PartialDate;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const ABOUT: [&str; 7] = [
    "circa ",
    "approximately ",
    "approx. ",
    "around ",
    "about ",
    "c. ",
    "c.",
];

/// A date in OFAC's forms: `19 Mar 1978`, `Mar 1978`, `1978`, `circa 1978`, `1960 to 1962`, `01 Jan 1960 to 31 Dec 1962`.
/// Also `1978-03-19`, `March 19, 1978`, `1960-1962` and `between 1960 and 1962`.
pub(super) fn read_date(text: &str) -> Option<PartialDate> {
    let text = text.trim().to_lowercase();
    let (between, text) = text
        .strip_prefix("between ")
        .map_or((false, text.as_str()), |rest| (true, rest));
    let pair = text
        .split_once(" to ")
        .or(text.split_once(" and ").filter(|_| between));
    if let Some((from, to)) = pair {
        return PartialDate::span(single(from)?.first_year, single(to)?.last_year);
    }
    single(text)
}

/// A date like [`read_date`]'s, or `24/08/1962` or `08/1962`.
pub(super) fn day_first(text: &str) -> Option<PartialDate> {
    let text = text.trim();
    let parts: Vec<&str> = text.split(['/', '.']).map(str::trim).collect();
    let small = |part: &str| part.parse::<u8>().ok();
    match parts[..] {
        [day, month, year] if year.len() == 4 => {
            PartialDate::new(year.parse().ok()?, small(month)?, small(day)?)
        }
        [month, year] if year.len() == 4 && month.len() <= 2 => {
            PartialDate::new(year.parse().ok()?, small(month)?, 0)
        }
        _ => read_date(text),
    }
}

/// All dates of a text with several, such as `a) 5 Feb. 1970 b) 1971; about 1972`, and whether each part of it was read.
pub(super) fn all(text: &str, read: impl Fn(&str) -> Option<PartialDate>) -> (Vec<PartialDate>, bool) {
    let mut dates = Vec::new();
    let mut is_complete = true;
    for part in text.split([';', '\n']).flat_map(without_letters) {
        let part = part.trim().trim_end_matches(',').trim();
        if part.is_empty() {
            continue;
        }
        if let Some(date) = read(part) {
            dates.push(date);
            continue;
        }
        // Several dates with a comma or a word between them. What is in brackets explains one.
        for piece in part
            .split(" and ")
            .flat_map(|part| part.split(" or "))
            .flat_map(|part| part.split(','))
        {
            let plain = piece.split('(').next().unwrap_or_default().trim();
            let date = read(plain);
            is_complete &= (date.is_some() && !piece.contains('(')) || piece.trim().is_empty();
            dates.extend(date);
        }
    }
    (dates, is_complete)
}

/// The parts between `a)`, `b)` and so on.
fn without_letters(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, bytes) = (0, text.as_bytes());
    for at in 0..bytes.len() {
        let is_letter = bytes[at].is_ascii_lowercase() && bytes.get(at + 1) == Some(&b')');
        if is_letter && (at == 0 || bytes[at - 1].is_ascii_whitespace()) {
            parts.push(&text[from..at]);
            from = at + 2;
        }
    }
    parts.push(&text[from..]);
    parts
}

fn single(text: &str) -> Option<PartialDate> {
    let text = text.trim().to_lowercase();
    let (is_about, text) = ABOUT
        .iter()
        .find_map(|word| text.strip_prefix(word))
        .map_or((false, text.as_str()), |rest| (true, rest.trim()));
    let date = written(text)?;
    if is_about {
        PartialDate::span(date.first_year.checked_sub(2)?, date.last_year.checked_add(2)?)
    } else {
        Some(date)
    }
}

fn written(text: &str) -> Option<PartialDate> {
    // The parser of a date alone ignores what follows a space.
    if let (false, Ok(date)) = (text.contains(' '), text.parse()) {
        return Some(date);
    }
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '-' | '–'))
        .filter(|word| !word.is_empty())
        .collect();
    let year = |word: &str| word.parse::<u16>().ok().filter(|_| word.len() == 4);
    let day = |word: &str| word.parse::<u8>().ok();
    match words[..] {
        [only] => PartialDate::new(year(only)?, 0, 0),
        [from, to] if year(from).is_some() => PartialDate::span(year(from)?, year(to)?),
        [m, y] => PartialDate::new(year(y)?, month(m)?, 0),
        [d, m, y] if day(d).is_some() => PartialDate::new(year(y)?, month(m)?, day(d)?),
        [m, d, y] => PartialDate::new(year(y)?, month(m)?, day(d)?),
        _ => None,
    }
}

/// The number of a month's name or of its abbreviation.
fn month(word: &str) -> Option<u8> {
    let word = word.trim_end_matches('.');
    let start = word.get(..3)?;
    let at = MONTHS.iter().position(|name| *name == start)?;
    word.bytes()
        .all(|b| b.is_ascii_alphabetic())
        .then_some(at as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_date() {
        for (text, date) in [
            ("19 Mar 1978", "1978-03-19"),
            ("Mar 1978", "1978-03"),
            ("1978", "1978"),
            ("circa 1978", "1976/1980"),
            ("c. 1978", "1976/1980"),
            ("Approximately 1978", "1976/1980"),
            ("circa 1960-1965", "1958/1967"),
            ("1960 to 1962", "1960/1962"),
            ("01 Jan 1960 to 31 Dec 1962", "1960/1962"),
            ("Between 1960 and 1962", "1960/1962"),
            ("1960-1962", "1960/1962"),
            ("1978-03-19", "1978-03-19"),
            ("March 19, 1978", "1978-03-19"),
            ("5 Feb. 1970", "1970-02-05"),
            ("23-April-1968", "1968-04-23"),
        ] {
            assert_eq!(
                read_date(text).map(|date| date.to_string()).as_deref(),
                Some(date),
                "{text}"
            );
        }
        for text in [
            "",
            "unknown",
            "24/08/1962",
            "07/04/62",
            "32 Mar 1978",
            "5 Febr1 1970",
            "19 Mar 78",
            "na",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
        assert_eq!(day_first("24/08/1962"), PartialDate::new(1962, 8, 24));
        assert_eq!(day_first("08/1962"), PartialDate::new(1962, 8, 0));
        assert_eq!(day_first("1962/1964"), PartialDate::span(1962, 1964));
        assert_eq!(day_first("07/04/62"), None, "a century is not guessed");
        assert_eq!(day_first("08/24/1962"), None, "not the day first");
    }

    #[test]
    fn several_dates() {
        for (text, dates, is_complete) in [
            (
                "a) 5 Feb. 1970 b) 1971; about 1972",
                "1970-02-05 1971 1970/1974",
                true,
            ),
            ("24/08/1962, 25/08/1962", "1962-08-24 1962-08-25", true),
            ("1962 and 1963", "1962 1963", true),
            ("3 March 1979 (from a false passport)", "1979-03-03", false),
            ("1962, unknown", "1962", false),
            ("", "", true),
        ] {
            let (found, complete) = all(text, day_first);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(
                (found.join(" ").as_str(), complete),
                (dates, is_complete),
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_answer(text in "\\PC{0,60}", dated in "[a-d0-9 ).,;/'–-]{0,30}") {
            let _ = (all(&text, day_first), all(&dated, day_first));
        }
    }
}
