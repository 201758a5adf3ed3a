-- What an account thinks of risk: never changed, only followed by another version.
create table risk_profiles (
    merchant_id uuid not null references merchants (id),
    version bigint not null,
    -- JSON of the engine's profile.
    profile text not null,
    created_at bigint not null,
    primary key (merchant_id, version)
);
-- What led to a screening's score: exposures, flow, time of the labels. Apart, so that listing does not read it.
create table screening_evidence (
    merchant_id uuid not null,
    sandbox boolean not null,
    id uuid not null,
    evidence_sealed bytea not null,
    primary key (merchant_id, sandbox, id),
    foreign key (merchant_id, sandbox, id) references screenings (merchant_id, sandbox, id) on delete cascade
);
