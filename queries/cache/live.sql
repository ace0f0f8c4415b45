-- name: kv_usage
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, samples count, usage_sum ratio, usage_max ratio
-- metrics: kv_usage_max, kv_usage_mean
-- One row per engine and chart bin: sampled shares of KV blocks in use.
select engine_id,
       (epoch(minute)::bigint // $bin_s) * $bin_s as bin,
       sum(samples) as samples,
       sum(value_sum) as usage_sum,
       max(value_max) as usage_max
from engine_gauges
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'kv_cache_usage_perc'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin
order by engine_id, bin

-- name: queue
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, instrument text, reason text, samples count, requests_sum requests
-- metrics: requests_waiting, requests_running
-- One row per engine, chart bin, gauge and waiting reason: sums over scrapes, to
-- be divided by the number of scrapes.
select engine_id,
       (epoch(minute)::bigint // $bin_s) * $bin_s as bin,
       instrument, label as reason,
       sum(samples) as samples,
       sum(value_sum) as requests_sum
from engine_gauges
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'num_requests_running', 'num_requests_waiting', 'num_requests_waiting_by_reason')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin, instrument, reason
order by engine_id, bin, instrument, reason

-- name: pressure
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, samples count, preemptions events
-- metrics: preemptions
-- One row per engine and chart bin: preemption events between neighbouring scrapes.
select engine_id,
       (epoch(minute)::bigint // $bin_s) * $bin_s as bin,
       sum(samples) as samples,
       sum(increase) as preemptions
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'num_preemptions'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin
order by engine_id, bin

-- name: ttft_buckets
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: edges text, bin s, le s, requests requests
-- metrics: ttft_p50, ttft_p95
-- One row per set of bucket edges, chart bin and upper edge: first tokens that fell
-- into this bucket alone. Engines with other edges are never summed. A bucket
-- without a row held none, if the bin has any row or `ttft_counts` says so.
with edges_of as (
    select engine_id, string_agg(distinct le::varchar, ' ' order by le::varchar) as edges
    from series
    where instrument = 'time_to_first_token_seconds' and le is not null
    group by engine_id
)
select edges, (epoch(minute)::bigint // $bin_s) * $bin_s as bin, le, sum(increase) as requests
from engine_buckets
join edges_of using (engine_id)
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'time_to_first_token_seconds'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by edges, bin, le
order by edges, bin, le

-- name: ttft_counts
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, samples count, requests requests
-- metrics: ttft_p50, ttft_p95
-- One row per engine and chart bin in which the histogram was observed: how many
-- first tokens it counted.
select engine_id, (epoch(minute)::bigint // $bin_s) * $bin_s as bin, sum(samples) as samples, sum(increase) as requests
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'time_to_first_token_seconds_count'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin
order by engine_id, bin
