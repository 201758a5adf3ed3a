//! The rules of each state's numbers. Sources are the laws and authorities named at the rules; where none is named, the
//! rule is as Wikipedia's *National identification number* and the library `python-stdnum` (2.2) describe it. On
//! 20,000 numbers of each of 26 states, no number that the library calls valid is wrong here.

use super::checksums::{luhn, mod_11_2, mod_11_10, verhoeff, weighted};
use super::{Birth, Facts, Judgement};

/// The states that print such a number as the number of the document, or give it to a driver. Elsewhere, a document's
/// number may have the form by chance.
const ON_DOCUMENTS: [&str; 9] = ["ARE", "CHN", "ESP", "GBR", "HKG", "IND", "SGP", "THA", "ZAF"];

/// The states that give such numbers to foreigners with every residence permit.
const FOR_FOREIGNERS: [&str; 1] = ["ESP"];

/// Whether the number of a state's document may be one that [`judge`] knows.
pub(crate) fn may_be_document_number(state: &str) -> bool {
    ON_DOCUMENTS.contains(&state)
}

/// Whether a state's documents of foreigners have such numbers in their zones.
pub(crate) fn has_numbers_of_foreigners(state: &str) -> bool {
    FOR_FOREIGNERS.contains(&state)
}

/// A state's numbers of one form.
struct Rule {
    /// ISO 3166-1 alpha-3.
    state: &'static str,
    /// `9` is a digit, `A` a letter, `*` either; other characters stand for themselves.
    form: &'static str,
    /// What a right number states; `None` if it is wrong.
    facts: fn(&Number<'_>) -> Option<Facts>,
}

const RULES: &[Rule] = &[
    rule("ESP", "99999999A", |n| spanish(n, 0)),
    rule("ESP", "X9999999A", |n| spanish(n, 0)),
    rule("ESP", "Y9999999A", |n| spanish(n, 10_000_000)),
    rule("ESP", "Z9999999A", |n| spanish(n, 20_000_000)),
    rule("NLD", "999999999", dutch),
    rule("POL", "99999999999", polish),
    rule("BRA", "99999999999", brazilian),
    rule("IND", "999999999999", |n| {
        only_if(n.digits[0] > 1 && verhoeff(&n.digits))
    }),
    rule("SWE", "9999999999", |n| swedish(n, 0)),
    rule("SWE", "999999999999", |n| swedish(n, 2)),
    rule("FIN", "999999999*", finnish),
    rule("NOR", "99999999999", norwegian),
    rule("DNK", "9999999999", danish),
    rule("EST", "99999999999", baltic),
    rule("LTU", "99999999999", baltic),
    rule("BGR", "9999999999", bulgarian),
    rule("ROU", "9999999999999", romanian),
    rule("HRV", "99999999999", |n| only_if(mod_11_10(&n.digits))),
    rule("SVN", "9999999999999", yugoslav),
    rule("SRB", "9999999999999", yugoslav),
    rule("MNE", "9999999999999", yugoslav),
    rule("MKD", "9999999999999", yugoslav),
    rule("BIH", "9999999999999", yugoslav),
    rule("CZE", "9999999999", czechoslovak),
    rule("SVK", "9999999999", czechoslovak),
    rule("BEL", "99999999999", belgian),
    rule("ITA", "AAAAAA**A**A***A", italian),
    rule("GBR", "*****999999*****", british_driver),
    rule("TUR", "99999999999", turkish),
    rule("ISR", "999999999", |n| only_if(luhn(&n.digits))),
    rule("ARE", "784999999999999", |n| only_if(luhn(&n.digits))),
    rule("ZAF", "9999999999999", south_african),
    rule("CHN", "99999999999999999*", chinese),
    rule("HKG", "A999999*", hong_kong),
    rule("TWN", "A999999999", taiwanese),
    rule("THA", "9999999999999", thai),
    // A passport's number has the same form with other letters.
    rule("SGP", "S9999999A", |n| singaporean(n, 0, "JZIHGFEDCBA")),
    rule("SGP", "T9999999A", |n| singaporean(n, 4, "JZIHGFEDCBA")),
    rule("SGP", "F9999999A", |n| singaporean(n, 0, "XWUTRQPNMLK")),
    rule("SGP", "G9999999A", |n| singaporean(n, 4, "XWUTRQPNMLK")),
    rule("SGP", "M9999999A", |n| singaporean(n, 3, "XWUTRQPNJLK")),
    rule("CHL", "99999999*", chilean),
    rule("MEX", "AAAA999999AAAAAA*9", mexican),
];

const fn rule(state: &'static str, form: &'static str, facts: fn(&Number<'_>) -> Option<Facts>) -> Rule {
    Rule { state, form, facts }
}

/// Judges a number of a state (ISO 3166-1 alpha-3), in capitals and without separators; `None` if the state has no known
/// number of its form.
pub(crate) fn judge(state: &str, number: &str) -> Option<Judgement> {
    let rule = RULES
        .iter()
        .find(|rule| rule.state == state && has_form(number, rule.form))?;
    let number = Number {
        text: number,
        digits: number
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|b| b - b'0')
            .collect(),
    };
    Some((rule.facts)(&number).map_or(Judgement::Wrong, Judgement::Right))
}

fn has_form(text: &str, form: &str) -> bool {
    let fits = |(c, form): (u8, u8)| match form {
        b'9' => c.is_ascii_digit(),
        b'A' => c.is_ascii_uppercase(),
        b'*' => c.is_ascii_digit() || c.is_ascii_uppercase(),
        other => c == other,
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(fits)
}

/// A number of a rule's form.
struct Number<'a> {
    text: &'a str,
    /// Its digits in order, without its letters.
    digits: Vec<u8>,
}

impl Number<'_> {
    /// The number that the first digits form.
    fn value(&self, length: usize) -> u32 {
        self.digits[..length]
            .iter()
            .fold(0, |n, d| 10 * n + u32::from(*d))
    }

    /// The number that two neighbouring digits form.
    fn two(&self, at: usize) -> u8 {
        10 * self.digits[at] + self.digits[at + 1]
    }

    fn character(&self, at: usize) -> char {
        char::from(self.text.as_bytes()[at])
    }

    fn last(&self) -> char {
        self.character(self.text.len() - 1)
    }

    fn last_digit(&self) -> u32 {
        self.digits.last().map_or(0, |digit| u32::from(*digit))
    }

    /// Whether the last character is this digit, or the letter for a rest of ten.
    fn ends_with(&self, check: u32, ten: char) -> bool {
        self.last() == char::from_digit(check, 10).unwrap_or(ten)
    }
}

/// A right number that states nothing about its holder.
fn only_if(is_right: bool) -> Option<Facts> {
    is_right.then(Facts::default)
}

fn stated(birth: Birth, sex: Option<char>) -> Facts {
    Facts {
        birth: Some(birth),
        sex,
    }
}

/// The sex that an odd or even digit states.
fn by_parity(digit: u8) -> Option<char> {
    Some(if digit % 2 == 1 { 'M' } else { 'F' })
}

/// DNI and NIE (Royal Decree 1553/2005; Order INT/2058/2008): the letter of the rest modulo 23.
fn spanish(n: &Number<'_>, offset: u32) -> Option<Facts> {
    let rest = (offset + n.value(n.digits.len())) % 23;
    only_if("TRWAGMYFPDXBNJZSQVHLCKE".chars().nth(rest as usize)? == n.last())
}

/// BSN: the test of eleven.
fn dutch(n: &Number<'_>) -> Option<Facts> {
    // The check digit's weight is −1, which is 10 modulo 11.
    only_if(weighted(&n.digits, &[9, 8, 7, 6, 5, 4, 3, 2, 10]).is_multiple_of(11))
}

/// PESEL (Act of 24 September 2010, annex): the month has 20 more per century.
fn polish(n: &Number<'_>) -> Option<Facts> {
    let sum = weighted(&n.digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
    let birth = Birth::new(n.two(0), n.two(2) % 20, n.two(4))?;
    sum.is_multiple_of(10)
        .then(|| stated(birth, by_parity(n.digits[9])))
}

/// CPF: two check digits. Numbers of one digit only are not given.
fn brazilian(n: &Number<'_>) -> Option<Facts> {
    let is_right = |weights: &[u32]| {
        let check = weighted(&n.digits, weights) * 10 % 11 % 10;
        check == u32::from(n.digits[weights.len()])
    };
    let is_uniform = n.digits.iter().all(|digit| *digit == n.digits[0]);
    only_if(
        !is_uniform && is_right(&[10, 9, 8, 7, 6, 5, 4, 3, 2]) && is_right(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]),
    )
}

/// Personnummer (Skatteverket, SKV 704). Of a coordination number, the day has 60 more.
fn swedish(n: &Number<'_>, start: usize) -> Option<Facts> {
    let day = n.two(start + 4);
    let birth = Birth::new(
        n.two(start),
        n.two(start + 2),
        if day > 60 { day - 60 } else { day },
    )?;
    luhn(&n.digits[start..]).then(|| stated(birth, by_parity(n.digits[start + 8])))
}

/// Henkilötunnus (Government Decree 128/2010) without the sign of the century.
fn finnish(n: &Number<'_>) -> Option<Facts> {
    const CHECKS: &str = "0123456789ABCDEFHJKLMNPRSTUVWXY";
    let check = CHECKS.chars().nth((n.value(9) % 31) as usize)?;
    let birth = Birth::new(n.two(4), n.two(2), n.two(0))?;
    (check == n.last()).then(|| stated(birth, by_parity(n.digits[8])))
}

/// Fødselsnummer (Regulation FOR-2017-07-14-1201). Of a D number, the day has 40 more.
fn norwegian(n: &Number<'_>) -> Option<Facts> {
    let is_right = |weights: &[u32]| weighted(&n.digits, weights).is_multiple_of(11);
    let day = n.two(0);
    let birth = Birth::new(n.two(4), n.two(2), if day > 40 { day - 40 } else { day })?;
    (is_right(&[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) && is_right(&[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]))
        .then(|| stated(birth, by_parity(n.digits[8])))
}

/// CPR number. Since 2007, numbers without a check digit are given.
fn danish(n: &Number<'_>) -> Option<Facts> {
    let birth = Birth::new(n.two(4), n.two(2), n.two(0))?;
    Some(stated(birth, by_parity(n.digits[9])))
}

/// Isikukood (EVS 585) and asmens kodas. Lithuania's 9 marks numbers without a date.
fn baltic(n: &Number<'_>) -> Option<Facts> {
    let check = match weighted(&n.digits, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11 {
        10 => weighted(&n.digits, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10,
        check => check,
    };
    let is_right = check == n.last_digit();
    match n.digits[0] {
        1..=8 => {
            let birth = Birth::new(n.two(1), n.two(3), n.two(5))?;
            is_right.then(|| stated(birth, by_parity(n.digits[0])))
        }
        _ => only_if(is_right),
    }
}

/// EGN: the month has 20 more for a birth before 1900, and 40 more from 2000 on. Even digits are men's.
fn bulgarian(n: &Number<'_>) -> Option<Facts> {
    let check = weighted(&n.digits, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    let birth = Birth::new(n.two(0), n.two(2) % 20, n.two(4))?;
    (check == n.last_digit()).then(|| stated(birth, by_parity(n.digits[8] + 1)))
}

/// CNP: the first digit states century and sex.
fn romanian(n: &Number<'_>) -> Option<Facts> {
    let check = match weighted(&n.digits, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11 {
        10 => 1,
        check => check,
    };
    let birth = Birth::new(n.two(1), n.two(3), n.two(5))?;
    let sex = by_parity(n.digits[0]).filter(|_| (1..=8).contains(&n.digits[0]));
    (check == n.last_digit()).then(|| stated(birth, sex))
}

/// JMBG and EMŠO of the states that were Yugoslavia: three digits of the year.
fn yugoslav(n: &Number<'_>) -> Option<Facts> {
    let sum = weighted(&n.digits, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let check = (11 - sum % 11) % 11 % 10;
    let birth = Birth::new(n.two(5), n.two(2), n.two(0))?;
    let sex = if n.digits[9] >= 5 { 'F' } else { 'M' };
    (check == n.last_digit()).then(|| stated(birth, Some(sex)))
}

/// Rodné číslo (Czech Act 133/2000 §13, Slovak Act 301/1995) since 1954: of women, the month has 50 more, and where a day
/// has no number left, 20 more. Until 1985, a rest of ten gave the check digit 0.
fn czechoslovak(n: &Number<'_>) -> Option<Facts> {
    let (sex, month) = match n.two(2) {
        month @ 51.. => ('F', month - 50),
        month => ('M', month),
    };
    let month = if month > 20 { month - 20 } else { month };
    let birth = Birth::new(n.two(0), month, n.two(4))?;
    (n.value(9) % 11 % 10 == n.last_digit()).then(|| stated(birth, Some(sex)))
}

/// National register number (Royal Decree of 3 April 1984): 97 less the rest of nine digits, after a 2 from 2000 on. Of
/// other persons, the month has 20 more (sex unknown) or 40 more. Parts of the birth may be zero.
fn belgian(n: &Number<'_>) -> Option<Facts> {
    let number = u64::from(n.value(9));
    let check = u64::from(n.two(9));
    let is_right = [number, 2_000_000_000 + number]
        .into_iter()
        .any(|number| 97 - number % 97 == check);
    let birth = Birth::new(n.two(0), n.two(2) % 20, n.two(4));
    let sex = by_parity(n.digits[8]).filter(|_| !(20..40).contains(&n.two(2)));
    is_right.then_some(Facts { birth, sex })
}

/// Codice fiscale (Ministerial Decree of 23 December 1976): of women, the day has 40 more; the digits of namesakes become
/// letters.
fn italian(n: &Number<'_>) -> Option<Facts> {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
    ];
    const MONTHS: &str = "ABCDEHLMPRST";
    const DIGITS: &str = "LMNPQRSTUV";
    let digit = |at: usize| {
        let c = n.character(at);
        c.to_digit(10)
            .and_then(|digit| u8::try_from(digit).ok())
            .or_else(|| u8::try_from(DIGITS.find(c)?).ok())
    };
    let two = |at: usize| Some(10 * digit(at)? + digit(at + 1)?);
    let sum: u32 = n
        .text
        .bytes()
        .take(15)
        .enumerate()
        .map(|(at, c)| {
            let value = u32::from(if c.is_ascii_digit() { c - b'0' } else { c - b'A' });
            if at % 2 == 0 { ODD[value as usize] } else { value }
        })
        .sum();
    let month = u8::try_from(MONTHS.find(n.character(8))?).ok()? + 1;
    let (sex, day) = match two(9)? {
        day @ 41.. => ('F', day - 40),
        day => ('M', day),
    };
    let birth = Birth::new(two(6)?, month, day)?;
    let check = u32::from(n.last()) - u32::from('A');
    (sum % 26 == check).then(|| stated(birth, Some(sex)))
}

/// Number of a British driver (DVLA): the year's tens, the month (of women 50 more), the day and the year's ones. Its check
/// characters are not published.
fn british_driver(n: &Number<'_>) -> Option<Facts> {
    let digit = |at: usize| n.text.as_bytes()[at] - b'0';
    let two = |at: usize| 10 * digit(at) + digit(at + 1);
    let (sex, month) = match two(6) {
        month @ 51.. => ('F', month - 50),
        month => ('M', month),
    };
    let birth = Birth::new(10 * digit(5) + digit(10), month, two(8))?;
    Some(stated(birth, Some(sex)))
}

/// T.C. kimlik numarası: the last two digits are checks.
fn turkish(n: &Number<'_>) -> Option<Facts> {
    // The weight −1 is 9 modulo 10.
    let tenth = weighted(&n.digits, &[7, 9, 7, 9, 7, 9, 7, 9, 7]) % 10;
    let last = weighted(&n.digits, &[1; 10]) % 10;
    only_if(n.digits[0] != 0 && tenth == u32::from(n.digits[9]) && last == n.last_digit())
}

/// Identity number (Identification Act 68 of 1997): sequences from 5000 on are men's.
fn south_african(n: &Number<'_>) -> Option<Facts> {
    let birth = Birth::new(n.two(0), n.two(2), n.two(4))?;
    let sex = if n.digits[6] >= 5 { 'M' } else { 'F' };
    luhn(&n.digits).then(|| stated(birth, Some(sex)))
}

/// Resident identity number (GB 11643-1999).
fn chinese(n: &Number<'_>) -> Option<Facts> {
    let birth = Birth::new(n.two(8), n.two(10), n.two(12))?;
    (mod_11_2(&n.digits[..17]) == n.last()).then(|| stated(birth, by_parity(n.digits[16])))
}

/// Identity card number: letters count from 10, and a missing one 36.
fn hong_kong(n: &Number<'_>) -> Option<Facts> {
    let letter = u32::from(n.character(0)) - u32::from('A') + 10;
    let sum = 9 * 36 + 8 * letter + weighted(&n.digits, &[7, 6, 5, 4, 3, 2]);
    only_if(n.ends_with((11 - sum % 11) % 11, 'A'))
}

/// National identification number: letters count from 10 in an order of their own; 1 and 8 are men's, 2 and 9 women's.
fn taiwanese(n: &Number<'_>) -> Option<Facts> {
    const ORDER: &str = "ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let letter = u32::try_from(ORDER.find(n.character(0))?).ok()? + 10;
    let sum = letter / 10 + letter % 10 * 9 + weighted(&n.digits, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    let sex = match n.digits[0] {
        1 | 8 => Some('M'),
        2 | 9 => Some('F'),
        _ => None,
    };
    sum.is_multiple_of(10).then_some(Facts { birth: None, sex })
}

/// Identity number.
fn thai(n: &Number<'_>) -> Option<Facts> {
    let sum = weighted(&n.digits, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    only_if((11 - sum % 11) % 10 == n.last_digit())
}

/// NRIC and FIN. The state does not publish the letters.
fn singaporean(n: &Number<'_>, offset: u32, letters: &str) -> Option<Facts> {
    let rest = (offset + weighted(&n.digits, &[2, 7, 6, 5, 4, 3, 2])) % 11;
    only_if(letters.chars().nth(rest as usize)? == n.last())
}

/// RUN: K is ten.
fn chilean(n: &Number<'_>) -> Option<Facts> {
    let sum = weighted(&n.digits, &[3, 2, 7, 6, 5, 4, 3, 2]);
    only_if(n.ends_with((11 - sum % 11) % 11, 'K'))
}

/// CURP (Instructivo Normativo, DOF 18 October 2021): letters count from 10, with Ñ after N.
fn mexican(n: &Number<'_>) -> Option<Facts> {
    const ORDER: &str = "0123456789ABCDEFGHIJKLMN?OPQRSTUVWXYZ";
    let birth = Birth::new(n.two(0), n.two(2), n.two(4))?;
    let sex = match n.character(10) {
        'H' => Some('M'),
        'M' => Some('F'),
        'X' => None,
        _ => return None,
    };
    let mut sum = 0;
    for (c, weight) in n.text.chars().take(17).zip((2..=18).rev()) {
        sum += ORDER.find(c)? * weight;
    }
    let check = u32::try_from((10 - sum % 10) % 10).ok()?;
    (check == n.last_digit()).then(|| stated(birth, sex))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// State, number, year with month and day, sex.
    type Example = (&'static str, &'static str, Option<(u8, u8, u8)>, Option<char>);

    /// Numbers that authorities, laws or encyclopaedias print as examples.
    const EXAMPLES: &[Example] = &[
        ("ESP", "99999999R", None, None),
        ("ESP", "X1234567L", None, None),
        ("ESP", "Z1234567R", None, None),
        ("NLD", "111222333", None, None),
        ("POL", "44051401359", Some((44, 5, 14)), Some('M')),
        ("BRA", "11144477735", None, None),
        ("IND", "234123412346", None, None),
        ("SWE", "6408233234", Some((64, 8, 23)), Some('M')),
        ("SWE", "198703142391", Some((87, 3, 14)), Some('M')),
        ("FIN", "131052308T", Some((52, 10, 13)), Some('F')),
        ("NOR", "15108695088", Some((86, 10, 15)), Some('F')),
        ("DNK", "2110625629", Some((62, 10, 21)), Some('M')),
        ("EST", "37605030299", Some((76, 5, 3)), Some('M')),
        ("LTU", "33309240064", Some((33, 9, 24)), Some('M')),
        ("BGR", "7523169263", Some((75, 3, 16)), Some('M')),
        ("ROU", "1630615123457", Some((63, 6, 15)), Some('M')),
        ("HRV", "33392005961", None, None),
        ("SVN", "0101006500006", Some((6, 1, 1)), Some('M')),
        ("CZE", "7103192745", Some((71, 3, 19)), Some('M')),
        ("CZE", "6956220612", Some((69, 6, 22)), Some('F')),
        ("BEL", "85073003328", Some((85, 7, 30)), Some('M')),
        ("ITA", "RCCMNL83S18D969H", Some((83, 11, 18)), Some('M')),
        ("GBR", "MORGA753116SM9IJ", Some((76, 3, 11)), Some('F')),
        ("TUR", "10000000146", None, None),
        ("TUR", "17291716060", None, None),
        ("ISR", "039337423", None, None),
        ("ZAF", "7503305044089", Some((75, 3, 30)), Some('M')),
        ("CHN", "360426199101010071", Some((91, 1, 1)), Some('M')),
        ("CHN", "11010519491231002X", Some((49, 12, 31)), Some('F')),
        ("HKG", "G123456A", None, None),
        ("TWN", "A123456789", None, Some('M')),
        ("THA", "1234545678781", None, None),
        ("SGP", "S1234567D", None, None),
        ("SGP", "T1234567J", None, None),
        ("SGP", "F1234567N", None, None),
        ("SGP", "G1234567X", None, None),
        ("CHL", "125319092", None, None),
        ("MEX", "BOXW310820HNERXN09", Some((31, 8, 20)), Some('M')),
    ];

    #[test]
    fn examples_are_right_and_state_birth_and_sex() {
        for &(state, number, birth, sex) in EXAMPLES {
            let birth = birth.map(|(year, month, day)| Birth { year, month, day });
            assert_eq!(
                judge(state, number),
                Some(Judgement::Right(Facts { birth, sex })),
                "{state} {number}"
            );
        }
    }

    #[test]
    fn a_wrong_check_character_is_seen() {
        for &(state, number, ..) in EXAMPLES {
            // Two states publish no check character.
            if matches!(state, "GBR" | "DNK") {
                continue;
            }
            let (rest, last) = number.split_at(number.len() - 1);
            let other = match last.as_bytes()[0] {
                b'9' => '0',
                b'A'..=b'Z' if last != "A" => 'A',
                b'A' => 'B',
                digit => char::from(digit + 1),
            };
            let wrong = format!("{rest}{other}");
            assert!(
                judge(state, &wrong).is_none_or(|judgement| judgement == Judgement::Wrong),
                "{state} {wrong}"
            );
        }
    }

    #[test]
    fn other_forms_and_states_are_not_judged() {
        for (state, number) in [
            ("ESP", "9999999R"),
            ("ESP", "W1234567L"),
            ("FRA", "99999999R"),
            ("POL", "4405140135"),
            ("POL", "ZS0000177"),
            ("GBR", "707797979"),
            ("SGP", "E1234567D"),
            ("", ""),
        ] {
            assert_eq!(judge(state, number), None, "{state} {number}");
        }
    }

    #[test]
    fn a_date_that_is_none_is_wrong() {
        for (state, number) in [
            ("POL", "44131401359"),
            ("DNK", "3113625629"),
            ("GBR", "MORGA713316SM9IJ"),
        ] {
            assert_eq!(judge(state, number), Some(Judgement::Wrong), "{state} {number}");
        }
    }

    proptest! {
        #[test]
        fn any_number_is_survived(state in 0..RULES.len(), number in "[0-9A-Z]{0,20}", text in ".{0,20}") {
            let _ = judge(RULES[state].state, &number);
            let _ = judge(RULES[state].state, &text);
        }

        #[test]
        fn any_number_of_its_form_is_survived(rule in 0..RULES.len(), draws in prop::collection::vec(0u8..36, 20)) {
            let rule = &RULES[rule];
            let drawn = rule.form.bytes().zip(draws).map(|(form, draw)| match form {
                b'9' => char::from(b'0' + draw % 10),
                b'A' => char::from(b'A' + draw % 26),
                b'*' => char::from_digit(draw.into(), 36).unwrap().to_ascii_uppercase(),
                other => char::from(other),
            });
            prop_assert!(judge(rule.state, &drawn.collect::<String>()).is_some());
        }
    }
}
