//! `bonafide eval challenge --camera`: renders the films as the camera of another program, such as a browser under test.
//! It judges and measures nothing.
//!
//! Each line of standard input is a JSON object. Each answer is a length (four bytes, big-endian), followed by that many
//! bytes:
//!
//! - `{"film": 3, "run": 0}` begins a film. The answer is JSON with `person`, and `kind` or null. The films are the ones
//!   that play without `--camera`, counted from 0: first the people, then the attacks. After the last film, the answer
//!   is empty.
//! - `{"at": 1234, "show": "turn_left", "move": "turn_left", "colour": null, "hint": null}` reports what the page shows
//!   at this millisecond of the film, in the words of the session's endpoints. The answer is the frame as a JPEG.

use std::io::{BufRead, Write};

use films::{Film, Photograph};
use serde::Deserialize;
use serde_json::json;
use verification::challenge::{Colour, Hint, Move, Shown};

use super::session::{hint, shown};
use super::{Attack, Challenge, Task};
use crate::cli::errors::Unusable;

/// The page encodes frames again, so these lose little.
const QUALITY: u8 = 92;

#[derive(Deserialize)]
#[serde(untagged)]
enum Order {
    Begin { film: usize, run: u64 },
    Frame(View),
}

/// What the page shows.
#[derive(Deserialize)]
struct View {
    at: i64,
    show: String,
    #[serde(rename = "move")]
    movement: Option<Move>,
    colour: Option<String>,
    hint: Option<Hint>,
}

impl View {
    fn shown(&self) -> Option<Shown> {
        let colour = |css: &String| Colour::ALL.into_iter().find(|colour| colour.css() == css);
        match (self.show.as_str(), self.movement) {
            ("look", _) => Some(Shown::Look),
            ("flash", _) => self.colour.as_ref().and_then(colour).map(Shown::Flash),
            ("ready", _) => Some(Shown::Ready),
            ("back", _) => Some(Shown::Back),
            ("hold", Some(movement)) => Some(Shown::Hold(movement)),
            (word, Some(movement)) if word == movement.as_str() => Some(Shown::Do(movement)),
            _ => None,
        }
    }
}

impl Challenge {
    /// Answers the orders until the input ends.
    pub(super) fn film(
        &self,
        people: &[Photograph],
        tasks: &[Task],
        orders: impl BufRead,
        mut answers: impl Write,
    ) -> anyhow::Result<()> {
        let mut film: Option<Film> = None;
        for (place, line) in orders.lines().enumerate() {
            let unusable = |why: String| Unusable(format!("line {}: {why}", place + 1));
            let order = serde_json::from_str(&line?).map_err(|error| {
                unusable(format!(
                    "expected an object with film and run, or with at and show: {error}"
                ))
            })?;
            let answer = match order {
                Order::Begin { film: number, run } => match tasks.get(number) {
                    Some(task) => {
                        film = Some(self.begin(people, *task, run)?);
                        let kind = task.kind.map(Attack::as_str);
                        json!({"person": task.person, "kind": kind})
                            .to_string()
                            .into_bytes()
                    }
                    None => Vec::new(),
                },
                Order::Frame(view) => {
                    let film = film
                        .as_mut()
                        .ok_or_else(|| unusable("begin a film first".into()))?;
                    let what = view.shown().ok_or_else(|| {
                        unusable(format!(
                            "show: `{}` is unknown, or does not fit move or colour",
                            view.show
                        ))
                    })?;
                    film.show(view.at, shown(what), view.hint.and_then(hint));
                    imaging::encode_jpeg(&film.frame(view.at), QUALITY)
                        .ok_or_else(|| unusable("the frame cannot be encoded".into()))?
                }
            };
            answers.write_all(&u32::try_from(answer.len())?.to_be_bytes())?;
            answers.write_all(&answer)?;
            answers.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_shows_is_read_in_the_words_of_the_endpoints() {
        let view = |text: &str| match serde_json::from_str(text) {
            Ok(Order::Frame(view)) => view.shown(),
            _ => None,
        };
        for (text, expected) in [
            (r#"{"at": 1, "show": "look"}"#, Some(Shown::Look)),
            (
                r##"{"at": 1, "show": "flash", "colour": "#ff5050"}"##,
                Some(Shown::Flash(Colour::Red)),
            ),
            (r##"{"at": 1, "show": "flash", "colour": "#123456"}"##, None),
            (
                r#"{"at": 1, "show": "nod_up", "move": "nod_up"}"#,
                Some(Shown::Do(Move::NodUp)),
            ),
            (r#"{"at": 1, "show": "nod_up", "move": "turn_left"}"#, None),
            (
                r#"{"at": 1, "show": "hold", "move": "turn_left", "hint": "more"}"#,
                Some(Shown::Hold(Move::TurnLeft)),
            ),
            (r#"{"at": 1, "show": "hold"}"#, None),
            (
                r#"{"at": 1, "show": "back", "move": null, "colour": null}"#,
                Some(Shown::Back),
            ),
        ] {
            assert_eq!(view(text), expected, "{text}");
        }
    }
}
