-- `migrations/postgres/0044_held.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Attempts that are held without a code are priority 4. Everything else that waits becomes 5.
update attempts set priority = 5 where status = 'pending' and priority = 4;
