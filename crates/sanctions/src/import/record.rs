//! Reads the records of an XML list one at a time as trees, and counts what a reader made of each element and attribute.
//!
//! A list may have gigabytes: only one record is in memory. A record that no list has, with megabytes of text or hundreds
//! of thousands of elements, is damage. This module knows no list's format.

use std::cell::Cell;
use std::io::BufRead;

use super::input::{MAX_RECORD, Tally};
use super::list::{ImportError, Use};
use super::xml::{Step, Walker};

/// Maximum number of elements and attributes of a record.
const MAX_VALUES: usize = 200_000;

/// An element with everything in it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Element {
    /// Its local name.
    pub(super) name: String,
    text: Value,
    attributes: Vec<(String, Value)>,
    children: Vec<Element>,
}

/// A text, and what a reader made of it.
#[derive(Debug, Default, PartialEq)]
struct Value {
    text: String,
    used: Cell<Use>,
}

impl Value {
    /// Line breaks and repeated spaces, which lists have inside values, become one space.
    fn of(text: &str) -> Value {
        Value {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            used: Cell::default(),
        }
    }

    fn take(&self, used: Use) -> &str {
        self.used.set(self.used.get().max(used));
        &self.text
    }
}

impl Element {
    /// An element with a text, for lists that are tables of what their publisher also has as XML.
    pub(super) fn with_text(name: &str, text: &str) -> Element {
        Element {
            name: name.to_owned(),
            text: Value::of(text),
            ..Element::default()
        }
    }

    /// Adds an attribute.
    pub(super) fn add_attribute(&mut self, name: &str, value: &str) {
        self.attributes.push((name.to_owned(), Value::of(value)));
    }

    /// Adds a child, unless the last child of its name is the same.
    pub(super) fn add_child(&mut self, child: Element) {
        let last = self.children.iter().rev().find(|last| last.name == child.name);
        if last != Some(&child) {
            self.children.push(child);
        }
    }

    /// The number of its children.
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The children of a name, in the order of the file.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of a name.
    pub(super) fn first(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All elements of a name in this one, at any depth.
    pub(super) fn within<'a>(&'a self, name: &str) -> Vec<&'a Element> {
        let mut found = Vec::new();
        let mut open: Vec<&Element> = self.children.iter().rev().collect();
        while let Some(next) = open.pop() {
            if next.name == name {
                found.push(next);
            }
            open.extend(next.children.iter().rev());
        }
        found
    }

    /// Its text; empty if it has children.
    pub(super) fn text(&self, used: Use) -> &str {
        self.text.take(used)
    }

    /// The text of the first child of a name; empty without one.
    pub(super) fn child(&self, name: &str, used: Use) -> &str {
        self.first(name).map_or("", |child| child.text(used))
    }

    /// An attribute; empty without one.
    pub(super) fn attribute(&self, name: &str, used: Use) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.take(used))
    }

    /// Counts its values by name and use.
    fn count(&self, tally: &mut Tally) {
        self.each_value("", &mut |_, element, attribute, value, used| {
            tally.value(element, attribute, value, used);
        });
    }

    /// Calls `each` with every value in it: the names of the parent, the element and the attribute (empty for a text),
    /// the value, and what a reader made of it.
    pub(super) fn each_value(&self, parent: &str, each: &mut impl FnMut(&str, &str, &str, &str, Use)) {
        each(parent, &self.name, "", &self.text.text, self.text.used.get());
        for (name, value) in &self.attributes {
            each(parent, &self.name, name, &value.text, value.used.get());
        }
        for child in &self.children {
            child.each_value(&self.name, each);
        }
    }
}

/// Calls `each` with every element of the names in `wanted` that is in no other such element, and afterwards counts what
/// it made of them. Returns the root without what is in it.
pub(super) fn read(
    name: &str,
    input: impl BufRead,
    tally: &mut Tally,
    wanted: &[&str],
    mut each: impl FnMut(&Element, &mut Tally),
) -> Result<Element, ImportError> {
    let mut walker = Walker::new(input);
    let mut root = Element::default();
    let mut open: Vec<Element> = Vec::new();
    let mut size = (0, 0);
    loop {
        if size.0 > MAX_RECORD || size.1 > MAX_VALUES {
            return Err(tally.damaged(name, "a record of megabytes".into()));
        }
        match walker.step().map_err(|reason| tally.damaged(name, reason))? {
            Step::End => return Ok(root),
            Step::Open if root.name.is_empty() => root = opened(&walker),
            Step::Open if !open.is_empty() || wanted.contains(&walker.name.as_str()) => {
                let element = opened(&walker);
                let text = element
                    .attributes
                    .iter()
                    .map(|(name, value)| name.len() + value.text.len());
                size = (
                    size.0 + text.sum::<usize>(),
                    size.1 + 1 + element.attributes.len(),
                );
                open.push(element);
            }
            Step::Open => {}
            Step::Close => {
                let Some(mut element) = open.pop() else { continue };
                // After a child, the walker has the child's text.
                if element.children.is_empty() {
                    element.text = Value::of(&walker.text);
                    size.0 += walker.text.len();
                }
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => {
                        each(&element, tally);
                        element.count(tally);
                        size = (0, 0);
                    }
                }
            }
        }
    }
}

fn opened<R: BufRead>(walker: &Walker<R>) -> Element {
    let attributes = walker.attributes.iter();
    Element {
        name: walker.name.clone(),
        attributes: attributes
            .map(|(name, value)| (name.clone(), Value::of(value)))
            .collect(),
        ..Element::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "<list date='2026-01-02'><skipped>x</skipped><party id='1'><name>Ana\n  B</name><b>B</b><note/>\
        <name>Anna</name></party><party id='2'><party id='3'/></party></list>";

    #[test]
    fn records_are_trees_and_their_values_are_counted() {
        let mut tally = Tally::default();
        let mut found = Vec::new();
        let root = read("x", LIST.as_bytes(), &mut tally, &["party"], |party, _| {
            let names: Vec<&str> = party.all("name").map(|name| name.text(Use::Compared)).collect();
            found.push((
                party.attribute("id", Use::Kept).to_owned(),
                names.join("|"),
                party.within("b").len(),
            ));
        });
        assert_eq!(root.unwrap().attribute("date", Use::Kept), "2026-01-02");
        assert_eq!(
            found,
            [
                ("1".to_owned(), "Ana B|Anna".to_owned(), 1),
                ("2".to_owned(), String::new(), 0),
            ]
        );
        let values = tally.values();
        let counted: Vec<(&str, Use, u64)> = values
            .iter()
            .map(|value| (value.name.as_str(), value.used, value.count))
            .collect();
        assert_eq!(
            counted,
            [
                ("b", Use::Unused, 1),
                ("name", Use::Compared, 2),
                ("party@id", Use::Unused, 1),
                ("party@id", Use::Kept, 2),
            ]
        );
    }

    #[test]
    fn huge_records_are_damage() {
        let many = format!("<list><party>{}</party></list>", "<a/>".repeat(MAX_VALUES + 1));
        let long = format!(
            "<list><party>{}</party></list>",
            "<a>0123456789</a>".repeat(MAX_RECORD / 10 + 1)
        );
        for text in [many, long] {
            let result = read("x", text.as_bytes(), &mut Tally::default(), &["party"], |_, _| {});
            assert!(matches!(result, Err(ImportError::Damaged { .. })));
        }
    }
}
