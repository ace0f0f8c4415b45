-- Plans, looks and decisions of experiments. Rows are only ever added: an edited plan
-- is another version, a look or a decision is never changed. Bodies are JSON as
-- core.domain.experiments writes it; what is entered or seen twice keeps its first time.

-- One row per version of a plan. plan_hash is the SHA-256 of body.
create table experiment_plans (
    plan_key      bigint not null,
    experiment    varchar not null,
    version       bigint not null,
    plan_hash     varchar not null,
    registered_at timestamptz not null,
    registered_by varchar not null,
    body          varchar not null
);

-- One row per look that was taken, planned or not. number is its place among the
-- planned looks, null where it was not planned; verdict is null there too.
create table experiment_looks (
    look_key   bigint not null,
    experiment varchar not null,
    plan_hash  varchar not null,
    number     bigint,
    taken_at   timestamptz not null,
    taken_by   varchar not null,
    verdict    varchar,
    body       varchar not null
);

-- One row per decision. verdict is what the look said then; override: the decision
-- went past the gate.
create table experiment_decisions (
    decision_key bigint not null,
    experiment   varchar not null,
    plan_hash    varchar,
    look_key     bigint,
    decided_at   timestamptz not null,
    decided_by   varchar not null,
    decision     varchar not null,
    verdict      varchar,
    override     boolean not null,
    reason       varchar
);
