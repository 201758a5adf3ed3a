-- A person's and a registration's attempts in their order, without reading the account's whole log; and the queue's filters answered by
-- the index alone, for which it must hold the status too.
drop index attempts_by_facemap;
create index attempts_by_facemap on attempts (merchant_id, sandbox, facemap_id, log_id);
drop index attempts_by_registration;
create index attempts_by_registration on attempts (merchant_id, sandbox, registration_id, log_id);
drop index attempts_pending;
create index attempts_pending on attempts (merchant_id, sandbox, status, log_id, priority, created_at, flow_id, country, codes, document_types) where status = 'pending';
drop index attempts_by_priority;
create index attempts_by_priority on attempts (merchant_id, sandbox, status, priority, log_id, created_at, flow_id, country, codes, document_types) where status = 'pending';
drop index attempts_by_session;
create index attempts_by_session on attempts (merchant_id, sandbox, session_id, log_id) where session_id is not null;
