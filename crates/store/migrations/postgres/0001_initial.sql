-- The whole schema. `migrations/sqlite/0001_initial.sql` is this text with its types replaced; a test keeps them so.
--
-- Keys begin with merchant_id; `sandbox` keeps the two modes apart. Times are milliseconds since 1970 UTC. Columns
-- named `*_ref` are blind indexes (keyed hashes); `*_sealed` and `*_key` are ciphertext that only the keyring opens.

create table merchants (
    id uuid not null primary key,
    -- Carried inside API keys and tokens, so that a look-up by key is also a look-up by merchant.
    short_id text not null unique,
    name text not null,
    status text not null,
    settings text not null,
    -- The merchant's data key, wrapped by a master key.
    wrapped_key bytea not null,
    created_at bigint not null,
    updated_at bigint not null
);

create table credentials (
    merchant_id uuid not null references merchants (id),
    key text not null,
    sandbox boolean not null,
    -- Two live secrets at most: the current one and, during a rotation, the one before it.
    secret_hash bytea not null,
    previous_hash bytea,
    previous_until bigint,
    created_at bigint not null,
    revoked_at bigint,
    primary key (merchant_id, key)
);

-- One row per account and mode; whoever updates it holds the account's serial step.
create table counters (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    face_seq bigint not null,
    log_seq bigint not null,
    primary key (merchant_id, sandbox)
);

create table flows (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    id uuid not null,
    name text not null,
    default_fields text not null,
    default_document_types text not null,
    country_overrides text not null,
    geo_blocked_countries text not null,
    webhook_url text,
    min_age bigint,
    max_age bigint,
    -- What only the portal and the command line know; never part of the public Flow.
    settings text not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (merchant_id, sandbox, id),
    unique (merchant_id, sandbox, name)
);

create table groups (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    id uuid not null,
    name text not null,
    description text,
    status text not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (merchant_id, sandbox, id),
    unique (merchant_id, sandbox, name)
);

create table group_flows (
    merchant_id uuid not null,
    sandbox boolean not null,
    group_id uuid not null,
    flow_id uuid not null,
    position bigint not null,
    primary key (merchant_id, sandbox, group_id, flow_id),
    foreign key (merchant_id, sandbox, group_id) references groups (merchant_id, sandbox, id) on delete cascade,
    foreign key (merchant_id, sandbox, flow_id) references flows (merchant_id, sandbox, id) on delete cascade
);
create index group_flows_by_flow on group_flows (merchant_id, sandbox, flow_id);

-- Token buckets: `full_at` is when the bucket will be full again, in microseconds.
create table rate_limits (
    merchant_id uuid not null,
    bucket text not null,
    full_at bigint not null,
    primary key (merchant_id, bucket)
);
create index rate_limits_by_full_at on rate_limits (full_at);

create table idempotency_keys (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    key_ref bytea not null,
    body_ref bytea not null,
    -- Null until the first request has been answered.
    status bigint,
    answer_sealed bytea,
    started_at bigint not null,
    expires_at bigint not null,
    primary key (merchant_id, sandbox, key_ref)
);
create index idempotency_keys_by_expiry on idempotency_keys (expires_at);

-- The last link of each merchant's chain, so that cutting off its end shows too.
create table audit_heads (
    merchant_id uuid not null primary key references merchants (id),
    seq bigint not null,
    hash bytea not null
);

create table audit (
    merchant_id uuid not null references merchants (id),
    seq bigint not null,
    sandbox boolean not null,
    at bigint not null,
    actor text not null,
    action text not null,
    subject text not null,
    detail text not null,
    hash bytea not null,
    primary key (merchant_id, seq)
);

create table outbox (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    id uuid not null,
    flow_id uuid not null,
    kind text not null,
    body_sealed bytea not null,
    tries bigint not null,
    -- Null when delivered or given up.
    next_try_at bigint,
    delivered_at bigint,
    last_status bigint,
    last_error text,
    created_at bigint not null,
    primary key (merchant_id, sandbox, id)
);
create index outbox_due on outbox (next_try_at) where next_try_at is not null;

create table jobs (
    id uuid not null primary key,
    merchant_id uuid,
    kind text not null,
    -- At most one waiting job of a kind has a given name; null: no such bound.
    unique_name text,
    payload text not null,
    tries bigint not null,
    run_at bigint not null,
    leased_until bigint,
    last_error text,
    created_at bigint not null,
    unique (kind, unique_name)
);
create index jobs_due on jobs (run_at);

-- One row per facemap, proven (a face was bound) or provisional.
create table people (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    facemap_id uuid not null,
    proven boolean not null,
    -- Wrapped by the merchant's key. Erasing a person destroys it.
    wrapped_key bytea not null,
    created_at bigint not null,
    primary key (merchant_id, sandbox, facemap_id)
);

create table facemap_aliases (
    merchant_id uuid not null,
    sandbox boolean not null,
    alias uuid not null,
    facemap_id uuid not null,
    primary key (merchant_id, sandbox, alias),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
);
create index facemap_aliases_by_facemap on facemap_aliases (merchant_id, sandbox, facemap_id);

-- What happened to the account's faces, in order: a face was added, or (embedding null) a person's were removed.
create table faces (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    seq bigint not null,
    facemap_id uuid not null,
    model text not null,
    embedding_sealed bytea,
    created_at bigint not null,
    primary key (merchant_id, sandbox, seq)
);
create index faces_by_facemap on faces (merchant_id, sandbox, facemap_id);

create table registrations (
    merchant_id uuid not null,
    sandbox boolean not null,
    id uuid not null,
    facemap_id uuid not null,
    -- The nil UUID stands for "without a group", a scope of its own.
    grouping_id uuid not null,
    external_ref bytea not null,
    external_id_sealed bytea not null,
    status text,
    event_seq bigint not null,
    created_at bigint not null,
    last_active bigint not null,
    primary key (merchant_id, sandbox, id),
    -- Within one group one face registers only once, and so does one externalUserId.
    unique (merchant_id, sandbox, grouping_id, facemap_id),
    unique (merchant_id, sandbox, grouping_id, external_ref),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id)
);
create index registrations_by_facemap on registrations (merchant_id, sandbox, facemap_id);
create index registrations_by_external_ref on registrations (merchant_id, sandbox, external_ref);

create table attempts (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    id uuid not null,
    facemap_id uuid not null,
    -- Null for an attempt that is only logged, such as a duplicate under another externalUserId.
    registration_id uuid,
    grouping_id uuid not null,
    external_ref bytea not null,
    session_id uuid,
    flow_id uuid not null,
    flow_name text not null,
    status text not null,
    success boolean not null,
    codes text not null,
    document_types text not null,
    -- The attempt's key, wrapped by the person's; it seals the columns below and the attempt's objects.
    wrapped_key bytea not null,
    external_id_sealed bytea not null,
    request_sealed bytea not null,
    response_sealed bytea not null,
    detail_sealed bytea not null,
    created_at bigint not null,
    decided_at bigint,
    primary key (merchant_id, sandbox, log_id),
    unique (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id),
    foreign key (merchant_id, sandbox, registration_id) references registrations (merchant_id, sandbox, id)
);
create index attempts_by_facemap on attempts (merchant_id, sandbox, facemap_id);
create index attempts_by_registration on attempts (merchant_id, sandbox, registration_id);
create index attempts_by_external_ref on attempts (merchant_id, sandbox, external_ref);
create index attempts_pending on attempts (merchant_id, sandbox, log_id) where status = 'pending';

create table decisions (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    seq bigint not null,
    decision text not null,
    actor text not null,
    reason_sealed bytea,
    at bigint not null,
    primary key (merchant_id, sandbox, log_id, seq),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);

-- Whole normalised words of a person's names, hashed under the merchant's index key.
create table name_words (
    merchant_id uuid not null,
    sandbox boolean not null,
    word_ref bytea not null,
    facemap_id uuid not null,
    primary key (merchant_id, sandbox, word_ref, facemap_id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
);
create index name_words_by_facemap on name_words (merchant_id, sandbox, facemap_id);

create table link_tokens (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    token_ref bytea not null,
    group_id uuid not null,
    flow_id uuid not null,
    user_id_sealed bytea not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint,
    primary key (merchant_id, token_ref)
);
create index link_tokens_by_expiry on link_tokens (expires_at);

create table sessions (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    id uuid not null,
    -- Of the access token that the exchange handed out.
    token_ref bytea not null,
    group_id uuid not null,
    flow_id uuid not null,
    user_id_sealed bytea not null,
    status text not null,
    stage text not null,
    attempts bigint not null,
    max_attempts bigint not null,
    -- The attempt whose response is the session's result.
    log_id bigint,
    created_at bigint not null,
    expires_at bigint not null,
    completed_at bigint,
    primary key (merchant_id, sandbox, id),
    unique (merchant_id, token_ref)
);
create index sessions_open on sessions (expires_at) where status = 'pending';

-- Who was erased and when; `restore` replays it before serving, so that a backup brings nobody back.
create table erasures (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    facemap_id uuid not null,
    at bigint not null,
    primary key (merchant_id, sandbox, facemap_id)
);
