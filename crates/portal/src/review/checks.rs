//! Every check of an attempt with its result, its codes in the wording of `verification::codes`, and the
//! figures behind it. It reads what was recorded and never decides anything again; it states age and expiry as of the day of
//! the attempt.

use hosted_page::locale::Locale;
use jiff::civil::Date;
use serde_json::Value;
use service::applicant_view::View;
use service::attempt_detail::FraudSign;
use verification::challenge::End;
use verification::codes::{CODES, Code, CodeInfo, ResultObject};
use verification::dates;

use super::fields::iso_date;
use crate::page::{Page, zoned};

/// The figures behind a result: label and value.
pub type Facts = Vec<(String, String)>;

/// A check of an attempt.
pub struct Check {
    /// Its key in the texts `review.check.…`.
    pub key: &'static str,
    /// `passed`, `failed`, `review`, or `none` if it was not requested.
    pub state: &'static str,
    /// The codes that applied.
    pub codes: Vec<Finding>,
    /// The figures: label and value.
    pub facts: Facts,
}

/// A code that applied.
pub struct Finding {
    /// The code's row in the table of codes.
    pub info: &'static CodeInfo,
    /// The title and text that the hosted page showed the applicant.
    pub told: Option<(String, String)>,
    /// Whether a sandbox submission requested the code.
    pub forced: bool,
}

/// The check that a code belongs to.
fn check_of(code: Code) -> &'static str {
    match code.info().object {
        ResultObject::Document => "document",
        ResultObject::Ocr => "comparison",
        ResultObject::MinimumAge => "age",
        ResultObject::Kyc => "sanctions",
        ResultObject::Idv => match code {
            Code::LivenessIncomplete | Code::NotLive => "liveness",
            Code::FaceMismatchDocument | Code::FaceMismatchPassport | Code::SimilarityBelowThreshold => {
                "face"
            }
            Code::UserIdExists | Code::UserAlreadyRegistered => "identity",
            _ => "pictures",
        },
    }
}

/// The codes of an attempt.
pub fn codes(view: &View) -> Vec<Code> {
    let numbers: Vec<u16> = serde_json::from_str(&view.attempt.codes).unwrap_or_default();
    CODES
        .iter()
        .map(|(code, _)| *code)
        .filter(|code| numbers.contains(&code.number()))
        .collect()
}

/// All checks, in the order of the pipeline.
pub fn checks(page: &Page, view: &View) -> Vec<Check> {
    let codes = codes(view);
    let english = Locale::choose(Some("en"), None);
    let finding = |code: &Code| Finding {
        info: code.info(),
        told: told(&english, *code),
        forced: view.detail.forced == Some(code.number()),
    };
    let near_duplicate = is_near_duplicate(view);
    let left_to_person = view
        .detail
        .seen
        .challenge
        .as_ref()
        .is_some_and(|report| report.end != Some(End::Passed));
    let mut pictures_seen = view.detail.seen.pictures.values();
    let has_fraud_signs = pictures_seen.any(|picture| picture.fraud.iter().any(|sign| sign.raised));
    let has_documents = !view.detail.seen.documents.is_empty();
    let has_selfie = view.detail.seen.pictures.contains_key("selfie");
    let answered = |object: &str| view.response.get(object).is_some_and(|value| !value.is_null());
    let all: [(&'static str, bool, Facts); 8] = [
        ("sanctions", true, sanctions(page, view)),
        ("pictures", has_documents || has_selfie, pictures(page, view)),
        ("document", has_documents, documents(page, view)),
        ("comparison", answered("ocrResult"), comparison(page, view)),
        ("face", has_documents && has_selfie, faces(page, view)),
        ("liveness", has_selfie, liveness(page, view)),
        ("identity", true, identity(page, view)),
        ("age", answered("minimumAgeResult"), age(page, view)),
    ];
    all.into_iter()
        .map(|(key, asked, facts)| {
            let found: Vec<Finding> = codes
                .iter()
                .filter(|code| check_of(**code) == key)
                .map(finding)
                .collect();
            let for_a_person = (key == "identity" && near_duplicate)
                || (key == "liveness" && left_to_person)
                || (key == "document" && has_fraud_signs)
                || found
                    .iter()
                    .any(|finding| [2702, 2202].contains(&finding.info.number));
            let state = match (found.is_empty(), for_a_person, asked) {
                (_, true, _) => "review",
                (false, ..) => "failed",
                (true, _, true) => "passed",
                (true, _, false) => "none",
            };
            Check {
                key,
                state,
                codes: found,
                facts,
            }
        })
        .collect()
}

/// The hosted page's title and text for a code; none for screening.
fn told(locale: &Locale, code: Code) -> Option<(String, String)> {
    let text = |part: &str| {
        let key = format!("code.{}.{part}", code.number());
        locale
            .texts()
            .contains_key(&key)
            .then(|| locale.text(&key, &[("merchant", "…")]))
    };
    Some((text("title")?, text("fix")?))
}

/// Whether the attempt waits because of a similar face.
pub fn is_near_duplicate(view: &View) -> bool {
    view.attempt.priority == verification::review::Priority::NearDuplicate.number()
        || view
            .detail
            .reasons
            .iter()
            .any(|reason| reason.starts_with("Face resembles"))
}

fn percent(number: f64) -> String {
    format!("{number:.1}")
}

fn sanctions(page: &Page, view: &View) -> Facts {
    let screening = &view.screening;
    let mut facts = vec![(page.t("review.fact.hits"), screening.total.to_string())];
    if let Some(threshold) = view.detail.screening_threshold {
        facts.push((
            page.t("review.fact.screening_threshold"),
            format!("{threshold:.2}"),
        ));
    }
    if let Some(profile) = &view.detail.screening_profile {
        facts.push((
            page.t("review.fact.screening_profile"),
            page.word("screening.profile", profile),
        ));
    }
    if !view.detail.suppressed.is_empty() {
        facts.push((
            page.t("review.fact.suppressed"),
            view.detail.suppressed.len().to_string(),
        ));
    }
    for (list, version) in &screening.lists {
        facts.push((page.t1("review.fact.list", "list", list), version.clone()));
    }
    for (name, value) in &screening.query_params {
        facts.push((page.t1("review.fact.searched", "field", name), value.clone()));
    }
    facts
}

fn pictures(page: &Page, view: &View) -> Facts {
    let mut facts = Vec::new();
    for (file, picture) in &view.detail.seen.pictures {
        let name = page.word("review.file", file);
        let mut said = vec![page.word("review.picture", &picture.state)];
        if picture.width > 0 {
            said.push(format!("{} × {}", picture.width, picture.height));
            said.push(page.t1(
                "review.fact.faces",
                "n",
                picture.faces.iter().filter(|face| face.significant).count(),
            ));
        }
        if let Some(kind) = &picture.kind {
            said.push(page.t1("review.fact.shows", "kind", page.word("review.document", kind)));
        }
        facts.push((name.clone(), said.join(" · ")));
        let face_issues = picture
            .faces
            .iter()
            .filter(|face| face.significant)
            .flat_map(|face| &face.issues);
        for (code, advice) in picture.issues.iter().chain(face_issues) {
            facts.push((format!("{name}: {code}"), advice.clone()));
        }
    }
    facts.extend(models(page, view));
    facts
}

fn documents(page: &Page, view: &View) -> Facts {
    let mut facts = Vec::new();
    for (file, picture) in &view.detail.seen.pictures {
        let name = page.word("review.file", file);
        if let Some(mrz) = &picture.mrz {
            let digits = if mrz.valid {
                page.t("review.fact.digits_hold")
            } else {
                let failed: Vec<String> = mrz.failed_checks.iter().map(word).collect();
                page.t1("review.fact.digits_fail", "which", failed.join(", "))
            };
            facts.push((
                page.t1("review.fact.mrz", "file", &name),
                format!("{} · {digits}", mrz.format),
            ));
            if let Some(margin) = mrz.margin {
                facts.push((page.t("review.fact.mrz_margin"), format!("{margin:.1}")));
            }
            for warning in &mrz.warnings {
                facts.push((page.t("review.fact.mrz_warning"), word(warning)));
            }
        }
        facts.extend(picture.fraud.iter().map(|sign| fraud_sign(page, &name, sign)));
        for barcode in &picture.barcodes {
            facts.push((page.t1("review.fact.barcode", "file", &name), barcode.clone()));
        }
    }
    for document in &view.detail.seen.documents {
        let name = page.word("review.document", &document.document_type);
        if let Some(agree) = document.sides_agree {
            let said = if agree {
                "review.fact.sides_agree"
            } else {
                "review.fact.sides_differ"
            };
            facts.push((name.clone(), page.t(said)));
        }
        for (field, label) in [
            ("issuer", "review.fact.issuer"),
            ("expiryDate", "review.fact.expiry"),
        ] {
            let sources = [
                (&document.mrz, "MRZ"),
                (&document.barcode, "PDF417"),
                (&document.visual, "OCR"),
            ];
            if let Some((value, source)) = sources
                .iter()
                .find_map(|(data, source)| Some((data.get(field)?, *source)))
            {
                let mut said = format!("{value} ({source})");
                let is_past = || dates::is_past(value, day_of(view)?);
                if field == "expiryDate" && is_past() == Some(true) {
                    said = format!("{said} · {}", page.t("review.fact.expired"));
                }
                facts.push((page.t(label), said));
            }
        }
    }
    if let Some(country) = view.request.get("documentCountry") {
        facts.push((page.t("review.fact.declared_country"), country.clone()));
    }
    facts
}

/// The day of the attempt, in UTC.
fn day_of(view: &View) -> Option<Date> {
    zoned(view.attempt.created_at).map(|at| at.date())
}

/// A sign of fraud on a picture: the value that was judged, what was measured, and whether that raises it.
fn fraud_sign(page: &Page, file: &str, sign: &FraudSign) -> (String, String) {
    let name = page.word("review.fraud", sign.kind.as_str());
    let field = sign.field.as_ref().map(|field| page.word("review.field", field));
    let label = [Some(file.to_owned()), Some(name), field]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ");
    let outcome = if sign.raised {
        page.t("review.fraud.raised")
    } else {
        page.t("review.fraud.none")
    };
    let limit = page.t1(
        &format!("review.fraud.limit.{}", sign.kind.as_str()),
        "limit",
        format!("{:.1}", sign.limit),
    );
    let value = sign.value.as_ref().map(|value| match &sign.expected {
        Some(expected) => page.tf(
            "review.fraud.instead",
            &[("value", value), ("expected", expected)],
        ),
        None => format!("“{value}”"),
    });
    let measure = format!("{:.2} ({limit})", sign.measure);
    let said = [Some(outcome), value, Some(measure)].into_iter().flatten();
    (label, said.collect::<Vec<_>>().join(" · "))
}

/// The models that read the files, each with the first digits of its hash.
fn models(page: &Page, view: &View) -> Option<(String, String)> {
    let named = |(name, version): (&String, &String)| format!("{name} {version}");
    let models: Vec<String> = view.detail.seen.models.iter().map(named).collect();
    (!models.is_empty()).then(|| (page.t("review.fact.models"), models.join(" · ")))
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn comparison(page: &Page, view: &View) -> Facts {
    view.detail
        .seen
        .fields
        .iter()
        .map(|field| {
            let verdict = match field.matches {
                Some(true) => page.t("review.fact.agrees"),
                Some(false) => page.t("review.fact.differs"),
                None => page.t("review.fact.not_read"),
            };
            let name = format!("{} ({})", page.word("review.field", &field.field), field.source);
            (name, format!("{verdict} · {}", percent(field.score)))
        })
        .collect()
}

fn faces(page: &Page, view: &View) -> Facts {
    let seen = &view.detail.seen;
    let mut facts: Vec<(String, String)> = seen
        .documents
        .iter()
        .map(|document| {
            let name = page.word("review.document", &document.document_type);
            let similarity = document
                .similarity
                .map_or_else(|| page.t("review.fact.not_compared"), percent);
            (page.t1("review.fact.similarity", "document", name), similarity)
        })
        .collect();
    if seen.match_threshold > 0.0 {
        facts.push((
            page.t("review.fact.match_from"),
            percent(f64::from(seen.match_threshold)),
        ));
        facts.push((
            page.t("review.fact.review_from"),
            percent(f64::from(seen.review_threshold)),
        ));
    }
    facts
}

fn liveness(page: &Page, view: &View) -> Facts {
    let mut facts = challenge(page, view);
    let Some(cue) = &view.detail.seen.passive_cue else {
        return facts;
    };
    let outcome = page.word("review.passive_cue", &word(&cue.outcome));
    facts.extend([
        (page.t("review.fact.passive_cue"), outcome),
        (
            page.t("review.fact.passive_cue_score"),
            format!("{:.2}", cue.score),
        ),
    ]);
    if let Some((pattern, colour)) = cue.cues {
        facts.push((page.t("review.fact.pattern"), format!("{pattern:.2}")));
        facts.push((page.t("review.fact.colour"), format!("{colour:.1}")));
    }
    if cue.same_picture {
        facts.push((
            page.t("review.fact.passive_cue"),
            page.t("review.fact.same_picture"),
        ));
    }
    if let Some(model) = &cue.model {
        let name = format!("{} ({})", model.model, model.version);
        facts.push((
            page.t1("review.fact.pad_score", "model", name),
            format!("{:.3}", model.score),
        ));
        facts.push((
            page.t("review.fact.pad_attack_below"),
            format!("{:.3}", model.attack_below),
        ));
    }
    for reason in &cue.reasons {
        facts.push((
            page.t("review.fact.because"),
            page.word("review.passive_cue_reason", reason),
        ));
    }
    facts
}

/// The session's challenge: its end, each move, and the light of the screen.
fn challenge(page: &Page, view: &View) -> Facts {
    let Some(report) = &view.detail.seen.challenge else {
        return Vec::new();
    };
    let end = match report.end {
        Some(End::Passed) => "passed",
        Some(End::Review(doubt)) => doubt.as_str(),
        Some(End::Failed(failure)) => failure.as_str(),
        Some(End::Void(cause)) => cause.as_str(),
        None => "broken_off",
    };
    let mut said = vec![page.word("review.challenge", end)];
    said.extend(
        report
            .last_failure
            .map(|failure| page.word("review.challenge", failure.as_str())),
    );
    said.push(format!("{:.1} s", report.took_ms as f64 / 1_000.0));
    let mut facts = vec![(page.t("review.fact.challenge"), said.join(" · "))];
    if !report.earlier_failures.is_empty() {
        let failures = report.earlier_failures.iter();
        let said: Vec<String> = failures
            .map(|failure| page.word("review.challenge", failure.as_str()))
            .collect();
        facts.push((page.t("review.fact.earlier_tries"), said.join(" · ")));
    }
    for figures in &report.moves {
        let mut said = vec![
            format!("{:.0}°", figures.peak),
            page.t1(
                "review.fact.reaction",
                "seconds",
                format!("{:.2}", figures.reaction_ms as f64 / 1_000.0),
            ),
        ];
        if let Some(relief) = figures.relief {
            said.push(page.t1("review.fact.relief", "relief", format!("{relief:.3}")));
        }
        facts.push((
            page.word("review.challenge.move", figures.movement.as_str()),
            said.join(" · "),
        ));
    }
    if let Some(flashes) = &report.flashes {
        facts.push((
            page.t("review.fact.screen_light"),
            format!("{:.2}", flashes.correlation),
        ));
        facts.push((
            page.t("review.fact.screen_light_behind"),
            format!("{:.2}", flashes.background),
        ));
    }
    for signal in &report.signals {
        facts.push((
            page.t("review.fact.injection"),
            page.word("review.injection", signal.as_str()),
        ));
    }
    if let Some(camera) = &report.camera {
        let label = if camera.label.is_empty() {
            page.t("review.fact.camera_unnamed")
        } else {
            camera.label.clone()
        };
        let mut said = vec![label];
        // What the browser did not state is 0.
        if camera.width > 0 && camera.height > 0 {
            said.push(format!("{} × {}", camera.width, camera.height));
        }
        if camera.frame_rate > 0.0 {
            let rate = format!("{:.0}", camera.frame_rate);
            said.push(page.t1("review.fact.frame_rate", "rate", rate));
        }
        facts.push((page.t("review.fact.camera"), said.join(" · ")));
    }
    facts
}

fn identity(page: &Page, view: &View) -> Facts {
    let proven = if view.person.proven {
        "review.fact.proven"
    } else {
        "review.fact.unproven"
    };
    let mut facts = vec![(page.t("review.fact.face"), page.t(proven))];
    let nearest = view.detail.similar.first();
    facts.push((
        page.t("review.fact.nearest"),
        nearest.map_or_else(
            || page.t("review.fact.nobody_near"),
            |similar| percent(f64::from(similar.similarity)),
        ),
    ));
    facts
}

fn age(page: &Page, view: &View) -> Facts {
    let born = view.detail.seen.documents.iter().find_map(|document| {
        let sources = [&document.mrz, &document.barcode, &document.visual];
        sources.iter().find_map(|data| data.get("birthDate").cloned())
    });
    let mut facts = Vec::new();
    if let Some(born) = born.or_else(|| view.request.get("dob").map(|dob| iso_date(dob))) {
        let age = dates::parse_iso(&born)
            .zip(day_of(view))
            .map(|(born, day)| page.t1("review.fact.years_old", "n", dates::age_on(day, born)));
        let said = [Some(born), age].into_iter().flatten();
        facts.push((page.t("review.fact.born"), said.collect::<Vec<_>>().join(" · ")));
    }
    let flow = view.flow.as_ref();
    for (label, bound) in [
        ("review.fact.min_age", flow.and_then(|flow| flow.min_age)),
        ("review.fact.max_age", flow.and_then(|flow| flow.max_age)),
    ] {
        facts.extend(bound.map(|bound| (page.t(label), bound.to_string())));
    }
    facts
}
