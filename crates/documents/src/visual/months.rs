//! Names of months, folded to ASCII capitals: complete, abbreviated and in the genitive.
//!
//! Source: Unicode CLDR 48, calendar `gregorian`, widths `wide` and `abbreviated`, of the languages en, de, fr, es,
//! it, pt, ca, gl, eu, nl, da, sv, nb, nn, is, fo, fi, et, lv, lt, pl, cs, sk, sl, hr, bs, sr, mk, bg, ro, hu, sq, el,
//! tr, az, uz, ru, uk, hy, ka, mt, ga, ms, id, tl, vi, sw and af.
//!
//! A word that names two months has both: `LISTOPAD` is October in Croatian and November in Polish. This module never
//! guesses between them.

use std::sync::LazyLock;

/// Columns: month, names.
const TABLE: &str = include_str!("months.tsv");

/// The words by month, January first, each list sorted.
pub(super) static MONTHS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, names)| names.split(", ").collect())
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_twelve_months_of_folded_names() {
        assert_eq!(MONTHS.len(), 12);
        for names in MONTHS.iter() {
            assert!(names.len() > 30 && names.is_sorted());
            assert!(
                names
                    .iter()
                    .all(|name| name.bytes().all(|b| b.is_ascii_uppercase()))
            );
        }
    }
}
