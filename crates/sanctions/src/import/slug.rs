//! Makes ids for lists whose entries have none. It reads nothing.

/// Letters and digits in lower case, with a hyphen for everything else.
pub(super) fn slug(parts: &[&str]) -> String {
    let words = parts
        .iter()
        .flat_map(|part| part.split(|c: char| !c.is_alphanumeric()));
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}
