//! Draws DET curves as an SVG: the rate of one error for each rate of the other, on logarithmic axes.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

/// The errors that the axes show.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Axes {
    /// Impostors or attacks that are accepted.
    across: &'static str,
    /// Genuine pairs or people that are refused.
    down: &'static str,
}

/// Of comparisons (ISO/IEC 19795-1).
pub(in crate::cli) const COMPARISONS: Axes = Axes {
    across: "false-match rate",
    down: "false-non-match rate",
};
/// Of presentations (ISO/IEC 30107-3).
pub(in crate::cli) const PRESENTATIONS: Axes = Axes {
    across: "attacks accepted (APCER)",
    down: "people refused (BPCER)",
};

/// The distances of one curve. What is nearer than a threshold is accepted.
pub(in crate::cli) struct Curve<'a> {
    pub(in crate::cli) name: &'a str,
    pub(in crate::cli) genuine: &'a [f32],
    pub(in crate::cli) impostor: &'a [f32],
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
/// Space for the labels on the left and below.
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const EDGE: f64 = 20.0;
/// The lowest rates shown, as powers of ten: of false matches, and of false non-matches.
const LOWEST: (f64, f64) = (-5.0, -4.0);
const COLOURS: [&str; 8] = [
    "#1b6ec2", "#c2571b", "#2a8a4a", "#8a2a7a", "#6b6b6b", "#b08a00", "#0a8f8f", "#d0307a",
];

/// Writes the drawing of these curves to a file.
///
/// # Errors
/// Fails if the file cannot be written.
pub(in crate::cli) fn write(file: &Path, axes: Axes, curves: &[Curve<'_>]) -> anyhow::Result<()> {
    std::fs::write(file, svg(axes, curves)).with_context(|| format!("{} cannot be written", file.display()))
}

/// The drawing of these curves.
fn svg(axes: Axes, curves: &[Curve<'_>]) -> String {
    let mut lines = vec![format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>"##
    )];
    for power in LOWEST.0 as i32..=0 {
        let x = across(f64::from(power));
        lines.push(format!(
            r##"<path d="M{x:.1} {EDGE}V{:.1}" stroke="#ddd"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0,
            percent(power),
        ));
    }
    for power in LOWEST.1 as i32..=0 {
        let y = down(f64::from(power));
        lines.push(format!(
            r##"<path d="M{LEFT} {y:.1}H{:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"##,
            WIDTH - EDGE,
            LEFT - 6.0,
            y + 4.0,
            percent(power),
        ));
    }
    lines.push(format!(
        r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>
<text transform="translate(16 {:.1}) rotate(-90)" text-anchor="middle">{}</text>"#,
        f64::midpoint(LEFT, WIDTH - EDGE),
        HEIGHT - 10.0,
        axes.across,
        f64::midpoint(EDGE, HEIGHT - BOTTOM),
        axes.down,
    ));
    for (number, curve) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let mut path = String::new();
        for (place, (false_matches, false_non_matches)) in
            rates(curve.genuine, curve.impostor).into_iter().enumerate()
        {
            let command = if place == 0 { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(
                path,
                "{command}{:.1} {:.1}",
                across(false_matches.log10()),
                down(false_non_matches.log10())
            );
        }
        // Without a curve, everything genuine is nearer than everything else.
        let remark = if path.is_empty() { " (no overlap)" } else { "" };
        let y = EDGE + 16.0 * (number as f64 + 1.0);
        lines.push(format!(
            r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>
<text x="{:.1}" y="{y:.1}" fill="{colour}" text-anchor="end">{}{remark}</text>"#,
            WIDTH - EDGE - 8.0,
            escaped(curve.name),
        ));
    }
    lines.push("</svg>\n".to_owned());
    lines.join("\n")
}

/// Both rates at each distance that occurs among impostors, falling. Rates of zero are left out, since a logarithmic axis has no place for them.
fn rates(genuine: &[f32], impostor: &[f32]) -> Vec<(f64, f64)> {
    let sorted = |distances: &[f32]| {
        let mut sorted = distances.to_vec();
        sorted.sort_by(f32::total_cmp);
        sorted
    };
    let (genuine, impostor) = (sorted(genuine), sorted(impostor));
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (below, threshold) in impostor.iter().enumerate().rev() {
        let missed = genuine.len() - genuine.partition_point(|distance| distance <= threshold);
        let point = (
            (below + 1) as f64 / impostor.len() as f64,
            missed as f64 / genuine.len().max(1) as f64,
        );
        let is_new = points.last().is_none_or(|last| last.1 < point.1);
        if point.1 > 0.0 && is_new {
            points.push(point);
        }
    }
    points
}

fn across(power: f64) -> f64 {
    LEFT + (WIDTH - EDGE - LEFT) * (1.0 - power.max(LOWEST.0) / LOWEST.0)
}

fn down(power: f64) -> f64 {
    EDGE + (HEIGHT - BOTTOM - EDGE) * (power.max(LOWEST.1) / LOWEST.1)
}

/// A power of ten as a percentage: −3 is 0.1 %.
fn percent(power: i32) -> String {
    format!("{} %", 10_f64.powi(power + 2))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_with_the_threshold() {
        let points = rates(&[0.1, 0.2, 0.5, 0.9], &[0.4, 0.8, 1.0, 1.2]);
        assert_eq!(points, [(0.5, 0.25), (0.25, 0.5)]);
        assert!(rates(&[], &[]).is_empty() && rates(&[0.1], &[0.9]).is_empty());
    }

    #[test]
    fn the_drawing_is_whole_and_names_its_curves() {
        let curve = Curve {
            name: "a <b>",
            genuine: &[0.1, 0.9],
            impostor: &[0.5, 1.0],
        };
        let drawing = svg(PRESENTATIONS, &[curve]);
        assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"));
        assert!(drawing.contains("a &lt;b>") && drawing.contains("0.001 %") && drawing.contains("100 %"));
        assert!(drawing.contains("APCER") && !drawing.contains("false-match"));
    }
}
