-- `migrations/postgres/0030_write_checks.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Readiness checks insert a row here and delete it in the same transaction, to find out whether writes succeed.
create table write_checks (
    id blob not null primary key,
    at integer not null
) strict;
