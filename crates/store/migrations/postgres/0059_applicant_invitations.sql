-- A merchant's invitation of an applicant: a link for mail or SMS that opens sessions, one at a time, until the
-- verification has ended. (`invitations` are those of the portal's staff.)
create table applicant_invitations (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    -- Made in the order of the nodes' clocks.
    id uuid not null,
    -- Of the token in the link.
    token_ref bytea not null,
    group_id uuid not null,
    flow_id uuid not null,
    -- Under the account's key.
    user_id_sealed bytea not null,
    user_ref bytea not null,
    -- Whom the merchant expects, under the account's key, until the invitation ends. Each session gets a copy.
    expected_sealed bytea,
    -- `open`, or how it ended: `success`, `failed`, `expired`, `revoked`. Its sessions tell whether one is in review.
    state text not null,
    -- Those of all its sessions.
    attempts bigint not null default 0,
    max_attempts bigint not null,
    -- The session whose attempt or review ended it.
    deciding_session uuid,
    created_at bigint not null,
    expires_at bigint not null,
    ended_at bigint,
    primary key (merchant_id, sandbox, id),
    unique (merchant_id, token_ref)
);
create index applicant_invitations_by_user on applicant_invitations (merchant_id, sandbox, user_ref, id);
create index applicant_invitations_by_state on applicant_invitations (merchant_id, sandbox, state, id);
-- Those that a deletion of their Flow or Group revokes.
create index applicant_invitations_of_flow on applicant_invitations (merchant_id, sandbox, flow_id) where state = 'open';
create index applicant_invitations_of_group on applicant_invitations (merchant_id, sandbox, group_id) where state = 'open';
create index applicant_invitations_by_expiry on applicant_invitations (expires_at);
create index applicant_invitations_open on applicant_invitations (expires_at) where state = 'open';

-- The invitation that opened a session.
alter table sessions add column invitation_id uuid;
create index sessions_by_invitation on sessions (merchant_id, sandbox, invitation_id) where invitation_id is not null;
