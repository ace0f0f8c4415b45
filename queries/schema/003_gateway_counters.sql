-- Counters of LiteLLM proxies. Their cells lie in counter_cells and counter_hours,
-- beside those of engines; series_id tells whose they are.

-- One counter of one deployment at one proxy: all users, teams and keys summed.
-- No row at all: no proxy was ever seen.
create table gateway_series (
    series_id       bigint not null,
    instrument      varchar not null,
    deployment      varchar,
    model_name      varchar,
    requested_model varchar,
    provider        varchar,
    cluster         varchar,
    namespace       varchar,
    proxy           varchar,
    job             varchar,
    instance        varchar,
    exported_name   varchar not null
);

-- Cells with their names, as engine_counters has them for engines.
create view gateway_counters as
select s.cluster, s.namespace, s.proxy, s.job, s.instance, s.instrument, s.deployment,
       s.model_name, s.requested_model, s.provider, c.span_s, c.minute, c.increase,
       c.gap_increase, c.samples, c.resets, c.covered_s, c.largest_gap_s, c.first_at, c.last_at
from (
    select *, 60 as span_s from counter_cells
    union all
    select *, 3600 as span_s from counter_hours
) c
join gateway_series s on s.series_id = c.series_id
where not c.duplicate;
