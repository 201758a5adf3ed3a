-- `migrations/postgres/0010_accounts.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Accounts of the portal: a member is shut out of one merchant without losing the others.

alter table memberships add column disabled_at integer;
