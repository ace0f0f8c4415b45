-- name: kv_block_buckets
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, instrument text, edges text, le s, blocks count
-- metrics: block_idle_s, block_reuse_gap_s, block_lifetime_s
-- One row per engine, histogram and upper edge: what fell into this bucket alone over the
-- window. `edges` are all edges of the engine's histogram: engines with others are never
-- summed. A bucket without a row held none, if `kv_block_counts` has the engine.
with edges_of as (
    select engine_id, instrument,
           string_agg(distinct le::varchar, ' ' order by le::varchar) as edges
    from series
    where instrument in (
        'kv_block_idle_before_evict_seconds', 'kv_block_reuse_gap_seconds',
        'kv_block_lifetime_seconds') and le is not null
    group by engine_id, instrument
)
select engine_id, instrument, edges, le, sum(increase) as blocks
from engine_buckets
join edges_of using (engine_id, instrument)
where minute >= $start and minute < $end and span_s = $span_s
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, instrument, edges, le
order by engine_id, instrument, edges, le

-- name: kv_block_counts
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, instrument text, samples count, blocks count, resets count
-- metrics: sampled_evictions
-- One row per engine and histogram that was observed: scrapes, and what it counted in the
-- window. blocks is null where fewer than two scrapes were seen.
select engine_id, instrument.replace('_seconds_count', '_seconds') as instrument,
       sum(samples) as samples, sum(increase) as blocks, sum(resets) as resets
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'kv_block_idle_before_evict_seconds_count', 'kv_block_reuse_gap_seconds_count',
      'kv_block_lifetime_seconds_count')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, instrument
order by engine_id, instrument

-- name: block_idle_over_time
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, le s, blocks count
-- metrics: block_idle_s
-- One row per engine, chart bin and upper edge that held something: idle times before
-- eviction in this bucket alone.
select engine_id, (epoch(minute)::bigint // $bin_s) * $bin_s as bin, le, sum(increase) as blocks
from engine_buckets
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'kv_block_idle_before_evict_seconds'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin, le
order by engine_id, bin, le

-- name: evictions_over_time
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, blocks count
-- metrics: sampled_evictions
-- One row per engine and chart bin in which the histogram was observed: sampled evictions.
select engine_id, (epoch(minute)::bigint // $bin_s) * $bin_s as bin, sum(increase) as blocks
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument = 'kv_block_idle_before_evict_seconds_count'
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin
order by engine_id, bin

-- name: turn_gaps
-- params: start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar, arm varchar
-- returns: power count, reason text, turns count
-- metrics: turn_idle_gap_s
-- One row per power of two of seconds, for gaps from it to the next one, and -1 for gaps
-- below one second; power is null for unknown gaps, with the reason. Turns that began in
-- the window and have a request in scope.
select case when idle_gap_s is null then null
            when idle_gap_s < 1 then -1
            else floor(log2(idle_gap_s))::bigint end as power,
       idle_gap_reason as reason, count(*) as turns
from turns
where start_at >= $start and start_at < $end
  and (session_id, turn_id) in (
      select (session_id, turn_id)
      from requests
      where start_at >= $start and session_id is not null
        and ($cluster is null or cluster = $cluster)
        and ($namespace is null or namespace = $namespace)
        and ($model is null or model = $model)
        and ($pod is null or pod = $pod)
        and ($engine is null or engine = $engine)
        and ($arm is null or arm = $arm))
group by power, reason
order by power, reason

-- name: kv_configurations
-- params: none
-- returns: engine_id key, block_size text, match_unit text, blocks text, sample_rate text
-- metrics: possible_hit_tokens
-- One row per engine: labels of its newest configuration, as text. Python's None stands
-- for what is not set.
select engine_id,
       max_by(value, seen_at) filter (where name = 'block_size') as block_size,
       max_by(value, seen_at) filter (where name = 'prefix_match_unit') as match_unit,
       max_by(value, seen_at) filter (where name = 'num_gpu_blocks') as blocks,
       max_by(value, seen_at) filter (where name = 'kv_cache_metrics_sample') as sample_rate
from configurations
where name in ('block_size', 'prefix_match_unit', 'num_gpu_blocks', 'kv_cache_metrics_sample')
group by engine_id
order by engine_id
