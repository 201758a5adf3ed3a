-- Facts about a sanctions list that every node needs: whether its content came from OpenSanctions' files, which decides
-- where its updates come from, and since when it is removed, so that no server's schedule brings it back.
alter table list_updates add column is_open_sanctions boolean;
alter table list_updates add column removed_at bigint;
