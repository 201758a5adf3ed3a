-- `migrations/postgres/0050_picture_fingerprints.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Fingerprints of submitted pictures, by which a picture is found again in another attempt of the account and mode.

-- What a picture looked like, sealed by its attempt's key. It is deleted with the attempt.
create table picture_fingerprints (
    merchant_id blob not null,
    sandbox integer not null,
    -- Made in the order of time, so that the newest of many are found first.
    id blob not null,
    attempt_id blob not null,
    -- The form's field: `selfie`, `passportFront`, …
    file text not null,
    fingerprint_sealed blob not null,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, attempt_id) references attempts (merchant_id, sandbox, id) on delete cascade
) strict;
create index picture_fingerprints_by_attempt on picture_fingerprints (merchant_id, sandbox, attempt_id);

-- The blind indexes of a picture: one of its pixels, and those of the parts of its perceptual hash.
create table picture_refs (
    merchant_id blob not null,
    sandbox integer not null,
    ref blob not null,
    picture_id blob not null,
    primary key (merchant_id, sandbox, ref, picture_id),
    foreign key (merchant_id, sandbox, picture_id) references picture_fingerprints (merchant_id, sandbox, id)
        on delete cascade
) strict;
create index picture_refs_by_picture on picture_refs (merchant_id, sandbox, picture_id);
