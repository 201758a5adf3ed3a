//! Calibrations as the commands print them.

use inference::own::{AnyCalibration, Calibration, EmbedderCalibration, Pairs, Presentations};
use serde_json::{Map, Value, json};

use crate::cli::eval::figures::{rounded, share, upper_limit};
use crate::cli::output::note;

/// A calibration's figures, with one-sided 95 % limits.
pub(super) fn figures(calibration: &AnyCalibration) -> Value {
    match calibration {
        AnyCalibration::Pad(calibration) => of_pad(calibration),
        AnyCalibration::Embedder(calibration) => of_embedder(calibration),
    }
}

/// The figures of a model for presentation attack detection.
pub(super) fn of_pad(calibration: &Calibration) -> Value {
    let live = &calibration.live;
    let attacks: Map<String, Value> = calibration
        .attacks
        .iter()
        .map(|(name, attacks)| {
            let figures = json!({
                "presentations": attacks.all(),
                "apcer": rounded(share(attacks.live, attacks.all())),
                "apcerAtMost": rounded(upper_limit(attacks.live, attacks.all())),
                "nonResponse": non_response(attacks),
            });
            (name.clone(), figures)
        })
        .collect();
    json!({
        "madeAt": calibration.made_at,
        "attackBelow": calibration.attack_below,
        "bpcerGoal": calibration.bpcer_goal,
        "peopleChosen": calibration.people_chosen,
        "peopleReported": calibration.people_reported,
        "live": {
            "presentations": live.all(),
            "bpcer": rounded(share(live.attacks, live.all())),
            "bpcerAtMost": rounded(upper_limit(live.attacks, live.all())),
            "nonResponse": non_response(live),
        },
        "attacks": attacks,
    })
}

/// The figures of an embedder.
pub(super) fn of_embedder(calibration: &EmbedderCalibration) -> Value {
    json!({
        "madeAt": calibration.made_at,
        "scale": calibration.scale,
        "peopleChosen": calibration.people_chosen,
        "peopleReported": calibration.people_reported,
        "unmeasured": calibration.unmeasured,
        "own": of_pairs(&calibration.own),
        "builtIn": of_pairs(&calibration.built_in),
    })
}

fn of_pairs(pairs: &Pairs) -> Value {
    json!({
        "genuine": pairs.genuine,
        "fnmr": rounded(share(pairs.false_non_matches, pairs.genuine)),
        "fnmrAtMost": rounded(upper_limit(pairs.false_non_matches, pairs.genuine)),
        "impostor": pairs.impostor,
        "fmr": rounded(share(pairs.false_matches, pairs.impostor)),
        "fmrAtMost": rounded(upper_limit(pairs.false_matches, pairs.impostor)),
    })
}

/// Warns if the built-in networks missed fewer pairs of one person, or matched fewer pairs of two people.
pub(super) fn warn_of_better_built_in(calibration: &EmbedderCalibration) {
    let (own, built_in) = (&calibration.own, &calibration.built_in);
    if own.false_non_matches > built_in.false_non_matches || own.false_matches > built_in.false_matches {
        note!(
            "Warning: on these pictures, the built-in networks are better in at least one respect. Of {} pairs of one \
             person, the model misses {} and they miss {}. Of {} pairs of two people, the model matches {} and they \
             match {}.",
            own.genuine,
            own.false_non_matches,
            built_in.false_non_matches,
            own.impostor,
            own.false_matches,
            built_in.false_matches
        );
    }
}

fn non_response(presentations: &Presentations) -> Option<f64> {
    rounded(share(presentations.unmeasured, presentations.all()))
}

/// Warns if the reported half was refused more often than the goal allows. With few people, that is usual.
pub(super) fn warn_of_refusals(calibration: &Calibration) {
    let (refused, all) = (calibration.live.attacks, calibration.live.all());
    if refused as f64 > calibration.bpcer_goal * all as f64 {
        note!(
            "Warning: {refused} of {all} live pictures of the reported half are classified as attacks, but the goal \
             was {:.1} %. Honest applicants would be refused as often. Calibrate with more people, or with a lower \
             --bpcer.",
            calibration.bpcer_goal * 100.0
        );
    }
}
