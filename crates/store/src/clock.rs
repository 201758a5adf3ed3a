//! The time that all nodes of an installation share: the clock of their PostgreSQL database. Leases, tokens and
//! expiry compare times that different nodes wrote, so a node whose own clock is wrong would take over running
//! requests and refuse good tokens. This module only corrects what this process reads; it never sets a clock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{PgConnection, Row as _};

use crate::error::Error;

/// How often the difference between the two clocks is measured.
const EVERY: Duration = Duration::from_secs(5);
/// Below this difference (ms) the node's own clock counts: a measurement is hardly more precise, and times
/// within one node stay as the node measures them.
const AGREES_MS: i64 = 1_000;
/// A measurement that took longer is not precise enough to replace an earlier one.
const PRECISE: Duration = Duration::from_secs(1);

/// A node's clock, corrected by the database's.
pub(crate) struct DatabaseClock {
    /// This node's own clock (ms since 1970 UTC).
    own: fn() -> i64,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
struct State {
    /// What to add to the node's own time (ms).
    correction: i64,
    /// When the last measurement began.
    measured: Option<Instant>,
}

impl DatabaseClock {
    /// A clock that has measured nothing yet: the node's own.
    pub(crate) fn new(own: fn() -> i64) -> Self {
        let state = State {
            correction: 0,
            measured: None,
        };
        Self {
            own,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time (ms since 1970 UTC).
    pub(crate) fn now(&self) -> i64 {
        (self.own)() + self.state().correction
    }

    /// Measures the difference again if the last measurement is some seconds old.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the connection broke.
    pub(crate) async fn refresh(&self, conn: &mut PgConnection) -> Result<(), Error> {
        let begun = Instant::now();
        {
            let mut state = self.state();
            if state.measured.is_some_and(|measured| measured.elapsed() < EVERY) {
                return Ok(());
            }
            // Other connections need not wait for this measurement, unless it is the first.
            if state.measured.is_some() {
                state.measured = Some(begun);
            }
        }
        let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
        let database: i64 = sqlx::raw_sql(sql).fetch_one(conn).await?.try_get(0)?;
        self.record((self.own)(), database, begun);
        Ok(())
    }

    /// Records a measurement that began at `begun`: the database's time, and afterwards this node's.
    fn record(&self, own: i64, database: i64, begun: Instant) {
        let took = begun.elapsed();
        let mut state = self.state();
        if took > PRECISE && state.measured.is_some() {
            return;
        }
        let middle = i64::try_from(took.as_millis() / 2).unwrap_or(0);
        let correction = correction(own - middle, database);
        if (correction == 0) != (state.correction == 0) {
            tracing::warn!(
                milliseconds = correction,
                "the time of the database differs from this machine's by so much and is used instead; set the time (NTP)"
            );
        }
        *state = State {
            correction,
            measured: Some(begun),
        };
    }
}

/// What to add to a node's own time, if the database's time was `database` at the same moment.
fn correction(own: i64, database: i64) -> i64 {
    let difference = database - own;
    match difference.abs() < AGREES_MS {
        true => 0,
        false => difference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_is_clearly_wrong_is_corrected() {
        const HOUR: i64 = 3_600_000;
        for (own, database, expected) in [
            (1_000_000, 1_000_000, 0),
            (1_000_000, 1_000_999, 0),
            (1_000_000, 999_001, 0),
            (1_000_000, 1_001_000, 1_000),
            (HOUR + 7, 7, -HOUR),
            (7, HOUR + 7, HOUR),
        ] {
            assert_eq!(correction(own, database), expected, "{own} {database}");
        }
    }

    #[test]
    fn the_clock_follows_the_last_precise_measurement() {
        let clock = DatabaseClock::new(|| 5_000_000);
        assert_eq!(clock.now(), 5_000_000);
        clock.record(5_000_000, 8_600_000, Instant::now());
        assert_eq!(clock.now(), 8_600_000);
        let slow = Instant::now().checked_sub(Duration::from_secs(4)).unwrap();
        clock.record(5_000_000, 9_900_000, slow);
        assert_eq!(clock.now(), 8_600_000, "a slow measurement is not precise");
        clock.record(5_000_000, 5_000_010, Instant::now());
        assert_eq!(clock.now(), 5_000_000);
    }
}
