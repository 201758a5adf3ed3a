-- A funnel by country, and found by its sessions: the page's own clock begins anew with a reload or a second device.
alter table session_events add column country text;
drop index session_events_by_flow;
create index sessions_made on sessions (merchant_id, sandbox, created_at);

-- The hosted page's logos, so that settings, which are read with every request, stay small.
create table merchant_logos (
    merchant_id uuid not null references merchants (id),
    media_type text not null,
    bytes bytea not null,
    -- Of the bytes; part of the logo's address.
    version text not null,
    primary key (merchant_id)
);
