-- How a Flow's webhook is signed, and whether its receiver asked for silence. Goes with its Flow.
create table webhook_endpoints (
    merchant_id uuid not null,
    sandbox boolean not null,
    flow_id uuid not null,
    -- `whsec_…`, sealed.
    secret_sealed bytea not null,
    -- The secret before a rotation, which signs too until its time is up.
    previous_sealed bytea,
    previous_until bigint,
    -- The address that answered 410; another one is tried again.
    stopped_url text,
    primary key (merchant_id, sandbox, flow_id),
    foreign key (merchant_id, sandbox, flow_id) references flows (merchant_id, sandbox, id) on delete cascade
);
-- For deleting the events that are kept long enough.
create index outbox_done on outbox (created_at) where next_try_at is null;
