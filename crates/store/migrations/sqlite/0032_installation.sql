-- `migrations/postgres/0032_installation.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Which key file belongs to this database: one row, once the installation has data. It reveals no key.
create table installation (
    id integer not null primary key,
    -- A keyed hash: of the keyring's root, which a rotation leaves as it is.
    key_root blob not null,
    -- Sealed by the master key that was the newest when the installation's keys were last wrapped.
    key_sealed blob not null,
    created_at integer not null
) strict;

-- The sanctions lists that every node screens against: one row with a keyed hash over the members, once there was a list.
create table list_sets (
    id integer not null primary key,
    revision integer not null,
    mac blob not null,
    changed_at integer not null
) strict;

create table list_set_members (
    name text not null primary key,
    version text not null,
    -- SHA-256 of the list's entities, as every node that imports the same files has them.
    digest blob not null,
    entities integer not null
) strict;
