//! The outcome of a screening for each customer of a file, as a row of a table and as counts. A customer who cannot be
//! screened has an outcome of its own and is never clear.

use crate::customers::Customer;
use crate::screener::{Hit, ScreenOptions, Screener};

/// The names of the table's columns; see [`ScreenedCustomer::row`].
pub const COLUMNS: [&str; 12] = [
    "line",
    "id",
    "name",
    "outcome",
    "hits",
    "best_score",
    "best_name",
    "best_id",
    "lists",
    "topics",
    "reason",
    "not_used",
];

/// The outcome for a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A hit's entry is sanctioned.
    Match,
    /// There are only hits of other kinds, such as politically exposed persons.
    Hit,
    /// There is no hit.
    Clear,
    /// The row cannot be screened.
    NotScreened,
}

impl Outcome {
    /// The word in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Match => "match",
            Outcome::Hit => "hit",
            Outcome::Clear => "clear",
            Outcome::NotScreened => "not-screened",
        }
    }
}

/// A screened customer.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenedCustomer {
    /// The customer.
    pub customer: Customer,
    /// The outcome.
    pub outcome: Outcome,
    /// The best hits, at most as many as the options allow.
    pub hits: Vec<Hit>,
    /// The number of all hits.
    pub total: usize,
    /// Why the customer was not screened; else empty.
    pub reason: String,
}

impl ScreenedCustomer {
    /// Screens a customer.
    pub fn new(screener: &Screener, options: &ScreenOptions, customer: Customer) -> ScreenedCustomer {
        let result = match &customer.query {
            Ok(query) => screener.screen(query, options).map_err(|error| error.to_string()),
            Err(reason) => Err(reason.clone()),
        };
        let (outcome, hits, total, reason) = match result {
            Err(reason) => (Outcome::NotScreened, Vec::new(), 0, reason),
            Ok(result) => {
                let outcome = match &result.results[..] {
                    [] => Outcome::Clear,
                    hits if hits.iter().any(|hit| hit.matched) => Outcome::Match,
                    _ => Outcome::Hit,
                };
                (outcome, result.results, result.total.value, String::new())
            }
        };
        ScreenedCustomer {
            customer,
            outcome,
            hits,
            total,
            reason,
        }
    }

    /// The row of the table, with the columns of [`COLUMNS`]. Whoever writes it must keep spreadsheets from reading cells
    /// as formulas.
    pub fn row(&self) -> [String; COLUMNS.len()] {
        let best = self.hits.first();
        let of_best = |text: fn(&Hit) -> String| best.map(text).unwrap_or_default();
        [
            self.customer.line.to_string(),
            self.customer.id.clone(),
            self.customer.name.clone(),
            self.outcome.as_str().to_owned(),
            self.total.to_string(),
            of_best(|hit| format!("{:.3}", hit.score)),
            of_best(|hit| hit.caption.clone()),
            of_best(|hit| hit.id.clone()),
            of_best(|hit| hit.datasets.join("; ")),
            of_best(|hit| hit.topics.join("; ")),
            self.reason.clone(),
            self.customer.unused.join("; "),
        ]
    }
}

/// How many customers had each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// All customers.
    pub all: u64,
    /// Those with [`Outcome::Match`].
    pub matches: u64,
    /// Those with [`Outcome::Hit`].
    pub hits: u64,
    /// Those with [`Outcome::Clear`].
    pub clear: u64,
    /// Those with [`Outcome::NotScreened`].
    pub not_screened: u64,
}

impl OutcomeCounts {
    /// Counts a customer.
    pub fn add(&mut self, outcome: Outcome) {
        self.all += 1;
        *match outcome {
            Outcome::Match => &mut self.matches,
            Outcome::Hit => &mut self.hits,
            Outcome::Clear => &mut self.clear,
            Outcome::NotScreened => &mut self.not_screened,
        } += 1;
    }
}
