//! The readings of a session at its submission: the pictures that it names, and the values that it took from them.

use std::collections::BTreeMap;

use store::Scope;
use store::document_readings::{self, Reading};
use store::objects::ObjectName;
use verification::evidence::Evidence;
use verification::judge::reading::{Proposal, fields_taken};
use verification::submission::{FileField, Submission, SubmittedFile};

use super::FIELD;
use super::stored::Shown;
use crate::caller::Caller;
use crate::problem::{Kind, Problem};
use crate::spill::Spill;
use crate::upload::File;
use crate::{App, cpu};

/// What was read in the session of a submission.
#[derive(Default)]
pub(crate) struct SessionReadings {
    stored: Vec<Reading>,
    /// The pictures that the submission names.
    named: Vec<Reading>,
    /// What is wrong with the names.
    errors: Vec<String>,
}

impl SessionReadings {
    /// Finds the readings of a caller's session, and adds the named ones to the submitted files. `named` is the field
    /// [`FIELD`]. To a merchant's server it is a field that the contract does not know.
    pub(crate) async fn find(
        app: &App,
        caller: &Caller,
        named: Option<&str>,
        submitted: &mut BTreeMap<FileField, SubmittedFile>,
    ) -> Result<Self, Problem> {
        let Some(session) = &caller.session else {
            return Ok(Self::default());
        };
        let mut conn = app.db.read().await?;
        let stored = document_readings::of_session(&mut conn, caller.scope, session.id).await?;
        drop(conn);
        let mut found = Self::default();
        let names: Vec<&str> = match named.map(str::trim) {
            Some("") => {
                found.errors.push(format!("{FIELD} cannot be empty"));
                Vec::new()
            }
            Some(names) => names.split(',').map(str::trim).collect(),
            None => Vec::new(),
        };
        for (place, name) in names.iter().enumerate() {
            let reading = stored
                .iter()
                .find(|each| each.id.to_string().eq_ignore_ascii_case(name));
            match reading {
                None => found.errors.push(not_found(place)),
                Some(reading) => found.add(reading, submitted)?,
            }
        }
        found.stored = stored;
        Ok(found)
    }

    fn add(
        &mut self,
        reading: &Reading,
        submitted: &mut BTreeMap<FileField, SubmittedFile>,
    ) -> Result<(), Problem> {
        let field: FileField = reading
            .file
            .parse()
            .map_err(|()| Problem::internal("a stored reading of an unknown field"))?;
        if submitted.contains_key(&field) {
            let text = format!("{FIELD} - {} is sent or named twice; send it once", reading.file);
            self.errors.push(text);
            return Ok(());
        }
        let file = SubmittedFile {
            bytes: Shown::read(reading)?.bytes,
            known_format: true,
        };
        submitted.insert(field, file);
        self.named.push(reading.clone());
        Ok(())
    }

    /// The submission, unless it or the names have faults; then all of them.
    ///
    /// # Errors
    /// 400 for an id that the session does not have, or a picture that is there twice.
    pub(crate) fn check<E: Into<Problem>>(
        &self,
        submission: Result<Submission, E>,
    ) -> Result<Submission, Problem> {
        if self.errors.is_empty() {
            return submission.map_err(Into::into);
        }
        let mut errors = self.errors.clone();
        match submission.map_err(Into::into) {
            Ok(_) => {}
            Err(problem) if problem.kind() == Kind::Invalid => errors.extend_from_slice(problem.errors()),
            Err(problem) => return Err(problem),
        }
        Err(Problem::validation(errors))
    }

    /// Adds the named pictures to the files.
    ///
    /// # Errors
    /// 400 if one was deleted meanwhile.
    pub(crate) async fn load(
        &self,
        app: &App,
        scope: Scope,
        files: &mut BTreeMap<String, File>,
    ) -> Result<(), Problem> {
        for (place, reading) in self.named.iter().enumerate() {
            let object = ObjectName {
                scope,
                attempt_id: reading.id,
                file: &reading.file,
            };
            let bytes = match app.objects.get(&reading.key, &object).await {
                Ok(bytes) => bytes,
                Err(store::Error::Missing(_)) => return Err(Problem::validation(vec![not_found(place)])),
                Err(error) => return Err(error.into()),
            };
            let spill_dir = app.config.data.spill_dir();
            let content = cpu::blocking(move || {
                let mut content = Spill::new();
                content.write(&bytes, &spill_dir)?;
                Ok(content)
            })
            .await?;
            let file = File {
                content,
                too_large: false,
            };
            files.insert(reading.file.clone(), file);
        }
        Ok(())
    }

    /// The submitted fields whose value is one that was proposed in the session, in the contract's order. Says so in the
    /// comparison.
    ///
    /// # Errors
    /// 503 if a reading cannot be read: then nobody knows what was taken from it.
    pub(crate) fn mark_taken(
        &self,
        submission: &Submission,
        evidence: &mut Evidence,
    ) -> Result<Vec<&'static str>, Problem> {
        let shown = |reading| Shown::read(reading).map(|shown| shown.proposal);
        let proposals = self
            .stored
            .iter()
            .map(shown)
            .collect::<Result<Vec<Proposal>, _>>()?;
        let taken = fields_taken(&proposals, submission);
        if let Some(comparison) = evidence.comparison.as_mut().filter(|_| !taken.is_empty()) {
            let text = format!(
                "{}: as read from the document before the submission, so the agreement is no independent evidence",
                taken.join(", ")
            );
            comparison.warnings.push(text);
        }
        Ok(taken)
    }
}

fn not_found(place: usize) -> String {
    format!(
        "{FIELD} - the session has no reading no. {}; send the picture itself",
        place + 1
    )
}
