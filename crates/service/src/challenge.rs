//! The liveness challenge of a hosted session: its queue, its frames and its end. Rules and verdicts are those of
//! [`verification::challenge`]; engine workers measure the frames.
//!
//! The state is in the database, so any node can go on with it. A node's memory holds nothing between two
//! bodies of frames. When a run has ended, only its figures and the hashes of the frames that may be sent as
//! selfie remain.

mod state;

use bytes::Bytes;
use engine_process::{FilmTask, Filmed};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use store::challenges::{self, Challenge, ChallengeState};
use store::sessions::Session;
use store::{Scope, Tx, handoffs};
use uuid::Uuid;
use verification::challenge::frames::{Body, Chain, Fit, FramesError, MAX_FRAMES_OF_RUN, NONCE_BYTES};
use verification::challenge::{
    Camera, Doubt, End, FilmWish, FrameTrace, Instruction, Kind, MAX_TRIES, Plan, Report, Run, SelfieProof,
    judge_selfie,
};
use verification::flow::{Biometric, Flow};

use self::state::State;
pub use self::state::measured_face;
use super::evidence::GatheredEvidence;
use super::{App, Shared, flows, sessions};
use crate::caller::Caller;
use crate::problem::{self, Problem};

/// A place in the queue is kept so long after the last call, and a running challenge's capacity (ms).
const HELD_MS: i64 = 10_000;
/// A session that waits in the queue lasts at least so much longer (ms).
const QUEUED_SESSION_MS: i64 = 5 * 60 * 1_000;
/// What one challenge takes, for the estimate of a waiting person (s).
const SECONDS_OF_RUN: i64 = 20;

/// The route that a person chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// What the Flow asks for.
    Standard,
    /// Without turns, and with a person's review.
    Assisted,
}

/// The state of a challenge, for its page.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The state.
    pub state: ChallengeState,
    /// While waiting: the place in the queue from 1, and an estimate in seconds.
    pub queue: Option<(i64, i64)>,
    /// While running: the nonce, the number of the next frame, and the instruction.
    pub running: Option<(Chain, Instruction)>,
    /// The part that is done, 0–1.
    pub progress: f32,
    /// Why the last run failed or counts for nothing.
    pub reason: Option<&'static str>,
    /// Tries that are left.
    pub tries_left: i64,
    /// After the end: the number of the frame to send as selfie.
    pub selfie_frame: Option<u32>,
}

/// A request to begin or continue a challenge.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning<'a> {
    /// The route.
    pub route: Route,
    /// Whether to begin the next try after one that ended.
    pub restart: bool,
    /// What the page says of its camera.
    pub camera: Option<Camera>,
    /// The browser's `User-Agent`.
    pub user_agent: &'a str,
}

/// Starts a challenge, joins the queue, goes on after a break, or begins the next try.
pub async fn begin(app: &App, caller: &Caller, request: Beginning<'_>) -> Result<Progress, Problem> {
    let Beginning {
        route,
        restart,
        camera,
        user_agent,
    } = request;
    let session = open_session(caller)?;
    let mut conn = app.db.read().await?;
    let flow = sessions::configuration(&mut conn, caller.scope, &session.link).await?;
    drop(conn);
    let kind = match (required(&flows::parse(&flow.into())?), route) {
        (None, _) => {
            let text = "This Flow has no challenge: its biometricType is `selfie`";
            return Err(Problem::invalid(text).named("no_challenge"));
        }
        (Some(_), Route::Assisted) => Kind::Assisted,
        (Some(kind), Route::Standard) => kind,
    };
    store::transaction!(app.db, |tx| -> Result<Progress, Problem> {
        let stored = challenges::of_session(tx, caller.scope, session.id).await?;
        let now = tx.now();
        let mut challenge = stored.unwrap_or(Challenge {
            state: ChallengeState::Void,
            tries: 0,
            version: 0,
            queued_at: now,
            held_until: now,
            run: None,
        });
        let is_over = match challenge.state {
            ChallengeState::Passed | ChallengeState::Review | ChallengeState::Failed => true,
            ChallengeState::Waiting | ChallengeState::Running | ChallengeState::Void => false,
        };
        // Who chose the other route after a failed try begins it.
        let changes_route = challenge.state == ChallengeState::Failed && kind == Kind::Assisted;
        if is_over && !restart && !changes_route {
            return shown(tx, session.id, &challenge).await;
        }
        // Who has lost the frames of the last try gets a film for the person who decides.
        let kind = match challenge.tries < i64::from(MAX_TRIES) {
            true => kind,
            false => Kind::Assisted,
        };
        // A run that another version wrote begins again.
        let stored = match State::read(&challenge) {
            Ok(state) => state,
            Err(problem) => {
                tracing::warn!(%problem, "a stored challenge begins again");
                None
            }
        };
        let keeps_capacity = challenge.state == ChallengeState::Running && challenge.held_until > now;
        if !matches!(challenge.state, ChallengeState::Waiting | ChallengeState::Running)
            || challenge.held_until <= now
        {
            challenge.queued_at = now;
        }
        let failures = stored
            .as_ref()
            .map_or_else(Vec::new, |state| state.run.failures());
        // Another route is another run.
        let state = stored
            .clone()
            .filter(|state| !is_over && state.run.end().is_none() && state.run.kind() == kind);
        if keeps_capacity || has_capacity(app, tx, session.id, challenge.queued_at).await? {
            challenge.state = ChallengeState::Running;
            let mut state = match state {
                Some(state) => state.resumed(nonce(), now),
                None => {
                    let mut run = Run::new(Plan::random(kind, &mut random), now);
                    run.note_earlier_failures(failures);
                    State::new(run, nonce())
                }
            };
            let handoff = handoffs::of_session(tx, caller.scope, session.id).await?;
            let taken = handoff
                .filter(|handoff| handoff.claimed)
                .map(|handoff| handoff.number);
            state.signals.begin(camera.clone(), &device(user_agent), taken);
            challenge.run = Some(state.write()?);
        } else {
            challenge.state = ChallengeState::Waiting;
            // Failed tries are remembered also in the queue.
            let kept = state.or(stored.filter(|_| !failures.is_empty()));
            challenge.run = kept.map(|state| state.write()).transpose()?;
            // No token expires because of the queue alone.
            store::sessions::extend(tx, caller.scope, session.id, now + QUEUED_SESSION_MS).await?;
        }
        challenge.held_until = now + HELD_MS;
        write(tx, caller.scope, session.id, &challenge).await?;
        shown(tx, session.id, &challenge).await
    })
}

/// Takes a body of frames that arrived at this time (ms).
pub async fn take_frames(
    app: &Shared,
    caller: &Caller,
    bytes: Bytes,
    arrived_ms: i64,
) -> Result<Progress, Problem> {
    let session = open_session(caller)?;
    let mut conn = app.db.read().await?;
    let stored = challenges::of_session(&mut conn, caller.scope, session.id).await?;
    let Some(mut challenge) = stored else {
        return Err(out_of_step(
            "there is no challenge; call POST /v2/sdk/session/challenge first",
        ));
    };
    let state = State::read(&challenge)?.filter(|_| challenge.state == ChallengeState::Running);
    let Some((mut state, chain)) = state.and_then(|state| state.chain.map(|chain| (state, chain))) else {
        return shown(&mut conn, session.id, &challenge).await;
    };
    let body = Body::parse(&bytes).map_err(refusal)?;
    let chain = match chain.fit(&body).map_err(refusal)? {
        Fit::Repeated => return shown(&mut conn, session.id, &challenge).await,
        Fit::Next(chain) => chain,
    };
    drop(conn);
    let delayed = state.note_arrival(&body, arrived_ms).map_err(refusal)?;
    let wish = state.run.request();
    let filmed = measure(app, &state, bytes.clone(), wish).await?;
    state.check_size(&filmed, &body).map_err(refusal)?;
    let (frames, captured) = (&body.frames, chain.captured_ms());
    let measured = state.measured(frames, &filmed, |frame| {
        arrived_ms - i64::from(captured.saturating_sub(frame.captured_ms))
    });
    let now = Timestamp::now().as_millisecond();
    if delayed {
        state.run.resume(now);
    }
    let traces: Vec<FrameTrace> = frames
        .iter()
        .zip(&filmed.frames)
        .map(|(sent, filmed)| FrameTrace {
            captured_ms: sent.captured_ms,
            hash: sent.hash(),
            unchanged: filmed.unchanged,
        })
        .collect();
    state.signals.body(&traces, arrived_ms);
    state.run.take(&measured, now);
    state.chain = Some(chain);
    state.last = frames.last().map(|frame| state::encoded(frame.jpeg));
    state.track = filmed.track;
    if chain.next() > MAX_FRAMES_OF_RUN {
        state.run.give_up();
    }
    settle(&mut challenge, &state)?;
    store::transaction!(app.db, |tx| -> Result<Progress, Problem> {
        challenge.held_until = tx.now() + HELD_MS;
        write(tx, caller.scope, session.id, &challenge).await?;
        shown(tx, session.id, &challenge).await
    })
}

/// What a session's challenge proves about a selfie.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The kind of challenge that ended.
    pub kind: Kind,
    /// The hashes of the frames that may be the selfie.
    pub selfies: Vec<[u8; 32]>,
    /// The figures.
    pub report: Report,
}

/// The ended challenge of a session; `None` if none was passed or left to a person.
pub async fn proof(app: &App, scope: Scope, session_id: Uuid) -> Result<Option<Proof>, Problem> {
    let mut conn = app.db.read().await?;
    let Some(challenge) = challenges::of_session(&mut conn, scope, session_id).await? else {
        return Ok(None);
    };
    if !matches!(challenge.state, ChallengeState::Passed | ChallengeState::Review) {
        return Ok(None);
    }
    Ok(State::read(&challenge)?.map(|state| Proof {
        kind: state.run.kind(),
        selfies: state.run.selfies().iter().map(|frame| frame.hash).collect(),
        report: state.run.report().clone(),
    }))
}

/// Adds what the session's challenge proves to the evidence about the selfie.
pub fn add_to(gathered: &mut GatheredEvidence, wanted: Biometric, proof: Option<Proof>) {
    let Some(selfie) = &mut gathered.evidence.selfie else {
        return;
    };
    let of_selfie = proof.as_ref().map(|proof| SelfieProof {
        kind: proof.kind,
        end: proof.report.end,
        is_frame: gathered
            .selfie_hash
            .is_some_and(|hash| proof.selfies.contains(&hash)),
    });
    let (challenge, hold) = judge_selfie(wanted, of_selfie);
    selfie.challenge = challenge;
    gathered.evidence.selfie_doubts.extend(hold);
    gathered.seen.challenge = proof.map(|proof| proof.report);
}

/// The kind of challenge that a Flow asks for, in any country.
fn required(flow: &Flow) -> Option<Kind> {
    let countries = flow.overrides.iter().map(|country| Some(country.country.alpha3));
    let wanted = std::iter::once(None)
        .chain(countries)
        .map(|country| flow.configuration(country).biometric());
    wanted.fold(None, |kind, biometric| match (kind, biometric) {
        (_, Biometric::Liveness) | (Some(Kind::Turns), _) => Some(Kind::Turns),
        (_, Biometric::LiveSelfie) => Some(Kind::Burst),
        (kind, Biometric::Selfie) => kind,
    })
}

/// Writes the end of a run into its challenge.
fn settle(challenge: &mut Challenge, state: &State) -> Result<(), Problem> {
    let Some(end) = state.run.end() else {
        challenge.run = Some(state.write()?);
        return Ok(());
    };
    let kind = state.run.kind().as_str();
    let outcome = match end {
        End::Passed => "passed",
        End::Review(_) => "review",
        End::Failed(_) => "failed",
        End::Void(_) => "void",
    };
    metrics::counter!("bonafide_challenges_total", "kind" => kind, "end" => outcome).increment(1);
    let report = state.run.report();
    tracing::debug!(
        ?end,
        moves = ?report.moves,
        flashes = ?report.flashes,
        frames = report.frames,
        took_ms = report.took_ms,
        repeats = report.repeats,
        signals = ?report.signals,
        "a challenge ended"
    );
    let mut ended = state.ended();
    challenge.state = match end {
        End::Passed => ChallengeState::Passed,
        End::Review(_) => ChallengeState::Review,
        End::Void(_) => ChallengeState::Void,
        End::Failed(_) => {
            challenge.tries += 1;
            if challenge.tries >= i64::from(MAX_TRIES) {
                ended.run.leave_to_review(Doubt::NoTriesLeft);
                ChallengeState::Review
            } else {
                ChallengeState::Failed
            }
        }
    };
    challenge.run = Some(ended.write()?);
    Ok(())
}

async fn measure(app: &Shared, state: &State, bytes: Bytes, wish: FilmWish) -> Result<Filmed, Problem> {
    let shared = Shared::clone(app);
    let (last, track) = (state.last_frame()?, state.track.clone());
    app.films
        .run(move |gone| {
            let body = Body::parse(&bytes).map_err(refusal)?;
            let frames: Vec<&[u8]> = body.frames.iter().map(|frame| frame.jpeg).collect();
            let task = FilmTask {
                before: last.as_deref().zip(track.as_ref()),
                frames: &frames,
                restart: wish.restart,
                embed: wish.embed,
            };
            let gone = gone.clone();
            match shared.engines.film(task, move || gone.is_set())? {
                Ok(filmed) => {
                    shared
                        .challenges
                        .note(frames.len(), filmed.timing_ms.values().sum());
                    Ok(filmed)
                }
                Err(error) => {
                    let place = error.frame.and_then(|place| usize::try_from(place).ok());
                    let frame = match place.and_then(|place| body.frames.get(place)) {
                        Some(frame) => format!("frame {}", frame.number),
                        None => "a frame".to_owned(),
                    };
                    let text = "is not a JPEG picture that can be read; send JPEG, 320 to 480 pixels wide";
                    Err(Problem::validation(vec![format!("frames - {frame} {text}")]))
                }
            }
        })
        .await?
}

/// Whether a challenge that came at `queued_at` (ms) may run: no more challenges run than the serving nodes
/// carry, and none that came before waits for that capacity.
async fn has_capacity(app: &App, tx: &mut Tx, session_id: Uuid, queued_at: i64) -> Result<bool, Problem> {
    let queue = challenges::queue(tx, session_id, queued_at).await?;
    let carried = crate::nodes::challenges(app, tx).await?;
    Ok(queue.running + queue.ahead < i64::try_from(carried).unwrap_or(i64::MAX))
}

async fn write(tx: &mut Tx, scope: Scope, session_id: Uuid, challenge: &Challenge) -> Result<(), Problem> {
    match challenges::write(tx, scope, session_id, challenge).await? {
        true => Ok(()),
        false => Err(out_of_step(
            "another request took frames of this challenge meanwhile; send one request at a time",
        )),
    }
}

async fn shown(conn: &mut store::Conn, session_id: Uuid, challenge: &Challenge) -> Result<Progress, Problem> {
    let state = State::read(challenge)?;
    let is_waiting = challenge.state == ChallengeState::Waiting;
    let run = state
        .as_ref()
        .map(|state| &state.run)
        .filter(|run| !is_waiting || run.end().is_none());
    let queue = match challenge.state {
        ChallengeState::Waiting => {
            let queue = challenges::queue(conn, session_id, challenge.queued_at).await?;
            let rounds = (queue.ahead + queue.running) / queue.running.max(1);
            Some((queue.ahead + 1, rounds * SECONDS_OF_RUN))
        }
        _ => None,
    };
    let running = state
        .as_ref()
        .filter(|_| challenge.state == ChallengeState::Running)
        .and_then(|state| state.chain.map(|chain| (chain, state.run.instruction())));
    let reason = run.and_then(Run::end).and_then(|end| match end {
        End::Failed(failure) => Some(failure.as_str()),
        End::Void(cause) => Some(cause.as_str()),
        End::Passed | End::Review(_) => None,
    });
    let is_usable = matches!(challenge.state, ChallengeState::Passed | ChallengeState::Review);
    Ok(Progress {
        state: challenge.state,
        queue,
        running,
        progress: run.map_or(0.0, Run::progress),
        reason,
        tries_left: (i64::from(MAX_TRIES) - challenge.tries).max(0),
        selfie_frame: run
            .filter(|_| is_usable)
            .and_then(|run| run.selfies().last())
            .map(|frame| frame.number),
    })
}

fn open_session(caller: &Caller) -> Result<&Session, Problem> {
    caller.check_session()?;
    caller
        .session
        .as_ref()
        .ok_or_else(|| Problem::internal("a route of the hosted page let a key in"))
}

fn out_of_step(text: &str) -> Problem {
    Problem::new(problem::Kind::Conflict, format!("frames - {text}")).named("challenge_out_of_step")
}

fn refusal(error: FramesError) -> Problem {
    match error {
        FramesError::Malformed(_) => Problem::validation(vec![error.to_string()]),
        FramesError::OutOfStep(_) => {
            Problem::new(problem::Kind::Conflict, error.to_string()).named("challenge_out_of_step")
        }
    }
}

/// What tells one browser from another. Only its hash is stored.
fn device(user_agent: &str) -> String {
    hex::encode(&Sha256::digest(user_agent)[..8])
}

fn random(limit: u32) -> u32 {
    rand::random_range(0..limit)
}

fn nonce() -> [u8; NONCE_BYTES] {
    rand::random()
}
