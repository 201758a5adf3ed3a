-- `migrations/postgres/0063_key_permissions.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What a key may do to people, as JSON: acts, and the members that a request may name as responsible. Nothing by default.
alter table credentials add column permissions text not null default '{}';
-- The API key that proposed the decision, and the member whom it named; null for proposals of people and the command line.
alter table review_proposals add column key_actor text;
