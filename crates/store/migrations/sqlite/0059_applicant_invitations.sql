-- `migrations/postgres/0059_applicant_invitations.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- A merchant's invitation of an applicant: a link for mail or SMS that opens sessions, one at a time, until the
-- verification has ended. (`invitations` are those of the portal's staff.)
create table applicant_invitations (
    merchant_id blob not null references merchants (id),
    sandbox integer not null,
    -- Made in the order of the nodes' clocks.
    id blob not null,
    -- Of the token in the link.
    token_ref blob not null,
    group_id blob not null,
    flow_id blob not null,
    -- Under the account's key.
    user_id_sealed blob not null,
    user_ref blob not null,
    -- Whom the merchant expects, under the account's key, until the invitation ends. Each session gets a copy.
    expected_sealed blob,
    -- `open`, or how it ended: `success`, `failed`, `expired`, `revoked`. Its sessions tell whether one is in review.
    state text not null,
    -- Those of all its sessions.
    attempts integer not null default 0,
    max_attempts integer not null,
    -- The session whose attempt or review ended it.
    deciding_session blob,
    created_at integer not null,
    expires_at integer not null,
    ended_at integer,
    primary key (merchant_id, sandbox, id),
    unique (merchant_id, token_ref)
) strict;
create index applicant_invitations_by_user on applicant_invitations (merchant_id, sandbox, user_ref, id);
create index applicant_invitations_by_state on applicant_invitations (merchant_id, sandbox, state, id);
-- Those that a deletion of their Flow or Group revokes.
create index applicant_invitations_of_flow on applicant_invitations (merchant_id, sandbox, flow_id) where state = 'open';
create index applicant_invitations_of_group on applicant_invitations (merchant_id, sandbox, group_id) where state = 'open';
create index applicant_invitations_by_expiry on applicant_invitations (expires_at);
create index applicant_invitations_open on applicant_invitations (expires_at) where state = 'open';

-- The invitation that opened a session.
alter table sessions add column invitation_id blob;
create index sessions_by_invitation on sessions (merchant_id, sandbox, invitation_id) where invitation_id is not null;
