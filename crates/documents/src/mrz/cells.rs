//! What optical reading says of one character: candidates with probabilities. Also what such reading tends to confuse,
//! so that a lone certain answer is never taken for more certain than it is.

use super::parse::in_alphabet;

/// One printed character as an optical reader saw it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// Possible characters with natural-log probabilities, in any order. Characters no zone may hold are ignored.
    pub candidates: Vec<(char, f32)>,
}

/// The cells of one line, left to right. A cell too many or too few in a run of fillers is mended by `repair`.
pub type Line = Vec<Cell>;

/// Cells of text with one confidence (0–1) per character; missing confidences count as 0.9.
///
/// Blanks vanish, small letters are read as capitals, guillemets and brackets as the fillers that they are mistaken for.
pub fn cells(text: &str, confidences: &[f32]) -> Line {
    let mut line = Line::new();
    for (i, c) in text.chars().enumerate() {
        let p = confidences.get(i).copied().unwrap_or(0.9).clamp(0.01, 1.0);
        let mut push = |c: char, p: f32| {
            line.push(Cell {
                candidates: vec![(c, p.ln())],
            })
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
            _ if in_alphabet(c) => push(c, p),
            _ if in_alphabet(c.to_ascii_uppercase()) => push(c.to_ascii_uppercase(), p.min(0.9)),
            // An accent is dirt; anything else is a cell about which little is known.
            _ => match any_ascii::any_ascii_char(c)
                .chars()
                .next()
                .map(|c| c.to_ascii_uppercase())
            {
                Some(c) if in_alphabet(c) => push(c, p.min(0.5)),
                _ => push('<', 0.05),
            },
        }
    }
    line
}

/// How often a reader takes one character for the other, either way: 0 and O, 1 and I differ little in OCR-B and not at
/// all to a reader trained on common print; the others are smudges.
const CONFUSED: &[(char, char, f32)] = &[
    ('0', 'O', 0.2),
    ('0', 'D', 0.01),
    ('0', 'Q', 0.01),
    ('O', 'D', 0.005),
    ('O', 'Q', 0.005),
    ('1', 'I', 0.1),
    ('1', 'L', 0.005),
    ('I', 'L', 0.003),
    ('1', '7', 0.002),
    ('2', 'Z', 0.01),
    ('5', 'S', 0.01),
    ('8', 'B', 0.01),
    ('6', 'G', 0.001),
    ('4', 'A', 0.001),
    ('3', '8', 0.0005),
    ('5', '6', 0.0005),
    ('6', '8', 0.0005),
    ('8', 'S', 0.0003),
    ('5', 'Z', 0.0001),
    ('<', 'K', 0.001),
    ('<', 'C', 0.001),
    ('<', 'L', 0.0005),
    ('<', 'E', 0.0005),
    ('<', 'X', 0.0005),
    ('N', 'Ñ', 0.0002),
    ('U', 'V', 0.0005),
    ('V', 'Y', 0.0003),
    ('M', 'N', 0.0002),
    ('H', 'N', 0.0002),
    ('E', 'F', 0.0002),
    ('P', 'R', 0.0002),
    ('C', 'G', 0.0003),
];

/// A candidate less likely than this is dropped.
const LEAST: f32 = 1e-6;

impl Cell {
    /// The candidates with what a reader tends to confuse mixed in, likeliest first. Probabilities are made to sum to
    /// at most one.
    pub(super) fn softened(&self) -> Vec<(char, f32)> {
        let mut mixed: Vec<(char, f32)> = Vec::new();
        let mut add = |c: char, p: f32| match mixed.iter_mut().find(|(known, _)| *known == c) {
            Some((_, sum)) => *sum += p,
            None => mixed.push((c, p)),
        };
        let usable = |&&(c, p): &&(char, f32)| in_alphabet(c) && !p.is_nan();
        let total: f32 = self
            .candidates
            .iter()
            .filter(usable)
            .map(|&(_, p)| p.min(0.0).exp())
            .sum();
        for &(c, p) in self.candidates.iter().filter(usable) {
            let p = p.min(0.0).exp() / total.max(1.0);
            let mut left = p;
            for &(a, b, share) in CONFUSED {
                let other = if a == c {
                    b
                } else if b == c {
                    a
                } else {
                    continue;
                };
                add(other, p * share);
                left -= p * share;
            }
            add(c, left);
        }
        mixed.retain(|&(_, p)| p >= LEAST);
        mixed.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (_, p) in &mut mixed {
            *p = p.ln();
        }
        mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_cells_of_the_alphabet() {
        let shown: String = cells("P<utO É«( ñ＜1", &[])
            .iter()
            .map(|c| c.candidates[0].0)
            .collect();
        assert_eq!(shown, "P<UTOE<<<Ñ<1");
    }

    #[test]
    fn softening_adds_doubts_and_keeps_the_order() {
        let cell = Cell {
            candidates: vec![('O', 0.0), ('é', 0.0), ('7', f32::NAN)],
        };
        let mixed = cell.softened();
        assert_eq!(mixed[0].0, 'O');
        assert_eq!(mixed[1].0, '0');
        let total: f32 = mixed.iter().map(|(_, p)| p.exp()).sum();
        assert!((0.99..=1.001).contains(&total));
        assert_eq!(Cell::default().softened(), []);
        let much = Cell {
            candidates: vec![('A', 5.0), ('B', f32::INFINITY)],
        };
        assert!(much.softened().iter().all(|(_, p)| *p <= 0.001));
    }
}
