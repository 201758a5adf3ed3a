-- `migrations/postgres/0008_risk_profiles.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- What an account thinks of risk: never changed, only followed by another version.
create table risk_profiles (
    merchant_id blob not null references merchants (id),
    version integer not null,
    -- JSON of the engine's profile.
    profile text not null,
    created_at integer not null,
    primary key (merchant_id, version)
) strict;
-- What led to a screening's score: exposures, flow, time of the labels. Apart, so that listing does not read it.
create table screening_evidence (
    merchant_id blob not null,
    sandbox integer not null,
    id blob not null,
    evidence_sealed blob not null,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, id) references screenings (merchant_id, sandbox, id) on delete cascade
) strict;
