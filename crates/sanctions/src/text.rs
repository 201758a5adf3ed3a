//! Converts names in any script to comparable lower-case ASCII words, and words to forms that sound alike.
//!
//! It drops words only beyond [`MAX_WORDS`] and never decides what a word means; see [`crate::name`].

use unicode_normalization::UnicodeNormalization;

/// Maximum length of a name in characters. The rest is ignored; names in lists are far shorter.
const MAX_CHARS: usize = 600;
/// Maximum number of words of one name; the rest is ignored.
pub(crate) const MAX_WORDS: usize = 30;

/// The script of a word, as far as it affects comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Script {
    /// An alphabet with vowels, or a syllabary, in romanised form.
    Alphabetic,
    /// Arabic or Hebrew, which omit short vowels.
    Abjad,
    /// Chinese characters, romanised as Mandarin without tones.
    Han,
    /// Korean syllables.
    Hangul,
}

/// A word of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Lower-case ASCII letters and digits, never empty.
    pub(crate) text: String,
    /// The original text of Han and Hangul words, whose romanisation hides differences; else empty.
    pub(crate) original: String,
    /// The script in which it was written.
    pub(crate) script: Script,
    /// Whether a comma precedes the word.
    pub(crate) after_comma: bool,
    /// Whether the word has no lower-case letter.
    pub(crate) upper: bool,
}

fn script_of(c: char) -> Script {
    match u32::from(c) {
        0x0590..=0x06FF | 0x0750..=0x077F | 0x08A0..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF => {
            Script::Abjad
        }
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => Script::Han,
        0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Script::Hangul,
        _ => Script::Alphabetic,
    }
}

/// Marks inside words that carry no meaning: apostrophes of every kind, joiners, vowel signs.
fn is_silent(c: char) -> bool {
    matches!(
        u32::from(c),
        0x27 | 0x60
            | 0xB4
            | 0x2B0..=0x2FF
            | 0x300..=0x36F
            | 0x5F3..=0x5F4
            | 0x610..=0x61A
            | 0x640
            | 0x64B..=0x65F
            | 0x670
            | 0x6D6..=0x6ED
            | 0x200B..=0x200F
            | 0x2018..=0x201B
            | 0x2032
            | 0x2060
            | 0xFEFF
            | 0xFF07
    )
}

/// Splits a name into words. It folds width and accents, romanises, splits camel case (`VladimirPutin`),
/// joins dotted letters (`A.B.C.`), and separates the Arabic article from its word.
pub(crate) fn words(name: &str) -> Vec<Word> {
    let chars: Vec<char> = name.nfkc().take(MAX_CHARS).collect();
    let mut words = Vec::new();
    let mut comma = false;
    let mut at = 0;
    while at < chars.len() && words.len() < MAX_WORDS {
        let c = chars[at];
        if is_silent(c) {
            at += 1;
        } else if c == '&' || c == '＆' {
            words.push(Word {
                text: "and".into(),
                ..word(String::new(), comma)
            });
            comma = false;
            at += 1;
        } else if c == '%' {
            words.push(word("percent".into(), comma));
            comma = false;
            at += 1;
        } else if c.is_alphanumeric() {
            let end = word_end(&chars, at);
            push_words(&chars[at..end], comma, &mut words);
            comma = false;
            at = end;
        } else {
            comma |= matches!(c, ',' | '،' | '、');
            at += 1;
        }
    }
    join_dotted(words, &chars)
}

fn word(text: String, after_comma: bool) -> Word {
    Word {
        text,
        original: String::new(),
        script: Script::Alphabetic,
        after_comma,
        upper: false,
    }
}

/// The end of the word that begins at `start`.
fn word_end(chars: &[char], start: usize) -> usize {
    let mut end = start + 1;
    while end < chars.len() {
        let (before, c) = (chars[end - 1], chars[end]);
        let next_is_lower = chars.get(end + 1).is_none_or(|n| n.is_lowercase());
        let camel = before.is_lowercase() && c.is_uppercase() && (next_is_lower || end - start > 2);
        let combining = u32::from(c) >= 0x900 && !c.is_ascii() && !c.is_whitespace() && is_mark(c);
        if !(c.is_alphanumeric() || is_silent(c) || combining)
            || camel
            || script_of(c) != script_of(before) && !is_silent(c) && !is_silent(before)
        {
            break;
        }
        end += 1;
    }
    end
}

/// Whether this is a combining vowel sign of an Indic or South-East Asian script, which
/// `char::is_alphanumeric` excludes.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn push_words(chars: &[char], comma: bool, words: &mut Vec<Word>) {
    let mut chars: Vec<char> = chars.to_vec();
    // A possessive ending carries no meaning: "Bank's" is "Bank".
    if let [_, _, _, .., '\'' | '’', 's' | 'S'] = chars[..] {
        chars.truncate(chars.len() - 2);
    }
    chars.retain(|c| !is_silent(*c));
    let Some(first) = chars.first() else { return };
    let script = script_of(*first);
    match script {
        Script::Han | Script::Hangul => {
            let text: String = if script == Script::Hangul {
                romanise_hangul(&chars)
            } else {
                romanise(&chars)
            };
            if !text.is_empty() {
                words.push(Word {
                    text,
                    original: chars.iter().collect(),
                    script,
                    after_comma: comma,
                    upper: false,
                });
            }
        }
        Script::Abjad => {
            let article = chars.len() > 4 && chars[0] == 'ا' && chars[1] == 'ل';
            if article {
                words.push(Word {
                    text: "al".into(),
                    script,
                    ..word(String::new(), comma)
                });
            }
            let rest = if article { &chars[2..] } else { &chars[..] };
            let text = romanise(rest);
            if !text.is_empty() {
                words.push(Word {
                    script,
                    ..word(text, comma && !article)
                });
            }
        }
        Script::Alphabetic => {
            let text = unleet(romanise(&chars));
            if !text.is_empty() {
                let upper = chars.iter().all(|c| !c.is_lowercase());
                words.push(Word {
                    upper,
                    ..word(text, comma)
                });
            }
        }
    }
}

fn romanise(chars: &[char]) -> String {
    let mut out = String::with_capacity(chars.len());
    for c in chars {
        let ascii = any_ascii::any_ascii_char(*c).bytes();
        out.extend(
            ascii
                .filter(u8::is_ascii_alphanumeric)
                .map(|b| char::from(b.to_ascii_lowercase())),
        );
    }
    out
}

/// Romanises Korean as names are usually written abroad: `eo` and `eu` become `o` and `u`, and common family
/// names have their customary spelling.
fn romanise_hangul(chars: &[char]) -> String {
    let (family, rest) = match chars.first() {
        Some('김') => ("kim", &chars[1..]),
        Some('이' | '리') => ("lee", &chars[1..]),
        Some('박') => ("park", &chars[1..]),
        Some('최') => ("choe", &chars[1..]),
        Some('정') => ("jung", &chars[1..]),
        Some('조') => ("cho", &chars[1..]),
        Some('강') => ("kang", &chars[1..]),
        _ => ("", chars),
    };
    format!("{family}{}", romanise(rest).replace("eo", "o").replace("eu", "u"))
}

/// Replaces digits that stand for letters inside a word of mostly letters: `Sech1n`, `Ig0r`.
fn unleet(text: String) -> String {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || digits * 3 > text.len() || !text.as_bytes()[0].is_ascii_alphabetic() {
        return text;
    }
    let bytes = text.as_bytes();
    let inside = |i: usize| bytes.get(i + 1).is_some_and(u8::is_ascii_alphabetic);
    let letter = |(i, b): (usize, &u8)| match b {
        b'0' if inside(i) => 'o',
        b'1' if inside(i) => 'i',
        b'3' if inside(i) => 'e',
        b'4' if inside(i) => 'a',
        b'5' if inside(i) => 's',
        b'9' if inside(i) => 'g',
        b => char::from(*b),
    };
    bytes.iter().enumerate().map(letter).collect()
}

/// Joins runs of single letters written with dots and without spaces: `A.B.C.` becomes one word. `J.-C.` and
/// `A. B.` remain two.
fn join_dotted(words: Vec<Word>, chars: &[char]) -> Vec<Word> {
    let dotted = chars
        .windows(3)
        .any(|w| w[0].is_alphabetic() && w[1] == '.' && w[2].is_alphabetic());
    if !dotted {
        return words;
    }
    let text: String = chars.iter().filter(|c| !is_silent(**c)).collect();
    let mut out: Vec<Word> = Vec::with_capacity(words.len());
    let mut joined = false; // the last word of `out` is a run of dotted letters
    for word in words {
        let single = word.text.len() == 1 && word.script == Script::Alphabetic;
        if single && joined {
            let last = out.len() - 1;
            let run: Vec<String> = out[last].text.chars().map(String::from).collect();
            let written = format!("{}.{}", run.join("."), word.text);
            if text.to_lowercase().contains(&written) {
                out[last].text.push_str(&word.text);
                continue;
            }
        }
        joined = single;
        out.push(word);
    }
    out
}

/// Converts a word to its approximate sound across common romanisations (English, French, German, Slavic,
/// Arabic, Pinyin and Wade-Giles). `S` means every sh-like sound.
pub(crate) fn sound(text: &str) -> String {
    sound_in(text, Script::Alphabetic)
}

/// The [`sound`] of a word in a script. In Arabic and Hebrew, `hs` is two consonants without their vowel.
pub(crate) fn sound_in(text: &str, script: Script) -> String {
    const RULES: &[(&[u8], &[u8])] = &[
        (b"tsch", b"S"),
        (b"dzh", b"j"),
        (b"shch", b"S"),
        (b"sch", b"S"),
        (b"tch", b"S"),
        (b"sh", b"S"),
        (b"ch", b"S"),
        (b"cz", b"S"),
        (b"sz", b"S"),
        (b"hs", b"S"),
        (b"zh", b"j"),
        (b"dj", b"j"),
        (b"kh", b"h"),
        (b"ph", b"f"),
        (b"th", b"t"),
        (b"gh", b"g"),
        (b"dh", b"d"),
        (b"ck", b"k"),
        (b"qu", b"k"),
        (b"tz", b"s"),
        (b"ts", b"s"),
        (b"ks", b"x"),
        (b"ou", b"u"),
        (b"oo", b"u"),
        (b"ee", b"i"),
        (b"ie", b"i"),
        (b"ei", b"i"),
        (b"ae", b"e"),
        (b"oe", b"o"),
        (b"ue", b"u"),
        (b"iy", b"i"),
        (b"yy", b"i"),
        (b"ij", b"i"),
        (b"q", b"k"),
        (b"w", b"v"),
        (b"y", b"i"),
        (b"z", b"s"),
    ];
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (len, sound): (usize, &[u8]) = match RULES.iter().find(|(from, _)| {
            from[0] == rest[0] && rest.starts_with(from) && !(script == Script::Abjad && *from == b"hs")
        }) {
            Some((from, to)) => (from.len(), to),
            None if rest[0] == b'c' && matches!(rest.get(1), Some(b'e' | b'i' | b'y')) => (1, b"s"),
            None if rest[0] == b'c' => (1, b"k"),
            None if rest[0] == b'x' && at == 0 => (1, b"S"),
            None => (1, &rest[..1]),
        };
        if out.last() != sound.first() {
            out.extend_from_slice(sound);
        }
        at += len;
    }
    out.into_iter().map(char::from).collect()
}

/// The consonants of a [`sound`], in classes that romanisations and misspellings confuse. A word without
/// consonants keeps its sound after `=`, so that two such words do not seem equal.
pub(crate) fn skeleton(sound: &str) -> String {
    let mut out = String::with_capacity(sound.len());
    for (i, b) in sound.bytes().enumerate() {
        let class = match b {
            b'a' | b'e' | b'i' | b'o' | b'u' | b'h' | b'v' | b'y' if i > 0 || sound.len() > 1 => continue,
            b'k' | b'g' => 'k',
            b's' | b'S' | b'j' | b'x' => 's',
            b't' | b'd' => 't',
            b'p' | b'b' => 'p',
            b => char::from(b),
        };
        out.push(class);
    }
    if out.is_empty() { format!("={sound}") } else { out }
}

/// Further skeletons of a word with a `j`, which may be a vowel ("Jurij", "Yuriy") or, after an `i`, a consonant
/// ("Hijazi").
pub(crate) fn other_skeletons(text: &str, script: Script, known: &str) -> impl Iterator<Item = String> {
    let has_j = script == Script::Alphabetic && text.contains('j');
    let respelled = has_j.then(|| [text.replace('j', "y"), text.replace("ij", "idj")]);
    let skeletons = respelled.into_iter().flatten();
    let skeletons = skeletons.map(move |text| skeleton(&sound_in(&text, script)));
    skeletons.filter(move |other| other != known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str) -> Vec<String> {
        words(name).into_iter().map(|w| w.text).collect()
    }

    #[test]
    fn splits_and_folds() {
        for (name, expect) in [
            ("Nicolás MADURO", "nicolas maduro"),
            ("VladimirPutin", "vladimir putin"),
            ("A.B.C. Company", "abc company"),
            ("L.X.C Aviation", "lxc aviation"),
            ("J.-C. Juncker", "j c juncker"),
            ("'Abd al-Aziz", "abd al aziz"),
            ("Al-Qa’ida", "al qaida"),
            ("Deutsche Bank's AG", "deutsche bank ag"),
            ("Standard & Poor", "standard and poor"),
            ("9%ers", "9 percent ers"),
            ("Ig0r Sech1n", "igor sechin"),
            ("Brigade 44", "brigade 44"),
            ("Владимир Путин", "vladimir putin"),
            ("习近平", "xijinping"),
            ("Ｆｕｌｌ Ｗｉｄｔｈ", "full width"),
            ("", ""),
            ("--- ''' ...", ""),
        ] {
            assert_eq!(texts(name).join(" "), expect, "{name}");
        }
    }

    #[test]
    fn sounds_alike() {
        for (a, b) in [
            ("qaddafi", "kaddafi"),
            ("wladimir", "vladimir"),
            ("bachar", "bashar"),
            ("xi", "shi"),
            ("yousuf", "iusuf"),
            ("zelensky", "selenski"),
        ] {
            assert_eq!(sound(a), sound(b), "{a} {b}");
        }
        assert_eq!(skeleton(&sound("mohammed")), skeleton(&sound("muhamad")));
        assert_ne!(skeleton(&sound("ali")), skeleton(&sound("io")));
        assert_ne!(skeleton(&sound("ia")), skeleton(&sound("oa")));
    }

    proptest::proptest! {
        #[test]
        fn any_text_becomes_ascii_words(name in "\\PC{0,80}") {
            for word in words(&name) {
                proptest::prop_assert!(!word.text.is_empty());
                proptest::prop_assert!(word.text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
                proptest::prop_assert!(!skeleton(&sound(&word.text)).is_empty());
            }
        }
    }
}
