//! Writes machine-readable zones (ICAO 9303 parts 4–6) for the specimens. It deliberately shares no code with
//! the parser, so that tests can find mistakes in either.

use super::person::{Date, Person};

/// The issuing state of every specimen.
pub(crate) const STATE: &str = "UTO";

/// The MRZ of a passport: two lines of 44.
pub(crate) fn td3(person: &Person) -> Vec<String> {
    let first = filled(&format!("P<{STATE}{}", names(person)), 44);
    let mut second = details(person) + &filled("", 14);
    second += &check(&second[28..42]);
    second += &check(&[&second[0..10], &second[13..20], &second[21..43]].concat());
    vec![first, second]
}

/// The MRZ of the larger ID card: two lines of 36.
pub(crate) fn td2(person: &Person) -> Vec<String> {
    let first = filled(&format!("I<{STATE}{}", names(person)), 36);
    let mut second = details(person) + &filled("", 7);
    second += &check(&[&second[0..10], &second[13..20], &second[21..35]].concat());
    vec![first, second]
}

/// The MRZ of an ID card or residence permit of credit-card size: three lines of 30. `code` is the document
/// code, two characters.
pub(crate) fn td1(person: &Person, code: &str) -> Vec<String> {
    let number = filled(person.number, 9);
    let first = filled(&format!("{code}{STATE}{number}{}", check(&number)), 30);
    let (birth, expiry) = (yymmdd(person.born), yymmdd(person.expires));
    let mut second = format!(
        "{birth}{}{}{expiry}{}{STATE}",
        check(&birth),
        person.sex,
        check(&expiry)
    ) + &filled("", 11);
    second += &check(&[&first[5..30], &second[0..7], &second[8..15], &second[18..29]].concat());
    vec![first, second, filled(&names(person), 30)]
}

/// Number, nationality, birth, sex and expiry: the beginning of the second line of TD2 and TD3.
fn details(person: &Person) -> String {
    let number = filled(person.number, 9);
    let (birth, expiry) = (yymmdd(person.born), yymmdd(person.expires));
    let (number_check, birth_check, expiry_check) = (check(&number), check(&birth), check(&expiry));
    format!(
        "{number}{number_check}{STATE}{birth}{birth_check}{}{expiry}{expiry_check}",
        person.sex
    )
}

fn names(person: &Person) -> String {
    let part = |name: &str| name.to_uppercase().replace([' ', '-'], "<");
    format!("{}<<{}", part(person.surname), part(person.given))
}

fn yymmdd(Date { year, month, day }: Date) -> String {
    format!("{:02}{month:02}{day:02}", year % 100)
}

fn filled(text: &str, length: usize) -> String {
    format!("{text:<<length$.length$}")
}

/// The check digit of ICAO 9303-3 §4.9: weights 7, 3, 1; digits have their value, letters start at A = 10,
/// fillers are 0.
fn check(text: &str) -> String {
    let value = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        _ => 0,
    };
    let sum: u32 = text
        .bytes()
        .zip([7, 3, 1].into_iter().cycle())
        .map(|(byte, weight)| value(byte) * weight)
        .sum();
    (sum % 10).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The holder of ICAO 9303's specimen.
    fn anna() -> Person {
        Person {
            surname: "Eriksson",
            given: "Anna Maria",
            number: "L898902C3",
            born: Date {
                year: 1974,
                month: 8,
                day: 12,
            },
            expires: Date {
                year: 2012,
                month: 4,
                day: 15,
            },
            ..Person::default()
        }
    }

    #[test]
    fn lines_are_those_of_icao_9303() {
        let td3 = td3(&anna());
        assert_eq!(td3[0], "P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<");
        // ICAO's example has a personal number. Without it, its check digit and the composite digit differ.
        assert_eq!(td3[1], "L898902C36UTO7408122F1204159<<<<<<<<<<<<<<08");
        let td2 = td2(&Person {
            number: "D23145890",
            ..anna()
        });
        assert_eq!(
            td2,
            [
                "I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<",
                "D231458907UTO7408122F1204159<<<<<<<6"
            ]
        );
        let td1 = td1(
            &Person {
                number: "D23145890",
                ..anna()
            },
            "I<",
        );
        assert_eq!(
            td1,
            [
                "I<UTOD231458907<<<<<<<<<<<<<<<",
                "7408122F1204159UTO<<<<<<<<<<<6",
                "ERIKSSON<<ANNA<MARIA<<<<<<<<<<"
            ]
        );
    }
}
