-- Letters to applicants about their invitations, and what reminders and renewals need.

-- The applicant's address under the account's key, and the language of the letters. A final status other than `expired`
-- deletes the address, and so does a renewal or a decision after the end.
alter table applicant_invitations add column email_sealed bytea;
alter table applicant_invitations add column language text;
-- The reminders that were sent or told, and when the next one is due.
alter table applicant_invitations add column reminders bigint not null default 0;
alter table applicant_invitations add column remind_at bigint;
-- The expired invitation that this one replaces, the one that replaces this one, and how many this one follows.
alter table applicant_invitations add column renews uuid;
alter table applicant_invitations add column renewed_by uuid;
alter table applicant_invitations add column renewals bigint not null default 0;
-- The file that it was created from.
alter table applicant_invitations add column import_id uuid;
-- Those that the server reminds, and those that a merchant lists.
create index applicant_invitations_to_remind on applicant_invitations (remind_at)
    where state = 'open' and remind_at is not null and email_sealed is not null;
create index applicant_invitations_due on applicant_invitations (merchant_id, sandbox, remind_at)
    where state = 'open' and remind_at is not null;
create index applicant_invitations_of_import on applicant_invitations (merchant_id, sandbox, import_id, id)
    where import_id is not null;

-- Further tokens of an invitation: each letter has its own, because tokens are stored only as hashes.
create table applicant_invitation_tokens (
    merchant_id uuid not null,
    sandbox boolean not null,
    token_ref bytea not null,
    invitation_id uuid not null,
    primary key (merchant_id, token_ref),
    foreign key (merchant_id, sandbox, invitation_id) references applicant_invitations (merchant_id, sandbox, id)
        on delete cascade
);
create index applicant_invitation_tokens_of_invitation
    on applicant_invitation_tokens (merchant_id, sandbox, invitation_id);

-- Letters to send, and what became of them. Address and text are read when a letter is sent.
create table applicant_letters (
    merchant_id uuid not null,
    sandbox boolean not null,
    id uuid not null,
    invitation_id uuid not null,
    -- `invitation`, `reminder`, `renewal`.
    kind text not null,
    -- `queued`, `sent`, `failed`, `void`.
    state text not null,
    -- Each claim gets a number, by which only the latest one reports. Only hand-overs count as tries.
    claims bigint not null default 0,
    tries bigint not null default 0,
    -- When it is sent next, or a claim of it ends; null if it is not queued.
    next_try_at bigint,
    created_at bigint not null,
    -- When it was last handed to the mail server.
    handed_at bigint,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, invitation_id) references applicant_invitations (merchant_id, sandbox, id)
        on delete cascade
);
create index applicant_letters_of_invitation on applicant_letters (merchant_id, sandbox, invitation_id, id);
create index applicant_letters_due on applicant_letters (next_try_at) where next_try_at is not null;
-- Those of the last day, for an account's limit.
create index applicant_letters_handed on applicant_letters (merchant_id, handed_at) where handed_at is not null;
