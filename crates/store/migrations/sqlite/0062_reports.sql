-- `migrations/postgres/0062_reports.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- The lists of the API: an account's registrations and links in the order of their creation.
create index registrations_by_creation on registrations (merchant_id, sandbox, created_at, id);
create index link_tokens_by_creation on link_tokens (merchant_id, sandbox, created_at, token_ref);
-- When the merchant revoked the link (ms). The exchange depends on expires_at, which a revocation sets to the same time.
alter table link_tokens add column revoked_at integer;
-- The newest migration that a program must know to serve this database, so that two neighbouring versions can serve it side
-- by side. A migration that an earlier version cannot work with sets it to its own number.
create table schema_compatibility (
    id integer primary key check (id = 1),
    oldest integer not null
) strict;
insert into schema_compatibility (id, oldest) values (1, 61);
