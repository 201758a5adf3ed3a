//! TEMPORARY
use verification::evidence::{Comparison, DocumentEvidence};
use verification::submission::Submission;
/// TEMPORARY
pub fn compare(_s: &Submission, _d: &[DocumentEvidence]) -> Comparison { Comparison::default() }
