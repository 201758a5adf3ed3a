//! The people on the specimens. All of them are invented.

/// A calendar day.
#[derive(Clone, Copy, Default)]
pub(crate) struct Date {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

/// A holder with the data that is printed about them.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) surname: &'static str,
    pub(crate) given: &'static str,
    pub(crate) sex: char,
    pub(crate) number: &'static str,
    pub(crate) born: Date,
    pub(crate) issued: Date,
    pub(crate) expires: Date,
}

impl Default for Person {
    fn default() -> Self {
        Self {
            surname: "",
            given: "",
            sex: 'F',
            number: "",
            born: Date {
                year: 1990,
                month: 1,
                day: 1,
            },
            issued: Date {
                year: 2024,
                month: 5,
                day: 16,
            },
            expires: Date {
                year: 2044,
                month: 5,
                day: 5,
            },
        }
    }
}

impl Date {
    /// The form on passports: `12 AUG 1985`.
    pub(crate) fn printed(self) -> String {
        const MONTHS: [&str; 12] = [
            "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
        ];
        format!(
            "{:02} {} {}",
            self.day,
            MONTHS[usize::from(self.month) - 1],
            self.year
        )
    }

    /// The form on licences and in requests: `MM/DD/YYYY`.
    pub(crate) fn american(self) -> String {
        format!("{:02}/{:02}/{}", self.month, self.day, self.year)
    }
}
