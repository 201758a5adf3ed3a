//! Dispositions of screening hits: a reviewer's conclusion about each hit, and whether an attempt with hits
//! may be approved.
//!
//! The rules read conclusions only, neither hits nor lists.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A reviewer's conclusion about one hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// The listing means the applicant: a true match.
    SamePerson,
    /// The listing means another person: a false positive.
    OtherPerson,
    /// The available data do not settle it.
    Unclear,
}

impl Disposition {
    /// Every disposition.
    pub const ALL: [Self; 3] = [Self::OtherPerson, Self::SamePerson, Self::Unclear];

    /// `same_person`, `other_person` or `unclear`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SamePerson => "same_person",
            Self::OtherPerson => "other_person",
            Self::Unclear => "unclear",
        }
    }
}

impl fmt::Display for Disposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Disposition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .into_iter()
            .find(|disposition| disposition.as_str() == text)
            .ok_or(())
    }
}

/// Why an attempt with hits cannot be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HitsRefusal {
    /// This number of hits has no disposition.
    #[error("hits without a disposition: {0}; record a disposition and a reason for each before you approve")]
    Undecided(usize),
    /// A hit has the disposition `unclear`.
    #[error("the disposition of a hit is unclear: record same_person or other_person before you approve")]
    Unclear,
    /// The approval needs a reason, because a hit is a true match or more hits exist than are listed.
    #[error("give a reason to approve: a hit is a true match, or there are more hits than are listed")]
    ReasonRequired,
}

/// Checks whether an attempt may be approved. `dispositions` has one element per listed hit, and `unlisted`
/// is the number of hits beyond those.
///
/// # Errors
/// [`HitsRefusal`] if a hit has no disposition or is unclear, or if a required reason is missing.
pub fn check_approval(
    dispositions: &[Option<Disposition>],
    unlisted: usize,
    has_reason: bool,
) -> Result<(), HitsRefusal> {
    let undecided = dispositions.iter().filter(|found| found.is_none()).count();
    if undecided > 0 {
        return Err(HitsRefusal::Undecided(undecided));
    }
    if dispositions.contains(&Some(Disposition::Unclear)) {
        return Err(HitsRefusal::Unclear);
    }
    let is_grave = dispositions.contains(&Some(Disposition::SamePerson)) || unlisted > 0;
    if is_grave && !has_reason {
        return Err(HitsRefusal::ReasonRequired);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hit_needs_a_disposition_that_decides() {
        use Disposition::{OtherPerson as Other, SamePerson as Same, Unclear};
        use HitsRefusal::{ReasonRequired, Unclear as IsUnclear, Undecided};
        type Row = (
            &'static [Option<Disposition>],
            usize,
            bool,
            Result<(), HitsRefusal>,
        );
        let rows: &[Row] = &[
            (&[], 0, false, Ok(())),
            (&[None], 0, true, Err(Undecided(1))),
            (&[Some(Other)], 0, false, Ok(())),
            (&[Some(Other), None, None], 0, true, Err(Undecided(2))),
            (&[Some(Unclear)], 0, true, Err(IsUnclear)),
            (&[Some(Other), Some(Unclear)], 0, true, Err(IsUnclear)),
            (&[Some(Unclear), None], 0, true, Err(Undecided(1))),
            (&[Some(Same)], 0, false, Err(ReasonRequired)),
            (&[Some(Same)], 0, true, Ok(())),
            (&[Some(Other)], 5, false, Err(ReasonRequired)),
            (&[Some(Other)], 5, true, Ok(())),
            (&[], 1, false, Err(ReasonRequired)),
        ];
        for (dispositions, unlisted, has_reason, expected) in rows {
            let found = check_approval(dispositions, *unlisted, *has_reason);
            assert_eq!(found, *expected, "{dispositions:?} {unlisted} {has_reason}");
        }
    }

    #[test]
    fn a_disposition_has_one_name() {
        for disposition in Disposition::ALL {
            assert_eq!(disposition.as_str().parse(), Ok(disposition));
            assert_eq!(serde_json::json!(disposition), disposition.as_str());
        }
        assert_eq!("maybe".parse::<Disposition>(), Err(()));
    }
}
