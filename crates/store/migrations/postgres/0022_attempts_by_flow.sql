-- A Flow's oldest attempts: for retention, and for what the portal says of it.
create index attempts_by_flow on attempts (merchant_id, sandbox, flow_id, created_at);
