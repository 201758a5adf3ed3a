//! The recognition result of one printed character: candidates with probabilities.
//!
//! Text, and the output of recognisers that were not trained on OCR-B, states no doubt between 0 and O. For
//! these, [`Cell::softened`] adds the characters that are often confused, so that a single certain candidate
//! is never overrated.

use super::parse::is_mrz_character;

/// The candidates for one printed character.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Possible characters with natural-log probabilities, in any order. Characters outside the MRZ alphabet
    /// are ignored.
    pub candidates: Vec<(char, f32)>,
    /// Whether recognition saw no character here. Such a cell exists only because a line has a fixed number of
    /// characters: glare may cover the character, or recognition may have lost a filler.
    pub is_unseen: bool,
}

/// The cells of one line, left to right. `repair` corrects missing and surplus cells in a run of fillers.
pub type Line = Vec<Cell>;

/// Creates cells from text with one confidence (0–1) per character; missing confidences count as 0.9.
///
/// Blanks are dropped and small letters become capitals. Guillemets and brackets become the fillers for which
/// they are misread.
pub fn cells(text: &str, confidences: &[f32]) -> Line {
    let mut line = Line::new();
    for (i, c) in text.chars().enumerate() {
        let p = confidences.get(i).copied().unwrap_or(0.9).clamp(0.01, 1.0);
        let mut push = |c: char, p: f32| {
            let cell = Cell {
                candidates: vec![(c, p.ln())],
                is_unseen: false,
            };
            line.push(cell.softened());
        };
        match c {
            '«' | '《' | '≪' | '⟪' => {
                push('<', p);
                push('<', p);
            }
            '‹' | '〈' | '⟨' | 'く' | 'ㄑ' | '＜' => push('<', p),
            '(' | '[' | '{' | '（' | '∠' => push('<', p.min(0.5)),
            'ñ' => push('Ñ', p),
            _ if c.is_whitespace() => {}
            _ if is_mrz_character(c) => push(c, p),
            _ if is_mrz_character(c.to_ascii_uppercase()) => push(c.to_ascii_uppercase(), p.min(0.9)),
            // An accented letter loses its accent; any other character becomes a filler of very low
            // probability.
            _ => match any_ascii::any_ascii_char(c)
                .chars()
                .next()
                .map(|c| c.to_ascii_uppercase())
            {
                Some(c) if is_mrz_character(c) => push(c, p.min(0.5)),
                _ => push('<', 0.05),
            },
        }
    }
    line
}

/// Pairs of characters that recognition confuses, as (a, b, share of b if a was read, share of a if b was
/// read).
///
/// 0 and O, and 1 and I, differ little in OCR-B, and not at all for a recogniser trained on other fonts. The
/// factors for `<` are asymmetric, because fillers are frequent: more fillers are misread as letters than
/// letters as fillers. The other pairs result from smudges.
const CONFUSED: &[(char, char, f32, f32)] = &[
    ('0', 'O', 0.1, 0.3),
    ('0', 'D', 0.001, 0.003),
    ('0', 'Q', 0.0005, 0.01),
    ('O', 'D', 0.002, 0.002),
    ('O', 'Q', 0.001, 0.005),
    ('1', 'I', 0.05, 0.2),
    ('1', 'L', 0.0005, 0.002),
    ('I', 'L', 0.001, 0.001),
    ('1', '7', 0.0005, 0.0005),
    ('2', 'Z', 0.001, 0.003),
    ('5', 'S', 0.001, 0.003),
    ('8', 'B', 0.001, 0.003),
    ('6', 'G', 0.0003, 0.001),
    ('4', 'A', 0.0003, 0.001),
    ('3', '8', 0.0003, 0.0003),
    ('5', '6', 0.0003, 0.0003),
    ('6', '8', 0.0003, 0.0003),
    ('8', 'S', 0.0002, 0.001),
    ('5', 'Z', 0.0001, 0.0005),
    ('<', 'K', 0.0002, 0.003),
    ('<', 'C', 0.0001, 0.001),
    ('<', 'L', 0.0001, 0.0005),
    ('<', 'E', 0.0001, 0.0005),
    ('<', 'S', 0.0001, 0.0005),
    ('<', 'X', 0.0001, 0.0005),
    ('N', 'Ñ', 0.0001, 0.01),
    ('U', 'V', 0.0002, 0.0002),
    ('V', 'Y', 0.0002, 0.0002),
    ('M', 'N', 0.0001, 0.0001),
    ('H', 'N', 0.0001, 0.0001),
    ('E', 'F', 0.0001, 0.0001),
    ('P', 'R', 0.0001, 0.0001),
    ('C', 'G', 0.0002, 0.0002),
];

/// Softened candidates with a lower probability are dropped.
const LEAST: f32 = 1e-6;

impl Cell {
    /// The usable candidates, likeliest first, with log probabilities of at most 0.
    pub(super) fn sorted(&self) -> Vec<(char, f32)> {
        let mut sorted: Vec<(char, f32)> = self
            .candidates
            .iter()
            .filter(|(c, p)| is_mrz_character(*c) && !p.is_nan())
            .map(|&(c, p)| (c, p.min(0.0)))
            .collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        sorted
    }

    /// The cell with the likely confusions of its candidates. The probabilities sum to at most one.
    #[must_use]
    pub(crate) fn softened(&self) -> Self {
        let mut mixed: Vec<(char, f32)> = Vec::new();
        let mut add = |c: char, p: f32| match mixed.iter_mut().find(|(known, _)| *known == c) {
            Some((_, sum)) => *sum += p,
            None => mixed.push((c, p)),
        };
        let usable = self.sorted();
        let total: f32 = usable.iter().map(|(_, p)| p.exp()).sum();
        for (c, p) in usable {
            let p = p.exp() / total.max(1.0);
            let mut left = p;
            for &(a, b, b_for_a, a_for_b) in CONFUSED {
                let (other, share) = match c {
                    _ if c == a => (b, b_for_a),
                    _ if c == b => (a, a_for_b),
                    _ => continue,
                };
                add(other, p * share);
                left -= p * share;
            }
            add(c, left);
        }
        mixed.retain(|&(_, p)| p >= LEAST);
        for (_, p) in &mut mixed {
            *p = p.ln();
        }
        Self {
            candidates: mixed,
            is_unseen: self.is_unseen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_cells_of_the_alphabet() {
        let shown: String = cells("P<utO É«( ñ＜1", &[])
            .iter()
            .map(|c| c.sorted()[0].0)
            .collect();
        assert_eq!(shown, "P<UTOE<<<Ñ<1");
    }

    #[test]
    fn softening_adds_doubts_and_keeps_the_order() {
        let cell = Cell {
            candidates: vec![('O', 0.0), ('é', 0.0), ('7', f32::NAN)],
            ..Cell::default()
        };
        let mixed = cell.softened().sorted();
        assert_eq!(mixed[0].0, 'O');
        assert_eq!(mixed[1].0, '0');
        let total: f32 = mixed.iter().map(|(_, p)| p.exp()).sum();
        assert!((0.99..=1.001).contains(&total));
        assert_eq!(Cell::default().softened(), Cell::default());
        let much = Cell {
            candidates: vec![('A', 5.0), ('B', f32::INFINITY)],
            ..Cell::default()
        };
        assert!(much.softened().sorted().iter().all(|(_, p)| *p <= 0.001));
    }
}
