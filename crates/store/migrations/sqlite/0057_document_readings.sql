-- `migrations/postgres/0057_document_readings.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- How many pictures of documents a session had read before its submission.
alter table sessions add column readings integer not null default 0;

-- A picture of a document that was read in a session before its submission. It goes when its session ends, and an hour
-- after it was read at the latest. The picture itself is in the object store, under this row's key and named by its id.
create table document_readings (
    merchant_id blob not null,
    sandbox integer not null,
    -- Made in the order of time.
    id blob not null,
    session_id blob not null,
    -- The form's field that the picture is for: `passportFront`, … The latest of a field counts.
    file text not null,
    -- Under the account's key.
    wrapped_key blob not null,
    -- Under the row's key: what was read, and the values that the person was shown.
    content_sealed blob not null,
    created_at integer not null,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, session_id) references sessions (merchant_id, sandbox, id) on delete cascade
) strict;

create index document_readings_by_session on document_readings (merchant_id, sandbox, session_id);
-- Those whose hour is over.
create index document_readings_by_age on document_readings (created_at);
