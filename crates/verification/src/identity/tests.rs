//! The cases of `docs/decisions/0013-faces-and-people.md` and `0014-duplicates.md`, one row each.

use super::*;

const GROUP: Option<Uuid> = Some(Uuid::from_u128(100));
const OTHER_GROUP: Option<Uuid> = Some(Uuid::from_u128(101));
const PERSON: Uuid = Uuid::from_u128(1);
const PROVISIONAL: Uuid = Uuid::from_u128(2);
const STRANGER: Uuid = Uuid::from_u128(3);
const HERE: SubmissionScope<'_> = SubmissionScope {
    grouping_id: GROUP,
    external_user_id: "ada",
};

/// A registration whose id combines facemap and group, so that tests can predict it.
fn registered(
    label: &str,
    facemap_id: Uuid,
    is_proven: bool,
    grouping_id: Option<Uuid>,
) -> ExistingRegistration {
    ExistingRegistration {
        id: id(facemap_id, grouping_id),
        facemap_id,
        is_proven,
        grouping_id,
        external_user_id: label.into(),
        status: Some(AttemptStatus::Pending),
    }
}

fn id(facemap_id: Uuid, grouping_id: Option<Uuid>) -> Uuid {
    Uuid::from_u128(facemap_id.as_u128() * 1_000 + grouping_id.map_or(0, |group| group.as_u128()))
}

fn approved(registration: ExistingRegistration) -> ExistingRegistration {
    ExistingRegistration {
        status: Some(AttemptStatus::Approved),
        ..registration
    }
}

/// An account with these registrations. The applicant's label is "ada".
fn account(all: &[ExistingRegistration]) -> AccountRegistrations {
    let of_label = all.iter().filter(|one| one.external_user_id == "ada").cloned();
    AccountRegistrations {
        label_registrations: of_label.collect(),
        people_registrations: all.to_vec(),
    }
}

fn hit(person: Uuid, nearness: Nearness) -> FaceHit {
    FaceHit { person, nearness }
}

fn plan(facemap: FacemapTarget, registration: RegistrationTarget) -> Plan {
    Plan::new(facemap, registration)
}

#[test]
fn without_a_proven_face_the_label_decides() {
    let rows: &[(&str, &[ExistingRegistration], Plan)] = &[
        (
            "nobody",
            &[],
            plan(FacemapTarget::NewProvisional, RegistrationTarget::New),
        ),
        (
            "registered here",
            &[registered("ada", PROVISIONAL, false, GROUP)],
            plan(
                FacemapTarget::Known(PROVISIONAL),
                RegistrationTarget::Known(id(PROVISIONAL, GROUP)),
            ),
        ),
        (
            "registered elsewhere",
            &[registered("ada", PERSON, true, OTHER_GROUP)],
            plan(FacemapTarget::Known(PERSON), RegistrationTarget::New),
        ),
        (
            "the label's person is here under another label",
            &[
                registered("ada", PERSON, true, OTHER_GROUP),
                registered("eve", PERSON, true, GROUP),
            ],
            plan(FacemapTarget::NewProvisional, RegistrationTarget::New),
        ),
    ];
    for (what, registrations, expected) in rows {
        assert_eq!(plan_unproven(HERE, &account(registrations)), *expected, "{what}");
    }
}

#[test]
fn a_face_that_nobody_has_is_bound() {
    let near = [hit(STRANGER, Nearness::NearDuplicate)];
    let far = [hit(STRANGER, Nearness::Unknown)];
    let rows: &[(&str, &[FaceHit], &[ExistingRegistration], Plan)] = &[
        (
            "nobody",
            &[],
            &[],
            plan(FacemapTarget::NewPerson, RegistrationTarget::New),
        ),
        (
            "far",
            &far,
            &[],
            plan(FacemapTarget::NewPerson, RegistrationTarget::New),
        ),
        (
            "near",
            &near,
            &[],
            Plan {
                near_duplicate: true,
                ..plan(FacemapTarget::NewPerson, RegistrationTarget::New)
            },
        ),
        (
            "provisional here",
            &[],
            &[registered("ada", PROVISIONAL, false, GROUP)],
            plan(
                FacemapTarget::Bind(PROVISIONAL),
                RegistrationTarget::Known(id(PROVISIONAL, GROUP)),
            ),
        ),
        (
            "provisional elsewhere",
            &[],
            &[registered("ada", PROVISIONAL, false, OTHER_GROUP)],
            plan(FacemapTarget::Bind(PROVISIONAL), RegistrationTarget::New),
        ),
        (
            "the label belongs to another proven face",
            &near,
            &[registered("ada", PERSON, true, OTHER_GROUP)],
            Plan {
                id_belongs_to_another: true,
                ..plan(FacemapTarget::NewProvisional, RegistrationTarget::None)
            },
        ),
    ];
    for (what, hits, registrations, expected) in rows {
        assert_eq!(
            plan_proven(HERE, hits, &account(registrations)),
            *expected,
            "{what}"
        );
    }
}

#[test]
fn a_known_face_registers_once_in_a_group() {
    let same = [hit(PERSON, Nearness::Same)];
    let known = |registration| plan(FacemapTarget::Known(PERSON), registration);
    let duplicate = Plan {
        already_registered: true,
        ..known(RegistrationTarget::None)
    };
    let own = registered("ada", PERSON, true, GROUP);
    let rows: &[(&str, &[ExistingRegistration], Plan)] = &[
        (
            "under this label",
            std::slice::from_ref(&own),
            known(RegistrationTarget::Known(own.id)),
        ),
        (
            "under this label, approved",
            &[approved(own.clone())],
            Plan {
                already_registered: true,
                ..known(RegistrationTarget::Known(own.id))
            },
        ),
        (
            "under another label",
            &[registered("eve", PERSON, true, GROUP)],
            duplicate.clone(),
        ),
        (
            "elsewhere only",
            &[registered("eve", PERSON, true, OTHER_GROUP)],
            known(RegistrationTarget::New),
        ),
        (
            "the label is provisional here",
            &[
                registered("eve", PERSON, true, OTHER_GROUP),
                registered("ada", PROVISIONAL, false, GROUP),
            ],
            Plan {
                merge: vec![PROVISIONAL],
                ..known(RegistrationTarget::Known(id(PROVISIONAL, GROUP)))
            },
        ),
        (
            "the provisional facemap is registered where the person is, and here",
            &[
                registered("eve", PERSON, true, OTHER_GROUP),
                registered("ada", PROVISIONAL, false, GROUP),
                registered("ada", PROVISIONAL, false, OTHER_GROUP),
            ],
            duplicate.clone(),
        ),
        (
            "the provisional facemap is registered where the person is, not here",
            &[
                registered("eve", PERSON, true, OTHER_GROUP),
                registered("ada", PROVISIONAL, false, OTHER_GROUP),
            ],
            known(RegistrationTarget::New),
        ),
        (
            "the label belongs to another proven face",
            &[registered("ada", STRANGER, true, OTHER_GROUP)],
            Plan {
                id_belongs_to_another: true,
                ..known(RegistrationTarget::None)
            },
        ),
    ];
    for (what, registrations, expected) in rows {
        assert_eq!(
            plan_proven(HERE, &same, &account(registrations)),
            *expected,
            "{what}"
        );
    }
}

#[test]
fn only_two_near_faces_or_the_band_are_doubtful() {
    let (near, far) = (
        hit(PERSON, Nearness::Same),
        hit(STRANGER, Nearness::NearDuplicate),
    );
    let band = hit(PERSON, Nearness::NearDuplicate);
    let own = registered("ada", PERSON, true, OTHER_GROUP);
    for (what, hits, registrations, expected) in [
        ("one near face", &[near][..], [own.clone()], false),
        ("a look-alike", &[near, far], [own.clone()], true),
        (
            "a look-alike of an approved person",
            &[near, far],
            [approved(own.clone())],
            false,
        ),
        ("the label's person in the band", &[band], [own], true),
    ] {
        let plan = plan_proven(HERE, hits, &account(&registrations));
        assert_eq!(plan.near_duplicate, expected, "{what}");
        assert_eq!(plan.facemap, FacemapTarget::Known(PERSON), "{what}");
    }
    let plan = plan_proven(
        HERE,
        &[near, far],
        &account(&[registered("eve", PERSON, true, GROUP)]),
    );
    assert!(
        plan.already_registered && !plan.near_duplicate,
        "a duplicate is no near-duplicate"
    );
}

#[test]
fn a_hit_among_too_many_faces_decides_nothing() {
    let undecided = [hit(STRANGER, Nearness::Undecided)];
    let held = |facemap| Plan {
        near_duplicate: true,
        undecided: true,
        ..plan(facemap, RegistrationTarget::New)
    };
    let own = registered("ada", PERSON, true, GROUP);
    let own_hit = hit(PERSON, Nearness::Undecided);
    let kept = |registration| plan(FacemapTarget::Known(PERSON), registration);
    let rows: &[(&str, &[FaceHit], &[ExistingRegistration], Plan)] = &[
        (
            "no 2307 and no joining, although the hit is registered here",
            &undecided,
            &[registered("eve", STRANGER, true, GROUP)],
            held(FacemapTarget::NewPerson),
        ),
        (
            "the label's provisional facemap does not join the hit",
            &undecided,
            &[registered("ada", PROVISIONAL, false, OTHER_GROUP)],
            held(FacemapTarget::Bind(PROVISIONAL)),
        ),
        (
            "2306 follows from the label's own face, which is not among the hits",
            &undecided,
            &[registered("ada", PERSON, true, OTHER_GROUP)],
            Plan {
                id_belongs_to_another: true,
                ..plan(FacemapTarget::NewProvisional, RegistrationTarget::None)
            },
        ),
        (
            "the label's own person is compared alone",
            &[own_hit],
            std::slice::from_ref(&own),
            kept(RegistrationTarget::Known(own.id)),
        ),
        (
            "and is a duplicate once approved",
            &[own_hit],
            &[approved(own.clone())],
            Plan {
                already_registered: true,
                ..kept(RegistrationTarget::Known(own.id))
            },
        ),
        (
            "a stranger who is nearer gives no 2306 and is reviewed",
            &[undecided[0], own_hit],
            std::slice::from_ref(&own),
            Plan {
                near_duplicate: true,
                ..kept(RegistrationTarget::Known(own.id))
            },
        ),
        (
            "a twin who is nearer gives no 2306 and is reviewed, also after an approval elsewhere",
            &[hit(STRANGER, Nearness::Same), hit(PERSON, Nearness::Same)],
            &[
                registered("ada", PERSON, true, GROUP),
                approved(registered("ada", PERSON, true, OTHER_GROUP)),
            ],
            Plan {
                near_duplicate: true,
                ..kept(RegistrationTarget::Known(own.id))
            },
        ),
        (
            "a known face whose label's person only resembles it is another person's",
            &[
                hit(STRANGER, Nearness::Same),
                hit(PERSON, Nearness::NearDuplicate),
            ],
            std::slice::from_ref(&own),
            Plan {
                id_belongs_to_another: true,
                near_duplicate: true,
                ..plan(FacemapTarget::Known(STRANGER), RegistrationTarget::None)
            },
        ),
        (
            "the same in the band below a match",
            &[
                hit(STRANGER, Nearness::NearDuplicate),
                hit(PERSON, Nearness::NearDuplicate),
            ],
            std::slice::from_ref(&own),
            Plan {
                near_duplicate: true,
                ..kept(RegistrationTarget::Known(own.id))
            },
        ),
    ];
    for (what, hits, registrations, expected) in rows {
        assert_eq!(
            plan_proven(HERE, hits, &account(registrations)),
            *expected,
            "{what}"
        );
    }
}
