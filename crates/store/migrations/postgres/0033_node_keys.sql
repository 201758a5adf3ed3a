-- Which key file a process works with; empty: an older version's process, which does not report it.
alter table nodes add column key_fingerprint text not null default '';
