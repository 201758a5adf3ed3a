-- What a form made waits a few minutes for its page, not as long as the session: until when (ms). Nothing waits across this change.
update portal_sessions set shown_sealed = null;
alter table portal_sessions add column shown_until bigint;
create index portal_sessions_shown on portal_sessions (shown_until) where shown_until is not null;
