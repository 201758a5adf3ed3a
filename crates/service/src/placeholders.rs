//! Placeholders of texts. This module contains no text.

/// Replaces each `{name}` in a single pass, so that a value is never interpreted as a placeholder.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let known = values.iter().find_map(|(name, value)| {
            let after = from.strip_prefix('{')?.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, after))
        });
        match known {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_taken_for_placeholders() {
        let values = [("a", "{b}"), ("b", "B")];
        assert_eq!(fill("{a} {b} {c} {", &values), "{b} B {c} {");
        assert_eq!(fill("{{a}}", &values), "{{b}}");
    }
}
