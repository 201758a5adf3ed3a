//! The issuers of cards by issuer identification number (AAMVA's published list of IINs).

/// An issuing state or province.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Issuer {
    /// Two letters.
    pub(super) jurisdiction: &'static str,
    /// Alpha-3.
    pub(super) country: &'static str,
}

/// Finds the issuer of an IIN of six digits.
pub(super) fn issuer(iin: &str) -> Option<Issuer> {
    let iin: u32 = iin.parse().ok()?;
    let &(_, jurisdiction, country) = ISSUERS.iter().find(|row| row.0 == iin)?;
    Some(Issuer {
        jurisdiction,
        country,
    })
}

/// Finds the country of a state's or province's two letters.
pub(super) fn country_of_state(letters: &str) -> Option<&'static str> {
    ISSUERS.iter().find(|row| row.1 == letters).map(|row| row.2)
}

const ISSUERS: &[(u32, &str, &str)] = &[
    (604_426, "PE", "CAN"),
    (604_427, "AS", "USA"),
    (604_428, "QC", "CAN"),
    (604_429, "YT", "CAN"),
    (604_430, "MP", "USA"),
    (604_431, "PR", "USA"),
    (604_432, "AB", "CAN"),
    (604_433, "NU", "CAN"),
    (604_434, "NT", "CAN"),
    (636_000, "VA", "USA"),
    (636_001, "NY", "USA"),
    (636_002, "MA", "USA"),
    (636_003, "MD", "USA"),
    (636_004, "NC", "USA"),
    (636_005, "SC", "USA"),
    (636_006, "CT", "USA"),
    (636_007, "LA", "USA"),
    (636_008, "MT", "USA"),
    (636_009, "NM", "USA"),
    (636_010, "FL", "USA"),
    (636_011, "DE", "USA"),
    (636_012, "ON", "CAN"),
    (636_013, "NS", "CAN"),
    (636_014, "CA", "USA"),
    (636_015, "TX", "USA"),
    (636_016, "NL", "CAN"),
    (636_017, "NB", "CAN"),
    (636_018, "IA", "USA"),
    (636_019, "GU", "USA"),
    (636_020, "CO", "USA"),
    (636_021, "AR", "USA"),
    (636_022, "KS", "USA"),
    (636_023, "OH", "USA"),
    (636_024, "VT", "USA"),
    (636_025, "PA", "USA"),
    (636_026, "AZ", "USA"),
    (636_028, "BC", "CAN"),
    (636_029, "OR", "USA"),
    (636_030, "MO", "USA"),
    (636_031, "WI", "USA"),
    (636_032, "MI", "USA"),
    (636_033, "AL", "USA"),
    (636_034, "ND", "USA"),
    (636_035, "IL", "USA"),
    (636_036, "NJ", "USA"),
    (636_037, "IN", "USA"),
    (636_038, "MN", "USA"),
    (636_039, "NH", "USA"),
    (636_040, "UT", "USA"),
    (636_041, "ME", "USA"),
    (636_042, "SD", "USA"),
    (636_043, "DC", "USA"),
    (636_044, "SK", "CAN"),
    (636_045, "WA", "USA"),
    (636_046, "KY", "USA"),
    (636_047, "HI", "USA"),
    (636_048, "MB", "CAN"),
    (636_049, "NV", "USA"),
    (636_050, "ID", "USA"),
    (636_051, "MS", "USA"),
    (636_052, "RI", "USA"),
    (636_053, "TN", "USA"),
    (636_054, "NE", "USA"),
    (636_055, "GA", "USA"),
    (636_058, "OK", "USA"),
    (636_059, "AK", "USA"),
    (636_060, "WY", "USA"),
    (636_061, "WV", "USA"),
    (636_062, "VI", "USA"),
];
