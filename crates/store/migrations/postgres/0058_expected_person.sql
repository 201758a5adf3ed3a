-- Whom the merchant expects behind a link: JSON under the account's key. The judgement copies it to the attempt, and it is
-- deleted from the session when that ends.
alter table link_tokens add column expected_sealed bytea;
alter table sessions add column expected_sealed bytea;
-- The few rows that have one, for the sweep.
create index link_tokens_expected on link_tokens (expires_at) where expected_sealed is not null;
create index sessions_expected on sessions (status) where expected_sealed is not null;
