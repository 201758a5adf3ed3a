-- `migrations/postgres/0054_origin_and_removal_of_lists.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Facts about a sanctions list that every node needs: whether its content came from OpenSanctions' files, which decides
-- where its updates come from, and since when it is removed, so that no server's schedule brings it back.
alter table list_updates add column is_open_sanctions integer;
alter table list_updates add column removed_at integer;
