//! The worker's protocol: requests, answers, and the handling of messages that violate it.

use std::io::Cursor;

use imaging::worker::{WorkerError, read_answer, serve, write_request};
use imaging::{DecodeError, Limits};
use proptest::prelude::*;

use crate::files::*;

/// The child's answers to these bytes on its input.
fn answers(input: &[u8]) -> (Result<(), WorkerError>, Cursor<Vec<u8>>) {
    let mut output = Vec::new();
    let end = serve(input, &mut output, |_| Ok(()));
    (end, Cursor::new(output))
}

#[test]
fn requests_are_answered_one_after_another() {
    let limits = Limits::default();
    let picture = two_halves(32, 16);
    let mut input = Vec::new();
    for file in [
        png(&picture),
        b"no picture".to_vec(),
        pdf_pages(SMALL_PAGE, &["", RED_BOX], ""),
    ] {
        write_request(&mut input, &file, &limits).expect("fits");
    }
    let (end, mut output) = answers(&input);
    end.expect("ends with its input");
    let mut answer = || read_answer(&mut output, &limits).expect("an answer");
    assert_eq!(answer().expect("a picture").picture, picture);
    assert_eq!(answer(), Err(DecodeError::UnknownFormat));
    let page = answer().expect("a page");
    assert_eq!((page.page, page.pages), (Some(1), Some(2)));
    assert!(
        matches!(read_answer(&mut output, &limits), Err(WorkerError::Io(_))),
        "no more answers"
    );
}

#[test]
fn the_child_ends_after_a_file_that_it_did_not_finish() {
    let hasty = Limits {
        time: std::time::Duration::ZERO,
        ..Limits::default()
    };
    let mut input = Vec::new();
    write_request(&mut input, &jpeg(&textured(512, 512)), &hasty).expect("fits");
    write_request(&mut input, b"never read", &hasty).expect("fits");
    let (end, mut output) = answers(&input);
    end.expect("ends in order");
    assert_eq!(
        read_answer(&mut output, &hasty).expect("an answer"),
        Err(DecodeError::Unfinished)
    );
    assert!(
        read_answer(&mut output, &hasty).is_err(),
        "the second request got none"
    );
}

#[test]
fn lengths_are_checked_before_memory_is_taken() {
    let vast = u32::MAX.to_le_bytes();
    assert!(matches!(answers(&vast).0, Err(WorkerError::Malformed)));
    assert!(matches!(
        read_answer(&mut vast.as_slice(), &Limits::default()),
        Err(WorkerError::Malformed)
    ));
    let head = br#"{"decoded":{"width":60000,"height":60000,"format":"png","source_width":1,"source_height":1,"exif_orientation":1,"page":null,"pages":null}}"#;
    let lie = [&(head.len() as u32).to_le_bytes(), head.as_slice()].concat();
    assert!(matches!(
        read_answer(&mut lie.as_slice(), &Limits::default()),
        Err(WorkerError::Malformed)
    ));
}

proptest! {
    #[test]
    fn random_bytes_only_end_the_conversation(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = answers(&bytes);
        let _ = read_answer(&mut bytes.as_slice(), &Limits::default());
    }
}
