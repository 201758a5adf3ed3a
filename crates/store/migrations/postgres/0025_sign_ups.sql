-- Accounts that strangers asked for: whoever proves the address, by the link in a letter or by an operator's word, opens one.
create table sign_ups (
    id uuid not null primary key,
    -- Of the link that opens the account; null until there is one.
    token_ref bytea unique,
    -- The request's data key, wrapped by a master key; it seals what was asked.
    wrapped_key bytea not null,
    email_sealed bytea not null,
    company_sealed bytea not null,
    created_at bigint not null,
    expires_at bigint not null
);
create index sign_ups_by_expiry on sign_ups (expires_at);

-- What a form made and its next page shows, once: a link, a secret. Under the member's key.
alter table portal_sessions add column shown_sealed bytea;
