//! Charts as plain SVG, reckoned here and drawn by `templates/portal/chart.html`. Every chart stands beside the table of its figures.

/// A chart, in units of its view box.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// The bars' or columns' parts.
    pub bars: Vec<Bar>,
    /// Lines through points.
    pub lines: Vec<Line>,
    /// Values on the left.
    pub ticks: Vec<Label>,
    /// Days below.
    pub days: Vec<Label>,
}

/// The view box.
pub const WIDTH: f64 = 720.0;
/// Its height.
pub const HEIGHT: f64 = 200.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 8.0;

/// A rectangle.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Which of the series' colours.
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

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Which of the series' colours.
    pub series: usize,
    /// As SVG's `points`.
    pub points: String,
}

/// A text at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Where, along its axis.
    pub at: f64,
    /// What.
    pub text: String,
}

/// A round number at or above the greatest value, for the axis.
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
    // As many names as there is room for.
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

/// Columns of parts that stand on one another, a column a day.
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

/// Lines over days; a day without a value breaks none of them, the line goes on to the next.
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
            // A line of no length is drawn as a dot.
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
