-- Every node asks now and then how many faces another model made: hardly ever any, and then few are read.
create index faces_by_model on faces (model) where embedding_sealed is not null;
