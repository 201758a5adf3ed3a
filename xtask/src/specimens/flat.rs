//! Renders flat documents with a machine-readable zone and their `mrz.tsv`, for
//! `bonafide eval documents --renderings`. Unlike the specimens, their numbers have every character, also those that
//! recognition confuses. They show no face. On request, a forger has edited one field of the print of each.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use imaging::Picture;

use super::camera::Random;
use super::canvas::Fonts;
use super::cast::day;
use super::documents::{self, PORTRAIT};
use super::mrz;
use super::person::Person;

/// Renders `count` documents into `out`: passports, larger ID cards and, unless the print is `edited`, the backs of
/// smaller ones in turn.
pub(crate) fn run(count: u64, seed: u64, edited: bool, out: &Path) -> Result<()> {
    let fonts = Fonts::load()?;
    let pictures = out.join("mrz");
    fs::create_dir_all(&pictures).with_context(|| format!("creating {}", pictures.display()))?;
    let [width, height] = PORTRAIT;
    let portrait = Picture::filled(width, height, [206, 206, 210]);
    let mut table = String::from("file\texpected\tcheck_digits\tzone\tedited\n");
    // The backs of smaller cards print nothing that the zone states.
    let kinds = if edited { 2 } else { 3 };
    for number in 0..count {
        let holder = holder(number, seed);
        let (printed, field) = if edited {
            edit(&holder, number / kinds, seed)
        } else {
            (holder.clone(), "")
        };
        let (kind, lines, picture) = match number % kinds {
            0 => {
                let lines = mrz::td3(&holder);
                let picture = documents::passport(&fonts, &printed, Some(&lines), &portrait);
                ("passport", lines, picture)
            }
            1 => {
                let lines = mrz::td2(&holder);
                let picture = documents::large_id_front(&fonts, &printed, &lines, &portrait);
                ("large-id", lines, picture)
            }
            _ => {
                let lines = mrz::td1(&holder, "I<");
                let picture = documents::small_id_back(&fonts, "IDENTITY CARD", &lines);
                ("small-id", lines, picture)
            }
        };
        let file = format!("{number:03}-{kind}.png");
        let bytes = imaging::encode_png(&picture).context("encoding a PNG")?;
        fs::write(pictures.join(&file), bytes)?;
        let zone = documents::box_of_zone(&lines)
            .map(|pixels| format!("{pixels:.0}"))
            .join(",");
        table += &format!("{file}\t{}\tall valid\t{zone}\t{field}\n", lines.join("|"));
    }
    fs::write(out.join("mrz.tsv"), table)?;
    eprintln!("specimens: {count} flat documents in {}", out.display());
    Ok(())
}

/// A holder whose names, number, dates and sex are drawn at random.
fn holder(number: u64, seed: u64) -> Person {
    const CHARACTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const SYLLABLES: [&str; 28] = [
        "AN", "BER", "CHO", "DU", "EK", "FLO", "GI", "HUY", "IV", "JO", "KAR", "LUM", "MI", "NOV", "OS",
        "PE", "QUI", "RAS", "SZA", "TEO", "UL", "VEX", "WIN", "XA", "YL", "ZO", "MM", "LL",
    ];
    let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let mut below = |limit: usize| ((random.within(0.5) + 0.5) * limit as f32) as usize % limit;
    // Letters and digits stand in any order, as in the numbers of many states; others print digits only, or fewer.
    let characters = if below(3) == 0 {
        &CHARACTERS[..10]
    } else {
        CHARACTERS
    };
    let document: String = (0..6 + below(4))
        .map(|_| char::from(characters[below(characters.len())]))
        .collect();
    let mut name = |most: usize| {
        let words: Vec<String> = (0..1 + below(most))
            .map(|_| {
                (0..1 + below(3))
                    .map(|_| SYLLABLES[below(SYLLABLES.len())])
                    .collect()
            })
            .collect();
        words.join(" ")
    };
    let (surname, given) = (name(2), name(2));
    let mut date = |first: u16, years: usize| {
        day(
            first + below(years) as u16,
            1 + below(12) as u8,
            1 + below(28) as u8,
        )
    };
    let (born, issued, expires) = (date(1940, 60), date(2018, 6), date(2027, 8));
    Person {
        // A program for one run needs no owner for its few hundred names and numbers.
        surname: surname.leak(),
        given: given.leak(),
        number: document.leak(),
        born,
        issued,
        expires,
        sex: ['M', 'F'][below(2)],
    }
}

/// The holder as a forger prints them, and the name of the field that was edited: the year of birth or expiry, the
/// surname, or one character of the number, in turn.
fn edit(holder: &Person, number: u64, seed: u64) -> (Person, &'static str) {
    let mut random = Random(seed.wrapping_mul(7_000_003).wrapping_add(number));
    let mut below = |limit: usize| ((random.within(0.5) + 0.5) * limit as f32) as usize % limit;
    let mut printed = holder.clone();
    let field = match number % 4 {
        0 => {
            // Older, as a minor wants to be.
            printed.born.year -= 1 + below(8) as u16;
            "birthDate"
        }
        1 => {
            printed.expires.year += 1 + below(8) as u16;
            "expiryDate"
        }
        2 => {
            printed.surname = ["MORROW", "ABERDEEN", "TIKHONOVA", "QUILL"][below(4)];
            "lastName"
        }
        _ => {
            let at = below(holder.number.len());
            let character = |old: char| if "47TRKP".contains(old) { 'H' } else { '4' };
            let edited: String = holder
                .number
                .char_indices()
                .map(|(place, old)| if place == at { character(old) } else { old })
                .collect();
            printed.number = edited.leak();
            "documentNumber"
        }
    };
    (printed, field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_changes_the_field_that_it_names() {
        for number in 0..40 {
            let holder = holder(number, 1);
            let (printed, field) = edit(&holder, number, 1);
            let changed = [
                (printed.born.year < holder.born.year, "birthDate"),
                (printed.expires.year > holder.expires.year, "expiryDate"),
                (printed.surname != holder.surname, "lastName"),
                (printed.number != holder.number, "documentNumber"),
            ];
            for (is_changed, name) in changed {
                assert_eq!(is_changed, name == field, "{number}: {name}");
            }
        }
    }

    #[test]
    fn numbers_have_the_characters_that_are_confused() {
        let numbers: String = (0..40).map(|number| holder(number, 1).number).collect();
        assert!("0O1I2Z5S8B".chars().all(|c| numbers.contains(c)), "{numbers}");
        assert_ne!(holder(3, 1).number, holder(3, 2).number);
        assert_eq!(holder(3, 1).number, holder(3, 1).number);
    }
}
