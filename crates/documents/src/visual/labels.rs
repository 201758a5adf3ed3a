//! The labels that documents print next to their fields, in many languages, folded to ASCII capitals.
//!
//! The table covers common documents. A field with an unknown label is not read here, but the
//! machine-readable zone may contain it.

/// A field of the visual zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Label {
    /// Family name.
    Surname,
    /// Given names.
    GivenNames,
    /// Whole name in one field.
    Name,
    /// Date of birth.
    Birth,
    /// Date of expiry.
    Expiry,
    /// Date of issue.
    Issue,
    /// Number of the document.
    Number,
    /// Nationality.
    Nationality,
    /// Sex.
    Sex,
    /// Issuing state's code.
    IssuerCode,
    /// Any other label: it ends the previous value and has no value here.
    Other,
}

/// Labels and their phrases. Whole words of a line are compared, and the longest phrase is used.
pub(super) const LABELS: &[(Label, &[&str])] = &[
    (
        Label::Surname,
        &[
            "SURNAME",
            "SURNAMES",
            "LAST NAME",
            "FAMILY NAME",
            "NOM",
            "NOMS",
            "APELLIDO",
            "APELLIDOS",
            "COGNOME",
            "COGNOMI",
            "NACHNAME",
            "FAMILIENNAME",
            "APELIDO",
            "APELIDOS",
            "NAZWISKO",
            "NAZWISKA",
            "PRIJMENI",
            "PRIEZVISKO",
            "PREZIME",
            "PRIIMEK",
            "EFTERNAVN",
            "EFTERNAMN",
            "ETTERNAVN",
            "SUKUNIMI",
            "ACHTERNAAM",
            "NAAM",
            "NUME",
            "CSALADI NEV",
            "VEZETEKNEV",
            "PERENIMI",
            "PERENIMED",
            "UZVARDS",
            "PAVARDE",
            "SOYADI",
            "EPONYMO",
            "LN",
            "FAMILJENAMN",
            "SLOINNE",
        ],
    ),
    (
        Label::GivenNames,
        &[
            "GIVEN NAME",
            "GIVEN NAMES",
            "FIRST NAME",
            "FIRST NAMES",
            "FORENAME",
            "FORENAMES",
            "OTHER NAMES",
            "PRENOM",
            "PRENOMS",
            "NOMBRE",
            "NOMBRES",
            "NOME",
            "NOMI",
            "NOMES",
            "VORNAME",
            "VORNAMEN",
            "NOME PROPRIO",
            "IMIE",
            "IMIONA",
            "IMIE IMIONA",
            "JMENO",
            "JMENA",
            "MENO",
            "MENA",
            "IME",
            "FORNAVN",
            "FORNAMN",
            "FORNAVNE",
            "ETUNIMET",
            "ETUNIMI",
            "VOORNAMEN",
            "VOORNAAM",
            "PRENUME",
            "UTONEV",
            "UTONEVE",
            "KERESZTNEV",
            "EESNIMI",
            "EESNIMED",
            "VARDS",
            "VARDI",
            "VARDAS",
            "VARDAI",
            "ADI",
            "ONOMA",
            "FN",
        ],
    ),
    (
        Label::Name,
        &["NAME", "FULL NAME", "NAMES", "NEV", "NIMI", "NAVN", "NAMN"],
    ),
    (
        Label::Birth,
        &[
            "DATE OF BIRTH",
            "BIRTH DATE",
            "BIRTHDATE",
            "DOB",
            "DATE DE NAISSANCE",
            "NE LE",
            "NEE LE",
            "NE E LE",
            "GEBURTSDATUM",
            "GEBURTSTAG",
            "FECHA DE NACIMIENTO",
            "DATA DI NASCITA",
            "DATA DE NASCIMENTO",
            "DATA URODZENIA",
            "DATUM NAROZENI",
            "DATUM NARODENIA",
            "DATUM RODENJA",
            "DATUM RODJENJA",
            "DATUM ROJSTVA",
            "ROJSTNI DATUM",
            "FODSELSDATO",
            "FODELSEDATUM",
            "FOEDSELSDATO",
            "SYNTYMAAIKA",
            "SYNTYMAPAIVA",
            "GEBOORTEDATUM",
            "DATA NASTERII",
            "DATA NASTERE",
            "SZULETESI IDO",
            "SZULETESI DATUM",
            "SUNNIAEG",
            "DZIMSANAS DATUMS",
            "GIMIMO DATA",
            "DOGUM TARIHI",
            "FAEDINGARDAGUR",
            "DATE NAISSANCE",
            "BORN",
        ],
    ),
    (
        Label::Expiry,
        &[
            "DATE OF EXPIRY",
            "DATE OF EXPIRATION",
            "EXPIRATION DATE",
            "EXPIRY DATE",
            "EXPIRY",
            "EXPIRATION",
            "EXPIRES",
            "EXP",
            "EXP DATE",
            "VALID UNTIL",
            "VALID TO",
            "VALID THRU",
            "CARD EXPIRES",
            "DATE D EXPIRATION",
            "EXPIRE LE",
            "VALABLE JUSQU AU",
            "GUELTIG BIS",
            "GULTIG BIS",
            "CADUCIDAD",
            "FECHA DE CADUCIDAD",
            "FECHA DE VENCIMIENTO",
            "VENCIMIENTO",
            "VALIDO HASTA",
            "VALIDEZ",
            "SCADENZA",
            "DATA DI SCADENZA",
            "VALIDADE",
            "DATA DE VALIDADE",
            "VALIDO ATE",
            "TERMIN WAZNOSCI",
            "DATA WAZNOSCI",
            "DATA UPLYWU WAZNOSCI",
            "PLATNOST DO",
            "PLATNOST",
            "PLATNE DO",
            "VRIJEDI DO",
            "VAZI DO",
            "VELJA DO",
            "DATUM POTEKA",
            "UDLOBSDATO",
            "GYLDIG TIL",
            "UTLOPSDATO",
            "GILTIGT TILL",
            "SISTA GILTIGHETSDAG",
            "VOIMASSA",
            "VIIMEINEN VOIMASSAOLOPAIVA",
            "GELDIG TOT",
            "DATA EXPIRARII",
            "ERVENYES",
            "ERVENYESSEG",
            "LEJARAT",
            "KEHTIV KUNI",
            "DERIGA LIDZ",
            "DERIGUMA TERMINS",
            "GALIOJA IKI",
            "GECERLILIK TARIHI",
        ],
    ),
    (
        Label::Issue,
        &[
            "DATE OF ISSUE",
            "ISSUE DATE",
            "DATE ISSUED",
            "ISSUED",
            "ISSUED ON",
            "ISS",
            "DATE DE DELIVRANCE",
            "DELIVRE LE",
            "DATE DE EMISSION",
            "AUSSTELLUNGSDATUM",
            "AUSSTELLUNGSTAG",
            "TAG DER AUSSTELLUNG",
            "FECHA DE EXPEDICION",
            "FECHA DE EMISION",
            "EXPEDICION",
            "EMISION",
            "DATA DI RILASCIO",
            "DATA DE EMISSAO",
            "DATA WYDANIA",
            "DATUM VYDANI",
            "DATUM VYDANIA",
            "DATUM IZDAVANJA",
            "DATUM IZDAJE",
            "UDSTEDELSESDATO",
            "UTSTEDT",
            "UTFARDAD",
            "UTFARDANDEDATUM",
            "MYONNETTY",
            "DATUM VAN AFGIFTE",
            "AFGEGEVEN",
            "DATA EMITERII",
            "KIALLITAS DATUMA",
            "VALJA ANTUD",
            "IZDOSANAS DATUMS",
            "ISDAVIMO DATA",
            "VERILIS TARIHI",
            "EMITTED ON",
            "RILASCIATO IL",
        ],
    ),
    (
        Label::Number,
        &[
            "PASSPORT NO",
            "PASSPORT NUMBER",
            "PASSPORT N",
            "DOCUMENT NO",
            "DOCUMENT NUMBER",
            "DOCUMENT N",
            "CARD NO",
            "CARD NUMBER",
            "LICENCE NO",
            "LICENSE NO",
            "LICENCE NUMBER",
            "LICENSE NUMBER",
            "DL",
            "DLN",
            "DL NO",
            "LIC NO",
            "ID NO",
            "ID NUMBER",
            "IDENTITY NO",
            "PASSEPORT NO",
            "PASSEPORT N",
            "NO DU PASSEPORT",
            "NO DU DOCUMENT",
            "NUMERO DU DOCUMENT",
            "REISEPASS NR",
            "PASS NR",
            "AUSWEISNUMMER",
            "DOKUMENTNUMMER",
            "NUMERO",
            "NUM SOPORT",
            "NUMERO DE DOCUMENTO",
            "NUMERO DOCUMENTO",
            "DOCUMENTO NO",
            "PASAPORTE NO",
            "PASSAPORTO N",
            "PASSAPORTE N",
            "NUMER DOKUMENTU",
            "NUMER PASZPORTU",
            "NR PASZPORTU",
            "CISLO DOKLADU",
            "CISLO PASU",
            "CISLO CESTOVNIHO PASU",
            "BROJ PUTOVNICE",
            "PASNUMMER",
            "PASNR",
            "PASSINUMERO",
            "DOKUMENTNR",
            "DOKUMENT NR",
            "PAS NR",
            "UTLEVELSZAM",
            "OKMANYAZONOSITO",
            "ID CARD NO",
            "IDENTITY CARD NO",
            "IDENTITY CARD NUMBER",
            "PERMIT NO",
            "PERMIT NUMBER",
            "NR DOWODU",
            "CARTE N",
            "PASSPORT CARD NO",
        ],
    ),
    (
        Label::Nationality,
        &[
            "NATIONALITY",
            "NATIONALITE",
            "STAATSANGEHOERIGKEIT",
            "STAATSANGEHORIGKEIT",
            "STAATSBURGERSCHAFT",
            "NACIONALIDAD",
            "CITTADINANZA",
            "NACIONALIDADE",
            "OBYWATELSTWO",
            "STATNI OBCANSTVI",
            "STATNI PRISLUSNOST",
            "STATNE OBCIANSTVO",
            "DRZAVLJANSTVO",
            "NATIONALITET",
            "MEDBORGARSKAP",
            "STATSBORGERSKAB",
            "STATSBORGERSKAP",
            "KANSALAISUUS",
            "NATIONALITEIT",
            "CETATENIE",
            "CETATENIA",
            "ALLAMPOLGARSAG",
            "KODAKONDSUS",
            "PILSONIBA",
            "TAUTYBE",
            "PILIETYBE",
            "UYRUGU",
            "CITIZENSHIP",
            "RIKISFANG",
        ],
    ),
    (
        Label::Sex,
        &[
            "SEX",
            "SEXE",
            "SEXO",
            "GESCHLECHT",
            "SESSO",
            "PLEC",
            "POHLAVI",
            "POHLAVIE",
            "SPOL",
            "KJONN",
            "KON",
            "KOEN",
            "SUKUPUOLI",
            "GESLACHT",
            "NEM",
            "SUGU",
            "DZIMUMS",
            "LYTIS",
            "CINSIYET",
            "GENDER",
        ],
    ),
    (
        Label::IssuerCode,
        &[
            "COUNTRY CODE",
            "CODE OF ISSUING STATE",
            "ISSUING STATE",
            "ISSUING COUNTRY",
            "CODE DU PAYS",
            "CODE OF STATE",
            "STATE CODE",
            "COUNTRY",
            "CODE",
        ],
    ),
    (
        Label::Other,
        &[
            "PLACE OF BIRTH",
            "LIEU DE NAISSANCE",
            "GEBURTSORT",
            "LUGAR DE NACIMIENTO",
            "LUOGO DI NASCITA",
            "AUTHORITY",
            "AUTORITE",
            "ISSUING AUTHORITY",
            "BEHORDE",
            "AUTORIDAD",
            "AUTORITA",
            "HEIGHT",
            "TAILLE",
            "GROSSE",
            "SIGNATURE",
            "HOLDER S SIGNATURE",
            "TYPE",
            "TYP",
            "TIPO",
            "ADDRESS",
            "ADRESSE",
            "DOMICILIO",
            "RESIDENCE",
            "PERSONAL NO",
            "PERSONAL NUMBER",
            "EYES",
            "EYE COLOUR",
            "HAIR",
            "HGT",
            "WGT",
            "CLASS",
            "RESTRICTIONS",
            "END",
            "RESTR",
            "DD",
            "ORGAN DONOR",
            "PROFESSION",
            "OCCUPATION",
            "REMARKS",
            "CATEGORY",
            "PLACE OF ISSUE",
            "PASSPORT",
            "PASSEPORT",
            "PASAPORTE",
            "REISEPASS",
            "IDENTITY CARD",
            "BIRTH NAME",
            "NAME AT BIRTH",
            "GEBURTSNAME",
            "NOM DE NAISSANCE",
            "MAIDEN NAME",
            "FATHER S NAME",
            "MOTHER S NAME",
            "COLOUR OF EYES",
            "BLOOD GROUP",
            "CARD ACCESS NUMBER",
        ],
    ),
];

/// Folds text for comparison: ASCII capitals and digits, with single spaces between words.
pub(super) fn fold_text(text: &str) -> String {
    let ascii = any_ascii::any_ascii(text).to_ascii_uppercase();
    let words: Vec<&str> = ascii
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    words.join(" ")
}

/// A label in a folded text, with the range of words that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LabelMatch {
    /// The label.
    pub(super) label: Label,
    /// Index of the first word.
    pub(super) start: usize,
    /// Index after the last word.
    pub(super) end: usize,
}

/// Finds all labels in the words of a folded text, in order and without overlaps.
pub(super) fn labels_in(words: &[&str]) -> Vec<LabelMatch> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match longest_at(&words[at..]) {
            Some((label, used)) => {
                found.push(LabelMatch {
                    label,
                    start: at,
                    end: at + used,
                });
                at += used;
            }
            None => at += 1,
        }
    }
    found
}

fn longest_at(words: &[&str]) -> Option<(Label, usize)> {
    let covers = |phrase: &str| {
        let mut used = 0;
        phrase
            .split(' ')
            .all(|word| {
                used += 1;
                words.get(used - 1) == Some(&word)
            })
            .then_some(used)
    };
    LABELS
        .iter()
        .flat_map(|&(label, phrases)| phrases.iter().filter_map(move |p| Some((label, covers(p)?))))
        .max_by_key(|&(_, used)| used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_folded_and_belong_to_one_label() {
        let mut seen = std::collections::HashMap::new();
        for (label, phrases) in LABELS {
            for phrase in *phrases {
                assert_eq!(fold_text(phrase), *phrase);
                assert_eq!(seen.insert(*phrase, *label), None, "{phrase} twice");
            }
        }
    }

    #[test]
    fn the_longest_label_wins() {
        let rows: &[(&str, &[Label])] = &[
            (
                "Surname / Nom / Apellidos",
                &[Label::Surname, Label::Surname, Label::Surname],
            ),
            ("Date of birth / Date de naissance", &[Label::Birth, Label::Birth]),
            ("Given names", &[Label::GivenNames]),
            ("Name", &[Label::Name]),
            ("Place of birth", &[Label::Other]),
            ("3 DOB 01/02/1990", &[Label::Birth]),
            ("MARTIN", &[]),
            ("", &[]),
        ];
        for (text, expected) in rows {
            let text = fold_text(text);
            let words: Vec<&str> = text.split_whitespace().collect();
            let found: Vec<Label> = labels_in(&words).iter().map(|f| f.label).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }
}
