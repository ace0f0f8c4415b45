-- name: prefill_by_source
-- params: bin_s bigint, span_s bigint, start timestamptz, end timestamptz, cluster varchar, namespace varchar, model varchar, pod varchar, engine varchar
-- returns: bin s, source text, tokens tokens, observed_s s
-- metrics: cached_prefill_tokens_per_s, computed_prefill_tokens_per_s, external_prefill_tokens_per_s
-- One row per chart bin and source: tokens seen between scrapes without a gap,
-- and the seconds in which at least one engine was observed. Increases across a
-- gap are left out here, since nobody knows when in the gap they happened. Of hours,
-- the best observed engine tells the seconds of the hour.
with minutes as (
    select label as source, minute,
           sum(increase - gap_increase) as tokens,
           max(covered_s) as observed_s
    from engine_counters
    where minute >= $start and minute < $end and span_s = $span_s
      and instrument = 'prompt_tokens_by_source'
      and ($cluster is null or cluster = $cluster)
      and ($namespace is null or namespace = $namespace)
      and ($model is null or model_name = $model)
      and ($pod is null or pod = $pod)
      and ($engine is null or engine = $engine)
    group by label, minute
)
select (epoch(minute)::bigint // $bin_s) * $bin_s as bin, source, sum(tokens) as tokens, sum(observed_s) as observed_s
from minutes
group by bin, source
order by bin, source
