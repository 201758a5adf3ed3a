-- What a developer looks up most: the call of an `X-Request-Id`.
create index api_log_by_request on api_log (merchant_id, sandbox, request_id, id);
