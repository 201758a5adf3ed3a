//! The messages between the server and its engine workers, over stdin and stdout.
//!
//! A message is a length (`u32`, little-endian) and that many bytes of postcard. A request is followed by the
//! file: a length and its bytes. The worker begins with a [`Greeting`]. Both sides check every length before
//! they allocate memory.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use documents::ReadHints;
use faces::{FaceReading, Track};
use imaging::{DecodeError, Limits};
use sandbox::Walls;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answers::{Bounds, DocumentPicture, PictureInfo, Plausible, SelfiePicture, ShownPicture, Stage};
use crate::film::{FilmBounds, FilmDecodeError, Filmed};
use crate::limits::{FILE_WEAR, FILM_WEAR, READING, filming};

/// The largest file in a request, in bytes.
const MAX_FILE: usize = 64 << 20;
/// The largest message to a worker, in bytes. The track of a film takes up to 3,000.
const MAX_REQUEST: usize = 4 << 10;
/// The largest reading from a worker, in bytes. A reading of a full page with sixteen faces takes 20,000.
const MAX_READING: usize = 256 << 10;
/// The largest picture from a worker, in bytes.
const MAX_SHOWN: usize = 16 << 20;

/// Why the connection failed. The worker must then be replaced.
#[derive(Debug, Error)]
pub enum ProtocolError {
    /// The pipe broke or ended because the other process ended.
    #[error("the engine worker cannot be reached")]
    Io(#[from] io::Error),
    /// A length exceeds its limit, or a message is invalid.
    #[error("the engine worker's message is malformed")]
    Malformed,
}

/// A worker's first message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// The walls around the worker.
    pub walls: Walls,
    /// The models, or why they cannot be used.
    pub models: Result<LoadedModels, String>,
}

/// The models of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadedModels {
    /// The version of the model that embeds faces.
    pub face_model: String,
    /// The versions of all models, by name.
    pub versions: BTreeMap<String, String>,
    /// The sizes of the files of custom models, together.
    pub own_bytes: u64,
}

/// What to do with the faces of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaceWish {
    /// Nothing.
    Ignore,
    /// Find them, and embed none.
    Find,
    /// Find and embed them.
    Embed,
}

/// What to do with a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    /// Only decode it.
    Check,
    /// Encode it again for reviewers.
    Show {
        /// The longest side, in pixels.
        max_side: u32,
        /// JPEG quality, 1–100.
        quality: u8,
    },
    /// Find and embed its faces as a selfie's, and measure the passive cue.
    Selfie,
    /// Read it as one side of a document.
    Document {
        /// What is expected.
        hints: ReadHints,
        /// What to do with its faces.
        faces: FaceWish,
    },
    /// Measure the frames of a film. The file is each frame's length (`u32`, little-endian) and JPEG, with the frame
    /// before first, if there is one.
    Film {
        /// What the frame before was returned with.
        before: Option<Track>,
        /// The number of frames without the one before.
        frames: u32,
        /// Whether the first of them becomes the new reference.
        restart: bool,
        /// Bit i requests an embedding of frame i.
        embed: u64,
    },
}

impl Task {
    /// Processor time for the work on the decoded file, in whole seconds.
    pub(crate) fn reading(&self) -> Duration {
        match self {
            Task::Film { frames, .. } => filming(*frames),
            _ => READING,
        }
    }

    /// How much this wears a worker; see [`crate::limits::MAX_WEAR`].
    pub(crate) fn wear(&self) -> u32 {
        match self {
            Task::Film { .. } => FILM_WEAR,
            _ => FILE_WEAR,
        }
    }
}

/// A request without its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What to do.
    pub task: Task,
    /// The limits of decoding, with the first page to read.
    pub limits: Limits,
}

/// A worker's answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The file gives this picture.
    Checked(PictureInfo),
    /// The picture, encoded again.
    Shown(ShownPicture),
    /// The picture as a selfie.
    Selfie(Box<SelfiePicture>),
    /// The picture as one side of a document.
    Document(Box<DocumentPicture>),
    /// The frames of a film, measured.
    Filmed(Box<Filmed>),
    /// A frame of a film gives no picture.
    FrameUndecodable(FilmDecodeError),
    /// The file gives no picture.
    Undecodable(DecodeError),
    /// A model did not run, which is no fault of the file.
    EngineFailed(Stage),
}

pub(crate) fn write_request(
    to: &mut impl Write,
    request: &Request,
    file: &[u8],
) -> Result<(), ProtocolError> {
    if file.len() > MAX_FILE {
        return Err(ProtocolError::Malformed);
    }
    write(to, request)?;
    to.write_all(&length(file)?)?;
    to.write_all(file)?;
    Ok(to.flush()?)
}

/// Returns `None` at the end of input between two requests.
pub(crate) fn read_request(from: &mut impl Read) -> Result<Option<(Request, Vec<u8>)>, ProtocolError> {
    let mut first = [0];
    match from.read_exact(&mut first) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut from = first.chain(from);
    let request = read(&mut from, MAX_REQUEST)?;
    Ok(Some((request, read_bytes(&mut from, MAX_FILE)?)))
}

pub(crate) fn write_answer(to: &mut impl Write, answer: &Answer) -> Result<(), ProtocolError> {
    write(to, answer)?;
    Ok(to.flush()?)
}

/// Whether a reading has the faces that were asked for, and embeddings only where they were.
fn is_as_wished(faces: Option<&FaceReading>, wish: FaceWish) -> bool {
    match (faces, wish) {
        (None, FaceWish::Ignore) | (Some(_), FaceWish::Embed) => true,
        (Some(found), FaceWish::Find) => found.faces.iter().all(|face| face.embedding.is_none()),
        _ => false,
    }
}

/// Reads a worker's answer to a request in the server, which trusts these bytes no more than the file.
/// `face_model` is the version that the worker's greeting named.
///
/// # Errors
/// Fails if the pipe breaks, the length exceeds its limit, or no honest worker can have sent the message.
pub fn read_answer(
    from: &mut impl Read,
    request: &Request,
    face_model: &str,
) -> Result<Answer, ProtocolError> {
    let most = match request.task {
        Task::Show { .. } => MAX_SHOWN,
        _ => MAX_READING,
    };
    let bounds = Bounds {
        from_page: request.limits.from_page,
        max_pages: request.limits.max_pages,
        face_model,
    };
    let answer: Answer = read(from, most)?;
    let plausible = match (&answer, &request.task) {
        (Answer::Checked(info), Task::Check) => info.is_plausible(bounds),
        (Answer::Shown(shown), Task::Show { .. }) => shown.is_plausible(bounds),
        (Answer::Selfie(picture), Task::Selfie) => picture.is_plausible(bounds),
        (Answer::Document(picture), Task::Document { faces, .. }) => {
            is_as_wished(picture.faces.as_ref(), *faces) && picture.is_plausible(bounds)
        }
        (
            Answer::Filmed(filmed),
            Task::Film {
                before,
                frames,
                embed,
                ..
            },
        ) => filmed.is_plausible(FilmBounds {
            continues: before.is_some(),
            frames: *frames,
            embed: *embed,
            face_model,
        }),
        (Answer::FrameUndecodable(refused), Task::Film { frames, .. }) => {
            refused.frame.is_none_or(|number| number < *frames)
        }
        (Answer::Undecodable(_) | Answer::EngineFailed(_), _) => true,
        _ => false,
    };
    plausible.then_some(answer).ok_or(ProtocolError::Malformed)
}

pub(crate) fn write_greeting(to: &mut impl Write, greeting: &Greeting) -> Result<(), ProtocolError> {
    write(to, greeting)?;
    Ok(to.flush()?)
}

pub(crate) fn read_greeting(from: &mut impl Read) -> Result<Greeting, ProtocolError> {
    read(from, MAX_REQUEST)
}

fn write(to: &mut impl Write, message: &impl Serialize) -> Result<(), ProtocolError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| ProtocolError::Malformed)?;
    to.write_all(&length(&bytes)?)?;
    Ok(to.write_all(&bytes)?)
}

fn read<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> Result<T, ProtocolError> {
    let bytes = read_bytes(from, most)?;
    match postcard::take_from_bytes(&bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(ProtocolError::Malformed),
    }
}

fn length(bytes: &[u8]) -> Result<[u8; 4], ProtocolError> {
    let length = u32::try_from(bytes.len()).map_err(|_| ProtocolError::Malformed)?;
    Ok(length.to_le_bytes())
}

fn read_bytes(from: &mut impl Read, most: usize) -> Result<Vec<u8>, ProtocolError> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(ProtocolError::Malformed);
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request() -> Request {
        Request {
            task: Task::Document {
                hints: ReadHints::default(),
                faces: FaceWish::Embed,
            },
            limits: Limits::default(),
        }
    }

    #[test]
    fn requests_arrive_as_they_were_sent_and_end_between_two() {
        let mut pipe = Vec::new();
        write_request(&mut pipe, &request(), b"first").unwrap();
        write_request(&mut pipe, &request(), b"").unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(
            read_request(&mut from).unwrap(),
            Some((request(), b"first".to_vec()))
        );
        assert_eq!(read_request(&mut from).unwrap(), Some((request(), Vec::new())));
        assert_eq!(read_request(&mut from).unwrap(), None);
        let cut = &mut &pipe[..9];
        assert!(read_request(cut).is_err(), "an end inside a request");
    }

    #[test]
    fn lengths_beyond_the_limit_are_refused_before_memory_is_taken() {
        let huge = u32::MAX.to_le_bytes();
        assert!(matches!(
            read_answer(&mut huge.as_slice(), &request(), ""),
            Err(ProtocolError::Malformed)
        ));
        assert!(matches!(
            read_request(&mut huge.as_slice()),
            Err(ProtocolError::Malformed)
        ));
        let mut pipe = Vec::new();
        assert!(write_request(&mut pipe, &request(), &vec![0; MAX_FILE + 1]).is_err());
        assert!(pipe.is_empty());
    }

    proptest! {
        #[test]
        fn random_bytes_only_end_the_conversation(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let framed = [&(bytes.len() as u32).to_le_bytes(), bytes.as_slice()].concat();
            for bytes in [&bytes, &framed] {
                let _ = read_answer(&mut bytes.as_slice(), &request(), "");
                let _ = read_greeting(&mut bytes.as_slice());
                let _ = read_request(&mut bytes.as_slice());
            }
        }
    }

    #[test]
    fn a_frame_that_was_not_sent_is_not_refused() {
        let film = |frames| Request {
            task: Task::Film {
                before: None,
                frames,
                restart: true,
                embed: 0,
            },
            limits: Limits::default(),
        };
        let mut message = Vec::new();
        let refused = FilmDecodeError {
            frame: Some(2),
            error: DecodeError::Truncated,
        };
        write_answer(&mut message, &Answer::FrameUndecodable(refused.clone())).unwrap();
        let read = |request: &Request| read_answer(&mut message.as_slice(), request, "");
        assert_eq!(read(&film(3)).unwrap(), Answer::FrameUndecodable(refused));
        assert!(matches!(read(&film(2)), Err(ProtocolError::Malformed)));
        assert!(matches!(read(&request()), Err(ProtocolError::Malformed)));
    }

    #[test]
    fn bytes_after_a_message_are_refused() {
        let mut bytes = postcard::to_stdvec(&Answer::EngineFailed(Stage::Read)).unwrap();
        bytes.push(0);
        let mut message = u32::try_from(bytes.len()).unwrap().to_le_bytes().to_vec();
        message.extend(bytes);
        assert!(matches!(
            read_answer(&mut message.as_slice(), &request(), ""),
            Err(ProtocolError::Malformed)
        ));
    }
}
