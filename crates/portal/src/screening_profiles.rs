//! The table of the screening desk that shows what each profile finds beside the others. It searches nothing.

use sanctions::{Profile, ProfileComparison};

use super::page::Page;

/// The table.
pub(super) struct ProfileTable {
    /// The profile by which the account is screened.
    pub(super) own: Profile,
    /// The columns: each profile's score with the number of its hits.
    pub(super) columns: Vec<(Profile, usize)>,
    /// The entries that any profile finds.
    pub(super) rows: Vec<ProfileRow>,
    /// The number of entries, also of those that are not shown.
    pub(super) total: usize,
    /// The score (0–1) from which names are hits.
    pub(super) threshold: String,
    /// The score (0–100) from which names are hits by OFAC's score.
    pub(super) ofac_least: u8,
}

/// An entry.
pub(super) struct ProfileRow {
    /// Its name.
    pub(super) caption: String,
    /// The lists that contain it.
    pub(super) lists: String,
    /// Whether it flags a person.
    pub(super) matched: bool,
    /// Its score in each column.
    pub(super) scores: Vec<ProfileScore>,
}

/// The score of an entry by a profile.
pub(super) struct ProfileScore {
    /// The profile.
    pub(super) profile: Profile,
    /// The score; `None`: it is below the threshold and not known.
    pub(super) score: Option<String>,
    /// Whether it is a hit.
    pub(super) is_hit: bool,
}

impl ProfileTable {
    /// The table of a comparison.
    pub(super) fn new(own: Profile, compared: ProfileComparison) -> ProfileTable {
        let least = compared.ofac_least;
        let rows = compared.hits.into_iter().map(|hit| {
            let by_score = |profile, score: Option<f64>| ProfileScore {
                profile,
                score: score.map(|score| format!("{score:.2}")),
                is_hit: score.is_some(),
            };
            ProfileRow {
                scores: vec![
                    by_score(Profile::Standard, hit.standard),
                    by_score(Profile::Strict, hit.strict),
                    ProfileScore {
                        profile: Profile::Ofac,
                        score: Some(hit.ofac.to_string()),
                        is_hit: hit.ofac >= least,
                    },
                ],
                caption: hit.caption,
                lists: hit.datasets.join(", "),
                matched: hit.matched,
            }
        });
        ProfileTable {
            own,
            columns: Profile::ALL.into_iter().zip(compared.totals).collect(),
            rows: rows.collect(),
            total: compared.total,
            threshold: format!("{:.2}", compared.threshold),
            ofac_least: least,
        }
    }

    /// Which profile is the account's, and what counts as a hit.
    pub(super) fn lead(&self, page: &Page) -> String {
        let (own, least) = (self.name(page, &self.own), self.ofac_least.to_string());
        let values = [
            ("own", own.as_str()),
            ("threshold", &self.threshold),
            ("least", &least),
        ];
        page.tf("screening.profiles.lead", &values)
    }

    /// The name of a profile.
    pub(super) fn name(&self, page: &Page, profile: &Profile) -> String {
        page.word("screening.profile", profile.as_str())
    }
}
