//! A calibration in print.

use inference::own::{Calibration, Presentations};
use serde_json::{Map, Value, json};

use crate::cli::eval::figures::{rounded, share, upper_limit};
use crate::cli::output::note;

/// A calibration's figures, with one-sided 95 % limits.
pub(super) fn figures(calibration: &Calibration) -> Value {
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

fn non_response(presentations: &Presentations) -> Option<f64> {
    rounded(share(presentations.unmeasured, presentations.all()))
}

/// Warns if the reported half was refused more often than the threshold aimed at. With few people, that is usual.
pub(super) fn warn_of_refusals(calibration: &Calibration) {
    let (refused, all) = (calibration.live.attacks, calibration.live.all());
    if refused as f64 > calibration.bpcer_goal * all as f64 {
        note!(
            "Warning: {refused} of {all} live pictures of the reported half are called attacks, and the goal was {:.1} %. \
             Honest people would be refused as often. Calibrate with more people, or with a lower --bpcer.",
            calibration.bpcer_goal * 100.0
        );
    }
}
