//! Whether a person can be split in two as a member of the portal chose (`docs/decisions/0053-splitting-people.md`).

/// Why a person cannot be split as chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitObstacle {
    /// Nothing was chosen to leave.
    NothingChosen,
    /// Nothing would remain with the person.
    NothingRemains,
}

/// Whether so many of a person's registrations and logged attempts can leave. Each registration counts once, with its
/// attempts, and so does each attempt that is only logged.
///
/// # Errors
/// See [`SplitObstacle`].
pub fn check_split(all: usize, leaving: usize) -> Result<(), SplitObstacle> {
    if leaving == 0 {
        return Err(SplitObstacle::NothingChosen);
    }
    if leaving >= all {
        return Err(SplitObstacle::NothingRemains);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_leaves_and_something_remains() {
        for (all, leaving, expected) in [
            (2, 1, Ok(())),
            (9, 8, Ok(())),
            (2, 0, Err(SplitObstacle::NothingChosen)),
            (0, 0, Err(SplitObstacle::NothingChosen)),
            (1, 1, Err(SplitObstacle::NothingRemains)),
            (3, 3, Err(SplitObstacle::NothingRemains)),
        ] {
            assert_eq!(check_split(all, leaving), expected, "{leaving} of {all}");
        }
    }
}
