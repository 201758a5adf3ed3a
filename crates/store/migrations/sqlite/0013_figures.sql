-- `migrations/postgres/0013_figures.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What the API log and the figures are read by.

-- The calls that a developer looks for first.
create index api_log_failures on api_log (merchant_id, sandbox, id) where status >= 400;

-- All that figures count, so that no sealed column is passed over while counting.
create index attempts_figures on attempts
    (merchant_id, sandbox, created_at, status, flow_id, country, document_types, codes, took_ms);
