-- `migrations/postgres/0051_ongoing_screening.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Ongoing screening: everybody who is approved is looked at again when a list changes.

-- Whether only the accounts that chose the list are screened against it.
alter table list_set_members add column needs_choice integer not null default false;

-- The names under which the attempt was screened, sealed by its key. Attempts of earlier versions have them in their
-- detail alone.
alter table attempts add column names_sealed blob;

create index registrations_by_status on registrations (merchant_id, sandbox, status, facemap_id);

-- How far ongoing screening is in one account and mode.
create table rescreenings (
    merchant_id blob not null references merchants (id),
    sandbox integer not null,
    -- The lists against which everybody was last looked at: a JSON object of digests by name.
    done text not null,
    -- The lists of the run in progress, the last person that it looked at, and when it began.
    target text,
    after_facemap blob not null,
    started_at integer,
    finished_at integer,
    -- How many people the run, or the last one, has looked at, and how many alerts it opened.
    people integer not null,
    alerts integer not null,
    -- The worker that continues the run, and until when nobody else does.
    lease blob,
    leased_until integer not null,
    primary key (merchant_id, sandbox)
) strict;

-- People who must be looked at against all lists, because their names or who approved them changed.
create table rescreening_requests (
    merchant_id blob not null,
    sandbox integer not null,
    facemap_id blob not null,
    at integer not null,
    primary key (merchant_id, sandbox, facemap_id),
    foreign key (merchant_id, sandbox, facemap_id) references people (merchant_id, sandbox, facemap_id) on delete cascade
) strict;

-- What ongoing screening found about people who are approved. A row is deleted with its attempt.
create table alerts (
    merchant_id blob not null,
    sandbox integer not null,
    -- Made in the order of time.
    id blob not null,
    -- The attempt under whose names the person is approved.
    log_id integer not null,
    -- The list, and the blind index of the entry in it.
    list text not null,
    listing_ref blob not null,
    -- Ten-thousandths.
    score integer not null,
    -- The hit and what changed, under the attempt's key.
    hit_sealed blob not null,
    -- `open`, or why it is closed.
    state text not null,
    opened_at integer not null,
    changed_at integer not null,
    claimed_by blob,
    claimed_until integer,
    -- `staff:<id>` or `command line`; null if the list's change closed it.
    decided_by text,
    decided_at integer,
    -- Under the attempt's key.
    reason_sealed blob,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, log_id) references attempts (merchant_id, sandbox, log_id) on delete cascade
) strict;
create index alerts_by_state on alerts (merchant_id, sandbox, state, id);
create index alerts_by_list on alerts (merchant_id, sandbox, state, list, id);
create index alerts_by_attempt on alerts (merchant_id, sandbox, log_id);
