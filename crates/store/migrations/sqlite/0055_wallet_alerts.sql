-- `migrations/postgres/0055_wallet_alerts.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Wallet screenings are compared again with the sanctions lists when the listed wallets change.

-- How far this is in one account and mode.
create table wallet_rescreenings (
    merchant_id blob not null references merchants (id),
    sandbox integer not null,
    -- With what all screenings were last compared: the lists, their wallets and the days, as JSON. Null: unknown.
    done text,
    -- The same of the run in progress.
    target text,
    -- Whether a screening was stored that used other wallets, so that another run compares all screenings again.
    must_repeat integer not null,
    -- The run continues with the screenings before this one, from the newest to the oldest.
    before_screening blob not null,
    started_at integer,
    finished_at integer,
    -- How many screenings the run, or the last one, has compared, and how many alerts it opened.
    screenings integer not null,
    alerts integer not null,
    -- The worker that continues the run, and until when nobody else does.
    lease blob,
    leased_until integer not null,
    primary key (merchant_id, sandbox)
) strict;

-- Screenings that touched an address that a list named later. A row is deleted with its screening.
create table wallet_alerts (
    merchant_id blob not null,
    sandbox integer not null,
    -- Made in the order of time.
    id blob not null,
    screening_id blob not null,
    -- The blind index of the screened text, its chain and label, and the listed address.
    subject_ref blob not null,
    -- The address, its listing and the screening, under the account's key.
    finding_sealed blob not null,
    -- `open`, or why it is closed.
    state text not null,
    opened_at integer not null,
    changed_at integer not null,
    -- `staff:<id>`; null if the list's change closed it.
    closed_by text,
    -- Under the account's key.
    reason_sealed blob,
    -- From when on (ms) a worker computes the score with the new lists. Null: none is to be computed.
    score_due integer,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, screening_id) references screenings (merchant_id, sandbox, id) on delete cascade
) strict;
create index wallet_alerts_by_state on wallet_alerts (merchant_id, sandbox, state, id);
create index wallet_alerts_by_subject on wallet_alerts (merchant_id, sandbox, subject_ref);
create index wallet_alerts_by_screening on wallet_alerts (merchant_id, sandbox, screening_id);
create index wallet_alerts_by_score_due on wallet_alerts (score_due) where score_due is not null;
