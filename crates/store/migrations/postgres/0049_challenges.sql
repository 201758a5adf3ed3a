-- A session's liveness challenge: at most one at a time. It goes with its session.
create table challenges (
    merchant_id uuid not null,
    sandbox boolean not null,
    session_id uuid not null,
    state text not null check (state in ('waiting', 'running', 'passed', 'review', 'failed', 'void')),
    -- Tries that failed.
    tries bigint not null,
    -- Counts writes, so that of two devices only one goes on.
    version bigint not null,
    -- When its place in the queue was taken.
    queued_at bigint not null,
    -- Until when it keeps its place in the queue, or its capacity while it runs.
    held_until bigint not null,
    -- Under the account's key: the run and its last frame while it runs, and then the figures and the hashes of the
    -- frames that may be sent as selfie.
    state_sealed bytea,
    primary key (merchant_id, sandbox, session_id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
);

-- The queue, and those that run.
create index challenges_held on challenges (state, held_until);
