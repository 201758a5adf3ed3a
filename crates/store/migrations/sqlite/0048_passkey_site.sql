-- `migrations/postgres/0048_passkey_site.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- The host name that a passkey belongs to, because it works nowhere else. Null in rows from before this column: such a
-- passkey counts as one of the present host name.
alter table staff_passkeys add column site text;
