//! Sanctions hits for the reviewer who must decide whether a listing means the person. Each shows the listing
//! next to the person's data, the score by feature, and where the listing is published. It never evaluates a
//! hit itself.

use std::collections::BTreeMap;

use reference::{country, icao, normalise_name};
use service::applicant_view::View;
use service::suppressions::covers;
use service::{dispositions, stored_hits};
use store::suppressions::Suppression;
use verification::hits::Disposition;
use verification::screening::{Explanation, ScreeningHit, TokenMatch};

use super::fields::iso_date;
use crate::page::Page;

/// A screening hit.
pub struct Hit {
    /// The entry's id in its list.
    pub id: String,
    /// The name to show.
    pub caption: String,
    /// The kind of entity: `Person`, …
    pub schema: String,
    /// The score, 0–1, with two decimals.
    pub score: String,
    /// The lists that contain the entry.
    pub datasets: Vec<Dataset>,
    /// Why it is listed: `sanction`, …
    pub topics: Vec<String>,
    /// The sanctions programmes.
    pub programs: Vec<String>,
    /// The person's names that matched, and where each comes from, as in the texts `review.name_source.…`.
    pub found_by: Vec<(&'static str, String)>,
    /// The person's data next to the listing's.
    pub lines: Vec<ComparisonLine>,
    /// The list's remarks, verbatim.
    pub remarks: Vec<String>,
    /// Whether a reviewer found that it does not mean this person.
    pub suppressed: bool,
    /// A reviewer's disposition of it.
    pub disposition: Option<HitDisposition>,
}

/// A reviewer's disposition of a hit.
pub struct HitDisposition {
    /// The disposition.
    pub disposition: Disposition,
    /// The reason.
    pub reason: String,
    /// The reviewer's name.
    pub who: String,
    /// When (ms).
    pub at: i64,
}

impl Hit {
    /// Adds the current disposition.
    pub fn concluded(mut self, view: &View) -> Self {
        self.disposition = dispositions::latest(&view.concluded, &self.id).map(|known| HitDisposition {
            disposition: known.disposition,
            reason: known.reason.clone(),
            who: view.name_of(&known.actor),
            at: known.at,
        });
        self
    }
}

/// A list that contains the entry.
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// The version that was searched; empty if unknown.
    pub version: String,
    /// Where the entry or its list is published.
    pub address: Option<String>,
}

/// One kind of data about the person, the listing, or both.
#[derive(Debug, PartialEq, Eq)]
pub struct ComparisonLine {
    /// Its key in the texts `review.about.…`.
    pub what: &'static str,
    /// The person's values.
    pub own: Vec<String>,
    /// The listing's values.
    pub listed: Vec<String>,
    /// What it adds to the score: features, as in the texts `review.feature.…`, with their signed points. Those of a profile
    /// have no sign and add nothing.
    pub points: Vec<(String, String)>,
    /// The pairs of name tokens that matched, and their similarity.
    pub tokens: Vec<(String, String, String)>,
}

/// The data about the screened person.
#[derive(Clone, Debug, Default)]
pub struct PersonDetails {
    /// Full names.
    pub names: Vec<String>,
    /// Dates of birth, `YYYY-MM-DD`.
    pub birth_dates: Vec<String>,
    /// Codes or names of countries.
    pub nationalities: Vec<String>,
    /// Codes or names of countries.
    pub countries: Vec<String>,
    /// `M`, `male`, …
    pub genders: Vec<String>,
    /// Document numbers.
    pub identifiers: Vec<String>,
}

impl PersonDetails {
    /// The data that an applicant submitted, and the data on their documents.
    pub fn of(page: &Page, view: &View) -> PersonDetails {
        let request = |field: &str| view.request.get(field).filter(|text| !text.trim().is_empty());
        let joined = |parts: [Option<&String>; 3]| {
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            parts.join(" ")
        };
        let mut known = PersonDetails::default();
        let names = [request("firstName"), request("middleName"), request("lastName")];
        add(&mut known.names, joined(names));
        add(
            &mut known.birth_dates,
            request("dob").map(|dob| iso_date(dob)).unwrap_or_default(),
        );
        add(
            &mut known.nationalities,
            request("nationality").cloned().unwrap_or_default(),
        );
        add(
            &mut known.countries,
            request("country").cloned().unwrap_or_default(),
        );
        for document in &view.detail.seen.documents {
            let kind = page.word("review.document", &document.document_type);
            for said in [&document.mrz, &document.barcode, &document.visual] {
                let value = |field: &str| said.get(field).cloned().unwrap_or_default();
                add(
                    &mut known.names,
                    joined([said.get("firstName"), None, said.get("lastName")]),
                );
                add(&mut known.birth_dates, value("birthDate"));
                add(&mut known.nationalities, value("nationality"));
                add(&mut known.genders, value("sex"));
                if let Some(number) = said.get("documentNumber") {
                    add(&mut known.identifiers, format!("{kind} {number}"));
                }
            }
        }
        known
    }
}

/// Adds a value unless the list already contains an equivalent one.
fn add(values: &mut Vec<String>, value: String) {
    let same =
        |a: &str, b: &str| normalise_name(a) == normalise_name(b) || country_name(a) == country_name(b);
    if !value.is_empty() && !values.iter().any(|known| same(known, &value)) {
        values.push(value);
    }
}

/// The listing's properties, the score's features and the person's data that share one line.
struct LineKind {
    what: &'static str,
    properties: &'static [&'static str],
    features: &'static [&'static str],
    own: fn(&PersonDetails) -> Vec<String>,
}

const KINDS: [LineKind; 8] = [
    LineKind {
        what: "name",
        properties: &["name"],
        features: &["name_match", "strict_match", "ofac_match", "common_name"],
        own: |known| known.names.clone(),
    },
    LineKind {
        what: "aliases",
        properties: &["alias"],
        features: &[],
        own: |_| Vec::new(),
    },
    LineKind {
        what: "weak_aliases",
        properties: &["weakAlias"],
        features: &["weak_alias_match"],
        own: |_| Vec::new(),
    },
    LineKind {
        what: "birth_date",
        properties: &["birthDate"],
        features: &[
            "birth_date_match",
            "birth_day_swapped",
            "birth_day_disjoint",
            "birth_year_match",
            "birth_year_disjoint",
        ],
        own: |known| known.birth_dates.clone(),
    },
    LineKind {
        what: "nationality",
        properties: &["nationality"],
        features: &[],
        own: |known| known.nationalities.clone(),
    },
    LineKind {
        what: "country",
        properties: &["country"],
        features: &["country_mismatch"],
        own: |known| known.countries.clone(),
    },
    LineKind {
        what: "gender",
        properties: &["gender"],
        features: &["gender_mismatch"],
        own: |known| known.genders.clone(),
    },
    LineKind {
        what: "identifiers",
        properties: &IDENTIFIERS,
        features: &[
            "identifier_match",
            "wallet_match",
            "isin_match",
            "lei_match",
            "inn_match",
            "ogrn_match",
            "imo_match",
            "bic_match",
        ],
        own: |known| known.identifiers.clone(),
    },
];

const IDENTIFIERS: [&str; 12] = [
    "passportNumber",
    "idNumber",
    "taxNumber",
    "registrationNumber",
    "leiCode",
    "isin",
    "swiftBic",
    "imoNumber",
    "innCode",
    "ogrnCode",
    "identifier",
    "publicKey",
];

/// Prepares hits for display next to the person's data. `set_aside` are the person's suppressions, `versions`
/// the versions of the lists.
pub fn hits(
    page: &Page,
    found: &[ScreeningHit],
    known: &PersonDetails,
    set_aside: &[Suppression],
    versions: &BTreeMap<String, String>,
) -> Vec<Hit> {
    let read = |(hit, reference): (&ScreeningHit, String)| Hit {
        id: reference,
        caption: hit.caption.clone(),
        schema: hit.schema.clone(),
        score: format!("{:.2}", hit.score),
        datasets: hit
            .datasets
            .iter()
            .map(|name| Dataset {
                name: name.clone(),
                version: versions.get(name).cloned().unwrap_or_default(),
                address: published(name, &hit.id),
            })
            .collect(),
        topics: hit.topics().to_vec(),
        programs: hit.programs.clone().unwrap_or_default(),
        found_by: hit
            .matched_names
            .iter()
            .map(|name| (name.source.as_str(), name.name.clone()))
            .collect(),
        lines: lines(page, hit, known),
        remarks: hit.property("notes").to_vec(),
        suppressed: covers(set_aside, hit),
        disposition: None,
    };
    let references = stored_hits::references(found);
    found.iter().zip(references).map(read).collect()
}

/// All data of the person and the listing, line by line. Lines without data are omitted.
fn lines(page: &Page, hit: &ScreeningHit, known: &PersonDetails) -> Vec<ComparisonLine> {
    let parts = hit.explanation.as_deref().unwrap_or_default();
    let line = |kind: &LineKind| {
        let parts: Vec<&Explanation> = parts
            .iter()
            .filter(|part| kind.features.contains(&part.feature.as_str()))
            .collect();
        let numbered = kind.properties.len() > 1;
        let of_property = |property: &&str| {
            let values = hit.property(property).iter();
            let kind = numbered.then(|| page.word("review.identifier", property));
            values.map(move |value| match &kind {
                Some(kind) => format!("{kind} {value}"),
                None => value.clone(),
            })
        };
        let mut listed: Vec<String> = kind.properties.iter().flat_map(of_property).collect();
        let mut own = (kind.own)(known);
        // Hits stored before properties were recorded show at least the compared values.
        for part in &parts {
            for (values, side) in [(&mut own, &part.query), (&mut listed, &part.candidate)] {
                if values.is_empty() {
                    values.push(side.clone());
                }
            }
        }
        for value in own.iter_mut().chain(&mut listed) {
            match kind.what {
                "nationality" | "country" => *value = country_name(value),
                "gender" => *value = gender(page, value),
                _ => {}
            }
        }
        own.dedup();
        listed.dedup();
        (!own.is_empty() || !listed.is_empty()).then(|| ComparisonLine {
            what: kind.what,
            own,
            listed,
            points: parts.iter().map(|part| points(part)).collect(),
            tokens: parts.iter().flat_map(|part| tokens(part)).collect(),
        })
    };
    KINDS.iter().filter_map(line).collect()
}

fn points(part: &Explanation) -> (String, String) {
    // These two add nothing to the score; they say why a profile added the hit.
    let points = match part.feature.as_str() {
        "strict_match" => format!("{:.2}", part.score),
        "ofac_match" => format!("{:.0}", part.score * 100.0),
        _ => format!("{:+.2}", part.score),
    };
    (part.feature.clone(), points)
}

fn tokens(part: &Explanation) -> Vec<(String, String, String)> {
    let read = |token: &TokenMatch| {
        let alike = format!("{:.2}", token.similarity);
        (token.query.clone(), token.candidate.clone(), alike)
    };
    part.tokens.iter().map(read).collect()
}

/// A country's name for any of its codes, including those of machine-readable zones. Other text remains
/// unchanged.
pub fn country_name(code: &str) -> String {
    let upper = code.trim().to_ascii_uppercase();
    let issuer = icao::issuer(&upper).map(|issuer| issuer.name);
    let name = country(&upper).map(|country| country.name).or(issuer);
    name.unwrap_or(code).to_owned()
}

/// Lists contain `male`, documents `M`.
fn gender(page: &Page, text: &str) -> String {
    let initial: String = text.chars().take(1).collect();
    page.word("review.gender", &initial.to_ascii_uppercase())
}

/// Where an authority publishes an entry or its list. The address contains nothing about the applicant.
fn published(dataset: &str, id: &str) -> Option<String> {
    let ofac = id
        .strip_prefix("ofac-")
        .filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    if let Some(number) = ofac.filter(|number| !number.is_empty()) {
        return Some(format!(
            "https://sanctionssearch.ofac.treas.gov/Details.aspx?id={number}"
        ));
    }
    if dataset.starts_with("un_sc") {
        return Some("https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list".into());
    }
    let known = ["us_", "eu_", "gb_", "ch_", "ca_", "au_", "fr_", "un_"];
    // OpenSanctions uses these prefixes for its datasets, and publishes a page for each.
    known
        .iter()
        .any(|prefix| dataset.starts_with(prefix))
        .then(|| {
            dataset
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect::<String>()
        })
        .map(|dataset| format!("https://www.opensanctions.org/datasets/{dataset}/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page() -> Page {
        Page::of(&axum::http::Request::new(()).into_parts().0)
    }

    fn read(hit: serde_json::Value, known: &PersonDetails) -> Hit {
        let hit: ScreeningHit = serde_json::from_value(hit).unwrap();
        let versions = BTreeMap::from([("us_ofac_sdn".to_owned(), "2026-01-05".to_owned())]);
        let mut hits = hits(&page(), &[hit], known, &[], &versions);
        hits.remove(0)
    }

    #[test]
    fn a_listing_stands_beside_the_person_compared_or_not() {
        let hit = json!({"id": "ofac-36", "caption": "X", "schema": "Person", "score": 0.8124, "match": true,
            "datasets": ["us_ofac_sdn"], "topics": ["sanction"], "programs": ["CUBA"],
            "properties": {"name": ["QUILL, Ada"], "alias": ["A. Q.", "Lovelace"], "birthDate": ["1950"], "nationality": ["cu"],
                "gender": ["female"], "passportNumber": ["K1"], "notes": ["Owns a lantern."]},
            "explanation": [
                {"feature": "name_match", "score": 0.9, "query": "ada quill", "candidate": "quill ada",
                    "tokens": [{"query": "ada", "candidate": "ada", "similarity": 1.0}]},
                {"feature": "birth_year_disjoint", "score": -0.35, "query": "1990-02-03", "candidate": "1950"}]});
        let known = PersonDetails {
            names: vec!["Ada Quill".into()],
            birth_dates: vec!["1990-02-03".into()],
            nationalities: vec!["D".into(), "UTO".into()],
            genders: vec!["F".into()],
            ..PersonDetails::default()
        };
        let hit = read(hit, &known);
        assert_eq!((hit.score.as_str(), hit.suppressed), ("0.81", false));
        assert_eq!(
            (hit.topics, hit.programs),
            (vec!["sanction".to_owned()], vec!["CUBA".to_owned()])
        );
        assert_eq!(hit.remarks, ["Owns a lantern."]);
        assert_eq!(hit.datasets[0].version, "2026-01-05");
        let address = "https://sanctionssearch.ofac.treas.gov/Details.aspx?id=36";
        assert_eq!(hit.datasets[0].address.as_deref(), Some(address));
        let sides = |what: &str| {
            let line = hit.lines.iter().find(|line| line.what == what)?;
            Some((line.own.join("; "), line.listed.join("; ")))
        };
        for (what, own, listed) in [
            ("name", "Ada Quill", "QUILL, Ada"),
            ("aliases", "", "A. Q.; Lovelace"),
            ("birth_date", "1990-02-03", "1950"),
            ("nationality", "Germany; Utopia", "Cuba"),
            ("gender", "Female", "Female"),
            ("identifiers", "", "Passport K1"),
        ] {
            assert_eq!(sides(what), Some((own.to_owned(), listed.to_owned())), "{what}");
        }
        assert_eq!(sides("country"), None, "nobody says anything about it");
        assert_eq!(hit.lines[0].tokens.len(), 1);
        let born = hit.lines.iter().find(|line| line.what == "birth_date").unwrap();
        assert_eq!(
            born.points,
            [("birth_year_disjoint".to_owned(), "-0.35".to_owned())]
        );
    }

    #[test]
    fn hits_of_older_attempts_show_what_was_compared() {
        let hit = json!({"id": "x", "caption": "X", "schema": "Person", "score": 0.8, "match": true, "datasets": [], "explanation": [
            {"feature": "country_mismatch", "score": -0.2, "query": "de", "candidate": "cu"}]});
        let hit = read(hit, &PersonDetails::default());
        assert_eq!(hit.lines.len(), 1);
        assert_eq!(
            (hit.lines[0].own[0].as_str(), hit.lines[0].listed[0].as_str()),
            ("Germany", "Cuba")
        );
    }

    #[test]
    fn odd_datasets_lead_nowhere_odd() {
        let odd = read(
            json!({"id": "ofac-1x", "caption": "X", "schema": "Person", "score": 0.8, "match": true,
                "datasets": ["demo", "eu_fsf\"><x"]}),
            &PersonDetails::default(),
        );
        assert_eq!(odd.datasets[0].address, None);
        assert_eq!(
            odd.datasets[1].address.as_deref(),
            Some("https://www.opensanctions.org/datasets/eu_fsfx/")
        );
    }
}
