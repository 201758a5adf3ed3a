-- Readiness checks insert a row here and delete it in the same transaction, to find out whether writes succeed.
create table write_checks (
    id uuid not null primary key,
    at bigint not null
);
