//! Finds the part of a row that a zone's characters take up, by their even spacing. Around it there may be the edge of
//! the document, or other text. This module never decides what a character is.

use super::ctc::Emissions;

/// The largest part of a row whose characters are evenly spaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RegularRun {
    /// Where it begins and ends along the row, 0–1, with a margin of half a character's distance; slightly outside if
    /// its outermost character is at the edge.
    pub(crate) start: f32,
    pub(crate) end: f32,
    /// The usual distance of its characters, as a share of the row.
    pub(crate) pitch: f32,
    /// The mean certainty of its characters, 0–1.
    pub(crate) certainty: f32,
    /// The number of its characters.
    pub(crate) characters: usize,
}

/// A larger gap between characters, in their usual distance, ends the run.
const MAX_GAP: f32 = 2.3;
/// A run of fewer characters has no spacing to speak of.
const LEAST_CHARACTERS: usize = 8;

/// The usual distance at a place is that of so many gaps on each side of it.
const NEIGHBOURS: usize = 4;

impl Emissions {
    /// The run with the most certain characters; `None` if there are too few.
    pub(crate) fn regular_run(&self) -> Option<RegularRun> {
        let seen = self.characters();
        let gaps: Vec<f32> = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        // In perspective, the distance changes along the row.
        let usual =
            |at: usize| median(&gaps[at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(gaps.len())]);
        let mut runs: Vec<&[(f32, f32)]> = Vec::new();
        let mut first = 0;
        for (at, gap) in gaps.iter().enumerate() {
            if usual(at).is_some_and(|usual| *gap > MAX_GAP * usual) {
                runs.push(&seen[first..=at]);
                first = at + 1;
            }
        }
        runs.push(&seen[first..]);
        let sum = |run: &[(f32, f32)]| run.iter().map(|(_, p)| p).sum::<f32>();
        let best = runs.into_iter().max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
        let pitch = median(&gaps)?;
        let (first, last) = (best.first()?.0, best.last()?.0);
        if best.len() < LEAST_CHARACTERS {
            return None;
        }
        let steps = self.steps() as f32;
        Some(RegularRun {
            start: (first + 0.5 - pitch) / steps,
            end: (last + 0.5 + pitch) / steps,
            pitch: pitch / steps,
            certainty: sum(best) / best.len() as f32,
            characters: best.len(),
        })
    }
}

fn median(values: &[f32]) -> Option<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::super::ctc::SYMBOL_COUNT;
    use super::*;

    /// Characters at these steps, each one step long.
    fn emissions(at: &[usize], steps: usize, certainty: f32) -> Emissions {
        let mut emissions = Emissions::default();
        for t in 0..steps {
            let is_shown = at.contains(&t);
            let mut symbols = [0.0; SYMBOL_COUNT];
            symbols[t % 30] = if is_shown { certainty } else { 0.0 };
            emissions.push(if is_shown { 0.1 } else { 1.0 }, symbols);
        }
        emissions
    }

    #[test]
    fn a_run_ends_where_its_spacing_does() {
        let zone: Vec<usize> = (20..140).step_by(6).collect();
        let with_others: Vec<usize> = [2, 5].into_iter().chain(zone.clone()).chain([160, 166]).collect();
        let run = emissions(&with_others, 200, 0.9).regular_run().unwrap();
        assert_eq!(run.characters, 20);
        assert!((run.start - 14.5 / 200.0).abs() < 1e-4 && (run.end - 140.5 / 200.0).abs() < 1e-4);
        assert!((run.pitch - 0.03).abs() < 1e-4 && (run.certainty - 0.9).abs() < 1e-4);
        // One covered character does not end it.
        let covered: Vec<usize> = zone.iter().copied().filter(|t| *t != 62).collect();
        assert_eq!(
            emissions(&covered, 200, 0.9).regular_run().unwrap().characters,
            19
        );
        // In perspective, the distance grows from 3 to 8.
        let mut at = 4.0;
        let tapered: Vec<usize> = (0..30)
            .map(|i| {
                at += 3.0 + 5.0 * i as f32 / 30.0;
                at as usize
            })
            .collect();
        assert_eq!(
            emissions(&tapered, 200, 0.9).regular_run().unwrap().characters,
            30
        );
    }

    #[test]
    fn few_characters_are_no_run() {
        assert_eq!(emissions(&[3, 9, 15], 40, 0.9).regular_run(), None);
        assert_eq!(emissions(&[], 0, 0.9).regular_run(), None);
    }
}
