//! Every importer on small invented files and on malformed input.

use std::io::Cursor;

use super::*;
use crate::entity::{Gender, IdentifierKind, Schema};

fn read(files: &[(&str, &str)]) -> Result<(List, ImportReport), ImportError> {
    import(
        files
            .iter()
            .map(|(name, text)| Source::new(*name, Cursor::new(text.as_bytes().to_vec())))
            .collect(),
        None,
    )
}

const UN: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="2026-01-02T00:00:09Z"><INDIVIDUALS><INDIVIDUAL>
<DATAID>1</DATAID><FIRST_NAME>ANDERS</FIRST_NAME><SECOND_NAME>LINDQVIST &amp; CO</SECOND_NAME><UN_LIST_TYPE>Demo</UN_LIST_TYPE>
<GENDER>Male</GENDER><NATIONALITY><VALUE>Iran (Islamic Republic of)</VALUE></NATIONALITY>
<INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>Andreas L</ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_ALIAS><QUALITY>Low</QUALITY><ALIAS_NAME>The Bear</ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_ALIAS><QUALITY/><ALIAS_NAME/></INDIVIDUAL_ALIAS>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>BETWEEN</TYPE_OF_DATE><FROM_YEAR>1960</FROM_YEAR><TO_YEAR>1962</TO_YEAR></INDIVIDUAL_DATE_OF_BIRTH>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><DATE>1961-03-04</DATE></INDIVIDUAL_DATE_OF_BIRTH>
<INDIVIDUAL_DOCUMENT><TYPE_OF_DOCUMENT>Passport</TYPE_OF_DOCUMENT><NUMBER>X123456</NUMBER></INDIVIDUAL_DOCUMENT>
<COMMENTS1>Sells
 lanterns.</COMMENTS1><DESIGNATION><VALUE>General</VALUE></DESIGNATION><INDIVIDUAL_PLACE_OF_BIRTH><CITY>Uto</CITY><COUNTRY>Utopia</COUNTRY></INDIVIDUAL_PLACE_OF_BIRTH><INDIVIDUAL_PLACE_OF_BIRTH><COUNTRY/></INDIVIDUAL_PLACE_OF_BIRTH>
</INDIVIDUAL><INDIVIDUAL><DATAID>2</DATAID></INDIVIDUAL></INDIVIDUALS>
<ENTITIES><ENTITY><DATAID>3</DATAID><FIRST_NAME>LANTERN FRONT</FIRST_NAME></ENTITY></ENTITIES></CONSOLIDATED_LIST>"#;

#[test]
fn un_xml() {
    let (list, report) = read(&[("un.xml", UN)]).unwrap();
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("un_sc_sanctions", "2026-01-02")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (3, 2, 1));
    let person = &list.entities[0];
    assert_eq!(person.names, ["ANDERS LINDQVIST & CO"]);
    assert_eq!(person.aliases, ["Andreas L"]);
    assert_eq!(person.weak_aliases, ["The Bear"]);
    assert_eq!(person.nationalities, ["ir"]);
    assert_eq!(person.gender, Some(Gender::Male));
    let dates: Vec<String> = person.birth_dates.iter().map(ToString::to_string).collect();
    assert_eq!(dates, ["1960/1962", "1961-03-04"]);
    assert_eq!(person.identifiers[0].kind, IdentifierKind::Passport);
    assert_eq!(
        person.remarks,
        ["Sells lanterns.", "General", "Place of birth: Uto, Utopia"]
    );
    assert_eq!(list.entities[1].schema, Schema::Organization);
}

#[test]
fn latin_1_in_a_file_that_says_utf_8() {
    let mut bytes = UN.replace("Andreas L", "Andr?s Ö").into_bytes();
    let mark = bytes.windows(5).position(|w| w == b"Andr?").unwrap() + 4;
    bytes[mark] = 0xE9;
    let (list, _) = import(vec![Source::new("un.xml", Cursor::new(bytes))], None).unwrap();
    assert_eq!(list.entities[0].aliases, ["Andrés Ö"]);
}

const OFAC: &str = r#"<?xml version="1.0"?><Sanctions xmlns="x">
<DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>1</Month><Day>5</Day></DateOfIssue>
<ReferenceValueSets><CountryValues><Country ID="10" ISO2="IR">Iran</Country></CountryValues>
<DetailReferenceValues><DetailReference ID="91526">Male</DetailReference></DetailReferenceValues>
<FeatureTypeValues><FeatureType ID="8">Birthdate</FeatureType><FeatureType ID="10">Nationality Country</FeatureType>
<FeatureType ID="224">Gender</FeatureType><FeatureType ID="344">Digital Currency Address - XBT</FeatureType><FeatureType ID="26">Title</FeatureType></FeatureTypeValues>
<IDRegDocTypeValues><IDRegDocType ID="1571">Passport</IDRegDocType></IDRegDocTypeValues>
<ListValues><List ID="1550">SDN List</List></ListValues>
<NamePartTypeValues><NamePartType ID="1520">Last Name</NamePartType><NamePartType ID="1521">First Name</NamePartType></NamePartTypeValues>
<PartySubTypeValues><PartySubType ID="4" PartyTypeID="1">Unknown</PartySubType></PartySubTypeValues></ReferenceValueSets>
<Locations><Location ID="77"><LocationCountry CountryID="10" /></Location></Locations>
<IDRegDocuments><IDRegDocument ID="1" IDRegDocTypeID="1571" IdentityID="5"><IDRegistrationNo>AB12345</IDRegistrationNo></IDRegDocument></IDRegDocuments>
<DistinctParties><DistinctParty FixedRef="9"><Comment>Linked to Lantern Front</Comment><Profile ID="9" PartySubTypeID="4"><Identity ID="5">
<Alias AliasTypeID="1403" Primary="true" LowQuality="false"><DocumentedName><DocumentedNamePart><NamePartValue NamePartGroupID="1">QUENTHABAR</NamePartValue></DocumentedNamePart><DocumentedNamePart><NamePartValue NamePartGroupID="2">Zoltar</NamePartValue></DocumentedNamePart></DocumentedName>
<DocumentedName><DocumentedNamePart><NamePartValue NamePartGroupID="1">Квентабар</NamePartValue></DocumentedNamePart></DocumentedName></Alias>
<Alias AliasTypeID="1400" Primary="false" LowQuality="true"><DocumentedName><DocumentedNamePart><NamePartValue NamePartGroupID="2">Zed</NamePartValue></DocumentedNamePart></DocumentedName></Alias>
<NamePartGroups><MasterNamePartGroup><NamePartGroup ID="1" NamePartTypeID="1520" /></MasterNamePartGroup><MasterNamePartGroup><NamePartGroup ID="2" NamePartTypeID="1521" /></MasterNamePartGroup></NamePartGroups></Identity>
<Feature FeatureTypeID="224"><FeatureVersion><VersionDetail DetailTypeID="1431" DetailReferenceID="91526" /></FeatureVersion></Feature>
<Feature FeatureTypeID="8"><FeatureVersion><DatePeriod><Start Approximate="false"><From><Year>1977</Year><Month>3</Month><Day>25</Day></From><To><Year>1977</Year><Month>3</Month><Day>25</Day></To></Start><End Approximate="false"><From><Year>1977</Year><Month>3</Month><Day>25</Day></From><To><Year>1977</Year><Month>3</Month><Day>25</Day></To></End></DatePeriod></FeatureVersion></Feature>
<Feature FeatureTypeID="10"><FeatureVersion><VersionLocation LocationID="77" /></FeatureVersion></Feature>
<Feature FeatureTypeID="344"><FeatureVersion><VersionDetail DetailTypeID="1432">1InventedXXXXXXXXXXXXXXXXXXXXXXXXX</VersionDetail></FeatureVersion></Feature>
<Feature FeatureTypeID="26"><FeatureVersion><VersionDetail DetailTypeID="1432">General</VersionDetail></FeatureVersion></Feature>
</Profile></DistinctParty></DistinctParties>
<SanctionsEntries><SanctionsEntry ID="9" ProfileID="9" ListID="1550"><SanctionsMeasure SanctionsTypeID="1"><Comment>DEMO</Comment></SanctionsMeasure></SanctionsEntry></SanctionsEntries></Sanctions>"#;

#[test]
fn ofac_advanced_xml() {
    let (list, report) = read(&[("sdn_advanced.xml", OFAC)]).unwrap();
    assert_eq!(
        (list.name.as_str(), list.version.as_str(), report.entities),
        ("us_ofac_sdn", "2026-01-05", 1)
    );
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("ofac-9", Schema::Person));
    assert_eq!(person.names, ["QUENTHABAR, Zoltar", "Квентабар"]);
    assert_eq!(person.weak_aliases, ["Zed"]);
    assert_eq!(person.birth_dates[0].to_string(), "1977-03-25");
    assert_eq!(
        (person.nationalities[0].as_str(), person.gender),
        ("ir", Some(Gender::Male))
    );
    assert_eq!(person.identifiers[0].value, "AB12345");
    assert_eq!(person.wallets.len(), 1);
    assert_eq!(person.remarks, ["Linked to Lantern Front", "Title: General"]);
    assert_eq!(
        (person.programs.as_slice(), person.datasets.as_slice()),
        (&["DEMO".into()][..], &["us_ofac_sdn".into()][..])
    );
}

#[test]
fn ofac_csv() {
    let sdn = "9,\"QUENTHABAR, Zoltar\",\"individual\",\"DEMO] [OTHER\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,\"DOB circa 1978; alt. DOB 19 Mar 1979; nationality Iran; Gender Male; Passport AB12345 (Iran); Digital Currency Address - XBT 1Inv\"\r\n10,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- \r\n\u{1a}";
    let alt = "9,1,\"aka\",\"SOLTAR, Kwen\",-0- \r\n77,2,\"aka\",\"NOBODY\",-0- \r\n";
    let add = "9,1,-0- ,\"Havana\",\"Cuba\",-0- \r\n";
    let comments = "9,\"entedXXXXXXXXXXXXXXXXXXXXXXXXXXXXX; a.k.a. 'ZED'.\"\r\n";
    let (list, report) = read(&[
        ("alt.csv", alt),
        ("sdn.csv", sdn),
        ("add.csv", add),
        ("sdn_comments.csv", comments),
    ])
    .unwrap();
    assert_eq!((report.rows, report.entities, report.rejected), (2, 1, 1));
    let person = &list.entities[0];
    assert_eq!(person.aliases, ["SOLTAR, Kwen"]);
    assert_eq!(person.weak_aliases, ["ZED"]);
    assert_eq!(person.programs, ["DEMO", "OTHER"]);
    assert_eq!(
        (person.countries[0].as_str(), person.nationalities[0].as_str()),
        ("cu", "ir")
    );
    assert_eq!(
        person
            .birth_dates
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["1976/1980", "1979-03-19"]
    );
    assert_eq!(person.identifiers[0].value, "AB12345");
    assert_eq!(person.wallets, ["1InventedXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"]);
    assert!(person.remarks[0].starts_with("DOB circa 1978;") && person.remarks[0].ends_with("a.k.a. 'ZED'."));
    assert!(matches!(
        read(&[("alt.csv", alt)]),
        Err(ImportError::Incomplete(_))
    ));
}

/// The consolidated list of OFAC's programmes other than SDN, with everything that its files may have.
#[test]
fn ofac_cons_csv() {
    let primary = "9,\"QUENTHABAR, Zoltar\",\"individual\",\"NS-PLC\",\"General\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,\"DOB 1955; POB Uto; Folio Mercantil No. 704338 (Panama); Nationality of Registration Norway.\"\n10,\"LAMP STAR\",\"vessel\",\"UKRAINE-EO13662] [RUSSIA-EO14024\",-0- ,\"CL2685\",\"General Cargo\",\"2597\",\"1098\",\"Atlantis\",\"Lantern Trading\",-0- \n";
    let alt = "9,1,\"fka\",\"SOLTAR, Kwen\",\"before 1990\"\n77,2,\"aka\",\"NOBODY\",-0- \n";
    let add = "9,1,\"Lamp 1\",\"Uto\",\"Norway\",\"since 1990\"\n10,2,-0- ,-0- ,-0- ,-0- \n78,3,-0- ,-0- ,\"Cuba\",-0- \n";
    let (list, report) = read(&[
        ("cons_prim.csv", primary),
        ("cons_alt.csv", alt),
        ("cons_add.csv", add),
    ])
    .unwrap();
    assert_eq!(
        (list.name.as_str(), report.entities, report.rejected),
        ("us_ofac_cons", 2, 0)
    );
    let person = &list.entities[0];
    assert_eq!(
        (person.topics[0].as_str(), person.countries[0].as_str()),
        ("sanction", "no")
    );
    assert_eq!(person.identifiers[0].value, "704338");
    assert_eq!(
        person.remarks[1..],
        [
            "Title: General",
            "before 1990",
            "Address: Lamp 1, Uto, Norway, since 1990"
        ]
    );
    let ship = &list.entities[1];
    assert_eq!(ship.programs, ["UKRAINE-EO13662", "RUSSIA-EO14024"]);
    assert_eq!(
        ship.remarks,
        [
            "Flag: Atlantis",
            "Call sign: CL2685",
            "Type of ship: General Cargo",
            "Tonnage: 2597",
            "Registered tonnage: 1098",
            "Owner: Lantern Trading",
        ]
    );
    let count = |name: &str| {
        report
            .values
            .iter()
            .find(|value| value.name == name)
            .map(|value| (value.used, value.count))
    };
    assert_eq!(count("alias name"), Some((Use::Compared, 1)));
    assert_eq!(count("address city"), Some((Use::Kept, 1)));
    assert_eq!(
        count("alias entry that the primary file lacks"),
        Some((Use::Unused, 1))
    );
    assert_eq!(
        count("address entry that the primary file lacks"),
        Some((Use::Unused, 1))
    );
}

#[test]
fn follow_the_money_and_simple_csv() {
    let lines = "{\"id\":\"a\",\"schema\":\"Person\",\"properties\":{\"name\":[\"Zoltar Q\"],\"birthDate\":[\"1970\"]},\"last_seen\":\"2026-01-01\"}\nnonsense\n\n{\"id\":\"w\",\"schema\":\"CryptoWallet\",\"properties\":{\"publicKey\":[\"0xabcdef0123456789\"],\"holder\":[\"a\"]}}\n{\"id\":\"r\",\"schema\":\"Ownership\",\"properties\":{}}\n{\"id\":\"n\",\"schema\":\"Person\",\"properties\":{}}";
    let (list, report) = read(&[("invented.entities.ftm.json", lines)]).unwrap();
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("invented", "2026-01-01")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (4, 2, 2));
    assert_eq!(report.rejects[0].line, 2);
    assert_eq!(list.entities[0].wallets, ["0xabcdef0123456789"]);

    let rows = "\"id\",\"schema\",\"name\",\"aliases\",\"birth_date\",\"countries\",\"identifiers\",\"sanctions\",\"last_seen\"\n\"a\",\"Person\",\"Zoltar Q\",\"Z Q;Zed Q\",\"1970;1971-02-03\",\"ir;fr\",\"X123\",\"Demo\",\"2026-02-01\"\n";
    let (list, _) = read(&[("invented.targets.simple.csv", rows)]).unwrap();
    assert_eq!(
        (
            list.version.as_str(),
            list.entities[0].aliases.len(),
            list.entities[0].birth_dates.len()
        ),
        ("2026-02-01", 2, 2)
    );
}

/// A linear search for every value would take minutes here.
#[test]
fn a_line_of_300_000_values_is_read_at_once() {
    let values: Vec<String> = (0..300_000).map(|n| format!("\"{}\"", n % 299_999)).collect();
    let (names, numbers) = values.split_at(150_000);
    let line = format!(
        r#"{{"id":"x","schema":"Person","properties":{{"name":[{},"7"],"passportNumber":[{},"299998"]}}}}"#,
        names.join(","),
        numbers.join(",")
    );
    let (list, _) = read(&[("long.entities.ftm.json", line.as_str())]).unwrap();
    assert_eq!(list.entities[0].names.len(), 150_000, "none twice");
    assert_eq!(list.entities[0].identifiers.len(), 150_000, "none twice");
    assert_eq!(list.entities[0].caption, "0");
}

#[test]
fn hostile_files_are_refused() {
    let deep = format!("<CONSOLIDATED_LIST>{}", "<a>".repeat(100_000));
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><CONSOLIDATED_LIST><INDIVIDUAL><DATAID>&a;</DATAID></INDIVIDUAL></CONSOLIDATED_LIST>";
    let huge = format!(
        "<CONSOLIDATED_LIST><INDIVIDUAL><DATAID>{}</DATAID></INDIVIDUAL></CONSOLIDATED_LIST>",
        "x".repeat(9 << 20)
    );
    let comment = format!("<CONSOLIDATED_LIST><!--{}", "<>".repeat(4 << 20));
    for text in [
        &deep,
        bomb,
        &huge,
        &comment,
        &UN[..UN.len() / 2],
        &OFAC[..OFAC.len() / 2],
    ] {
        assert!(
            matches!(read(&[("x.xml", text)]), Err(ImportError::Damaged { .. })),
            "{}",
            &text[..40]
        );
    }
    for text in ["", "hello", "<a></a>", "\0\0\0\0", "1,2,3", "[]"] {
        assert!(
            matches!(read(&[("x", text)]), Err(ImportError::UnknownFormat(_))),
            "{text}"
        );
    }
    assert!(matches!(
        read(&[("x", "{}\n{\"id\":1}\n")]),
        Err(ImportError::Empty(_))
    ));
    let quote = format!("9,\"{}", "x,".repeat(2 << 20));
    assert!(read(&[("sdn.csv", &quote)]).is_err());
    let long = format!("{{\"id\":\"{}\"", "x".repeat(6 << 20));
    assert!(matches!(read(&[("x.json", &long)]), Err(ImportError::Empty(_))));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_an_answer(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400), kind in 0..5usize) {
        let formats = [ListFormat::OfacAdvancedXml, ListFormat::UnXml, ListFormat::FollowTheMoney, ListFormat::SimpleCsv, ListFormat::OfacCsv];
        let _ = import(vec![Source::new("x", Cursor::new(bytes.clone()))], Some(formats[kind]));
        let _ = import(vec![Source::new("x", Cursor::new(bytes))], None);
    }

    #[test]
    fn damaged_lists_are_an_answer(at in 0usize..2000, byte in proptest::num::u8::ANY, cut in 0usize..4000, un in proptest::bool::ANY) {
        let mut bytes = if un { UN } else { OFAC }.as_bytes().to_vec();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut.max(100));
        let _ = import(vec![Source::new("x.xml", Cursor::new(bytes))], None);
    }
}
