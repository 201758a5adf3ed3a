-- `migrations/postgres/0002_hosted.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What the hosted page leaves behind. All of it goes with its session.

-- A session's second device: the link that the first one shows, and the access token that the second one got for it.
create table handoffs (
    merchant_id blob not null,
    sandbox integer not null,
    session_id blob not null,
    -- Of the one-time token in the link.
    token_ref blob not null,
    -- Shown on both devices.
    number integer not null,
    created_at integer not null,
    expires_at integer not null,
    claimed_at integer,
    -- Of the second device's access token; null until the link is used, and again when the numbers did not match.
    access_ref blob,
    primary key (merchant_id, sandbox, session_id),
    unique (merchant_id, token_ref),
    unique (merchant_id, access_ref),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
) strict;

-- The applicant's last word; every word is in the audit trail.
create table consents (
    merchant_id blob not null,
    sandbox integer not null,
    session_id blob not null,
    version text not null,
    language text not null,
    accepted integer not null,
    at integer not null,
    primary key (merchant_id, sandbox, session_id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
) strict;

-- How applicants get through the page's steps: words of fixed lists and times, nothing personal.
create table session_events (
    merchant_id blob not null,
    sandbox integer not null,
    session_id blob not null,
    id blob not null,
    flow_id blob not null,
    step text not null,
    kind text not null,
    -- Since the page was opened.
    ms integer not null,
    detail text,
    device text not null,
    -- Told by the session's second device.
    handoff integer not null,
    at integer not null,
    primary key (merchant_id, sandbox, session_id, id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
) strict;
create index session_events_by_flow on session_events (merchant_id, sandbox, flow_id, at);
