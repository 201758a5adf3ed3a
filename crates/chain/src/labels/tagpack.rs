//! Parses GraphSense TagPacks (<https://github.com/graphsense/graphsense-tagpacks>): YAML with a header whose
//! fields each tag inherits.

use serde::Deserialize;

use super::rows::{ImportError, LabelImport, Raw};
use super::taxonomy;

/// The header and the tags. Labels do not need the other fields.
#[derive(Deserialize)]
struct Pack {
    title: Option<String>,
    label: Option<String>,
    #[serde(alias = "network")]
    currency: Option<String>,
    category: Option<String>,
    abuse: Option<String>,
    #[serde(default)]
    concepts: Vec<String>,
    source: Option<String>,
    confidence: Option<String>,
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    address: Option<String>,
    label: Option<String>,
    #[serde(alias = "network")]
    currency: Option<String>,
    category: Option<String>,
    abuse: Option<String>,
    #[serde(default)]
    concepts: Vec<String>,
    source: Option<String>,
    confidence: Option<String>,
}

pub(super) fn read(text: &str) -> Result<LabelImport, ImportError> {
    let options = serde_saphyr::options! {
        // The largest public pack has 3 million scalars. Anchors and depth can inflate YAML, so their limits
        // remain the defaults.
        budget: serde_saphyr::budget! {
            max_events: 40_000_000,
            max_nodes: 20_000_000,
            max_total_scalar_bytes: 512 * 1024 * 1024,
        },
        // An error must not quote the file.
        with_snippet: false,
    };
    let pack: Pack = serde_saphyr::from_str_with_options(text, options)
        .map_err(|_| ImportError::Form("not a TagPack: `tags:` and their fields cannot be read".into()))?;
    let mut imported = LabelImport::default();
    for (row, tag) in (1..).zip(&pack.tags) {
        let Some(address) = &tag.address else {
            imported.reject(row, "no address");
            continue;
        };
        let own = |tag: &'_ Option<String>, pack: &'_ Option<String>| tag.clone().or_else(|| pack.clone());
        let label = own(&tag.label, &pack.label)
            .or_else(|| pack.title.clone())
            .unwrap_or_default();
        let (category, abuse) = (own(&tag.category, &pack.category), own(&tag.abuse, &pack.abuse));
        let concepts = if tag.concepts.is_empty() {
            &pack.concepts
        } else {
            &tag.concepts
        };
        let confidence = own(&tag.confidence, &pack.confidence);
        imported.accept(
            row,
            &Raw {
                chain: &own(&tag.currency, &pack.currency).unwrap_or_default(),
                address,
                name: &label,
                words: category
                    .iter()
                    .chain(&abuse)
                    .chain(concepts)
                    .map(String::as_str)
                    .collect(),
                source: &own(&tag.source, &pack.source)
                    .or_else(|| pack.title.clone())
                    .unwrap_or_default(),
                confidence: Some(
                    confidence
                        .as_deref()
                        .map_or(taxonomy::UNKNOWN_ORIGIN, taxonomy::confidence),
                ),
                valid_from: None,
                valid_to: None,
            },
        );
    }
    Ok(imported)
}
