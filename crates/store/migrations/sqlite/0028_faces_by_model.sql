-- `migrations/postgres/0028_faces_by_model.sql` with its types replaced: change that one first. A test keeps them equal.
--
-- Every node asks now and then how many faces another model made: hardly ever any, and then few are read.
create index faces_by_model on faces (model) where embedding_sealed is not null;
