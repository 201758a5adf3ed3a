//! Prepares a name for comparison: splits it into words, classifies and weighs them.
//!
//! This module compares nothing; see [`crate::compare`].

use smallvec::SmallVec;

use crate::common_names::COMMON_NAMES;
use crate::distance::edit_cost;
use crate::entity::{Entity, Schema};
use crate::tables::{self, LegalForm};
use crate::text::{self, Script, Word};
use crate::word_forms::Signature;

/// Maximum number of tokens of a name, because the index uses one bit per token.
const MAX_TOKENS: usize = 60;

/// The weight of a family name, the greatest of any token.
pub(crate) const FAMILY_WEIGHT: f32 = 1.3;

/// The surplus weight of a part of a Chinese or Korean name: such people have one family name and one given name, so a
/// further part is another person's.
const EAST_ASIAN_SURPLUS: f32 = 3.0;

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TokenKind {
    /// An ordinary word.
    Word,
    /// One letter of a person's name.
    Initial,
    /// A word that distinguishes little: `bin`, `al`, `von`, `of`, honorifics.
    Particle,
    /// A number, in its decimal form.
    Number,
}

/// The part of a person's name that a token belongs to, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NamePart {
    Unknown,
    Given,
    Family,
}

/// One word of a name, prepared for comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<S = Box<str>> {
    /// Lower-case ASCII. Particles and synonyms have the form of their class.
    pub(crate) text: S,
    /// The [`text::sound`] of the text.
    pub(crate) sound: S,
    /// The signature of the sound.
    pub(crate) signature: Signature,
    /// The original text, for Han and Hangul only.
    pub(crate) original: S,
    pub(crate) script: Script,
    pub(crate) kind: TokenKind,
    pub(crate) role: NamePart,
    /// Weight of the token if it matches or is contradicted.
    pub(crate) weight: f32,
    /// Weight of the token if the other name lacks it.
    pub(crate) surplus: f32,
    /// Whether few names contain the token, so that it alone distinguishes its bearer.
    pub(crate) telling: bool,
    /// Whether it is a frequent part of people's names.
    pub(crate) common: bool,
}

/// A name prepared for comparison.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) tokens: Vec<Token>,
    /// Legal forms, which are removed from the tokens.
    pub(crate) forms: Vec<LegalForm>,
    /// Whether it was read as a person's name.
    pub(crate) person: bool,
    /// Initials of an organisation's words if it has three or more; else empty.
    pub(crate) acronym: Box<str>,
}

impl Name {
    /// The name in the form in which names are compared.
    pub(crate) fn view(&self) -> NameRef<'_> {
        NameRef {
            tokens: self.tokens.iter().map(Token::view).collect(),
            forms: self.forms.iter().copied().collect(),
            person: self.person,
            acronym: &self.acronym,
        }
    }
}

/// A token whose texts are kept elsewhere, for example in an index.
pub(crate) type TokenRef<'a> = Token<&'a str>;

impl Token {
    /// The token in the form in which tokens are compared.
    pub(crate) fn view(&self) -> TokenRef<'_> {
        Token {
            text: &self.text,
            sound: &self.sound,
            signature: self.signature,
            original: &self.original,
            script: self.script,
            kind: self.kind,
            role: self.role,
            weight: self.weight,
            surplus: self.surplus,
            telling: self.telling,
            common: self.common,
        }
    }
}

/// A [`Name`] whose texts are kept elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct NameRef<'a> {
    pub(crate) tokens: SmallVec<[TokenRef<'a>; 8]>,
    pub(crate) forms: SmallVec<[LegalForm; 4]>,
    pub(crate) person: bool,
    pub(crate) acronym: &'a str,
}

impl NameRef<'_> {
    /// Whether it is a person's name made of parts that very many people bear.
    pub(crate) fn is_common(&self) -> bool {
        self.person && !self.tokens.iter().any(|t| t.telling)
    }
}

/// The separately known given and family names of an entity, as words.
#[derive(Default)]
pub(crate) struct KnownNameParts {
    given: Vec<String>,
    family: Vec<String>,
}

impl KnownNameParts {
    pub(crate) fn of(entity: &Entity) -> KnownNameParts {
        let collect = |names: &[String]| {
            names
                .iter()
                .flat_map(|n| text::words(n))
                .map(|w| w.text)
                .collect::<Vec<String>>()
        };
        KnownNameParts {
            given: collect(&entity.given_names),
            family: collect(&entity.family_names),
        }
    }

    fn role(&self, text: &str) -> NamePart {
        let given = self.given.iter().any(|n| n == text);
        let family = self.family.iter().any(|n| n == text);
        match (given, family) {
            (true, false) => NamePart::Given,
            (false, true) => NamePart::Family,
            _ => NamePart::Unknown,
        }
    }
}

/// Prepares a name by the conventions of its schema; `None` if nothing comparable remains.
pub(crate) fn prepare(name: &str, schema: Schema, parts: &KnownNameParts) -> Option<Name> {
    let words = text::words(name);
    let prepared = if schema.is_person() {
        prepare_person(words, parts)
    } else {
        prepare_organisation(words, schema)
    };
    (!prepared.tokens.is_empty()).then_some(prepared)
}

fn token(word: Word, kind: TokenKind, weight: f32, surplus: f32) -> Token {
    let sound = if kind == TokenKind::Number {
        word.text.clone()
    } else {
        text::sound_in(&word.text, word.script)
    };
    Token {
        signature: Signature::of(&sound),
        sound: sound.into(),
        text: word.text.into(),
        original: word.original.into(),
        script: word.script,
        kind,
        role: NamePart::Unknown,
        weight,
        surplus,
        telling: false,
        common: false,
    }
}

fn prepare_person(words: Vec<Word>, parts: &KnownNameParts) -> Name {
    // "FAMILY, Given": exactly one comma with words on both sides.
    let commas: Vec<usize> = (1..words.len()).filter(|i| words[*i].after_comma).collect();
    let comma = if let [at] = commas[..] { Some(at) } else { None };
    let mixed_case = words.iter().any(|w| !w.upper);
    let is_title = |w: &Word| tables::TITLES.contains(w.text.as_str());
    let untitled = words.iter().filter(|w| !is_title(w)).count();
    let mut tokens: Vec<Token> = Vec::with_capacity(words.len());
    for (at, word) in words.into_iter().enumerate() {
        if untitled > 0 && is_title(&word) {
            continue;
        }
        let known = parts.role(&word.text);
        let role = match comma {
            _ if known != NamePart::Unknown => known,
            Some(comma) if at < comma => NamePart::Family,
            Some(_) => NamePart::Given,
            None => NamePart::Unknown,
        };
        let first = tokens.len();
        push_person_word(word, mixed_case, &mut tokens);
        for token in &mut tokens[first..] {
            token.role = role;
            if token.kind == TokenKind::Word {
                token.common = COMMON_NAMES.contains(&*token.text);
                // Short words and the syllables of Chinese and Korean names are common.
                token.telling = !token.common && token.original.is_empty() && token.text.len() >= 4;
            }
            if role == NamePart::Family && token.kind == TokenKind::Word {
                token.weight = FAMILY_WEIGHT;
            }
        }
    }
    // A repeated word counts once.
    let mut unique: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if token.kind != TokenKind::Word || !unique.iter().any(|t| t.text == token.text) {
            unique.push(token);
        }
    }
    finish(unique, Vec::new(), true)
}

fn push_person_word(mut word: Word, mixed_case: bool, tokens: &mut Vec<Token>) {
    if word.script == Script::Abjad {
        // Common spellings without vowels: "ibn", "bin", "abu", "abd".
        match word.text.as_str() {
            "bn" | "abn" => word.text = "bin".into(),
            "abw" | "bw" => word.text = "abu".into(),
            "bd" => word.text = "abd".into(),
            _ => {}
        }
    }
    let text = word.text.as_str();
    if text.len() == 1 && word.script == Script::Alphabetic {
        return tokens.push(token(word, TokenKind::Initial, 0.8, 0.1));
    }
    // In a name of otherwise mixed case, "JC" means two initials.
    let vowels = text
        .bytes()
        .any(|b| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'));
    if text.len() <= 3 && !vowels && word.upper && mixed_case && word.script == Script::Alphabetic {
        for letter in text.chars() {
            let letter = Word {
                text: letter.into(),
                ..word.clone()
            };
            tokens.push(token(letter, TokenKind::Initial, 0.8, 0.1));
        }
        return;
    }
    let misspelt = |known: &str| text.len() == 5 && edit_cost(text.as_bytes(), known.as_bytes(), 8).is_some();
    let servant = matches!(text, "abd" | "abdal" | "abdoul" | "abdool" | "abdu" | "abdol")
        || ["abdul", "abdur", "abdel"].into_iter().any(misspelt);
    if servant {
        return tokens.push(token(
            Word {
                text: "abd".into(),
                ..word
            },
            TokenKind::Word,
            0.4,
            0.1,
        ));
    }
    let prefixed = ["abdul", "abdel", "abdal", "abdoul", "abdol"]
        .iter()
        .find_map(|p| text.strip_prefix(p));
    if let Some(rest) = prefixed.filter(|r| r.len() >= 4 && !r.starts_with("la")) {
        let rest = rest.to_owned();
        tokens.push(token(
            Word {
                text: "abd".into(),
                ..word.clone()
            },
            TokenKind::Word,
            0.4,
            0.1,
        ));
        return tokens.push(token(Word { text: rest, ..word }, TokenKind::Word, 1.0, 1.0));
    }
    // Romanised Chinese and Korean syllables only look like particles.
    if !word.original.is_empty() {
        return tokens.push(token(word, TokenKind::Word, 1.0, EAST_ASIAN_SURPLUS));
    }
    if let Some(class) = tables::PARTICLES.get(text) {
        return tokens.push(token(
            Word {
                text: (*class).into(),
                ..word
            },
            TokenKind::Particle,
            0.2,
            0.05,
        ));
    }
    if tables::HONORIFICS.contains(text) {
        return tokens.push(token(word, TokenKind::Particle, 0.2, 0.05));
    }
    tokens.push(token(word, TokenKind::Word, 1.0, 1.0));
}

fn prepare_organisation(words: Vec<Word>, schema: Schema) -> Name {
    let mut tokens: Vec<Token> = Vec::with_capacity(words.len());
    let mut forms = Vec::new();
    let mut taken: Vec<Word> = Vec::new(); // the words of the legal forms, in case nothing else is left
    let mut at = 0;
    while at < words.len() {
        if schema == Schema::Vessel
            && at == 0
            && words.len() > 1
            && tables::SHIP_PREFIXES.contains(words[0].text.as_str())
        {
            at = 1;
            continue;
        }
        if let Some((len, form)) = legal_form(&words[at..]).filter(|_| schema != Schema::Vessel) {
            forms.push(form);
            taken.extend_from_slice(&words[at..at + len]);
            at += len;
            continue;
        }
        let word = words[at].clone();
        if let Some((len, number)) = number(&words[at..]) {
            tokens.push(token(
                Word {
                    text: number.to_string(),
                    ..word
                },
                TokenKind::Number,
                1.3,
                1.6,
            ));
            at += len;
            continue;
        }
        at += 1;
        let text = tables::ORG_WORDS
            .get(word.text.as_str())
            .copied()
            .unwrap_or(&word.text)
            .to_owned();
        let word = Word { text, ..word };
        let text = word.text.as_str();
        tokens.push(if tables::STOPWORDS.contains(text) {
            token(word, TokenKind::Particle, 0.1, 0.02)
        } else if tables::COUNTRY_WORDS.contains(text) {
            token(word, TokenKind::Word, 1.0, 0.3)
        } else if tables::GENERIC_WORDS.contains(text) {
            token(word, TokenKind::Word, 0.6, 0.8)
        } else if text.len() == 1 {
            token(word, TokenKind::Word, 0.5, 0.5)
        } else {
            Token {
                telling: true,
                ..token(word, TokenKind::Word, 1.0, 1.0)
            }
        });
    }
    if !tokens.iter().any(|t| t.kind == TokenKind::Word) {
        // If only legal forms and numbers exist, they are the name.
        let rest = std::mem::take(&mut tokens);
        tokens = taken
            .into_iter()
            .map(|w| token(w, TokenKind::Word, 1.0, 1.0))
            .collect();
        tokens.extend(rest);
        forms.clear();
    }
    let mut name = finish(tokens, forms, false);
    let letters = |t: &&Token| t.kind == TokenKind::Word;
    if name.tokens.iter().filter(letters).count() >= 3 {
        let initials: String = name
            .tokens
            .iter()
            .filter(letters)
            .filter_map(|t| t.text.chars().next())
            .collect();
        name.acronym = initials.into();
    }
    name
}

fn legal_form(words: &[Word]) -> Option<(usize, LegalForm)> {
    // The longer words of legal forms are often misspelt.
    let same = |form: &str, word: &str| {
        form == word || (form.len() >= 7 && edit_cost(form.as_bytes(), word.as_bytes(), 12).is_some())
    };
    let starts =
        |form: &[String]| form.len() <= words.len() && form.iter().zip(words).all(|(f, w)| same(f, &w.text));
    let first = words.first()?.text.as_str();
    if let Some(candidates) = tables::LEGAL_FORMS.get(first) {
        return candidates
            .iter()
            .find(|(form, _)| starts(form))
            .map(|(form, class)| (form.len(), *class));
    }
    let long = tables::LONG_LEGAL_FORMS.iter().filter(|_| first.len() >= 9);
    long.into_iter()
        .find(|(form, _)| same(form, first))
        .map(|(_, class)| (1, *class))
}

/// A number and how many words it spans: "forty four", "Forty 4" and "44" are equal.
fn number(words: &[Word]) -> Option<(usize, u32)> {
    let roman = words[0].upper;
    let first = tables::number(&words[0].text, roman)?;
    let spelled = words[0].text.bytes().all(|b| b.is_ascii_alphabetic());
    let second = words
        .get(1)
        .and_then(|w| tables::number(&w.text, false))
        .filter(|n| (1..10).contains(n));
    match second {
        Some(second) if spelled && first >= 20 && first.is_multiple_of(10) => Some((2, first + second)),
        _ => Some((1, first)),
    }
}

fn finish(mut tokens: Vec<Token>, forms: Vec<LegalForm>, person: bool) -> Name {
    tokens.truncate(MAX_TOKENS);
    if !tokens
        .iter()
        .any(|t| matches!(t.kind, TokenKind::Word | TokenKind::Number))
    {
        // If only particles or initials exist, they are the name.
        for token in &mut tokens {
            token.weight = 1.0;
            token.surplus = 1.0;
            if token.kind == TokenKind::Particle {
                token.kind = TokenKind::Word;
            }
        }
    }
    Name {
        tokens,
        forms,
        person,
        acronym: "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, schema: Schema) -> String {
        let Some(name) = prepare(name, schema, &KnownNameParts::default()) else {
            return String::new();
        };
        let words: Vec<&str> = name.tokens.iter().map(|t| &*t.text).collect();
        words.join(" ")
    }

    #[test]
    fn people() {
        for (name, expect) in [
            ("Dr. Rami Makhlouf", "rami makhlouf"),
            ("Abdulaziz bin Saud", "abd aziz bin saud"),
            ("'Abd al-Aziz", "abd al aziz"),
            ("Abdullah Ali", "abdullah ali"),
            ("Sergey Sergey Shoigu", "sergey shoigu"),
            ("JC Juncker", "j c juncker"),
            ("President", "president"),
        ] {
            assert_eq!(read(name, Schema::Person), expect, "{name}");
        }
        let name = prepare("PUTIN, Vladimir", Schema::Person, &KnownNameParts::default()).unwrap();
        assert_eq!(name.tokens[0].role, NamePart::Family);
        assert_eq!(name.tokens[1].role, NamePart::Given);
    }

    #[test]
    fn organisations() {
        for (name, expect) in [
            ("Siemens Aktiengesellschaft", "siemens"),
            ("Siemens Aktiengeselschaft", "siemens"),
            ("Zarya Joint Stock Compan", "zarya"),
            ("FABERLIC EUROPE Sp. z o.o.", "faberlic europe"),
            ("Brigade Forty-Four", "brigade 44"),
            ("1st International Bank", "1 international bank"),
            ("Management Company", "management"),
            ("The Company Ltd", "company ltd the"),
            ("OOO", "ooo"),
        ] {
            assert_eq!(read(name, Schema::Company), expect, "{name}");
        }
        assert_eq!(read("MV Hellenic Spirit", Schema::Vessel), "hellenic spirit");
        assert_eq!(read("...", Schema::Company), "");
    }
}
