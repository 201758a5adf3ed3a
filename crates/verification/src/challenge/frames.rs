//! The form in which the page sends frames, and the chain that binds them to a challenge.
//!
//! A body is, big-endian: the nonce (16 bytes), the chain after its last frame (32 bytes), then for each frame
//! its number (`u32`), the page's clock (`u32`, ms since the nonce's first frame), the number of the
//! instruction on the screen (`u16`), a length (`u16`) and that many bytes of JPEG. The chain begins as SHA-256
//! of the nonce; every frame turns it into SHA-256 of the chain and the frame's bytes, header included. So no
//! frame can be left out, moved, or taken from another challenge.
//!
//! This module never looks inside a JPEG.

use sha2::{Digest, Sha256};
use thiserror::Error;

/// The bytes of a nonce.
pub const NONCE_BYTES: usize = 16;
/// The most frames in a body.
pub const MAX_FRAMES: usize = 30;
/// The most bytes of a frame.
pub const MAX_FRAME_BYTES: usize = 15_000;
/// The most bytes of a body.
pub const MAX_BODY_BYTES: usize = NONCE_BYTES + 32 + MAX_FRAMES * (HEADER + MAX_FRAME_BYTES);
/// The most frames of a challenge. At 20 a second they last 90 seconds.
pub const MAX_FRAMES_OF_RUN: u32 = 1_800;

/// Number, clock, instruction, length.
const HEADER: usize = 12;

/// A frame of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number.
    pub number: u32,
    /// The page's clock, in ms since the nonce's first frame.
    pub captured_ms: u32,
    /// The number of the instruction on the screen.
    pub instruction: u16,
    /// The JPEG.
    pub jpeg: &'a [u8],
    /// The frame's bytes with its header, as the chain takes them.
    chained: &'a [u8],
}

impl Frame<'_> {
    /// SHA-256 of the JPEG.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.jpeg).into()
    }
}

/// A body that was parsed but not yet checked against its challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body<'a> {
    /// The nonce.
    pub nonce: [u8; NONCE_BYTES],
    /// The chain after the last frame.
    pub chain: [u8; 32],
    /// The frames, at least one.
    pub frames: Vec<Frame<'a>>,
}

/// Why a body is refused. Its text names the field and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FramesError {
    /// It is not of the form.
    #[error("frames - {0}")]
    Malformed(String),
    /// It belongs to another challenge or another place in this one.
    #[error("frames - {0}; call POST /v2/sdk/session/challenge to continue")]
    OutOfStep(String),
}

impl<'a> Body<'a> {
    /// Parses a body.
    ///
    /// # Errors
    /// [`FramesError::Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FramesError> {
        let malformed = |text: String| Err(FramesError::Malformed(text));
        let Some((nonce, rest)) = bytes.split_first_chunk::<NONCE_BYTES>() else {
            return malformed("the body is too short: send the nonce, the chain and 1 to 30 frames".into());
        };
        let Some((chain, mut rest)) = rest.split_first_chunk::<32>() else {
            return malformed("the body is too short: send the nonce, the chain and 1 to 30 frames".into());
        };
        let mut frames: Vec<Frame<'a>> = Vec::new();
        while !rest.is_empty() {
            let place = frames.len() + 1;
            if place > MAX_FRAMES {
                return malformed(format!(
                    "there are more than {MAX_FRAMES} frames; send fewer at once"
                ));
            }
            let Some((header, after)) = rest.split_first_chunk::<HEADER>() else {
                return malformed(format!("frame {place} of the body has no complete header"));
            };
            let [n0, n1, n2, n3, c0, c1, c2, c3, i0, i1, l0, l1] = *header;
            let length = usize::from(u16::from_be_bytes([l0, l1]));
            if length == 0 || length > MAX_FRAME_BYTES {
                return malformed(format!(
                    "frame {place} of the body has {length} bytes; send 1 to {MAX_FRAME_BYTES}"
                ));
            }
            let (Some(jpeg), Some(chained)) = (after.get(..length), rest.get(..HEADER + length)) else {
                return malformed(format!("frame {place} of the body ends too early"));
            };
            let frame = Frame {
                number: u32::from_be_bytes([n0, n1, n2, n3]),
                captured_ms: u32::from_be_bytes([c0, c1, c2, c3]),
                instruction: u16::from_be_bytes([i0, i1]),
                jpeg,
                chained,
            };
            if let Some(before) = frames.last() {
                if before.number.checked_add(1) != Some(frame.number) {
                    return malformed(format!(
                        "frame {} follows frame {}; send the frames in order, each once",
                        frame.number, before.number
                    ));
                }
                if frame.captured_ms < before.captured_ms {
                    return malformed(format!(
                        "frame {} was captured before the one it follows; send a clock that never goes back",
                        frame.number
                    ));
                }
            }
            frames.push(frame);
            rest = after.get(length..).unwrap_or_default();
        }
        if frames.is_empty() {
            return malformed("there is no frame; send 1 to 30".into());
        }
        Ok(Body {
            nonce: *nonce,
            chain: *chain,
            frames,
        })
    }
}

/// The place in the chain of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Chain {
    nonce: [u8; NONCE_BYTES],
    link: [u8; 32],
    next: u32,
    captured_ms: u32,
}

/// What a body is to a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It continues the challenge, whose chain is then this.
    Next(Chain),
    /// All of it was taken before, so that its answer was lost.
    Repeated,
}

impl Chain {
    /// The beginning of a chain. `next` is the number of the first frame.
    pub fn begin(nonce: [u8; NONCE_BYTES], next: u32) -> Self {
        Chain {
            nonce,
            link: Sha256::digest(nonce).into(),
            next,
            captured_ms: 0,
        }
    }

    /// The nonce.
    pub fn nonce(&self) -> [u8; NONCE_BYTES] {
        self.nonce
    }

    /// The number of the next frame.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The page's clock at the last frame.
    pub fn captured_ms(&self) -> u32 {
        self.captured_ms
    }

    /// Checks whether a body continues this chain.
    ///
    /// # Errors
    /// [`FramesError::OutOfStep`], or [`FramesError::Malformed`] for a clock that goes back.
    pub fn fit(&self, body: &Body<'_>) -> Result<Fit, FramesError> {
        let out_of_step = |text: &str| Err(FramesError::OutOfStep(text.into()));
        if body.nonce != self.nonce {
            return out_of_step("the nonce is not this challenge's present one");
        }
        let (Some(first), Some(last)) = (body.frames.first(), body.frames.last()) else {
            return Err(FramesError::Malformed("there is no frame; send 1 to 30".into()));
        };
        if last.number < self.next {
            return Ok(Fit::Repeated);
        }
        if first.number != self.next {
            return Err(FramesError::OutOfStep(format!(
                "frame {} was expected, not {}",
                self.next, first.number
            )));
        }
        if first.captured_ms < self.captured_ms {
            return Err(FramesError::Malformed(format!(
                "frame {} was captured before the one it follows; send a clock that never goes back",
                first.number
            )));
        }
        let mut chain = *self;
        for frame in &body.frames {
            let mut hasher = Sha256::new();
            hasher.update(chain.link);
            hasher.update(frame.chained);
            chain.link = hasher.finalize().into();
        }
        if chain.link != body.chain {
            return out_of_step(
                "the chain does not fit the frames; hash the chain before, then a frame's 12 bytes of numbers and its JPEG",
            );
        }
        chain.next = last.number.saturating_add(1);
        chain.captured_ms = last.captured_ms;
        Ok(Fit::Next(chain))
    }
}

/// Composes a body, as the page does: frames as number, clock, instruction and JPEG. For tests and evaluations.
pub fn compose(chain: &Chain, frames: &[(u32, u32, u16, &[u8])]) -> Vec<u8> {
    let mut link = chain.link;
    let mut bytes = Vec::new();
    for (number, captured_ms, instruction, jpeg) in frames {
        let from = bytes.len();
        bytes.extend(number.to_be_bytes());
        bytes.extend(captured_ms.to_be_bytes());
        bytes.extend(instruction.to_be_bytes());
        bytes.extend(u16::try_from(jpeg.len()).unwrap_or(u16::MAX).to_be_bytes());
        bytes.extend_from_slice(jpeg);
        let mut hasher = Sha256::new();
        hasher.update(link);
        hasher.update(bytes.get(from..).unwrap_or_default());
        link = hasher.finalize().into();
    }
    [chain.nonce.as_slice(), &link, &bytes].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONCE: [u8; NONCE_BYTES] = [7; NONCE_BYTES];

    fn chain() -> Chain {
        Chain::begin(NONCE, 1)
    }

    fn body(frames: &[(u32, u32, u16, &[u8])]) -> Vec<u8> {
        compose(&chain(), frames)
    }

    #[test]
    fn frames_arrive_as_they_were_sent_and_the_chain_goes_on() {
        let first = body(&[(1, 0, 1, b"one"), (2, 80, 1, b"two")]);
        let parsed = Body::parse(&first).unwrap();
        assert_eq!(parsed.frames[1].jpeg, b"two");
        let Ok(Fit::Next(after)) = chain().fit(&parsed) else {
            panic!("the first body fits")
        };
        assert_eq!((after.next(), after.captured_ms()), (3, 80));
        let second = compose(&after, &[(3, 160, 2, b"three")]);
        assert!(matches!(
            after.fit(&Body::parse(&second).unwrap()),
            Ok(Fit::Next(_))
        ));
        assert_eq!(after.fit(&parsed), Ok(Fit::Repeated), "its answer was lost");
    }

    #[test]
    fn a_body_that_does_not_fit_is_refused_by_name() {
        let long = vec![0; MAX_FRAME_BYTES + 1];
        let many: Vec<(u32, u32, u16, &[u8])> = (1..=31).map(|n| (n, n, 1, b"x".as_slice())).collect();
        let mut cut = body(&[(1, 0, 1, b"one")]);
        cut.pop();
        for (bytes, text) in [
            (Vec::new(), "the body is too short"),
            (vec![0; 40], "the body is too short"),
            (body(&[]), "there is no frame"),
            (body(&[(1, 0, 1, b"")]), "0 bytes"),
            (body(&[(1, 0, 1, &long)]), "15001 bytes"),
            (body(&many), "more than 30 frames"),
            (
                body(&[(1, 0, 1, b"a"), (3, 80, 1, b"b")]),
                "frame 3 follows frame 1",
            ),
            (
                body(&[(1, 0, 1, b"a"), (1, 80, 1, b"a")]),
                "frame 1 follows frame 1",
            ),
            (body(&[(1, 80, 1, b"a"), (2, 79, 1, b"b")]), "never goes back"),
            (cut, "ends too early"),
            (vec![0; 50], "no complete header"),
        ] {
            let error = Body::parse(&bytes).expect_err(text).to_string();
            assert!(error.starts_with("frames - ") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn frames_of_another_challenge_or_place_are_out_of_step() {
        let fits = |bytes: &[u8]| chain().fit(&Body::parse(bytes).unwrap());
        let foreign = compose(&Chain::begin([8; NONCE_BYTES], 1), &[(1, 0, 1, b"one")]);
        let later = body(&[(2, 0, 1, b"two")]);
        let mut changed = body(&[(1, 0, 1, b"one")]);
        *changed.last_mut().unwrap() ^= 1;
        let mut relabelled = body(&[(1, 0, 1, b"one")]);
        relabelled[48 + 9] ^= 1;
        for (bytes, text) in [
            (foreign, "nonce"),
            (later, "frame 1 was expected"),
            (changed, "chain"),
            (relabelled, "chain"),
        ] {
            let error = fits(&bytes).expect_err(text);
            assert!(
                matches!(error, FramesError::OutOfStep(_)) && error.to_string().contains(text),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_only_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(body) = Body::parse(&bytes) {
                let _ = chain().fit(&body);
            }
        }
    }
}
