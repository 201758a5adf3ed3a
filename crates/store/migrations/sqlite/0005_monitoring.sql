-- `migrations/postgres/0005_monitoring.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Screenings of crypto addresses and transactions: every query that was answered or failed on our side.
create table screenings (
    merchant_id blob not null references merchants (id),
    sandbox integer not null,
    -- The queryId of the answer; ids grow with time.
    id blob not null,
    kind text not null,
    currency text not null,
    -- Of the canonical address or transaction, and of the caller's label: what they are found by.
    query_ref blob not null,
    label_ref blob not null,
    -- The HTTP status of the answer.
    status integer not null,
    -- Thousandths of a point; null when there is no answer.
    score_millis integer,
    query_sealed blob not null,
    label_sealed blob not null,
    response_sealed blob not null,
    created_at integer not null,
    primary key (merchant_id, sandbox, id)
) strict;
create index screenings_by_query on screenings (merchant_id, sandbox, query_ref);
create index screenings_by_label on screenings (merchant_id, sandbox, label_ref);
