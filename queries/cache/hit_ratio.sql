-- name: hit_ratio_by_engine
-- params: span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, hits_tokens tokens, queries_tokens tokens, external_hits_tokens tokens, external_queries_tokens tokens, prompt_tokens tokens, prompt_cached_tokens tokens, samples count, resets count, covered_s s, largest_gap_s s, last_at s
-- metrics: engine_hit_ratio, external_hit_ratio, lookup_inflation, cached_prompt_ratio, hits_tokens, queries_tokens, prompt_tokens
-- One row per engine with any cache counter in the window: increases summed over
-- the window. Samples, resets and coverage are those of the lookup counter.
select engine_id,
       sum(increase) filter (where instrument = 'prefix_cache_hits') as hits_tokens,
       sum(increase) filter (where instrument = 'prefix_cache_queries') as queries_tokens,
       sum(increase) filter (where instrument = 'external_prefix_cache_hits')
           as external_hits_tokens,
       sum(increase) filter (where instrument = 'external_prefix_cache_queries')
           as external_queries_tokens,
       sum(increase) filter (where instrument = 'prompt_tokens') as prompt_tokens,
       sum(increase) filter (where instrument = 'prompt_tokens_cached') as prompt_cached_tokens,
       sum(samples) filter (where instrument = 'prefix_cache_queries') as samples,
       sum(resets) filter (where instrument = 'prefix_cache_queries') as resets,
       sum(covered_s) filter (where instrument = 'prefix_cache_queries') as covered_s,
       max(largest_gap_s) filter (where instrument = 'prefix_cache_queries') as largest_gap_s,
       epoch(max(last_at)) as last_at
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'prefix_cache_hits', 'prefix_cache_queries', 'external_prefix_cache_hits',
      'external_prefix_cache_queries', 'prompt_tokens', 'prompt_tokens_cached')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id
order by engine_id

-- name: hit_ratio_over_time
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: engine_id key, bin s, hits_tokens tokens, queries_tokens tokens, external_hits_tokens tokens, external_queries_tokens tokens, prompt_tokens tokens, resets count
-- metrics: engine_hit_ratio, external_hit_ratio, lookup_inflation
-- One row per engine and chart bin: increases of the cache counters. A bin
-- without a row held no scrape.
select engine_id,
       (epoch(minute)::bigint // $bin_s) * $bin_s as bin,
       sum(increase) filter (where instrument = 'prefix_cache_hits') as hits_tokens,
       sum(increase) filter (where instrument = 'prefix_cache_queries') as queries_tokens,
       sum(increase) filter (where instrument = 'external_prefix_cache_hits')
           as external_hits_tokens,
       sum(increase) filter (where instrument = 'external_prefix_cache_queries')
           as external_queries_tokens,
       sum(increase) filter (where instrument = 'prompt_tokens') as prompt_tokens,
       sum(resets) filter (where instrument = 'prefix_cache_queries') as resets
from engine_counters
where minute >= $start and minute < $end and span_s = $span_s
  and instrument in (
      'prefix_cache_hits', 'prefix_cache_queries', 'external_prefix_cache_hits',
      'external_prefix_cache_queries', 'prompt_tokens')
  and ($cluster is null or cluster = $cluster)
  and ($namespace is null or namespace = $namespace)
  and ($model is null or model_name = $model)
  and ($pod is null or pod = $pod)
  and ($engine is null or engine = $engine)
group by engine_id, bin
order by engine_id, bin
