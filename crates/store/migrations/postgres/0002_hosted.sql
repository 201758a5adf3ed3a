-- What the hosted page leaves behind. All of it goes with its session.

-- A session's second device: the link that the first one shows, and the access token that the second one got for it.
create table handoffs (
    merchant_id uuid not null,
    sandbox boolean not null,
    session_id uuid not null,
    -- Of the one-time token in the link.
    token_ref bytea not null,
    -- Shown on both devices.
    number bigint not null,
    created_at bigint not null,
    expires_at bigint not null,
    claimed_at bigint,
    -- Of the second device's access token; null until the link is used, and again when the numbers did not match.
    access_ref bytea,
    primary key (merchant_id, sandbox, session_id),
    unique (merchant_id, token_ref),
    unique (merchant_id, access_ref),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
);

-- The applicant's last word; every word is in the audit trail.
create table consents (
    merchant_id uuid not null,
    sandbox boolean not null,
    session_id uuid not null,
    version text not null,
    language text not null,
    accepted boolean not null,
    at bigint not null,
    primary key (merchant_id, sandbox, session_id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
);

-- How applicants get through the page's steps: words of fixed lists and times, nothing personal.
create table session_events (
    merchant_id uuid not null,
    sandbox boolean not null,
    session_id uuid not null,
    id uuid not null,
    flow_id uuid not null,
    step text not null,
    kind text not null,
    -- Since the page was opened.
    ms bigint not null,
    detail text,
    device text not null,
    -- Told by the session's second device.
    handoff boolean not null,
    at bigint not null,
    primary key (merchant_id, sandbox, session_id, id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
);
create index session_events_by_flow on session_events (merchant_id, sandbox, flow_id, at);
