-- `migrations/postgres/0049_challenges.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- A session's liveness challenge: at most one at a time. It goes with its session.
create table challenges (
    merchant_id blob not null,
    sandbox integer not null,
    session_id blob not null,
    state text not null check (state in ('waiting', 'running', 'passed', 'review', 'failed', 'void')),
    -- Tries that failed.
    tries integer not null,
    -- Counts writes, so that of two devices only one goes on.
    version integer not null,
    -- When its place in the queue was taken.
    queued_at integer not null,
    -- Until when it keeps its place in the queue, or its capacity while it runs.
    held_until integer not null,
    -- Under the account's key: the run and its last frame while it runs, and then the figures and the hashes of the
    -- frames that may be sent as selfie.
    state_sealed blob,
    primary key (merchant_id, sandbox, session_id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
) strict;

-- The queue, and those that run.
create index challenges_held on challenges (state, held_until);
