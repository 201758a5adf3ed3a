//! Lists that are tables: their readers on small files in their publishers' forms, and on damaged ones. All parties are
//! invented.

use std::io::Cursor;

use super::*;
use crate::entity::{Entity, IdentifierKind, Schema};

fn read(name: &str, bytes: &[u8]) -> Result<(List, ImportReport), ImportError> {
    import(vec![Source::new(name, Cursor::new(bytes.to_vec()))], None)
}

fn refused(name: &str, text: &str) -> String {
    match read(name, text.as_bytes()) {
        Ok((_, report)) => panic!("{} entities", report.entities),
        Err(error) => error.to_string(),
    }
}

fn numbers(entity: &Entity) -> Vec<(IdentifierKind, &str)> {
    let numbers = entity.identifiers.iter();
    numbers
        .map(|number| (number.kind, number.value.as_str()))
        .collect()
}

fn dates(entity: &Entity) -> Vec<String> {
    entity.birth_dates.iter().map(ToString::to_string).collect()
}

fn assert_remarks(entity: &Entity, remarks: &[&str]) {
    for remark in remarks {
        assert!(
            entity.remarks.iter().any(|known| known == remark),
            "{remark}: {:?}",
            entity.remarks
        );
    }
}

/// What became of the values of a column.
fn uses(report: &ImportReport, column: &str) -> Vec<(Use, u64)> {
    let values = report.values.iter().filter(|value| value.name == column);
    values.map(|value| (value.used, value.count)).collect()
}

/// A table from rows of columns and values; values without one of the columns are empty.
fn table(separator: &str, columns: &[&str], rows: &[&[(&str, &str)]]) -> String {
    let mut text = columns.join(separator);
    for row in rows {
        let fields = columns.iter().map(|column| {
            let value = row.iter().find(|(name, _)| name == column);
            value.map_or("", |(_, value)| value)
        });
        text.push('\n');
        text.push_str(&fields.collect::<Vec<_>>().join(separator));
    }
    text + "\n"
}

const EU_COLUMNS: &str = "fileGenerationDate;Entity_LogicalId;Entity_EU_ReferenceNumber;Entity_UnitedNationId;\
Entity_DesignationDate;Entity_DesignationDetails;Entity_Remark;Entity_SubjectType;\
Entity_SubjectType_ClassificationCode;Entity_Regulation_Type;Entity_Regulation_OrganisationType;\
Entity_Regulation_PublicationDate;Entity_Regulation_EntryIntoForceDate;Entity_Regulation_NumberTitle;\
Entity_Regulation_Programme;Entity_Regulation_PublicationUrl;NameAlias_LastName;NameAlias_FirstName;\
NameAlias_MiddleName;NameAlias_WholeName;NameAlias_NameLanguage;NameAlias_Gender;NameAlias_Title;NameAlias_Function;\
NameAlias_LogicalId;NameAlias_RegulationLanguage;NameAlias_Remark;NameAlias_Regulation_Type;Address_City;\
Address_Street;Address_PoBox;Address_ZipCode;Address_Region;Address_Place;Address_AsAtListingTime;Address_ContactInfo;\
Address_CountryIso2Code;Address_CountryDescription;Address_LogicalId;Address_Remark;BirthDate_BirthDate;BirthDate_Day;\
BirthDate_Month;BirthDate_Year;BirthDate_YearRangeFrom;BirthDate_YearRangeTo;BirthDate_Circa;BirthDate_CalendarType;\
BirthDate_ZipCode;BirthDate_Region;BirthDate_Place;BirthDate_City;BirthDate_CountryIso2Code;\
BirthDate_CountryDescription;BirthDate_LogicalId;BirthDate_Remark;Identification_Number;Identification_Diplomatic;\
Identification_KnownExpired;Identification_KnownFalse;Identification_ReportedLost;Identification_RevokedByIssuer;\
Identification_IssuedBy;Identification_IssuedDate;Identification_ValidFrom;Identification_ValidTo;\
Identification_LatinNumber;Identification_NameOnDocument;Identification_TypeCode;Identification_TypeDescription;\
Identification_Region;Identification_CountryIso2Code;Identification_CountryDescription;Identification_LogicalId;\
Identification_Remark;Citizenship_Region;Citizenship_CountryIso2Code;Citizenship_CountryDescription;\
Citizenship_LogicalId;Citizenship_Remark";

fn eu() -> String {
    let person: &[(&str, &str)] = &[
        ("fileGenerationDate", "05/08/2026"),
        ("Entity_LogicalId", "13"),
        ("Entity_EU_ReferenceNumber", "EU.1.2"),
        ("Entity_UnitedNationId", "UTi.1"),
        ("Entity_Remark", "\"A smuggler;\nof lanterns.\""),
        ("Entity_SubjectType", "P"),
        ("Entity_SubjectType_ClassificationCode", "person"),
        ("Entity_Regulation_PublicationDate", "2003-07-08"),
        ("Entity_Regulation_NumberTitle", "1/2003 (OJ L1)"),
        ("Entity_Regulation_Programme", "UTO"),
        ("Entity_Regulation_PublicationUrl", "https://example.org/1"),
    ];
    let of_person = |more: &[(&'static str, &'static str)]| [person, more].concat();
    let rows = [
        of_person(&[
            ("NameAlias_LastName", "Lindqvist"),
            ("NameAlias_FirstName", "Anders"),
            ("NameAlias_MiddleName", "Olof"),
            ("NameAlias_WholeName", "Anders Olof Lindqvist"),
            ("NameAlias_Gender", "M"),
            ("NameAlias_Title", "Dr"),
            ("NameAlias_LogicalId", "17"),
            ("NameAlias_Regulation_Type", "amendment"),
        ]),
        vec![
            ("Entity_LogicalId", "14"),
            ("Entity_SubjectType", "E"),
            ("Entity_SubjectType_ClassificationCode", "enterprise"),
            ("NameAlias_WholeName", "\"Lantern \"\"Front\"\"\""),
        ],
        // Rows of an entity need not follow each other.
        of_person(&[
            ("NameAlias_WholeName", "Olle"),
            ("NameAlias_Remark", "low quality alias"),
        ]),
        of_person(&[
            ("Address_City", "Uto"),
            ("Address_Street", "Lamp 1"),
            ("Address_ContactInfo", "PHONE[0123]"),
            ("Address_CountryIso2Code", "NO"),
            ("Address_CountryDescription", "NORWAY"),
        ]),
        of_person(&[
            ("BirthDate_BirthDate", "1937-04-28"),
            ("BirthDate_Day", "28"),
            ("BirthDate_Month", "4"),
            ("BirthDate_Year", "1937"),
            ("BirthDate_Circa", "false"),
            ("BirthDate_CalendarType", "GREGORIAN"),
            ("BirthDate_City", "Uto"),
            ("BirthDate_CountryDescription", "SWEDEN"),
        ]),
        of_person(&[
            ("BirthDate_Year", "1940"),
            ("BirthDate_Circa", "true"),
            ("BirthDate_CalendarType", "GREGORIAN"),
        ]),
        of_person(&[
            ("Identification_Number", "X123456"),
            ("Identification_KnownExpired", "true"),
            ("Identification_TypeCode", "passport"),
            ("Identification_TypeDescription", "National passport"),
        ]),
        of_person(&[("Citizenship_CountryIso2Code", "SE")]),
        vec![
            ("Entity_LogicalId", "15"),
            ("Entity_SubjectType", "P"),
            ("Entity_Remark", "No name"),
        ],
        vec![("Entity_SubjectType", "P"), ("NameAlias_WholeName", "No Number")],
    ];
    let rows: Vec<&[(&str, &str)]> = rows.iter().map(Vec::as_slice).collect();
    table(";", &EU_COLUMNS.split(';').collect::<Vec<_>>(), &rows)
}

#[test]
fn eu_csv() {
    let (list, report) = read("eu.csv", format!("\u{feff}{}", eu()).as_bytes()).unwrap();
    assert_eq!(report.format, ListFormat::EuCsv);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("eu_fsf", "2026-08-05")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (4, 2, 2));
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("eu-13", Schema::Person));
    assert_eq!(person.names, ["Anders Olof Lindqvist"]);
    assert_eq!(person.weak_aliases, ["Olle"]);
    assert_eq!(
        (&person.given_names[..], &person.family_names[..]),
        (&["Anders".into(), "Olof".into()][..], &["Lindqvist".into()][..])
    );
    assert_eq!(dates(person), ["1937-04-28", "1938/1942"]);
    assert_eq!(
        (person.nationalities[0].as_str(), person.countries[0].as_str()),
        ("se", "no")
    );
    assert_eq!(numbers(person), [(IdentifierKind::Passport, "X123456")]);
    assert_eq!(person.programs, ["UTO"]);
    assert_remarks(
        person,
        &[
            "A smuggler; of lanterns.",
            "Title: Dr",
            "Place of birth: Uto, SWEDEN",
            "Address: Lamp 1, Uto, NORWAY",
            "Contact: PHONE[0123]",
            "A number is expired: National passport",
            "EU reference: EU.1.2",
            "UN reference: UTi.1",
            "Listed on 2003-07-08",
        ],
    );
    let enterprise = &list.entities[1];
    assert_eq!(
        (enterprise.schema, enterprise.names[0].as_str()),
        (Schema::Organization, "Lantern \"Front\"")
    );
    assert_eq!(uses(&report, "NameAlias_WholeName"), [(Use::Compared, 3)]);
    assert_eq!(uses(&report, "Entity_Remark"), [(Use::Unused, 1), (Use::Kept, 1)]);
    assert_eq!(uses(&report, "Address_ContactInfo"), [(Use::Kept, 1)]);
    assert_eq!(uses(&report, "NameAlias_Regulation_Type"), [(Use::Unused, 1)]);
    assert_eq!(
        uses(&report, "Entity_Regulation_PublicationUrl"),
        [(Use::Unused, 1)]
    );
}

#[test]
fn shuffled_columns_change_nothing() {
    let (list, _) = read("eu.csv", eu().as_bytes()).unwrap();
    let mut rows = csv::ReaderBuilder::new()
        .delimiter(b';')
        .has_headers(false)
        .from_reader(Cursor::new(eu()));
    let mut shuffled = csv::WriterBuilder::new().delimiter(b';').from_writer(Vec::new());
    for row in rows.records() {
        shuffled.write_record(row.unwrap().iter().rev()).unwrap();
    }
    let (reversed, _) = read("eu.csv", &shuffled.into_inner().unwrap()).unwrap();
    for (before, after) in list.entities.iter().zip(&reversed.entities) {
        assert_eq!(
            (&before.names, &before.birth_dates, &before.identifiers),
            (&after.names, &after.birth_dates, &after.identifiers)
        );
    }
}

#[test]
fn damaged_eu_csv_is_refused_with_the_reason() {
    let text = eu();
    let cut = &text[..text.len() - 60];
    let unclosed = text.replace("\"A smuggler;\nof lanterns.\"", "\"A smuggler");
    for (text, reason) in [
        (
            text.replace("Entity_LogicalId", "Entity_Number"),
            "lacks the column Entity_LogicalId",
        ),
        (
            text.replace("NameAlias_WholeName", "NameAlias_Full")
                .replace("NameAlias_LastName", "NameAlias_Last"),
            "lacks the column NameAlias_WholeName",
        ),
        (cut.to_owned(), "breaks off in line"),
        (unclosed, "a quotation mark is not closed"),
        (EU_COLUMNS.to_owned(), "holds no entity"),
    ] {
        let error = refused("eu.csv", &text);
        assert!(error.contains(reason), "{error}");
    }
}

const CSL_COLUMNS: &str = "_id,source,entity_number,type,programs,name,title,addresses,federal_register_notice,\
start_date,end_date,standard_order,license_requirement,license_policy,call_sign,vessel_type,gross_tonnage,\
gross_registered_tonnage,vessel_flag,vessel_owner,remarks,source_list_url,alt_names,citizenships,dates_of_birth,\
nationalities,places_of_birth,source_information_url,ids";

const SDN_SOURCE: &str = "Specially Designated Nationals (SDN) - Treasury Department";

fn csl(rows: &[&[(&str, &str)]]) -> String {
    table(",", &CSL_COLUMNS.split(',').collect::<Vec<_>>(), rows)
}

fn csl_list() -> String {
    csl(&[
        &[
            ("_id", "77001"),
            ("source", SDN_SOURCE),
            ("entity_number", "77001"),
            ("type", "Individual"),
            ("programs", "DEMO; OTHER"),
            ("name", "\"QUENTHABAR, Zoltar\""),
            ("title", "General"),
            ("addresses", "\"Lamp 1, Uto, NO; TR\""),
            ("remarks", "Linked to Lantern Front"),
            ("source_list_url", "https://example.org/list"),
            ("alt_names", "\"SOLTAR, Kwen; ZED\""),
            ("citizenships", "IR"),
            ("dates_of_birth", "1977-03-25; circa 1978"),
            ("nationalities", "Atlantis"),
            ("places_of_birth", "\"Uto, Utopia\""),
            (
                "ids",
                "\"Passport, AB12345, IR; Gender, Male; Digital Currency Address - XBT, 1InventedXXXXXXXXXXXXXXX; \
                 IR, 80-0890696, Tax ID No.; Chinese Commercial Code, 0001; Secondary sanctions risk:, Demo\"",
            ),
        ],
        &[
            ("_id", "5f0"),
            ("source", "Entity List (EL) - Bureau of Industry and Security"),
            ("name", "Lantern Research Institute"),
            (
                "addresses",
                "\"Lamp 2, Uto, Utopia; and Lamp 3, Uto, Norway, NO\"",
            ),
            ("federal_register_notice", "83 FR 1"),
            ("start_date", "2018-08-01"),
            ("license_requirement", "For all items"),
            ("alt_names", "\"Lantern Labs; and LRI\""),
        ],
        &[
            ("source", "Nonproliferation Sanctions (ISN) - State Department"),
            (
                "name",
                "\"Lantern Trading; and any successor, sub-unit, or subsidiary thereof\"",
            ),
        ],
        &[
            ("_id", "77002"),
            ("source", SDN_SOURCE),
            ("type", "Vessel"),
            ("name", "LAMP STAR"),
            ("vessel_flag", "Iran"),
            (
                "ids",
                "\"Vessel Registration Identification, IMO 9123456; Panama, Former Vessel Flag\"",
            ),
        ],
        &[("_id", "77003"), ("name", "No source")],
        &[("_id", "77004"), ("source", SDN_SOURCE)],
    ])
}

#[test]
fn csl_csv() {
    let (list, report) = read("consolidated.csv", csl_list().as_bytes()).unwrap();
    assert_eq!(
        (report.format, list.name.as_str()),
        (ListFormat::CslCsv, "us_trade_csl")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (6, 4, 2));
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("csl-77001", Schema::Person));
    assert_eq!(person.names, ["QUENTHABAR, Zoltar"]);
    assert_eq!(person.aliases, ["SOLTAR, Kwen", "ZED"]);
    assert_eq!(person.programs, [SDN_SOURCE, "DEMO", "OTHER"]);
    assert_eq!(dates(person), ["1977-03-25", "1976/1980"]);
    assert_eq!(
        (&person.countries[..], &person.nationalities[..]),
        (&["no".into(), "tr".into()][..], &["ir".into()][..])
    );
    assert_eq!(
        numbers(person),
        [
            (IdentifierKind::Passport, "AB12345"),
            (IdentifierKind::Tax, "80-0890696")
        ]
    );
    assert_eq!(person.gender, Some(crate::entity::Gender::Male));
    assert_eq!(person.wallets, ["1InventedXXXXXXXXXXXXXXX"]);
    assert_remarks(
        person,
        &[
            "Title: General",
            "Remarks: Linked to Lantern Front",
            "Nationality: Atlantis",
            "Place of birth: Uto, Utopia",
            "Address: Lamp 1, Uto, NO",
            "Number: Passport, AB12345, IR",
            "Chinese Commercial Code, 0001",
            "Secondary sanctions risk:, Demo",
        ],
    );
    let institute = &list.entities[1];
    assert_eq!(
        (institute.schema, institute.topics[0].as_str()),
        (Schema::LegalEntity, "export.control")
    );
    assert_eq!(institute.aliases, ["Lantern Labs", "LRI"]);
    assert_eq!(institute.countries, ["no"]);
    assert_remarks(
        institute,
        &[
            "Federal Register notice: 83 FR 1",
            "Listed on 2018-08-01",
            "Licence requirement: For all items",
        ],
    );
    let company = &list.entities[2];
    assert_eq!(company.names, ["Lantern Trading"]);
    assert!(
        company.id.starts_with("csl-nonproliferation-sanctions-isn"),
        "{}",
        company.id
    );
    let ship = &list.entities[3];
    assert_eq!((ship.schema, ship.countries[0].as_str()), (Schema::Vessel, "ir"));
    assert_eq!(numbers(ship), [(IdentifierKind::Imo, "9123456")]);
    assert_remarks(ship, &["Panama, Former Vessel Flag"]);
    assert_eq!(uses(&report, "alt_names"), [(Use::Compared, 2)]);
    assert_eq!(uses(&report, "license_requirement"), [(Use::Kept, 1)]);
    assert_eq!(uses(&report, "source_list_url"), [(Use::Unused, 1)]);
}

#[test]
fn only_sources_of_sanctions_are_matches() {
    for (source, topic, is_match) in [
        (SDN_SOURCE, "sanction", true),
        (
            "Foreign Sanctions Evaders (FSE) - Treasury Department",
            "sanction",
            true,
        ),
        (
            "Sectoral Sanctions Identifications List (SSI) - Treasury Department",
            "sanction",
            true,
        ),
        (
            "Palestinian Legislative Council List (PLC) - Treasury Department",
            "sanction",
            true,
        ),
        ("Capta List (CAP) - Treasury Department", "sanction", true),
        (
            "Non-SDN Menu-Based Sanctions List (NS-MBS List) - Treasury Department",
            "sanction",
            true,
        ),
        (
            "Non-SDN Chinese Military-Industrial Complex Companies List (CMIC) - Treasury Department",
            "sanction",
            true,
        ),
        (
            "Nonproliferation Sanctions (ISN) - State Department",
            "sanction",
            true,
        ),
        ("A list of 2031", "sanction", true),
        (
            "Entity List (EL) - Bureau of Industry and Security",
            "export.control",
            false,
        ),
        (
            "Military End User (MEU) List - Bureau of Industry and Security",
            "export.control",
            false,
        ),
        (
            "Denied Persons List (DPL) - Bureau of Industry and Security",
            "export.control",
            false,
        ),
        (
            "Unverified List (UVL) - Bureau of Industry and Security",
            "export.risk",
            false,
        ),
        ("ITAR Debarred (DTC) - State Department", "debarment", false),
        ("AECA Debarred List", "debarment", false),
    ] {
        let text = csl(&[&[("_id", "1"), ("source", source), ("name", "Lantern Front")]]);
        let (list, _) = read("consolidated.csv", text.as_bytes()).unwrap();
        let topics = &list.entities[0].topics;
        assert_eq!(
            (topics[0].as_str(), crate::entity::is_sanctioned(topics)),
            (topic, is_match),
            "{source}"
        );
    }
}

#[test]
fn damaged_csl_is_refused_with_the_reason() {
    let text = csl_list();
    let unclosed = text.replace("risk:, Demo\"", "risk:, Demo");
    for (text, reason) in [
        (
            text.replacen("name,title", "full,title", 1),
            "lacks the column name",
        ),
        (text[..text.len() - 10].to_owned(), "breaks off in line"),
        (unclosed, "a quotation mark is not closed"),
        (CSL_COLUMNS.to_owned(), "holds no entity"),
    ] {
        let error = refused("consolidated.csv", &text);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn files_that_are_no_list_are_named() {
    for (start, reason) in [
        (
            &b"<!DOCTYPE html><html><body>Sign in</body></html>"[..],
            "a web page",
        ),
        (b"\xEF\xBB\xBF\n<html lang='en'>", "a web page"),
        (b"\xFF\xFE_\0i\0d\0", "UTF-16"),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", ".xls"),
        (b"\x1F\x8B\x08\0\0\0\0\0", "unpack it first"),
        (b"BZh91AY&SY", "unpack it first"),
    ] {
        let Err(error) = read("list", start) else {
            panic!("{reason}")
        };
        assert!(matches!(error, ImportError::OtherFile { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_tables_are_an_answer(at in 0usize..8000, byte in proptest::num::u8::ANY, cut in 0usize..8000, is_eu in proptest::bool::ANY) {
        let (text, format) = if is_eu { (eu(), ListFormat::EuCsv) } else { (csl_list(), ListFormat::CslCsv) };
        let mut bytes = text.into_bytes();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut.max(400));
        let _ = read("table.csv", &bytes);
        let _ = import(vec![Source::new("x", Cursor::new(bytes))], Some(format));
    }
}
