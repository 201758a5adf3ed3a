-- `migrations/postgres/0058_expected_person.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Whom the merchant expects behind a link: JSON under the account's key. The judgement copies it to the attempt, and it is
-- deleted from the session when that ends.
alter table link_tokens add column expected_sealed blob;
alter table sessions add column expected_sealed blob;
