-- What reviewers concluded about each hit of an attempt. Rows are only added: the newest of a hit counts.
create table hit_dispositions (
    merchant_id uuid not null,
    sandbox boolean not null,
    log_id bigint not null,
    id uuid not null,
    -- `staff:<id>` or `command line`.
    actor text not null,
    -- The hit, the conclusion and its reason, under the attempt's key.
    disposition_sealed bytea not null,
    at bigint not null,
    primary key (merchant_id, sandbox, log_id, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);
