-- `migrations/postgres/0025_sign_ups.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Accounts that strangers asked for: whoever proves the address, by the link in a letter or by an operator's word, opens one.
create table sign_ups (
    id blob not null primary key,
    -- Of the link that opens the account; null until there is one.
    token_ref blob unique,
    -- The request's data key, wrapped by a master key; it seals what was asked.
    wrapped_key blob not null,
    email_sealed blob not null,
    company_sealed blob not null,
    created_at integer not null,
    expires_at integer not null
) strict;
create index sign_ups_by_expiry on sign_ups (expires_at);

-- What a form made and its next page shows, once: a link, a secret. Under the member's key.
alter table portal_sessions add column shown_sealed blob;
