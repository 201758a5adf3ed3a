//! Reads the sex as documents print it: `M`, `F` or `X`, a letter or word of the document's language, or both.
//!
//! ICAO 9303-4 prints the letter of the national language, an oblique and `M`, `F` or `X`. Letters differ: `M` is
//! *mujer* in Mexico and *moteris* in Lithuania, `F` is *férfi* in Hungary. A letter whose language is unknown or
//! disagrees gives no value.

use super::text::fold_text;

/// Letters of a language for male and female, by the alpha-3 codes of states that print them and by languages of the
/// label (ISO 639).
struct Letters {
    states: &'static [&'static str],
    languages: &'static [&'static str],
    male: &'static str,
    female: &'static str,
}

const LETTERS: &[Letters] = &[
    letters(&["POL", "DNK", "NOR", "SWE"], &["pl", "da", "no", "sv"], "M", "K"),
    letters(&["TUR"], &["tr"], "E", "K"),
    // *Kişi* is male in Azerbaijani, and *kadın* female in Turkish.
    letters(&["AZE"], &["az"], "K", "Q"),
    letters(&["HUN"], &["hu"], "F", "N"),
    letters(&["EST", "FIN"], &["et", "fi"], "M", "N"),
    letters(&["LVA"], &["lv"], "V", "S"),
    letters(&["LTU"], &["lt"], "V", "M"),
    letters(
        &["CZE", "SVK", "SVN", "HRV", "BIH", "SRB", "MNE"],
        &["cs", "sk", "sl", "hr", "bs"],
        "M",
        "Z",
    ),
    letters(&["NLD"], &["nl"], "M", "V"),
    letters(&["DEU", "AUT"], &["de"], "M", "W"),
    letters(&["MEX"], &[], "H", "M"),
    letters(&["ISL"], &["is"], "KK", "KVK"),
    letters(&["IRL"], &["ga"], "F", "B"),
    letters(&["MLT"], &["mt"], "R", "M"),
    letters(
        &["RUS", "BGR", "MKD", "BLR"],
        &["ru", "bg", "sr", "mk", "be"],
        "M",
        "ZH",
    ),
    letters(&["UKR"], &["uk"], "CH", "ZH"),
    letters(&["GRC", "CYP"], &["el"], "A", "TH"),
    letters(&["VNM"], &["vi"], "NAM", "NU"),
];

const fn letters(
    states: &'static [&'static str],
    languages: &'static [&'static str],
    male: &'static str,
    female: &'static str,
) -> Letters {
    Letters {
        states,
        languages,
        male,
        female,
    }
}

/// Words for male, folded. None of them means female in another language.
const MALE: &[&str] = &[
    "MALE",
    "MASCULIN",
    "MASCULINO",
    "MASCHILE",
    "MASCHIO",
    "MANNLICH",
    "MAENNLICH",
    "HOMME",
    "HOMBRE",
    "VARON",
    "ERKEK",
    "MEZCZYZNA",
    "MAN",
    "MIES",
    "MUZ",
    "MUSKI",
    "MOSKI",
    "FERFI",
    "BARBAT",
    "MUZHSKOY",
    "MUZHCHINA",
    "MUZH",
    "MASHKULL",
    "LAKI LAKI",
    "LELAKI",
    "男",
];
/// Words for female, folded.
const FEMALE: &[&str] = &[
    "FEMALE",
    "FEMININ",
    "FEMININO",
    "FEMENINO",
    "FEMMINILE",
    "FEMMINA",
    "WEIBLICH",
    "FEMME",
    "MUJER",
    "KADIN",
    "KOBIETA",
    "VROUW",
    "NAINEN",
    "ZENA",
    "ZENSKI",
    "ZENSKO",
    "FEMEIE",
    "ZHENSKIY",
    "ZHENA",
    "ZHEN",
    "FEMER",
    "PEREMPUAN",
    "女",
];

/// The document's language: its issuer (alpha-3) and the language of the label.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SexContext<'a> {
    /// Alpha-3 of the issuer.
    pub(super) issuer: Option<&'a str>,
    /// Languages of the label's phrases (ISO 639).
    pub(super) languages: &'a [&'a str],
    /// Whether the document is an identity card, whose letters need not follow ICAO 9303.
    pub(super) is_national: bool,
}

/// The sex in a text that contains nothing else: `M`, `F` or `X`.
pub(super) fn read_sex(text: &str, context: SexContext<'_>) -> Option<char> {
    if text.trim().starts_with(['男', '女']) && text.trim().chars().count() == 1 {
        return Some(if text.contains('男') { 'M' } else { 'F' });
    }
    let folded = fold_text(text);
    let parts: Vec<&str> = folded.split_whitespace().collect();
    match parts[..] {
        [whole] => one(whole, context),
        [national, common] if text.contains(['/', '|', '-', '／']) => pair(national, common, context),
        [a, b] if a == b => one(a, context),
        _ => None,
    }
}

/// One letter or word.
fn one(text: &str, context: SexContext<'_>) -> Option<char> {
    if text == "X" {
        return Some('X');
    }
    let word = |words: &[&str]| text.len() > 2 && words.contains(&text);
    if word(MALE) {
        return Some('M');
    }
    if word(FEMALE) {
        return Some('F');
    }
    let national = national(context);
    if let Some(letters) = national {
        let is_ambiguous = |letter: &str| letter == "M" || letter == "F";
        // Passports print ICAO's letter, and cards may print the national one alone.
        if text == letters.male {
            return (text == "M" || !is_ambiguous(text)).then_some('M');
        }
        if text == letters.female {
            return (text == "F" || !is_ambiguous(text)).then_some('F');
        }
        if is_ambiguous(letters.male) && letters.male == "F" && text == "F" {
            return None;
        }
    }
    match text {
        // On Spanish-American cards, `M` is male or *mujer*.
        "M" if context.issuer.is_none() && context.languages == ["es"] && context.is_national => None,
        "M" => Some('M'),
        "F" => Some('F'),
        _ => None,
    }
}

/// The national letter or word, and ICAO's.
fn pair(national_text: &str, common: &str, context: SexContext<'_>) -> Option<char> {
    let icao = |text: &str| match text {
        "M" | "MALE" => Some('M'),
        "F" | "FEMALE" => Some('F'),
        "X" => Some('X'),
        _ => None,
    };
    let by_national = |text: &str| {
        national(context).and_then(|letters| {
            if text == letters.male {
                Some('M')
            } else if text == letters.female {
                Some('F')
            } else {
                None
            }
        })
    };
    let sex = icao(common)?;
    match (by_national(national_text), icao(national_text)) {
        (Some(own), _) => (own == sex).then_some(sex),
        // `M/F` and `F/M` are a choice to make, or letters of a language that is unknown here.
        (None, Some(own)) => (own == sex).then_some(sex),
        (None, None) => {
            let known = |letters: &Letters| match sex {
                'M' => letters.male == national_text,
                'F' => letters.female == national_text,
                _ => national_text == "X",
            };
            let words = match sex {
                'M' => MALE,
                'F' => FEMALE,
                _ => &[],
            };
            (LETTERS.iter().any(known)
                || words.contains(&national_text)
                || national_text == "H" && sex == 'M')
                .then_some(sex)
        }
    }
}

/// The letters of the issuer, or of the only language that the label has beside English, French and Spanish.
fn national(context: SexContext<'_>) -> Option<&'static Letters> {
    if let Some(issuer) = context.issuer
        && let Some(letters) = LETTERS.iter().find(|l| l.states.contains(&issuer))
    {
        return Some(letters);
    }
    let mut fitting = LETTERS.iter().filter(|l| {
        l.languages
            .iter()
            .any(|language| context.languages.contains(language))
    });
    let letters = fitting.next()?;
    (context.issuer.is_none() && fitting.next().is_none()).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_belong_to_their_language() {
        let state = |issuer| SexContext {
            issuer: Some(issuer),
            ..SexContext::default()
        };
        let label = |languages| SexContext {
            languages,
            is_national: true,
            ..SexContext::default()
        };
        let rows: &[(&str, SexContext<'_>, Option<char>)] = &[
            ("M", SexContext::default(), Some('M')),
            ("F", SexContext::default(), Some('F')),
            ("x", SexContext::default(), Some('X')),
            ("M/M", SexContext::default(), Some('M')),
            ("M / H", SexContext::default(), None),
            ("H/M", SexContext::default(), Some('M')),
            ("K/F", SexContext::default(), Some('F')),
            ("V/M", SexContext::default(), Some('M')),
            ("Ž/F", SexContext::default(), Some('F')),
            ("Ж/F", SexContext::default(), Some('F')),
            ("KADIN / F", SexContext::default(), Some('F')),
            ("Female", SexContext::default(), Some('F')),
            ("WEIBLICH", SexContext::default(), Some('F')),
            // Letters without a language, and choices.
            ("K", SexContext::default(), None),
            ("V", SexContext::default(), None),
            ("M/F", SexContext::default(), None),
            ("F/M", SexContext::default(), None),
            ("M F", SexContext::default(), None),
            ("MARIA", SexContext::default(), None),
            ("", SexContext::default(), None),
            ("K", state("POL"), Some('F')),
            ("K", label(&["tr"]), Some('F')),
            ("E", state("TUR"), Some('M')),
            ("Z", state("CZE"), Some('F')),
            ("F/M", state("HUN"), Some('M')),
            ("N/F", state("HUN"), Some('F')),
            ("F", state("HUN"), None),
            ("M/F", state("LTU"), Some('F')),
            ("M", state("LTU"), None),
            ("V/M", state("LTU"), Some('M')),
            ("K/M", state("POL"), None),
            ("M", state("MEX"), None),
            ("H", state("MEX"), Some('M')),
            ("M", label(&["es"]), None),
            ("M", label(&["en", "es"]), Some('M')),
            ("男", SexContext::default(), Some('M')),
            ("K", state("AZE"), Some('M')),
            ("Q", state("AZE"), Some('F')),
            ("МУЖ / M", SexContext::default(), Some('M')),
            ("ЖЕН", SexContext::default(), Some('F')),
            ("MUJ", SexContext::default(), None),
        ];
        for (text, context, expected) in rows {
            assert_eq!(read_sex(text, *context), *expected, "{text} {context:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,20}") {
            let _ = read_sex(&text, SexContext::default());
        }
    }
}
