-- The portal: who works in it, what reviewers leave on attempts, what callers asked of the API, and the nodes that serve.

-- People who sign in: a merchant's staff, and the operators of this installation.
create table staff (
    id uuid not null primary key,
    -- Of the address in lower case.
    email_ref bytea not null unique,
    -- The member's data key, wrapped by a master key; it seals what is personal here and in the member's sessions.
    wrapped_key bytea not null,
    email_sealed bytea not null,
    name_sealed bytea not null,
    -- Argon2id, in PHC form.
    password_hash text not null,
    -- The TOTP secret; null until it is set up.
    totp_sealed bytea,
    -- The last time step whose code was used: a code counts once.
    totp_step bigint,
    -- Hashes of the recovery codes that are left, as JSON.
    recovery text not null,
    -- Keeps the installation, and belongs to no merchant by that.
    operator boolean not null,
    language text,
    created_at bigint not null,
    signed_in_at bigint,
    disabled_at bigint
);

create table memberships (
    merchant_id uuid not null references merchants (id),
    staff_id uuid not null references staff (id) on delete cascade,
    role text not null,
    created_at bigint not null,
    primary key (merchant_id, staff_id)
);
create index memberships_by_staff on memberships (staff_id);

create table portal_sessions (
    token_ref bytea not null primary key,
    -- Names the session in lists; says nothing about the token.
    id uuid not null unique,
    staff_id uuid not null references staff (id) on delete cascade,
    -- The account and mode that are looked at; null: the operator console, or none chosen yet.
    merchant_id uuid references merchants (id),
    sandbox boolean not null,
    -- `password`: the second factor is still to come; `full`.
    stage text not null,
    -- Browser and address, as JSON, under the member's key.
    device_sealed bytea not null,
    created_at bigint not null,
    seen_at bigint not null,
    expires_at bigint not null,
    -- When password or code was last given.
    proved_at bigint not null
);
create index portal_sessions_by_staff on portal_sessions (staff_id);
create index portal_sessions_by_expiry on portal_sessions (expires_at);

-- One-time links: to join an account (the first owner too), to become an operator, to set a new password.
create table invitations (
    token_ref bytea not null primary key,
    id uuid not null unique,
    -- `member`, `operator` or `password`.
    kind text not null,
    merchant_id uuid references merchants (id),
    -- Whose password it sets.
    staff_id uuid references staff (id) on delete cascade,
    role text,
    -- Whom it was meant for, under the merchant's key; null: whoever has the link.
    email_sealed bytea,
    invited_by uuid,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint
);
create index invitations_by_merchant on invitations (merchant_id);
create index invitations_by_expiry on invitations (expires_at);

-- What a merchant says of itself, and what the operator made of it.
create table merchant_profiles (
    merchant_id uuid not null primary key references merchants (id),
    -- JSON, under the merchant's key.
    profile_sealed bytea not null,
    submitted_at bigint,
    decided_at bigint,
    -- Why it was rejected or suspended; the merchant reads it.
    reason text,
    updated_at bigint not null
);

-- Who is looking at a waiting attempt, until when.
create table review_claims (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    staff_id uuid not null references staff (id) on delete cascade,
    until bigint not null,
    primary key (merchant_id, sandbox, log_id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);

create table review_notes (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    id uuid not null,
    staff_id uuid not null,
    -- Under the attempt's key.
    text_sealed bytea not null,
    at bigint not null,
    primary key (merchant_id, sandbox, log_id, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);

-- Four eyes: the first person's decision, waiting for a second one.
create table review_proposals (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    decision text not null,
    staff_id uuid not null,
    -- Under the attempt's key.
    reason_sealed bytea,
    at bigint not null,
    primary key (merchant_id, sandbox, log_id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);

-- "Not this person": a listing that was found not to be meant, for one person.
create table suppressions (
    merchant_id uuid not null,
    sandbox boolean not null,
    facemap_id uuid not null,
    list text not null,
    entity_id text not null,
    staff_id uuid not null,
    reason text not null,
    at bigint not null,
    primary key (merchant_id, sandbox, facemap_id, list, entity_id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
);

create table saved_views (
    merchant_id uuid not null references merchants (id),
    staff_id uuid not null references staff (id) on delete cascade,
    name text not null,
    -- The query of the page's address.
    query text not null,
    created_at bigint not null,
    primary key (merchant_id, staff_id, name)
);

create table reason_templates (
    merchant_id uuid not null references merchants (id),
    id uuid not null,
    decision text not null,
    body text not null,
    created_at bigint not null,
    primary key (merchant_id, id)
);

-- What was asked of the API and answered. Bodies are sealed under the merchant's key, without secrets and files.
create table api_log (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    -- The request's id as the caller knows it is in `request_id`; this one grows with time.
    id uuid not null,
    request_id text not null,
    at bigint not null,
    method text not null,
    -- The route's pattern; the path itself may hold an identifier and is in the sealed part.
    route text not null,
    status bigint not null,
    ms bigint not null,
    key text not null,
    exchange_sealed bytea not null,
    primary key (merchant_id, sandbox, id)
);
create index api_log_by_time on api_log (at);

-- Processes that serve, as they last said of themselves.
create table nodes (
    id uuid not null primary key,
    name text not null,
    version text not null,
    -- JSON: engines, lists, capacity; nothing personal.
    report text not null,
    started_at bigint not null,
    seen_at bigint not null
);

-- For figures over attempts that need not be opened: the document's country (alpha-3) and how long the answer took.
alter table attempts add column country text;
alter table attempts add column took_ms bigint;
create index attempts_by_time on attempts (merchant_id, sandbox, created_at);
create index attempts_by_status on attempts (merchant_id, sandbox, status, log_id);
create index registrations_by_activity on registrations (merchant_id, sandbox, last_active);
