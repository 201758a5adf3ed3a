//! The lists of the European Union, the United Kingdom, Switzerland and Canada, as small files in their publishers' forms.
//! All parties are invented.

use std::io::Cursor;

use super::*;
use crate::entity::{Entity, Gender, IdentifierKind, Schema};

fn read(name: &str, text: &str) -> (List, ImportReport) {
    import(
        vec![Source::new(name, Cursor::new(text.as_bytes().to_vec()))],
        None,
    )
    .unwrap()
}

fn numbers(entity: &Entity) -> Vec<(IdentifierKind, &str)> {
    entity
        .identifiers
        .iter()
        .map(|number| (number.kind, number.value.as_str()))
        .collect()
}

fn dates(entity: &Entity) -> Vec<String> {
    entity.birth_dates.iter().map(ToString::to_string).collect()
}

/// The names of values that were neither compared nor kept.
fn unused(report: &ImportReport) -> Vec<&str> {
    let unused = report.values.iter().filter(|value| value.used == Use::Unused);
    unused.map(|value| value.name.as_str()).collect()
}

const EU: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-08-05T16:47:04.449+02:00" globalFileId="1">
<sanctionEntity designationDetails="" unitedNationId="UTi.1" euReferenceNumber="EU.1.2" logicalId="13">
 <remark>A smuggler of lanterns.</remark>
 <regulation regulationType="regulation" organisationType="commission" publicationDate="2003-07-08" entryIntoForceDate="2003-07-07" numberTitle="1/2003 (OJ L1)" programme="UTO" logicalId="348"><publicationUrl>https://example.org/1</publicationUrl></regulation>
 <subjectType code="person" classificationCode="P"/>
 <nameAlias firstName="Anders" middleName="Olof" lastName="Lindqvist" wholeName="Anders Olof Lindqvist" function="Keeper" gender="M" title="Dr" nameLanguage="" strong="true" regulationLanguage="en" logicalId="17"/>
 <nameAlias firstName="" middleName="" lastName="" wholeName="Андерс Линдквист" function="" title="" nameLanguage="RU" strong="true" regulationLanguage="en" logicalId="18"/>
 <nameAlias firstName="" middleName="" lastName="" wholeName="The Bear" strong="false" logicalId="19"/>
 <nameAlias firstName="Olle" middleName="" lastName="" wholeName="" strong="true" logicalId="20"><remark>low quality alias</remark></nameAlias>
 <citizenship region="" countryIso2Code="SE" countryDescription="SWEDEN" regulationLanguage="en" logicalId="1"/>
 <citizenship region="" countryIso2Code="00" countryDescription="UNKNOWN" logicalId="2"/>
 <birthdate circa="false" calendarType="GREGORIAN" city="Uto" zipCode="" birthdate="1937-04-28" dayOfMonth="28" monthOfYear="4" year="1937" region="" place="" countryIso2Code="SE" countryDescription="SWEDEN" logicalId="14"/>
 <birthdate circa="true" calendarType="GREGORIAN" city="" year="1940" countryIso2Code="00" countryDescription="UNKNOWN" logicalId="15"/>
 <birthdate circa="false" calendarType="GREGORIAN" yearRangeFrom="1935" yearRangeTo="1938" logicalId="16"/>
 <birthdate circa="false" calendarType="GREGORIAN" year="1939" monthOfYear="5" logicalId="17"/>
 <birthdate circa="false" calendarType="HIJRI" year="1356" logicalId="18"/>
 <address city="Uto" street="Lamp 1" poBox="" zipCode="123" region="" place="" asAtListingTime="false" countryIso2Code="NO" countryDescription="NORWAY" logicalId="3"><contactInfo key="PHONE" value="0123"/></address>
 <identification diplomatic="false" knownExpired="true" knownFalse="false" reportedLost="false" revokedByIssuer="false" issuedBy="" issuedDate="" validFrom="" validTo="" latinNumber="" nameOnDocument="" number="X123456" region="" countryIso2Code="SE" countryDescription="SWEDEN" identificationTypeCode="passport" identificationTypeDescription="National passport" logicalId="4"/>
</sanctionEntity>
<sanctionEntity designationDetails="" unitedNationId="" euReferenceNumber="EU.1.3" logicalId="14">
 <subjectType code="enterprise" classificationCode="E"/>
 <nameAlias wholeName="Lantern Front" strong="true" logicalId="21"/>
 <identification number="LANTSEHH" identificationTypeCode="swiftbic" identificationTypeDescription="SWIFT BIC" logicalId="5"/>
 <identification number="9123456" latinNumber="9123456" identificationTypeCode="imo" identificationTypeDescription="IMO number" logicalId="6"/>
 <futureElement futureAttribute="7">text</futureElement>
</sanctionEntity>
<sanctionEntity logicalId="15"><subjectType code="person" classificationCode="P"/></sanctionEntity>
<sanctionEntity logicalId="16"><nameAlias wholeName="Nobody"/></sanctionEntity>
</export>"#;

#[test]
fn eu_xml() {
    let (list, report) = read("eu.xml", EU);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("eu_fsf", "2026-08-05")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (4, 2, 2));
    assert_eq!(report.format, ListFormat::EuXml);
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("eu-13", Schema::Person));
    assert_eq!(person.names, ["Anders Olof Lindqvist"]);
    assert_eq!(person.aliases, ["Андерс Линдквист"]);
    assert_eq!(person.weak_aliases, ["The Bear", "Olle"]);
    assert_eq!(person.given_names, ["Anders", "Olof"]);
    assert_eq!(person.family_names, ["Lindqvist"]);
    assert_eq!(person.gender, Some(Gender::Male));
    assert_eq!(dates(person), ["1937-04-28", "1938/1942", "1935/1938", "1939-05"]);
    assert_eq!(
        (&person.nationalities[..], &person.countries[..]),
        (&["se".to_owned()][..], &["no".to_owned()][..])
    );
    assert_eq!(numbers(person), [(IdentifierKind::Passport, "X123456")]);
    assert_eq!(person.programs, ["UTO"]);
    for remark in [
        "A smuggler of lanterns.",
        "Date of birth: HIJRI 1356",
        "Place of birth: Uto, SWEDEN",
        "Address: Lamp 1, 123, Uto, NORWAY",
        "PHONE: 0123",
        "A number is expired: National passport",
        "Title: Dr",
        "Function: Keeper",
        "EU reference: EU.1.2",
        "UN reference: UTi.1",
        "Listed on 2003-07-08",
    ] {
        assert!(
            person.remarks.iter().any(|known| known == remark),
            "{remark}: {:?}",
            person.remarks
        );
    }
    let enterprise = &list.entities[1];
    assert_eq!(enterprise.schema, Schema::Organization);
    assert_eq!(
        numbers(enterprise),
        [
            (IdentifierKind::Bic, "LANTSEHH"),
            (IdentifierKind::Imo, "9123456"),
        ]
    );
    let unused = unused(&report);
    assert!(
        unused.contains(&"futureElement") && unused.contains(&"futureElement@futureAttribute"),
        "{unused:?}"
    );
    assert!(
        !unused
            .iter()
            .any(|name| name.ends_with("wholeName") && *name != "nameAlias@wholeName")
    );
}

const UK: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Designations><DateGenerated>21/09/2026</DateGenerated>
<Designation><LastUpdated>14/04/2026</LastUpdated><DateDesignated>25/01/2001</DateDesignated><UniqueID>UTO0006</UniqueID>
<OFSIGroupID>7172</OFSIGroupID><UNReferenceNumber>UTi.002</UNReferenceNumber><Names>
<Name><Name1>Anders</Name1><Name2>Olof</Name2><Name6>LINDQVIST</Name6><NameType>Primary Name</NameType></Name>
<Name><Name1>Andreas</Name1><Name6>Lindkvist</Name6><NameType>Primary name variation</NameType></Name>
<Name><Name6>The Bear</Name6><NameType>ALias</NameType><AliasStrength>Low quality a.k.a</AliasStrength></Name></Names>
<NonLatinNames><NonLatinName><NameNonLatinScript>Андерс Линдквист</NameNonLatinScript></NonLatinName></NonLatinNames>
<Titles><Title>Dr</Title></Titles><RegimeName>The Utopia Regulations 2020</RegimeName>
<IndividualEntityShip>Individual</IndividualEntityShip><DesignationSource>UN</DesignationSource>
<SanctionsImposed>Asset freeze|Travel Ban</SanctionsImposed><OtherInformation>Sells lanterns.</OtherInformation>
<Addresses><Address><AddressLine1>Lamp 1</AddressLine1><AddressLine6>Uto</AddressLine6><AddressCountry>Norway</AddressCountry></Address></Addresses>
<IndividualDetails><Individual><DOBs><DOB>dd/mm/1945</DOB><DOB>dd/05/1946</DOB><DOB>01/03/1958</DOB></DOBs>
<PassportDetails><Passport><PassportNumber>X123456</PassportNumber></Passport></PassportDetails>
<Nationalities><Nationality>Sweden</Nationality><Nationality>Utopia</Nationality></Nationalities><Genders><Gender>Male</Gender></Genders>
<BirthDetails><Location><TownOfBirth>Uto</TownOfBirth><CountryOfBirth>Sweden</CountryOfBirth></Location></BirthDetails>
</Individual></IndividualDetails><NewElement>5</NewElement></Designation>
<Designation><UniqueID>UTO0007</UniqueID><Names><Name><Name6>LANTERN QUEEN</Name6><NameType>Primary Name</NameType></Name></Names>
<IndividualEntityShip>Ship</IndividualEntityShip><ShipDetails><Ship><IMONumbers><IMONumber>9123456</IMONumber></IMONumbers>
<CurrentBelievedFlagOfShips><CurrentBelievedFlagOfShip>Panama</CurrentBelievedFlagOfShip></CurrentBelievedFlagOfShips></Ship></ShipDetails></Designation>
<Designation><UniqueID>UTO0008</UniqueID><IndividualEntityShip>Entity</IndividualEntityShip></Designation>
<Designation><UniqueID>UTO0009</UniqueID><Names><Name><Name6>X</Name6><NameType>Primary Name</NameType></Name></Names></Designation>
</Designations>";

const UK_CSV: &str = "Report Date: 21-Sep-2026
Last Updated,Unique ID,OFSI Group ID,UN Reference Number,Name 6,Name 1,Name 2,Name type,Alias strength,Title,Name non-latin script,Regime Name,Designation Type,Designation source,Sanctions Imposed,Other Information,Address Line 1,Address Line 6,Address Country,Date Designated,D.O.B,Nationality(/ies),Passport number,Gender,Town of birth,Country of birth,IMO number,Current believed flag of ship,New column
14/04/2026,UTO0006,7172,UTi.002,LINDQVIST,Anders,Olof,Primary Name,,Dr,Андерс Линдквист,The Utopia Regulations 2020,Individual,UN,Asset freeze|Travel Ban,Sells lanterns.,Lamp 1,Uto,Norway,25/01/2001,dd/mm/1945,Sweden,X123456,Male,Uto,Sweden,,,
14/04/2026,UTO0006,7172,UTi.002,Lindkvist,Andreas,,Primary name variation,,Dr,,The Utopia Regulations 2020,Individual,UN,Asset freeze|Travel Ban,Sells lanterns.,Lamp 1,Uto,Norway,25/01/2001,dd/05/1946,Utopia,X123456,Male,Uto,Sweden,,,
,UTO0007,,,LANTERN QUEEN,,,Primary Name,,,,,Ship,,,,,,,,,,,,,,9123456,Panama,
14/04/2026,UTO0006,7172,UTi.002,The Bear,,,ALias,Low quality a.k.a,Dr,,The Utopia Regulations 2020,Individual,UN,Asset freeze|Travel Ban,Sells lanterns.,Lamp 1,Uto,Norway,25/01/2001,01/03/1958,Sweden,X123456,Male,Uto,Sweden,,,5
,UTO0009,,,X,,,Primary Name,,,,,,,,,,,,,,,,,,,,,
";

#[test]
fn uk_xml_and_csv_are_one_list() {
    let (list, report) = read("uk.xml", UK);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("gb_fcdo_sanctions", "2026-09-21")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (4, 2, 2));
    let person = &list.entities[0];
    assert_eq!(
        (person.id.as_str(), person.schema),
        ("gb-UTO0006", Schema::Person)
    );
    assert_eq!(person.names, ["Anders Olof LINDQVIST"]);
    assert_eq!(person.aliases, ["Andreas Lindkvist", "Андерс Линдквист"]);
    assert_eq!(person.weak_aliases, ["The Bear"]);
    assert_eq!(person.family_names, ["LINDQVIST", "Lindkvist"]);
    assert_eq!(person.gender, Some(Gender::Male));
    assert_eq!(dates(person), ["1945", "1946-05", "1958-03-01"]);
    assert_eq!(
        (&person.nationalities[..], &person.countries[..]),
        (&["se".to_owned()][..], &["no".to_owned()][..])
    );
    assert_eq!(numbers(person), [(IdentifierKind::Passport, "X123456")]);
    for remark in [
        "Country: Utopia",
        "Place of birth: Uto, Sweden",
        "Listed on 2001-01-25",
        "UN reference: UTi.002",
    ] {
        assert!(
            person.remarks.iter().any(|known| known == remark),
            "{remark}: {:?}",
            person.remarks
        );
    }
    let ship = &list.entities[1];
    assert_eq!(
        (ship.schema, &ship.countries[..]),
        (Schema::Vessel, &["pa".to_owned()][..])
    );
    assert_eq!(numbers(ship), [(IdentifierKind::Imo, "9123456")]);
    // The names are those of the record that was rejected.
    assert_eq!(unused(&report), ["Name6", "NameType", "NewElement"]);

    let (rows, of_rows) = read("uk.csv", UK_CSV);
    assert_eq!(
        (rows.name.as_str(), rows.version.as_str()),
        ("gb_fcdo_sanctions", "2026-09-21")
    );
    assert_eq!((of_rows.rows, of_rows.entities, of_rows.rejected), (5, 2, 1));
    assert_eq!(unused(&of_rows), ["new column"]);
    let sorted = |mut entity: Entity| {
        for values in [&mut entity.aliases, &mut entity.remarks, &mut entity.given_names] {
            values.sort();
        }
        entity
    };
    for (of_xml, of_csv) in list.entities.into_iter().zip(rows.entities) {
        assert_eq!(sorted(of_xml), sorted(of_csv));
    }
}

const CH: &str = r#"<?xml version="1.0" encoding="UTF-8"?><swiss-sanctions-list list-type="whole-list" date="2026-09-28">
<sanctions-program ssid="20"><program-key lang="eng">Utopia</program-key><program-name lang="ger">Verordnung</program-name>
<program-name lang="eng">Ordinance on Utopia</program-name><sanctions-set ssid="4387" lang="eng">annex</sanctions-set></sanctions-program>
<target ssid="100"><sanctions-set-id>4387</sanctions-set-id><individual sex="male"><identity ssid="1" main="true">
<name name-type="primary-name" quality="good"><name-part order="2" name-part-type="given-name"><value>Anders</value>
<spelling-variant lang="eng" script="Latn">Andreas</spelling-variant><spelling-variant lang="eng" script="Latn">Andrew</spelling-variant>
<spelling-variant lang="rus" script="Cyrl">Андерс</spelling-variant></name-part>
<name-part order="1" name-part-type="family-name"><value>Lindqvist</value><spelling-variant lang="rus" script="Cyrl">Линдквист</spelling-variant></name-part></name>
<name name-type="alias" quality="low"><name-part order="1" name-part-type="whole-name"><value>The Bear</value></name-part></name>
<day-month-year day="30" month="8" year="1954" calendar="Gregorian"/><place-of-birth place-id="9"/><address place-id="8"><address-details>Lamp 1</address-details></address>
<nationality><country iso-code="SE">Sweden</country></nationality>
<identification-document document-type="passport"><number>X123456</number><issuer>Sweden</issuer></identification-document></identity>
<justification ssid="3">Sells lanterns.</justification></individual>
<foreign-identifier>UTi.1</foreign-identifier>
<modification modification-type="amended" effective-date="2024-01-01"><removed><individual><identity><name name-type="alias"><name-part order="1" name-part-type="whole-name"><value>Old Name</value></name-part></name></identity></individual></removed></modification>
<modification modification-type="listed" effective-date="2022-03-16"/></target>
<target ssid="101"><individual><identity><name name-type="primary-name"><name-part order="1" name-part-type="whole-name"><value>Free Again</value></name-part></name></identity></individual>
<modification modification-type="listed" effective-date="2015-01-01"/><modification modification-type="de-listed" effective-date="2016-03-01"/></target>
<target ssid="102"><entity><identity><name name-type="primary-name"><name-part order="1" name-part-type="whole-name"><value>Lantern Front</value></name-part></name></identity>
<other-information>Registration number: 12345.</other-information></entity><modification modification-type="de-listed" effective-date="2016-03-01"/><modification modification-type="listed" effective-date="2020-01-01"/></target>
<target ssid="103"><object object-type="vessel"><identity><name name-type="primary-name"><name-part order="1" name-part-type="whole-name"><value>LANTERN QUEEN</value></name-part></name></identity>
<other-information>IMO number: 9123456</other-information></object></target>
<place ssid="9"><location>Uto</location><country iso-code="SE">Sweden</country></place>
<place ssid="8"><location>Oslo</location><country iso-code="NO">Norway</country></place></swiss-sanctions-list>"#;

#[test]
fn ch_xml() {
    let (list, report) = read("ch.xml", CH);
    assert_eq!(
        (list.name.as_str(), list.version.as_str()),
        ("ch_seco_sanctions", "2026-09-28")
    );
    assert_eq!((report.rows, report.entities, report.rejected), (4, 3, 0));
    let person = &list.entities[0];
    assert_eq!((person.id.as_str(), person.schema), ("ch-100", Schema::Person));
    assert_eq!(person.names, ["Lindqvist Anders"]);
    assert_eq!(
        person.aliases,
        ["Линдквист Андерс", "Lindqvist Andreas", "Lindqvist Andrew"]
    );
    assert_eq!(person.weak_aliases, ["The Bear"]);
    assert_eq!(person.family_names, ["Lindqvist", "Линдквист"]);
    assert_eq!(person.gender, Some(Gender::Male));
    assert_eq!(dates(person), ["1954-08-30"]);
    assert_eq!(
        (&person.nationalities[..], &person.countries[..]),
        (&["se".to_owned()][..], &["no".to_owned()][..])
    );
    assert_eq!(numbers(person), [(IdentifierKind::Passport, "X123456")]);
    assert_eq!(person.programs, ["Ordinance on Utopia"]);
    for remark in [
        "Reasons: Sells lanterns.",
        "Reference: UTi.1",
        "Place of birth: Uto, Sweden",
        "Address: Oslo, Norway",
    ] {
        assert!(
            person.remarks.iter().any(|known| known == remark),
            "{remark}: {:?}",
            person.remarks
        );
    }
    // Who was removed and listed again is listed.
    assert_eq!(list.entities[1].names, ["Lantern Front"]);
    assert_eq!(
        numbers(&list.entities[1]),
        [(IdentifierKind::Registration, "12345")]
    );
    assert_eq!(list.entities[2].schema, Schema::Vessel);
    assert_eq!(numbers(&list.entities[2]), [(IdentifierKind::Imo, "9123456")]);
}

#[test]
fn spellings_beyond_the_limit_are_all_read() {
    let variants: String = (0..20)
        .map(|n| format!("<spelling-variant lang='eng' script='Latn'>A{n}</spelling-variant>"))
        .collect();
    let part = |order: u32| {
        format!(
            "<name-part order='{order}' name-part-type='given-name'><value>V</value>{variants}</name-part>"
        )
    };
    let text = format!(
        "<swiss-sanctions-list><target ssid='1'><individual><identity><name name-type='primary-name'>{}{}</name></identity>\
         </individual></target></swiss-sanctions-list>",
        part(1),
        part(2)
    );
    let (list, _) = read("ch.xml", &text);
    let aliases = list.entities[0].aliases.join("|");
    assert!((0..20).all(|n| aliases.contains(&format!("A{n} A0")) && aliases.contains(&format!("A0 A{n}"))));
}

const CA: &str = "<?xml version='1.0' encoding='UTF-8'?><data-set>
<record><Country>Belarus / Bélarus</Country><LastName>Lindqvist</LastName><GivenName>Anders Olof</GivenName>
<DateOfBirthOrShipBuildDate>1965-04-29</DateOfBirthOrShipBuildDate><Aliases>Andreas Lindqvist, Андерс Линдквист</Aliases>
<Schedule>1, Part 1</Schedule><Item>1</Item><DateOfListing>2020-09-28</DateOfListing></record>
<record><Country>Russia / Russie</Country><EntityOrShip>LANTERN QUEEN</EntityOrShip><ShipIMONumber>9123456</ShipIMONumber>
<DateOfBirthOrShipBuildDate>1999</DateOfBirthOrShipBuildDate><Schedule>1, Part 3</Schedule><Item>2</Item></record>
<record><Country>Russia / Russie</Country><EntityOrShip>Lantern Front</EntityOrShip><Schedule>1, Part 3</Schedule><Item>2</Item></record>
<record><Country>Russia / Russie</Country><LastName>Nobody</LastName></record></data-set>";

#[test]
fn ca_xml() {
    let (list, report) = read("sema-lmes.xml", CA);
    assert_eq!(list.name, "ca_dfatd_sema_sanctions");
    assert!(list.version.starts_with("sha256-"));
    assert_eq!((report.rows, report.entities, report.rejected), (4, 3, 1));
    let ids: Vec<&str> = list.entities.iter().map(|entity| entity.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "ca-belarus-1-part-1-1",
            "ca-russia-1-part-3-2",
            "ca-russia-1-part-3-2-2"
        ]
    );
    let person = &list.entities[0];
    assert_eq!(person.names, ["Anders Olof Lindqvist"]);
    assert_eq!(person.aliases, ["Andreas Lindqvist", "Андерс Линдквист"]);
    assert_eq!(dates(person), ["1965-04-29"]);
    assert!(person.countries.is_empty() && person.nationalities.is_empty());
    let ship = &list.entities[1];
    assert_eq!(
        (ship.schema, &ship.countries[..]),
        (Schema::Vessel, &["ru".to_owned()][..])
    );
    assert_eq!(numbers(ship), [(IdentifierKind::Imo, "9123456")]);
    assert!(ship.remarks.contains(&"Built on: 1999".to_owned()));
    assert_eq!(list.entities[2].schema, Schema::Organization);
    assert_eq!(unused(&report), Vec::<&str>::new());
}

proptest::proptest! {
    #[test]
    fn damaged_lists_are_an_answer(which in 0usize..5, at in 0usize..9000, byte in proptest::num::u8::ANY, cut in 0usize..9000) {
        let mut bytes = [EU, UK, UK_CSV, CH, CA][which].as_bytes().to_vec();
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(cut.max(100));
        let _ = import(vec![Source::new("x", Cursor::new(bytes))], None);
    }
}
