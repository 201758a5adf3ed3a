//! `bonafide eval scores`: test vectors of the scoring engine. Shares and scores must match exactly, points
//! to four decimal places.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use super::figures::Report;
use crate::cli::score::outcomes;

/// `bonafide eval scores`.
#[derive(Args)]
pub(super) struct Scores {
    /// `{"cases": [{"txs", "labels", "received", "options", "expect"}], "score_only": […], "pool_example"}`.
    file: PathBuf,
}

impl Scores {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        let outcomes = outcomes(&self.file)?;
        let mut wrong: Vec<Value> = Vec::new();
        for outcome in &outcomes {
            wrong.extend(
                outcome
                    .differences()
                    .into_iter()
                    .map(|difference| Value::from(format!("{}: {difference}", outcome.name))),
            );
        }
        let agreeing = outcomes
            .iter()
            .filter(|outcome| outcome.differences().is_empty())
            .count();
        let mut figures = Map::new();
        figures.insert("vectors".to_owned(), outcomes.len().into());
        figures.insert("agreeing".to_owned(), agreeing.into());
        figures.insert("differences".to_owned(), wrong.into());
        Ok(Report::from_iter([("scores".to_owned(), Value::Object(figures))]))
    }
}
