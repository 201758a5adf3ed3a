//! Who an applicant is among the account's people (`docs/decisions/0013-faces-and-people.md` and `0014-duplicates.md`): the known
//! faces near a proven one and the registrations of the label go in, a [`Plan`] comes out. The caller reads the account,
//! carries the plan out and holds the account's serial step meanwhile.
//!
//! Only proven faces are searched and bound. Everybody else keeps a provisional facemap.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::status::AttemptStatus;

/// Who the applicant is, for [`crate::judge`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The person's facemap, provisional when no face is proven; of a duplicate, the existing one.
    pub facemap_id: String,
    /// The externalUserId is bound to another proven face in the account (2306).
    pub id_belongs_to_another: bool,
    /// The face is registered in the scope under another id, or under this one and approved (2307).
    pub already_registered: bool,
    /// A new facemap whose face nearly is a known one.
    pub near_duplicate: bool,
}

/// How near a known face is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// One person's face.
    Same,
    /// In the band in which a person looks.
    NearDuplicate,
    /// Another person's face.
    Unknown,
}

/// A known face near the applicant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceHit {
    /// The person.
    pub person: Uuid,
    /// How near.
    pub nearness: Nearness,
}

/// A registration in the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its id.
    pub id: Uuid,
    /// The person or provisional facemap.
    pub facemap_id: Uuid,
    /// Whether a proven face is bound to that facemap.
    pub is_proven: bool,
    /// The group; `None`: registered in no group.
    pub grouping_id: Option<Uuid>,
    /// The label.
    pub external_user_id: String,
    /// What its attempts made of it.
    pub status: Option<AttemptStatus>,
}

/// What the account knows that may concern the applicant.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Registrations of the applicant's label, most recently active first, in every group.
    pub of_label: Vec<Registered>,
    /// Registrations of the facemaps in `of_label` and of the nearest known face's person, under whatever label.
    pub of_people: Vec<Registered>,
}

/// Where and under which label the applicant is submitted.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The group.
    pub grouping_id: Option<Uuid>,
    /// The label.
    pub external_user_id: &'a str,
}

/// Whose facemap the attempt belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facemap {
    /// A known one, as it is.
    Known(Uuid),
    /// The label's provisional one, to which the proven face is bound.
    Bind(Uuid),
    /// A new one, to which the proven face is bound.
    NewPerson,
    /// A new provisional one.
    NewProvisional,
}

/// Which registration the attempt belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// One that exists.
    Known(Uuid),
    /// A new one of the facemap.
    New,
    /// None: the attempt is only logged.
    None,
}

/// What to carry out, in the order of the members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Provisional facemaps to merge into the known person.
    pub merge: Vec<Uuid>,
    /// The facemap.
    pub facemap: Facemap,
    /// The registration.
    pub registration: Registration,
    /// The externalUserId is bound to another proven face in the account (2306).
    pub id_belongs_to_another: bool,
    /// The face is registered in the scope under another id, or under this one and approved (2307).
    pub already_registered: bool,
    /// The face nearly is a known one.
    pub near_duplicate: bool,
}

impl Plan {
    fn new(facemap: Facemap, registration: Registration) -> Self {
        Plan {
            merge: Vec::new(),
            facemap,
            registration,
            id_belongs_to_another: false,
            already_registered: false,
            near_duplicate: false,
        }
    }

    /// For the rules, once the facemap has an id.
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

/// The plan for an applicant whose face is not proven: the label's registration in the group, else one under the label's
/// facemap, else under a new provisional one.
#[must_use]
pub fn plan_unproven(place: Place<'_>, account: &Account) -> Plan {
    if let Some(own) = account.own(place) {
        return Plan::new(Facemap::Known(own.facemap_id), Registration::Known(own.id));
    }
    // A face registers once in a group, so a person who is here under another label gets no second place.
    let free = account
        .facemaps()
        .into_iter()
        .find(|bound| account.registration_of(place, bound.0).is_none());
    match free {
        Some((facemap_id, _)) => Plan::new(Facemap::Known(facemap_id), Registration::New),
        None => Plan::new(Facemap::NewProvisional, Registration::New),
    }
}

/// The plan for an applicant with a proven face, given the known faces that are near, nearest first.
#[must_use]
pub fn plan_proven(place: Place<'_>, hits: &[FaceHit], account: &Account) -> Plan {
    let Some(FaceHit { person, nearness }) = hits.first().copied() else {
        return plan_new_face(place, account, false);
    };
    let is_doubtful = match nearness {
        Nearness::Unknown => return plan_new_face(place, account, false),
        // In the band below, the label's own person is that person, to be looked at; anybody else is somebody new.
        Nearness::NearDuplicate if account.facemaps().contains(&(person, true)) => true,
        Nearness::NearDuplicate => return plan_new_face(place, account, true),
        // A look-alike of somebody else stays to be looked at until somebody approved this person.
        Nearness::Same => hits.len() > 1 && !account.is_approved(person),
    };
    let plan = plan_known_face(place, person, account);
    Plan {
        near_duplicate: is_doubtful && !plan.already_registered,
        ..plan
    }
}

/// The face is a known person's.
fn plan_known_face(place: Place<'_>, person: Uuid, account: &Account) -> Plan {
    let bound = account.facemaps();
    let logged = Plan::new(Facemap::Known(person), Registration::None);
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
            registration: Registration::Known(registration.id),
            already_registered: registration.status == Some(AttemptStatus::Approved),
            ..logged
        };
    }
    // A face registers once in a group, so a facemap that is also registered where the person is stays apart. This is
    // planned before anything is written: a conflict inside the transaction would leave it half done.
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

/// The face is nobody's yet: it is bound to the label's provisional facemap, or to a new one.
fn plan_new_face(place: Place<'_>, account: &Account, near_duplicate: bool) -> Plan {
    let bound = account.facemaps();
    if bound.iter().any(|(_, is_proven)| *is_proven) {
        return Plan {
            id_belongs_to_another: true,
            ..Plan::new(Facemap::NewProvisional, Registration::None)
        };
    }
    let own = account.own(place).map(|own| own.facemap_id);
    let facemap = match own.or(bound.first().map(|(facemap_id, _)| *facemap_id)) {
        Some(provisional) => Facemap::Bind(provisional),
        None => Facemap::NewPerson,
    };
    Plan {
        near_duplicate,
        ..Plan::new(facemap, account.own_or_new(place))
    }
}

impl Account {
    /// The label's registration in the group.
    fn own(&self, place: Place<'_>) -> Option<&Registered> {
        self.of_label
            .iter()
            .find(|registration| registration.grouping_id == place.grouping_id)
    }

    fn own_or_new(&self, place: Place<'_>) -> Registration {
        self.own(place)
            .map_or(Registration::New, |own| Registration::Known(own.id))
    }

    /// The label's facemaps in the whole account, most recently active first, and whether each is a proven person.
    fn facemaps(&self) -> Vec<(Uuid, bool)> {
        let mut facemaps: Vec<(Uuid, bool)> = Vec::new();
        for registration in &self.of_label {
            if facemaps
                .iter()
                .all(|(facemap_id, _)| *facemap_id != registration.facemap_id)
            {
                facemaps.push((registration.facemap_id, registration.is_proven));
            }
        }
        facemaps
    }

    fn registrations_of(&self, person: Uuid) -> impl Iterator<Item = &Registered> {
        self.of_people
            .iter()
            .filter(move |registration| registration.facemap_id == person)
    }

    /// The registration of a person in the group, under whatever label.
    fn registration_of(&self, place: Place<'_>, person: Uuid) -> Option<&Registered> {
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
