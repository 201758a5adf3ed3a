-- Which key file belongs to this database: one row, once the installation has data. It reveals no key.
create table installation (
    id bigint not null primary key,
    -- A keyed hash: of the keyring's root, which a rotation leaves as it is.
    key_root bytea not null,
    -- Sealed by the master key that was the newest when the installation's keys were last wrapped.
    key_sealed bytea not null,
    created_at bigint not null
);

-- The sanctions lists that every node screens against: one row with a keyed hash over the members, once there was a list.
create table list_sets (
    id bigint not null primary key,
    revision bigint not null,
    mac bytea not null,
    changed_at bigint not null
);

create table list_set_members (
    name text not null primary key,
    version text not null,
    -- SHA-256 of the list's entities, as every node that imports the same files has them.
    digest bytea not null,
    entities bigint not null
);
