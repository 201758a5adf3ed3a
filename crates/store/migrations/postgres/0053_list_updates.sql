-- Updates of sanctions lists from their publishers: when each one is due, who does it, how the last one ended, and what
-- the publisher offered then. A row describes a list of the installation and no account.
create table list_updates (
    list text primary key,
    -- The next update by a server that is set to update the list. Times are ms UTC.
    due_at bigint not null,
    lease uuid,
    leased_until bigint not null,
    -- The last attempt, by a server or the command line, and why it failed; null: it did not.
    attempted_at bigint,
    error text,
    -- The last attempt that found the publisher's file.
    succeeded_at bigint,
    -- What that file was: SHA-256 of the list's entities and of the file, SHA-256 of its address, and what the server
    -- stated about it.
    offered_digest bytea,
    file_digest bytea,
    address_digest bytea,
    etag text,
    last_modified text,
    -- The last import of the list, or update without a change, by any node: when, and SHA-256 of its entities.
    confirmed_at bigint,
    confirmed_digest bytea,
    -- The content that a rollback took out of use, which an update must not put back.
    rolled_back_digest bytea,
    rolled_back_version text
);
