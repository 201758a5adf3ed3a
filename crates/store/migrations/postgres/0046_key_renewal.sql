-- Since when (ms) the keys below the account's key are being replaced after a change of the master key; null when they
-- are not.
alter table merchants add column key_renewal_since bigint;
