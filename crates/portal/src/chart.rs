//! Charts as plain SVG: this module computes the shapes, and `templates/portal/chart.html` draws them. The
//! page shows the same figures in a table next to each chart.

/// A chart in the units of its view box, [`WIDTH`] × [`HEIGHT`].
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The segments of all bars.
    pub bars: Vec<Bar>,
    /// Polylines.
    pub lines: Vec<Line>,
    /// Labels of the vertical axis, on the left.
    pub ticks: Vec<Label>,
    /// Labels of the days, below.
    pub days: Vec<Label>,
}

/// Width of the view box.
pub const WIDTH: f64 = 720.0;
/// Height of the view box.
pub const HEIGHT: f64 = 200.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 8.0;

/// A rectangle, in view-box units.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Index of the series, which selects the colour.
    pub series: usize,
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// A polyline.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Index of the series, which selects the colour.
    pub series: usize,
    /// The points in the syntax of SVG's `points` attribute.
    pub points: String,
}

/// An axis label.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Position along the axis, in view-box units.
    pub at: f64,
    /// The label's text.
    pub text: String,
}

/// A round number at or above the greatest value, for the end of the axis.
fn top_of(greatest: f64) -> f64 {
    let greatest = greatest.max(1.0);
    let power = 10_f64.powf(greatest.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|top| *top >= greatest)
        .unwrap_or(greatest)
}

fn y_of(value: f64, top: f64) -> f64 {
    let height = HEIGHT - TOP - BOTTOM;
    round(TOP + height * (1.0 - value / top))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn frame(top: f64, days: &[String], unit: fn(f64) -> String) -> Chart {
    let step = (WIDTH - LEFT) / days.len().max(1) as f64;
    // At most about eight day labels fit below the chart.
    let every = (days.len() / 8).max(1);
    let days = days.iter().enumerate().filter(|(number, _)| number % every == 0);
    Chart {
        ticks: [0.0, 0.5, 1.0]
            .into_iter()
            .map(|share| Label {
                at: y_of(share * top, top),
                text: unit(share * top),
            })
            .collect(),
        days: days
            .map(|(number, text)| Label {
                at: round(LEFT + step * (number as f64 + 0.5)),
                text: text.clone(),
            })
            .collect(),
        ..Chart::default()
    }
}

/// Stacked columns, one for each day.
pub fn columns(days: &[String], values: &[Vec<f64>]) -> Chart {
    let greatest = values
        .iter()
        .map(|parts| parts.iter().sum::<f64>())
        .fold(0.0, f64::max);
    let top = top_of(greatest);
    let mut chart = frame(top, days, |value| format!("{value}"));
    let step = (WIDTH - LEFT) / days.len().max(1) as f64;
    for (number, parts) in values.iter().enumerate() {
        let mut below = 0.0;
        for (series, part) in parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let y = y_of(below + part, top);
            chart.bars.push(Bar {
                series: series + 1,
                x: round(LEFT + step * number as f64 + step * 0.1),
                y,
                width: round((step * 0.8).max(0.5)),
                height: round((y_of(below, top) - y).max(0.5)),
            });
            below += part;
        }
    }
    chart
}

/// Lines over days. A day without a value does not interrupt a line: it continues to the next value.
pub fn lines(days: &[String], series: &[Vec<Option<f64>>], unit: fn(f64) -> String) -> Chart {
    let greatest = series.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let top = top_of(greatest);
    let mut chart = frame(top, days, unit);
    let step = (WIDTH - LEFT) / days.len().max(1) as f64;
    chart.lines = series
        .iter()
        .enumerate()
        .map(|(number, values)| {
            let point = |(day, value): (usize, &Option<f64>)| {
                let x = round(LEFT + step * (day as f64 + 0.5));
                value.map(|value| format!("{x},{}", y_of(value, top)))
            };
            let mut points: Vec<String> = values.iter().enumerate().filter_map(point).collect();
            // A zero-length line with round caps is drawn as a dot.
            if let [only] = &points[..] {
                points.push(only.clone());
            }
            Line {
                series: number + 1,
                points: points.join(" "),
            }
        })
        .collect();
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (greatest, top) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (3.0, 5.0),
            (11.0, 20.0),
            (51.0, 100.0),
            (900.0, 1000.0),
        ] {
            assert_eq!(top_of(greatest), top, "{greatest}");
        }
    }

    #[test]
    fn parts_stand_on_one_another() {
        let days = ["a".to_owned(), "b".to_owned()];
        let chart = columns(&days, &[vec![1.0, 1.0], vec![0.0, 0.0]]);
        let [low, high] = &chart.bars[..] else {
            panic!("{chart:?}")
        };
        assert_eq!((low.series, high.series), (1, 2));
        assert!(
            (high.y + high.height - low.y).abs() < 0.2
                && (low.y + low.height - (HEIGHT - BOTTOM)).abs() < 0.2
        );
        assert_eq!(chart.days.len(), 2);
        assert!(columns(&[], &[]).bars.is_empty());
        let chart = lines(&days, &[vec![None, Some(1.0)]], |value| value.to_string());
        assert_eq!(chart.lines[0].points.split(' ').count(), 2);
    }
}
