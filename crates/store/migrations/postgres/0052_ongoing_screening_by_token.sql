-- Ongoing screening: a request that is renewed while it is answered is answered again, and a listing that was set
-- aside while it was no sanction counts once it is one.

-- Renewed by each request, so that an answer removes the request that it answers. Null: an earlier version asked.
alter table rescreening_requests add column token uuid;

-- Whether the inspected hit flagged the person. Earlier versions set aside hits of either kind.
alter table suppressions add column matched boolean not null default true;

create index rescreening_requests_by_time on rescreening_requests (at, facemap_id);
