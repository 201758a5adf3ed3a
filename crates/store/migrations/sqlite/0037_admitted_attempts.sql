-- `migrations/postgres/0037_admitted_attempts.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Attempts that a session admitted in time and that are not settled: how many, and until when the nodes that work on
-- them have promised to be alive (ms). A session with such an attempt does not expire.
alter table sessions add column in_flight integer not null default 0;
alter table sessions add column admitted_until integer;
