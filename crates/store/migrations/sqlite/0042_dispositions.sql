-- `migrations/postgres/0042_dispositions.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What reviewers concluded about each hit of an attempt. Rows are only added: the newest of a hit counts.
create table hit_dispositions (
    merchant_id blob not null,
    sandbox integer not null,
    log_id integer not null,
    id blob not null,
    -- `staff:<id>` or `command line`.
    actor text not null,
    -- The hit, the conclusion and its reason, under the attempt's key.
    disposition_sealed blob not null,
    at integer not null,
    primary key (merchant_id, sandbox, log_id, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
) strict;
