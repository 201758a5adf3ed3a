//! Fills the templates of `web/verify` (`page.html`, `refused.html`). It escapes every text; only HTML built by this program is
//! inserted as it is. It reads no file.
//!
//! Placeholders: `{{name}}`, `{{t:KEY}}` (a text in the visitor's language), and `{{asset:PATH}}` (the
//! versioned address of a file of `web/`).

use std::fmt::Write;

/// The value of a placeholder.
pub enum Value {
    /// Text, which is escaped.
    Text(String),
    /// HTML built by this program, inserted as it is.
    Html(String),
}

/// Replaces every placeholder in the template with its value. A placeholder without a value is removed.
pub fn render(template: &str, value: impl Fn(&str) -> Option<Value>) -> String {
    let mut page = String::with_capacity(template.len() * 4);
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, after)) = from.split_once("}}") else {
            page.push_str("{{");
            rest = from;
            continue;
        };
        match value(name) {
            Some(Value::Text(text)) => page.push_str(&escape(&text)),
            Some(Value::Html(html)) => page.push_str(&html),
            None => {}
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

/// Escapes text for HTML, between tags or in quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Serialises JSON for a `<script>` element. No text in it can end the element, and line terminators of older
/// JavaScript are escaped.
pub fn script_json(value: &serde_json::Value) -> String {
    let mut escaped = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(character));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let page = render(
            "<p title=\"{{name}}\">{{name}}{{unknown}}{{html}}</p>{{open",
            |name| match name {
                "name" => Some(Value::Text("<script>'\"&{{html}}".into())),
                "html" => Some(Value::Html("<b>".into())),
                _ => None,
            },
        );
        let name = "&lt;script&gt;&#39;&quot;&amp;{{html}}";
        assert_eq!(page, format!("<p title=\"{name}\">{name}<b></p>{{{{open"));
    }

    #[test]
    fn json_cannot_end_its_element() {
        let value = serde_json::json!({"a": "</script><!--\u{2028}&"});
        let text = script_json(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
