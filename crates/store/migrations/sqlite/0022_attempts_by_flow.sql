-- `migrations/postgres/0022_attempts_by_flow.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- A Flow's oldest attempts: for retention, and for what the portal says of it.
create index attempts_by_flow on attempts (merchant_id, sandbox, flow_id, created_at);
