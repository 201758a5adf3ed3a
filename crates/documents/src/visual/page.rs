//! The lines of the visual zone in the frame of the page, with the labels that they contain.
//!
//! This module finds where a label's value may be printed. It never decides what the value is.

use std::ops::Range;

use imaging::Point;

use crate::locate::{Line, mrz_likeness};
use crate::reading::DocumentKind;

use super::labels::{Label, labels_in};
use super::text::{Word, words};

/// A line in the page's frame: x along the text, y downwards, in pixels.
pub(super) struct PageLine<'a> {
    line: &'a Line,
    /// Its text.
    pub(super) text: &'a str,
    /// The words of the text.
    pub(super) words: Vec<Word>,
    /// The labels in the text, in order.
    pub(super) groups: Vec<LabelGroup>,
    length: usize,
    left: f32,
    right: f32,
    middle: f32,
    height: f32,
    /// The recogniser's confidence, 0–1.
    pub(super) confidence: f32,
}

/// A label, often in several languages: `Surname / Nom / Apellidos`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelGroup {
    /// The field.
    pub(super) label: Label,
    /// The languages of its phrases (ISO 639).
    pub(super) languages: Vec<&'static str>,
    /// Its characters.
    pub(super) chars: Range<usize>,
    /// The least edits of a phrase.
    pub(super) edits: usize,
    /// Letters of all its phrases.
    letters: usize,
}

/// Where a text is relative to its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePosition {
    /// On the label's line.
    Own,
    /// Below the label.
    Below,
    /// Right of the label, as a line of its own.
    Right,
}

/// A text that may be a label's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    /// Index of the line.
    pub(super) line: usize,
    /// Its characters in the line.
    pub(super) chars: Range<usize>,
    /// Where it is.
    pub(super) position: ValuePosition,
    /// Distance from the label over the greatest that is allowed, 0–1.
    pub(super) distance: f32,
}

/// A value below a label is at most this many line heights away, from middle to middle.
const REACH_BELOW: f32 = 2.6;
/// A piece of a divided text is at most this many line heights from the piece before.
const REACH_OF_WORD: f32 = 3.0;
/// A value below a label shares at least this of the label's or its own width with the label.
const LEAST_SHARED: f32 = 0.2;
/// A value right of a label is at most this many line heights away.
const REACH_RIGHT: f32 = 20.0;

impl<'a> PageLine<'a> {
    /// The text of a range of characters, without surrounding blanks and separators.
    pub(super) fn slice(&self, chars: &Range<usize>) -> &'a str {
        self.raw(chars).trim_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | '/' | '|' | '*' | ';' | ',' | '：')
        })
    }

    /// The text of a range of characters.
    pub(super) fn raw(&self, chars: &Range<usize>) -> &'a str {
        let byte = |at: usize| {
            self.text
                .char_indices()
                .nth(at)
                .map_or(self.text.len(), |(byte, _)| byte)
        };
        self.text
            .get(byte(chars.start)..byte(chars.end))
            .unwrap_or_default()
    }

    /// See [`Emissions::text_log_likelihood`](crate::ocr::ctc::Emissions::text_log_likelihood).
    pub(super) fn log_likelihood(&self, text: &str) -> Option<f64> {
        self.line.read.emissions.text_log_likelihood(text)
    }

    /// Whether another line begins at the same left margin.
    pub(super) fn shares_margin(&self, other: &PageLine<'_>) -> bool {
        (self.left - other.left).abs() < 1.5 * self.height.max(other.height)
    }

    /// The y of its middle.
    pub(super) fn middle(&self) -> f32 {
        self.middle
    }

    /// All characters.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.length
    }

    /// x, y, width and height of a range of characters, in pixels of the upright picture. Characters are assumed to be
    /// equally wide.
    pub(super) fn bounds(&self, chars: &Range<usize>) -> [f32; 4] {
        let share = |at: usize| at as f32 / self.length.max(1) as f32;
        let (from, to) = (share(chars.start), share(chars.end.max(chars.start)));
        self.line.quad.part(from, to).bounds()
    }

    /// The x of a character.
    pub(super) fn x(&self, at: usize) -> f32 {
        self.left + (self.right - self.left) * at as f32 / self.length.max(1) as f32
    }

    /// The parts of the text that are not labels.
    pub(super) fn unlabelled(&self) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = 0;
        for group in &self.groups {
            parts.push(start..group.chars.start.max(start));
            start = group.chars.end;
        }
        parts.push(start..self.length.max(start));
        parts.retain(|part| !self.slice(part).is_empty());
        parts
    }

    /// Whether labels make up at least half of the text's letters, and it has fewer than four digits.
    pub(super) fn is_label_only(&self) -> bool {
        let letters = |word: &&Word| word.folded.chars().count();
        let all: usize = self.words.iter().map(|w| letters(&w)).sum();
        let is_labelled = |word: &&Word| {
            self.groups
                .iter()
                .any(|group| group.chars.contains(&word.chars.start))
        };
        let labelled: usize = self.words.iter().filter(is_labelled).map(|w| letters(&w)).sum();
        let digits = self.text.bytes().filter(u8::is_ascii_digit).count();
        !self.groups.is_empty() && labelled * 2 >= all.max(1) && digits < 4
    }

    /// Whether another line is in the same row.
    pub(super) fn is_in_row_of(&self, other: &PageLine<'_>) -> bool {
        (other.middle - self.middle).abs() < 0.5 * self.height.max(other.height)
    }

    /// Whether another line begins right of this one, in the same row.
    pub(super) fn is_beside(&self, other: &PageLine<'_>) -> bool {
        let height = self.height.max(other.height);
        self.is_in_row_of(other)
            && other.left > self.right - 0.5 * height
            && other.left - self.right < REACH_RIGHT * self.height.max(1.0)
    }

    /// Whether another line begins right of this one in the same row, no farther away than a word of its text may be.
    pub(super) fn is_followed_by(&self, other: &PageLine<'_>) -> bool {
        self.is_beside(other) && other.left - self.right < REACH_OF_WORD * self.height
    }

    /// Whether another line continues this one: it is directly below, and as high and as far left.
    pub(super) fn is_continued_by(&self, next: &PageLine<'_>) -> bool {
        let gap = next.middle - self.middle;
        let height = self.height.max(next.height);
        gap > 0.5 * height
            && gap < 1.8 * height
            && (next.left - self.left).abs() < height
            && (0.75..1.33).contains(&(next.height / self.height.max(1.0)))
    }
}

/// The lines in the page's frame, without those that resemble a machine-readable zone. Labels have the meaning that the
/// page and the kind of document give them.
pub(super) fn page_lines<'a>(lines: &[&'a Line], kind: DocumentKind) -> Vec<PageLine<'a>> {
    let (x, y) = lines.iter().fold((0.0, 0.0), |(x, y), line| {
        let (along, weight) = (line.quad.along(), line.quad.length());
        (x + along.x * weight, y + along.y * weight)
    });
    let norm = x.hypot(y);
    let u = if norm > 0.0 {
        Point::new(x / norm, y / norm)
    } else {
        Point::new(1.0, 0.0)
    };
    let mut page: Vec<PageLine<'a>> = lines
        .iter()
        .filter(|line| mrz_likeness(&line.read.text) < 0.6)
        .map(|line| {
            let corners = line
                .quad
                .0
                .map(|p| (p.x * u.x + p.y * u.y, p.y * u.x - p.x * u.y));
            let words = words(&line.read.text);
            PageLine {
                line,
                text: &line.read.text,
                groups: groups(&line.read.text, &words),
                words,
                length: line.read.text.chars().count(),
                left: (corners[0].0 + corners[3].0) / 2.0,
                right: (corners[1].0 + corners[2].0) / 2.0,
                middle: corners.iter().map(|c| c.1).sum::<f32>() / 4.0,
                height: line.quad.height(),
                confidence: line.read.confidence,
            }
        })
        .collect();
    drop_lone_short_labels(&mut page);
    resolve_names(&mut page);
    resolve_id_numbers(&mut page, kind);
    page
}

/// Joins a label's translations.
fn groups(text: &str, words: &[Word]) -> Vec<LabelGroup> {
    let mut groups: Vec<LabelGroup> = Vec::new();
    let mut last_word = 0;
    for found in labels_in(text, words) {
        let (Some(first), Some(last)) = (words.get(found.words.start), words.get(found.words.end - 1)) else {
            continue;
        };
        let between = words.get(last_word..found.words.start).unwrap_or_default();
        let gap = groups.last().map_or(0, |group| group.chars.end)..first.chars.start;
        let is_near = (between.len() <= 1 && between.iter().all(|w| w.folded.len() <= 2))
            || is_misread_translation(text, &gap);
        let joined = groups
            .last()
            .filter(|_| is_near)
            .and_then(|group| joined(group.label, found.label));
        last_word = found.words.end;
        match (groups.last_mut(), joined) {
            (Some(group), Some(label)) => {
                group.label = label;
                group.languages.extend(found.languages);
                group.letters += found.length;
                group.chars.end = last.chars.end;
                group.edits = group.edits.min(found.edits);
            }
            _ => groups.push(LabelGroup {
                label: found.label,
                languages: found.languages.to_vec(),
                letters: found.length,
                chars: first.chars.start..last.chars.end,
                edits: found.edits,
            }),
        }
    }
    groups
}

/// Whether the text between two labels is a third one that was not recognised: `Surname / Efterrawn / Nom`.
fn is_misread_translation(text: &str, gap: &Range<usize>) -> bool {
    let between: String = text
        .chars()
        .skip(gap.start)
        .take(gap.end.saturating_sub(gap.start))
        .collect();
    between.matches(['/', '|']).count() == 2
        && !between.contains(|c: char| c.is_numeric())
        && between.split_whitespace().count() <= 5
}

/// The field of two neighbouring labels, if they are one.
fn joined(a: Label, b: Label) -> Option<Label> {
    use Label::{GivenNames, Name, Surname, WholeName};
    match (a, b) {
        (a, b) if a == b => Some(a),
        (Name, b) if b.is_name() => Some(b),
        (a, Name) if a.is_name() => Some(a),
        (Surname, GivenNames) | (GivenNames, Surname) | (WholeName, Surname | GivenNames) => Some(WholeName),
        _ => None,
    }
}

/// Labels of at most this many letters are also names and other words: *Vence*, *Mená*, *Boy*.
const SHORT_LABEL: usize = 5;

/// Drops short labels of which the page has no other label in the same language.
fn drop_lone_short_labels(page: &mut [PageLine<'_>]) {
    let all: Vec<(usize, LabelGroup)> = page
        .iter()
        .enumerate()
        .flat_map(|(at, line)| line.groups.iter().map(move |group| (at, group.clone())))
        .collect();
    for (at, line) in page.iter_mut().enumerate() {
        line.groups.retain(|group| {
            group.letters > SHORT_LABEL
                || all.iter().any(|(line, other)| {
                    (*line, &other.chars) != (at, &group.chars)
                        && other
                            .languages
                            .iter()
                            .any(|language| group.languages.contains(language))
                })
        });
    }
}

/// Decides whether an identity number is the document's.
fn resolve_id_numbers(page: &mut [PageLine<'_>], kind: DocumentKind) {
    let label = if kind == DocumentKind::IdCard {
        Label::Number
    } else {
        Label::Other
    };
    for group in page.iter_mut().flat_map(|line| &mut line.groups) {
        if group.label == Label::IdNumber {
            group.label = label;
        }
    }
}

/// Decides what a label such as `Name` or `Nom` means on this page: the family name beside given names, the given
/// names beside a family name, and the whole name where it is alone.
fn resolve_names(page: &mut [PageLine<'_>]) {
    let has = |page: &[PageLine<'_>], label: Label| {
        page.iter()
            .any(|line| line.groups.iter().any(|group| group.label == label))
    };
    let label = match (has(page, Label::Surname), has(page, Label::GivenNames)) {
        (false, true) => Label::Surname,
        (true, false) => Label::GivenNames,
        (false, false) => Label::WholeName,
        (true, true) => Label::Other,
    };
    for group in page.iter_mut().flat_map(|line| &mut line.groups) {
        if group.label == Label::Name {
            group.label = label;
        }
    }
}

/// The texts that may be the value of a line's label: on its line, below it (nearest first), and right of it.
pub(super) fn value_regions(page: &[PageLine<'_>], at: usize, nth: usize) -> Vec<Region> {
    let Some((line, group)) = page.get(at).and_then(|line| Some((line, line.groups.get(nth)?))) else {
        return Vec::new();
    };
    let mut regions = Vec::new();
    let until = line
        .groups
        .get(nth + 1)
        .map_or(line.length, |next| next.chars.start);
    let own = group.chars.end..until.max(group.chars.end);
    if !line.slice(&own).is_empty() {
        regions.push(Region {
            line: at,
            chars: own,
            position: ValuePosition::Own,
            distance: 0.0,
        });
    }
    regions.extend(below(page, at, group));
    regions.extend(right(page, at, group));
    regions
}

fn below(page: &[PageLine<'_>], at: usize, group: &LabelGroup) -> Vec<Region> {
    let line = &page[at];
    let (left, right) = (line.x(group.chars.start), line.x(group.chars.end));
    let mut found: Vec<(usize, f32)> = page
        .iter()
        .enumerate()
        .filter(|&(other, _)| other != at)
        .filter_map(|(other, item)| {
            let gap = item.middle - line.middle;
            let height = (line.height + item.height) / 2.0;
            let is_below = gap > 0.45 * line.height.min(item.height) && gap < REACH_BELOW * height;
            let shared = item.right.min(right) - item.left.max(left - 0.5 * line.height);
            let is_aligned = shared > LEAST_SHARED * (item.right - item.left).min(right - left);
            (is_below && is_aligned).then_some((other, gap / (REACH_BELOW * height)))
        })
        .collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut regions = Vec::new();
    for (other, distance) in found {
        let item = &page[other];
        let is_translation = item.is_label_only() && item.groups.iter().all(|g| g.label == group.label);
        if is_translation {
            continue;
        }
        // The next label's value is not this label's.
        let end = item.groups.first().map_or(item.length, |first| first.chars.start);
        if item.slice(&(0..end)).is_empty() || item.is_label_only() {
            break;
        }
        regions.push(Region {
            line: other,
            chars: 0..end,
            position: ValuePosition::Below,
            distance,
        });
    }
    regions
}

fn right(page: &[PageLine<'_>], at: usize, group: &LabelGroup) -> Option<Region> {
    let line = &page[at];
    let end = line.x(group.chars.end);
    // Another label or text on the line comes before what is right of the line.
    if line
        .groups
        .iter()
        .any(|other| other.chars.start >= group.chars.end)
    {
        return None;
    }
    let (other, gap) = page
        .iter()
        .enumerate()
        .filter(|&(other, item)| {
            let height = line.height.max(item.height);
            other != at && line.is_in_row_of(item) && item.left > end - 0.5 * height
        })
        .map(|(other, item)| (other, (item.left - end).max(0.0)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let item = &page[other];
    let until = item.groups.first().map_or(item.length, |first| first.chars.start);
    let distance = gap / (REACH_RIGHT * line.height.max(1.0));
    (distance < 1.0 && !item.slice(&(0..until)).is_empty()).then_some(Region {
        line: other,
        chars: 0..until,
        position: ValuePosition::Right,
        distance,
    })
}
