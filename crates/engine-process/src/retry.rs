//! What happens after a worker ended without an answer: pure rules. Nothing here starts or ends a process.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use imaging::DecodeError;
use rustix::process::Signal;

use crate::error::EngineError;

/// How a worker ended without a valid answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The file caused it.
    Fault(DecodeError),
    /// It was killed from outside, or did not end in time.
    Unknown,
    /// It was killed because the caller has gone.
    Abandoned,
}

/// What happens after a worker's end.
#[derive(Debug)]
pub(crate) enum Next {
    /// Give the file to a fresh worker. The fault is the one that the file has caused so far.
    Again(Option<DecodeError>),
    /// Refuse the file.
    Refuse(DecodeError),
    /// Answer that the engines could not finish.
    Give(EngineError),
}

/// A file is refused if it causes a fault twice. After an unknown end, the file is tried again only if the worker was
/// idle before, because such a worker may have been killed for reasons unrelated to this file.
pub(crate) fn decide_retry(end: End, earlier: Option<DecodeError>, was_idle: bool) -> Next {
    match end {
        End::Fault(fault) if earlier.is_some() => Next::Refuse(fault),
        End::Fault(fault) => Next::Again(Some(fault)),
        End::Unknown if was_idle => Next::Again(None),
        End::Unknown => Next::Give(EngineError::Lost),
        End::Abandoned => Next::Give(EngineError::Abandoned),
    }
}

/// What the end of a worker proves about its file. The worker ends itself when memory runs out or its code
/// fails, and the operating system ends it when its processor time is used up. Any other end comes from
/// outside and proves nothing.
pub(crate) fn fault_of_exit(status: ExitStatus) -> Option<DecodeError> {
    let signal = status.signal()?;
    if signal == Signal::XCPU.as_raw() {
        return Some(DecodeError::TooMuchWork);
    }
    let own = [
        Signal::ABORT,
        Signal::SEGV,
        Signal::BUS,
        Signal::ILL,
        Signal::FPE,
        Signal::TRAP,
        Signal::SYS,
    ];
    own.iter()
        .any(|own| own.as_raw() == signal)
        .then_some(DecodeError::Crashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_does_to_its_worker_is_a_fault_of_the_file() {
        for (signal, expected) in [
            (Signal::XCPU, Some(DecodeError::TooMuchWork)),
            (Signal::ABORT, Some(DecodeError::Crashed)),
            (Signal::SEGV, Some(DecodeError::Crashed)),
            (Signal::BUS, Some(DecodeError::Crashed)),
            (Signal::KILL, None),
            (Signal::TERM, None),
            (Signal::INT, None),
            (Signal::HUP, None),
        ] {
            let status = ExitStatus::from_raw(signal.as_raw());
            assert_eq!(fault_of_exit(status), expected, "{signal:?}");
        }
        for code in [0, 1, 127] {
            assert_eq!(fault_of_exit(ExitStatus::from_raw(code << 8)), None, "{code}");
        }
    }

    #[test]
    fn a_file_is_refused_for_what_it_causes_twice() {
        use DecodeError::{Crashed, TooMuchWork};
        let cases = [
            (End::Fault(Crashed), None, true, "Again(Some(Crashed))"),
            (End::Fault(TooMuchWork), None, false, "Again(Some(TooMuchWork))"),
            (
                End::Fault(TooMuchWork),
                Some(TooMuchWork),
                false,
                "Refuse(TooMuchWork)",
            ),
            (End::Fault(Crashed), Some(TooMuchWork), false, "Refuse(Crashed)"),
            (End::Unknown, None, true, "Again(None)"),
            (End::Unknown, None, false, "Give(Lost)"),
            (End::Unknown, Some(Crashed), false, "Give(Lost)"),
            (End::Abandoned, None, true, "Give(Abandoned)"),
        ];
        for (end, earlier, was_idle, expected) in cases {
            let shown = format!("{end:?} {earlier:?} {was_idle}");
            assert_eq!(
                format!("{:?}", decide_retry(end, earlier, was_idle)),
                expected,
                "{shown}"
            );
        }
    }
}
