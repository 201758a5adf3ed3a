//! Determines the kind of document from its machine-readable zone, barcode and printed text.
//!
//! A kind that cannot be determined is [`DocumentKind::Unknown`]. Only a picture without any sign of a
//! document is [`DocumentKind::None`].

use crate::locate::Line;
use crate::reading::{Aamva, DocumentKind, MrzReading};

use super::labels::labels_in;
use super::text::{fold_text, words};

/// Folded titles that documents print, with the kind that they prove. The longest title in all lines decides.
const TITLES: &[(DocumentKind, &[&str])] = &[
    (
        DocumentKind::ResidencyCard,
        &[
            "RESIDENCE PERMIT",
            "RESIDENCE CARD",
            "PERMANENT RESIDENT",
            "PERMANENT RESIDENT CARD",
            "RESIDENT CARD",
            "TITRE DE SEJOUR",
            "CARTE DE SEJOUR",
            "CARTE DE RESIDENT",
            "AUFENTHALTSTITEL",
            "AUFENTHALTSKARTE",
            "NIEDERLASSUNGSERLAUBNIS",
            "PERMISO DE RESIDENCIA",
            "TARJETA DE RESIDENCIA",
            "PERMESSO DI SOGGIORNO",
            "CARTA DI SOGGIORNO",
            "TITULO DE RESIDENCIA",
            "AUTORIZACAO DE RESIDENCIA",
            "KARTA POBYTU",
            "POVOLENI K POBYTU",
            "POVOLENIE NA POBYT",
            "VERBLIJFSTITEL",
            "VERBLIJFSDOCUMENT",
            "UPPEHALLSTILLSTAND",
            "OPHOLDSTILLADELSE",
            "OPHOLDSKORT",
            "OLESKELULUPA",
            "ELAMISLUBA",
            "UZTURESANAS ATLAUJA",
            "LEIDIMAS GYVENTI",
            "DOZVOLA BORAVKA",
            "DOVOLJENJE ZA PREBIVANJE",
            "TARTOZKODASI ENGEDELY",
            "PERMIS DE SEDERE",
            "ADEIA DIAMONIS",
            "RESIDENCY CARD",
            "RESIDENCE IDENTITY CARD",
        ],
    ),
    (
        DocumentKind::Drivers,
        &[
            "DRIVING LICENCE",
            "DRIVING LICENSE",
            "DRIVER LICENSE",
            "DRIVER S LICENSE",
            "DRIVERS LICENSE",
            "DRIVER LICENCE",
            "DRIVERS LICENCE",
            "DRIVER S LICENCE",
            "PERMIS DE CONDUIRE",
            "FUEHRERSCHEIN",
            "FUHRERSCHEIN",
            "PERMISO DE CONDUCCION",
            "LICENCIA DE CONDUCIR",
            "LICENCIA DE CONDUCCION",
            "LICENCIA PARA CONDUCIR",
            "PATENTE DI GUIDA",
            "CARTA DE CONDUCAO",
            "CARTEIRA NACIONAL DE HABILITACAO",
            "PRAWO JAZDY",
            "RIDICSKY PRUKAZ",
            "VODICSKY PREUKAZ",
            "VOZACKA DOZVOLA",
            "VOZNISKO DOVOLJENJE",
            "RIJBEWIJS",
            "KORKORT",
            "KOREKORT",
            "FORERKORT",
            "AJOKORTTI",
            "JUHILUBA",
            "VADITAJA APLIECIBA",
            "VAIRUOTOJO PAZYMEJIMAS",
            "VEZETOI ENGEDELY",
            "PERMIS DE CONDUCERE",
            "SURUCU BELGESI",
            "CEADUNAS TIOMANA",
            "LICENZJA TAS SEWQAN",
            "PROVISIONAL LICENCE",
            "COMMERCIAL DRIVER LICENSE",
        ],
    ),
    (
        DocumentKind::IdCard,
        &[
            "IDENTITY CARD",
            "ID CARD",
            "NATIONAL IDENTITY CARD",
            "IDENTIFICATION CARD",
            "CARTE NATIONALE D IDENTITE",
            "CARTE D IDENTITE",
            "PERSONALAUSWEIS",
            "IDENTITATSKARTE",
            "IDENTITAETSKARTE",
            "DOCUMENTO NACIONAL DE IDENTIDAD",
            "CEDULA DE IDENTIDAD",
            "CEDULA DE CIUDADANIA",
            "CARTA D IDENTITA",
            "CARTA DI IDENTITA",
            "CARTAO DE CIDADAO",
            "BILHETE DE IDENTIDADE",
            "DOWOD OSOBISTY",
            "OBCANSKY PRUKAZ",
            "OBCIANSKY PREUKAZ",
            "OSOBNA ISKAZNICA",
            "LICNA KARTA",
            "OSEBNA IZKAZNICA",
            "IDENTITEITSKAART",
            "IDENTITETSKORT",
            "NATIONELLT IDENTITETSKORT",
            "HENKILOKORTTI",
            "ISIKUTUNNISTUS",
            "PERSONAS APLIECIBA",
            "ASMENS TAPATYBES KORTELE",
            "SZEMELYAZONOSITO IGAZOLVANY",
            "CARTE DE IDENTITATE",
            "KIMLIK KARTI",
            "NATIONAL ID",
        ],
    ),
    (
        DocumentKind::Passport,
        &[
            "PASSPORT",
            "PASSEPORT",
            "PASAPORTE",
            "REISEPASS",
            "PASSAPORTO",
            "PASSAPORTE",
            "PASZPORT",
            "CESTOVNI PAS",
            "CESTOVNY PAS",
            "PUTOVNICA",
            "POTNI LIST",
            "PASPOORT",
            "PASSI",
            "UTLEVEL",
            "PASE",
            "PASAPORT",
            "PASAPORTI",
        ],
    ),
    (DocumentKind::Visa, &["VISA", "VISUM"]),
];

/// Determines the kind of the document in the picture.
pub(super) fn kind_of(
    lines: &[&Line],
    mrz: Option<&MrzReading>,
    aamva: Option<&Aamva>,
    any_barcode: bool,
) -> DocumentKind {
    let texts: Vec<String> = lines
        .iter()
        .filter(|l| l.read.confidence > 0.5)
        .map(|l| fold_text(&l.read.text))
        .collect();
    let titled = title(&texts);
    if let Some(mrz) = mrz {
        return if mrz.is_certain() {
            by_code(mrz, titled)
        } else {
            by_uncertain_code(mrz, titled)
        };
    }
    if let Some(card) = aamva {
        return if card.subfile.as_deref() == Some("ID") {
            DocumentKind::IdCard
        } else {
            DocumentKind::Drivers
        };
    }
    if let Some(kind) = titled {
        return kind;
    }
    let labels = texts
        .iter()
        .map(|text| labels_in(text, &words(text)).len())
        .sum::<usize>();
    let letters: usize = texts.iter().map(String::len).sum();
    if any_barcode || labels > 0 || (texts.len() >= 4 && letters >= 30) {
        DocumentKind::Unknown
    } else {
        DocumentKind::None
    }
}

/// The kind by an uncertain code and the title. No check digit protects the code, and a smudge makes a V of a P: only a
/// title shows that the document is a visa.
fn by_uncertain_code(mrz: &MrzReading, titled: Option<DocumentKind>) -> DocumentKind {
    match by_code(mrz, titled) {
        DocumentKind::Visa => titled.unwrap_or(DocumentKind::Unknown),
        kind => kind,
    }
}

/// The kind of a zone's document, by its code alone.
#[must_use]
pub fn kind_of_zone(mrz: &MrzReading) -> DocumentKind {
    by_code(mrz, None)
}

/// Determines the kind from the zone's document code (ICAO 9303-3 §5, 9303-5 §4.2.2). The title is used where
/// the code is not specific.
fn by_code(mrz: &MrzReading, titled: Option<DocumentKind>) -> DocumentKind {
    let code = mrz.fields.document_code.as_bytes();
    match (code.first(), code.get(1)) {
        (Some(b'P'), _) => DocumentKind::Passport,
        (Some(b'V'), _) => DocumentKind::Visa,
        // The permits of the European Union and others have IR or AR; those of US permanent residents have C1
        // or C2.
        (Some(b'I' | b'A'), Some(b'R')) | (Some(b'C'), Some(b'1' | b'2')) => DocumentKind::ResidencyCard,
        (Some(b'I' | b'A' | b'C'), _) => match titled {
            Some(kind @ (DocumentKind::ResidencyCard | DocumentKind::Passport | DocumentKind::Drivers)) => {
                kind
            }
            _ => DocumentKind::IdCard,
        },
        // ISO 18013-1 licences.
        (Some(b'D'), _) => DocumentKind::Drivers,
        _ => titled.unwrap_or(DocumentKind::Unknown),
    }
}

/// Determines the kind from printed titles. The longest decides, so `RESIDENT CARD` overrides the `PASSPORT`
/// of a label.
fn title(texts: &[String]) -> Option<DocumentKind> {
    let mut best: Option<(usize, DocumentKind)> = None;
    for text in texts {
        let padded = format!(" {text} ");
        for &(kind, titles) in TITLES {
            for title in titles {
                if padded.contains(&format!(" {title} "))
                    && best.is_none_or(|(length, _)| title.len() > length)
                {
                    best = Some((title.len(), kind));
                }
            }
        }
    }
    best.map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{MrzFields, MrzFormat, MrzWarning};

    fn mrz(code: &str) -> MrzReading {
        MrzReading {
            format: MrzFormat::Td1,
            lines: vec![],
            valid: true,
            accepted: true,
            failed_checks: vec![],
            fields: MrzFields {
                document_code: code.into(),
                ..MrzFields::default()
            },
            warnings: vec![],
            margin: None,
            confirmable: false,
        }
    }

    #[test]
    fn titles_are_whole_words() {
        for (_, titles) in TITLES {
            for title in *titles {
                assert_eq!(fold_text(title), *title);
            }
        }
        let title = |text: &str| title(&[fold_text(text)]);
        assert_eq!(
            title("République française – Titre de séjour"),
            Some(DocumentKind::ResidencyCard)
        );
        assert_eq!(title("DRIVER'S LICENSE"), Some(DocumentKind::Drivers));
        assert_eq!(
            title("Passport No / Carte d'identité"),
            Some(DocumentKind::IdCard)
        );
        assert_eq!(title("PASSPORTS ARE FINE"), None);
    }

    #[test]
    fn document_codes_tell_the_kind() {
        let rows = [
            ("P", None, DocumentKind::Passport),
            ("IR", None, DocumentKind::ResidencyCard),
            ("C1", None, DocumentKind::ResidencyCard),
            ("ID", None, DocumentKind::IdCard),
            (
                "I",
                Some(DocumentKind::ResidencyCard),
                DocumentKind::ResidencyCard,
            ),
            ("V", Some(DocumentKind::Passport), DocumentKind::Visa),
            ("X", None, DocumentKind::Unknown),
        ];
        for (code, titled, expected) in rows {
            assert_eq!(by_code(&mrz(code), titled), expected, "{code}");
        }
    }

    #[test]
    fn an_uncertain_code_makes_no_visa() {
        let rows = [
            ("V", None, DocumentKind::Unknown),
            ("V", Some(DocumentKind::Passport), DocumentKind::Passport),
            ("V", Some(DocumentKind::Visa), DocumentKind::Visa),
            ("P", None, DocumentKind::Passport),
            ("P", Some(DocumentKind::Visa), DocumentKind::Passport),
            ("ID", None, DocumentKind::IdCard),
        ];
        for (code, titled, expected) in rows {
            assert_eq!(by_uncertain_code(&mrz(code), titled), expected, "{code}");
        }
        let mut uncertain = mrz("V");
        assert_eq!(kind_of(&[], Some(&uncertain), None, false), DocumentKind::Visa);
        uncertain.warnings.push(MrzWarning::UncertainReading);
        assert_eq!(kind_of(&[], Some(&uncertain), None, false), DocumentKind::Unknown);
    }

    #[test]
    fn nothing_is_no_document() {
        assert_eq!(kind_of(&[], None, None, false), DocumentKind::None);
        assert_eq!(kind_of(&[], None, None, true), DocumentKind::Unknown);
    }
}
