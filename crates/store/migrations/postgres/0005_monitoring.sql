-- Screenings of crypto addresses and transactions: every query that was answered or failed on our side.
create table screenings (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    -- The queryId of the answer; ids grow with time.
    id uuid not null,
    kind text not null,
    currency text not null,
    -- Of the canonical address or transaction, and of the caller's label: what they are found by.
    query_ref bytea not null,
    label_ref bytea not null,
    -- The HTTP status of the answer.
    status bigint not null,
    -- Thousandths of a point; null when there is no answer.
    score_millis bigint,
    query_sealed bytea not null,
    label_sealed bytea not null,
    response_sealed bytea not null,
    created_at bigint not null,
    primary key (merchant_id, sandbox, id)
);
create index screenings_by_query on screenings (merchant_id, sandbox, query_ref);
create index screenings_by_label on screenings (merchant_id, sandbox, label_ref);
