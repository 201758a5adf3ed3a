-- The lists that a Flow had chosen when it was deleted: the people whom it approved are still screened against them.
create table deleted_flow_lists (
    merchant_id uuid not null references merchants (id),
    sandbox boolean not null,
    flow_id uuid not null,
    -- An object with the member `screeningLists` of the Flow's settings.
    settings text not null,
    primary key (merchant_id, sandbox, flow_id)
);
