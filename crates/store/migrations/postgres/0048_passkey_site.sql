-- The host name that a passkey belongs to, because it works nowhere else. Null in rows from before this column: such a
-- passkey counts as one of the present host name.
alter table staff_passkeys add column site text;
