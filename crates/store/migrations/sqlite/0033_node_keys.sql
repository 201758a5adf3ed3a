-- `migrations/postgres/0033_node_keys.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Which key file a process works with; empty: an older version's process, which does not report it.
alter table nodes add column key_fingerprint text not null default '';
