-- `migrations/postgres/0036_face_tokens.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- A random token for each face change. A node that follows the changes compares the token at its own sequence, so it
-- notices a database that fell back and went on differently, even if the numbers are the same again. Rows written
-- before this migration have none: they are the same in every history that has this column.
alter table faces add column token blob;
