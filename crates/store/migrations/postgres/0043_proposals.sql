-- Four eyes: acts other than decisions on attempts that wait for a second person.
create table proposals (
    id uuid primary key,
    -- Null: the act concerns the whole installation.
    merchant_id uuid references merchants (id),
    sandbox boolean not null,
    kind text not null,
    -- What the act concerns; one proposal of a kind for each.
    subject text not null,
    -- The attempt, where the act concerns one; the proposal goes with it.
    log_id bigint,
    -- Null: the command line, which is nobody.
    staff_id uuid,
    -- The act, what it changes and why: under the attempt's key where there is an attempt, else under the account's.
    payload_sealed bytea not null,
    at bigint not null,
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);
create unique index proposals_by_subject on proposals (merchant_id, sandbox, kind, subject);

-- The second person who confirmed that a listing does not mean a person; null: one person alone found so.
alter table suppressions add column confirmed_by uuid;

-- Flows that required two people when they were deleted: their attempts still do.
create table deleted_four_eyes_flows (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    flow_id uuid not null,
    primary key (merchant_id, sandbox, flow_id)
);
