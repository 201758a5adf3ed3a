-- `migrations/postgres/0047_passkeys.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Passkeys of members of staff. `credential_ref` is a keyed hash of the credential's ID, by which a sign-in finds the
-- passkey. `passkey_sealed` has the passkey's name, ID and public key, sealed under the member's key. `state` is what changes
-- with each use: the signature counter and flags.
create table staff_passkeys (
    id blob primary key,
    staff_id blob not null references staff (id),
    credential_ref blob not null unique,
    passkey_sealed blob not null,
    state blob not null,
    created_at integer not null,
    used_at integer
) strict;
create index staff_passkeys_by_member on staff_passkeys (staff_id, created_at);

-- Challenges that have been answered, as keyed hashes, so that an answer counts once. A row is kept until its challenge
-- would have expired.
create table passkey_challenges (
    challenge_ref blob primary key,
    expires_at integer not null
) strict;
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);
