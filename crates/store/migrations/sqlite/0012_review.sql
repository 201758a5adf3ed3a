-- `migrations/postgres/0012_review.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Review: the queue's order and filters are answered by indexes alone; suppressions remember how strong the hit was.

-- How urgent a review would be: 1 sanctions match, 2 near-duplicate face, 3 similarity in the review band, 4 anything else.
alter table attempts add column priority integer not null default 4;

drop index attempts_pending;
create index attempts_pending on attempts (merchant_id, sandbox, log_id, priority, created_at, flow_id, country, codes, document_types) where status = 'pending';
create index attempts_by_priority on attempts (merchant_id, sandbox, priority, log_id, created_at, flow_id, country, codes, document_types) where status = 'pending';
create index attempts_by_session on attempts (merchant_id, sandbox, session_id) where session_id is not null;

-- Ten-thousandths: the suppression covers hits that are no stronger than the one that was looked at.
alter table suppressions add column score integer not null default 10000;
