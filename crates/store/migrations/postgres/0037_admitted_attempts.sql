-- Attempts that a session admitted in time and that are not settled: how many, and until when the nodes that work on
-- them have promised to be alive (ms). A session with such an attempt does not expire.
alter table sessions add column in_flight bigint not null default 0;
alter table sessions add column admitted_until bigint;
