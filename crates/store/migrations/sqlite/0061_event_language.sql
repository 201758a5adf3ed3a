-- `migrations/postgres/0061_event_language.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- The language in which the hosted page was shown, for the funnel; null if unknown. Earlier versions leave it null.
alter table session_events add column language text;
