//! The flow of money behind a score, as JSON (nodes and links) and as a Sankey diagram in SVG.
//!
//! It is drawn from traces alone: the money that was traced, where it was absorbed and what was left. The SVG
//! has a title, a description and readable text, no script and no external reference.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::category::Category;
use crate::profile::Profile;
use crate::screen::{Detail, Screen};
use crate::trace::{Direction, Trace};

/// The largest number of parties in a column; the smaller ones are merged into `others`.
const COLUMN: usize = 12;

/// A party in the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The name: an address, an entity, or `others`.
    pub name: String,
    /// The category, if it is known.
    pub category: Option<Category>,
    /// Hops from the screened address: negative for sources, 0 for itself, positive for destinations.
    pub column: i32,
    /// The severity of the category in the profile, 0-100.
    pub severity: u8,
    /// The part of the money that passed through, in percent.
    pub percentage: f64,
}

/// A flow of money between two parties, from left to right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The index of the paying node.
    pub from: usize,
    /// The index of the paid node.
    pub to: usize,
    /// The part of the money, in percent.
    pub percentage: f64,
}

/// The diagram's data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The screened address (the first) and all parties of the traces.
    pub nodes: Vec<Node>,
    /// The flows between them.
    pub links: Vec<Link>,
}

type Key = (i32, Option<Category>, String);

impl Picture {
    /// The picture of a screening; `subject` is the text of its address or transaction in the request.
    pub fn of(subject: &str, screen: &Screen, profile: &Profile) -> Picture {
        let own = match screen.detail {
            Detail::Address(_) => screen.labels.first().map(|label| label.category),
            // A transaction's labels are those of its parties.
            Detail::Transaction(_) => None,
        };
        Picture::around((0, own, subject.to_owned()), &screen.traces, profile)
    }

    fn around(root: Key, traces: &[Trace], profile: &Profile) -> Picture {
        let mut links: BTreeMap<(Key, Key), f64> = BTreeMap::new();
        for trace in traces {
            let side = match trace.direction {
                Direction::Incoming => -1,
                Direction::Outgoing => 1,
            };
            let keys = keys(trace, side);
            for (node, key) in trace.nodes.iter().zip(&keys) {
                let near = node.parent.and_then(|parent| keys.get(parent)).unwrap_or(&root);
                if near == key {
                    continue;
                }
                let link = if side < 0 {
                    (key.clone(), near.clone())
                } else {
                    (near.clone(), key.clone())
                };
                *links.entry(link).or_default() += node.share;
            }
        }
        let links = gathered(links);
        let mut picture = Picture::default();
        let mut places: BTreeMap<Key, usize> = BTreeMap::new();
        picture.place(&mut places, &root, profile);
        for ((from, to), share) in &links {
            let (from, to) = (
                picture.place(&mut places, from, profile),
                picture.place(&mut places, to, profile),
            );
            picture.links.push(Link {
                from,
                to,
                percentage: share * 100.0,
            });
        }
        for index in 0..picture.nodes.len() {
            let sum = |end: fn(&Link) -> usize| -> f64 {
                picture
                    .links
                    .iter()
                    .filter(|link| end(link) == index)
                    .map(|link| link.percentage)
                    // `sum` of an empty iterator is -0.0.
                    .fold(0.0, |sum, part| sum + part)
            };
            let passed = sum(|link| link.from).max(sum(|link| link.to));
            picture.nodes[index].percentage = passed;
        }
        picture
    }

    fn place(&mut self, places: &mut BTreeMap<Key, usize>, key: &Key, profile: &Profile) -> usize {
        if let Some(place) = places.get(key) {
            return *place;
        }
        let (column, category, name) = key.clone();
        let severity = category.map_or(0, |category| profile.severity(category));
        self.nodes.push(Node {
            name,
            category,
            column,
            severity,
            percentage: 0.0,
        });
        places.insert(key.clone(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Renders the picture as SVG.
    pub fn svg(&self) -> String {
        Drawing::of(self).svg(self)
    }
}

/// The party of each node in a trace.
fn keys(trace: &Trace, side: i32) -> Vec<Key> {
    trace
        .nodes
        .iter()
        .map(|node| {
            let column = side * i32::try_from(node.hop).unwrap_or(i32::MAX);
            match &node.absorbed {
                Some((category, name)) => (column, Some(*category), name.clone()),
                None => (
                    column,
                    None,
                    node.party.as_deref().unwrap_or("unknown").to_owned(),
                ),
            }
        })
        .collect()
}

/// Merges the smaller parties of a crowded column; labelled ones are merged last.
fn gathered(links: BTreeMap<(Key, Key), f64>) -> BTreeMap<(Key, Key), f64> {
    let mut sizes: BTreeMap<Key, f64> = BTreeMap::new();
    for ((from, to), share) in &links {
        for key in [from, to] {
            *sizes.entry(key.clone()).or_default() += share;
        }
    }
    let mut columns: BTreeMap<i32, Vec<(bool, f64, Key)>> = BTreeMap::new();
    for (key, size) in sizes {
        columns
            .entry(key.0)
            .or_default()
            .push((key.1.is_some(), size, key));
    }
    let mut others: BTreeMap<Key, Key> = BTreeMap::new();
    for (column, mut parties) in columns {
        parties.sort_by(|a, b| {
            (b.0.cmp(&a.0))
                .then(b.1.total_cmp(&a.1))
                .then_with(|| b.2.cmp(&a.2))
        });
        for (_, _, key) in parties.into_iter().skip(COLUMN) {
            others.insert(key, (column, None, "others".to_owned()));
        }
    }
    let mut gathered: BTreeMap<(Key, Key), f64> = BTreeMap::new();
    for ((from, to), share) in links {
        let from = others.get(&from).cloned().unwrap_or(from);
        let to = others.get(&to).cloned().unwrap_or(to);
        if from != to {
            *gathered.entry((from, to)).or_default() += share;
        }
    }
    gathered
}

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 30.0;
const BAR: f64 = 14.0;
/// The height of a bar with all the money.
const FULL: f64 = 320.0;
const GAP: f64 = 22.0;

/// The layout of the drawing.
struct Drawing {
    left: Vec<f64>,
    top: Vec<f64>,
    height: f64,
}

fn thickness(percentage: f64) -> f64 {
    (percentage / 100.0 * FULL).max(1.0)
}

impl Drawing {
    fn of(picture: &Picture) -> Drawing {
        let columns: Vec<i32> = picture.nodes.iter().map(|node| node.column).collect();
        let first = columns.iter().min().copied().unwrap_or(0);
        let last = columns.iter().max().copied().unwrap_or(0);
        let step = (WIDTH - 2.0 * MARGIN - BAR) / f64::from((last - first).max(1));
        let mut filled: BTreeMap<i32, f64> = BTreeMap::new();
        let mut drawing = Drawing {
            left: Vec::new(),
            top: Vec::new(),
            height: 0.0,
        };
        for node in &picture.nodes {
            let top = filled.entry(node.column).or_insert(MARGIN + 30.0);
            drawing.left.push(MARGIN + step * f64::from(node.column - first));
            drawing.top.push(*top);
            *top += thickness(node.percentage) + GAP;
            drawing.height = drawing.height.max(*top);
        }
        drawing
    }

    fn svg(&self, picture: &Picture) -> String {
        let height = self.height + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>Flow of money</title>\n\
             <desc>From sources at the left to destinations at the right; {} parties, {} flows.</desc>\n",
            picture.nodes.len(),
            picture.links.len()
        );
        let mut used = vec![(0.0, 0.0); picture.nodes.len()];
        for link in &picture.links {
            let thick = thickness(link.percentage);
            let from = self.left[link.from] + BAR;
            let to = self.left[link.to];
            let start = self.top[link.from] + used[link.from].0 + thick / 2.0;
            let end = self.top[link.to] + used[link.to].1 + thick / 2.0;
            used[link.from].0 += thick;
            used[link.to].1 += thick;
            let middle = f64::midpoint(from, to);
            let severity = picture.nodes[link.from]
                .severity
                .max(picture.nodes[link.to].severity);
            let _ = writeln!(
                svg,
                "<path d=\"M{from:.1} {start:.1}C{middle:.1} {start:.1} {middle:.1} {end:.1} {to:.1} {end:.1}\" \
                 fill=\"none\" stroke=\"{}\" stroke-opacity=\".35\" stroke-width=\"{thick:.1}\"><title>{} → {}: \
                 {:.2} %</title></path>",
                colour(severity),
                escaped(&picture.nodes[link.from].name),
                escaped(&picture.nodes[link.to].name),
                link.percentage
            );
        }
        for (index, node) in picture.nodes.iter().enumerate() {
            let (left, top) = (self.left[index], self.top[index]);
            let what = node
                .category
                .map_or_else(String::new, |category| format!(" ({category})"));
            // Without any flow there is no percentage.
            let part = match picture.links.is_empty() {
                true => String::new(),
                false => format!(" {:.1} %", node.percentage),
            };
            let end = if left > WIDTH / 2.0 {
                ("end", left + BAR)
            } else {
                ("start", left)
            };
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}{what}{part}</text>",
                thickness(node.percentage),
                colour(node.severity),
                end.1,
                top - 5.0,
                end.0,
                escaped(&shortened(&node.name)),
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn colour(severity: u8) -> &'static str {
    match severity {
        0 => "#64748b",
        1..25 => "#0e7490",
        25..60 => "#a16207",
        60..90 => "#c2410c",
        _ => "#b91c1c",
    }
}

/// Shortens a long address to its two ends.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= 24 {
        return name.to_owned();
    }
    let (start, end) = (&letters[..10], &letters[letters.len() - 8..]);
    format!(
        "{}…{}",
        start.iter().collect::<String>(),
        end.iter().collect::<String>()
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            // Not allowed in XML, or reverses the direction of the text that follows.
            '\u{fffe}'
            | '\u{ffff}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                safe.push(' ');
            }
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Fixture;

    fn root() -> Key {
        (0, None, "A".to_owned())
    }

    #[test]
    fn a_flow_is_drawn() {
        let case = json!({
            "txs": {
                "a": {"in": [], "out": [["thief", 20]]},
                "b": {"in": [], "out": [["exchange", 30]]},
                "mix": {"in": [["a", 0], ["b", 0]], "out": [["P<&>\"", 50]]},
                "pay": {"in": [["mix", 0]], "out": [["A", 50]]},
            },
            "labels": {
                "thief": {"name": "Thief & Co", "category": "stolen_funds"},
                "exchange": {"name": "Exchange", "category": "exchange"},
            },
            "received": [["pay", 0]],
        });
        let trace = Fixture::from_json(&case).unwrap().trace(&case).unwrap();
        let picture = Picture::around(root(), &[trace], &Profile::built_in());
        assert_eq!(picture.nodes.len(), 4);
        assert_eq!(picture.nodes[0].name, "A");
        let thief = picture
            .nodes
            .iter()
            .find(|node| node.name == "Thief & Co")
            .unwrap();
        assert_eq!((thief.column, thief.severity), (-2, 90));
        assert!((thief.percentage - 40.0).abs() < 1e-9);
        let total: f64 = picture
            .links
            .iter()
            .filter(|link| link.to == 0)
            .map(|link| link.percentage)
            .sum();
        assert!((total - 100.0).abs() < 1e-9);
        let svg = picture.svg();
        assert!(svg.starts_with("<svg") && svg.contains("Thief &amp; Co (stolen_funds) 40.0 %"));
        assert!(svg.contains("P&lt;&amp;&gt;&quot;") && !svg.contains("P<"));
    }

    #[test]
    fn a_hostile_name_stays_text() {
        for name in [
            "</text><script>alert(1)</script>",
            "\" onload=\"alert(1)",
            "]]><!--",
            "&lt;img src=x onerror=alert(1)&gt;",
            "a\u{0}b\u{ffff}c\u{202e}d\u{7f}\u{85}",
        ] {
            let svg = Picture::around((0, None, name.to_owned()), &[], &Profile::built_in()).svg();
            let tags: Vec<&str> = svg.split('<').skip(1).collect();
            let known = [
                "svg ", "title>", "/title>", "desc>", "/desc>", "rect ", "text ", "/text>", "/svg>",
            ];
            assert!(
                tags.iter()
                    .all(|tag| known.iter().any(|known| tag.starts_with(known))),
                "{svg}"
            );
            assert!(!svg.contains("\" onload=\"alert"), "{svg}");
            let forbidden = |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{ffff}' | '\u{202e}'));
            assert!(!svg.contains(forbidden), "{svg}");
        }
    }

    #[test]
    fn crowds_are_gathered() {
        let mut transactions = serde_json::Map::new();
        let inputs: Vec<serde_json::Value> = (0..40)
            .map(|number| {
                transactions.insert(
                    format!("c{number}"),
                    json!({"in": [], "out": [[format!("p{number}"), 10]]}),
                );
                json!([format!("c{number}"), 0])
            })
            .collect();
        transactions.insert("t".to_owned(), json!({"in": inputs, "out": [["A", 400]]}));
        let case = json!({"txs": transactions, "received": [["t", 0]]});
        let trace = Fixture::from_json(&case).unwrap().trace(&case).unwrap();
        let picture = Picture::around(root(), &[trace], &Profile::built_in());
        assert_eq!(
            picture.nodes.iter().filter(|node| node.column == -1).count(),
            COLUMN + 1
        );
        assert!(
            Picture::around(root(), &[], &Profile::built_in())
                .svg()
                .contains("</svg>")
        );
    }
}
