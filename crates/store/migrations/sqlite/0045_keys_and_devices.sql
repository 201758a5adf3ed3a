-- `migrations/postgres/0045_keys_and_devices.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What an API key may do, as JSON: the endpoints that it may call, and the networks that it may be used from.
-- `{}` means everything.
alter table credentials add column restrictions text not null default '{}';

-- Browsers in which a member of staff has signed in: a keyed hash of the token in the browser's cookie.
create table staff_devices (
    staff_id blob not null references staff (id),
    token_ref blob not null,
    created_at integer not null,
    seen_at integer not null,
    primary key (staff_id, token_ref)
) strict;
create index staff_devices_by_use on staff_devices (seen_at);
