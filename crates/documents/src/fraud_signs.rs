//! Signs of fraud, as plain data: what was measured, how much, and from where on it is a sign.
//!
//! This module contains only data. A sign never decides about a person.

use serde::{Deserialize, Serialize};

/// The most bytes of a text in a sign: more than one line of print has.
const LONGEST_TEXT: usize = 1_000;

/// One check for fraud of one picture, whether or not it found something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FraudSign {
    /// What was looked for.
    pub kind: FraudKind,
    /// Whether the measure is a sign of fraud.
    pub raised: bool,
    /// What was measured; [`FraudKind`] states the unit.
    pub measure: f32,
    /// The limit of the measure; [`FraudKind`] states on which side of it the sign is raised.
    pub limit: f32,
    /// The field that was compared or judged, a constant of [`crate::reading::field`]; `None` if none was.
    pub field: Option<String>,
    /// The value that was compared or judged, as it was read; of a number that its state wants masked, only the last
    /// digits; of a file's origin, the program. Earlier versions did not record it.
    #[serde(default)]
    pub value: Option<String>,
    /// The value that a contradiction's zone or barcode states instead.
    #[serde(default)]
    pub expected: Option<String>,
    /// Where: x, y, width, height in pixels of the upright picture.
    #[serde(rename = "box")]
    pub bounds: Option<[f32; 4]>,
}

/// What a check looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FraudKind {
    /// A screen was photographed. The measure is the height that the strongest periodic pattern of three quarters of the
    /// page's patches reaches, as the natural logarithm of power above its surroundings; the sign is raised from the
    /// limit on.
    Screen,
    /// A copy without colour was photographed. The measure is how far the page's colours differ from one tint of grey,
    /// in grey levels; the sign is raised below the limit.
    Photocopy,
    /// Print contradicts the same field of the machine-readable zone or of the barcode. The measure is the confidence
    /// of the print, 0–1; the sign is raised from the limit on.
    Contradiction,
    /// A number that a state gives to persons or drivers has wrong check characters, or states another birth or sex than
    /// the document. The measure is the confidence of the number, 0–1; the sign is raised from the limit on.
    Number,
    /// The file's metadata name an image editor, a screenshot or a generator of pictures, which is the value. The measure
    /// is 1 if they do, otherwise 0.
    Origin,
    /// A part of the picture was put in after the rest had been compressed. The measure is the evidence for the part that
    /// has most of it, in deviations; the sign is raised from the limit on. The box is that part.
    Edited,
}

impl FraudKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Screen,
        Self::Photocopy,
        Self::Contradiction,
        Self::Number,
        Self::Origin,
        Self::Edited,
    ];

    /// Its name in data formats, such as `photocopy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Photocopy => "photocopy",
            Self::Contradiction => "contradiction",
            Self::Number => "number",
            Self::Origin => "origin",
            Self::Edited => "edited",
        }
    }
}

impl FraudSign {
    /// A measure against its limit, raised on the side of the limit that [`FraudKind`] states.
    pub(crate) fn of(kind: FraudKind, measure: f32, limit: f32) -> Self {
        let raised = match kind {
            FraudKind::Photocopy => measure < limit,
            _ => measure >= limit,
        };
        Self {
            kind,
            raised,
            measure,
            limit,
            field: None,
            value: None,
            expected: None,
            bounds: None,
        }
    }

    /// Whether this crate can produce it: its numbers are finite, and its texts no longer than a field. Signs from
    /// another process may contain anything.
    pub fn is_plausible(&self) -> bool {
        let mut numbers = self.bounds.iter().flatten().chain([&self.measure, &self.limit]);
        let mut texts = [&self.field, &self.value, &self.expected].into_iter().flatten();
        numbers.all(|number| number.is_finite()) && texts.all(|text| text.len() <= LONGEST_TEXT)
    }
}
