//! Finds or creates the person and the registration of an attempt inside the account's serial step.
//! `verification::identity` has the rules; this module reads what they need and carries out their plan.

use std::collections::BTreeSet;

use faces::{Embedding, Hit, Identification, similarity};
use store::registrations::{self, Registration};
use store::{Error, Scope, Tx, people};
use uuid::Uuid;
use verification::identity::{
    AccountRegistrations, ExistingRegistration, FaceHit, FacemapTarget, Identity, Nearness, Plan,
    SubmissionScope, deciding_distance, plan_proven, plan_unproven, search_decides,
};

use super::attempt_detail::{SimilarFace, UndecidedSearch};
use super::face_replicas::Replica;
use crate::problem::Problem;

/// The person and the registration of an attempt.
pub struct Applicant {
    /// The identity, for the rules.
    pub identity: Identity,
    /// The person, or the provisional facemap.
    pub facemap_id: Uuid,
    /// The registration; `None`: the attempt is only logged.
    pub registration: Option<Registration>,
    /// Other people with similar faces, nearest first.
    pub similar: Vec<SimilarFace>,
    /// Why a hit that would decide in a smaller account is held for review.
    pub undecided: Option<UndecidedSearch>,
}

/// The maximum number of similar people that are reported.
const MOST_SIMILAR: usize = 5;

/// Finds or creates the person and the registration. Takes the account's face lock, which the caller's
/// transaction holds to its end.
pub async fn identify(
    tx: &mut Tx,
    scope: Scope,
    replica: &mut Replica,
    face: Option<&Embedding>,
    place: SubmissionScope<'_>,
) -> Result<Applicant, Problem> {
    store::faces::lock(tx, scope).await?;
    let hits = match face {
        None => Vec::new(),
        Some(face) => {
            replica.catch_up(tx, scope, face.version()).await?;
            replica.search(face)?
        }
    };
    let nearest = hits.first().map(|hit| hit.facemap);
    let account = account(tx, scope, place.external_user_id, nearest).await?;
    let plan = match face {
        None => plan_unproven(place, &account),
        Some(_) => {
            let near = |hit: &Hit| FaceHit {
                person: hit.facemap,
                nearness: nearness(hit, replica.faces()),
            };
            plan_proven(place, &hits.iter().map(near).collect::<Vec<_>>(), &account)
        }
    };
    let undecided = plan.undecided.then(|| UndecidedSearch {
        faces: replica.faces(),
        deciding_similarity: similarity(deciding_distance(replica.faces())),
    });
    let (facemap_id, registration) = carry_out(tx, scope, place, face, &plan).await?;
    let mut others: Vec<&Hit> = Vec::new();
    for hit in hits.iter().filter(|hit| hit.facemap != facemap_id) {
        if others.iter().all(|other| other.facemap != hit.facemap) {
            others.push(hit);
        }
    }
    Ok(Applicant {
        identity: plan.identity(facemap_id),
        facemap_id,
        registration,
        similar: others
            .into_iter()
            .take(MOST_SIMILAR)
            .map(|hit| SimilarFace {
                facemap_id: hit.facemap,
                similarity: similarity(hit.distance),
            })
            .collect(),
        undecided,
    })
}

/// How closely a face resembles the searched one, given the number of faces searched. A person decides about a face
/// that only a custom embedder found, because no calibration has enough pairs for a search.
pub(super) fn nearness(hit: &Hit, faces: usize) -> Nearness {
    match Identification::of(hit.distance) {
        Identification::Same | Identification::NearDuplicate if hit.by_own => Nearness::NearDuplicate,
        Identification::Same if search_decides(faces, hit.distance) => Nearness::Same,
        Identification::Same => Nearness::Undecided,
        Identification::NearDuplicate => Nearness::NearDuplicate,
        Identification::Unknown => Nearness::Unknown,
    }
}

/// The account's registrations, as the rules need them.
async fn account(
    tx: &mut Tx,
    scope: Scope,
    external_user_id: &str,
    nearest: Option<Uuid>,
) -> Result<AccountRegistrations, Error> {
    let of_label = registrations::of_external_user_id(tx, scope, external_user_id).await?;
    let people: BTreeSet<Uuid> = of_label
        .iter()
        .map(|registration| registration.facemap_id)
        .chain(nearest)
        .collect();
    let mut of_people = Vec::new();
    for person in people {
        of_people.extend(registrations::of_facemap(tx, scope, person).await?);
    }
    Ok(AccountRegistrations {
        label_registrations: of_label.into_iter().map(existing).collect(),
        people_registrations: of_people.into_iter().map(existing).collect(),
    })
}

/// A registration, as the rules need it.
pub(super) fn existing(registration: Registration) -> ExistingRegistration {
    ExistingRegistration {
        id: registration.id,
        facemap_id: registration.facemap_id,
        is_proven: registration.is_proven,
        grouping_id: registration.grouping_id,
        external_user_id: registration.external_user_id,
        status: registration.status,
    }
}

async fn carry_out(
    tx: &mut Tx,
    scope: Scope,
    place: SubmissionScope<'_>,
    face: Option<&Embedding>,
    plan: &Plan,
) -> Result<(Uuid, Option<Registration>), Problem> {
    let (facemap_id, binds) = match plan.facemap {
        FacemapTarget::Known(facemap_id) => (facemap_id, None),
        FacemapTarget::Bind(facemap_id) => {
            people::set_proven(tx, scope, facemap_id).await?;
            (facemap_id, face)
        }
        FacemapTarget::NewPerson => (people::create(tx, scope, true).await?.facemap_id, face),
        FacemapTarget::NewProvisional => (people::create(tx, scope, false).await?.facemap_id, None),
    };
    for provisional in &plan.merge {
        people::merge(tx, scope, *provisional, facemap_id).await?;
    }
    if let Some(face) = binds {
        store::faces::insert(tx, scope, facemap_id, face.version(), &face.to_bytes()).await?;
    }
    let registration = match plan.registration {
        verification::identity::RegistrationTarget::None => None,
        verification::identity::RegistrationTarget::Known(id) => {
            let known = registrations::get(tx, scope, id).await?;
            Some(
                known.ok_or_else(|| {
                    Problem::internal("a registration vanished in the account's serial step")
                })?,
            )
        }
        verification::identity::RegistrationTarget::New => Some(
            registrations::create(tx, scope, facemap_id, place.grouping_id, place.external_user_id).await?,
        ),
    };
    Ok((facemap_id, registration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_account_decides_between_the_thresholds() {
        use Nearness::{NearDuplicate, Same, Undecided, Unknown};
        for (distance, faces, expected) in [
            (faces::IDENTIFICATION_DISTANCE, 1, Same),
            (faces::IDENTIFICATION_DISTANCE, 360, Same),
            (faces::IDENTIFICATION_DISTANCE, 365, Undecided),
            (0.80, 10_000, Same),
            (0.90, 10_000, Undecided),
            (1.10, 1, NearDuplicate),
            (1.10, 1_000_000, NearDuplicate),
            (1.21, 1_000_000, Unknown),
            (f32::NAN, 1, Unknown),
        ] {
            let hit = Hit {
                facemap: Uuid::nil(),
                distance,
                by_own: false,
            };
            assert_eq!(nearness(&hit, faces), expected, "{distance} among {faces}");
            let by_own = Hit { by_own: true, ..hit };
            let expected = if expected == Unknown {
                Unknown
            } else {
                NearDuplicate
            };
            assert_eq!(
                nearness(&by_own, faces),
                expected,
                "{distance} by the custom embedder"
            );
        }
    }

    /// The bounds of the rule were measured at the default threshold of this embedding.
    #[test]
    fn the_bounds_begin_at_the_default_threshold() {
        let measured = deciding_distance(1);
        assert!((similarity(measured) - faces::MATCH_SIMILARITY).abs() < 1e-3);
        assert!(measured > faces::IDENTIFICATION_DISTANCE);
    }
}
