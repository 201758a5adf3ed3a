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
            });
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

/// What else may be printed where a character was read, with its share: (a, b, b printed for a read, a for b).
///
/// 0 and O, 1 and I differ little in OCR-B and not at all to a reader trained on common print. A filler is taken for a
/// letter more often than a letter for a filler, of which there are many. The rest are smudges.
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
