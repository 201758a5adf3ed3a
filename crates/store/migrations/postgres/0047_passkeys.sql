-- Passkeys of members of staff. `credential_ref` is a keyed hash of the credential's ID, by which a sign-in finds the
-- passkey. `passkey_sealed` has the passkey's name, ID and public key, sealed under the member's key. `state` is what changes
-- with each use: the signature counter and flags.
create table staff_passkeys (
    id uuid primary key,
    staff_id uuid not null references staff (id),
    credential_ref bytea not null unique,
    passkey_sealed bytea not null,
    state bytea not null,
    created_at bigint not null,
    used_at bigint
);
create index staff_passkeys_by_member on staff_passkeys (staff_id, created_at);

-- Challenges that have been answered, as keyed hashes, so that an answer counts once. A row is kept until its challenge
-- would have expired.
create table passkey_challenges (
    challenge_ref bytea primary key,
    expires_at bigint not null
);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);
