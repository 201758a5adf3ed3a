//! `bonafide eval challenge`: films of rendered people and of attacks before the liveness challenge. It reports who
//! passes, at which try, how long it takes, and what the server spends.
//!
//! The films are rendered by the crate `films`, not taken by a camera. Nobody of the people whom it reports was used to
//! choose a threshold, if the thresholds were chosen with `--half choose`.

mod camera;
mod outcomes;
mod people;
mod session;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use clap::{Args, ValueEnum};
use faces::FaceEngine;
use films::{Attack, Cast, FRAME_SIZE, Film, Head, Photograph, Room};
use serde_json::{Value, json};

use self::outcomes::{
    Shown, attack_tables, detail_tables, draw_det, effort_table, honest_table, signal_table,
};
use self::people::Half;
use self::session::{Played, play};
use super::figures::Report;
use crate::cli::engines::ModelsArg;
use crate::cli::errors::Unusable;

/// Tries of an honest person. The challenge gives three; the goal counts two.
const TRIES: u64 = 2;
/// Runs that count for nothing are repeated so often.
const MOST_VOID: u64 = 2;

/// `bonafide eval challenge`.
#[derive(Args)]
pub(super) struct Challenge {
    /// A folder of people: each folder in it has pictures of one person, of which the best frontal one is used.
    #[arg(long)]
    people: PathBuf,
    /// The people who are filmed: thresholds are chosen with one half, and the other half is reported.
    #[arg(long, value_enum, default_value_t)]
    half: Half,
    /// The renderer of heads: thresholds are chosen with one, and the other is reported.
    #[arg(long, value_enum, default_value_t)]
    renderer: Renderer,
    /// The number of honest people filmed; by default each person once.
    #[arg(long)]
    honest: Option<usize>,
    /// The number of attacks, spread evenly over the kinds.
    #[arg(long, default_value_t = 0)]
    attacks: usize,
    /// Only attacks of these kinds, such as `bent-photo`.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Another number gives other films.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Films that are played at the same time.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Draw frames without a sensor's noise, as a program would feed them to the page.
    #[arg(long)]
    without_noise: bool,
    /// Also print the distributions of what thresholds are compared with.
    #[arg(long)]
    details: bool,
    /// Write the DET curves of depth and of the screen's light to this SVG file.
    #[arg(long)]
    det: Option<PathBuf>,
    /// Write each film's runs to this file as a line of JSON when it was played.
    #[arg(long)]
    runs: Option<PathBuf>,
    /// Render frames for another program, which reports on standard input what its page shows; play no films.
    #[arg(long, conflicts_with_all = ["threads", "details", "det", "runs"])]
    camera: bool,
    #[command(flatten)]
    models: ModelsArg,
}

/// The ways to draw heads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Renderer {
    /// A smooth body with analytic relief, hit by parallel rays.
    Smooth,
    /// A mesh with typical depths, before a perspective camera.
    #[default]
    Mesh,
}

impl Renderer {
    fn as_str(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Mesh => "mesh",
        }
    }

    fn head(self, photograph: &Photograph, seed: u64) -> Head {
        match self {
            Self::Smooth => Head::smooth(photograph, seed),
            Self::Mesh => Head::mesh(photograph, seed),
        }
    }
}

/// A film to play: the place of its person, its kind (`None` for a living person), and its seed.
#[derive(Clone, Copy)]
struct Task {
    person: usize,
    kind: Option<Attack>,
    seed: u64,
}

impl Challenge {
    pub(super) fn measure(&self) -> anyhow::Result<Report> {
        let kinds = self.kinds()?;
        let engine = self.models.faces()?;
        let (people, without) = people::people(&engine, &self.people, self.half)?;
        if people.len() < 2 {
            let text =
                "name a folder with two or more people who look into the camera, 45 pixels between the eyes";
            return Err(Unusable(text.into()).into());
        }
        let tasks = self.tasks(people.len(), &kinds);
        if self.camera {
            self.film(&people, &tasks, std::io::stdin().lock(), std::io::stdout().lock())?;
            return Ok(Report::new());
        }
        let shown = self.play_all(&engine, &people, &tasks)?;
        let (honest, attacks): (Vec<Shown>, Vec<Shown>) =
            shown.into_iter().partition(|shown| shown.kind.is_none());
        if let Some(file) = &self.det {
            draw_det(file, &honest, &attacks)?;
        }
        let mut report = Report::new();
        report.insert(
            "people".into(),
            json!({
                "renderer": self.renderer.as_str(),
                "half": format!("{:?}", self.half).to_lowercase(),
                "people": people.len(),
                "withoutGoodPhotograph": without,
                "seed": self.seed,
            }),
        );
        report.insert("honest".into(), honest_table(&honest, TRIES));
        report.extend(attack_tables(&attacks));
        report.insert("signals of honest".into(), signal_table(honest.iter()));
        report.insert("signals of attacks".into(), signal_table(attacks.iter()));
        report.insert("effort".into(), effort_table(honest.iter().chain(&attacks)));
        if self.details {
            report.extend(detail_tables(&honest, &attacks));
        }
        Ok(report)
    }

    /// The kinds of attack that were named; all without a name.
    fn kinds(&self) -> anyhow::Result<Vec<Attack>> {
        if self.kinds.is_empty() {
            return Ok(Attack::ALL.to_vec());
        }
        let kind = |name: &String| {
            let found = Attack::ALL.into_iter().find(|kind| kind.as_str() == name);
            found.ok_or_else(|| {
                let names = Attack::ALL.map(Attack::as_str).join(", ");
                Unusable(format!("there is no attack `{name}`; name some of: {names}")).into()
            })
        };
        self.kinds.iter().map(kind).collect()
    }

    fn tasks(&self, people: usize, kinds: &[Attack]) -> Vec<Task> {
        let task = |number: usize, kind: Option<Attack>| Task {
            person: number % people,
            kind,
            seed: self.seed.wrapping_mul(1_000_003) ^ (number as u64) << 8 ^ u64::from(kind.is_some()) << 40,
        };
        let honest = (0..self.honest.unwrap_or(people)).map(|number| task(number, None));
        let attacks = (0..self.attacks).map(|number| {
            // Each round of kinds shows the next people.
            let round = number / kinds.len();
            Task {
                person: (number + round) % people,
                ..task(number, Some(kinds[number % kinds.len()]))
            }
        });
        honest.chain(attacks).collect()
    }

    /// Plays all films; the order of the results is that of the tasks.
    fn play_all(
        &self,
        engine: &FaceEngine,
        people: &[Photograph],
        tasks: &[Task],
    ) -> anyhow::Result<Vec<Shown>> {
        let next = AtomicUsize::new(0);
        let lines = match &self.runs {
            Some(file) => {
                Some(Mutex::new(File::create(file).with_context(|| {
                    format!("{} cannot be written", file.display())
                })?))
            }
            None => None,
        };
        let results = Mutex::new(Vec::with_capacity(tasks.len()));
        std::thread::scope(|scope| {
            let work = || -> anyhow::Result<()> {
                while let Some((place, task)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|place| Some((place, tasks.get(place)?)))
                {
                    let shown = self.show(engine, people, *task)?;
                    if let Some(file) = &lines {
                        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        writeln!(file, "{}", line(*task, &shown))?;
                    }
                    let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    results.push((place, shown));
                }
                Ok(())
            };
            let threads: Vec<_> = (0..self.threads.max(1)).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        let mut results = results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        results.sort_by_key(|(place, _)| *place);
        Ok(results.into_iter().map(|(_, shown)| shown).collect())
    }

    /// Plays a film: a living person again after a failure, and any film again if a run counted for nothing.
    fn show(&self, engine: &FaceEngine, people: &[Photograph], task: Task) -> anyhow::Result<Shown> {
        let mut runs: Vec<Played> = Vec::new();
        let (mut failed, mut void) = (0, 0);
        while failed < if task.kind.is_none() { TRIES } else { 1 } && void <= MOST_VOID {
            let run = runs.len() as u64;
            let mut film = self.begin(people, task, run)?;
            let played = play(engine, &mut film, task.seed.wrapping_add(run) ^ 0x5e55)?;
            match played.end {
                verification::challenge::End::Failed(_) => failed += 1,
                verification::challenge::End::Void(_) => void += 1,
                _ => {
                    runs.push(played);
                    break;
                }
            }
            runs.push(played);
        }
        Ok(Shown {
            kind: task.kind.map(Attack::as_str),
            runs,
        })
    }

    /// The film of a task. Further runs differ in what chance decides.
    fn begin(&self, people: &[Photograph], task: Task, run: u64) -> anyhow::Result<Film> {
        let photograph = people.get(task.person).context("there is no such person")?;
        let other = &people[(task.person + 1 + task.seed as usize % (people.len() - 1)) % people.len()];
        let cast = Cast {
            person: self.renderer.head(photograph, task.person as u64),
            other: self.renderer.head(other, task.person as u64 + 1_000),
        };
        let seed = task.seed.wrapping_add(run);
        let room = Room::drawn(FRAME_SIZE[0], FRAME_SIZE[1], task.seed);
        let film = match task.kind {
            None => Film::live(&cast.person, room, seed),
            Some(kind) => Film::attack(kind, &cast, room, seed),
        };
        Ok(if self.without_noise {
            film.without_noise()
        } else {
            film
        })
    }
}

/// A film's runs as one line of JSON.
fn line(task: Task, shown: &Shown) -> Value {
    let reports: Vec<_> = shown.runs.iter().map(|run| &run.report).collect();
    json!({ "person": task.person, "kind": shown.kind, "seed": task.seed, "runs": reports })
}
