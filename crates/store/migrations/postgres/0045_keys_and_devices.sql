-- What an API key may do, as JSON: the endpoints that it may call, and the networks that it may be used from.
-- `{}` means everything.
alter table credentials add column restrictions text not null default '{}';

-- Browsers in which a member of staff has signed in: a keyed hash of the token in the browser's cookie.
create table staff_devices (
    staff_id uuid not null references staff (id),
    token_ref bytea not null,
    created_at bigint not null,
    seen_at bigint not null,
    primary key (staff_id, token_ref)
);
create index staff_devices_by_use on staff_devices (seen_at);
