-- The language in which the hosted page was shown, for the funnel; null if unknown. Earlier versions leave it null.
alter table session_events add column language text;
