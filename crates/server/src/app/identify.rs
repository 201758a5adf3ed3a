//! Who an applicant is among the account's people, inside the account's serial step (`decisions.md` §4, *Faces and people* and
//! *Duplicates*). Only proven faces are searched and bound; everybody else keeps a provisional facemap.

use std::collections::HashSet;

use faces::{Embedding, Hit, Identification};
use store::registrations::{self, Registration};
use store::{Error, Scope, Tx, people};
use uuid::Uuid;
use verification::evidence::Identity;
use verification::status::AttemptStatus;

use super::face_replicas::Replica;
use super::seen::SimilarFace;
use crate::error::Problem;

/// Where an attempt belongs.
pub struct Applicant {
    /// For the rules.
    pub identity: Identity,
    /// The person, or the provisional facemap.
    pub facemap_id: Uuid,
    /// The registration that the attempt belongs to; none: it is only logged.
    pub registration: Option<Registration>,
    /// Other people whose faces are near, nearest first.
    pub similar: Vec<SimilarFace>,
}

/// Similar people that are told of at most.
const MOST_SIMILAR: usize = 5;

/// Finds or makes the person and the registration. Takes the account's face lock; the caller's transaction holds it to its end.
pub async fn identify(
    tx: &mut Tx,
    scope: Scope,
    replica: &mut Replica,
    face: Option<&Embedding>,
    grouping_id: Option<Uuid>,
    external_user_id: &str,
) -> Result<Applicant, Problem> {
    store::faces::lock(tx, scope).await?;
    let place = Place {
        scope,
        grouping_id,
        external_user_id,
    };
    match face {
        None => unproven(tx, &place).await,
        Some(face) => known_or_new(tx, &place, replica, face).await,
    }
}

/// The face was proven: is it a known person's?
async fn known_or_new(
    tx: &mut Tx,
    place: &Place<'_>,
    replica: &mut Replica,
    face: &Embedding,
) -> Result<Applicant, Problem> {
    replica.catch_up(tx, place.scope, face.version()).await?;
    let hits = replica.search(face)?;
    let mut applicant = among(tx, place, face, &hits).await?;
    for hit in hits.iter().filter(|hit| hit.facemap != applicant.facemap_id) {
        let known = applicant
            .similar
            .iter()
            .any(|similar| similar.facemap_id == hit.facemap);
        if !known && applicant.similar.len() < MOST_SIMILAR {
            applicant.similar.push(SimilarFace {
                facemap_id: hit.facemap,
                similarity: faces::similarity(hit.distance),
            });
        }
    }
    Ok(applicant)
}

/// Who it is, given the known faces that are near, nearest first.
async fn among(tx: &mut Tx, place: &Place<'_>, face: &Embedding, hits: &[Hit]) -> Result<Applicant, Problem> {
    let Some((distance, person)) = hits.first().map(|hit| (hit.distance, hit.facemap)) else {
        return new_face(tx, place, face, false).await;
    };
    let doubtful = match Identification::of(distance) {
        Identification::Unknown => return new_face(tx, place, face, false).await,
        // In the band below, the label's own person is that person, to be looked at; anybody else is somebody new.
        Identification::NearDuplicate if place.bound_to(tx).await?.contains(&(person, true)) => true,
        Identification::NearDuplicate => return new_face(tx, place, face, true).await,
        // A look-alike of somebody else stays to be looked at until somebody approved this person.
        Identification::Same => hits.len() > 1 && !place.is_approved(tx, person).await?,
    };
    let mut applicant = known_face(tx, place, person).await?;
    applicant.identity.near_duplicate = doubtful && !applicant.identity.already_registered;
    Ok(applicant)
}

/// What was submitted for.
struct Place<'a> {
    scope: Scope,
    grouping_id: Option<Uuid>,
    external_user_id: &'a str,
}

impl Place<'_> {
    async fn registration(&self, tx: &mut Tx) -> Result<Option<Registration>, Error> {
        registrations::find(tx, self.scope, self.grouping_id, self.external_user_id).await
    }

    /// The label's facemaps in the whole account, most recently active first, and whether each is a proven person.
    async fn bound_to(&self, tx: &mut Tx) -> Result<Vec<(Uuid, bool)>, Error> {
        let mut bound: Vec<(Uuid, bool)> = Vec::new();
        for registration in registrations::of_external_user_id(tx, self.scope, self.external_user_id).await? {
            if bound
                .iter()
                .any(|(facemap, _)| *facemap == registration.facemap_id)
            {
                continue;
            }
            let person = people::resolve(tx, self.scope, registration.facemap_id).await?;
            bound.push((
                registration.facemap_id,
                person.is_some_and(|person| person.proven),
            ));
        }
        Ok(bound)
    }

    /// The registration of a person in this group, under whatever label.
    async fn registration_of(&self, tx: &mut Tx, person: Uuid) -> Result<Option<Registration>, Error> {
        let all = registrations::of_facemap(tx, self.scope, person).await?;
        Ok(all
            .into_iter()
            .find(|registration| registration.grouping_id == self.grouping_id))
    }

    /// The groups in which a facemap is registered.
    async fn groups_of(&self, tx: &mut Tx, facemap_id: Uuid) -> Result<HashSet<Option<Uuid>>, Error> {
        let all = registrations::of_facemap(tx, self.scope, facemap_id).await?;
        Ok(all
            .into_iter()
            .map(|registration| registration.grouping_id)
            .collect())
    }

    /// Whether a person stands approved anywhere in the account.
    async fn is_approved(&self, tx: &mut Tx, person: Uuid) -> Result<bool, Error> {
        let all = registrations::of_facemap(tx, self.scope, person).await?;
        Ok(all
            .iter()
            .any(|registration| registration.status == Some(AttemptStatus::Approved)))
    }

    async fn register(&self, tx: &mut Tx, facemap_id: Uuid) -> Result<Registration, Error> {
        registrations::create(
            tx,
            self.scope,
            facemap_id,
            self.grouping_id,
            self.external_user_id,
        )
        .await
    }

    /// A registration, this label's own or a new one of the facemap.
    async fn registered(&self, tx: &mut Tx, facemap_id: Uuid) -> Result<Applicant, Problem> {
        let registration = match self.registration(tx).await? {
            Some(registration) => registration,
            None => self.register(tx, facemap_id).await?,
        };
        Ok(applicant(facemap_id, Some(registration), Identity::default()))
    }
}

fn applicant(facemap_id: Uuid, registration: Option<Registration>, identity: Identity) -> Applicant {
    Applicant {
        identity: Identity {
            facemap_id: facemap_id.to_string(),
            ..identity
        },
        facemap_id,
        registration,
        similar: Vec::new(),
    }
}

/// No face was proven: the label's registration here, else one under the label's facemap, else under a new provisional one.
async fn unproven(tx: &mut Tx, place: &Place<'_>) -> Result<Applicant, Problem> {
    if let Some(registration) = place.registration(tx).await? {
        return Ok(applicant(
            registration.facemap_id,
            Some(registration),
            Identity::default(),
        ));
    }
    for (facemap_id, _) in place.bound_to(tx).await? {
        // A face registers once in a group, so a person who is here under another label gets no second place.
        if place.registration_of(tx, facemap_id).await?.is_none() {
            return place.registered(tx, facemap_id).await;
        }
    }
    let person = people::create(tx, place.scope, false).await?;
    place.registered(tx, person.facemap_id).await
}

/// The face is a known person's.
async fn known_face(tx: &mut Tx, place: &Place<'_>, person: Uuid) -> Result<Applicant, Problem> {
    let bound = place.bound_to(tx).await?;
    if bound
        .iter()
        .any(|(facemap, proven)| *proven && *facemap != person)
    {
        let identity = Identity {
            id_belongs_to_another: true,
            ..Identity::default()
        };
        return Ok(applicant(person, None, identity));
    }
    let duplicate = || Identity {
        already_registered: true,
        ..Identity::default()
    };
    if let Some(registration) = place.registration_of(tx, person).await? {
        if registration.external_user_id != place.external_user_id {
            return Ok(applicant(person, None, duplicate()));
        }
        let approved = registration.status == Some(AttemptStatus::Approved);
        let identity = if approved {
            duplicate()
        } else {
            Identity::default()
        };
        return Ok(applicant(person, Some(registration), identity));
    }
    // A face registers once in a group, so a facemap that also stands where the person does stays apart. Asked before anything is
    // written: a conflict inside the transaction would leave it half done.
    let mut groups = place.groups_of(tx, person).await?;
    let mut mergeable = Vec::new();
    for (provisional, _) in bound.into_iter().filter(|(facemap, _)| *facemap != person) {
        let own = place.groups_of(tx, provisional).await?;
        if own.is_disjoint(&groups) {
            groups.extend(own);
            mergeable.push(provisional);
        } else if own.contains(&place.grouping_id) {
            return Ok(applicant(person, None, duplicate()));
        }
    }
    for provisional in mergeable {
        people::merge(tx, place.scope, provisional, person).await?;
    }
    place.registered(tx, person).await
}

/// The face is nobody's yet: it is bound to the label's provisional facemap, or to a new one.
async fn new_face(
    tx: &mut Tx,
    place: &Place<'_>,
    face: &Embedding,
    near_duplicate: bool,
) -> Result<Applicant, Problem> {
    let bound = place.bound_to(tx).await?;
    if bound.iter().any(|(_, proven)| *proven) {
        let person = people::create(tx, place.scope, false).await?;
        let identity = Identity {
            id_belongs_to_another: true,
            ..Identity::default()
        };
        return Ok(applicant(person.facemap_id, None, identity));
    }
    let own = place
        .registration(tx)
        .await?
        .map(|registration| registration.facemap_id);
    let facemap_id = match own.or(bound.first().map(|(facemap, _)| *facemap)) {
        Some(provisional) => {
            people::set_proven(tx, place.scope, provisional).await?;
            provisional
        }
        None => people::create(tx, place.scope, true).await?.facemap_id,
    };
    store::faces::insert(tx, place.scope, facemap_id, face.version(), &face.to_bytes()).await?;
    let mut applicant = place.registered(tx, facemap_id).await?;
    applicant.identity.near_duplicate = near_duplicate;
    Ok(applicant)
}
