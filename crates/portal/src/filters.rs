//! Shared by pages with filters: query parameters, days, and links to the next page with the same filters. An
//! address must not contain personal data, so searches by name are posted forms.

use std::collections::BTreeMap;

use http_server::query;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use service::problem::Problem;

/// A day in milliseconds.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A page's filters by name. Empty filters are absent.
#[derive(Clone, Debug, Default)]
pub struct Filters(BTreeMap<&'static str, String>);

impl Filters {
    /// Reads the named parameters of an address's query.
    ///
    /// # Errors
    /// 400 if the query cannot be parsed.
    pub fn read(raw: Option<&str>, names: &[&'static str]) -> Result<Filters, Problem> {
        let query = query::parse(raw.unwrap_or_default())?;
        let field = |name: &&'static str| {
            let text = query.get(name)?.trim();
            (!text.is_empty()).then(|| (*name, text.to_owned()))
        };
        Ok(Filters(names.iter().filter_map(field).collect()))
    }

    /// A filter's value; empty if it is not set.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A filter's value, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether any filter is set.
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The start (UTC) of the day in a date field, in milliseconds since 1970.
    ///
    /// # Errors
    /// 400 if the field is not a date.
    pub fn day(&self, name: &str) -> Result<Option<i64>, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let day = text.parse::<Date>().ok();
        let at = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        let wrong = || Problem::validation(vec![format!("{name} - must be a day such as 2026-11-21")]);
        Ok(Some(at.ok_or_else(wrong)?.timestamp().as_millisecond()))
    }

    /// An address with these filters and further parameters.
    pub fn address(&self, path: &str, more: &[(&str, &str)]) -> String {
        let fields = self.0.iter().map(|(name, value)| (*name, value.as_str()));
        let mut address = path.to_owned();
        for (number, (name, value)) in fields.chain(more.iter().copied()).enumerate() {
            address.push(if number == 0 { '?' } else { '&' });
            address.push_str(name);
            address.push('=');
            for byte in value.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                        address.push(char::from(byte));
                    }
                    byte => address.push_str(&format!("%{byte:02X}")),
                }
            }
        }
        address
    }
}

/// Formats a time (ms) as the value of a date field, in UTC.
pub fn day_text(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at)
        .map(|at| at.to_zoned(TimeZone::UTC).date().to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_go_along() {
        let filters = Filters::read(
            Some("route=%2Fv2%2F{id}&other=1&key=+&status=400"),
            &["route", "key", "status"],
        )
        .unwrap();
        assert_eq!(
            filters.address("/p", &[("before", "a b")]),
            "/p?route=%2Fv2%2F%7Bid%7D&status=400&before=a%20b"
        );
        assert_eq!(
            (filters.text("key"), filters.get("key"), filters.any()),
            ("", None, true)
        );
        assert_eq!(Filters::default().address("/p", &[]), "/p");
    }

    #[test]
    fn days_are_days() {
        let read = |text: &str| {
            Filters::read(Some(&format!("from={text}")), &["from"])
                .unwrap()
                .day("from")
        };
        assert_eq!(read("1970-01-02").unwrap(), Some(DAY_MS));
        assert_eq!(read("").unwrap(), None);
        for wrong in ["yesterday", "2026-13-01", "99999-01-01"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(day_text(DAY_MS), "1970-01-02");
    }
}
