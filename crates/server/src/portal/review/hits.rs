//! Sanctions hits as a reviewer reads them: what each feature adds, in words and numbers, and where the listing is published.

use serde_json::Value;
use store::suppressions::Suppression;

use crate::app::suppressions::covers;

/// One hit.
pub struct Hit {
    /// The entry's id in its list.
    pub id: String,
    /// The name to show.
    pub caption: String,
    /// What it is: `Person`, …
    pub schema: String,
    /// 0–1, as written.
    pub score: String,
    /// The lists.
    pub datasets: Vec<Dataset>,
    /// Why it is listed, and the authority's programmes.
    pub about: Vec<String>,
    /// What the score is made of.
    pub features: Vec<Feature>,
    /// It was found not to mean this person.
    pub suppressed: bool,
}

/// A list that has the entry.
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// Where the entry, or the list, is published.
    pub address: Option<String>,
}

/// A part of the score.
pub struct Feature {
    /// Its name.
    pub name: String,
    /// What it adds, signed; a main feature's own score.
    pub score: String,
    /// What was submitted.
    pub query: String,
    /// What the list says.
    pub candidate: String,
    /// Which words stood for which, and how alike they are.
    pub tokens: Vec<(String, String, String)>,
}

/// Hits as answered, with what is known not to mean the person.
pub fn hits(found: &[Value], known: &[Suppression]) -> Vec<Hit> {
    found.iter().map(|hit| read(hit, known)).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .map_or_else(Vec::new, |items| items.iter().map(text).collect())
}

fn number(value: &Value) -> String {
    value
        .as_f64()
        .map_or_else(String::new, |number| format!("{number:.2}"))
}

fn read(hit: &Value, known: &[Suppression]) -> Hit {
    let id = text(&hit["id"]);
    let explanation = hit["explanation"].as_array().map_or(&[][..], Vec::as_slice);
    Hit {
        datasets: texts(&hit["datasets"])
            .into_iter()
            .map(|name| Dataset {
                address: published(&name, &id),
                name,
            })
            .collect(),
        caption: text(&hit["caption"]),
        schema: text(&hit["schema"]),
        score: number(&hit["score"]),
        about: texts(&hit["topics"])
            .into_iter()
            .chain(texts(&hit["programs"]))
            .collect(),
        features: explanation.iter().map(feature).collect(),
        suppressed: covers(known, hit),
        id,
    }
}

fn feature(part: &Value) -> Feature {
    let tokens = part["tokens"].as_array().map_or(&[][..], Vec::as_slice);
    Feature {
        name: text(&part["feature"]),
        score: part["score"]
            .as_f64()
            .map_or_else(String::new, |score| format!("{score:+.2}")),
        query: text(&part["query"]),
        candidate: text(&part["candidate"]),
        tokens: tokens
            .iter()
            .map(|token| {
                (
                    text(&token["query"]),
                    text(&token["candidate"]),
                    number(&token["similarity"]),
                )
            })
            .collect(),
    }
}

/// Where an authority publishes an entry, or its list. Nothing of the applicant is in the address.
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
    // OpenSanctions names datasets so, and has a page for each.
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

    #[test]
    fn a_hit_is_explained() {
        let hit = json!({"id": "ofac-36", "caption": "X", "schema": "Person", "score": 0.8124, "datasets": ["us_ofac_sdn"],
            "topics": ["sanction"], "programs": ["CUBA"], "explanation": [{"feature": "birth_date", "score": -0.15,
            "query": "1990", "candidate": "1950", "tokens": [{"query": "a", "candidate": "b", "similarity": 0.5}]}]});
        let read = &hits(&[hit], &[])[0];
        assert_eq!((read.score.as_str(), read.suppressed), ("0.81", false));
        assert_eq!(read.about, ["sanction", "CUBA"]);
        assert_eq!(read.features[0].score, "-0.15");
        assert_eq!(
            read.datasets[0].address.as_deref(),
            Some("https://sanctionssearch.ofac.treas.gov/Details.aspx?id=36")
        );
        let odd = &hits(
            &[json!({"datasets": ["demo", "eu_fsf\"><x"], "id": "ofac-1x"})],
            &[],
        )[0];
        assert_eq!(odd.datasets[0].address, None);
        assert_eq!(
            odd.datasets[1].address.as_deref(),
            Some("https://www.opensanctions.org/datasets/eu_fsfx/")
        );
    }
}
