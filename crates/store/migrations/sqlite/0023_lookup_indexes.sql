-- `migrations/postgres/0023_lookup_indexes.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What orders a person's and a label's registrations and groups a label's attempts is in their indexes: without it SQLite, which has
-- no statistics of its own, walks the whole account in the wanted order instead of looking the person up.
drop index registrations_by_facemap;
create index registrations_by_facemap on registrations (merchant_id, sandbox, facemap_id, last_active, id);
drop index registrations_by_external_ref;
create index registrations_by_external_ref on registrations (merchant_id, sandbox, external_ref, last_active, id);
drop index attempts_by_external_ref;
create index attempts_by_external_ref on attempts (merchant_id, sandbox, external_ref, facemap_id, grouping_id, created_at);
