//! Invented payloads of every known form, clean and damaged; all people are invented.

use proptest::prelude::*;

use super::*;

/// A version 8 payload in the standard's form.
const CLEAN: &str = "@\n\x1e\rANSI 636014080002DL00410278ZC03190034DLDAQF1485768\nDCSHARPER\nDDEN\nDACELIJAH\nDDFT\n\
    DADMASON LEE\nDDGU\nDCAC\nDCBNONE\nDCDNONE\nDBD02022016\nDBB07051973\nDBA07052029\nDBC1\nDAU068 IN\nDAYBLU\n\
    DAG671 BLUEBERRY HILL DR\nDAIMILPITAS\nDAJCA\nDAK950350000  \nDCF00/00/0000\nDCGUSA\nDCUJR\nDCK1234\rZCZCAY\nZCB\r";

fn read(text: &str) -> Aamva {
    parse_aamva(text.as_bytes()).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

#[test]
fn a_clean_payload_is_read_whole() {
    let card = read(CLEAN);
    assert_eq!(card.version, Some(8));
    assert_eq!(card.iin.as_deref(), Some("636014"));
    assert_eq!(
        (card.jurisdiction.as_deref(), card.country.as_deref()),
        (Some("CA"), Some("USA"))
    );
    assert_eq!(card.subfile.as_deref(), Some("DL"));
    assert_eq!(
        (card.last_name.as_deref(), card.first_name.as_deref()),
        (Some("HARPER"), Some("ELIJAH"))
    );
    assert_eq!(card.middle_names, ["MASON", "LEE"]);
    assert_eq!(card.name_suffix.as_deref(), Some("JR"));
    assert_eq!(card.birth_date.unwrap().to_string(), "1973-07-05");
    assert_eq!(card.expiry_date.unwrap().to_string(), "2029-07-05");
    assert_eq!(card.issue_date.unwrap().to_string(), "2016-02-02");
    assert_eq!((card.sex, card.height_cm), (Some('M'), Some(173)));
    assert_eq!(card.document_number.as_deref(), Some("F1485768"));
    assert_eq!(card.truncated, ["firstName"]);
    let address = card.address;
    assert_eq!(address.street.as_deref(), Some("671 BLUEBERRY HILL DR"));
    assert_eq!(
        (address.city.as_deref(), address.state.as_deref()),
        (Some("MILPITAS"), Some("CA"))
    );
    assert_eq!(address.postal_code.as_deref(), Some("95035"));
    assert_eq!(card.elements["ZCA"], "Y");
    assert_eq!(card.elements["DAY"], "BLU");
}

#[test]
fn mangled_payloads_give_the_same_card() {
    let clean = read(CLEAN);
    let body = CLEAN.split_once("ANSI").unwrap().1;
    for mangled in [
        format!("\u{feff}@\n^^\nANSI{body}"),
        format!("@6MANSI{body}"),
        format!("@acANSI{body}"),
        format!("]L0@\r\n\x1e\r\nANSI{}", body.replace('\n', "\r\n")),
        CLEAN.replace(['\n', '\r', '\x1e'], "|"),
        CLEAN.replace('\n', "\x1c"),
        // These have wrong offsets and lengths, and a subfile without its two letters.
        CLEAN.replace("00410278", "99999999"),
        CLEAN.replace("DLDAQ", "DAQ"),
    ] {
        let card = read(&mangled);
        let key = |card: &Aamva| {
            let names = (
                card.last_name.clone(),
                card.first_name.clone(),
                card.middle_names.clone(),
            );
            (
                names,
                card.birth_date,
                card.expiry_date,
                card.iin.clone(),
                card.document_number.clone(),
            )
        };
        assert_eq!(key(&card), key(&clean), "{mangled:?}");
    }
    // These have no header, and no line ends.
    let headless = read(
        body.split_once("DLDAQ")
            .map(|(_, rest)| format!("DAQ{rest}"))
            .unwrap()
            .as_str(),
    );
    assert_eq!((headless.iin, headless.country.as_deref()), (None, Some("USA")));
    let run = read(&CLEAN.replace(['\n', '\r'], ""));
    assert_eq!(
        (run.last_name.as_deref(), run.first_name.as_deref()),
        (Some("HARPER"), Some("ELIJAH"))
    );
    assert_eq!(run.birth_date, clean.birth_date);
}

#[test]
fn names_are_found_wherever_they_stand() {
    let rows: &[(&str, &str, &str, &[&str], &str)] = &[
        // elements, last, first, middle, suffix
        ("DCSSMITH\nDACMARY\nDADJOE", "SMITH", "MARY", &["JOE"], ""),
        ("DCSSMITH\nDACMARY\nDADNONE\nDCUNONE", "SMITH", "MARY", &[], ""),
        ("DCSO NEIL\nDACMARY ANN\nDAD", "O NEIL", "MARY ANN", &[], ""),
        ("DCSMAURY\nDCTJUSTIN,WILLIAM", "MAURY", "JUSTIN", &["WILLIAM"], ""),
        ("DCSMAURY\nDCTMARY ROSE   ", "MAURY", "MARY", &["ROSE"], ""),
        ("DCSMAURY\nDCTMARY ANN,ROSE", "MAURY", "MARY ANN", &["ROSE"], ""),
        ("DCSMAURY,JR\nDACJOHN", "MAURY", "JOHN", &[], "JR"),
        ("DABMAURY\nDACJOHN\nDADA\nDAEIII", "MAURY", "JOHN", &["A"], "III"),
        (
            "DAACORTEZ,PABLO,LUIS RODRIGUEZ,JR",
            "CORTEZ",
            "PABLO",
            &["LUIS", "RODRIGUEZ"],
            "JR",
        ),
        ("DAACORTEZ,PABLO,,JR", "CORTEZ", "PABLO", &[], "JR"),
        ("DAASMITH, MARY JONES", "SMITH", "MARY", &["JONES"], ""),
        ("DAASMITH$MARY$JONES", "SMITH", "MARY", &["JONES"], ""),
        (
            "DAAJOHN ROBERT LEE SMITH",
            "SMITH",
            "JOHN",
            &["ROBERT", "LEE"],
            "",
        ),
        ("DAAJOHN SMITH JR", "SMITH", "JOHN", &[], "JR"),
        ("DAAWANG,CHUNG", "WANG", "CHUNG", &[], ""),
        ("DCSSUKARNO\nDACNONE\nDADNONE", "SUKARNO", "", &[], ""),
    ];
    for (elements, last, first, middle, suffix) in rows {
        let card = read(&format!(
            "ANSI 636000030001DL00310440DLDCAD\n{elements}\nDAQ1\nDBA01012030\nDBB01011980\n"
        ));
        let shown = |value: &Option<String>| value.clone().unwrap_or_default();
        assert_eq!(
            (shown(&card.last_name).as_str(), shown(&card.first_name).as_str()),
            (*last, *first),
            "{elements}"
        );
        assert_eq!(card.middle_names, *middle, "{elements}");
        assert_eq!(shown(&card.name_suffix), *suffix, "{elements}");
    }
}

#[test]
fn a_byte_order_mark_is_removed() {
    // Without a header, the first element would be lost.
    let elements = "DCSSMITH\nDACJOHN\nDAQ1\nDBA01012030\nDBB01011980\nDBC1\nDAJVA\nDAIRICHMOND";
    let plain = parse_aamva(elements.as_bytes()).unwrap();
    assert_eq!(plain.last_name.as_deref(), Some("SMITH"));
    let utf8 = ["\u{feff}", "\u{ef}\u{bb}\u{bf}", "\u{feff}\u{ef}\u{bb}\u{bf}"]
        .map(|mark| format!("{mark}{elements}").into_bytes());
    let latin1 = [b"\xEF\xBB\xBF", elements.as_bytes(), b"\nDAG\xE9"].concat();
    for payload in utf8.into_iter().chain([latin1]) {
        let card = parse_aamva(&payload).unwrap();
        assert_eq!(card.last_name, plain.last_name);
        assert_eq!(card.document_number, plain.document_number);
    }
}

#[test]
fn values_are_understood_or_left_out() {
    for (value, expected) in [
        ("07051973", Some("1973-07-05")),
        ("19730705", Some("1973-07-05")),
        ("06092016M", Some("2016-06-09")),
        ("12/31/2019", Some("2019-12-31")),
        ("2019-12-31", Some("2019-12-31")),
        ("00000000", None),
        ("99999999", None),
        ("02302019", None),
        ("0705", None),
        ("NONE", None),
    ] {
        assert_eq!(
            values::date(value).map(|d| d.to_string()).as_deref(),
            expected,
            "{value}"
        );
    }
    for (value, expected) in [
        ("070 in", Some(178)),
        (" 65 IN", Some(165)),
        ("72 IN ", Some(183)),
        ("178 cm", Some(178)),
        ("168 CM", Some(168)),
        ("506", Some(168)),
        ("600", Some(183)),
        ("5'06\"", Some(168)),
        ("6-02", Some(188)),
        ("070", Some(178)),
        ("178", Some(178)),
        ("599", None),
        ("", None),
        ("NONE", None),
        ("99999999999", None),
    ] {
        assert_eq!(values::height_cm(value), expected, "{value}");
    }
    for (value, expected) in [
        ("1", Some('M')),
        ("2", Some('F')),
        ("9", Some('X')),
        ("M", Some('M')),
        ("f", Some('F')),
        ("U", None),
    ] {
        assert_eq!(values::sex(value), expected, "{value}");
    }
    for (value, expected) in [
        ("950350000  ", "95035"),
        ("483064321", "48306-4321"),
        ("20009-1234", "20009-1234"),
        ("96826     0", "96826"),
        ("0210800000", "02108"),
        ("E5K 1Y3", "E5K 1Y3"),
    ] {
        assert_eq!(values::postal_code(value), expected, "{value}");
    }
}

#[test]
fn the_old_header_is_shorter_and_the_issuer_tells_the_country() {
    let card = read(
        "@\n\x1e\rAAMVA6360060101DL00290179DAASMITH,MARY,A\nDAQ99\nDBA20150101\nDBB19610101\nDBC2\nDAU506\n",
    );
    assert_eq!(
        (
            card.version,
            card.jurisdiction.as_deref(),
            card.country.as_deref()
        ),
        (Some(1), Some("CT"), Some("USA"))
    );
    let card =
        read("ANSI 636017020002DL00410390DLDCSMOTORIST\nDCTMARY\nDAQ1\nDBA08082031\nDBB08081962\nDAJNB\n");
    assert_eq!(
        (card.jurisdiction.as_deref(), card.country.as_deref()),
        (Some("NB"), Some("CAN"))
    );
    let card =
        read("ANSI 999999020002DL00410390DLDCSMOTORIST\nDCTMARY\nDAQ1\nDBA08082031\nDBB08081962\nDAJQC\n");
    assert_eq!(card.country.as_deref(), Some("CAN"));
}

#[test]
fn what_lacks_its_essentials_is_refused() {
    for (element, what) in [
        ("DAQF1485768\n", "the document number (DAQ)"),
        ("DBB07051973\n", "the date of birth (DBB)"),
        ("DBA07052029\n", "the date of expiry (DBA)"),
    ] {
        let error = parse_aamva(CLEAN.replace(element, "").as_bytes()).unwrap_err();
        assert_eq!(error, AamvaError::Missing(vec![what]));
        assert_eq!(error.payload_kind(), PayloadKind::Damaged);
    }
    let garbled = CLEAN.replace("DBB07051973", "DBB13411973");
    assert!(matches!(
        parse_aamva(garbled.as_bytes()),
        Err(AamvaError::Missing(_))
    ));
    for other in [
        "",
        "hello",
        "00123456789@GARCIA@JUAN@M@12345678@A@01/01/1980@01/01/2015",
        "https://example.org/ANSI",
    ] {
        let error = parse_aamva(other.as_bytes()).unwrap_err();
        assert_eq!(error, AamvaError::NotAamva, "{other}");
        assert_eq!(error.payload_kind(), PayloadKind::Unknown);
    }
    assert_eq!(parse_aamva(&vec![b'A'; 1 << 20]), Err(AamvaError::NotAamva));
}

#[test]
fn latin_1_is_read_too() {
    let mut bytes = CLEAN.replace("HARPER", "LANG?IN").into_bytes();
    let at = bytes.iter().position(|&b| b == b'?').unwrap();
    bytes[at] = 0xe9;
    assert_eq!(parse_aamva(&bytes).unwrap().last_name.as_deref(), Some("LANGéIN"));
}

#[test]
fn lines_are_answered_one_by_one() {
    let answer = |line: &str| serde_json::from_str::<serde_json::Value>(&answer_line(line)).unwrap();
    let good = answer(&serde_json::json!({ "payload": CLEAN }).to_string());
    assert_eq!(good["error"], serde_json::Value::Null);
    assert_eq!(good["aamva"]["lastName"], "HARPER");
    assert_eq!(good["aamva"]["birthDate"], "1973-07-05");
    assert_eq!(good["aamva"]["elements"]["DCS"], "HARPER");
    for (line, code) in [
        ("{", "bad_input"),
        ("{}", "bad_input"),
        (r#"{"file":"a","payload":"b"}"#, "bad_input"),
        (r#"{"payload":"b","more":1}"#, "bad_input"),
        (r#"{"payload":"b"}"#, "not_aamva"),
        (r#"{"file":"/nonexistent/payload.txt"}"#, "unreadable_file"),
    ] {
        assert_eq!(answer(line)["error"]["code"], code, "{line}");
        assert_eq!(answer(line)["aamva"], serde_json::Value::Null);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse_aamva(&bytes);
    }

    #[test]
    fn any_damage_is_survived(cuts in proptest::collection::vec((0usize..500, any::<u8>()), 0..20)) {
        let mut bytes = CLEAN.as_bytes().to_vec();
        for (at, to) in cuts {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = to;
            }
        }
        let _ = parse_aamva(&bytes);
        let _ = answer_line(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_element_value_is_survived(value in "\\PC{0,40}", id in "D[A-D][A-Z]") {
        let _ = parse_aamva_text(&format!("{CLEAN}{id}{value}\n"));
        let _ = (values::date(&value), values::height_cm(&value), values::postal_code(&value));
    }
}
