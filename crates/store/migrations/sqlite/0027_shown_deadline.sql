-- `migrations/postgres/0027_shown_deadline.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What a form made waits a few minutes for its page, not as long as the session: until when (ms). Nothing waits across this change.
update portal_sessions set shown_sealed = null;
alter table portal_sessions add column shown_until integer;
create index portal_sessions_shown on portal_sessions (shown_until) where shown_until is not null;
