-- name: engines_in_window
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, cluster text, namespace text, pod text, model_name text, engine text, first_at s, last_at s, gone_at s, up boolean, scrape_interval_s s, duplicates count
-- One row per engine that was there in the window: seen before its end and not
-- gone before its start. gone_at is null while any of its addresses is scraped.
select e.engine_id, any_value(e.cluster) as cluster, any_value(e.namespace) as namespace,
       any_value(e.pod) as pod, any_value(e.model_name) as model_name,
       any_value(e.engine) as engine,
       epoch(min(t.first_at)) as first_at,
       epoch(max(t.last_at)) as last_at,
       case when count(*) = count(t.gone_at) then epoch(max(t.gone_at)) end as gone_at,
       bool_or(t.up) as up,
       min(t.scrape_interval_s) as scrape_interval_s,
       count(t.duplicate_of) as duplicates
from engines e
join targets t on t.engine_id = e.engine_id
where t.first_at < $end and (t.gone_at is null or t.gone_at >= $start)
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by e.engine_id
order by cluster, namespace, model_name, pod, engine

-- name: coverage_over_time
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, covered_s s
-- One row per engine and chart bin: seconds between neighbouring scrapes. The best
-- observed counter stands for an address, and addresses of one engine add up, since
-- one that repeats another is left out.
with minutes as (
    select engine_id, target_id, minute, max(covered_s) as covered_s
    from engine_counters
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument in ('prefix_cache_queries', 'prompt_tokens', 'num_preemptions')
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
    group by engine_id, target_id, minute
)
select engine_id, (epoch(minute)::bigint // $bin_s) * $bin_s as bin, sum(covered_s) as covered_s
from minutes
group by engine_id, bin
order by engine_id, bin

-- name: scope_choices
-- params: none
-- returns: cluster text, namespace text, model_name text, pod text, engine text
-- One row per engine ever seen: what the scope bar offers.
select cluster, namespace, model_name, pod, engine
from engines
order by cluster, namespace, model_name, pod, engine

-- name: levers_in_window
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: lever_id key, engine_id key, happened_at s, kind text, origin text, what text, by_whom text, link text, pod text, model_name text, engine text
-- One row per change in the window: changes of engines in scope, and changes
-- entered without an engine, which concern everybody.
select l.lever_id, l.engine_id, epoch(l.happened_at) as happened_at, l.kind, l.origin, l.what, l.by_whom,
       l.link, e.pod, e.model_name, e.engine
from levers l
left join engines e on e.engine_id = l.engine_id
where l.happened_at >= $start and l.happened_at < $end
  and (e.engine_id is null
    or (($cluster is null or e.cluster = $cluster)
    and ($namespace is null or e.namespace = $namespace)
    and ($model is null or e.model_name = $model)
    and ($pod is null or e.pod = $pod)
    and ($engine is null or e.engine = $engine)))
order by l.happened_at, l.lever_id

-- name: engines_without_caching
-- params: none
-- returns: engine_id key
-- One row per engine whose newest configuration switches prefix caching off.
select distinct engine_id
from configurations
where name = 'enable_prefix_caching' and lower(value) = 'false'
order by engine_id

-- name: export_states
-- params: cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, instrument text, state text, exported_name text, checked_at s
-- One row per engine, address and instrument: under which name it is exported, if at all.
select x.engine_id, x.instrument, x.state, x.exported_name, epoch(x.checked_at) as checked_at
from exports x
join engines e on e.engine_id = x.engine_id
where true
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
order by x.engine_id, x.instrument, x.exported_name
