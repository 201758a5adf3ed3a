-- Accounts of the portal: a member is shut out of one merchant without losing the others.

alter table memberships add column disabled_at bigint;
