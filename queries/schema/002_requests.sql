-- Request side of the cache. Times are UTC; keys are hashes made by the collector.

alter table sources add column api varchar;
alter table sources add column rows_read bigint;
alter table sources add column retry_at timestamptz;

-- One row per observation id of a trace, the newest version of it. Texts are never
-- here. Columns of usage are null where unknown; usage_status and usage_reason say why.
-- first_start_at differs from last_start_at where one id came with several starts;
-- revisions counts changes seen after the first reading.
create table observations (
    observation_key    bigint not null,
    observation_id     varchar not null,
    trace_id           varchar not null,
    project_id         varchar,
    environment        varchar,
    parent_id          varchar,
    type               varchar not null,
    name               varchar,
    synthetic_root     boolean not null,
    start_at           timestamptz not null,
    end_at             timestamptz,
    first_token_at     timestamptz,
    created_at         timestamptz,
    updated_at         timestamptz not null,
    first_start_at     timestamptz not null,
    last_start_at      timestamptz not null,
    session_id         varchar,
    turn_id            varchar not null,
    exporter           varchar not null,
    logical_id         varchar not null,
    gateway_request_id varchar,
    response_id        varchar,
    client_request_id  varchar,
    attempt            bigint,
    model              varchar,
    requested_model    varchar,
    address            varchar,
    deployment         varchar,
    cluster            varchar,
    namespace          varchar,
    pod                varchar,
    engine             varchar,
    arm                varchar,
    task_type          varchar,
    template_version   varchar,
    tokenizer_revision varchar,
    engine_revision    varchar,
    state              varchar not null,
    state_basis        varchar not null,
    error_kind         varchar,
    choices            bigint,
    usage_status       varchar not null,
    usage_reason       varchar,
    contract           varchar not null,
    cached_scope       varchar not null,
    total_input        bigint,
    cached_input       bigint,
    cache_write_input  bigint,
    other_input        bigint,
    output             bigint,
    total              bigint,
    raw_usage          varchar,
    digest             bigint not null,
    revisions          bigint not null
);

-- One row per evaluation record; see core.domain.evaluations. deleted_at is set when
-- a whole scan of its time no longer shows it.
create table scores (
    score_id              varchar not null,
    name                  varchar not null,
    level                 varchar not null,
    observation_id        varchar,
    trace_id              varchar,
    session_id            varchar,
    data_type             varchar not null,
    value                 double,
    label                 varchar,
    status                varchar not null,
    evaluator             varchar not null,
    evaluator_version     varchar,
    source                varchar,
    repeat                bigint,
    inclusion_probability double,
    environment           varchar,
    scored_at             timestamptz not null,
    updated_at            timestamptz not null,
    seen_at               timestamptz not null,
    deleted_at            timestamptz,
    digest                bigint not null,
    revisions             bigint not null
);

-- Whole scans of scores: what lies in [start_at, end_at) and was not seen is gone.
create table score_scans (
    scan_key   bigint not null,
    start_at   timestamptz not null,
    end_at     timestamptz not null,
    scanned_at timestamptz not null
);

-- Values that break a contract: kept as text, never repaired, never a number.
create table violations (
    violation_id bigint not null,
    source       varchar not null,
    kind         varchar not null,
    record_id    varchar,
    trace_id     varchar,
    exporter     varchar,
    model        varchar,
    rule         varchar not null,
    field        varchar,
    raw_value    varchar,
    happened_at  timestamptz,
    seen_at      timestamptz not null
);

-- Requests that a page asked the collector to fetch, and what became of it.
create table orders (
    order_id    bigint not null,
    wanted      varchar not null,
    asked_at    timestamptz not null,
    answered_at timestamptz not null,
    outcome     varchar not null,
    found       bigint,
    searched_from timestamptz,
    searched_to   timestamptz,
    detail      varchar
);

-- The doctor's findings, newest check of each.
create table findings (
    finding    varchar not null,
    subject    varchar not null,
    level      varchar not null,
    title      varchar not null,
    detail     varchar not null,
    next_step  varchar,
    checked_at timestamptz not null
);

-- One row per turn of a session: see queries/rollup/turns.sql for the rules.
create table turns (
    session_id      varchar not null,
    turn_id         varchar not null,
    turn_index      bigint not null,
    start_at        timestamptz not null,
    end_at          timestamptz,
    start_gap_s     double,
    idle_gap_s      double,
    idle_gap_reason varchar,
    observations    bigint not null
);

-- Which engine an address or a pod means. engine_id is null where several engine
-- cores share it, the place is null where the name is used in several places.
create view addresses as
select t.instance as address,
       case when count(distinct e.engine_id) = 1 then any_value(e.engine_id) end as engine_id,
       any_value(e.cluster) as cluster, any_value(e.namespace) as namespace,
       any_value(e.pod) as pod,
       case when count(distinct e.engine_id) = 1 then any_value(e.engine) end as engine
from targets t
join engines e on e.engine_id = t.engine_id
where t.instance is not null
group by t.instance
having count(distinct (e.cluster, e.namespace, e.pod)) = 1;

create view pods as
select pod,
       case when count(distinct engine_id) = 1 then any_value(engine_id) end as engine_id,
       any_value(cluster) as cluster, any_value(namespace) as namespace,
       case when count(distinct engine_id) = 1 then any_value(engine) end as engine
from engines
where pod is not null
group by pod
having count(distinct (cluster, namespace)) = 1;

-- Generations with their session and the engine they are attributed to: 'engine',
-- 'pod' (several engine cores there), or 'pool' (nobody said which engine).
create view requests as
select o.* exclude (cluster, namespace, pod, engine),
       coalesce(o.cluster, a.cluster, p.cluster) as cluster,
       coalesce(o.namespace, a.namespace, p.namespace) as namespace,
       coalesce(o.pod, a.pod, p.pod) as pod,
       coalesce(o.engine, a.engine, p.engine) as engine,
       coalesce(p.engine_id, a.engine_id) as engine_id,
       case when coalesce(p.engine_id, a.engine_id) is not null then 'engine'
            when coalesce(o.pod, a.pod, p.pod) is not null then 'pod'
            else 'pool' end as attribution
from observations o
left join addresses a on a.address = o.address
left join pods p on p.pod = coalesce(o.pod, o.deployment)
where o.type = 'GENERATION' and not o.synthetic_root;
