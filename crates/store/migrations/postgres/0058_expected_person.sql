-- Whom the merchant expects behind a link: JSON under the account's key. The judgement copies it to the attempt, and it is
-- deleted from the session when that ends.
alter table link_tokens add column expected_sealed bytea;
alter table sessions add column expected_sealed bytea;
