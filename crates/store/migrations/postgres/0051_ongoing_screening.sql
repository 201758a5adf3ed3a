-- Ongoing screening: everybody who is approved is looked at again when a list changes.

-- Whether only the accounts that chose the list are screened against it.
alter table list_set_members add column needs_choice boolean not null default false;

-- The names under which the attempt was screened, sealed by its key. Attempts of earlier versions have them in their
-- detail alone.
alter table attempts add column names_sealed bytea;

create index registrations_by_status on registrations (merchant_id, sandbox, status, facemap_id);

-- How far ongoing screening is in one account and mode.
create table rescreenings (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    -- The lists against which everybody was last looked at: a JSON object of digests by name.
    done text not null,
    -- The lists of the run in progress, the last person that it looked at, and when it began.
    target text,
    after_facemap uuid not null,
    started_at bigint,
    finished_at bigint,
    -- How many people the run, or the last one, has looked at, and how many alerts it opened.
    people bigint not null,
    alerts bigint not null,
    -- The worker that continues the run, and until when nobody else does.
    lease uuid,
    leased_until bigint not null,
    primary key (merchant_id, sandbox)
);

-- People who must be looked at against all lists, because their names or who approved them changed.
create table rescreening_requests (
    merchant_id uuid not null,
    sandbox boolean not null,
    facemap_id uuid not null,
    at bigint not null,
    primary key (merchant_id, sandbox, facemap_id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
);

-- What ongoing screening found about people who are approved. A row is deleted with its attempt.
create table alerts (
    merchant_id uuid not null,
    sandbox boolean not null,
    -- Made in the order of time.
    id uuid not null,
    -- The attempt under whose names the person is approved.
    log_id bigint not null,
    -- The list, and the blind index of the entry in it.
    list text not null,
    listing_ref bytea not null,
    -- Ten-thousandths.
    score bigint not null,
    -- The hit and what changed, under the attempt's key.
    hit_sealed bytea not null,
    -- `open`, or why it is closed.
    state text not null,
    opened_at bigint not null,
    changed_at bigint not null,
    claimed_by uuid,
    claimed_until bigint,
    -- `staff:<id>` or `command line`; null if the list's change closed it.
    decided_by text,
    decided_at bigint,
    -- Under the attempt's key.
    reason_sealed bytea,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
);
create index alerts_by_state on alerts (merchant_id, sandbox, state, id);
create index alerts_by_list on alerts (merchant_id, sandbox, state, list, id);
create index alerts_by_attempt on alerts (merchant_id, sandbox, log_id);
