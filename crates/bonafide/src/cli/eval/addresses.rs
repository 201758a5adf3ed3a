//! `bonafide eval addresses`: checks addresses and transaction hashes against a file of test vectors.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use super::figures::Report;
use crate::cli::errors::Unusable;

/// `bonafide eval addresses`.
#[derive(Args)]
pub(super) struct Addresses {
    /// `{"vectors": [{"chain", "kind", "value", "valid", "type", "payload_hex"}]}`, the last two if known.
    file: PathBuf,
}

impl Addresses {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        let file = &self.file;
        let text =
            std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        let measured = chain::batch::measure(&text).map_err(|reason| Unusable(reason.to_owned()))?;
        Ok(Report::from_iter([(
            "addresses".to_owned(),
            Value::from(&measured),
        )]))
    }
}
