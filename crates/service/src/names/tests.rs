//! Ways to hide a listed name, one per row: the typed name and the documents' names, against a real list.

use clap::Parser;
use documents::reading::{Aamva, BarcodeReading, DocumentReading, PartialDate, PayloadKind};
use reference::DocumentType;
use sanctions::import::{Source, import};
use verification::evidence::{BarcodeFinding, Consistency, DocumentData, DocumentEvidence, MrzFinding};
use verification::names::{NameSource, of_documents};

use super::*;
use crate::config::DataConfig;
use crate::evidence;
use crate::problem::Kind;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    data: DataConfig,
}

/// Invented people of every kind of name.
const LISTED: &str = concat!(
    r#"{"id":"x-1","schema":"Person","properties":{"name":["Zoltar Quenthabar"],"alias":["Soltar Kwentabar"],"topics":["sanction"]}}"#,
    "\n",
    r#"{"id":"x-2","schema":"Person","properties":{"name":["Mirabeth Oskelund-Trane"],"topics":["sanction"]}}"#,
    "\n",
    r#"{"id":"x-3","schema":"Person","properties":{"name":["Abdul Fahim bin Tarquin al-Inventari"],"birthDate":["1974-08-12"],"topics":["sanction"]}}"#,
    "\n",
    r#"{"id":"x-4","schema":"Person","properties":{"name":["Jürgen Møllerström"],"topics":["sanction"]}}"#,
    "\n",
    r#"{"id":"x-5","schema":"Person","properties":{"name":["Дмитрий Выдуманов"],"topics":["sanction"]}}"#,
    "\n",
    r#"{"id":"x-6","schema":"Person","properties":{"name":["Soekarnadi"],"topics":["sanction"]}}"#,
    "\n",
);

/// Lists that have been imported into a fresh folder.
fn lists() -> (tempfile::TempDir, Lists) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let arguments = Arguments::parse_from(["bonafide", "--data", folder]);
    let (list, _) = import(vec![Source::new("people.json", LISTED.as_bytes())], None).unwrap();
    arguments.data.list_store().unwrap().activate(&list).unwrap();
    let lists = Lists::open(&arguments.data).unwrap();
    (dir, lists)
}

fn typed(first: &str, middle: Option<&str>, last: &str) -> ScreenedName {
    let field = |name| match name {
        "firstName" => Some(first),
        "middleName" => middle,
        "lastName" => Some(last),
        _ => None,
    };
    ScreenedName::of_form(field, None)
}

/// A document with these findings.
fn document(mrz: MrzFinding, barcode: BarcodeFinding) -> DocumentEvidence {
    DocumentEvidence {
        document_type: DocumentType::Passport,
        front: None,
        back: None,
        mrz,
        barcode,
        visual: DocumentData::default(),
        sides: Consistency::Unknown,
        portrait_match: None,
    }
}

/// A passport whose MRZ begins with this name, filled up to its 44 characters.
fn passport(name: &str) -> DocumentEvidence {
    let first = format!("{:<<44}", format!("P<D<<{name}"));
    assert_eq!(first.len(), 44, "{first}");
    let second = "L898902C36D<<7408122F1204159ZE184226B<<<<<10";
    let mrz = documents::mrz::parse(&[first.as_str(), second]).unwrap();
    assert!(mrz.valid && mrz.accepted, "{first}: {:?}", mrz.warnings);
    let reading = DocumentReading {
        mrz: Some(mrz),
        ..DocumentReading::default()
    };
    document(evidence::mrz(&[&reading]), BarcodeFinding::NotFound)
}

/// A licence whose barcode states this name.
fn licence(first: &str, middle: &[&str], last: &str, truncated: &[&str]) -> DocumentEvidence {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    let aamva = Aamva {
        first_name: Some(first.into()),
        middle_names: texts(middle),
        last_name: Some(last.into()),
        truncated: texts(truncated),
        birth_date: PartialDate::from_ymd(1974, 8, 12),
        ..Aamva::default()
    };
    let reading = DocumentReading {
        barcodes: vec![BarcodeReading {
            symbology: "PDF417".into(),
            payload: PayloadKind::Aamva,
            aamva: Some(aamva),
            ..BarcodeReading::default()
        }],
        ..DocumentReading::default()
    };
    document(MrzFinding::NotFound, evidence::barcode(&[&reading]))
}

#[test]
fn no_way_hides_a_listed_name() {
    use NameSource::{Barcode, Mrz, Submitted};
    let innocent = || typed("Ada", None, "Quill");
    let rows: Vec<(&str, ScreenedName, Vec<DocumentEvidence>, &str, NameSource)> = vec![
        (
            "the listed name",
            typed("Zoltar", None, "Quenthabar"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "first and last name swapped",
            typed("Quenthabar", None, "Zoltar"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "a middle name between",
            typed("Zoltar", Some("Ferdinand"), "Quenthabar"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "the family name as the middle name",
            typed("Zoltar", Some("Quenthabar"), "Quill"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "the whole name as the first name",
            typed("Zoltar Quenthabar", None, "Q"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "a hyphen as a blank",
            typed("Mirabeth", None, "Oskelund Trane"),
            vec![],
            "x-2",
            Submitted,
        ),
        (
            "words joined",
            typed("Mirabeth", None, "Oskelundtrane"),
            vec![],
            "x-2",
            Submitted,
        ),
        (
            "another transliteration",
            typed("Dmitriy", None, "Vydumanov"),
            vec![],
            "x-5",
            Submitted,
        ),
        (
            "digits and dots between",
            typed("Z.oltar", None, "Quen.thabar"),
            vec![],
            "x-1",
            Submitted,
        ),
        (
            "another name typed, the passport's listed",
            innocent(),
            vec![passport("QUENTHABAR<<ZOLTAR")],
            "x-1",
            Mrz,
        ),
        (
            "a listed alias on the passport",
            innocent(),
            vec![passport("KWENTABAR<<SOLTAR")],
            "x-1",
            Mrz,
        ),
        (
            "no given names on the passport",
            innocent(),
            vec![passport("ZOLTAR<QUENTHABAR")],
            "x-1",
            Mrz,
        ),
        (
            "people with one name",
            innocent(),
            vec![passport("SOEKARNADI")],
            "x-6",
            Mrz,
        ),
        (
            "names swapped on the passport",
            innocent(),
            vec![passport("ZOLTAR<<QUENTHABAR")],
            "x-1",
            Mrz,
        ),
        (
            "transliterated as ICAO 9303 does",
            innocent(),
            vec![passport("MOELLERSTROEM<<JUERGEN")],
            "x-4",
            Mrz,
        ),
        (
            "a hyphen as a filler",
            innocent(),
            vec![passport("OSKELUND<TRANE<<MIRABETH")],
            "x-2",
            Mrz,
        ),
        (
            "a name that is cut short",
            innocent(),
            vec![passport("AL<INVENTARI<<ABDUL<FAHIM<BIN<TARQUIN<X")],
            "x-3",
            Mrz,
        ),
        (
            "a second document",
            innocent(),
            vec![passport("QUILL<<ADA"), passport("QUENTHABAR<<ZOLTAR")],
            "x-1",
            Mrz,
        ),
        (
            "a licence's barcode",
            innocent(),
            vec![licence("ZOLTAR", &["FERDINAND"], "QUENTHABAR", &[])],
            "x-1",
            Barcode,
        ),
        (
            "a barcode whose names are cut short",
            innocent(),
            vec![licence("MIRABETH", &[], "OSKELUND TRAN", &["lastName"])],
            "x-2",
            Barcode,
        ),
    ];
    let (_dir, lists) = lists();
    let settings = MerchantSettings::default();
    let mut hidden = Vec::new();
    for (way, submitted, documents, expected, source) in rows {
        let screened = ScreenedNames::new(vec![submitted.clone()], &lists, true, &settings)
            .and_then(|own| own.with(of_documents(&documents), &lists, true, &settings))
            .unwrap();
        let screening = screened.screening();
        let hit = screening.results.iter().find(|hit| hit.id == expected);
        let by = hit.map_or(&[][..], |hit| &hit.matched_names);
        if !screening.is_match() || !by.iter().any(|name| name.source == source) {
            hidden.push(format!("{way}: {by:?}"));
        }
        assert_eq!(
            screening.query_params["name"], submitted.name,
            "{way}: the submitted query stays"
        );
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
}

#[test]
fn a_name_on_a_document_is_screened_with_what_the_document_states() {
    let (_dir, lists) = lists();
    let settings = MerchantSettings::default();
    let submitted = ScreenedName {
        birth_date: Some("2001-01-01".into()),
        nationality: Some("FRA".into()),
        country: Some("FRA".into()),
        ..typed("Ada", None, "Quill")
    };
    let documents = [passport("QUENTHABAR<<ZOLTAR"), passport("QUENTHABAR<<ZOLTAR")];
    let screened = ScreenedNames::new(vec![submitted], &lists, true, &settings)
        .and_then(|own| own.with(of_documents(&documents), &lists, true, &settings))
        .unwrap();
    let further = &screened.screening().further_names;
    assert_eq!(further.len(), 1, "the same name twice is screened once");
    let searched = &further[0].query_params;
    assert_eq!(searched["dob"], "1974-08-12");
    assert_eq!(searched["nationality"], "de");
    assert!(!searched.contains_key("country"));
}

#[test]
fn without_lists_further_names_are_not_screened_and_nothing_goes_on() {
    let (_dir, lists) = lists();
    let settings = MerchantSettings::default();
    let own = ScreenedNames::new(vec![typed("Ada", None, "Quill")], &lists, true, &settings).unwrap();
    for list in lists.store().status().unwrap() {
        lists.store().remove(&list.list).unwrap();
    }
    lists.reload();
    let on_documents = of_documents(&[passport("QUENTHABAR<<ZOLTAR")]);
    let refused = own
        .with(on_documents, &lists, true, &settings)
        .expect_err("there is no list");
    assert_eq!(refused.kind(), Kind::Unavailable);
}
