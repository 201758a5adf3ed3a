//! What pictures of documents show before their submission.

use super::*;
use crate::judge::reading::{
    Proposal, document_number, fields_taken, issuing_country, seems_other_side, told_codes,
};
use crate::submission::Side;

fn shown(document: &DocumentEvidence, country: Option<&str>) -> Vec<u16> {
    let codes = told_codes(document, None, false, country, TODAY);
    codes.iter().map(|code| code.number()).collect()
}

#[test]
fn pictures_are_told_by_the_codes_of_their_submission() {
    type Change = fn(&mut DocumentEvidence);
    let rows: &[(&str, reference::DocumentType, Change, &[u16])] = &[
        ("nothing wrong", Passport, |_| {}, &[]),
        (
            "a card without its back",
            IdCard,
            |d| (d.back, d.mrz) = (None, MrzFinding::NotFound),
            &[],
        ),
        (
            "a back without its front is not judged by its data",
            IdCard,
            |d| (d.front, d.mrz) = (None, MrzFinding::NotFound),
            &[],
        ),
        (
            "a card whose back has no zone",
            IdCard,
            |d| d.mrz = MrzFinding::NotFound,
            &[2511],
        ),
        (
            "an undecodable file has nothing else",
            Passport,
            |d| {
                d.front = Some(SideEvidence {
                    state: PictureState::Corrupted,
                    ..side(0)
                });
                d.mrz = MrzFinding::NotFound;
            },
            &[2003],
        ),
        (
            "another document has nothing else",
            Passport,
            |d| {
                d.front = Some(SideEvidence {
                    content: PictureContent::Other,
                    ..side(1)
                });
                d.mrz = MrzFinding::NotFound;
            },
            &[2404],
        ),
        ("no face", Passport, |d| d.front = Some(side(0)), &[2001]),
        (
            "an uncertain zone",
            Passport,
            |d| {
                if let MrzFinding::Read(mrz) = &mut d.mrz {
                    mrz.accepted = false;
                }
            },
            &[2501],
        ),
        (
            "expired",
            Passport,
            |d| {
                if let MrzFinding::Read(mrz) = &mut d.mrz {
                    mrz.data.expiry_date = Some("2020-01-31".into());
                }
            },
            &[2509],
        ),
        (
            "other sides",
            IdCard,
            |d| d.sides = Consistency::Mismatch,
            &[2506],
        ),
    ];
    for (what, document_type, change, codes) in rows {
        let mut document = document(*document_type);
        change(&mut document);
        assert_eq!(shown(&document, Some("UTO")), *codes, "{what}");
    }
}

#[test]
fn a_country_may_be_left_to_the_document() {
    let mut passport = document(Passport);
    assert_eq!(issuing_country(&passport), Some("UTO"));
    assert!(shown(&passport, None).is_empty());
    assert_eq!(shown(&passport, Some("DEU")), [2508]);
    (passport.mrz, passport.visual) = (MrzFinding::NotFound, DocumentData::default());
    assert_eq!(issuing_country(&passport), None);
    assert_eq!(shown(&passport, None), [2511], "every passport has a zone");
}

#[test]
fn the_other_side_of_a_card_is_noticed() {
    let other = SideEvidence {
        content: PictureContent::Other,
        ..side(0)
    };
    for (document_type, wanted, shown, has_code, expected) in [
        (IdCard, Side::Front, side(0), true, true),
        (IdCard, Side::Front, side(1), true, false),
        (IdCard, Side::Front, side(0), false, false),
        (Drivers, Side::Back, side(1), false, true),
        (Drivers, Side::Back, side(1), true, false),
        (Drivers, Side::Back, side(0), false, false),
        (Passport, Side::Front, side(0), true, false),
        (IdCard, Side::Front, other, true, false),
    ] {
        let found = seems_other_side(document_type, wanted, &shown, has_code);
        assert_eq!(
            found, expected,
            "{document_type:?} {wanted:?} {shown:?} {has_code}"
        );
    }
}

/// A passport whose zone states these names, and whose print these.
fn passport(zone: [Option<&str>; 2], print: [Option<&str>; 2]) -> DocumentEvidence {
    let mut document = document(Passport);
    let text = |text: Option<&str>| text.map(str::to_owned);
    if let MrzFinding::Read(mrz) = &mut document.mrz {
        [mrz.data.given_names, mrz.data.surname] = zone.map(text);
    }
    [document.visual.given_names, document.visual.surname] = print.map(text);
    document
}

#[test]
fn names_are_proposed_as_a_submission_takes_them() {
    type Names<'a> = [Option<&'a str>; 2];
    type Proposed<'a> = Option<(&'a str, Option<&'a str>)>;
    // zone, print, with a middle name → first, middle, last: value and print
    let none: Names<'_> = [None, None];
    let rows: &[(Names<'_>, Names<'_>, bool, [Proposed<'_>; 3])] = &[
        (
            [Some("ANNA MARIA"), Some("ERIKSSON")],
            none,
            false,
            [Some(("ANNA MARIA", None)), None, Some(("ERIKSSON", None))],
        ),
        (
            [Some("ANNA MARIA"), Some("ERIKSSON")],
            none,
            true,
            [
                Some(("ANNA", None)),
                Some(("MARIA", None)),
                Some(("ERIKSSON", None)),
            ],
        ),
        (
            [Some("JUERGEN"), Some("MUELLER")],
            [Some("Jürgen"), Some("Müller")],
            false,
            [
                Some(("JUERGEN", Some("Jürgen"))),
                None,
                Some(("MUELLER", Some("Müller"))),
            ],
        ),
        // Print that a zone would write otherwise is another name, or misread.
        (
            [Some("JUERGEN"), Some("MUELLER")],
            [Some("Jörgen"), Some("Möller")],
            false,
            [Some(("JUERGEN", None)), None, Some(("MUELLER", None))],
        ),
        // One name only.
        (
            [None, Some("ARKFREITH")],
            none,
            false,
            [Some(("ARKFREITH", None)), None, Some(("ARKFREITH", None))],
        ),
        (
            [Some("SUHARTO"), None],
            none,
            false,
            [Some(("SUHARTO", None)), None, Some(("SUHARTO", None))],
        ),
        (none, none, false, [None, None, None]),
    ];
    for (zone, print, with_middle_name, expected) in rows {
        let proposal = Proposal::of(&passport(*zone, *print), |field| {
            *with_middle_name && field == "middleName"
        });
        let found = ["firstName", "middleName", "lastName"].map(|field| {
            let proposed = proposal.0.get(field)?;
            Some((proposed.value.as_str(), proposed.printed.as_deref()))
        });
        assert_eq!(found, *expected, "{zone:?} {print:?} {with_middle_name}");
    }
}

#[test]
fn only_accepted_readings_are_proposed() {
    let fields = |document: &DocumentEvidence| {
        let proposal = Proposal::of(document, |field| field != "middleName");
        proposal.0.into_keys().collect::<Vec<_>>()
    };
    let all = ["dob", "firstName", "lastName", "nationality"];
    let mut passport = document(Passport);
    assert_eq!(fields(&passport), all);
    assert_eq!(document_number(&passport).as_deref(), Some("L898902C3"));
    passport.visual = data();
    let change = |change: fn(&mut MrzRead)| {
        let mut passport = passport.clone();
        if let MrzFinding::Read(mrz) = &mut passport.mrz {
            change(mrz);
        }
        passport
    };
    for unaccepted in [
        change(|mrz| mrz.accepted = false),
        change(|mrz| mrz.valid = false),
    ] {
        assert!(fields(&unaccepted).is_empty(), "print is guessed from");
        assert_eq!(document_number(&unaccepted), None);
    }
    let truncated = change(|mrz| mrz.data.name_may_be_truncated = true);
    assert_eq!(fields(&truncated), ["dob", "nationality"]);
    let partly_known = change(|mrz| mrz.data.birth_date = Some("1985-12".into()));
    assert_eq!(fields(&partly_known), ["firstName", "lastName", "nationality"]);
    let stateless = change(|mrz| mrz.data.nationality = Some("XXA".into()));
    assert_eq!(fields(&stateless), ["dob", "firstName", "lastName"]);

    let mut licence = document(Drivers);
    licence.barcode = BarcodeFinding::Read(DocumentData {
        given_names: Some("Renée".into()),
        nationality: None,
        ..data()
    });
    let proposal = Proposal::of(&licence, |_| true);
    let first = &proposal.0["firstName"];
    assert_eq!(
        (first.value.as_str(), first.printed.as_deref()),
        ("RENEE", Some("Renée"))
    );
}

#[test]
fn only_what_the_flow_asks_for_is_proposed() {
    let proposal = Proposal::of(&document(Passport), |_| false);
    assert_eq!(
        proposal.0.into_keys().collect::<Vec<_>>(),
        ["firstName", "lastName"]
    );
}

#[test]
fn a_value_is_taken_from_the_document_unless_it_was_corrected() {
    let named = |given: &str| passport([Some(given), Some("LOVELACE")], [None, None]);
    let of = |document: &DocumentEvidence, with_middle_name: bool| {
        Proposal::of(document, |field| with_middle_name || field != "middleName")
    };
    let whole = vec![of(&named("ADA MARIA"), false)];
    let split = vec![of(&named("ADA MARIA"), true)];
    let replaced = vec![of(&named("ADA MARIA"), false), Proposal::default()];
    let same = [
        ("firstName", "Ada Maria"),
        ("lastName", "Lovelace"),
        ("dob", "12/10/1985"),
    ];
    for (proposals, changes, taken) in [
        (&whole, &same[..], &["firstName", "lastName", "dob"][..]),
        // A later picture that says nothing takes nothing back.
        (&replaced, &same, &["firstName", "lastName", "dob"]),
        // Regrouped, left out, in another order.
        (&split, &same, &["firstName", "lastName", "dob"]),
        (&whole, &[("firstName", "Maria")], &["firstName", "lastName"]),
        (
            &whole,
            &[("firstName", "Lovelace"), ("lastName", "ADA")],
            &["firstName", "lastName"],
        ),
        (
            &whole,
            &[("middleName", "Maria")],
            &["firstName", "lastName", "middleName"],
        ),
        // Corrected.
        (
            &whole,
            &[("firstName", "Adele"), ("dob", "12/11/1985")],
            &["lastName"],
        ),
        (
            &whole,
            &[("firstName", "Ada"), ("lastName", "Lovelace King")],
            &["firstName"],
        ),
        (&Vec::new(), &same, &[]),
    ] {
        let submission = submit(changes, &[], &sandbox());
        assert_eq!(fields_taken(proposals, &submission), taken, "{changes:?}");
    }
}

#[test]
fn each_side_is_told_its_own_faults() {
    let told = |document: &DocumentEvidence, other: Option<&DocumentEvidence>, is_other_side| {
        let codes = told_codes(document, other, is_other_side, Some("UTO"), TODAY);
        codes.iter().map(|code| code.number()).collect::<Vec<_>>()
    };
    let mut card = document(IdCard);
    card.front = Some(side(0));
    card.sides = Consistency::Mismatch;
    let front = DocumentEvidence {
        back: None,
        mrz: MrzFinding::NotFound,
        sides: Consistency::Unknown,
        ..card.clone()
    };
    assert_eq!(told(&front, None, false), [2001]);
    assert_eq!(
        told(&card, Some(&front), false),
        [2506],
        "not the front's 2001 again"
    );
    assert!(told(&front, None, true).is_empty(), "the other side explains it");
    // The front after its back: what the back alone shows is not the front's.
    let mut back = document(IdCard);
    back.front = None;
    if let MrzFinding::Read(mrz) = &mut back.mrz {
        mrz.accepted = false;
        mrz.data.expiry_date = Some("2020-01-31".into());
    }
    let both = DocumentEvidence {
        front: Some(side(0)),
        ..back.clone()
    };
    assert_eq!(told(&both, Some(&back), false), [2001]);
    // Print is no proof while the back with the zone is missing, and its missing zone is no fault.
    let mut expired = front.clone();
    expired.front = Some(side(1));
    expired.visual.expiry_date = Some("2020-01-31".into());
    expired.visual.issuer = Some("DEU".into());
    assert!(told(&expired, None, false).is_empty());
    // A Romanian card may have its zone on the front or on the back.
    let codes = told_codes(&front, None, true, Some("ROU"), TODAY);
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn a_document_of_another_country_is_judged_by_its_own() {
    // A German card has a zone; a licence of Utopia has none, but a barcode.
    let mut licence = document(Drivers);
    assert_eq!(shown(&licence, Some("DEU")), [2508]);
    licence.barcode = BarcodeFinding::NotFound;
    assert_eq!(shown(&licence, Some("UTO")), [2512]);
}
