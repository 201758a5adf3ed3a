//! The usual figures: precision and recall, error rates with their confidence limits, TAR at a FAR. The
//! functions are pure.

use serde_json::{Map, Value, json};

/// Sections of figures, by name.
pub(in crate::cli) type Report = Map<String, Value>;

/// Counts of yes-or-no predictions compared with the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Tally {
    /// Correct yes.
    pub(in crate::cli) true_positive: u64,
    /// Wrong yes.
    pub(in crate::cli) false_positive: u64,
    /// Wrong no.
    pub(in crate::cli) false_negative: u64,
    /// Correct no.
    pub(in crate::cli) true_negative: u64,
}

impl Tally {
    pub(in crate::cli) fn add(&mut self, truth: bool, answer: bool) {
        *match (truth, answer) {
            (true, true) => &mut self.true_positive,
            (false, true) => &mut self.false_positive,
            (true, false) => &mut self.false_negative,
            (false, false) => &mut self.true_negative,
        } += 1;
    }

    /// The share of positive predictions that are correct; `None` if there is none.
    pub(in crate::cli) fn precision(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_positive)
    }

    /// The share of positive cases that were predicted; `None` if there is none.
    pub(in crate::cli) fn recall(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    /// The harmonic mean of precision and recall.
    pub(in crate::cli) fn f1(&self) -> Option<f64> {
        let wrong = self.false_positive + self.false_negative;
        share(2 * self.true_positive, 2 * self.true_positive + wrong)
    }

    pub(in crate::cli) fn json(&self) -> Value {
        json!({
            "pairs": self.true_positive + self.false_positive + self.false_negative + self.true_negative,
            "precision": rounded(self.precision()),
            "recall": rounded(self.recall()),
            "f1": rounded(self.f1()),
            "truePositive": self.true_positive,
            "falsePositive": self.false_positive,
            "falseNegative": self.false_negative,
            "trueNegative": self.true_negative,
        })
    }
}

/// A part divided by the whole; `None` if the whole is 0.
pub(in crate::cli) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Rounds to four significant digits, which is more precision than any sample supports.
pub(in crate::cli) fn rounded(figure: Option<f64>) -> Option<f64> {
    let figure = figure?;
    if figure == 0.0 {
        return Some(0.0);
    }
    let scale = 10_f64.powi(3 - figure.abs().log10().floor() as i32);
    Some((figure * scale).round() / scale)
}

/// The exact (Clopper-Pearson) one-sided 95 % upper limit of an error rate, after `errors` in `trials`.
pub(in crate::cli) fn upper_limit(errors: u64, trials: u64) -> Option<f64> {
    limit_above(errors, trials, 0.05)
}

/// The exact (Clopper-Pearson) two-sided 95 % interval of a share, after `part` in `whole`.
pub(in crate::cli) fn interval(part: u64, whole: u64) -> Option<[f64; 2]> {
    let others = whole.checked_sub(part)?;
    Some([
        1.0 - limit_above(others, whole, 0.025)?,
        limit_above(part, whole, 0.025)?,
    ])
}

/// The rate at which `errors` or fewer errors in `trials` have this probability.
fn limit_above(errors: u64, trials: u64, probability: f64) -> Option<f64> {
    if trials == 0 || errors > trials {
        return None;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(errors, trials, middle) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// The probability of at most `errors` errors in `trials`, at a rate strictly between 0 and 1.
fn at_most(errors: u64, trials: u64, rate: f64) -> f64 {
    let (n, odds) = (trials as f64, (rate / (1.0 - rate)).ln());
    let mut log_term = n * (1.0 - rate).ln();
    let mut sum = log_term.exp();
    for k in 1..=errors {
        let k = k as f64;
        log_term += ((n - k + 1.0) / k).ln() + odds;
        sum += log_term.exp();
    }
    sum
}

/// The true accept rate and its threshold: the largest threshold that accepts at most the share `far` of the
/// `impostor` distances.
pub(in crate::cli) fn tar_at_far(genuine: &[f32], impostor: &[f32], far: f64) -> Option<(f64, f32)> {
    let mut impostor = impostor.to_vec();
    impostor.sort_by(f32::total_cmp);
    let allowed = (impostor.len() as f64 * far).floor() as usize;
    // Accepted distances are strictly below the first impostor distance that would exceed `far`.
    let threshold = *impostor.get(allowed)?;
    let accepted = genuine.iter().filter(|distance| **distance < threshold).count();
    Some((share(accepted as u64, genuine.len() as u64)?, threshold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_gives_precision_recall_and_f1() {
        let mut tally = Tally::default();
        for (truth, answer, times) in [
            (true, true, 6),
            (false, true, 2),
            (true, false, 4),
            (false, false, 9),
        ] {
            (0..times).for_each(|_| tally.add(truth, answer));
        }
        assert_eq!((tally.precision(), tally.recall()), (Some(0.75), Some(0.6)));
        assert_eq!(rounded(tally.f1()), Some(0.6667));
        assert_eq!(Tally::default().f1(), None, "nothing was measured");
    }

    #[test]
    fn upper_limits_are_the_textbooks() {
        // The rule of three, and values of published tables.
        for (errors, trials, limit) in [
            (0, 100, 0.0295),
            (0, 300, 0.00994),
            (1, 10, 0.3942),
            (5, 50, 0.1988),
            (10, 10, 1.0),
        ] {
            let found = upper_limit(errors, trials).unwrap();
            assert!((found - limit).abs() < 5e-4, "{errors} of {trials}: {found}");
        }
        assert_eq!(upper_limit(0, 0), None);
        assert!(upper_limit(3_000, 1_000_000).unwrap() < 0.0032);
    }

    #[test]
    fn intervals_are_the_textbooks() {
        for (part, whole, low, high) in [
            (5, 10, 0.1871, 0.8129),
            (0, 20, 0.0, 0.1684),
            (95, 100, 0.8872, 0.9836),
        ] {
            let found = interval(part, whole).unwrap();
            assert!(
                (found[0] - low).abs() < 5e-4 && (found[1] - high).abs() < 5e-4,
                "{part} of {whole}: {found:?}"
            );
        }
        assert_eq!(interval(0, 0), None);
        assert_eq!(interval(3, 2), None);
    }

    #[test]
    fn tar_is_taken_below_the_first_impostor_too_many() {
        let impostor = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4];
        let genuine = [0.1, 0.45, 0.55, 0.95];
        assert_eq!(tar_at_far(&genuine, &impostor, 0.0), Some((0.5, 0.5)));
        assert_eq!(tar_at_far(&genuine, &impostor, 0.1), Some((0.75, 0.6)));
        assert_eq!(tar_at_far(&genuine, &[], 0.1), None);
        assert_eq!(tar_at_far(&[], &impostor, 0.1), None);
    }

    #[test]
    fn rounding_keeps_four_digits() {
        for (figure, shown) in [
            (0.0, 0.0),
            (0.123_456, 0.1235),
            (98.765_43, 98.77),
            (0.000_012_345_6, 0.000_012_35),
        ] {
            assert_eq!(rounded(Some(figure)), Some(shown));
        }
    }
}
