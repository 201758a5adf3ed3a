//! Renders flat documents with a machine-readable zone and their `mrz.tsv`, for
//! `bonafide eval documents --renderings`. Unlike the specimens, their numbers have every character, also those that
//! recognition confuses. They show no face.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use imaging::Picture;

use super::camera::Random;
use super::canvas::Fonts;
use super::cast::{day, further_person};
use super::documents::{self, PORTRAIT};
use super::mrz;
use super::person::Person;

/// The most documents that are rendered. `further_person` has names for a few more.
const MOST: usize = 400;

/// Renders `count` documents into `out`: passports, larger ID cards and the backs of smaller ones in turn.
pub(crate) fn run(count: usize, seed: u64, out: &Path) -> Result<()> {
    ensure!(count <= MOST, "--count: at most {MOST}");
    let fonts = Fonts::load()?;
    let pictures = out.join("mrz");
    fs::create_dir_all(&pictures).with_context(|| format!("creating {}", pictures.display()))?;
    let [width, height] = PORTRAIT;
    let portrait = Picture::filled(width, height, [206, 206, 210]);
    let mut table = String::from("file\texpected\tcheck_digits\n");
    for number in 0..count {
        let holder = holder(number, seed);
        let (kind, lines, picture) = match number % 3 {
            0 => {
                let lines = mrz::td3(&holder);
                let picture = documents::passport(&fonts, &holder, Some(&lines), &portrait);
                ("passport", lines, picture)
            }
            1 => {
                let lines = mrz::td2(&holder);
                let picture = documents::large_id_front(&fonts, &holder, &lines, &portrait);
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
        table += &format!("{file}\t{}\tall valid\n", lines.join("|"));
    }
    fs::write(out.join("mrz.tsv"), table)?;
    eprintln!("specimens: {count} flat documents in {}", out.display());
    Ok(())
}

/// A holder whose number, dates and sex are drawn at random.
fn holder(number: usize, seed: u64) -> Person {
    const CHARACTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let mut below = |limit: usize| ((random.within(0.5) + 0.5) * limit as f32) as usize % limit;
    // Letters and digits stand in any order, as in the numbers of many states.
    let document: String = (0..9)
        .map(|_| char::from(CHARACTERS[below(CHARACTERS.len())]))
        .collect();
    let mut date = |first: u16, years: usize| {
        day(
            first + below(years) as u16,
            1 + below(12) as u8,
            1 + below(28) as u8,
        )
    };
    let (born, issued, expires) = (date(1940, 60), date(2018, 6), date(2027, 8));
    Person {
        // A program for one run needs no owner for its few hundred numbers.
        number: document.leak(),
        born,
        issued,
        expires,
        sex: ['M', 'F'][below(2)],
        ..further_person(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_characters_that_are_confused() {
        let numbers: String = (0..40).map(|number| holder(number, 1).number).collect();
        assert!("0O1I2Z5S8B".chars().all(|c| numbers.contains(c)), "{numbers}");
        assert_ne!(holder(3, 1).number, holder(3, 2).number);
        assert_eq!(holder(3, 1).number, holder(3, 1).number);
    }
}
