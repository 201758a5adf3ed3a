-- Idempotency keys get leases, and an erasure reaches every row that names a person outside the person's own key.

-- A request renews its lease while it works. An answer about a verification is sealed under the key of the attempt. `label_ref` is the
-- blind index of the label that a monitoring answer repeats. Rows without `lease_id` were written by an earlier version.
alter table idempotency_keys add column lease_id uuid;
alter table idempotency_keys add column lease_until bigint;
alter table idempotency_keys add column attempt_id uuid;
alter table idempotency_keys add column label_ref bytea;
create index idempotency_keys_by_attempt on idempotency_keys (merchant_id, sandbox, attempt_id) where attempt_id is not null;
create index idempotency_keys_by_label on idempotency_keys (merchant_id, sandbox, label_ref) where label_ref is not null;

-- The person of an event (the nil UUID: none), and the applicant of a link and of a session: the blind index that `external_ref` holds
-- elsewhere. Null: an earlier version wrote the row, and housekeeping fills it in.
alter table outbox add column facemap_id uuid;
create index outbox_by_facemap on outbox (merchant_id, sandbox, facemap_id);
create index outbox_unindexed on outbox (id) where facemap_id is null;
alter table link_tokens add column user_ref bytea;
create index link_tokens_by_user on link_tokens (merchant_id, sandbox, user_ref);
create index link_tokens_unindexed on link_tokens (token_ref) where user_ref is null;
alter table sessions add column user_ref bytea;
create index sessions_by_user on sessions (merchant_id, sandbox, user_ref);
create index sessions_unindexed on sessions (id) where user_ref is null;

-- When the erasure was appended to the journal in the object store. Null: an earlier version erased, and housekeeping appends it.
alter table erasures add column journaled_at bigint;

-- Attempts whose rows and keys are gone and whose objects still have to be deleted.
create table object_removals (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    attempt_id uuid not null,
    -- The erased person; the nil UUID: retention removed the attempt.
    facemap_id uuid not null,
    -- The label of the attempt, so that an erasure by label can be repeated until it is finished.
    external_ref bytea,
    created_at bigint not null,
    primary key (merchant_id, sandbox, attempt_id)
);
create index object_removals_by_label on object_removals (merchant_id, sandbox, external_ref);
create index object_removals_by_facemap on object_removals (merchant_id, sandbox, facemap_id);
