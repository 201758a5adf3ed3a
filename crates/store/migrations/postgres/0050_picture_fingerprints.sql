-- Fingerprints of submitted pictures, by which a picture is found again in another attempt of the account and mode.

-- What a picture looked like, sealed by its attempt's key. It is deleted with the attempt.
create table picture_fingerprints (
    merchant_id uuid not null,
    sandbox boolean not null,
    -- Made in the order of time, so that the newest of many are found first.
    id uuid not null,
    attempt_id uuid not null,
    -- The form's field: `selfie`, `passportFront`, …
    file text not null,
    fingerprint_sealed bytea not null,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, attempt_id) references attempts (merchant_id, sandbox, id) on delete cascade
);
create index picture_fingerprints_by_attempt on picture_fingerprints (merchant_id, sandbox, attempt_id);

-- The blind indexes of a picture: one of its pixels, and those of the parts of its perceptual hash.
create table picture_refs (
    merchant_id uuid not null,
    sandbox boolean not null,
    ref bytea not null,
    picture_id uuid not null,
    primary key (merchant_id, sandbox, ref, picture_id),
    foreign key (merchant_id, sandbox, picture_id) references picture_fingerprints (merchant_id, sandbox, id)
        on delete cascade
);
create index picture_refs_by_picture on picture_refs (merchant_id, sandbox, picture_id);
