-- Engine side of the cache. Times are UTC. Keys are 63-bit hashes made by the
-- collector, so that no sequence is needed and merges are plain keyed joins.

create table engines (
    engine_id  bigint not null,
    cluster    varchar,
    namespace  varchar,
    pod        varchar,
    model_name varchar,
    engine     varchar
);

-- One engine at one scraped address. duplicate_of names the address that shows
-- the same counters; the cells of both are kept, flagged, and never added up.
create table targets (
    engine_id         bigint not null,
    target_id         bigint not null,
    job               varchar,
    instance          varchar,
    first_at          timestamptz not null,
    last_at           timestamptz not null,
    gone_at           timestamptz,
    scrape_interval_s double,
    up                boolean,
    duplicate_of      varchar
);

create table series (
    series_id     bigint not null,
    engine_id     bigint not null,
    target_id     bigint not null,
    instrument    varchar not null,
    label         varchar,
    le            double,
    exported_name varchar not null
);

create table counter_cells (
    series_id     bigint not null,
    minute        timestamptz not null,
    increase      double,
    gap_increase  double,
    samples       bigint not null,
    resets        bigint not null,
    covered_s     double not null,
    largest_gap_s double,
    first_at      timestamptz not null,
    last_at       timestamptz not null,
    duplicate     boolean not null
);

-- Sparse: see core.domain.histograms.BucketCells.
create table bucket_cells (
    series_id bigint not null,
    minute    timestamptz not null,
    increase  double not null,
    duplicate boolean not null
);

create table gauge_cells (
    series_id  bigint not null,
    minute     timestamptz not null,
    samples    bigint not null,
    value_sum  double not null,
    value_min  double not null,
    value_max  double not null,
    value_last double not null,
    last_at    timestamptz not null,
    duplicate  boolean not null
);

-- What each engine exports under which name: exported, renamed, not_exported,
-- native_histogram.
create table exports (
    engine_id     bigint not null,
    target_id     bigint not null,
    instrument    varchar not null,
    state         varchar not null,
    exported_name varchar,
    checked_at    timestamptz not null
);

-- Newest labels of vllm:cache_config_info, one row a label.
create table configurations (
    engine_id bigint not null,
    target_id bigint not null,
    name      varchar not null,
    value     varchar not null,
    seen_at   timestamptz not null
);

create table levers (
    lever_id    bigint not null,
    happened_at timestamptz not null,
    kind        varchar not null,
    origin      varchar not null,
    what        varchar not null,
    engine_id   bigint,
    by_whom     varchar,
    link        varchar
);

create table sources (
    source        varchar not null,
    state         varchar not null,
    checked_at    timestamptz not null,
    read_to       timestamptz,
    backfill_from timestamptz,
    progress      double,
    left_s        double,
    clock_skew_s  double,
    title         varchar,
    detail        varchar,
    next_step     varchar
);

create table source_log (
    log_id    bigint not null,
    source    varchar not null,
    noted_at  timestamptz not null,
    level     varchar not null,
    title     varchar not null,
    detail    varchar not null,
    next_step varchar
);

create table batches (
    batch_id  varchar not null,
    merged_at timestamptz not null
);

-- Hours of cells, for long windows: made from the minute cells of each merge, in
-- the same transaction. `minute` is the start of the hour. Cells of repeated
-- addresses are left out of the sums; duplicate is true where all of them are.

create table counter_hours as select * from counter_cells limit 0;
create table bucket_hours as select * from bucket_cells limit 0;
create table gauge_hours as select * from gauge_cells limit 0;

-- Cells with their names, addresses that only repeat another one left out. span_s
-- is the length of a cell: a query picks minutes (60) or hours (3600), never both.

create view engine_counters as
select e.engine_id, e.cluster, e.namespace, e.pod, e.model_name, e.engine,
       s.target_id, s.instrument, s.label, c.span_s, c.minute, c.increase, c.gap_increase, c.samples,
       c.resets, c.covered_s, c.largest_gap_s, c.first_at, c.last_at
from (
    select *, 60 as span_s from counter_cells
    union all
    select *, 3600 as span_s from counter_hours
) c
join series s on s.series_id = c.series_id
join engines e on e.engine_id = s.engine_id
where not c.duplicate;

create view engine_gauges as
select e.engine_id, e.cluster, e.namespace, e.pod, e.model_name, e.engine,
       s.instrument, s.label, g.span_s, g.minute, g.samples, g.value_sum, g.value_min,
       g.value_max, g.value_last, g.last_at
from (
    select *, 60 as span_s from gauge_cells
    union all
    select *, 3600 as span_s from gauge_hours
) g
join series s on s.series_id = g.series_id
join engines e on e.engine_id = s.engine_id
where not g.duplicate;

create view engine_buckets as
select e.engine_id, e.cluster, e.namespace, e.pod, e.model_name, e.engine,
       s.instrument, s.le, b.span_s, b.minute, b.increase
from (
    select *, 60 as span_s from bucket_cells
    union all
    select *, 3600 as span_s from bucket_hours
) b
join series s on s.series_id = b.series_id
join engines e on e.engine_id = s.engine_id
where not b.duplicate;
