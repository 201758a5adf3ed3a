//! The codes and the name of one country. [`super::countries`] lists all countries.

/// A country or territory of ISO 3166-1 (and Kosovo, which has only user-assigned codes).
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Country {
    /// Two upper-case letters, such as `DE`.
    pub alpha2: &'static str,
    /// Three upper-case letters, such as `DEU`.
    pub alpha3: &'static str,
    /// The English name, as CLDR has it.
    pub name: &'static str,
}
