//! The protocol of the decoding child process: one request after another over stdin and stdout.
//!
//! The server starts `bonafide decode-worker` and replaces it when it ends; the child sets its own resource
//! limits. This module contains only the messages. Both sides check every length before they allocate memory,
//! and the parent trusts the child no more than the file.
//!
//! Request: `u32` length and JSON of [`Limits`], then `u32` length and the file. Answer: `u32` length and
//! JSON of the outcome, then the pixels of a picture (`width × height × 3` bytes). Numbers are little-endian.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::decode::decode;
use crate::decoded::Decoded;
use crate::error::DecodeError;
use crate::format::Format;
use crate::limits::Limits;
use crate::picture::{Picture, byte_len};

/// The largest length of JSON, in bytes, on either side.
const MAX_HEAD: usize = 4096;
/// The largest file in a request, in bytes.
pub const MAX_FILE: usize = 64 << 20;

/// Why the connection failed. The child must then be replaced.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The pipe broke or ended because the child died, for instance at its memory limit.
    #[error("the decode worker cannot be reached")]
    Io(#[from] io::Error),
    /// A length exceeds its limit, or a message is invalid.
    #[error("the decode worker's message is malformed")]
    Malformed,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Decoded(PictureHeader),
    Failed(DecodeError),
}

#[derive(Serialize, Deserialize)]
struct PictureHeader {
    width: u32,
    height: u32,
    format: Format,
    source_width: u32,
    source_height: u32,
    exif_orientation: u8,
    page: Option<u32>,
    pages: Option<u32>,
}

/// Sends a request from the parent.
///
/// # Errors
/// [`WorkerError::Io`] if the pipe is broken. [`WorkerError::Malformed`] if the file exceeds [`MAX_FILE`];
/// then nothing is sent.
pub fn write_request(to: &mut impl Write, file: &[u8], limits: &Limits) -> Result<(), WorkerError> {
    if file.len() > MAX_FILE {
        return Err(WorkerError::Malformed);
    }
    write_json(to, limits)?;
    to.write_all(&(file.len() as u32).to_le_bytes())?;
    to.write_all(file)?;
    Ok(to.flush()?)
}

/// Reads, in the parent, the answer to a request made with `limits`.
///
/// # Errors
/// The outer error means that there is no usable answer and the child must be replaced. The inner error is
/// the child's.
pub fn read_answer(
    from: &mut impl Read,
    limits: &Limits,
) -> Result<Result<Decoded, DecodeError>, WorkerError> {
    let head = match read_json(from)? {
        Answer::Decoded(head) => head,
        Answer::Failed(error) => return Ok(Err(error)),
    };
    let most = limits.max_pixels.max(limits.max_page_pixels);
    if u64::from(head.width) * u64::from(head.height) > most {
        return Err(WorkerError::Malformed);
    }
    let mut pixels = vec![0; byte_len(head.width, head.height).ok_or(WorkerError::Malformed)?];
    from.read_exact(&mut pixels)?;
    Ok(Ok(Decoded {
        picture: Picture::new(head.width, head.height, pixels).ok_or(WorkerError::Malformed)?,
        format: head.format,
        source_width: head.source_width,
        source_height: head.source_height,
        exif_orientation: head.exif_orientation,
        page: head.page,
        pages: head.pages,
    }))
}

/// Answers requests, in the child, until the input ends.
///
/// `limit` is called before each file. It makes the operating system end this process if the file needs more
/// processor time than [`Limits::processor`].
///
/// The function also returns after a file that was not finished or crashed its decoder, because that file's
/// thread may still use time and memory. The process should then end, and its parent start another.
///
/// # Errors
/// Fails if the pipe breaks, a request is malformed or `limit` fails.
pub fn serve(
    mut input: impl Read,
    mut output: impl Write,
    mut limit: impl FnMut(&Limits) -> io::Result<()>,
) -> Result<(), WorkerError> {
    while let Some((file, limits)) = read_request(&mut input)? {
        limit(&limits)?;
        let outcome = decode(&file, &limits);
        write_answer(&mut output, &outcome)?;
        if matches!(outcome, Err(DecodeError::Unfinished | DecodeError::Crashed)) {
            break;
        }
    }
    Ok(())
}

/// Returns `None` at the end of input between two requests.
fn read_request(from: &mut impl Read) -> Result<Option<(Vec<u8>, Limits)>, WorkerError> {
    let limits = match read_json(from) {
        Ok(limits) => limits,
        Err(WorkerError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut file = vec![0; read_length(from, MAX_FILE)?];
    from.read_exact(&mut file)?;
    Ok(Some((file, limits)))
}

fn write_answer(to: &mut impl Write, outcome: &Result<Decoded, DecodeError>) -> Result<(), WorkerError> {
    match outcome {
        Err(error) => write_json(to, &Answer::Failed(error.clone()))?,
        Ok(decoded) => {
            write_json(
                to,
                &Answer::Decoded(PictureHeader {
                    width: decoded.picture.width,
                    height: decoded.picture.height,
                    format: decoded.format,
                    source_width: decoded.source_width,
                    source_height: decoded.source_height,
                    exif_orientation: decoded.exif_orientation,
                    page: decoded.page,
                    pages: decoded.pages,
                }),
            )?;
            to.write_all(&decoded.picture.pixels)?;
        }
    }
    Ok(to.flush()?)
}

fn write_json(to: &mut impl Write, message: &impl Serialize) -> Result<(), WorkerError> {
    let json = serde_json::to_vec(message).map_err(|_| WorkerError::Malformed)?;
    to.write_all(&(json.len() as u32).to_le_bytes())?;
    Ok(to.write_all(&json)?)
}

fn read_json<T: for<'de> Deserialize<'de>>(from: &mut impl Read) -> Result<T, WorkerError> {
    let mut json = vec![0; read_length(from, MAX_HEAD)?];
    from.read_exact(&mut json)?;
    serde_json::from_slice(&json).map_err(|_| WorkerError::Malformed)
}

fn read_length(from: &mut impl Read, most: usize) -> Result<usize, WorkerError> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        Err(WorkerError::Malformed)
    } else {
        Ok(length)
    }
}
