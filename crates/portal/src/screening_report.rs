//! The report on the screening of a file of customers: an HTML page by itself, for people to read, print and file. It
//! screens nothing. The command line and the portal write the same report.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use askama::Template;
use sanctions::customer_results::{Outcome, OutcomeCounts, ScreenedCustomer};
use sanctions::customers::Customer;
use sanctions::{Hit, ListStatus, Profile};

/// Customers whose hits the report shows.
const MOST_SHOWN: usize = 1_000;
/// Customers who were not screened that the report shows.
const MOST_UNSCREENED: usize = 1_000;
/// Hits of a customer in the report.
const MOST_HITS: usize = 5;

/// A customer in the report.
struct ShownCustomer {
    line: u64,
    id: String,
    name: String,
    /// The customer's other values that were searched.
    details: String,
    outcome: Outcome,
    more: usize,
    hits: Vec<ShownHit>,
}

/// A hit in the report.
struct ShownHit {
    score: String,
    caption: String,
    id: String,
    lists: String,
    /// Topics and programmes.
    listed_for: String,
    /// Facts of the listing by label.
    facts: Vec<(&'static str, String)>,
    /// The parts of the score.
    reasons: Vec<String>,
}

/// The page.
#[derive(Template)]
#[template(path = "screening-report.html")]
struct ReportPage<'a> {
    about: &'a AboutReport<'a>,
    made_at: String,
    version: &'static str,
    counts: OutcomeCounts,
    shown: Vec<ShownCustomer>,
    /// Customers with hits that are not shown.
    more: u64,
    not_screened: Vec<(u64, String, String)>,
    more_not_screened: u64,
    /// Rows whose value of a column was not used, by column.
    unused: BTreeMap<String, u64>,
}

/// What a report states about its screening.
pub struct AboutReport<'a> {
    /// The file's name.
    pub file: &'a str,
    /// The lowest score of a hit.
    pub threshold: f64,
    /// Which entries are hits.
    pub profile: Profile,
    /// The lists that were searched.
    pub lists: &'a [ListStatus],
    /// The columns that mean nothing for a screening.
    pub ignored: &'a str,
}

/// Collects what a report shows of each customer.
#[derive(Default)]
pub struct ScreeningReport {
    counts: OutcomeCounts,
    shown: Vec<ShownCustomer>,
    not_screened: Vec<(u64, String, String)>,
    unused: BTreeMap<String, u64>,
}

impl ScreeningReport {
    /// Adds a customer.
    pub fn add(&mut self, screened: ScreenedCustomer) {
        self.counts.add(screened.outcome);
        for column in &screened.customer.unused {
            *self.unused.entry(column.clone()).or_default() += 1;
        }
        match screened.outcome {
            Outcome::Match | Outcome::Hit if self.shown.len() < MOST_SHOWN => {
                self.shown.push(shown_customer(screened));
            }
            Outcome::NotScreened if self.not_screened.len() < MOST_UNSCREENED => {
                let Customer { line, id, name, .. } = screened.customer;
                let who = if id.is_empty() { name } else { id };
                self.not_screened.push((line, who, screened.reason));
            }
            _ => {}
        }
    }

    /// How many customers had each outcome.
    pub fn counts(&self) -> OutcomeCounts {
        self.counts
    }

    /// The number of rows whose value of a column was not used because it cannot be read, by column.
    pub fn unused(&self) -> &BTreeMap<String, u64> {
        &self.unused
    }

    /// The page.
    ///
    /// # Errors
    /// When it cannot be rendered.
    pub fn render(self, about: &AboutReport<'_>) -> Result<String, askama::Error> {
        let counts = self.counts;
        let page = ReportPage {
            about,
            made_at: format!("{:.0}", jiff::Timestamp::now()),
            version: env!("CARGO_PKG_VERSION"),
            counts,
            more: (counts.matches + counts.hits).saturating_sub(self.shown.len() as u64),
            more_not_screened: counts.not_screened.saturating_sub(self.not_screened.len() as u64),
            shown: in_order(self.shown),
            not_screened: self.not_screened,
            unused: self.unused,
        };
        page.render()
    }
}

/// Matches first, each kind by falling score, then in the file's order.
fn in_order(mut shown: Vec<ShownCustomer>) -> Vec<ShownCustomer> {
    shown.sort_by(|a, b| {
        let score = |customer: &ShownCustomer| customer.hits.first().map(|hit| hit.score.clone());
        a.outcome.cmp(&b.outcome).then_with(|| score(b).cmp(&score(a)))
    });
    shown
}

fn shown_customer(screened: ScreenedCustomer) -> ShownCustomer {
    let ScreenedCustomer {
        customer,
        outcome,
        hits,
        total,
        ..
    } = screened;
    let mut details = String::new();
    if let Ok(query) = &customer.query {
        let numbers = query.identifiers.iter().map(|number| &number.value);
        let values = [
            &query.dob,
            &query.nationality,
            &query.country,
            &query.gender,
            &query.wallet,
        ];
        for value in values.into_iter().flatten().chain(numbers) {
            // Writing to a string cannot fail.
            let _ = write!(details, "{}{value}", if details.is_empty() { "" } else { " · " });
        }
    }
    ShownCustomer {
        line: customer.line,
        id: customer.id,
        name: customer.name,
        details,
        outcome,
        more: total.saturating_sub(hits.len().min(MOST_HITS)),
        hits: hits.into_iter().take(MOST_HITS).map(shown_hit).collect(),
    }
}

fn shown_hit(hit: Hit) -> ShownHit {
    const FACTS: [(&str, &str); 7] = [
        ("birthDate", "Born"),
        ("nationality", "Nationality"),
        ("country", "Country"),
        ("gender", "Gender"),
        ("alias", "Also known as"),
        ("notes", "Remarks"),
        ("sourceUrl", "Source"),
    ];
    let facts = FACTS.iter().filter_map(|(property, label)| {
        let values = hit.properties.get(*property)?;
        let text: Vec<&str> = values.iter().map(String::as_str).take(6).collect();
        let text: String = text.join(" · ").chars().take(600).collect();
        Some((*label, text)).filter(|(_, text)| !text.is_empty())
    });
    let reasons = hit.explanation.iter().map(|part| {
        let compared = match (part.query.as_str(), part.candidate.as_str()) {
            ("", "") => String::new(),
            (query, candidate) => format!(": {query} ~ {candidate}"),
        };
        format!(
            "{}{compared} ({:+.2})",
            part.feature.replace('_', " "),
            part.score
        )
    });
    let listed_for: Vec<&str> = hit
        .topics
        .iter()
        .chain(&hit.programs)
        .map(String::as_str)
        .collect();
    ShownHit {
        score: format!("{:.2}", hit.score),
        lists: hit.datasets.join(", "),
        listed_for: listed_for.join(" · "),
        facts: facts.collect(),
        reasons: reasons.collect(),
        caption: hit.caption,
        id: hit.id,
    }
}
