-- Traffic of a SQLite installation: rate limits and the API log, whose newest rows a power cut may take. PostgreSQL has
-- these tables among all others. Columns and indexes are those of `migrations/sqlite`, without references to other
-- tables. A test keeps them equal.

create table rate_limits (
    merchant_id blob not null,
    bucket text not null,
    full_at integer not null,
    primary key (merchant_id, bucket)
) strict;
create index rate_limits_by_full_at on rate_limits (full_at);

create table api_log (
    merchant_id blob not null,
    sandbox integer not null,
    id blob not null,
    request_id text not null,
    at integer not null,
    method text not null,
    route text not null,
    status integer not null,
    ms integer not null,
    key text not null,
    exchange_sealed blob not null,
    primary key (merchant_id, sandbox, id)
) strict;
create index api_log_by_time on api_log (at);
create index api_log_failures on api_log (merchant_id, sandbox, id) where status >= 400;
create index api_log_by_request on api_log (merchant_id, sandbox, request_id, id);
create index api_log_by_key on api_log (merchant_id, sandbox, key, id);
create index api_log_by_route on api_log (merchant_id, sandbox, route, id);
