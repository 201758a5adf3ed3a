-- `migrations/postgres/0009_hosted.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- A funnel by country, and found by its sessions: the page's own clock begins anew with a reload or a second device.
alter table session_events add column country text;
drop index session_events_by_flow;
create index sessions_made on sessions (merchant_id, sandbox, created_at);

-- The hosted page's logos, so that settings, which are read with every request, stay small.
create table merchant_logos (
    merchant_id blob not null references merchants (id),
    media_type text not null,
    bytes blob not null,
    -- Of the bytes; part of the logo's address.
    version text not null,
    primary key (merchant_id)
) strict;
