-- `migrations/postgres/0007_portal.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- The portal: who works in it, what reviewers leave on attempts, what callers asked of the API, and the nodes that serve.

-- People who sign in: a merchant's staff, and the operators of this installation.
create table staff (
    id blob not null primary key,
    -- Of the address in lower case.
    email_ref blob not null unique,
    -- The member's data key, wrapped by a master key; it seals what is personal here and in the member's sessions.
    wrapped_key blob not null,
    email_sealed blob not null,
    name_sealed blob not null,
    -- Argon2id, in PHC form.
    password_hash text not null,
    -- The TOTP secret; null until it is set up.
    totp_sealed blob,
    -- The last time step whose code was used: a code counts once.
    totp_step integer,
    -- Hashes of the recovery codes that are left, as JSON.
    recovery text not null,
    -- Keeps the installation, and belongs to no merchant by that.
    operator integer not null,
    language text,
    created_at integer not null,
    signed_in_at integer,
    disabled_at integer
) strict;

create table memberships (
    merchant_id blob not null references merchants (id),
    staff_id blob not null references staff (id) on delete cascade,
    role text not null,
    created_at integer not null,
    primary key (merchant_id, staff_id)
) strict;
create index memberships_by_staff on memberships (staff_id);

create table portal_sessions (
    token_ref blob not null primary key,
    -- Names the session in lists; says nothing about the token.
    id blob not null unique,
    staff_id blob not null references staff (id) on delete cascade,
    -- The account and mode that are looked at; null: the operator console, or none chosen yet.
    merchant_id blob references merchants (id),
    sandbox integer not null,
    -- `password`: the second factor is still to come; `full`.
    stage text not null,
    -- Browser and address, as JSON, under the member's key.
    device_sealed blob not null,
    created_at integer not null,
    seen_at integer not null,
    expires_at integer not null,
    -- When password or code was last given.
    proved_at integer not null
) strict;
create index portal_sessions_by_staff on portal_sessions (staff_id);
create index portal_sessions_by_expiry on portal_sessions (expires_at);

-- One-time links: to join an account (the first owner too), to become an operator, to set a new password.
create table invitations (
    token_ref blob not null primary key,
    id blob not null unique,
    -- `member`, `operator` or `password`.
    kind text not null,
    merchant_id blob references merchants (id),
    -- Whose password it sets.
    staff_id blob references staff (id) on delete cascade,
    role text,
    -- Whom it was meant for, under the merchant's key; null: whoever has the link.
    email_sealed blob,
    invited_by blob,
    created_at integer not null,
    expires_at integer not null,
    used_at integer
) strict;
create index invitations_by_merchant on invitations (merchant_id);
create index invitations_by_expiry on invitations (expires_at);

-- What a merchant says of itself, and what the operator made of it.
create table merchant_profiles (
    merchant_id blob not null primary key references merchants (id),
    -- JSON, under the merchant's key.
    profile_sealed blob not null,
    submitted_at integer,
    decided_at integer,
    -- Why it was rejected or suspended; the merchant reads it.
    reason text,
    updated_at integer not null
) strict;

-- Who is looking at a waiting attempt, until when.
create table review_claims (
    merchant_id blob not null,
    sandbox integer not null,
    log_id integer not null,
    staff_id blob not null references staff (id) on delete cascade,
    until integer not null,
    primary key (merchant_id, sandbox, log_id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
) strict;

create table review_notes (
    merchant_id blob not null,
    sandbox integer not null,
    log_id integer not null,
    id blob not null,
    staff_id blob not null,
    -- Under the attempt's key.
    text_sealed blob not null,
    at integer not null,
    primary key (merchant_id, sandbox, log_id, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
) strict;

-- Four eyes: the first person's decision, waiting for a second one.
create table review_proposals (
    merchant_id blob not null,
    sandbox integer not null,
    log_id integer not null,
    decision text not null,
    staff_id blob not null,
    -- Under the attempt's key.
    reason_sealed blob,
    at integer not null,
    primary key (merchant_id, sandbox, log_id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
) strict;

-- "Not this person": a listing that was found not to be meant, for one person.
create table suppressions (
    merchant_id blob not null,
    sandbox integer not null,
    facemap_id blob not null,
    list text not null,
    entity_id text not null,
    staff_id blob not null,
    reason text not null,
    at integer not null,
    primary key (merchant_id, sandbox, facemap_id, list, entity_id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
) strict;

create table saved_views (
    merchant_id blob not null references merchants (id),
    staff_id blob not null references staff (id) on delete cascade,
    name text not null,
    -- The query of the page's address.
    query text not null,
    created_at integer not null,
    primary key (merchant_id, staff_id, name)
) strict;

create table reason_templates (
    merchant_id blob not null references merchants (id),
    id blob not null,
    decision text not null,
    body text not null,
    created_at integer not null,
    primary key (merchant_id, id)
) strict;

-- What was asked of the API and answered. Bodies are sealed under the merchant's key, without secrets and files.
create table api_log (
    merchant_id blob not null references merchants (id),
    sandbox integer not null,
    -- The request's id as the caller knows it is in `request_id`; this one grows with time.
    id blob not null,
    request_id text not null,
    at integer not null,
    method text not null,
    -- The route's pattern; the path itself may hold an identifier and is in the sealed part.
    route text not null,
    status integer not null,
    ms integer not null,
    key text not null,
    exchange_sealed blob not null,
    primary key (merchant_id, sandbox, id)
) strict;
create index api_log_by_time on api_log (at);

-- Processes that serve, as they last said of themselves.
create table nodes (
    id blob not null primary key,
    name text not null,
    version text not null,
    -- JSON: engines, lists, capacity; nothing personal.
    report text not null,
    started_at integer not null,
    seen_at integer not null
) strict;

-- For figures over attempts that need not be opened: the document's country (alpha-3) and how long the answer took.
alter table attempts add column country text;
alter table attempts add column took_ms integer;
create index attempts_by_time on attempts (merchant_id, sandbox, created_at);
create index attempts_by_status on attempts (merchant_id, sandbox, status, log_id);
create index registrations_by_activity on registrations (merchant_id, sandbox, last_active);
