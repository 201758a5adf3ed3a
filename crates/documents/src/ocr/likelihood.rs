//! How likely a text is on a line, by the recogniser's output. This module never decides which text is printed.

use super::ctc::{Emissions, SYMBOLS};

impl Emissions {
    /// The natural logarithm of the probability that the line shows exactly the characters of a text that are MRZ
    /// symbols, summed over all alignments (CTC's forward algorithm). Other characters of the line count as barely
    /// possible blanks, so that only texts of one line can be compared. `None` if the line has too few steps.
    pub(crate) fn text_log_likelihood(&self, text: &str) -> Option<f64> {
        let symbols: Vec<usize> = text
            .chars()
            .filter_map(|c| {
                SYMBOLS
                    .iter()
                    .position(|&symbol| symbol == c.to_ascii_uppercase())
            })
            .collect();
        // Even states are blanks, and odd ones the characters between them.
        let states = 2 * symbols.len() + 1;
        let mut now = vec![0.0; states];
        now[0] = 1.0;
        let mut log_likelihood = 0.0;
        for t in 0..self.steps() {
            let probabilities = self.symbols_at(t);
            let mut next = vec![0.0; states];
            for (state, value) in next.iter_mut().enumerate() {
                let symbol = (state % 2 == 1).then(|| symbols[state / 2]);
                let mut from = now[state] + state.checked_sub(1).map_or(0.0, |before| now[before]);
                // A blank may be left out between two different characters.
                if let (Some(symbol), true) = (symbol, state >= 3)
                    && symbols[state / 2 - 1] != symbol
                {
                    from += now[state - 2];
                }
                *value = from * symbol.map_or_else(|| self.blank_at(t), |symbol| probabilities[symbol]);
            }
            let sum: f64 = next.iter().sum();
            if sum <= f64::MIN_POSITIVE {
                return None;
            }
            for value in &mut next {
                *value /= sum;
            }
            log_likelihood += sum.ln();
            now = next;
        }
        let last = states - 1;
        let reached = now[last] + last.checked_sub(1).map_or(0.0, |before| now[before]);
        (reached > f64::MIN_POSITIVE).then(|| log_likelihood + reached.ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::ctc::SYMBOL_COUNT;
    use proptest::prelude::*;

    fn emissions(steps: &[&[(char, f32)]]) -> Emissions {
        let mut emissions = Emissions::default();
        for step in steps {
            let mut symbols = [0.0; SYMBOL_COUNT];
            for (c, p) in *step {
                symbols[SYMBOLS.iter().position(|s| s == c).unwrap()] = *p;
            }
            emissions.push(1.0 - symbols.iter().sum::<f32>(), symbols);
        }
        emissions
    }

    #[test]
    fn a_text_is_as_likely_as_its_characters() {
        let line = emissions(&[&[('A', 1.0)], &[], &[('O', 0.6), ('D', 0.3)], &[]]);
        let likelihood = |text: &str| line.text_log_likelihood(text).unwrap();
        assert!((likelihood("AO") - 0.6f64.ln()).abs() < 1e-3);
        assert!((likelihood("AD") - 0.3f64.ln()).abs() < 1e-3);
        assert!((likelihood("A") - 0.1f64.ln()).abs() < 1e-3);
        assert!(likelihood("AX") < -9.0);
        // Small letters and other characters.
        assert_eq!(likelihood("a-o"), likelihood("AO"));
    }

    #[test]
    fn equal_neighbours_need_a_blank() {
        let touching = emissions(&[&[('S', 1.0)], &[('S', 1.0)]]);
        assert!(touching.text_log_likelihood("SS").is_none_or(|l| l < -9.0));
        assert!(touching.text_log_likelihood("S").unwrap().abs() < 1e-3);
        assert_eq!(touching.text_log_likelihood("SASA"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_survived(values in prop::collection::vec(0f32..=1.0, 0..30), text in "[A-Z ]{0,12}") {
            let steps: Vec<Vec<(char, f32)>> = values.iter().map(|p| vec![('A', *p)]).collect();
            let steps: Vec<&[(char, f32)]> = steps.iter().map(Vec::as_slice).collect();
            let likelihood = emissions(&steps).text_log_likelihood(&text);
            prop_assert!(likelihood.is_none_or(f64::is_finite));
        }
    }
}
