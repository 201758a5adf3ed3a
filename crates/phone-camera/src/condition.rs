//! What a phone does to a document, as a list with names that reports and scripts rely on.

/// One way in which a document is photographed. All but `SmallPrint` and the conditions about the document's share of
/// the frame (`FullFrame` and two others) begin with capitals of the zone 24 pixels high, before the document is tilted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// From above, filling the frame.
    Straight,
    /// Turned by any angle.
    Turned,
    /// Seen from up to 30° beside the vertical.
    Tilted,
    /// Seen from 42–50° beside the vertical, from close by.
    StrongPerspective,
    /// 60 % of the frame's width, on a cluttered table.
    SixtyPercent,
    /// 35 % of the frame's width, on a cluttered table.
    ThirtyFivePercent,
    /// Beside its other side, which has no machine-readable zone.
    SideBySide,
    /// The zone's capitals 8–18 pixels high.
    SmallPrint,
    /// Out of focus: a Gaussian with a deviation of 2 pixels.
    Gaussian2,
    /// Out of focus: a Gaussian with a deviation of 4 pixels.
    Gaussian4,
    /// Shaken: a straight movement of 9 pixels in any direction.
    Motion9,
    /// Shaken: a straight movement of 13 pixels in any direction.
    Motion13,
    /// A spot of glare on the zone, two to three characters wide.
    Glare,
    /// A hard shadow over part of the document.
    Shadow,
    /// The noise of a dark room: a deviation of 14 grey levels.
    Noise,
    /// JPEG with quality 10.
    HardJpeg,
    /// From above, filling most of a frame of 12 megapixels.
    FullFrame,
}

impl Condition {
    /// Every condition, in the order of reports.
    pub const ALL: [Self; 17] = [
        Self::Straight,
        Self::Turned,
        Self::Tilted,
        Self::StrongPerspective,
        Self::SixtyPercent,
        Self::ThirtyFivePercent,
        Self::SideBySide,
        Self::SmallPrint,
        Self::Gaussian2,
        Self::Gaussian4,
        Self::Motion9,
        Self::Motion13,
        Self::Glare,
        Self::Shadow,
        Self::Noise,
        Self::HardJpeg,
        Self::FullFrame,
    ];

    /// Its name in reports and on the command line, such as `strong-perspective`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Straight => "straight",
            Self::FullFrame => "full-frame",
            Self::Turned => "turned",
            Self::Tilted => "tilted",
            Self::StrongPerspective => "strong-perspective",
            Self::SixtyPercent => "sixty-percent",
            Self::ThirtyFivePercent => "thirty-five-percent",
            Self::SideBySide => "side-by-side",
            Self::SmallPrint => "small-print",
            Self::Gaussian2 => "gaussian-2",
            Self::Gaussian4 => "gaussian-4",
            Self::Motion9 => "motion-9",
            Self::Motion13 => "motion-13",
            Self::Glare => "glare",
            Self::Shadow => "shadow",
            Self::Noise => "noise",
            Self::HardJpeg => "hard-jpeg",
        }
    }

    /// The condition with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|condition| condition.as_str() == name)
    }
}
