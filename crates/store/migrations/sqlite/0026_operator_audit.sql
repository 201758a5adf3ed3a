-- `migrations/postgres/0026_operator_audit.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What operators did to the installation: append-only, chained by a keyed hash like each merchant's trail. One chain, and its last link.
create table operator_audit (
    seq integer not null primary key,
    at integer not null,
    actor text not null,
    action text not null,
    subject text not null,
    detail text not null,
    hash blob not null
) strict;

create table operator_audit_heads (
    id integer not null primary key,
    seq integer not null,
    hash blob not null
) strict;
