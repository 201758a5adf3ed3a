-- What the portal's set-up pages list: the newest sessions, and the events that were given up.
create index sessions_by_time on sessions (merchant_id, sandbox, created_at);
create index outbox_given_up on outbox (merchant_id, sandbox, created_at) where delivered_at is null and next_try_at is null;
