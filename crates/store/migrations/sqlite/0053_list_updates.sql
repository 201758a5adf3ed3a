-- `migrations/postgres/0053_list_updates.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Updates of sanctions lists from their publishers: when each one is due, who does it, how the last one ended, and what
-- the publisher offered then. A row describes a list of the installation and no account.
create table list_updates (
    list text primary key,
    -- The next update by a server that is set to update the list. Times are ms UTC.
    due_at integer not null,
    lease blob,
    leased_until integer not null,
    -- The last attempt, by a server or the command line, and why it failed; null: it did not.
    attempted_at integer,
    error text,
    -- The last attempt that found the publisher's file.
    succeeded_at integer,
    -- What that file was: SHA-256 of the list's entities and of the file, SHA-256 of its address, and what the server
    -- stated about it.
    offered_digest blob,
    file_digest blob,
    address_digest blob,
    etag text,
    last_modified text,
    -- The last import of the list, or update without a change, by any node: when, and SHA-256 of its entities.
    confirmed_at integer,
    confirmed_digest blob,
    -- The content that a rollback took out of use, which an update must not put back.
    rolled_back_digest blob,
    rolled_back_version text
) strict;
