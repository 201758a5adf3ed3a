//! `/v2/sdk/session/challenge…`: the liveness challenge's endpoints, which only the hosted page calls. They are
//! additions to the contract. They decide nothing; see `service::challenge`.

use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::response::Json;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_server::body;
use http_server::error::Rejection;
use http_server::gate::Authenticated;
use http_server::json::JsonObject;
use http_server::openapi::{ErrorAndMessageBody, HostedErrors, SessionBodyErrors};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use service::Shared;
use service::challenge::{self, Beginning, Progress, Route};
use service::problem::Problem;
use utoipa::ToSchema;
use verification::challenge::frames::MAX_BODY_BYTES;
use verification::challenge::{Camera, Shown};

/// How to start or continue a challenge.
#[derive(ToSchema)]
#[allow(dead_code, reason = "read by the derive only; `read` reads the body")]
pub struct ChallengeRequestBody {
    /// `standard` is what the Flow asks for. `assisted` asks for no turns, and a person reviews it.
    #[schema(pattern = "^(standard|assisted)$", example = "standard")]
    route: Option<String>,
    /// Whether to begin the next try after one that ended.
    #[schema(example = false)]
    restart: Option<bool>,
    /// What the page says of its camera. Reviewers see it; nothing fails by it.
    camera: Option<CameraBody>,
}

/// A camera, as the browser describes it. Every member may be left out. A member that cannot be read, or has another
/// name, is ignored.
#[derive(ToSchema)]
#[schema(as = CameraDescription, rename_all = "camelCase")]
#[allow(dead_code, reason = "read by the derive only; `described` reads it")]
pub struct CameraBody {
    /// Its name. The first 120 characters are kept.
    #[schema(example = "FaceTime HD Camera")]
    label: Option<String>,
    /// Width in pixels.
    #[schema(example = 1280)]
    width: Option<u32>,
    /// Height in pixels.
    #[schema(example = 720)]
    height: Option<u32>,
    /// Frames a second.
    #[schema(example = 30)]
    frame_rate: Option<f32>,
    /// Whether the browser knows it as a device.
    #[schema(example = true)]
    device: Option<bool>,
    /// Whether the browser says that a program controls it (`navigator.webdriver`).
    #[schema(example = false)]
    automated: Option<bool>,
}

/// A camera as the page describes it. A member that cannot be read is unknown: no person fails by their camera's
/// description.
fn described(camera: &Map<String, Value>) -> Camera {
    let number = |name: &str| camera.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let flag = |name: &str| camera.get(name).and_then(Value::as_bool);
    let label = camera.get("label").and_then(Value::as_str);
    Camera {
        label: label.unwrap_or_default().to_owned(),
        // `as` saturates.
        width: number("width") as u32,
        height: number("height") as u32,
        frame_rate: number("frameRate") as f32,
        is_device: flag("device").unwrap_or(true),
        is_automated: flag("automated").unwrap_or(false),
    }
    .bounded()
}

/// The state of a challenge.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChallengeBody {
    /// `waiting`, `running`, `passed`, `review`, `failed` or `void`. After `void`, the next call starts again and
    /// costs no try.
    #[schema(example = "running")]
    pub state: &'static str,
    /// While waiting: the place in the queue, from 1.
    #[schema(example = 3)]
    pub place: Option<i64>,
    /// While waiting: an estimate in seconds.
    #[schema(example = 40)]
    pub wait_seconds: Option<i64>,
    /// While running: the nonce of the frames' chain, 16 bytes in base64url.
    #[schema(example = "3q2-7wABAgMEBQYHCAkKCw")]
    pub nonce: Option<String>,
    /// While running: the number of the next frame.
    #[schema(example = 17)]
    pub next_frame: Option<u32>,
    /// While running: what the page shows.
    pub instruction: Option<InstructionBody>,
    /// While running: `no_face`, `one_face`, `closer`, `farther`, `centre`, `look_straight`, `too_dark`, `more`,
    /// `less`, `slower` or `hold_still`.
    #[schema(example = "closer")]
    pub hint: Option<&'static str>,
    /// The part that is done, 0–1.
    #[schema(example = 0.4)]
    pub progress: f32,
    /// Why the last run failed (`too_slow`, `wrong_way`, `too_fast`, `too_early`, `another_face`, `flat`,
    /// `wrong_light`, `interrupted`) or counts for nothing (`slow_connection`, `busy`, `broken_off`).
    #[schema(example = "too_slow")]
    pub reason: Option<&'static str>,
    /// Tries that are left.
    #[schema(example = 3)]
    pub tries_left: i64,
    /// After `passed` and `review`: the number of the frame to send as `selfie`, byte for byte.
    #[schema(example = 6)]
    pub selfie_frame: Option<u32>,
}

/// What the page shows.
#[derive(Serialize, ToSchema)]
pub struct InstructionBody {
    /// Its number; frames name the instruction that was on the screen.
    #[schema(example = 4)]
    pub number: u16,
    /// `look`, `flash`, `ready`, `turn_left`, `turn_right`, `nod_up`, `nod_down`, `hold` or `back`. Left and right
    /// are the person's own.
    #[schema(example = "turn_left")]
    pub show: &'static str,
    /// The move to hold, for `hold`.
    #[schema(example = "turn_left")]
    #[serde(rename = "move")]
    pub movement: Option<&'static str>,
    /// The colour of the screen, for `flash`.
    #[schema(example = "#ff5050")]
    pub colour: Option<&'static str>,
}

impl From<Progress> for ChallengeBody {
    fn from(progress: Progress) -> Self {
        let (place, wait_seconds) = progress.queue.unzip();
        let (chain, instruction) = progress.running.unzip();
        ChallengeBody {
            state: progress.state.as_str(),
            place,
            wait_seconds,
            nonce: chain.map(|chain| URL_SAFE_NO_PAD.encode(chain.nonce())),
            next_frame: chain.map(|chain| chain.next()),
            instruction: instruction.map(|instruction| InstructionBody {
                number: instruction.number,
                show: instruction.shown.as_str(),
                movement: match instruction.shown {
                    Shown::Do(movement) | Shown::Hold(movement) => Some(movement.as_str()),
                    Shown::Look | Shown::Flash(_) | Shown::Ready | Shown::Back => None,
                },
                colour: match instruction.shown {
                    Shown::Flash(colour) => Some(colour.css()),
                    _ => None,
                },
            }),
            hint: instruction
                .and_then(|instruction| instruction.hint)
                .map(|hint| hint.as_str()),
            progress: progress.progress,
            reason: progress.reason,
            tries_left: progress.tries_left,
            selfie_frame: progress.selfie_frame,
        }
    }
}

/// Start the liveness challenge, or continue it.
///
/// It joins the queue while the server is at capacity: repeat the call every two seconds. After a break, the call
/// gives a new nonce and repeats the step at hand, which costs no try.
#[utoipa::path(post, path = "/v2/sdk/session/challenge", operation_id = "beginChallenge", tag = "Hosted page", security(("bearer" = [])),
    request_body = ChallengeRequestBody,
    responses(
        (status = 200, description = "The challenge", body = ChallengeBody),
        (status = 400, description = "Validation failed, or `no_challenge`: the Flow takes a plain selfie", body = ErrorAndMessageBody),
        (status = 404, description = "`not_found`: the session's Flow or Group was deleted", body = ErrorAndMessageBody),
        (status = 409, description = "`challenge_out_of_step`: another device continues it", body = ErrorAndMessageBody),
        HostedErrors, SessionBodyErrors))]
pub async fn begin(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Json<ChallengeBody>, Rejection> {
    let (route, restart, camera) = read(&body.object)?;
    let user_agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    let beginning = Beginning {
        route,
        restart,
        camera,
        user_agent,
    };
    Ok(Json(challenge::begin(&app, &caller, beginning).await?.into()))
}

/// Send frames of the liveness challenge.
///
/// The body is, big-endian: the nonce (16 bytes), the chain (32 bytes), then 1 to 30 frames: number (`u32`),
/// milliseconds since the nonce's first frame (`u32`), number of the instruction on the screen (`u16`), length
/// (`u16`), JPEG. The chain starts as SHA-256 of the nonce, and each frame makes it SHA-256 of the chain followed by
/// the frame's 12 bytes of numbers and its JPEG; the body states the chain after its last frame. Frames are JPEG pictures of at most 15,000 bytes,
/// 320–480 pixels wide, at most 854 high, all of one size and not mirrored, 10–20 a second. The same body can be sent
/// again after a broken connection.
#[utoipa::path(post, path = "/v2/sdk/session/challenge/frames", operation_id = "sendChallengeFrames", tag = "Hosted page", security(("bearer" = [])),
    request_body(content = FilmBytes, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "The challenge", body = ChallengeBody),
        (status = 400, description = "Validation failed: the text names the frame and the remedy; nothing was taken", body = ErrorAndMessageBody),
        (status = 409, description = "`challenge_out_of_step`: another nonce, a missing frame or another chain; start or continue the challenge", body = ErrorAndMessageBody),
        HostedErrors, SessionBodyErrors))]
pub async fn frames(
    State(app): State<Shared>,
    Authenticated(caller): Authenticated,
    FramesBody { bytes, arrived_ms }: FramesBody,
) -> Result<Json<ChallengeBody>, Rejection> {
    Ok(Json(
        challenge::take_frames(&app, &caller, bytes, arrived_ms)
            .await?
            .into(),
    ))
}

/// The bytes of a body of frames.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "read by the derive only")]
pub struct FilmBytes(Vec<u8>);

/// A body of frames, and when it had arrived (ms).
pub struct FramesBody {
    bytes: Bytes,
    arrived_ms: i64,
}

impl<S: Send + Sync> FromRequest<S> for FramesBody {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        let content_type = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        if content_type != Some("application/octet-stream") {
            let text = "body - Content-Type must be application/octet-stream";
            return Err(Problem::validation(vec![text.into()]).into());
        }
        let bytes = body::whole(request.into_body(), MAX_BODY_BYTES).await?;
        Ok(FramesBody {
            bytes,
            arrived_ms: Timestamp::now().as_millisecond(),
        })
    }
}

fn read(body: &Map<String, Value>) -> Result<(Route, bool, Option<Camera>), Problem> {
    let mut errors = Vec::new();
    let route = match body.get("route") {
        None | Some(Value::Null) => Route::Standard,
        Some(Value::String(route)) if route == "standard" => Route::Standard,
        Some(Value::String(route)) if route == "assisted" => Route::Assisted,
        Some(_) => {
            errors.push("route - must be `standard` or `assisted`".to_owned());
            Route::Standard
        }
    };
    let restart = match body.get("restart") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(restart)) => *restart,
        Some(_) => {
            errors.push("restart - must be true or false".to_owned());
            false
        }
    };
    let camera = match body.get("camera") {
        None | Some(Value::Null) => None,
        Some(Value::Object(camera)) => Some(described(camera)),
        Some(_) => {
            errors.push("camera - must be an object".to_owned());
            None
        }
    };
    let unknown = body
        .keys()
        .filter(|key| !["route", "restart", "camera"].contains(&key.as_str()));
    errors.extend(unknown.map(|key| format!("{key} - is unknown; send `route`, `restart` and `camera`")));
    if errors.is_empty() {
        Ok((route, restart, camera))
    } else {
        Err(Problem::validation(errors))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_request_says() {
        for (body, expected) in [
            (json!({}), Ok((Route::Standard, false, None))),
            (
                json!({"route": "standard", "restart": true}),
                Ok((Route::Standard, true, None)),
            ),
            (
                json!({"route": "assisted", "restart": null, "camera": null}),
                Ok((Route::Assisted, false, None)),
            ),
            (
                json!({"camera": {"label": "Cam\u{0}", "width": 640, "height": 480, "frameRate": 29.97, "device": true}}),
                Ok((
                    Route::Standard,
                    false,
                    Some(Camera {
                        label: "Cam".into(),
                        width: 640,
                        height: 480,
                        frame_rate: 29.97,
                        is_device: true,
                        is_automated: false,
                    }),
                )),
            ),
            (json!({"camera": "front"}), Err("camera - ")),
            (
                json!({"camera": {"width": -1, "height": 480.5, "frameRate": "fast", "device": 1, "lens": 1}}),
                Ok((
                    Route::Standard,
                    false,
                    Some(Camera {
                        height: 480,
                        is_device: true,
                        ..Camera::default()
                    }),
                )),
            ),
            (json!({"route": "easy"}), Err("route")),
            (json!({"restart": "yes"}), Err("restart")),
            (json!({"rout": "assisted"}), Err("rout - is unknown")),
        ] {
            let Value::Object(object) = &body else {
                panic!("an object")
            };
            match (read(object), expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{body}"),
                (Err(problem), Err(text)) => assert!(problem.errors()[0].starts_with(text), "{body}"),
                (read, _) => panic!("{body}: {read:?}"),
            }
        }
    }
}
