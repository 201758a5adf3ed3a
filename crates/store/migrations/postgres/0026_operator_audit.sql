-- What operators did to the installation: append-only, chained by a keyed hash like each merchant's trail. One chain, and its last link.
create table operator_audit (
    seq bigint not null primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    subject text not null,
    detail text not null,
    hash bytea not null
);

create table operator_audit_heads (
    id bigint not null primary key,
    seq bigint not null,
    hash bytea not null
);
