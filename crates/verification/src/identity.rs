//! Who an applicant is among the account's people (`docs/decisions/0013-faces-and-people.md` and
//! `0014-duplicates.md`). From the known faces near a proven face and the label's registrations, it makes a
//! [`Plan`]. The caller reads the account, executes the plan and prevents concurrent plans for the account.
//!
//! The label is the merchant's `externalUserId`. Only proven faces are searched and bound to a person. Every
//! other applicant has a provisional facemap.

mod account_size;
mod merging;
mod splitting;

use std::collections::BTreeSet;

use uuid::Uuid;

pub use self::account_size::{FalseMatchBound, deciding_distance, false_match_bound, search_decides};
pub use self::merging::{MergeObstacle, ended_registrations};
pub use self::splitting::{SplitObstacle, check_split};
use crate::status::AttemptStatus;

/// Who the applicant is: input of [`crate::judge`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The person's facemap. It is provisional without a proven face; for a duplicate it is the existing one.
    pub facemap_id: String,
    /// Another proven face of the account has this externalUserId (2306).
    pub id_belongs_to_another: bool,
    /// The face is registered in the scope with another externalUserId, or approved with this one (2307).
    pub already_registered: bool,
    /// The new facemap's face closely resembles a known one.
    pub near_duplicate: bool,
}

/// How closely a known face resembles the applicant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// The faces belong to one person.
    Same,
    /// The faces would belong to one person if the two were compared alone. But the account has so many faces that a
    /// search may find a stranger at this distance, see [`search_decides`].
    Undecided,
    /// The similarity is in the band that needs review.
    NearDuplicate,
    /// The faces belong to different people.
    Unknown,
}

/// A known face that resembles the applicant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceHit {
    /// The person with this face.
    pub person: Uuid,
    /// How closely it resembles the applicant's.
    pub nearness: Nearness,
}

/// A registration in the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingRegistration {
    /// The registration's id.
    pub id: Uuid,
    /// The person or provisional facemap that it belongs to.
    pub facemap_id: Uuid,
    /// Whether a proven face is bound to that facemap.
    pub is_proven: bool,
    /// The group; `None` if it is registered without a group.
    pub grouping_id: Option<Uuid>,
    /// The label (externalUserId).
    pub external_user_id: String,
    /// The status that follows from its attempts.
    pub status: Option<AttemptStatus>,
}

/// The account's data about the applicant.
#[derive(Clone, Debug, Default)]
pub struct AccountRegistrations {
    /// The label's registrations in every group, most recently active first.
    pub label_registrations: Vec<ExistingRegistration>,
    /// Registrations, with any label, of the label's facemaps and of the nearest known face's person.
    pub people_registrations: Vec<ExistingRegistration>,
}

/// The group and label of the submission.
#[derive(Clone, Copy, Debug)]
pub struct SubmissionScope<'a> {
    /// The group.
    pub grouping_id: Option<Uuid>,
    /// The label (externalUserId).
    pub external_user_id: &'a str,
}

/// The facemap that the attempt belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FacemapTarget {
    /// An existing facemap, unchanged.
    Known(Uuid),
    /// The label's provisional facemap, to which the proven face is bound.
    Bind(Uuid),
    /// A new facemap, to which the proven face is bound.
    NewPerson,
    /// A new provisional facemap.
    NewProvisional,
}

/// The registration that the attempt belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationTarget {
    /// An existing registration.
    Known(Uuid),
    /// A new registration of the facemap.
    New,
    /// No registration: the attempt is only logged.
    None,
}

/// The changes to make, in the order of the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Provisional facemaps to merge into the known person.
    pub merge: Vec<Uuid>,
    /// The attempt's facemap.
    pub facemap: FacemapTarget,
    /// The attempt's registration.
    pub registration: RegistrationTarget,
    /// Another proven face of the account has this externalUserId (2306).
    pub id_belongs_to_another: bool,
    /// The face is registered in the scope with another externalUserId, or approved with this one (2307).
    pub already_registered: bool,
    /// The face closely resembles a known one.
    pub near_duplicate: bool,
    /// The face closely resembles a known one, and only the number of the account's faces prevents a decision.
    pub undecided: bool,
}

impl Plan {
    fn new(facemap: FacemapTarget, registration: RegistrationTarget) -> Self {
        Plan {
            merge: Vec::new(),
            facemap,
            registration,
            id_belongs_to_another: false,
            already_registered: false,
            near_duplicate: false,
            undecided: false,
        }
    }

    /// The input of [`crate::judge`], once the facemap has an id.
    #[must_use]
    pub fn identity(&self, facemap_id: Uuid) -> Identity {
        Identity {
            facemap_id: facemap_id.to_string(),
            id_belongs_to_another: self.id_belongs_to_another,
            already_registered: self.already_registered,
            near_duplicate: self.near_duplicate,
        }
    }
}

/// The plan for an applicant whose face is not proven. It uses the label's registration in the group. If
/// there is none, it makes one for a facemap of the label, or else for a new provisional facemap.
#[must_use]
pub fn plan_unproven(place: SubmissionScope<'_>, account: &AccountRegistrations) -> Plan {
    if let Some(own) = account.label_registration(place) {
        return Plan::new(
            FacemapTarget::Known(own.facemap_id),
            RegistrationTarget::Known(own.id),
        );
    }
    // A facemap has at most one registration per group. If it has one here with another label, it cannot be
    // used.
    let free = account
        .label_facemaps()
        .into_iter()
        .find(|bound| account.registration_of(place, bound.0).is_none());
    match free {
        Some((facemap_id, _)) => Plan::new(FacemapTarget::Known(facemap_id), RegistrationTarget::New),
        None => Plan::new(FacemapTarget::NewProvisional, RegistrationTarget::New),
    }
}

/// The plan for an applicant with a proven face. `hits` are the resembling known faces, nearest first.
#[must_use]
pub fn plan_proven(place: SubmissionScope<'_>, hits: &[FaceHit], account: &AccountRegistrations) -> Plan {
    let Some(nearest) = hits.first().copied() else {
        return plan_new_face(place, account, false);
    };
    let of_label = account.label_facemaps();
    let is_of_label = |hit: &FaceHit| of_label.contains(&(hit.person, true));
    // A stranger or a twin may be nearest. The label names one person to compare with. Where the search decides, that
    // person must be as surely the same.
    let own = hits.iter().copied().find(is_of_label);
    let FaceHit { person, nearness } = match nearest.nearness {
        Nearness::Unknown => nearest,
        Nearness::Same => own
            .filter(|own| matches!(own.nearness, Nearness::Same | Nearness::Undecided))
            .unwrap_or(nearest),
        Nearness::Undecided | Nearness::NearDuplicate => own.unwrap_or(nearest),
    };
    let is_of_label = of_label.contains(&(person, true));
    let is_doubtful = match nearness {
        Nearness::Unknown => return plan_new_face(place, account, false),
        // In the band below a match, a person of this label is that person and needs review. Any other person
        // is new.
        Nearness::NearDuplicate if is_of_label => true,
        Nearness::NearDuplicate => return plan_new_face(place, account, true),
        Nearness::Undecided if !is_of_label => {
            let plan = plan_new_face(place, account, true);
            return Plan {
                undecided: plan.near_duplicate,
                ..plan
            };
        }
        // If the face also resembles another person's, every attempt needs review until one of this person is
        // approved, and always if the other person is nearer. A comparison with the label's own person is no search,
        // however many faces the account has.
        Nearness::Same | Nearness::Undecided => {
            person != nearest.person || (hits.len() > 1 && !account.is_approved(person))
        }
    };
    let plan = plan_known_face(place, person, account);
    Plan {
        near_duplicate: is_doubtful && !plan.already_registered,
        ..plan
    }
}

/// Plans for a face that belongs to a known person.
fn plan_known_face(place: SubmissionScope<'_>, person: Uuid, account: &AccountRegistrations) -> Plan {
    let bound = account.label_facemaps();
    let logged = Plan::new(FacemapTarget::Known(person), RegistrationTarget::None);
    let duplicate = Plan {
        already_registered: true,
        ..logged.clone()
    };
    if bound
        .iter()
        .any(|(facemap_id, is_proven)| *is_proven && *facemap_id != person)
    {
        return Plan {
            id_belongs_to_another: true,
            ..logged
        };
    }
    if let Some(registration) = account.registration_of(place, person) {
        if registration.external_user_id != place.external_user_id {
            return duplicate;
        }
        return Plan {
            registration: RegistrationTarget::Known(registration.id),
            already_registered: registration.status == Some(AttemptStatus::Approved),
            ..logged
        };
    }
    // A facemap has at most one registration per group, so a facemap registered in the person's group is not
    // merged. The plan settles this before any write, because a conflict inside the transaction would abort
    // it halfway.
    let mut groups = account.groups_of(person);
    let mut merge = Vec::new();
    for (provisional, _) in bound.into_iter().filter(|(facemap_id, _)| *facemap_id != person) {
        let own = account.groups_of(provisional);
        if own.is_disjoint(&groups) {
            groups.extend(own);
            merge.push(provisional);
        } else if own.contains(&place.grouping_id) {
            return duplicate;
        }
    }
    Plan {
        merge,
        registration: account.own_or_new(place),
        ..logged
    }
}

/// Plans for a face that belongs to no known person: it is bound to the label's provisional facemap, or to a
/// new one.
fn plan_new_face(place: SubmissionScope<'_>, account: &AccountRegistrations, near_duplicate: bool) -> Plan {
    let bound = account.label_facemaps();
    if bound.iter().any(|(_, is_proven)| *is_proven) {
        return Plan {
            id_belongs_to_another: true,
            ..Plan::new(FacemapTarget::NewProvisional, RegistrationTarget::None)
        };
    }
    let own = account.label_registration(place).map(|own| own.facemap_id);
    let facemap = match own.or(bound.first().map(|(facemap_id, _)| *facemap_id)) {
        Some(provisional) => FacemapTarget::Bind(provisional),
        None => FacemapTarget::NewPerson,
    };
    Plan {
        near_duplicate,
        ..Plan::new(facemap, account.own_or_new(place))
    }
}

impl AccountRegistrations {
    /// The label's registration in the group.
    fn label_registration(&self, place: SubmissionScope<'_>) -> Option<&ExistingRegistration> {
        self.label_registrations
            .iter()
            .find(|registration| registration.grouping_id == place.grouping_id)
    }

    fn own_or_new(&self, place: SubmissionScope<'_>) -> RegistrationTarget {
        self.label_registration(place)
            .map_or(RegistrationTarget::New, |own| RegistrationTarget::Known(own.id))
    }

    /// The label's facemaps in the whole account, most recently active first. The boolean is true for a
    /// proven person.
    fn label_facemaps(&self) -> Vec<(Uuid, bool)> {
        let mut facemaps: Vec<(Uuid, bool)> = Vec::new();
        for registration in &self.label_registrations {
            if facemaps
                .iter()
                .all(|(facemap_id, _)| *facemap_id != registration.facemap_id)
            {
                facemaps.push((registration.facemap_id, registration.is_proven));
            }
        }
        facemaps
    }

    fn registrations_of(&self, person: Uuid) -> impl Iterator<Item = &ExistingRegistration> {
        self.people_registrations
            .iter()
            .filter(move |registration| registration.facemap_id == person)
    }

    /// The person's registration in the group, with any label.
    fn registration_of(&self, place: SubmissionScope<'_>, person: Uuid) -> Option<&ExistingRegistration> {
        self.registrations_of(person)
            .find(|registration| registration.grouping_id == place.grouping_id)
    }

    /// The groups in which a facemap is registered.
    fn groups_of(&self, person: Uuid) -> BTreeSet<Option<Uuid>> {
        self.registrations_of(person)
            .map(|registration| registration.grouping_id)
            .collect()
    }

    /// Whether a person is approved anywhere in the account.
    fn is_approved(&self, person: Uuid) -> bool {
        self.registrations_of(person)
            .any(|registration| registration.status == Some(AttemptStatus::Approved))
    }
}

#[cfg(test)]
mod tests;
