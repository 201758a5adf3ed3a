//! Screens by labels alone, for a chain without a source or with one that failed.
//!
//! Nothing is traced here, so the answer reports all money as unresolved.

use num_traits::One;

use super::detail::{AddressDetail, Detail, TransactionDetail};
use super::exposures::Exposures;
use super::outcome::Screen;
use super::request::{Request, Subject};
use crate::category::Category;
use crate::labels::{Label, Labels};
use crate::pool::Share;
use crate::profile::Profile;
use crate::score::{OwnLabel, Score, UnknownShares, score};

/// Screens by labels alone.
pub fn screen_labels(labels: &dyn Labels, profile: &Profile, request: &Request<'_>) -> Screen {
    let own = own_labels(labels, request);
    let mut exposures = Exposures::untraced(labels.version(), profile, request);
    let score = untraced(profile, strongest(profile, &own));
    exposures.finish(&score, &[]);
    let detail = match request.subject {
        Subject::Address(_) => Detail::Address(Box::new(AddressDetail::unknown(&own, exposures))),
        Subject::Transaction(_) => Detail::Transaction(Box::new(TransactionDetail::unknown(exposures))),
    };
    Screen {
        score,
        detail,
        traces: Vec::new(),
        labels: own,
        failed: None,
    }
}

/// The score without a trace. If some category alone can make 100, the upper bound is 100. The bound must be
/// searched only for a profile without such a category.
fn untraced(profile: &Profile, own: Option<OwnLabel>) -> Score {
    let certain = profile
        .categories
        .values()
        .any(|weight| weight.severity == 100 && weight.full_share.0 <= Share::one());
    if certain {
        return Score {
            upper_bound: Share::from_integer(100.into()),
            ..score(profile, &[], own, &UnknownShares::default())
        };
    }
    let everything = UnknownShares {
        incoming: Share::one(),
        outgoing: Share::one(),
    };
    score(profile, &[], own, &everything)
}

/// The labels of the screened address itself.
pub(super) fn own_labels(labels: &dyn Labels, request: &Request<'_>) -> Vec<Label> {
    match request.subject {
        Subject::Address(address) => labels.labels(request.chain, address, request.at),
        Subject::Transaction(_) => Vec::new(),
    }
}

/// The label that raises the score most.
pub(super) fn strongest(profile: &Profile, own: &[Label]) -> Option<OwnLabel> {
    own.iter()
        .max_by_key(|label| {
            let sanctioned = label.authority && label.category == Category::Sanctions;
            (
                sanctioned,
                u32::from(profile.severity(label.category)) * u32::from(label.confidence),
            )
        })
        .map(|label| OwnLabel {
            category: label.category,
            confidence: label.confidence,
            authority: label.authority,
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_short_way_gives_the_same(
            category in prop::sample::select(Category::ALL.to_vec()),
            confidence in 0_u8..=100,
            authority: bool,
            labelled: bool,
            severities in prop::collection::vec(0_u8..=100, 16),
            sanctions_severity in prop::sample::select(vec![100_u8, 60]),
            full in 1_u32..=20,
        ) {
            let mut profile = Profile::built_in();
            for (weight, severity) in profile.categories.values_mut().zip(severities) {
                weight.severity = severity;
                weight.full_share.0 = Share::new(1.into(), full.into());
            }
            let sanctions = profile.categories.get_mut(&Category::Sanctions).unwrap();
            sanctions.severity = sanctions_severity;
            let own = labelled.then_some(OwnLabel { category, confidence, authority });
            let everything = UnknownShares { incoming: Share::one(), outgoing: Share::one() };
            prop_assert_eq!(untraced(&profile, own), score(&profile, &[], own, &everything));
        }
    }
}
