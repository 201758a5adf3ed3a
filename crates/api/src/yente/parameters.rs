//! Reads the query parameters of yente's API as FastAPI does: a list is a repeated parameter, the last value of any
//! other parameter counts, and unknown parameters are ignored. It decides no default of a search.

use http_server::query;
use sanctions::entity::Schema;
use service::problem::Problem;
use service::yente::filters::Filters;

/// The most ids that `exclude_entity_ids` takes.
const MAX_EXCLUDED: usize = 50;
/// The most values of all parameters together.
const MAX_VALUES: usize = 500;

/// The sent parameters, and their faults so far.
#[derive(Debug, Default)]
pub struct Parameters {
    sent: Vec<(String, String)>,
    faults: Vec<String>,
}

impl Parameters {
    /// Reads a query string.
    ///
    /// # Errors
    /// 422 if it is not valid UTF-8 or too long.
    pub fn read(raw: Option<&str>) -> Result<Parameters, Problem> {
        let sent = query::pairs(raw.unwrap_or_default())?;
        if sent.len() > MAX_VALUES {
            let fault = format!("query - has more than {MAX_VALUES} parameters; send fewer");
            return Err(Problem::validation(vec![fault]));
        }
        Ok(Parameters {
            sent,
            faults: Vec::new(),
        })
    }

    /// Reports all faults.
    ///
    /// # Errors
    /// 422 if there are any.
    pub fn finish(self) -> Result<(), Problem> {
        match self.faults.is_empty() {
            true => Ok(()),
            false => Err(Problem::validation(self.faults)),
        }
    }

    /// All values of a list. Blank ones do not count.
    pub fn list(&self, name: &str) -> Vec<String> {
        let of_name = self
            .sent
            .iter()
            .filter(|(sent, value)| sent == name && !value.trim().is_empty());
        of_name.map(|(_, value)| value.trim().to_owned()).collect()
    }

    /// The last value.
    pub fn last(&self, name: &str) -> Option<&str> {
        let sent = self.sent.iter().rev().find(|(sent, _)| sent == name);
        sent.map(|(_, value)| value.as_str())
    }

    fn fault(&mut self, name: &str, text: impl std::fmt::Display) {
        self.faults.push(format!("query.{name} - {text}"));
    }

    /// A whole number from 0 to a maximum. A negative one counts as 0, as in yente.
    pub fn integer(&mut self, name: &str, default: usize, most: usize) -> usize {
        let Some(text) = self.last(name) else {
            return default;
        };
        match text
            .trim()
            .parse::<i64>()
            .map(|number| usize::try_from(number).unwrap_or(0))
        {
            Ok(number) if number <= most => number,
            _ => {
                self.fault(name, format_args!("must be a whole number of at most {most}"));
                default
            }
        }
    }

    /// A number; `None` if it was not sent.
    pub fn number(&mut self, name: &str) -> Option<f64> {
        let text = self.last(name)?;
        let number = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        if number.is_none() {
            self.fault(name, "must be a number, such as 0.7");
        }
        number
    }

    /// A Boolean; `None` if it was not sent.
    pub fn boolean(&mut self, name: &str) -> Option<bool> {
        let text = self.last(name)?.trim().to_ascii_lowercase();
        match text.as_str() {
            "true" | "1" | "yes" | "y" | "on" | "t" => Some(true),
            "false" | "0" | "no" | "n" | "off" | "f" => Some(false),
            _ => {
                self.fault(name, "must be true or false");
                None
            }
        }
    }

    /// One of these words; `None` if it was not sent.
    pub fn word<'a>(&mut self, name: &str, words: &[&'a str]) -> Option<&'a str> {
        let text = self.last(name)?;
        let word = words.iter().find(|word| **word == text).copied();
        if word.is_none() {
            self.fault(name, format_args!("must be one of {}", words.join(", ")));
        }
        word
    }

    /// All values of a list of these words.
    pub fn words<'a>(&mut self, name: &str, words: &[&'a str]) -> Vec<&'a str> {
        let mut found = Vec::new();
        let sent = self.sent.iter().filter(|(sent, _)| sent == name);
        for text in sent.map(|(_, value)| value.clone()).collect::<Vec<_>>() {
            match words.iter().find(|word| **word == text) {
                Some(word) if found.contains(word) => {}
                Some(word) => found.push(word),
                None => self.fault(name, format_args!("must be one of {}", words.join(", "))),
            }
        }
        found
    }

    /// The filters that a match and a search share.
    pub fn filters(&mut self) -> Filters {
        let changed_since = self.last("changed_since").map(|text| text.trim().to_owned());
        if changed_since.as_deref().is_some_and(|text| !is_time(text)) {
            self.fault(
                "changed_since",
                "must be YYYY-MM-DD, optionally followed by THH, THH:MM or THH:MM:SS",
            );
        }
        let exclude_ids = self.list("exclude_entity_ids");
        if exclude_ids.len() > MAX_EXCLUDED {
            self.fault(
                "exclude_entity_ids",
                format_args!("takes at most {MAX_EXCLUDED} ids"),
            );
        }
        let exclude_schema = self.list("exclude_schema");
        if !exclude_schema.iter().all(|name| is_schema_name(name)) {
            self.fault(
                "exclude_schema",
                "must be a FollowTheMoney schema, such as Company",
            );
        }
        Filters {
            include_dataset: self.list("include_dataset"),
            exclude_dataset: self.list("exclude_dataset"),
            exclude_schema,
            topics: self.list("topics"),
            exclude_ids,
            changed_since,
            ..Filters::default()
        }
    }

    /// The filters that only a search has, in addition to [`Parameters::filters`].
    ///
    /// # Errors
    /// 400 for an unknown schema or an unreadable filter.
    pub fn search_filters(&mut self) -> Result<Filters, Problem> {
        let schema = match self.last("schema") {
            None | Some("Thing") => None,
            Some(name) => {
                let text = "Invalid schema: use Person, Organization, Company, PublicBody, LegalEntity, Vessel, Airplane, CryptoWallet, Security or Thing";
                Some(Schema::from_ftm(name).ok_or_else(|| Problem::invalid(text))?)
            }
        };
        let mut properties: Vec<(String, Vec<String>)> = Vec::new();
        let (mut countries, mut topics, mut datasets) =
            (self.list("countries"), self.list("topics"), self.list("datasets"));
        for filter in self.list("filter") {
            let Some((name, value)) = filter.split_once(':') else {
                return Err(Problem::invalid(
                    "Invalid filter: use property:value, such as birthDate:1985",
                ));
            };
            match name {
                "countries" => countries.push(value.to_owned()),
                "topics" => topics.push(value.to_owned()),
                "datasets" => datasets.push(value.to_owned()),
                _ => {
                    let name = name.strip_prefix("properties.").unwrap_or(name);
                    match properties.iter_mut().find(|(known, _)| known == name) {
                        Some((_, values)) => values.push(value.to_owned()),
                        None => properties.push((name.to_owned(), vec![value.to_owned()])),
                    }
                }
            }
        }
        countries.iter_mut().for_each(|code| code.make_ascii_lowercase());
        Ok(Filters {
            schema,
            countries,
            topics,
            datasets,
            properties,
            target: self.boolean("target"),
            needs_all: self.word("filter_op", &["AND", "OR"]) == Some("AND"),
            ..self.filters()
        })
    }
}

/// Whether a text can be a schema of FollowTheMoney, which has more of them than lists do.
fn is_schema_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// yente's pattern of times: `YYYY-MM-DD`, also with `THH`, `THH:MM` or `THH:MM:SS`.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    [10, 13, 16, 19].contains(&text.len())
        && text.bytes().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> Parameters {
        Parameters::read(Some(raw)).unwrap()
    }

    #[test]
    fn values_are_read_as_yente_reads_them() {
        let mut parameters =
            read("limit=3&limit=-2&fuzzy=True&topics=sanction&topics=role.pep&topics=&threshold=.5&x=1");
        assert_eq!(parameters.integer("limit", 5, 500), 0);
        assert_eq!(parameters.integer("offset", 7, 500), 7);
        assert_eq!(parameters.boolean("fuzzy"), Some(true));
        assert_eq!(parameters.number("threshold"), Some(0.5));
        assert_eq!(parameters.list("topics"), ["sanction", "role.pep"]);
        assert!(parameters.finish().is_ok());
    }

    #[test]
    fn faults_name_the_parameter() {
        for (raw, part) in [
            ("limit=501", "query.limit - must be a whole number of at most 500"),
            ("limit=many", "query.limit"),
            ("limit=", "query.limit"),
            ("threshold=NaN", "query.threshold"),
            ("target=maybe", "query.target"),
            ("filter_op=XOR", "query.filter_op - must be one of AND, OR"),
            ("facets=colour", "query.facets"),
            ("facets=", "query.facets"),
            ("exclude_schema=-7.6", "query.exclude_schema"),
            (
                "exclude_schema=Person&exclude_schema=null",
                "query.exclude_schema",
            ),
            ("changed_since=yesterday", "query.changed_since"),
            ("changed_since=2026-01-01T1", "query.changed_since"),
        ] {
            let mut parameters = read(raw);
            parameters.integer("limit", 5, 500);
            parameters.number("threshold");
            parameters.words("facets", &["topics"]);
            parameters.search_filters().unwrap();
            let problem = parameters.finish().unwrap_err();
            assert!(
                problem.errors()[0].contains(part),
                "{raw}: {:?}",
                problem.errors()
            );
        }
        let many = "exclude_entity_ids=x&".repeat(51);
        let mut parameters = read(&many);
        parameters.filters();
        assert!(parameters.finish().is_err());
    }

    #[test]
    fn filters_of_a_search_are_read() {
        let raw = "schema=Person&countries=RU&filter=topics:sanction&filter=properties.birthDate:1985&filter=birthDate:1986\
            &filter_op=AND&changed_since=2026-01-01T10:00&exclude_dataset=eu_fsf";
        let filters = read(raw).search_filters().unwrap();
        let expected = Filters {
            schema: Some(Schema::Person),
            countries: vec!["ru".into()],
            topics: vec!["sanction".into()],
            properties: vec![("birthDate".into(), vec!["1985".into(), "1986".into()])],
            needs_all: true,
            changed_since: Some("2026-01-01T10:00".into()),
            exclude_dataset: vec!["eu_fsf".into()],
            ..Filters::default()
        };
        assert_eq!(filters, expected);
        for raw in ["schema=Banana", "filter=nocolon"] {
            assert_eq!(read(raw).search_filters().unwrap_err().errors().len(), 0, "{raw}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_query_string_is_read_or_refused(raw in "((limit|schema|filter|target|topics|changed_since)=\\PC{0,12}&?){0,5}") {
            if let Ok(mut parameters) = Parameters::read(Some(&raw)) {
                parameters.integer("limit", 5, 500);
                let _ = parameters.search_filters();
            }
        }
    }
}
