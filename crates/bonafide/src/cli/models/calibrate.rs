//! `bonafide models calibrate`: measures a custom model on an operator's labelled pictures. The measurement depends on
//! the model's kind.

use std::path::PathBuf;

use clap::Args;
use inference::own::ModelKind;

use super::calibrate_embedder::EmbedderPictures;
use super::calibrate_pad::PadCalibration;
use super::opened::Opened;
use crate::cli::engines::ModelsArg;
use crate::cli::errors::Unusable;

/// `bonafide models calibrate`.
#[derive(Args)]
pub(super) struct Calibrate {
    /// The model's name.
    name: String,
    /// For a PAD model: a folder of pictures of live people, with one subfolder per person.
    #[arg(long, requires = "attacks", conflicts_with = "people")]
    live: Option<PathBuf>,
    /// For a PAD model: a folder of pictures of attacks, with one subfolder per type, and in each of these one per
    /// person, named as in --live.
    #[arg(long, requires = "live")]
    attacks: Option<PathBuf>,
    /// For a PAD model: the share of live presentations that may be classified as attacks, 0–0.2.
    #[arg(long, default_value_t = 0.01)]
    bpcer: f64,
    /// For an embedder: a folder of pictures of people, with one subfolder per person.
    #[arg(long)]
    people: Option<PathBuf>,
    /// Write the DET curves to this SVG file.
    #[arg(long)]
    det: Option<PathBuf>,
    #[command(flatten)]
    models: ModelsArg,
}

impl Calibrate {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let opened = Opened::of(&self.models)?;
        opened.folder.require_unused(&self.name)?;
        let model = opened.model(&self.name)?;
        let det = self.det.as_deref();
        match (
            model.declaration().kind(),
            &self.live,
            &self.attacks,
            &self.people,
        ) {
            (ModelKind::Pad, Some(live), Some(attacks), _) => {
                opened.engine.check_golden(&model)?;
                let calibration = PadCalibration {
                    live,
                    attacks,
                    bpcer: self.bpcer,
                    det,
                };
                calibration.run(&opened, &model)
            }
            (ModelKind::Embedder, .., Some(people)) => {
                opened.engine.check_golden(&model)?;
                EmbedderPictures { people, det }.run(&opened, &model)
            }
            (ModelKind::Pad, ..) => Err(Unusable(format!(
                "`{}` is a PAD model: give --live FOLDER and --attacks FOLDER",
                self.name
            ))
            .into()),
            (ModelKind::Embedder, ..) => Err(Unusable(format!(
                "`{}` is an embedder: give --people FOLDER, with one subfolder of pictures per person",
                self.name
            ))
            .into()),
        }
    }
}
