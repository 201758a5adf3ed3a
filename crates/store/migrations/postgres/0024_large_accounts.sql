-- What an account with a million applicants is read by, so that no page and no sweep passes over all of it.

-- A person's earlier ids in their order; and an account's oldest attempts, for retention, without opening those that stay.
drop index facemap_aliases_by_facemap;
create index facemap_aliases_by_facemap on facemap_aliases (merchant_id, sandbox, facemap_id, alias);
drop index attempts_by_time;
create index attempts_by_time on attempts (merchant_id, sandbox, created_at, log_id, flow_id, id);

-- The overview counts what could not be delivered.
create index outbox_undelivered on outbox (merchant_id, sandbox, created_at) where delivered_at is null;

-- Every minute: sessions whose time is up, without those that wait for a reviewer; and those that were never used.
drop index sessions_open;
create index sessions_open on sessions (expires_at, id) where status = 'pending' and stage <> 'in_review';
create index sessions_unused on sessions (expires_at) where attempts = 0 and status <> 'pending';
-- `sessions_by_time` is the same index under its second name.
drop index sessions_made;

-- Who did something to what, and where: the audit trail by what it is asked for most.
create index audit_by_subject on audit (merchant_id, subject, seq);
create index audit_by_actor on audit (merchant_id, actor, seq);
create index audit_by_mode on audit (merchant_id, sandbox, seq);

-- Calls by the key that made them, and by what they asked for.
create index api_log_by_key on api_log (merchant_id, sandbox, key, id);
create index api_log_by_route on api_log (merchant_id, sandbox, route, id);
